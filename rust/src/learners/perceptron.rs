//! Learners that see one row after another: perceptron (plain, averaged, with a kernel), Winnow and balanced Winnow.
//!
//! On a mistake, y·score ≤ 0, the rule moves its weights: the perceptron adds rate·y·x (Rosenblatt 1958; averaged: Freund
//! and Schapire 1999), Winnow multiplies the weights of the features present by its factor, or divides them (Littlestone
//! 1988). An epoch shows every row once; a row of weight 2.5 is shown twice in full and once by half, at once.
//!
//! It stops after an epoch whose share of mistakes is at most `error_share`, or which changed nothing; when the loss has
//! not fallen by `tolerance` a row for `patience` epochs; or after `most_epochs`.

use crate::learners::kernel::{Kernel, Points};
use crate::learners::margin::rows::{Order, columns_hash, content_hash, key_of, sorted_keys, untie};
use crate::learners::margin::{FEW_ROWS, Random, shuffle_in_runs};
use crate::learners::narrow::{A_LITTLE_MORE, Light, Narrow, Sample, extent};
use crate::system::cancel::beat;
use crate::system::memory::{fetch, prefetch};
use crate::system::vector::vectorised;
use crate::tables::vectors::{Vector, Vectors};

/// Winnow's weights stay within these, so that a product never becomes infinite or zero.
const HEAVIEST: f64 = 1e150;
const LIGHTEST: f64 = 1e-150;
/// Numbers read between two looks at the clock.
const NUMBERS_AT_ONCE: usize = 1 << 20;
/// Fewer epochs are not worth a copy of the rows.
const FEW_EPOCHS: u64 = 3;

/// If one of so many rows is a mistake, it is worth while to fetch the numbers of all as they are given.
const OFTEN: f64 = 4.0;

/// What a rule knows at its start, and at its end.
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
        /// How fast the bias learns: the square of the number in the column of the bias; 0 for none.
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
    fn shrinks(&self) -> bool {
        matches!(*self, Rule::Perceptron { decay, truncation, .. } if decay > 0.0 || truncation > 0.0)
    }

    /// Whether a row of the table that is decided rightly changes nothing.
    fn may_rest(&self) -> bool {
        !self.shrinks() && !matches!(self, Rule::KernelPerceptron { .. })
    }
}

#[derive(Clone, Copy)]
pub struct Settings {
    pub most_epochs: u64,
    pub tolerance: f64,
    pub patience: u64,
    pub error_share: f64,
    pub shuffle: bool,
    pub seed: u64,
}

/// The rows to show: which, how often, and the factor of an update for each sign.
pub struct Rows<'a> {
    pub table: Vectors<'a>,
    pub shown: &'a [u32],
    pub weights: &'a [f64],
    pub classes: &'a [i32],
    pub positive: i32,
    pub factors: [f64; 2],
    /// The rows shown, in less room.
    pub narrow: Option<&'a Narrow>,
}

impl Rows<'_> {
    fn signs(&self) -> Vec<f64> {
        let is_positive = |row: u32| self.classes[row as usize] == self.positive;
        let signs = self.shown.iter().map(|&row| if is_positive(row) { 1.0 } else { -1.0 });
        signs.collect()
    }
}

/// Why rows cannot be learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A column comes twice in a row.
    Repeats,
    /// A number is not finite, or so large that sums of squares are not.
    Numbers,
}

/// The largest sum of squares that leaves room for what is learned.
const LARGEST_SQUARES: f64 = 1e150;

fn squares_fit(squares: f64) -> Result<(), Unfit> {
    if squares <= LARGEST_SQUARES {
        Ok(())
    } else {
        Err(Unfit::Numbers)
    }
}

/// Looks at the numbers of sparse rows; those of dense ones are known to fit.
fn numbers_fit(table: &Vectors<'_>) -> Result<(), Unfit> {
    match table {
        Vectors::Dense { .. } => Ok(()),
        Vectors::Sparse { values, .. } => squares_fit(vectorised(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for values in values.chunks(1 << 12) {
                    beat();
                    sum += extent(values).1;
                }
                sum
            },
        )),
    }
}

/// The rows to show and how much each weighs; and a copy of them in less room, where this helps.
pub struct Shown {
    pub rows: Vec<u32>,
    pub weights: Vec<f64>,
    pub narrow: Option<Narrow>,
}

impl Shown {
    /// Takes the rows that weigh something. To be shuffled, equal ones of a class are pooled and the order depends only on
    /// what the rows say: which of them came first makes no difference. Then no column may come twice in a row.
    pub fn new(
        table: &Vectors<'_>,
        classes: &[i32],
        weights: &[f64],
        settings: &Settings,
        rule: &Rule<'_>,
    ) -> Result<Self, Unfit> {
        if !settings.shuffle {
            return numbers_fit(table).map(|()| Self::as_given(weights));
        }
        let presence = copied_as(table, settings, rule);
        let gathered = |zeros: bool| {
            let mut sample = Sample::new(table);
            let mut shown = Self::pooled(table, classes, weights, zeros, |row, vector| sample.see(row, vector));
            shown.narrow = presence.and_then(|presence| Narrow::new(table, &shown.rows, presence, sample));
            shown
        };
        // Few tables have zeros that are written out; copying shows whether this one has.
        let mut shown = gathered(presence.is_none());
        if presence.is_some() && shown.narrow.as_ref().is_none_or(|copy| copy.has_zeros) {
            shown = gathered(true);
        }
        let (repeats, fits) = match &shown.narrow {
            Some(copy) if weights.iter().all(|weight| *weight > 0.0) => (copy.repeats, squares_fit(copy.squares())),
            _ => (table.repeats_columns(), numbers_fit(table)),
        };
        if repeats {
            Err(Unfit::Repeats)
        } else {
            fits.map(|()| shown)
        }
    }

    fn as_given(weights: &[f64]) -> Self {
        let rows = (0..).zip(weights).filter(|&(_, &weight)| weight > 0.0);
        let (rows, weights) = rows.unzip();
        Shown {
            rows,
            weights,
            narrow: None,
        }
    }

    /// Sorts by which columns the rows hold, then by what; with `zeros` those whose number is zero are not held.
    fn pooled(
        table: &Vectors<'_>,
        classes: &[i32],
        weights: &[f64],
        zeros: bool,
        mut see: impl FnMut(usize, Vector<'_>),
    ) -> Self {
        let (weights, key) = (Some(weights), key_of(0));
        let keyed = if table.rows() <= FEW_ROWS {
            sorted_keys(classes.len(), weights, |row| {
                see(row, table.row(row));
                hash_of_few(table.row(row), classes[row])
            })
        } else {
            let mut keyed = vectorised(
                #[inline(always)]
                || {
                    sorted_keys(
                        classes.len(),
                        weights,
                        #[inline(always)]
                        |row| {
                            see(row, table.row(row));
                            columns_hash(table.row(row), key, zeros)
                        },
                    )
                },
            );
            untie(&mut keyed, |row| content_hash(table.row(row), classes[row], key));
            keyed
        };
        let order = Order::merged(table, classes, weights, keyed);
        Shown {
            rows: order.rows(),
            weights: order.merged.iter().map(|merged| merged.weight).collect(),
            narrow: None,
        }
    }
}

/// Whether a narrow copy of the rows would hold only presence; `None` where it would not help.
fn copied_as(table: &Vectors<'_>, settings: &Settings, rule: &Rule<'_>) -> Option<bool> {
    let sparse = matches!(table, Vectors::Sparse { .. });
    let helps = sparse && settings.most_epochs >= FEW_EPOCHS && rule.may_rest();
    helps.then_some(matches!(rule, Rule::Winnow { .. } | Rule::BalancedWinnow { .. }))
}

/// What the narrow copy of a row tells about its score.
enum Glance {
    Right,
    Wrong,
    Score(f64),
    Unknown,
}

impl Glance {
    fn is_right(&self, sign: f64) -> bool {
        match self {
            Glance::Right => true,
            Glance::Score(score) => sign * score > 0.0,
            Glance::Wrong | Glance::Unknown => false,
        }
    }
}

/// What came out of one learner.
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
    /// ‖w‖² of the perceptron or a little more, kept where there are `light` weights.
    norm: f64,
    next: usize,
    mistakes: f64,
    loss: f64,
    best_loss: f64,
    stale_epochs: u64,
    /// The perceptron's weights are `scale` times those kept, so that shrinking all costs nothing.
    scale: f64,
    /// L1 penalty that each weight should have had, and has had.
    owed: f64,
    paid: Vec<f64>,
    /// The perceptron's weights with 32 bits, if the rows have a narrow copy.
    light: Option<Light>,
    /// Room for the columns of a row of that copy, and for its numbers.
    room: (Vec<i32>, Vec<f64>),
    /// The weights by the columns as they are given, while `state` has them by those of the copied rows.
    home: Option<[Vec<f64>; 2]>,
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
            home: None,
        };
        learner.leave_home();
        learner.begin_epoch();
        learner
    }

    /// Takes the weights of the columns that are shown, in the order of the copied rows.
    fn leave_home(&mut self) {
        let Some(rows) = self.rows.narrow else { return };
        let picked = |every: &[f64]| if every.is_empty() { vec![] } else { rows.picked(every) };
        let State { weights, second, .. } = &mut self.state;
        let (mine, other) = (picked(weights), picked(second));
        self.home = Some([std::mem::replace(weights, mine), std::mem::replace(second, other)]);
        if matches!(self.rule, Rule::Perceptron { .. }) {
            self.light = Some(Light::new(rows, &self.state.weights, self.norm.sqrt()));
        }
    }

    fn go_home(&mut self) {
        let (Some(rows), Some([mut weights, mut second])) = (self.rows.narrow, self.home.take()) else {
            return;
        };
        rows.put_back(&self.state.weights, &mut weights);
        if !second.is_empty() {
            rows.put_back(&self.state.second, &mut second);
        }
        (self.state.weights, self.state.second) = (weights, second);
    }

    /// Shows some rows; true at the end.
    pub fn advance(&mut self) -> bool {
        if self.outcome.epochs >= self.settings.most_epochs || self.outcome.converged {
            self.fold_scale();
            self.go_home();
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

    /// Asks for the numbers of a row that comes soon, which lies anywhere in memory.
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

    /// Shows one row as often as it weighs; gives how many numbers were read.
    fn show(&mut self, place: usize) -> usize {
        let (sign, glance) = (self.signs[place], self.glance(place));
        if glance.is_right(sign) {
            self.state.shown += self.rows.weights[place];
            return self.rows.narrow.map_or(0, |rows| rows.size(place)).max(16);
        }
        let mut room = std::mem::take(&mut self.room);
        let vector = self.vector(place, &mut room);
        let read = self.show_exactly(place, sign, vector, glance);
        self.room = room;
        read
    }

    /// Shows a row, of which something may be known.
    fn show_exactly(&mut self, place: usize, sign: f64, vector: Vector<'_>, mut glance: Glance) -> usize {
        let mut left = self.rows.weights[place];
        let size = vector.len();
        let mut read = 0;
        while left > 0.0 {
            let part = left.min(1.0);
            let score = match std::mem::replace(&mut glance, Glance::Unknown) {
                Glance::Wrong => None,
                Glance::Score(score) => Some(score),
                _ => Some(self.score(place, vector)),
            };
            let is_right = score.is_some_and(|score| sign * score > 0.0);
            read += size.max(16);
            if is_right && !self.rule.shrinks() {
                self.state.shown += left; // shown again, it would be right again
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

    /// A row with the numbers as they are given, or only zeros and ones if no others count; room for what was copied.
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

    /// What the narrow copy of a row tells about its score.
    #[inline(always)]
    fn glance(&self, place: usize) -> Glance {
        let (Some(rows), state) = (self.rows.narrow, &self.state) else {
            return Glance::Unknown;
        };
        match (&self.rule, &self.light) {
            (Rule::Perceptron { .. }, Some(light)) => {
                match rows.surely(place, self.signs[place], light, &state.weights, state.bias) {
                    Some(true) => Glance::Right,
                    Some(false) => Glance::Wrong,
                    None => Glance::Unknown,
                }
            }
            (Rule::Winnow { threshold, .. }, _) => {
                Glance::Score(rows.present(place, |column| state.weights[column]) - threshold)
            }
            (Rule::BalancedWinnow { threshold, .. }, _) => {
                let sum = rows.present(place, |column| state.weights[column] - state.second[column]);
                Glance::Score(sum + state.bias - state.second_bias - threshold)
            }
            _ => Glance::Unknown,
        }
    }

    #[inline(always)]
    fn score(&self, place: usize, vector: Vector<'_>) -> f64 {
        let state = &self.state;
        match &self.rule {
            Rule::Perceptron { .. } => self.scale * vector.dot(&state.weights) + state.bias,
            Rule::KernelPerceptron { .. } => state.second[self.rows.shown[place] as usize],
            Rule::Winnow { threshold, .. } => present(vector, |column| state.weights[column]) - threshold,
            Rule::BalancedWinnow { threshold, .. } => {
                let sum = present(vector, |column| state.weights[column] - state.second[column]);
                sum + state.bias - state.second_bias - threshold
            }
        }
    }

    /// Gives what a mistake costs: the perceptron counts how far the score is off, Winnow only that it is.
    fn loss_of(&self, score: f64) -> f64 {
        match self.rule {
            Rule::Perceptron { .. } | Rule::KernelPerceptron { .. } => -score,
            Rule::Winnow { .. } | Rule::BalancedWinnow { .. } => 1.0,
        }
    }

    /// Moves the weights; gives the score before, if it was found by the way.
    fn update(&mut self, place: usize, vector: Vector<'_>, sign: f64, part: f64) -> Option<f64> {
        if sign > 0.0 {
            self.outcome.promotions += 1;
        } else {
            self.outcome.demotions += 1;
        }
        let (state, mut score) = (&mut self.state, None);
        match &self.rule {
            Rule::Perceptron {
                rate,
                bias_rate,
                average,
                ..
            } => {
                let step = rate * sign * part;
                if let (Some(rows), Some(light)) = (self.rows.narrow, &mut self.light) {
                    let product = vector.dot_and_add_to(&mut state.weights, step, |column, weight| {
                        light.set(column, weight);
                    });
                    self.norm += 2.0 * step * product + step * step * rows.square(place) * A_LITTLE_MORE;
                    light.set_length(self.norm.sqrt());
                    score = Some(product + state.bias);
                } else {
                    vector.add_to(&mut state.weights, step / self.scale);
                }
                state.bias += bias_rate * step;
                if *average {
                    // The mean of all weights so far is w − second/shown, with what each step missed in `second`.
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
                let factor = factor.powf(sign * part);
                vector.each(|column, value| multiply(&mut state.weights[column], value, factor));
            }
            Rule::BalancedWinnow { factor, fit_bias, .. } => {
                let factor = factor.powf(sign * part);
                vector.each(|column, value| {
                    multiply(&mut state.weights[column], value, factor);
                    multiply(&mut state.second[column], value, 1.0 / factor);
                });
                if *fit_bias {
                    multiply(&mut state.bias, 1.0, factor);
                    multiply(&mut state.second_bias, 1.0, 1.0 / factor);
                }
            }
        }
        score
    }

    /// Shrinks all weights by the share of the L2 penalty.
    fn shrink(&mut self) {
        if let Rule::Perceptron { decay, .. } = self.rule
            && decay > 0.0
        {
            self.scale *= (1.0 - decay).max(0.0);
            if self.scale < 1e-9 {
                self.fold_scale();
            }
        }
    }

    fn fold_scale(&mut self) {
        if self.scale != 1.0 {
            let scale = self.scale;
            self.state.weights.iter_mut().for_each(|weight| *weight *= scale);
            self.scale = 1.0;
        }
    }

    /// Moves the weights of a row towards zero by the L1 penalty they still owe (Tsuruoka and others 2009).
    fn truncate(&mut self, vector: Vector<'_>) {
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

/// Sums over the features that are there.
#[inline(always)]
fn present(vector: Vector<'_>, weight: impl Fn(usize) -> f64) -> f64 {
    let mut sum = 0.0;
    vector.each(|column, value| sum += if value != 0.0 { weight(column) } else { 0.0 });
    sum
}

#[inline(always)]
fn multiply(weight: &mut f64, value: f64, factor: f64) {
    if value != 0.0 {
        *weight = (*weight * factor).clamp(LIGHTEST, HEAVIEST);
    }
}

/// The hash by which few rows are sorted, of numbers that are not zero and their columns.
fn hash_of_few(vector: Vector<'_>, class: i32) -> u64 {
    let mut hash = class as u64;
    for (column, value) in vector.items() {
        hash = (hash ^ value.to_bits())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
        hash = (hash ^ column as u64)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .rotate_left(31);
    }
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn equal_rows_are_pooled_whatever_their_order() {
        let table = [1.0, 2.0, 0.0, 3.0, 1.0, 2.0];
        let rows = Vectors::dense(&table, 3, 2).unwrap();
        let pooled = |classes: &[i32], weights: &[f64]| Shown::pooled(&rows, classes, weights, true, |_, _| ());
        let mut shown = pooled(&[0, 0, 0], &[1.0, 2.0, 3.0]);
        assert_eq!(shown.weights.iter().sum::<f64>(), 6.0);
        shown.rows.sort_unstable();
        assert_eq!(shown.rows, [0, 1]);
        assert_eq!(pooled(&[0, 0, 1], &[1.0, 2.0, 0.0]).rows.len(), 2);
    }
}
