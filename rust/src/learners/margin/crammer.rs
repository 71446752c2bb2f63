//! Several classes at once (Crammer and Singer 2001).
//!
//! Objective: min over W   ½ Σₖ‖wₖ‖² + Σ cᵢ max over k of (1 − [k = yᵢ] − (w_yᵢ − wₖ)·xᵢ)
//!
//! Its dual: min over α   ½ Σₖ‖Σᵢ αᵢₖxᵢ‖² + Σᵢ Σ over k ≠ yᵢ of αᵢₖ   with Σₖ αᵢₖ = 0 and αᵢₖ ≤ cᵢ[k = yᵢ];
//! wₖ = Σᵢ αᵢₖxᵢ. One row after the other, in random order, gets its best αᵢ, which is a matter of sorting; rows that
//! need no change are left out for a while. Stops when primal − dual ≤ tolerance · primal, both over all rows.
//! Paper: Keerthi, Sundararajan, Chang, Hsieh and Lin, "A sequential dual method for large scale multi-class linear
//! SVMs", KDD 2008.

use super::order::Order;
use super::rows::Rows;
use super::value::Value;
use super::{Certificate, Intercept, Limits, Random, Solution};
use crate::system::cancel::Countdown;

pub struct CrammerSinger<'a, V> {
    rows: &'a Rows<V>,
    classes: Vec<u32>,
    costs: Vec<f64>,
    count: usize,
    /// The constant feature; 0 without an intercept.
    constant: f64,
    /// Weights, the classes of a column next to each other; the last column is the constant feature.
    weights: Vec<f64>,
    duals: Vec<f64>,
    active: Vec<u32>,
    countdown: Countdown,
}

/// Memory for the numbers of one row, one for each class.
struct Workspace {
    outputs: Vec<f64>,
    best: Vec<f64>,
    sorted: Vec<f64>,
}

impl<'a, V: Value> CrammerSinger<'a, V> {
    /// Set up the problem; `costs` are those of the rows of each class.
    pub fn new(rows: &'a Rows<V>, order: &Order, costs: &[[f64; 2]], intercept: Intercept) -> Self {
        let count = costs.len();
        CrammerSinger {
            rows,
            classes: order.merged.iter().map(|row| row.class).collect(),
            costs: order
                .merged
                .iter()
                .map(|row| row.weight * costs[row.class as usize][0])
                .collect(),
            count,
            constant: if let Intercept::Penalized(scale) = intercept {
                scale
            } else {
                0.0
            },
            weights: vec![0.0; (rows.n_columns + 1) * count],
            duals: vec![0.0; rows.len() * count],
            active: (0..rows.len() as u32).collect(),
            countdown: Countdown::default(),
        }
    }

    pub fn solve(mut self, limits: Limits, seed: u64) -> Vec<Solution> {
        let mut random = Random(seed);
        let mut workspace = Workspace {
            outputs: vec![0.0; self.count],
            best: vec![0.0; self.count],
            sorted: vec![0.0; self.count],
        };
        let (mut passes, mut worst, mut aim) = (0, f64::INFINITY, 0.1);
        loop {
            random.shuffle(&mut self.active);
            let shrink = worst;
            worst = self.pass(shrink, &mut workspace);
            passes += 1;
            let last = passes >= limits.passes;
            if worst > aim && !self.active.is_empty() && !last {
                continue;
            }
            let mut certificate = self.evaluate(&mut workspace);
            certificate.passes = passes;
            if last || certificate.reaches(limits.tolerance) {
                return self.finish(certificate);
            }
            aim = (0.3 * aim.min(worst.max(1e-16))).max(1e-16);
            self.active = (0..self.rows.len() as u32).collect();
            worst = f64::INFINITY;
        }
    }

    /// Go once over the active rows; return the largest violation.
    fn pass(&mut self, shrink: f64, workspace: &mut Workspace) -> f64 {
        let mut worst = 0.0f64;
        let mut kept = Vec::with_capacity(self.active.len());
        for place in 0..self.active.len() {
            let row = self.active[place] as usize;
            if let Some(&later) = self.active.get(place + 1) {
                self.rows.prefetch(later as usize);
            }
            self.outputs(row, &mut workspace.outputs);
            let (violation, spare) = self.violation(row, &workspace.outputs);
            worst = worst.max(violation);
            // All α are 0, and the other classes are far behind: this will not change soon.
            if violation > 0.0 || spare <= shrink {
                kept.push(row as u32);
            }
            if violation > 1e-15 {
                self.improve(row, workspace);
            }
            self.countdown.spend(self.rows.size(row) * self.count);
        }
        self.active = kept;
        worst
    }

    /// Write wₖ·x for every class.
    fn outputs(&self, row: usize, outputs: &mut [f64]) {
        let count = self.count;
        outputs.copy_from_slice(&self.weights[self.rows.n_columns * count..]);
        outputs.iter_mut().for_each(|output| *output *= self.constant);
        self.rows.row(row).each(|column, value| {
            let weights = &self.weights[column * count..(column + 1) * count];
            outputs
                .iter_mut()
                .zip(weights)
                .for_each(|(output, weight)| *output += value * weight);
        });
    }

    /// The gradient by αᵢₖ: wₖ·x + 1 − [k = y].
    fn gradient(&self, row: usize, class: usize, outputs: &[f64]) -> f64 {
        outputs[class] + if class == self.classes[row] as usize { 0.0 } else { 1.0 }
    }

    fn upper(&self, row: usize, class: usize) -> f64 {
        if class == self.classes[row] as usize {
            self.costs[row]
        } else {
            0.0
        }
    }

    /// Return how much the largest gradient exceeds the smallest of those that could still grow; and by how much a row
    /// with all its α at 0 is safe.
    fn violation(&self, row: usize, outputs: &[f64]) -> (f64, f64) {
        let duals = &self.duals[row * self.count..(row + 1) * self.count];
        let own = self.gradient(row, self.classes[row] as usize, outputs);
        let (mut most, mut least, mut rival) = (f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY);
        for (class, &alpha) in duals.iter().enumerate() {
            let gradient = self.gradient(row, class, outputs);
            most = most.max(gradient);
            if alpha < self.upper(row, class) {
                least = least.min(gradient);
            }
            if class != self.classes[row] as usize {
                rival = rival.max(gradient);
            }
        }
        let untouched = duals.iter().all(|&alpha| alpha == 0.0);
        let spare = if untouched { own - rival } else { 0.0 };
        ((most - least).max(0.0), spare)
    }

    /// Set αᵢ to its best: min over a of Σ ½A aₖ² + Bₖaₖ with Σ aₖ = 0 and aₖ ≤ upper, by sorting (algorithm 3).
    fn improve(&mut self, row: usize, workspace: &mut Workspace) {
        let size = self.rows.squares[row] + self.constant * self.constant;
        let (count, own) = (self.count, self.classes[row] as usize);
        let duals = row * count;
        if size <= 0.0 {
            // A row of zeros changes no weight: all of its cost is lost.
            self.duals[duals + own] = self.costs[row];
            self.duals[duals + usize::from(own == 0)] = -self.costs[row];
            return;
        }
        for class in 0..count {
            let gradient = self.gradient(row, class, &workspace.outputs);
            workspace.best[class] = gradient - size * self.duals[duals + class];
            workspace.sorted[class] = workspace.best[class] + if class == own { size * self.costs[row] } else { 0.0 };
        }
        workspace.sorted.sort_unstable_by(|left, right| right.total_cmp(left));
        let mut beta = workspace.sorted[0] - size * self.costs[row];
        let mut used = 1;
        while used < count && beta < used as f64 * workspace.sorted[used] {
            beta += workspace.sorted[used];
            used += 1;
        }
        beta /= used as f64;
        for class in 0..count {
            let best = ((beta - workspace.best[class]) / size).min(self.upper(row, class));
            let old = std::mem::replace(&mut self.duals[duals + class], best);
            workspace.best[class] = best - old;
        }
        let n_columns = self.rows.n_columns;
        for (place, change) in workspace.best.iter().enumerate() {
            self.weights[n_columns * count + place] += change * self.constant;
        }
        let (weights, changes) = (&mut self.weights, &workspace.best);
        self.rows.row(row).each(|column, value| {
            let weights = &mut weights[column * count..(column + 1) * count];
            weights
                .iter_mut()
                .zip(changes)
                .for_each(|(weight, change)| *weight += value * change);
        });
    }

    fn evaluate(&self, workspace: &mut Workspace) -> Certificate {
        let norm: f64 = self.weights.iter().map(|weight| weight * weight).sum();
        let (mut losses, mut gains, mut worst) = (0.0, 0.0, 0.0f64);
        for row in 0..self.rows.len() {
            self.outputs(row, &mut workspace.outputs);
            let own = self.classes[row] as usize;
            let most = (0..self.count)
                .map(|class| self.gradient(row, class, &workspace.outputs))
                .fold(f64::MIN, f64::max);
            losses += self.costs[row] * (most - workspace.outputs[own]);
            gains += self.duals[row * self.count + own]; // = −Σ of the others
            worst = worst.max(self.violation(row, &workspace.outputs).0);
            self.countdown.spend(self.rows.size(row) * self.count);
        }
        Certificate {
            primal: 0.5 * norm + losses,
            dual: gains - 0.5 * norm,
            violation: worst,
            passes: 0,
        }
    }

    fn finish(self, certificate: Certificate) -> Vec<Solution> {
        let (count, n_columns) = (self.count, self.rows.n_columns);
        let of = |class: usize| Solution {
            weights: (0..n_columns)
                .map(|column| self.weights[column * count + class])
                .collect(),
            intercept: self.weights[n_columns * count + class] * self.constant,
            duals: (0..self.rows.len())
                .map(|row| self.duals[row * count + class])
                .collect(),
            certificate,
        };
        (0..count).map(of).collect()
    }
}
