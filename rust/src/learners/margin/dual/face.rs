//! Conjugate gradients on all α between their bounds at once, when many passes are left (Moré and Toraldo, "On the
//! solution of large quadratic programming problems with bound constraints", 1991).
//!
//! Gain with the hinge loss (gap 1e-6): reviews as tf–idf rows 10× faster at C = 1 and 13× at C = 10, w8a 1.5× and
//! 2.0×, a9a 0.9× and 1.5×.

use super::schedule::FaceSchedule;
use super::{Coordinate, Dual, Value, diagonal, upper};

/// Conjugate gradients stop at this share of the squared residual, or after the most rounds.
const FACE_FORCING: f64 = 1e-4;
const MOST_FACE_ROUNDS: usize = 50;
const MOST_HALVINGS: usize = 6;

impl<'a, V: Value> Dual<'a, V> {
    /// Solve, roughly, for all α between their bounds at once, the others held fixed, by conjugate gradients; then go
    /// there as far as the bounds allow. Return the cost in passes over all rows.
    pub(super) fn solve_face(&mut self, face_schedule: &mut FaceSchedule) -> f64 {
        let start = self.value;
        let inside = |row: &Coordinate| row.alpha > 0.0 && row.alpha < upper(self.loss, row.cost);
        let face: Vec<u32> = (0..self.rows.len() as u32)
            .filter(|&row| inside(&self.coordinates[row as usize]))
            .collect();
        let constant = self.offset + self.lift * self.balance;
        let mut residual = Vec::with_capacity(face.len());
        for &row in &face {
            let coordinate = &self.coordinates[row as usize];
            let output = self.rows.row(row as usize).dot(&self.weights) + constant;
            let gradient = diagonal(self.loss, coordinate.cost) * coordinate.alpha - 1.0 + coordinate.sign * output;
            residual.push(-gradient);
        }
        let slopes = residual.clone();
        let scales: Vec<f64> = face
            .iter()
            .map(|&row| self.coordinates[row as usize].step.abs())
            .collect();
        let mut step: Vec<f64> = residual
            .iter()
            .zip(&scales)
            .map(|(value, scale)| value * scale)
            .collect();
        let mut direction = vec![0.0; face.len()];
        let mut product: f64 = residual.iter().zip(&step).map(|(left, right)| left * right).sum();
        let enough = FACE_FORCING * product;
        let mut rounds = 0;
        while product > enough && rounds < MOST_FACE_ROUNDS {
            rounds += 1;
            let curved = self.hessian_product(&face, &step).0;
            let bend: f64 = step.iter().zip(&curved).map(|(left, right)| left * right).sum();
            if bend
                <= 1e-14
                    * step
                        .iter()
                        .zip(&scales)
                        .map(|(step, scale)| step * step / scale)
                        .sum::<f64>()
            {
                break;
            }
            let length = product / bend;
            let mut next = 0.0;
            for place in 0..face.len() {
                direction[place] += length * step[place];
                residual[place] -= length * curved[place];
                next += residual[place] * residual[place] * scales[place];
            }
            let share = next / product;
            product = next;
            for place in 0..face.len() {
                step[place] = residual[place] * scales[place] + share * step[place];
            }
        }
        self.move_along(&face, &slopes, &direction);
        let worth = (1 + rounds) as f64 * face.len() as f64 / self.rows.len().max(1) as f64;
        face_schedule.faced((self.value - start) / worth);
        worth
    }

    /// Q d on a face, and Σ dᵢyᵢxᵢ.
    fn hessian_product(&self, face: &[u32], step: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (mut sum, mut balance) = (vec![0.0; self.rows.n_columns], 0.0);
        for (&row, step) in face.iter().zip(step).filter(|(_, step)| **step != 0.0) {
            let change = step * self.coordinates[row as usize].sign;
            self.rows.row(row as usize).add_to(&mut sum, change);
            balance += change;
            self.countdown.spend(self.rows.size(row as usize));
        }
        let mut curved = Vec::with_capacity(face.len());
        for (&row, step) in face.iter().zip(step) {
            let coordinate = &self.coordinates[row as usize];
            let output = self.rows.row(row as usize).dot(&sum) + self.lift * balance;
            curved.push(coordinate.sign * output + diagonal(self.loss, coordinate.cost) * step);
            self.countdown.spend(self.rows.size(row as usize));
        }
        (curved, sum)
    }

    /// Return how far the first α of a face is from its bound along a direction, at most 1.
    fn first_bound(&self, face: &[u32], direction: &[f64]) -> f64 {
        let room = face.iter().zip(direction).map(|(&row, along)| {
            let coordinate = &self.coordinates[row as usize];
            let upper = upper(self.loss, coordinate.cost);
            let left = if *along > 0.0 {
                upper - coordinate.alpha
            } else {
                coordinate.alpha
            };
            if *along == 0.0 { 1.0 } else { left / along.abs() }
        });
        room.fold(1.0, f64::min)
    }

    /// Move the α of a face along a direction, clipped at the bounds, if that gains anything; else half as far.
    fn move_along(&mut self, face: &[u32], slopes: &[f64], direction: &[f64]) {
        let mut length = 1.0;
        for turn in 0..=MOST_HALVINGS {
            if turn == MOST_HALVINGS {
                length = self.first_bound(face, direction); // up to there the objective only falls
            }
            let cut = |(&row, along): (&u32, &f64)| {
                let coordinate = &self.coordinates[row as usize];
                (coordinate.alpha + length * along).clamp(0.0, upper(self.loss, coordinate.cost)) - coordinate.alpha
            };
            let changes: Vec<f64> = face.iter().zip(direction).map(cut).collect();
            let (curved, sum) = self.hessian_product(face, &changes);
            let parts = changes.iter().zip(slopes).zip(&curved);
            let gain: f64 = parts
                .map(|((change, slope), curved)| change * (slope - 0.5 * curved))
                .sum();
            if gain > 0.0 {
                for (&row, change) in face.iter().zip(&changes) {
                    let coordinate = &mut self.coordinates[row as usize];
                    coordinate.alpha = (coordinate.alpha + change).clamp(0.0, upper(self.loss, coordinate.cost));
                    self.balance += change * coordinate.sign;
                }
                self.weights
                    .iter_mut()
                    .zip(&sum)
                    .for_each(|(weight, change)| *weight += change);
                self.value += gain;
                break;
            }
            length *= 0.5;
        }
    }
}
