//! The columns that a step may change, and the quadratic model of the loss over them.
//!
//! A column is kept times the roots of the curvature of the rows, divided by its length: then the second derivative by
//! each weight is 1 in its own unit, and numbers of 32 bits do. They only shape the steps; gradients have all digits.

use super::columns::Columns;
use super::{shrunk, violation};
use crate::learners::margin::Random;
use crate::system::cancel::Countdown;
use crate::system::vector::vectorized;

/// The most passes of coordinate descent, and steps of conjugate gradients, for one model.
const MOST_PASSES: usize = 200;
/// Steps of conjugate gradients at a time: twice as many each time, until a weight would change its sign.
const LEAST_CONJUGATE: usize = 4;
const MOST_CONJUGATE: usize = 200;
/// Signs have settled when a pass changes at most one in this many.
const SETTLED: usize = 50;

/// What a model is made of, besides its columns; all by column of the table.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    pub lasso: &'a [f64],
    pub ridge: &'a [f64],
    pub weights: &'a [f64],
}

/// The columns of a model, and their gradients and lengths at the present weights.
#[derive(Default)]
pub struct Working {
    pub columns: Vec<usize>,
    /// Where the numbers of a column begin; those of a column that starts after the last place are of all rows.
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f32>,
    lengths: Vec<f64>,
    pub gradient: Vec<f64>,
    roots: Vec<f64>,
}

/// Where a step leads: the weights, by working column, and the change of the scores, times the roots.
#[derive(Clone)]
struct Step {
    weights: Vec<f64>,
    scores: Vec<f64>,
}

impl Working {
    /// Take other columns, in the order of the table.
    pub fn choose(&mut self, table: Columns<'_>, columns: Vec<usize>) {
        self.places.clear();
        self.starts.clear();
        let mut start = 0;
        for &column in &columns {
            self.starts.push(start);
            start += table.size(column);
            if let Some(places) = table.places(column) {
                self.places.extend(places.iter().map(|&place| place as u32));
            }
        }
        self.starts.push(start);
        self.values.resize(start, 0.0);
        self.columns = columns;
    }

    /// Compute gradients and lengths at other weights.
    pub fn refresh(&mut self, table: Columns<'_>, residuals: &[f64], curvature: &[f64], terms: Terms<'_>) {
        self.roots.clear();
        self.roots.extend(curvature.iter().map(|curvature| curvature.sqrt()));
        self.lengths.clear();
        self.gradient.clear();
        let countdown = Countdown::default();
        vectorized(
            #[inline(always)]
            || {
                for (place, &column) in self.columns.iter().enumerate() {
                    countdown.spend(2 * table.size(column));
                    let (slope, square) = table.moments(column, residuals, curvature);
                    self.gradient.push(slope + terms.ridge[column] * terms.weights[column]);
                    let length = if square.is_finite() { square.sqrt() } else { 0.0 };
                    self.lengths.push(length);
                    let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
                    let values = &mut self.values[self.starts[place]..self.starts[place + 1]];
                    table.scale_into(column, scale, &self.roots, values);
                }
            },
        );
    }

    /// The sum of the violations of the conditions of optimality.
    pub fn violations(&self, terms: Terms<'_>) -> f64 {
        let pairs = self.columns.iter().zip(&self.gradient);
        pairs
            .map(|(&column, &slope)| violation(slope, terms.weights[column], terms.lasso[column]))
            .sum()
    }

    /// Return the weights where the model is least, until the sum of the violations is at most `target`, and how many
    /// passes it took.
    pub fn step(&self, terms: Terms<'_>, target: f64, random: &mut Random) -> (Vec<f64>, usize) {
        let mut step = Step {
            weights: self.columns.iter().map(|&column| terms.weights[column]).collect(),
            scores: vec![0.0; self.roots.len()],
        };
        let passes = vectorized(
            #[inline(always)]
            || self.descend(terms, target, random, &mut step),
        );
        (step.weights, passes)
    }

    #[inline(always)]
    fn descend(&self, terms: Terms<'_>, target: f64, random: &mut Random, step: &mut Step) -> usize {
        let countdown = Countdown::default();
        let every: Vec<u32> = (0..self.columns.len() as u32)
            .filter(|&place| self.lengths[place as usize] > 0.0)
            .collect();
        let (mut active, mut passes) = (every.clone(), 0);
        let mut burst = LEAST_CONJUGATE;
        let mut whole = true;
        while passes < MOST_PASSES {
            passes += 1;
            random.shuffle(&mut active);
            let pass = self.pass(terms, &active, step, &countdown);
            let enough = pass.violations <= target;
            if enough && whole {
                break;
            }
            if whole {
                active.retain(|&place| self.is_active(terms, step, place as usize));
            }
            whole = false;
            if enough {
                active.clone_from(&every);
                whole = true;
            } else if pass.turned * SETTLED <= active.len() {
                let (steps, crossed) = self.conjugate(terms, 0.3 * target, burst, step, &countdown);
                passes += steps;
                burst = if crossed {
                    (burst / 2).max(LEAST_CONJUGATE)
                } else {
                    (2 * burst).min(MOST_CONJUGATE)
                };
                active.clone_from(&every);
                whole = true;
            }
        }
        passes
    }

    /// Improve the changes of some columns one after the other.
    #[inline(always)]
    fn pass(&self, terms: Terms<'_>, active: &[u32], step: &mut Step, countdown: &Countdown) -> Pass {
        let mut pass = Pass::default();
        for &place in active {
            let place = place as usize;
            let (column, length, weight) = (self.columns[place], self.lengths[place], step.weights[place]);
            let (lasso, ridge) = (terms.lasso[column], terms.ridge[column]);
            countdown.spend(self.starts[place + 1] - self.starts[place]);
            let change = weight - terms.weights[column];
            let slope = self.gradient[place] + ridge * change + length * self.product(place, &step.scores);
            pass.violations += violation(slope, weight, lasso);
            let bend = length * length + ridge;
            let moved = shrunk(weight - slope / bend, lasso / bend);
            if moved != weight {
                pass.turned += usize::from(sign(moved) != sign(weight) && lasso > 0.0);
                step.weights[place] = moved;
                self.add(place, length * (moved - weight), &mut step.scores);
            }
        }
        pass
    }

    fn is_active(&self, terms: Terms<'_>, step: &Step, place: usize) -> bool {
        step.weights[place] != 0.0 || terms.lasso[self.columns[place]] == 0.0
    }

    /// Minimize the model over the weights that are not zero, as long as they keep their signs: return the steps.
    #[inline(always)]
    fn conjugate(
        &self,
        terms: Terms<'_>,
        target: f64,
        most: usize,
        step: &mut Step,
        countdown: &Countdown,
    ) -> (usize, bool) {
        let free: Vec<usize> = (0..self.columns.len())
            .filter(|&place| self.lengths[place] > 0.0 && self.is_active(terms, step, place))
            .collect();
        // All in the units in which the second derivatives are 1, or a little more with a ridge.
        let mut slopes: Vec<f64> = free
            .iter()
            .map(|&place| {
                let column = self.columns[place];
                let weight = step.weights[place];
                let pull = terms.lasso[column] * f64::from(sign(weight));
                let slope = self.gradient[place] + terms.ridge[column] * (weight - terms.weights[column]) + pull;
                slope / self.lengths[place] + self.product(place, &step.scores)
            })
            .collect();
        let ridges: Vec<f64> = free
            .iter()
            .map(|&place| terms.ridge[self.columns[place]] / (self.lengths[place] * self.lengths[place]))
            .collect();
        let mut direction: Vec<f64> = slopes.iter().map(|slope| -slope).collect();
        let mut moved = vec![0.0; free.len()];
        let (mut scores, mut product) = (vec![0.0; step.scores.len()], vec![0.0; step.scores.len()]);
        let mut square: f64 = slopes.iter().map(|slope| slope * slope).sum();
        let mut steps = 0;
        while steps < most {
            let violations: f64 = free
                .iter()
                .zip(&slopes)
                .map(|(&place, slope)| self.lengths[place] * slope.abs())
                .sum();
            if violations <= target {
                break;
            }
            steps += 1;
            countdown.spend(2 * self.values.len());
            product.fill(0.0);
            for (&place, &along) in free.iter().zip(&direction) {
                self.add(place, along, &mut product);
            }
            let curved: Vec<f64> = free
                .iter()
                .zip(direction.iter().zip(&ridges))
                .map(|(&place, (along, ridge))| self.product(place, &product) + ridge * along)
                .collect();
            let bend: f64 = direction
                .iter()
                .zip(&curved)
                .map(|(along, curved)| along * curved)
                .sum();
            if !(bend > 0.0 && bend.is_finite()) {
                break;
            }
            let length = square / bend;
            for (place, along) in direction.iter().enumerate() {
                moved[place] += length * along;
                slopes[place] += length * curved[place];
            }
            scores
                .iter_mut()
                .zip(&product)
                .for_each(|(score, change)| *score += length * change);
            let next: f64 = slopes.iter().map(|slope| slope * slope).sum();
            let factor = next / square;
            square = next;
            direction
                .iter_mut()
                .zip(&slopes)
                .for_each(|(along, slope)| *along = factor * *along - slope);
        }
        (steps, self.take(terms, &free, &moved, &scores, step))
    }

    /// Add a change of the free weights; those that would change their signs become zero, or all go only as far as the
    /// first of them. Return whether one would.
    #[inline(always)]
    fn take(&self, terms: Terms<'_>, free: &[usize], moved: &[f64], scores: &[f64], step: &mut Step) -> bool {
        let (mut shortest, mut nearest): (f64, Option<usize>) = (1.0, None);
        let mut ends = Vec::with_capacity(free.len());
        for (&place, &change) in free.iter().zip(moved) {
            let weight = step.weights[place];
            let end = weight + change / self.lengths[place];
            let crosses = terms.lasso[self.columns[place]] > 0.0 && weight * end < 0.0;
            if crosses && weight / (weight - end) < shortest {
                (shortest, nearest) = (weight / (weight - end), Some(place));
            }
            ends.push(if crosses { 0.0 } else { end });
        }
        let mut other = nearest.map(|_| step.clone());
        for (&place, &change) in free.iter().zip(moved) {
            step.weights[place] += shortest * change / self.lengths[place];
        }
        let pairs = step.scores.iter_mut().zip(scores);
        pairs.for_each(|(score, change)| *score += shortest * change);
        let (Some(nearest), Some(other)) = (nearest, &mut other) else {
            return false;
        };
        step.weights[nearest] = 0.0;
        for (&place, &end) in free.iter().zip(&ends) {
            let change = end - std::mem::replace(&mut other.weights[place], end);
            self.add(place, self.lengths[place] * change, &mut other.scores);
        }
        if self.value(terms, other) < self.value(terms, step) {
            std::mem::swap(step, other);
        }
        true
    }

    /// The value of the model and the penalty, less what does not depend on the step.
    fn value(&self, terms: Terms<'_>, step: &Step) -> f64 {
        let mut value: f64 = 0.5 * step.scores.iter().map(|score| score * score).sum::<f64>();
        for ((&column, &weight), &slope) in self.columns.iter().zip(&step.weights).zip(&self.gradient) {
            let change = weight - terms.weights[column];
            value += slope * change + 0.5 * terms.ridge[column] * change * change;
            value += terms.lasso[column] * (weight.abs() - terms.weights[column].abs());
        }
        value
    }

    /// Σ of a column times numbers of the rows.
    #[inline(always)]
    fn product(&self, place: usize, numbers: &[f64]) -> f64 {
        let (start, end) = (self.starts[place], self.starts[place + 1]);
        let values = &self.values[start..end];
        if start >= self.places.len() {
            return dense_product(values, numbers);
        }
        let (values, rest) = values.as_chunks::<4>();
        let (places, others) = self.places[start..end].as_chunks::<4>();
        let mut sums = [0.0; 4];
        for (values, places) in values.iter().zip(places) {
            for lane in 0..4 {
                sums[lane] += f64::from(values[lane]) * numbers[places[lane] as usize];
            }
        }
        for (value, &place) in rest.iter().zip(others) {
            sums[0] += f64::from(*value) * numbers[place as usize];
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    /// Add a column times a factor to numbers of the rows.
    #[inline(always)]
    fn add(&self, place: usize, factor: f64, numbers: &mut [f64]) {
        let (start, end) = (self.starts[place], self.starts[place + 1]);
        let values = &self.values[start..end];
        if start >= self.places.len() {
            let pairs = numbers.iter_mut().zip(values);
            return pairs.for_each(|(number, value)| *number += factor * f64::from(*value));
        }
        for (value, &place) in values.iter().zip(&self.places[start..end]) {
            numbers[place as usize] += factor * f64::from(*value);
        }
    }
}

/// What a pass met: the sum of the violations, and how many weights came to zero or left it.
#[derive(Default)]
struct Pass {
    violations: f64,
    turned: usize,
}

fn sign(number: f64) -> i8 {
    i8::from(number > 0.0) - i8::from(number < 0.0)
}

/// The same for a column of all rows, in eight lanes.
#[inline(always)]
fn dense_product(values: &[f32], numbers: &[f64]) -> f64 {
    let (values, rest) = values.as_chunks::<8>();
    let (wide, _) = numbers.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (values, numbers) in values.iter().zip(wide) {
        for lane in 0..8 {
            sums[lane] += f64::from(values[lane]) * numbers[lane];
        }
    }
    let end = values.len() * 8;
    let tail: f64 = rest
        .iter()
        .zip(&numbers[end.min(numbers.len())..])
        .map(|(value, number)| f64::from(*value) * number)
        .sum();
    sums.iter().sum::<f64>() + tail
}
