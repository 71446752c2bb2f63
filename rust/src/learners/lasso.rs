//! Coordinate descent on a quadratic model of a loss, with an L1 penalty: the inner loop of newGLMNET.
//!
//! The model of the loss at weights w is g·d + ½ Σᵢ cᵢ (xᵢ·d)² + ½ Σⱼ rⱼ dⱼ², where g is the gradient with the ridge r,
//! and cᵢ the curvature of the loss of row i; λⱼ |wⱼ + dⱼ| is added to it.
//! Paper: Yuan, Ho and Lin, "An improved GLMNET for L1-regularized logistic regression", JMLR 2012.

use crate::system::cancel::Countdown;
use crate::system::vector::vectorized;

/// The columns of a table; that after the last holds the number 1 in each row.
#[derive(Clone, Copy)]
pub enum Columns<'a> {
    Dense {
        values: &'a [f64],
        rows: usize,
        count: usize,
    },
    Sparse {
        starts: &'a [i64],
        places: &'a [i32],
        values: &'a [f64],
        rows: usize,
    },
}

impl<'a> Columns<'a> {
    /// Take columns that follow each other; `None` if their size is not rows × count.
    pub fn dense(values: &'a [f64], rows: usize, count: usize) -> Option<Self> {
        (rows.checked_mul(count) == Some(values.len())).then_some(Columns::Dense { values, rows, count })
    }

    /// Take compressed sparse columns; `None` if they do not fit together.
    pub fn sparse(starts: &'a [i64], places: &'a [i32], values: &'a [f64], rows: usize) -> Option<Self> {
        let (first, last) = (*starts.first()?, *starts.last()?);
        let ordered = first == 0 && last == places.len() as i64 && places.len() == values.len() && starts.is_sorted();
        let largest = places.iter().fold(0, |most, &place| most.max(place as u32));
        let within = places.is_empty() || (largest as usize) < rows.min(1 << 31);
        (ordered && within).then_some(Columns::Sparse {
            starts,
            places,
            values,
            rows,
        })
    }

    pub fn rows(&self) -> usize {
        match self {
            Columns::Dense { rows, .. } | Columns::Sparse { rows, .. } => *rows,
        }
    }

    pub fn count(&self) -> usize {
        match self {
            Columns::Dense { count, .. } => *count,
            Columns::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    /// How many numbers a column holds.
    fn size(&self, column: usize) -> usize {
        match self {
            Columns::Sparse { starts, .. } if column < self.count() => (starts[column + 1] - starts[column]) as usize,
            _ => self.rows(),
        }
    }

    /// Call with the row and the number of each number of a column.
    #[inline(always)]
    fn each(&self, column: usize, mut visit: impl FnMut(usize, f64)) {
        match *self {
            _ if column == self.count() => (0..self.rows()).for_each(|row| visit(row, 1.0)),
            Columns::Dense { values, rows, .. } => {
                let own = &values[column * rows..][..rows];
                own.iter().enumerate().for_each(|(row, &x)| visit(row, x));
            }
            Columns::Sparse {
                starts, places, values, ..
            } => {
                let range = starts[column] as usize..starts[column + 1] as usize;
                let pairs = places[range.clone()].iter().zip(&values[range]);
                pairs.for_each(|(&row, &x)| visit(row as usize, x));
            }
        }
    }

    /// Σ xᵢ aᵢ of a column.
    #[inline(always)]
    fn product(&self, column: usize, a: &[f64]) -> f64 {
        match *self {
            Columns::Dense { values, rows, .. } if column < self.count() => {
                let own = &values[column * rows..][..rows];
                summed(own.iter().zip(a).map(|(x, a)| x * a))
            }
            Columns::Sparse {
                starts, places, values, ..
            } if column < self.count() => {
                let range = starts[column] as usize..starts[column + 1] as usize;
                let pairs = places[range.clone()].iter().zip(&values[range]);
                summed(pairs.map(|(&row, x)| x * a[row as usize]))
            }
            _ => summed(a.iter().copied()),
        }
    }

    /// Add factor · xᵢ aᵢ bᵢ of a column to numbers of the rows; without b, factor · xᵢ aᵢ.
    #[inline(always)]
    fn add_to(&self, column: usize, factor: f64, a: &[f64], b: Option<&[f64]>, sums: &mut [f64]) {
        match (*self, b) {
            (Columns::Dense { values, rows, .. }, Some(b)) if column < self.count() => {
                let numbers = values[column * rows..][..rows].iter().zip(a).zip(b);
                let pairs = sums.iter_mut().zip(numbers);
                pairs.for_each(|(sum, ((x, a), b))| *sum += factor * x * a * b);
            }
            (Columns::Dense { values, rows, .. }, None) if column < self.count() => {
                let numbers = values[column * rows..][..rows].iter().zip(a);
                sums.iter_mut()
                    .zip(numbers)
                    .for_each(|(sum, (x, a))| *sum += factor * x * a);
            }
            _ => self.each(column, |row, x| {
                sums[row] += factor * x * a[row] * b.map_or(1.0, |b| b[row]);
            }),
        }
    }
}

/// Sum numbers in four lanes: a single sum would wait for each addition.
#[inline(always)]
fn summed(mut numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let mut sums = [0.0; 4];
    for _ in 0..numbers.len() / 4 {
        for sum in &mut sums {
            *sum += numbers.next().unwrap_or_default();
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + numbers.sum::<f64>()
}

/// How the loss of the rows bends with their scores, an output after the other.
#[derive(Clone, Copy)]
pub enum Bending<'a> {
    /// The second derivative by the only score.
    Single(&'a [f64]),
    /// Of a softmax: the shares p of the outputs, and perhaps the weights of the rows; the second derivatives are those
    /// of diag(p) − ppᵀ.
    Shares(&'a [f64], Option<&'a [f64]>),
}

/// The quadratic model at some weights, and the penalties. Weights and gradients are those of one output after another.
pub struct Model<'a> {
    pub columns: Columns<'a>,
    pub bending: Bending<'a>,
    pub outputs: usize,
    pub gradient: &'a [f64],
    pub weights: &'a [f64],
    /// λ and r of each column.
    pub lasso: &'a [f64],
    pub ridge: &'a [f64],
}

/// Improve a step d of the `working` weights until the violations of the conditions of optimality sum to at most
/// `share` of those of the first pass, or for some passes. The step begins at 0. Return the passes.
pub fn descend(model: &Model<'_>, working: &[usize], step: &mut [f64], share: f64, passes: usize) -> usize {
    let rows = model.columns.rows();
    // What bends a score by itself, and the shares times the weights of the rows.
    let (own, weighted): (Vec<f64>, Vec<f64>) = match model.bending {
        Bending::Single(curvature) => (curvature.to_vec(), curvature.to_vec()),
        Bending::Shares(shares, weights) => {
            let weight = |place: usize| weights.map_or(1.0, |weights| weights[place % rows]);
            let pairs = shares.iter().enumerate();
            pairs
                .map(|(place, p)| (weight(place) * p * (1.0 - p), weight(place) * p))
                .unzip()
        }
    };
    vectorized(
        #[inline(always)]
        || descend_with(model, &own, &weighted, working, step, share, passes),
    )
}

#[inline(always)]
fn descend_with(
    model: &Model<'_>,
    own: &[f64],
    weighted: &[f64],
    working: &[usize],
    step: &mut [f64],
    share: f64,
    passes: usize,
) -> usize {
    let (rows, n_weights, countdown) = (model.columns.rows(), model.lasso.len(), Countdown::default());
    let mut pulls = vec![0.0; rows * model.outputs];
    let mut bends = Vec::with_capacity(working.len());
    for &place in working {
        let (output, column) = (place / n_weights, place % n_weights);
        let (mut bend, own) = (model.ridge[column], &own[output * rows..][..rows]);
        model.columns.each(column, |row, x| bend += x * x * own[row]);
        bends.push(bend);
        countdown.spend(model.columns.size(column));
    }
    let mut first = 0.0;
    for pass in 1..=passes {
        let mut violations = 0.0;
        for (&place, &bend) in working.iter().zip(&bends) {
            if bend <= 0.0 {
                continue; // a weight without curvature is left where it is
            }
            let (output, column) = (place / n_weights, place % n_weights);
            let line = output * rows..(output + 1) * rows;
            countdown.spend(2 * model.outputs * model.columns.size(column));
            let slope = model.gradient[place]
                + model.ridge[column] * step[place]
                + model.columns.product(column, &pulls[line.clone()]);
            let (weight, lasso) = (model.weights[place] + step[place], model.lasso[column]);
            violations += violation(slope, weight, lasso);
            let change = shrunk(weight - slope / bend, lasso / bend) - weight;
            if change == 0.0 {
                continue;
            }
            step[place] += change;
            let weighted = &weighted[line.clone()];
            model.columns.add_to(column, change, weighted, None, &mut pulls[line]);
            if let Bending::Shares(shares, _) = model.bending {
                for (pulls, shares) in pulls.chunks_exact_mut(rows).zip(shares.chunks_exact(rows)) {
                    model.columns.add_to(column, -change, weighted, Some(shares), pulls);
                }
            }
        }
        if pass == 1 {
            first = violations;
        }
        if violations <= share * first {
            return pass;
        }
    }
    passes
}

/// How far the least subgradient of slope·w + lasso·|w| is from 0.
#[inline(always)]
fn violation(slope: f64, weight: f64, lasso: f64) -> f64 {
    if weight > 0.0 {
        (slope + lasso).abs()
    } else if weight < 0.0 {
        (slope - lasso).abs()
    } else {
        (slope.abs() - lasso).max(0.0)
    }
}

/// A number drawn towards 0 by an amount, and not beyond.
#[inline(always)]
fn shrunk(number: f64, amount: f64) -> f64 {
    number.signum() * (number.abs() - amount).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_column_is_solved_in_one_pass() {
        let values = [1.0, 2.0];
        let model = Model {
            columns: Columns::dense(&values, 2, 1).unwrap(),
            bending: Bending::Single(&[1.0, 1.0]),
            outputs: 1,
            gradient: &[-6.0, 0.0],
            weights: &[0.0, 0.0],
            lasso: &[1.0, 0.0],
            ridge: &[0.0, 0.0],
        };
        let mut step = [0.0; 2];
        descend(&model, &[0], &mut step, 1e-9, 10);
        assert_eq!(step, [1.0, 0.0]);
    }

    #[test]
    fn several_outputs_are_solved_together() {
        // With shares of ½ and ½ the second derivatives are ¼ and −¼, and the ridge makes them definite.
        let values = [2.0];
        let model = Model {
            columns: Columns::dense(&values, 1, 1).unwrap(),
            bending: Bending::Shares(&[0.5, 0.5], Some(&[3.0])),
            outputs: 2,
            gradient: &[-4.0, 4.0],
            weights: &[0.0, 0.0],
            lasso: &[0.0],
            ridge: &[1.0],
        };
        let mut step = [0.0; 2];
        descend(&model, &[0, 1], &mut step, 1e-14, 1000);
        // 3 · 2² · ¼ (a − b) + a = 4 and its mirror: a = −b = 4/7.
        assert!((step[0] - 4.0 / 7.0).abs() < 1e-9 && (step[1] + 4.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn dense_and_sparse_columns_give_the_same() {
        let values = [1.0, 0.0, 2.0, 0.0, 3.0, 1.0];
        let dense = Columns::dense(&values, 3, 2).unwrap();
        let sparse = Columns::sparse(&[0, 2, 4], &[0, 2, 1, 2], &[1.0, 2.0, 3.0, 1.0], 3).unwrap();
        let steps = [dense, sparse].map(|columns| {
            let model = Model {
                columns,
                bending: Bending::Single(&[1.0, 0.5, 2.0]),
                outputs: 1,
                gradient: &[-3.0, 4.0, 1.0],
                weights: &[0.5, 0.0, 0.1],
                lasso: &[0.5, 0.25, 0.0],
                ridge: &[0.1, 0.1, 0.0],
            };
            let mut step = [0.0; 3];
            descend(&model, &[0, 1, 2], &mut step, 1e-12, 1000);
            step
        });
        assert_eq!(steps[0], steps[1]);
        assert!(Columns::sparse(&[0, 1], &[3], &[1.0], 3).is_none());
        assert!(Columns::dense(&values, 4, 2).is_none());
    }
}
