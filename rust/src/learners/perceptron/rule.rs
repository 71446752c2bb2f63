//! The rules: scores, updates and penalties.

use super::Learner;
use crate::learners::kernel::{Kernel, Points};
use crate::tables::vectors::Vector;

/// Winnow's weights stay within these, so that a product never becomes infinite or zero.
const HEAVIEST: f64 = 1e150;
const LIGHTEST: f64 = 1e-150;

/// The state of a rule, at its start and at its end.
#[derive(Clone, Default)]
pub struct State {
    pub weights: Vec<f64>,
    pub bias: f64,
    /// Sums for the average, w⁻ of balanced Winnow, or the scores of all rows of a kernel perceptron.
    pub second: Vec<f64>,
    pub second_bias: f64,
    /// Rows shown so far, by weight.
    pub shown: f64,
}

pub enum Rule<'a> {
    Perceptron {
        rate: f64,
        /// The learning rate of the bias: the square of the number in the column of the bias; 0 for none.
        bias_rate: f64,
        average: bool,
        /// How much each row shrinks the weights: by a share (L2), and towards zero (L1).
        decay: f64,
        truncation: f64,
    },
    /// Weights are coefficients of rows; `second` holds the scores of all rows, kept up to date.
    KernelPerceptron {
        rate: f64,
        kernel: Kernel,
        points: &'a Points,
    },
    Winnow {
        factor: f64,
        threshold: f64,
    },
    BalancedWinnow {
        factor: f64,
        threshold: f64,
        fit_bias: bool,
    },
}

impl Rule<'_> {
    pub(super) fn shrinks(&self) -> bool {
        matches!(*self, Rule::Perceptron { decay, truncation, .. } if decay > 0.0 || truncation > 0.0)
    }
}

impl<'a> Learner<'a> {
    #[inline(always)]
    pub(super) fn score(&self, place: usize, vector: Vector<'_>) -> f64 {
        let state = &self.state;
        match &self.rule {
            Rule::Perceptron { .. } => self.scale * vector.dot(&state.weights) + state.bias,
            Rule::KernelPerceptron { .. } => state.second[self.rows.shown[place] as usize],
            Rule::Winnow { threshold, .. } => present::<false>(vector, &state.weights, &[]) - threshold,
            Rule::BalancedWinnow { threshold, .. } => {
                let sum = present::<true>(vector, &state.weights, &state.second);
                sum + state.bias - state.second_bias - threshold
            }
        }
    }

    /// The loss of a mistake: by how much the score is wrong for the perceptron, 1 for Winnow.
    #[inline(always)]
    pub(super) fn loss_of(&self, score: f64) -> f64 {
        match self.rule {
            Rule::Perceptron { .. } | Rule::KernelPerceptron { .. } => -score,
            Rule::Winnow { .. } | Rule::BalancedWinnow { .. } => 1.0,
        }
    }

    /// Update the weights after a mistake.
    #[inline(always)]
    pub(super) fn update(&mut self, place: usize, vector: Vector<'_>, sign: f64, part: f64) {
        if sign > 0.0 {
            self.outcome.promotions += 1;
        } else {
            self.outcome.demotions += 1;
        }
        let state = &mut self.state;
        match &self.rule {
            Rule::Perceptron {
                rate,
                bias_rate,
                average,
                ..
            } => {
                let step = rate * sign * part;
                vector.add_to(&mut state.weights, step / self.scale);
                state.bias += bias_rate * step;
                if *average {
                    // The mean of all weights so far is w − second/shown, where `second` sums what each step missed.
                    let missed = state.shown - part;
                    vector.add_to(&mut state.second, missed * step);
                    state.second_bias += bias_rate * missed * step;
                }
            }
            Rule::KernelPerceptron { rate, kernel, points } => {
                let step = rate * sign * part;
                state.weights[self.rows.shown[place] as usize] += step;
                let mut values = Vec::new();
                points.against(vector, *kernel, &mut values);
                let scores = state.second.iter_mut().zip(&values);
                scores.for_each(|(score, value)| *score += step * value);
            }
            Rule::Winnow { factor, .. } => {
                let factor = power(*factor, sign * part);
                multiply_present(vector, &mut state.weights, factor);
            }
            Rule::BalancedWinnow { factor, fit_bias, .. } => {
                let factor = power(*factor, sign * part);
                multiply_present(vector, &mut state.weights, factor);
                multiply_present(vector, &mut state.second, 1.0 / factor);
                if *fit_bias {
                    multiply(&mut state.bias, 1.0, factor);
                    multiply(&mut state.second_bias, 1.0, 1.0 / factor);
                }
            }
        }
    }

    /// Shrink all weights by the share of the L2 penalty.
    #[inline(always)]
    pub(super) fn shrink(&mut self) {
        if let Rule::Perceptron { decay, .. } = self.rule
            && decay > 0.0
        {
            self.scale *= (1.0 - decay).max(0.0);
            if self.scale < 1e-9 {
                self.fold_scale();
            }
        }
    }

    pub(super) fn fold_scale(&mut self) {
        if self.scale != 1.0 {
            let scale = self.scale;
            self.state.weights.iter_mut().for_each(|weight| *weight *= scale);
            self.scale = 1.0;
        }
    }

    /// Move the weights of a row towards zero by the L1 penalty they still owe (Tsuruoka and others 2009).
    #[inline(always)]
    pub(super) fn truncate(&mut self, vector: Vector<'_>) {
        let Rule::Perceptron { truncation, .. } = self.rule else {
            return;
        };
        if truncation <= 0.0 {
            return;
        }
        self.owed += truncation;
        let (owed, scale, paid, weights) = (self.owed, self.scale, &mut self.paid, &mut self.state.weights);
        vector.each(|column, _| {
            let before = weights[column];
            let real = before * scale;
            if real > 0.0 {
                weights[column] = (before - (owed + paid[column]) / scale).max(0.0);
            } else if real < 0.0 {
                weights[column] = (before + (owed - paid[column]) / scale).min(0.0);
            }
            paid[column] += scale * (weights[column] - before);
        });
    }
}

/// Sums at once: a single one would wait for each addition.
const LANES: usize = 4;

/// Sum the weights of the features that are present, or what they are more than others.
///
/// Loops, not methods of iterators: within vector code the compiler does not inline those.
#[inline(always)]
fn present<const DIFFERENCES: bool>(vector: Vector<'_>, weights: &[f64], others: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    match vector {
        Vector::Dense(values) => {
            let (whole, weights) = (values.len() / LANES * LANES, &weights[..values.len()]);
            let others = if DIFFERENCES { &others[..values.len()] } else { weights };
            let chunks = values.as_chunks::<LANES>().0.iter().zip(weights.as_chunks::<LANES>().0);
            for ((values, weights), others) in chunks.zip(others.as_chunks::<LANES>().0) {
                for lane in 0..LANES {
                    let weight = if DIFFERENCES {
                        weights[lane] - others[lane]
                    } else {
                        weights[lane]
                    };
                    sums[lane] += if values[lane] != 0.0 { weight } else { 0.0 };
                }
            }
            for column in whole..values.len() {
                let weight = if DIFFERENCES {
                    weights[column] - others[column]
                } else {
                    weights[column]
                };
                sums[0] += if values[column] != 0.0 { weight } else { 0.0 };
            }
        }
        Vector::Sparse(columns, values) => {
            let whole = columns.len() / LANES * LANES;
            let chunks = columns.as_chunks::<LANES>().0.iter().zip(values.as_chunks::<LANES>().0);
            for (columns, values) in chunks {
                for lane in 0..LANES {
                    let column = columns[lane] as usize;
                    let weight = if DIFFERENCES {
                        weights[column] - others[column]
                    } else {
                        weights[column]
                    };
                    sums[lane] += if values[lane] != 0.0 { weight } else { 0.0 };
                }
            }
            for (&column, &value) in columns[whole..].iter().zip(&values[whole..]) {
                let column = column as usize;
                let weight = if DIFFERENCES {
                    weights[column] - others[column]
                } else {
                    weights[column]
                };
                sums[0] += if value != 0.0 { weight } else { 0.0 };
            }
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The factor to a power that is nearly always 1 or −1.
#[inline(always)]
fn power(factor: f64, exponent: f64) -> f64 {
    if exponent == 1.0 {
        factor
    } else if exponent == -1.0 {
        1.0 / factor
    } else {
        factor.powf(exponent)
    }
}

/// Multiply the weights of the features that are present.
#[inline(always)]
fn multiply_present(vector: Vector<'_>, weights: &mut [f64], factor: f64) {
    match vector {
        Vector::Dense(values) => {
            for (weight, &value) in weights.iter_mut().zip(values) {
                multiply(weight, value, factor);
            }
        }
        Vector::Sparse(columns, values) => {
            for (&column, &value) in columns.iter().zip(values) {
                multiply(&mut weights[column as usize], value, factor);
            }
        }
    }
}

/// Without a branch: whether a feature is present cannot be predicted.
#[inline(always)]
fn multiply(weight: &mut f64, value: f64, factor: f64) {
    let multiplied = (*weight * factor).clamp(LIGHTEST, HEAVIEST);
    *weight = if value != 0.0 { multiplied } else { *weight };
}
