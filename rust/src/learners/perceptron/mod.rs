//! Learners that see one row after another: perceptron (plain, averaged, with a kernel), Winnow and balanced Winnow.
//!
//! On a mistake, y·score ≤ 0, the rule moves its weights: the perceptron adds rate·y·x (Rosenblatt 1958; averaged:
//! Freund and Schapire 1999), Winnow multiplies the weights of the features present by its factor, or divides them
//! (Littlestone 1988). An epoch shows every row once; a row of weight 2.5 is shown twice in full and once by half, in a
//! row.
//!
//! It stops after an epoch whose share of mistakes is at most `error_share`, or which changed nothing; when the loss
//! has not fallen by `tolerance` a row for `patience` epochs; or after `most_epochs`.

mod rows;
mod rule;

use crate::learners::margin::{FEW_ROWS, Random, shuffle_in_runs};
use crate::system::memory::prefetch;
use crate::system::vector::vectorized;
use crate::tables::vectors::Vector;

pub use rows::{Copied, Rows, Shown, Unfit};
pub use rule::{Rule, State};

/// Numbers read between two looks at the clock.
const NUMBERS_AT_ONCE: usize = 1 << 20;
/// How many rows ahead of its use a row is fetched.
const AHEAD: usize = 4;

#[derive(Clone, Copy)]
pub struct Settings {
    pub most_epochs: u64,
    pub tolerance: f64,
    pub patience: u64,
    pub error_share: f64,
    pub shuffle: bool,
    pub seed: u64,
}

/// The outcome of one learner.
#[derive(Clone, Copy, Default)]
pub struct Outcome {
    pub promotions: u64,
    pub demotions: u64,
    pub epochs: u64,
    /// The share of mistakes in the last epoch.
    pub error_share: f64,
    pub converged: bool,
}

pub struct Learner<'a> {
    rows: Rows<'a>,
    rule: Rule<'a>,
    settings: Settings,
    pub state: State,
    pub outcome: Outcome,
    places: Vec<u32>,
    order: Vec<u32>,
    /// 1 or −1 for each row shown.
    signs: Vec<f64>,
    random: Random,
    next: usize,
    mistakes: f64,
    loss: f64,
    best_loss: f64,
    stale_epochs: u64,
    /// The perceptron's weights are `scale` times those kept, so that shrinking all of them is one multiplication.
    scale: f64,
    /// The L1 penalty that each weight should have had, and has had.
    owed: f64,
    paid: Vec<f64>,
}

impl<'a> Learner<'a> {
    pub fn new(rows: Rows<'a>, rule: Rule<'a>, settings: Settings, state: State) -> Self {
        let truncates = matches!(rule, Rule::Perceptron { truncation, .. } if truncation > 0.0);
        let mut learner = Learner {
            places: (0..rows.shown.len() as u32).collect(),
            order: (0..rows.shown.len() as u32).collect(),
            signs: rows.signs(),
            random: Random(settings.seed),
            paid: if truncates {
                vec![0.0; state.weights.len()]
            } else {
                vec![]
            },
            rows,
            rule,
            settings,
            state,
            outcome: Outcome::default(),
            next: 0,
            mistakes: 0.0,
            loss: 0.0,
            best_loss: f64::INFINITY,
            stale_epochs: 0,
            scale: 1.0,
            owed: 0.0,
        };
        learner.begin_epoch();
        learner
    }

    /// Show some rows; return whether the end is reached.
    pub fn advance(&mut self) -> bool {
        if self.outcome.epochs >= self.settings.most_epochs || self.outcome.converged {
            self.fold_scale();
            return true;
        }
        vectorized(
            #[inline(always)]
            || {
                let mut read = 0;
                while self.next < self.order.len() && read < NUMBERS_AT_ONCE {
                    let place = self.order[self.next] as usize;
                    self.fetch_ahead();
                    read += self.show(place);
                    self.next += 1;
                }
            },
        );
        if self.next == self.order.len() {
            self.end_epoch();
        }
        false
    }

    /// Fetch the numbers of a row that comes soon, which is anywhere in memory, and before that where they are.
    #[inline(always)]
    fn fetch_ahead(&self) {
        let coming = |ahead: usize| self.order.get(self.next + ahead).map(|&place| place as usize);
        if let Some(later) = coming(3 * AHEAD) {
            self.rows.table.fetch_place(self.rows.shown[later] as usize);
            prefetch(&self.signs, later);
            prefetch(self.rows.weights, later);
        }
        if let Some(soon) = coming(AHEAD) {
            self.given(soon).fetch();
        }
    }

    #[inline(always)]
    fn given(&self, place: usize) -> Vector<'a> {
        self.rows.table.row(self.rows.shown[place] as usize)
    }

    fn begin_epoch(&mut self) {
        (self.next, self.mistakes, self.loss) = (0, 0.0, 0.0);
        if self.settings.shuffle {
            if self.order.len() <= FEW_ROWS {
                self.random.shuffle(&mut self.order);
            } else {
                shuffle_in_runs(&self.places, &mut self.order, &mut self.random);
            }
        }
    }

    fn end_epoch(&mut self) {
        let total: f64 = self.rows.weights.iter().sum();
        self.outcome.epochs += 1;
        self.outcome.error_share = self.mistakes / total.max(f64::MIN_POSITIVE);
        let rests = self.mistakes == 0.0 && !self.rule.shrinks();
        let stale = self.loss > self.best_loss - self.settings.tolerance * total;
        self.stale_epochs = if stale { self.stale_epochs + 1 } else { 0 };
        self.best_loss = self.best_loss.min(self.loss);
        let few = self.settings.error_share > 0.0 && self.outcome.error_share <= self.settings.error_share;
        self.outcome.converged = rests || few || self.stale_epochs >= self.settings.patience;
        self.begin_epoch();
    }

    /// Show one row as often as it weighs; return how many numbers were read.
    #[inline(always)]
    fn show(&mut self, place: usize) -> usize {
        let (sign, vector) = (self.signs[place], self.given(place));
        let mut left = self.rows.weights[place];
        let size = vector.len();
        let mut read = 0;
        while left > 0.0 {
            let part = left.min(1.0);
            let score = self.score(place, vector);
            read += size.max(16);
            if sign * score > 0.0 && !self.rule.shrinks() {
                self.state.shown += left; // it would be correct again
                break;
            }
            left -= part;
            self.state.shown += part;
            self.shrink();
            if sign * score <= 0.0 {
                let factor = self.rows.factors[usize::from(sign > 0.0)];
                self.update(place, vector, sign, part * factor);
                self.mistakes += part;
                self.loss += part * self.loss_of(sign * score);
                read += size;
            }
            self.truncate(vector);
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::vectors::Vectors;

    fn learned(table: &[f64], n_columns: usize, classes: &[i32], rule: Rule<'_>, state: State) -> (State, Outcome) {
        let rows: Vec<u32> = (0..classes.len() as u32).collect();
        let weights = vec![1.0; classes.len()];
        let rows = Rows {
            table: Vectors::dense(table, classes.len(), n_columns).unwrap(),
            shown: &rows,
            weights: &weights,
            classes,
            positive: 1,
            factors: [1.0, 1.0],
        };
        let settings = Settings {
            most_epochs: 100,
            tolerance: f64::NEG_INFINITY,
            patience: 5,
            error_share: 0.0,
            shuffle: true,
            seed: 1,
        };
        let mut learner = Learner::new(rows, rule, settings, state);
        while !learner.advance() {}
        (learner.state, learner.outcome)
    }

    const INPUTS: [f64; 8] = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];

    #[test]
    fn the_perceptron_learns_and_but_not_xor() {
        for (classes, learns) in [([0, 0, 0, 1], true), ([0, 1, 1, 0], false)] {
            let rule = Rule::Perceptron {
                rate: 0.1,
                bias_rate: 1.0,
                average: false,
                decay: 0.0,
                truncation: 0.0,
            };
            let state = State {
                weights: vec![0.0; 2],
                ..State::default()
            };
            let (_, outcome) = learned(&INPUTS, 2, &classes, rule, state);
            assert_eq!(outcome.converged, learns);
            assert_eq!(outcome.error_share == 0.0, learns);
        }
    }

    #[test]
    fn winnow_learns_or() {
        let rule = Rule::Winnow {
            factor: 2.0,
            threshold: 1.0,
        };
        let state = State {
            weights: vec![1.0; 2],
            ..State::default()
        };
        let (state, outcome) = learned(&INPUTS, 2, &[0, 1, 1, 1], rule, state);
        assert!(outcome.converged);
        assert!(state.weights.iter().all(|weight| *weight > 1.0));
    }
}
