//! Stochastic gradient descent for linear classifiers: one row after another, each moves the weights against the slope of
//! its loss, and a penalty shrinks them (Bottou 2010). Orders of rows, step sizes and the rule that ends it are those of
//! scikit-learn's `SGDClassifier`, so that results are the same to rounding; but the penalty in the objective is that of all
//! weights, while scikit-learn takes those of the last row's columns.

mod loss;
mod weights;

use crate::system::memory::prefetch;
use crate::tables::vectors::Vectors;

pub use loss::Loss;
use weights::Weights;

/// Numbers read between two looks at the clock.
const NUMBERS_AT_ONCE: usize = 1 << 20;
/// How many rows ahead of its use a row is fetched.
const AHEAD: usize = 4;
/// Slopes are cut to this.
const STEEPEST: f64 = 1e12;
/// The adaptive step size is divided by 5 until it is below this.
const SMALLEST_STEP: f64 = 1e-6;

/// How the size of a step depends on the number of steps.
#[derive(Clone, Copy, PartialEq)]
pub enum Rate {
    Constant,
    /// 1/(α(t₀ + t)).
    Optimal,
    /// first / t^power.
    InverseScaling(f64),
    /// Divided by 5 whenever the objective no longer falls.
    Adaptive,
}

#[derive(Clone, Copy)]
pub struct Settings {
    pub loss: Loss,
    pub alpha: f64,
    /// The share of the L1 penalty; None without any penalty.
    pub l1_ratio: Option<f64>,
    pub rate: Rate,
    pub first_step: f64,
    pub intercept: bool,
    /// What the steps of the intercept are multiplied with.
    pub intercept_decay: f64,
    pub shuffle: bool,
    pub most_epochs: u64,
    /// By how much the objective must fall; −∞ to run all epochs.
    pub tolerance: f64,
    pub patience: u64,
    /// Average from this step on; 0 for no average.
    pub average: u64,
    /// The number of the first step, from 1.
    pub start: f64,
}

/// Rows with the class ±1 of each, their weights and squared norms.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    pub table: Vectors<'a>,
    pub classes: &'a [i32],
    /// The class that is positive.
    pub positive: i32,
    /// The weights of negative and positive rows.
    pub factors: [f64; 2],
    pub weights: &'a [f64],
    pub norms: &'a [f64],
}

pub struct Learner<'a> {
    rows: Rows<'a>,
    settings: Settings,
    weights: Weights,
    pub intercept: f64,
    pub average_intercept: f64,
    pub epochs: u64,
    /// Whether a weight became infinite.
    pub overflown: bool,
    order: Vec<u32>,
    seed: u32,
    next: usize,
    step: f64,
    steps: f64,
    first_of_optimal: f64,
    owed: f64,
    objective: f64,
    best: f64,
    stale: u64,
    is_done: bool,
}

impl<'a> Learner<'a> {
    /// Begin with weights, intercept, and the averages of both; `averages` is empty without an average.
    pub fn new(
        rows: Rows<'a>,
        settings: Settings,
        seed: u32,
        weights: Vec<f64>,
        averages: Vec<f64>,
        intercepts: [f64; 2],
    ) -> Self {
        let has_l1 = settings.l1_ratio.is_some_and(|ratio| ratio > 0.0);
        let mut learner = Learner {
            weights: Weights::new(weights, averages, has_l1),
            intercept: intercepts[0],
            average_intercept: intercepts[1],
            epochs: 0,
            overflown: false,
            order: (0..rows.table.rows() as u32).collect(),
            seed,
            next: 0,
            step: settings.first_step,
            steps: settings.start,
            first_of_optimal: first_of_optimal(&settings),
            owed: 0.0,
            objective: 0.0,
            best: f64::INFINITY,
            stale: 0,
            is_done: settings.most_epochs == 0,
            rows,
            settings,
        };
        learner.begin_epoch();
        learner
    }

    /// Show some rows; return whether the end is reached.
    pub fn advance(&mut self) -> bool {
        let mut read = 0;
        while !self.is_done && read < NUMBERS_AT_ONCE {
            if self.next == self.order.len() {
                self.end_epoch();
                continue;
            }
            self.fetch_ahead();
            read += self.show(self.order[self.next] as usize);
            self.next += 1;
        }
        self.is_done
    }

    /// Return the weights and their average, which is empty if there is none.
    pub fn into_weights(self) -> (Vec<f64>, Vec<f64>) {
        self.weights.into_parts()
    }

    #[inline(always)]
    fn fetch_ahead(&self) {
        let coming = |ahead: usize| self.order.get(self.next + ahead).map(|&row| row as usize);
        if let Some(later) = coming(3 * AHEAD) {
            self.rows.table.fetch_place(later);
            prefetch(self.rows.classes, later);
            prefetch(self.rows.norms, later);
        }
        if let Some(soon) = coming(AHEAD) {
            self.rows.table.row(soon).fetch();
        }
    }

    /// Learn from a row; return how many numbers it has.
    #[inline(always)]
    fn show(&mut self, index: usize) -> usize {
        let Settings { loss, alpha, .. } = self.settings;
        let row = self.rows.table.row(index);
        let positive = self.rows.classes[index] == self.rows.positive;
        let sign = if positive { 1.0 } else { -1.0 };
        let mut inner = self.weights.score(row);
        let score = inner + self.intercept;
        match self.settings.rate {
            Rate::Optimal => self.step = 1.0 / (alpha * (self.first_of_optimal + self.steps - 1.0)),
            Rate::InverseScaling(power) => self.step = self.settings.first_step / self.steps.powf(power),
            Rate::Constant | Rate::Adaptive => {}
        }
        self.objective += loss.value(sign, score) + self.penalty();
        let slope = loss.slope(sign, score).clamp(-STEEPEST, STEEPEST);
        let update = -self.step * slope * self.rows.factors[usize::from(positive)] * self.rows.weights[index];
        if let Some(ratio) = self.settings.l1_ratio {
            let factor = (1.0 - (1.0 - ratio) * self.step * alpha).max(0.0);
            self.weights.shrink(factor);
            inner *= factor;
        }
        if update != 0.0 {
            self.weights.add(row, update, inner, self.rows.norms[index]);
            if self.settings.intercept {
                self.intercept += update * self.settings.intercept_decay;
            }
        }
        if self.settings.average > 0 && self.settings.average as f64 <= self.steps {
            let steps = self.steps - self.settings.average as f64 + 1.0;
            self.weights.average(row, update, steps);
            self.average_intercept += (self.intercept - self.average_intercept) / steps;
        }
        if let Some(ratio) = self.settings.l1_ratio.filter(|&ratio| ratio > 0.0) {
            self.owed += ratio * self.step * alpha;
            self.weights.pay(row, self.owed);
        }
        self.steps += 1.0;
        row.len() + 8
    }

    #[inline(always)]
    fn penalty(&self) -> f64 {
        self.settings.l1_ratio.map_or(0.0, |ratio| {
            self.settings.alpha * ((1.0 - ratio) * 0.5 * self.weights.squares + ratio * self.weights.sizes)
        })
    }

    fn begin_epoch(&mut self) {
        (self.next, self.objective) = (0, 0.0);
        if self.settings.shuffle {
            shuffle(&mut self.order, self.seed);
        }
    }

    fn end_epoch(&mut self) {
        self.epochs += 1;
        self.overflown = !self.intercept.is_finite() || !self.weights.are_finite();
        if self.overflown {
            self.is_done = true;
            return;
        }
        let objective = self.objective / self.order.len() as f64;
        let stale = self.settings.tolerance > f64::NEG_INFINITY && objective > self.best - self.settings.tolerance;
        self.stale = if stale { self.stale + 1 } else { 0 };
        self.best = self.best.min(objective);
        if self.stale >= self.settings.patience {
            if self.settings.rate == Rate::Adaptive && self.step > SMALLEST_STEP {
                self.step /= 5.0;
                self.stale = 0;
            } else {
                self.is_done = true;
            }
        }
        self.is_done |= self.epochs >= self.settings.most_epochs;
        self.weights.measure();
        if !self.is_done {
            self.begin_epoch();
        }
    }
}

/// Return t₀ of the optimal rate: the first step is not larger than a typical weight.
fn first_of_optimal(settings: &Settings) -> f64 {
    let typical = (1.0 / settings.alpha.sqrt()).sqrt();
    let first = typical / settings.loss.slope(1.0, -typical).max(1.0);
    1.0 / (first * settings.alpha)
}

/// Shuffle rows as scikit-learn does with a seed.
fn shuffle(order: &mut [u32], mut seed: u32) {
    let rows = order.len();
    for index in 0..rows.saturating_sub(1) {
        let other = index + draw(&mut seed) as usize % (rows - index);
        order.swap(index, other);
    }
}

/// Return the next number of Marsaglia's xorshift generator (2003).
fn draw(seed: &mut u32) -> u32 {
    if *seed == 0 {
        *seed = 1;
    }
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    *seed % (1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(loss: Loss) -> Settings {
        Settings {
            loss,
            alpha: 1e-3,
            l1_ratio: Some(0.0),
            rate: Rate::Optimal,
            first_step: 0.0,
            intercept: true,
            intercept_decay: 1.0,
            shuffle: true,
            most_epochs: 200,
            tolerance: 1e-6,
            patience: 5,
            average: 0,
            start: 1.0,
        }
    }

    #[test]
    fn separable_rows_are_separated() {
        let values = [1.0, 0.2, 2.0, -0.1, -1.5, 0.3, -1.0, -0.4];
        let table = Vectors::dense(&values, 4, 2).unwrap();
        let norms: Vec<f64> = (0..4).map(|row| table.row(row).squared_norm()).collect();
        for name in ["hinge", "perceptron", "squared_hinge", "log_loss", "modified_huber"] {
            let rows = Rows {
                table,
                classes: &[1, 1, 0, 0],
                positive: 1,
                factors: [1.0, 1.0],
                weights: &[1.0; 4],
                norms: &norms,
            };
            let loss = Loss::named(name).unwrap();
            let mut learner = Learner::new(rows, settings(loss), 7, vec![0.0; 2], vec![], [0.0; 2]);
            while !learner.advance() {}
            assert!(learner.epochs > 1 && !learner.overflown);
            let intercept = learner.intercept;
            let (weights, averages) = learner.into_weights();
            assert!(averages.is_empty());
            for (row, sign) in [1.0, 1.0, -1.0, -1.0].into_iter().enumerate() {
                assert!(sign * (table.row(row).dot(&weights) + intercept) > 0.0, "{name}");
            }
        }
    }

    #[test]
    fn a_seed_tells_the_order() {
        let mut order: Vec<u32> = (0..9).collect();
        shuffle(&mut order, 0);
        let mut same: Vec<u32> = (0..9).collect();
        shuffle(&mut same, 1);
        assert_eq!(order, same);
        order.sort_unstable();
        assert_eq!(order, (0..9).collect::<Vec<u32>>());
    }
}
