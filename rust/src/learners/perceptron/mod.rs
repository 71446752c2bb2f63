//! Learners that see one row after another: perceptron (plain, averaged, with a kernel), Winnow and balanced Winnow.
//!
//! On a mistake, y·score ≤ 0, the rule moves its weights: the perceptron adds rate·y·x (Rosenblatt 1958; averaged:
//! Freund and Schapire 1999), Winnow multiplies the weights of the features present by its factor, or divides them
//! (Littlestone 1988). An epoch shows every row once; a row of weight 2.5 is shown twice in full and once by half, in a
//! row.
//!
//! It stops after an epoch whose share of mistakes is at most `error_share`, or which changed nothing; when the loss
//! has not fallen by `tolerance` a row for `patience` epochs; or after `most_epochs`.

pub mod narrow;
mod rows;
mod rule;

use crate::learners::margin::{FEW_ROWS, Random, shuffle_in_runs};
use crate::system::memory::{fetch, prefetch};
use crate::tables::vectors::Vector;
use narrow::Light;

pub use rows::{Rows, Shown, Unfit};
pub use rule::{Rule, State};

/// Numbers read between two looks at the clock.
const NUMBERS_AT_ONCE: usize = 1 << 20;
/// If at least one in so many rows is a mistake, the given numbers of all rows are worth prefetching.
const OFTEN: f64 = 4.0;

#[derive(Clone, Copy)]
pub struct Settings {
    pub most_epochs: u64,
    pub tolerance: f64,
    pub patience: u64,
    pub error_share: f64,
    pub shuffle: bool,
    pub seed: u64,
}

/// What is known about the score of a row from its narrow copy.
enum Estimate {
    Right,
    Wrong,
    Score(f64),
    Unknown,
}

impl Estimate {
    fn is_right(&self, sign: f64) -> bool {
        match self {
            Estimate::Right => true,
            Estimate::Score(score) => sign * score > 0.0,
            Estimate::Wrong | Estimate::Unknown => false,
        }
    }
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
    /// An upper bound on ‖w‖² of the perceptron, if there are `light` weights.
    norm: f64,
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
    /// The perceptron's weights with 32 bits, if the rows have a narrow copy.
    light: Option<Light>,
    /// Memory for the columns of a row of that copy, and for its numbers.
    room: (Vec<i32>, Vec<f64>),
    /// The weights by given column, while `state` has them by the columns of the narrow copy.
    given_weights: Option<[Vec<f64>; 2]>,
}

impl<'a> Learner<'a> {
    pub fn new(rows: Rows<'a>, rule: Rule<'a>, settings: Settings, state: State) -> Self {
        let truncates = matches!(rule, Rule::Perceptron { truncation, .. } if truncation > 0.0);
        let mut learner = Learner {
            places: (0..rows.shown.len() as u32).collect(),
            order: (0..rows.shown.len() as u32).collect(),
            signs: rows.signs(),
            random: Random(settings.seed),
            norm: state.weights.iter().map(|weight| weight * weight).sum(),
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
            light: None,
            room: (vec![], vec![]),
            given_weights: None,
        };
        learner.renumber_weights();
        learner.begin_epoch();
        learner
    }

    /// Put the weights into the order of the columns of the narrow copy.
    fn renumber_weights(&mut self) {
        let Some(rows) = self.rows.narrow else { return };
        let picked = |every: &[f64]| if every.is_empty() { vec![] } else { rows.picked(every) };
        let State { weights, second, .. } = &mut self.state;
        let (mine, other) = (picked(weights), picked(second));
        self.given_weights = Some([std::mem::replace(weights, mine), std::mem::replace(second, other)]);
        if matches!(self.rule, Rule::Perceptron { .. }) {
            self.light = Some(Light::new(rows, &self.state.weights, self.norm.sqrt()));
        }
    }

    fn restore_weights(&mut self) {
        let (Some(rows), Some([mut weights, mut second])) = (self.rows.narrow, self.given_weights.take()) else {
            return;
        };
        rows.put_back(&self.state.weights, &mut weights);
        if !second.is_empty() {
            rows.put_back(&self.state.second, &mut second);
        }
        (self.state.weights, self.state.second) = (weights, second);
    }

    /// Show some rows; return whether the end is reached.
    pub fn advance(&mut self) -> bool {
        if self.outcome.epochs >= self.settings.most_epochs || self.outcome.converged {
            self.fold_scale();
            self.restore_weights();
            return true;
        }
        let mut read = 0;
        while self.next < self.order.len() && read < NUMBERS_AT_ONCE {
            let place = self.order[self.next] as usize;
            self.fetch_ahead();
            read += self.show(place);
            self.next += 1;
        }
        if self.next == self.order.len() {
            self.end_epoch();
        }
        false
    }

    /// Fetch the numbers of a row that comes soon, which is anywhere in memory.
    #[inline(always)]
    fn fetch_ahead(&self) {
        let coming = |ahead: usize| self.order.get(self.next + ahead).map(|&place| place as usize);
        let Some(rows) = self.rows.narrow else {
            return coming(4).map_or((), |soon| self.given(soon).fetch());
        };
        if let Some(later) = coming(12) {
            rows.fetch_head(later);
            prefetch(&self.signs, later);
            prefetch(self.rows.weights, later);
        }
        if let Some(soon) = coming(4) {
            rows.fetch(soon);
            if self.light.is_some() && self.mistakes * OFTEN > self.next as f64 {
                fetch(&self.rows.table.values()[rows.given(soon)]);
            }
        }
    }

    /// A row as it is given.
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
    fn show(&mut self, place: usize) -> usize {
        let (sign, estimate) = (self.signs[place], self.estimate(place));
        if estimate.is_right(sign) {
            self.state.shown += self.rows.weights[place];
            return self.rows.narrow.map_or(0, |rows| rows.size(place)).max(16);
        }
        let mut room = std::mem::take(&mut self.room);
        let vector = self.vector(place, &mut room);
        let read = self.show_exactly(place, sign, vector, estimate);
        self.room = room;
        read
    }

    /// Show a row whose score is known in part.
    fn show_exactly(&mut self, place: usize, sign: f64, vector: Vector<'_>, mut estimate: Estimate) -> usize {
        let mut left = self.rows.weights[place];
        let size = vector.len();
        let mut read = 0;
        while left > 0.0 {
            let part = left.min(1.0);
            let score = match std::mem::replace(&mut estimate, Estimate::Unknown) {
                Estimate::Wrong => None,
                Estimate::Score(score) => Some(score),
                _ => Some(self.score(place, vector)),
            };
            let is_right = score.is_some_and(|score| sign * score > 0.0);
            read += size.max(16);
            if is_right && !self.rule.shrinks() {
                self.state.shown += left; // it would be correct again
                break;
            }
            left -= part;
            self.state.shown += part;
            self.shrink();
            if score.is_none_or(|score| sign * score <= 0.0) {
                let factor = self.rows.factors[usize::from(sign > 0.0)];
                let found = self.update(place, vector, sign, part * factor);
                self.mistakes += part;
                self.loss += part * self.loss_of(sign * found.or(score).unwrap_or(0.0));
                read += size;
            }
            self.truncate(vector);
        }
        read
    }

    /// A row with its given numbers, or with zeros and ones if only presence counts.
    #[inline(always)]
    fn vector<'b>(&self, place: usize, (columns, numbers): &'b mut (Vec<i32>, Vec<f64>)) -> Vector<'b>
    where
        'a: 'b,
    {
        let Some(rows) = self.rows.narrow else {
            return self.given(place);
        };
        if self.light.is_some() {
            let values = &self.rows.table.values()[rows.given(place)];
            fetch(values);
            rows.fetch_square(place);
            rows.columns(place, columns);
            return Vector::Sparse(columns, values);
        }
        columns.clear();
        numbers.clear();
        rows.each(place, |column, units| {
            columns.push(column as i32);
            numbers.push(f64::from(units));
        });
        Vector::Sparse(columns, numbers)
    }

    /// Estimate the score of a row from its narrow copy.
    #[inline(always)]
    fn estimate(&self, place: usize) -> Estimate {
        let (Some(rows), state) = (self.rows.narrow, &self.state) else {
            return Estimate::Unknown;
        };
        match (&self.rule, &self.light) {
            (Rule::Perceptron { .. }, Some(light)) => {
                match rows.surely(place, self.signs[place], light, &state.weights, state.bias) {
                    Some(true) => Estimate::Right,
                    Some(false) => Estimate::Wrong,
                    None => Estimate::Unknown,
                }
            }
            (Rule::Winnow { threshold, .. }, _) => {
                Estimate::Score(rows.present(place, |column| state.weights[column]) - threshold)
            }
            (Rule::BalancedWinnow { threshold, .. }, _) => {
                let sum = rows.present(place, |column| state.weights[column] - state.second[column]);
                Estimate::Score(sum + state.bias - state.second_bias - threshold)
            }
            _ => Estimate::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::vectors::Vectors;

    fn learned(table: &[f64], width: usize, classes: &[i32], rule: Rule<'_>, state: State) -> (State, Outcome) {
        let rows: Vec<u32> = (0..classes.len() as u32).collect();
        let weights = vec![1.0; classes.len()];
        let rows = Rows {
            table: Vectors::dense(table, classes.len(), width).unwrap(),
            shown: &rows,
            weights: &weights,
            classes,
            positive: 1,
            factors: [1.0, 1.0],
            narrow: None,
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
