//! Dual coordinate descent.
//!
//! Objective, for the hinge (D = 0, U = cᵢ) and the squared hinge (D = 1/2cᵢ, U = ∞):
//!
//! ```text
//! min over α   ½ Σᵢⱼ αᵢαⱼyᵢyⱼ(xᵢ·xⱼ) + ½ Σ Dᵢαᵢ² − Σ αᵢ      with 0 ≤ αᵢ ≤ Uᵢ,      w = Σ αᵢyᵢxᵢ
//! ```
//!
//! One αᵢ after the other is moved to its best value, in random order; rows that stay at a bound
//! are left out ("shrinking"). Stops when primal − dual ≤ tolerance · primal, both computed over all rows. cᵢ = ∞ is
//! the hard margin.
//!
//! Paper: Hsieh, Chang, Lin, Keerthi and Sundararajan, "A dual coordinate descent method for large-scale linear SVM",
//! ICML 2008. Changes to it:
//!
//! - the stopping rule;
//! - an order that is random among some runs of neighboring rows, so that a pass does not wait for memory;
//! - rows that stay at a bound are visited less often (`schedule`);
//! - extrapolation after a pass (`extrapolation`), and conjugate gradients when many passes are left (`face`);
//! - a free intercept, which adds Σ αᵢyᵢ = 0, by the method of multipliers (Hestenes 1969), with one step of the
//!   multiplier, the intercept, after each pass.

mod certificate;
mod extrapolation;
mod face;
mod intercept;
mod schedule;

use super::rows::Rows;
use super::value::Value;
use super::{Certificate, FEW_ROWS, Intercept, Limits, Loss, Random, Solution, shuffle_in_runs};
use crate::system::cancel::Countdown;
use crate::system::memory::prefetch;
use certificate::Evaluation;
use extrapolation::LastSteps;
use schedule::{Bounds, Convergence, FaceSchedule, Skip};

/// How many rows ahead of its use a row is fetched.
const AHEAD: usize = 4;
/// When more passes than this are left at the present rate, solve for many α at once.
const MANY_PASSES: f64 = 200.0;
/// The cost of an extrapolation in numbers read for each row and column: it must not cost more than the passes.
const EXTRAPOLATION_COST: f64 = 4.0;
/// The least that a pass over few rows counts, so that the work ends.
const LEAST_WORK: f64 = 0.01;

#[derive(Clone, Copy)]
struct Coordinate {
    alpha: f64,
    cost: f64,
    sign: f64,
    /// 1 / (‖x‖² + D): the step for a gradient of 1.
    step: f64,
}

pub struct Dual<'a, V> {
    rows: &'a Rows<V>,
    loss: Loss,
    intercept: Intercept,
    coordinates: Vec<Coordinate>,
    weights: Vec<f64>,
    /// The intercept that the multiplier has reached; 0 unless it is free.
    offset: f64,
    /// The square of the constant feature, times Σ αᵢyᵢ: the current intercept is `offset + lift · balance`.
    lift: f64,
    balance: f64,
    value: f64,
    /// Rows that are not left out, sorted; and the order in which they are visited.
    active: Vec<u32>,
    visits: Vec<u32>,
    skips: Vec<Skip>,
    countdown: Countdown,
}

impl<'a, V: Value> Dual<'a, V> {
    /// Set up the problem; `signs` are ±1, `costs` above 0 and infinite for the hard margin.
    pub fn new(rows: &'a Rows<V>, signs: &[f64], costs: &[f64], loss: Loss, intercept: Intercept) -> Self {
        let mean = rows.squares.iter().sum::<f64>() / rows.len().max(1) as f64;
        let lift = match intercept {
            Intercept::None => 0.0,
            Intercept::Penalized(scale) => scale * scale,
            Intercept::Free => {
                if mean > 0.0 {
                    mean
                } else {
                    1.0
                }
            }
        };
        let coordinate = |((&cost, &sign), square): ((&f64, &f64), &f64)| Coordinate {
            alpha: 0.0,
            cost,
            sign,
            step: 1.0 / (square + lift + diagonal(loss, cost)),
        };
        Dual {
            rows,
            loss,
            intercept,
            coordinates: costs.iter().zip(signs).zip(&rows.squares).map(coordinate).collect(),
            weights: vec![0.0; rows.n_columns],
            offset: 0.0,
            lift,
            balance: 0.0,
            value: 0.0,
            active: (0..rows.len() as u32).collect(),
            visits: Vec::with_capacity(rows.len()),
            skips: vec![Skip::default(); rows.len()],
            countdown: Countdown::default(),
        }
    }

    pub fn solve(mut self, limits: Limits, seed: u64) -> Solution {
        let mut random = Random(seed);
        let (mut bounds, mut passes) = (Bounds::NONE, 0.0);
        let rows = self.rows.len().max(1) as f64;
        let (mut face_schedule, mut convergence) = (FaceSchedule::default(), Convergence::default());
        let (numbers, mut numbers_read) = (
            (0..self.rows.len()).map(|row| self.rows.size(row)).sum::<usize>() as f64,
            0.0,
        );
        let (may_extrapolate, mut last_steps) = (self.intercept != Intercept::Free && !self.is_hard(), None);
        loop {
            let start = self.value;
            let (estimate, next) = self.pass(bounds, &mut random);
            let visited = self.visits.len() as f64 / rows;
            passes += visited.max(LEAST_WORK);
            bounds = next.unless_nothing_moved();
            face_schedule.passed((self.value - start) / visited.max(LEAST_WORK));
            convergence.passed(estimate);
            let enough = limits.tolerance * (self.value + estimate).max(0.0);
            let last = passes.round() >= limits.passes as f64;
            // The gap falls by about the same factor from pass to pass: evaluate when it may have fallen enough.
            if convergence.next() <= enough || self.active.is_empty() || last {
                let evaluation = self.evaluate(bounds);
                let mut certificate = evaluation.certificate;
                certificate.passes = passes.round() as usize;
                if last || certificate.reaches(limits.tolerance) || certificate.violation == 0.0 {
                    return self.finish(evaluation, certificate);
                }
                bounds = Bounds::NONE;
            }
            // An early extrapolation would run into too many bounds.
            numbers_read += visited * numbers;
            if may_extrapolate
                && estimate < self.value
                && numbers_read > EXTRAPOLATION_COST * (rows + self.rows.n_columns as f64)
            {
                numbers_read = 0.0;
                self.extrapolate(
                    last_steps.get_or_insert_with(|| LastSteps::new(self.rows.len(), self.rows.n_columns)),
                );
            }
            if convergence.passes_to(enough) > MANY_PASSES && face_schedule.face_is_due() {
                passes += self.solve_face(&mut face_schedule);
                last_steps = None;
            }
            self.step_multiplier();
        }
    }

    /// Go once over the active rows; return the gap as seen on the way (each row's part when it was visited), and the
    /// bounds.
    fn pass(&mut self, bounds: Bounds, random: &mut Random) -> (f64, Bounds) {
        let skips = &mut self.skips;
        let awake = self.active.iter().copied();
        let awake: Vec<u32> = awake.filter(|&row| !skips[row as usize].skips_now()).collect();
        shuffle_in_runs(&awake, &mut self.visits, random);
        // Rows that follow each other in every pass make it converge slowly: two to three times as many passes.
        for near in self.visits.chunks_mut(FEW_ROWS) {
            random.shuffle(near);
        }
        let mut estimate = 0.0;
        let mut next = Bounds { least: 0.0, most: 0.0 };
        let mut left_out = false;
        for place in 0..self.visits.len() {
            let row = self.visits[place] as usize;
            if let Some(&later) = self.visits.get(place + 3 * AHEAD) {
                self.rows.prefetch_start(later as usize);
                prefetch(&self.coordinates, later as usize);
            }
            if let Some(&soon) = self.visits.get(place + AHEAD) {
                self.rows.prefetch(soon as usize);
            }
            estimate += self.improve(row, bounds, &mut next, &mut left_out);
            self.countdown.spend(self.rows.size(row));
        }
        if left_out {
            let coordinates = &mut self.coordinates;
            // A row that was left out has a negative step: see `improve`.
            self.active.retain(|&row| coordinates[row as usize].step > 0.0);
        }
        (estimate, next)
    }

    /// Move one αᵢ to its best value; return the row's part of the gap before that.
    #[inline(always)]
    fn improve(&mut self, row: usize, bounds: Bounds, next: &mut Bounds, left_out: &mut bool) -> f64 {
        let found = self.rows.row(row);
        let output = found.dot(&self.weights) + self.offset + self.lift * self.balance;
        let coordinate = &mut self.coordinates[row];
        let Coordinate {
            alpha,
            cost,
            sign,
            step,
            ..
        } = *coordinate;
        let slack = 1.0 - sign * output;
        let (diagonal, upper) = (diagonal(self.loss, cost), upper(self.loss, cost));
        let gradient = diagonal * alpha - slack;
        let part = pair(self.loss, cost, alpha, slack);
        if (alpha <= 0.0 && gradient >= 0.0) || (alpha >= upper && gradient <= 0.0) {
            if (alpha <= 0.0 && gradient > bounds.most) || (alpha >= upper && gradient < bounds.least) {
                coordinate.step = -step;
                *left_out = true;
            }
            self.skips[row] = self.skips[row].longer();
            return part;
        }
        self.skips[row] = Skip::default();
        next.most = next.most.max(gradient);
        next.least = next.least.min(gradient);
        let better = (alpha - gradient * step).clamp(0.0, upper);
        let change = better - alpha;
        if change != 0.0 {
            coordinate.alpha = better;
            self.value -= change * (gradient + 0.5 * change / step);
            self.balance += change * sign;
            found.add_to(&mut self.weights, change * sign);
        }
        part
    }

    /// Step the multiplier of Σ αᵢyᵢ = 0 in the direction of the violation.
    fn step_multiplier(&mut self) {
        if self.intercept == Intercept::Free {
            self.offset += self.lift * self.balance;
        }
    }

    fn is_hard(&self) -> bool {
        self.coordinates.iter().all(|row| row.cost.is_infinite())
    }

    fn finish(self, evaluation: Evaluation, certificate: Certificate) -> Solution {
        Solution {
            weights: self.weights.iter().map(|weight| weight * evaluation.scale).collect(),
            intercept: evaluation.intercept * evaluation.scale,
            duals: self.coordinates.iter().map(|row| row.alpha).collect(),
            certificate,
        }
    }
}

/// D: the addition of the squared hinge to the diagonal.
#[inline(always)]
fn diagonal(loss: Loss, cost: f64) -> f64 {
    match loss {
        Loss::Hinge => 0.0,
        Loss::SquaredHinge => 0.5 / cost,
    }
}

/// U: the largest α.
#[inline(always)]
fn upper(loss: Loss, cost: f64) -> f64 {
    match loss {
        Loss::Hinge => cost,
        Loss::SquaredHinge => f64::INFINITY,
    }
}

/// The part of a row in the gap, at least 0 (Fenchel and Young): c ℓ(ξ) + α²/4c (squared only) − αξ.
#[inline(always)]
fn pair(loss: Loss, cost: f64, alpha: f64, slack: f64) -> f64 {
    let positive = slack.max(0.0);
    if cost.is_infinite() {
        // A hard margin has no loss: a missing margin counts as much as an excessive one.
        return (alpha * slack).abs().max(positive * positive);
    }
    match loss {
        Loss::Hinge => cost * positive - alpha * slack,
        Loss::SquaredHinge => cost * positive * positive + 0.25 * alpha * alpha / cost - alpha * slack,
    }
}
