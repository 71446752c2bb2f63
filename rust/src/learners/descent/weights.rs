//! Weights that can all be multiplied at once, with their average over steps and the sizes that penalties need.

use crate::tables::vectors::Vector;

/// Below this the common factor is multiplied into the weights: they would lose digits.
const SMALLEST_SCALE: f64 = 1e-9;

/// Weights w = scale · kept, and their average (Xu 2011), which is kept as shift · kept + sums, over share.
pub struct Weights {
    kept: Vec<f64>,
    scale: f64,
    sums: Vec<f64>,
    shift: f64,
    share: f64,
    /// ‖w‖².
    pub squares: f64,
    /// Σ |w|, if it is needed.
    pub sizes: f64,
    has_sizes: bool,
    /// The L1 penalty that each weight has paid.
    paid: Vec<f64>,
}

impl Weights {
    /// Begin with weights and, unless empty, their average.
    pub fn new(kept: Vec<f64>, sums: Vec<f64>, has_sizes: bool) -> Self {
        let mut weights = Weights {
            squares: 0.0,
            sizes: 0.0,
            paid: if has_sizes { vec![0.0; kept.len()] } else { vec![] },
            has_sizes,
            kept,
            scale: 1.0,
            sums,
            shift: 0.0,
            share: 1.0,
        };
        weights.measure();
        weights
    }

    #[inline(always)]
    pub fn score(&self, row: Vector<'_>) -> f64 {
        self.scale * row.dot(&self.kept)
    }

    /// Multiply all weights by a factor.
    #[inline(always)]
    pub fn shrink(&mut self, factor: f64) {
        self.scale *= factor;
        self.squares *= factor * factor;
        self.sizes *= factor;
        if self.scale < SMALLEST_SCALE {
            self.fold();
        }
    }

    /// Multiply the common factor into the weights, and finish the average.
    pub fn fold(&mut self) {
        if !self.sums.is_empty() {
            for (sum, weight) in self.sums.iter_mut().zip(&self.kept) {
                *sum = (*sum + self.shift * weight) / self.share;
            }
            (self.shift, self.share) = (0.0, 1.0);
        }
        self.kept.iter_mut().for_each(|weight| *weight *= self.scale);
        self.scale = 1.0;
    }

    /// Add a multiple of a row, of which the score without intercept and the squared norm are known.
    #[inline(always)]
    pub fn add(&mut self, row: Vector<'_>, factor: f64, score: f64, norm: f64) {
        let step = factor / self.scale;
        self.squares += factor * (factor * norm + 2.0 * score);
        if !self.has_sizes {
            row.add_to(&mut self.kept, step);
            return;
        }
        let (kept, mut more) = (&mut self.kept, 0.0);
        row.each(|column, value| {
            let weight = &mut kept[column];
            more -= weight.abs();
            *weight += step * value;
            more += weight.abs();
        });
        self.sizes += self.scale * more;
    }

    /// Let the average follow a step that added `factor` times a row; `steps` are those of the average so far.
    #[inline(always)]
    pub fn average(&mut self, row: Vector<'_>, factor: f64, steps: f64) {
        if factor != 0.0 {
            row.add_to(&mut self.sums, -factor / self.scale * self.shift);
        }
        if steps > 1.0 {
            self.share /= 1.0 - 1.0 / steps;
        }
        self.shift += self.share * self.scale / steps;
    }

    /// Move the weights of a row towards zero, by what they owe of the L1 penalty (Tsuruoka, Tsujii and Ananiadou 2009).
    #[inline(always)]
    pub fn pay(&mut self, row: Vector<'_>, owed: f64) {
        let (kept, paid, scale) = (&mut self.kept, &mut self.paid, self.scale);
        let (mut less, mut squares) = (0.0, 0.0);
        row.each(|column, _| {
            let before = kept[column];
            let after = if scale * before > 0.0 {
                (before - (owed + paid[column]) / scale).max(0.0)
            } else if scale * before < 0.0 {
                (before + (owed - paid[column]) / scale).min(0.0)
            } else {
                before
            };
            kept[column] = after;
            paid[column] += scale * (after - before);
            less += before.abs() - after.abs();
            squares += before * before - after * after;
        });
        self.sizes -= scale * less;
        self.squares -= scale * scale * squares;
    }

    /// Sum squares and sizes anew: they gather rounding errors.
    pub fn measure(&mut self) {
        let squares: f64 = self.kept.iter().map(|weight| weight * weight).sum();
        self.squares = self.scale * self.scale * squares;
        if self.has_sizes {
            self.sizes = self.scale * self.kept.iter().map(|weight| weight.abs()).sum::<f64>();
        }
    }

    pub fn are_finite(&self) -> bool {
        self.kept.iter().all(|weight| weight.is_finite())
    }

    /// Return the weights and their average, which is empty if there is none.
    pub fn into_parts(mut self) -> (Vec<f64>, Vec<f64>) {
        self.fold();
        (self.kept, self.sums)
    }
}
