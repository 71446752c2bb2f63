//! The best intercept for given weights.

use super::{Dual, Intercept, Loss, Value};

impl<'a, V: Value> Dual<'a, V> {
    pub(super) fn best_intercept(&self, outputs: &[f64]) -> f64 {
        match (self.intercept, self.is_hard()) {
            (Intercept::Free, true) => self.middle(outputs),
            (Intercept::Free, false) if self.loss == Loss::Hinge => self.quantile(outputs),
            (Intercept::Free, false) => self.root(outputs),
            _ => self.offset + self.lift * self.balance,
        }
    }

    /// The middle between the nearest rows of the two classes.
    fn middle(&self, outputs: &[f64]) -> f64 {
        let rows = || outputs.iter().zip(&self.coordinates);
        let positive = rows().filter(|(_, row)| row.sign > 0.0).map(|(output, _)| *output);
        let negative = rows().filter(|(_, row)| row.sign < 0.0).map(|(output, _)| *output);
        let (least, most) = (
            positive.fold(f64::INFINITY, f64::min),
            negative.fold(f64::NEG_INFINITY, f64::max),
        );
        let middle = -0.5 * (least + most);
        if middle.is_finite() { middle } else { self.offset }
    }

    /// The b that minimizes Σ cᵢ max(0, 1 − yᵢ(fᵢ + b)): a weighted quantile of yᵢ − fᵢ.
    fn quantile(&self, outputs: &[f64]) -> f64 {
        let rows = outputs.iter().zip(&self.coordinates);
        let mut corners: Vec<(f64, f64)> = rows.map(|(output, row)| (row.sign - output, row.cost)).collect();
        corners.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let positive = self.coordinates.iter().filter(|row| row.sign > 0.0);
        let mut slope = -positive.map(|row| row.cost).sum::<f64>();
        for &(corner, cost) in &corners {
            slope += cost;
            if slope >= 0.0 {
                return corner;
            }
        }
        self.offset
    }

    /// The b that minimizes Σ cᵢ max(0, 1 − yᵢ(fᵢ + b))²: the zero of an increasing derivative, by Newton's method
    /// within bounds.
    fn root(&self, outputs: &[f64]) -> f64 {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut place = self.offset + self.lift * self.balance;
        for _ in 0..100 {
            let (mut slope, mut bend) = (0.0, 0.0);
            for (output, row) in outputs.iter().zip(&self.coordinates) {
                let slack = 1.0 - row.sign * (output + place);
                if slack > 0.0 {
                    slope -= row.cost * row.sign * slack;
                    bend += row.cost;
                }
            }
            if slope == 0.0 {
                break;
            }
            if slope > 0.0 {
                high = place
            } else {
                low = place
            }
            let newton = place - slope / bend;
            let next = if newton > low && newton < high {
                newton
            } else {
                0.5 * (low + high)
            };
            if !next.is_finite() || (next - place).abs() <= 1e-15 * place.abs() {
                break;
            }
            place = next;
        }
        place
    }
}
