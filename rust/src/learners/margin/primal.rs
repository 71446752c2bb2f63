//! Newton's method on the primal, for the squared hinge: best when there are many more rows than columns.
//!
//! Objective: min over w, b   ½‖w‖² (+ ½(b/s)², if the intercept is penalized) + Σ cᵢ max(0, 1 − yᵢ(w·xᵢ + b))²
//!
//! It is quadratic as long as no row enters or leaves the set of those within the margin. Each step solves for the
//! minimum with the set held fixed, by conjugate gradients with a diagonal preconditioner, then goes to the exact
//! minimum along that direction; this ends after finitely many steps. Stops when primal − dual ≤ tolerance · primal,
//! with the dual value at αᵢ = 2cᵢ max(0, ξᵢ).
//! Papers: Keerthi and DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs", JMLR
//! 2005; Hsia, Chiang and Lin, "Preconditioned conjugate gradient methods in truncated Newton frameworks for
//! large-scale linear classification", ACML 2018.

use super::rows::Rows;
use super::value::Value;
use super::{Certificate, Intercept, Limits, Solution};
use crate::system::cancel::Countdown;
use crate::system::vector::vectorized;

/// Conjugate gradients stop at this share of the gradient.
const FORCING: f64 = 0.05;
const MOST_INNER: usize = 250;
/// Sums at once: a single one would wait for each addition.
const LANES: usize = 8;

pub struct Primal<'a, V> {
    rows: &'a Rows<V>,
    signs: &'a [f64],
    costs: &'a [f64],
    intercept: Intercept,
    /// Weights; the last one belongs to the constant feature.
    weights: Vec<f64>,
    /// w·x + b of each row.
    outputs: Vec<f64>,
    passes: usize,
    countdown: Countdown,
}

/// The value, the gradient, and the dual value that goes with it.
struct Slope {
    primal: f64,
    dual: f64,
    gradient: Vec<f64>,
    curvature: Vec<f64>,
}

impl Slope {
    fn certificate(&self) -> Certificate {
        Certificate {
            primal: self.primal,
            dual: self.dual,
            violation: self.gradient.iter().fold(0.0, |most, value| value.abs().max(most)),
            passes: 0,
        }
    }
}

impl<'a, V: Value> Primal<'a, V> {
    pub fn new(rows: &'a Rows<V>, signs: &'a [f64], costs: &'a [f64], intercept: Intercept) -> Self {
        Primal {
            rows,
            signs,
            costs,
            intercept,
            weights: vec![0.0; rows.n_columns + 1],
            outputs: vec![0.0; rows.len()],
            passes: 0,
            countdown: Countdown::default(),
        }
    }

    pub fn solve(mut self, limits: Limits) -> Solution {
        loop {
            let slope = self.slope();
            let direction = if slope.certificate().reaches(limits.tolerance) || self.passes >= limits.passes {
                None
            } else {
                self.direction(&slope)
            };
            let Some(direction) = direction else {
                return self.finish(&slope);
            };
            let changes = self.outputs_of(&direction);
            let length = self.line_search(&direction, &changes);
            if length <= 0.0 {
                return self.finish(&slope); // rounding: there is nothing left to gain
            }
            add(&mut self.weights, length, &direction);
            add(&mut self.outputs, length, &changes);
        }
    }

    /// The value of the constant feature.
    fn constant(&self) -> f64 {
        match self.intercept {
            Intercept::None => 0.0,
            Intercept::Penalized(scale) => scale,
            Intercept::Free => 1.0,
        }
    }

    /// The factor of a weight in the penalty.
    fn penalty(&self, column: usize) -> f64 {
        if column == self.rows.n_columns && self.intercept == Intercept::Free {
            0.0
        } else {
            1.0
        }
    }

    fn slack(&self, row: usize) -> f64 {
        (1.0 - self.signs[row] * self.outputs[row]).max(0.0)
    }

    fn duals(&self) -> Vec<f64> {
        (0..self.rows.len())
            .map(|row| 2.0 * self.costs[row] * self.slack(row))
            .collect()
    }

    /// Σ αᵢyᵢxᵢ, with the constant feature.
    fn combine(&self, duals: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.weights.len()];
        for (row, &alpha) in duals.iter().enumerate().filter(|(_, alpha)| **alpha != 0.0) {
            self.rows
                .row(row)
                .add_to(&mut sum[..self.rows.n_columns], alpha * self.signs[row]);
            sum[self.rows.n_columns] += alpha * self.signs[row] * self.constant();
            self.countdown.spend(self.rows.size(row));
        }
        sum
    }

    fn slope(&mut self) -> Slope {
        self.passes += 1;
        let mut duals = self.duals();
        let pull = self.combine(&duals);
        let (mut penalty, mut gradient) = (0.0, pull.clone());
        for (column, (slope, weight)) in gradient.iter_mut().zip(&self.weights).enumerate() {
            penalty += 0.5 * self.penalty(column) * weight * weight;
            *slope = self.penalty(column) * weight - *slope;
        }
        // With α = 2cξ the losses are Σ α²/4c.
        let loss: f64 = duals
            .iter()
            .zip(self.costs)
            .map(|(alpha, cost)| 0.25 * alpha * alpha / cost)
            .sum();
        let balance = pull[self.rows.n_columns];
        let dual = if self.intercept == Intercept::Free && balance != 0.0 {
            self.rebalance(&mut duals, balance);
            let pull = self.combine(&duals);
            self.dual(&duals, &pull)
        } else {
            self.dual(&duals, &pull)
        };
        Slope {
            primal: penalty + loss,
            dual,
            gradient,
            curvature: self.curvature(),
        }
    }

    /// Scale the α of one class so that Σ αᵢyᵢ = 0, which the dual of a free intercept demands.
    fn rebalance(&self, duals: &mut [f64], balance: f64) {
        let heavy = |row: usize| self.signs[row] == balance.signum();
        let total: f64 = (0..duals.len()).filter(|&row| heavy(row)).map(|row| duals[row]).sum();
        let kept = (1.0 - balance.abs() / total).max(0.0);
        (0..duals.len())
            .filter(|&row| heavy(row))
            .for_each(|row| duals[row] *= kept);
    }

    fn dual(&self, duals: &[f64], pull: &[f64]) -> f64 {
        let gain: f64 = duals
            .iter()
            .zip(self.costs)
            .map(|(alpha, cost)| alpha - 0.25 * alpha * alpha / cost)
            .sum();
        let norm: f64 = pull
            .iter()
            .enumerate()
            .map(|(column, pull)| self.penalty(column) * pull * pull)
            .sum();
        gain - 0.5 * norm
    }

    /// The diagonal of the second derivative.
    fn curvature(&self) -> Vec<f64> {
        let mut diagonal: Vec<f64> = (0..self.weights.len()).map(|column| self.penalty(column)).collect();
        for row in (0..self.rows.len()).filter(|&row| self.slack(row) > 0.0) {
            let twice = 2.0 * self.costs[row];
            self.rows
                .row(row)
                .each(|column, value| diagonal[column] += twice * value * value);
            diagonal[self.rows.n_columns] += twice * self.constant() * self.constant();
            self.countdown.spend(self.rows.size(row));
        }
        diagonal
    }

    /// Solve H d = −g by preconditioned conjugate gradients; `None` when g is 0.
    fn direction(&mut self, slope: &Slope) -> Option<Vec<f64>> {
        let inside: Vec<usize> = (0..self.rows.len()).filter(|&row| self.slack(row) > 0.0).collect();
        let divided = |vector: &[f64]| -> Vec<f64> {
            let scaled = vector.iter().zip(&slope.curvature);
            scaled
                .map(|(value, scale)| if *scale > 0.0 { value / scale } else { 0.0 })
                .collect()
        };
        let mut residual: Vec<f64> = slope.gradient.iter().map(|value| -value).collect();
        let mut scaled = divided(&residual);
        let (mut step, mut direction) = (scaled.clone(), vec![0.0; residual.len()]);
        let mut product = dot(&residual, &scaled);
        let enough = FORCING * FORCING * product;
        if product <= 0.0 {
            return None;
        }
        for _ in 0..MOST_INNER {
            let curved = self.hessian_product(&step, &inside);
            let bend = dot(&step, &curved);
            if bend <= 0.0 {
                break;
            }
            let length = product / bend;
            add(&mut direction, length, &step);
            add(&mut residual, -length, &curved);
            scaled = divided(&residual);
            let before = std::mem::replace(&mut product, dot(&residual, &scaled));
            if product <= enough {
                break;
            }
            let share = product / before;
            step.iter_mut()
                .zip(&scaled)
                .for_each(|(step, scaled)| *step = scaled + share * *step);
        }
        Some(direction)
    }

    /// H v = penalty·v + 2 Σ over the rows within the margin of cᵢ (xᵢ·v) xᵢ.
    fn hessian_product(&mut self, vector: &[f64], inside: &[usize]) -> Vec<f64> {
        self.passes += 1;
        let (n_columns, constant) = (self.rows.n_columns, self.constant());
        let mut result: Vec<f64> = (0..=n_columns)
            .map(|column| self.penalty(column) * vector[column])
            .collect();
        for &row in inside {
            let found = self.rows.row(row);
            let output = found.dot(&vector[..n_columns]) + constant * vector[n_columns];
            let scale = 2.0 * self.costs[row] * output;
            found.add_to(&mut result[..n_columns], scale);
            result[n_columns] += scale * constant;
            self.countdown.spend(self.rows.size(row));
        }
        result
    }

    fn outputs_of(&self, direction: &[f64]) -> Vec<f64> {
        let (n_columns, constant) = (self.rows.n_columns, self.constant() * direction[self.rows.n_columns]);
        let mut outputs = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            outputs.push(self.rows.row(row).dot(&direction[..n_columns]) + constant);
            self.countdown.spend(self.rows.size(row));
        }
        outputs
    }

    /// The t that minimizes the objective at w + t·d: the zero of an increasing, piecewise linear derivative.
    fn line_search(&self, direction: &[f64], changes: &[f64]) -> f64 {
        let columns = 0..direction.len();
        let start: f64 = columns
            .clone()
            .map(|c| self.penalty(c) * self.weights[c] * direction[c])
            .sum();
        let rise: f64 = columns.map(|c| self.penalty(c) * direction[c] * direction[c]).sum();
        let (mut low, mut high, mut place) = (0.0, f64::INFINITY, 1.0);
        for _ in 0..64 {
            let (falls, turns) = vectorized(
                #[inline(always)]
                || self.losses_along(changes, place),
            );
            let (slope, bend) = (start + place * rise - falls, rise + turns);
            if slope > 0.0 {
                high = place
            } else {
                low = place
            }
            let newton = if bend > 0.0 { place - slope / bend } else { 2.0 * place };
            let next = if newton > low && newton < high {
                newton
            } else if high.is_finite() {
                0.5 * (low + high)
            } else {
                2.0 * place
            };
            if (next - place).abs() <= 1e-12 * place {
                return next;
            }
            place = next;
        }
        place
    }

    /// By how much the losses fall at w + t·d, and how fast that changes; without branches, which nobody could predict.
    #[inline(always)]
    fn losses_along(&self, changes: &[f64], place: f64) -> (f64, f64) {
        let (mut falls, mut turns) = ([0.0; LANES], [0.0; LANES]);
        let (costs, last_costs) = self.costs.as_chunks::<LANES>();
        let (signs, last_signs) = self.signs.as_chunks::<LANES>();
        let (outputs, last_outputs) = self.outputs.as_chunks::<LANES>();
        let (changes, last_changes) = changes.as_chunks::<LANES>();
        for ((costs, changes), (signs, outputs)) in costs.iter().zip(changes).zip(signs.iter().zip(outputs)) {
            for lane in 0..LANES {
                let turn = signs[lane] * changes[lane];
                let slack = 1.0 - signs[lane] * outputs[lane] - place * turn;
                let cost = if slack > 0.0 { 2.0 * costs[lane] } else { 0.0 };
                falls[lane] += cost * slack * turn;
                turns[lane] += cost * turn * turn;
            }
        }
        let last = last_costs
            .iter()
            .zip(last_changes)
            .zip(last_signs.iter().zip(last_outputs));
        for ((cost, change), (sign, output)) in last {
            let turn = sign * change;
            let slack = 1.0 - sign * output - place * turn;
            let cost = if slack > 0.0 { 2.0 * cost } else { 0.0 };
            falls[0] += cost * slack * turn;
            turns[0] += cost * turn * turn;
        }
        (falls.iter().sum(), turns.iter().sum())
    }

    fn finish(self, slope: &Slope) -> Solution {
        let mut certificate = slope.certificate();
        certificate.passes = self.passes;
        let intercept = self.weights[self.rows.n_columns] * self.constant();
        let duals = self.duals();
        let mut weights = self.weights;
        weights.truncate(self.rows.n_columns);
        Solution {
            weights,
            intercept,
            duals,
            certificate,
        }
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

/// left ← left + scale · right.
fn add(left: &mut [f64], scale: f64, right: &[f64]) {
    left.iter_mut()
        .zip(right)
        .for_each(|(left, right)| *left += scale * right);
}
