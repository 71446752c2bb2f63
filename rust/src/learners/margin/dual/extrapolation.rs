//! Extrapolation: the best point of the plane that the last two steps span, which needs no row (Narkiss and Zibulevsky,
//! "Sequential subspace optimization", 2005).
//!
//! Gain (reviews as tf–idf rows, gap 1e-6): hinge 1.5× faster, squared hinge 1.0× at C = 1 and 1.4× at C = 10. On rows
//! of few numbers (a9a, w8a) it costs 10 to 25%.

use super::{Dual, Value, diagonal, upper};

/// α with the weights and the balance that follow from it; or the difference of two such points.
pub(super) struct Point {
    alphas: Vec<f64>,
    weights: Vec<f64>,
    balance: f64,
}

impl Point {
    fn zero(rows: usize, n_columns: usize) -> Self {
        Point {
            alphas: vec![0.0; rows],
            weights: vec![0.0; n_columns],
            balance: 0.0,
        }
    }
}

/// The point before the last step, the step before that, and memory for the next point.
pub(super) struct LastSteps {
    before: Point,
    last: Point,
    next: Point,
}

impl LastSteps {
    pub(super) fn new(rows: usize, n_columns: usize) -> Self {
        let [before, last, next] = std::array::from_fn(|_| Point::zero(rows, n_columns));
        LastSteps { before, last, next }
    }
}

/// Store the last step, then the current point.
fn record_step(now: impl Iterator<Item = f64>, before: &mut [f64], last: &mut [f64]) {
    for (now, (before, last)) in now.zip(before.iter_mut().zip(last)) {
        *last = now - *before;
        *before = now;
    }
}

impl<'a, V: Value> Dual<'a, V> {
    /// Go to the best point of the plane that the last two steps span, clipped at the bounds, if that gains anything.
    pub(super) fn extrapolate(&mut self, last_steps: &mut LastSteps) {
        let (near, far) = self.best_combination(last_steps);
        let LastSteps { before, last, next } = last_steps;
        let combined = |now: f64, before: f64, last: f64| now + near * (now - before) + far * last;
        next.balance = combined(self.balance, before.balance, last.balance);
        let places = self.weights.iter().zip(before.weights.iter().zip(&last.weights));
        for (next, (&weight, (&before, &last))) in next.weights.iter_mut().zip(places) {
            *next = combined(weight, before, last);
        }
        let mut gain = 0.0;
        let places = before.alphas.iter().zip(&last.alphas).zip(&mut next.alphas);
        for (row, (coordinate, ((&before, &last), next_alpha))) in self.coordinates.iter().zip(places).enumerate() {
            let wished = combined(coordinate.alpha, before, last);
            let alpha = wished.clamp(0.0, upper(self.loss, coordinate.cost));
            if alpha != wished {
                let change = (alpha - wished) * coordinate.sign;
                self.rows.row(row).add_to(&mut next.weights, change);
                next.balance += change;
            }
            *next_alpha = alpha;
            gain += alpha - 0.5 * diagonal(self.loss, coordinate.cost) * alpha * alpha;
        }
        let norm = self.rows.product(&next.weights, &next.weights) + self.lift * next.balance * next.balance;
        if gain - 0.5 * norm > self.value {
            self.value = gain - 0.5 * norm;
            self.balance = next.balance;
            std::mem::swap(&mut self.weights, &mut next.weights);
            let pairs = self.coordinates.iter_mut().zip(&next.alphas);
            pairs.for_each(|(coordinate, &alpha)| coordinate.alpha = alpha);
        }
        let alphas = self.coordinates.iter().map(|coordinate| coordinate.alpha);
        record_step(alphas, &mut before.alphas, &mut last.alphas);
        record_step(self.weights.iter().copied(), &mut before.weights, &mut last.weights);
        (last.balance, before.balance) = (self.balance - before.balance, self.balance);
    }

    /// Return how far to go along the last step, and along the one before: the maximum of a quadratic function.
    fn best_combination(&self, last_steps: &LastSteps) -> (f64, f64) {
        let LastSteps { before, last, .. } = last_steps;
        let [mut own, mut both, mut other, mut near, mut far] =
            self.rows.products(&self.weights, &before.weights, &last.weights);
        let step = self.balance - before.balance;
        own += self.lift * step * step;
        both += self.lift * step * last.balance;
        other += self.lift * last.balance * last.balance;
        near += self.lift * self.balance * step;
        far += self.lift * self.balance * last.balance;
        (near, far) = (-near, -far);
        for (coordinate, (before, last)) in self.coordinates.iter().zip(before.alphas.iter().zip(&last.alphas)) {
            let (step, diagonal) = (coordinate.alpha - before, diagonal(self.loss, coordinate.cost));
            let slope = 1.0 - diagonal * coordinate.alpha;
            own += diagonal * step * step;
            both += diagonal * step * last;
            other += diagonal * last * last;
            near += slope * step;
            far += slope * last;
        }
        let determinant = own * other - both * both;
        if determinant > 1e-10 * own * other {
            let along = |one: f64, two: f64| one / determinant - two / determinant;
            (along(near * other, far * both), along(far * own, near * both))
        } else if own > 0.0 {
            (near / own, 0.0)
        } else {
            (0.0, 0.0)
        }
    }
}
