//! Coordinate descent on a quadratic model of a loss, with an L1 penalty: the inner loop of newGLMNET.
//!
//! The model of the loss at weights w is g·d + ½ Σᵢ cᵢ (xᵢ·d)² + ½ Σⱼ rⱼ dⱼ², where g is the gradient with the ridge r,
//! and cᵢ the curvature of the loss of row i; λⱼ |wⱼ + dⱼ| is added to it.
//! Paper: Yuan, Ho and Lin, "An improved GLMNET for L1-regularized logistic regression", JMLR 2012.

use crate::system::cancel::Countdown;

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

    /// Σ xᵢ aᵢ of a column.
    #[inline(always)]
    fn product(&self, column: usize, a: &[f64]) -> f64 {
        if column == self.count() {
            return summed(a.iter().copied());
        }
        match *self {
            Columns::Dense { values, rows, .. } => {
                let own = &values[column * rows..][..rows];
                summed(own.iter().zip(a).map(|(x, a)| x * a))
            }
            Columns::Sparse {
                starts, places, values, ..
            } => {
                let range = starts[column] as usize..starts[column + 1] as usize;
                let pairs = places[range.clone()].iter().zip(&values[range]);
                summed(pairs.map(|(&place, x)| x * a[place as usize]))
            }
        }
    }

    /// Σ xᵢ² aᵢ of a column.
    fn square(&self, column: usize, a: &[f64]) -> f64 {
        if column == self.count() {
            return a.iter().sum();
        }
        match *self {
            Columns::Dense { values, rows, .. } => {
                let own = &values[column * rows..][..rows];
                own.iter().zip(a).map(|(x, a)| x * x * a).sum()
            }
            Columns::Sparse {
                starts, places, values, ..
            } => {
                let range = starts[column] as usize..starts[column + 1] as usize;
                let pairs = places[range.clone()].iter().zip(&values[range]);
                pairs.map(|(&place, x)| x * x * a[place as usize]).sum()
            }
        }
    }

    /// Add factor · xᵢ aᵢ of a column to numbers of the rows.
    #[inline(always)]
    fn add_to(&self, column: usize, factor: f64, a: &[f64], sums: &mut [f64]) {
        if column == self.count() {
            sums.iter_mut().zip(a).for_each(|(sum, a)| *sum += factor * a);
            return;
        }
        match *self {
            Columns::Dense { values, rows, .. } => {
                let own = &values[column * rows..][..rows];
                let numbers = sums.iter_mut().zip(own).zip(a);
                numbers.for_each(|((sum, x), a)| *sum += factor * x * a);
            }
            Columns::Sparse {
                starts, places, values, ..
            } => {
                let range = starts[column] as usize..starts[column + 1] as usize;
                for (&place, x) in places[range.clone()].iter().zip(&values[range]) {
                    sums[place as usize] += factor * x * a[place as usize];
                }
            }
        }
    }
}

/// Sum numbers in four lanes: a single sum would wait for each addition.
#[inline(always)]
fn summed(mut numbers: impl Iterator<Item = f64>) -> f64 {
    let mut sums = [0.0; 4];
    'all: loop {
        for sum in &mut sums {
            match numbers.next() {
                Some(number) => *sum += number,
                None => break 'all,
            }
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The quadratic model at some weights, and the penalties.
pub struct Model<'a> {
    pub columns: Columns<'a>,
    pub curvature: &'a [f64],
    pub gradient: &'a [f64],
    pub weights: &'a [f64],
    pub lasso: &'a [f64],
    pub ridge: &'a [f64],
}

/// Improve a step dⱼ of the `working` columns until the violations of the conditions of optimality sum to at most
/// `share` of those of the first pass, or for some passes. The step begins at 0. Return the passes.
pub fn descend(model: &Model<'_>, working: &[usize], step: &mut [f64], share: f64, passes: usize) -> usize {
    let countdown = Countdown::default();
    let mut pulls = vec![0.0; model.columns.rows()]; // cᵢ (xᵢ·d)
    let bends: Vec<f64> = working
        .iter()
        .map(|&column| {
            countdown.spend(model.columns.size(column));
            // A column without curvature is left where it is.
            model.columns.square(column, model.curvature) + model.ridge[column]
        })
        .collect();
    let mut first = 0.0;
    for pass in 1..=passes {
        let mut violations = 0.0;
        for (&column, &bend) in working.iter().zip(&bends) {
            if bend <= 0.0 {
                continue;
            }
            countdown.spend(2 * model.columns.size(column));
            let slope =
                model.gradient[column] + model.ridge[column] * step[column] + model.columns.product(column, &pulls);
            let (weight, lasso) = (model.weights[column] + step[column], model.lasso[column]);
            violations += violation(slope, weight, lasso);
            let change = shrunk(weight - slope / bend, lasso / bend) - weight;
            if change != 0.0 {
                step[column] += change;
                model.columns.add_to(column, change, model.curvature, &mut pulls);
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
            curvature: &[1.0, 1.0],
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
    fn dense_and_sparse_columns_give_the_same() {
        let values = [1.0, 0.0, 2.0, 0.0, 3.0, 1.0];
        let dense = Columns::dense(&values, 3, 2).unwrap();
        let sparse = Columns::sparse(&[0, 2, 4], &[0, 2, 1, 2], &[1.0, 2.0, 3.0, 1.0], 3).unwrap();
        let steps = [dense, sparse].map(|columns| {
            let model = Model {
                columns,
                curvature: &[1.0, 0.5, 2.0],
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
