//! Primal and dual values over all rows.

use super::schedule::{Bounds, Skip};
use super::{Certificate, Coordinate, Dual, Intercept, Loss, Value, diagonal, upper};

/// The result of an evaluation over all rows.
pub(super) struct Evaluation {
    pub(super) certificate: Certificate,
    pub(super) scale: f64,
    pub(super) intercept: f64,
}

impl<'a, V: Value> Dual<'a, V> {
    /// Compute primal and dual values over all rows, and activate the rows that may leave their bounds.
    pub(super) fn evaluate(&mut self, bounds: Bounds) -> Evaluation {
        let mut outputs = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            outputs.push(self.rows.row(row).dot(&self.weights));
            self.countdown.spend(self.rows.size(row));
        }
        let intercept = self.best_intercept(&outputs);
        let mut violation = 0.0f64;
        self.active.clear();
        self.skips.fill(Skip::default());
        for (row, (output, coordinate)) in outputs.iter().zip(&mut self.coordinates).enumerate() {
            coordinate.step = coordinate.step.abs();
            let (alpha, upper) = (coordinate.alpha, upper(self.loss, coordinate.cost));
            let slack = 1.0 - coordinate.sign * (output + intercept);
            let gradient = diagonal(self.loss, coordinate.cost) * alpha - slack;
            let at_bound = (alpha <= 0.0 && gradient >= 0.0) || (alpha >= upper && gradient <= 0.0);
            if !at_bound {
                violation = violation.max(gradient.abs());
            }
            if !at_bound || (gradient <= bounds.most && gradient >= bounds.least) {
                self.active.push(row as u32);
            }
        }
        let norm = self.rows.product(&self.weights, &self.weights);
        let (primal, scale) = self.primal(&outputs, intercept, norm);
        let dual = self.dual(norm);
        self.value = dual;
        let certificate = Certificate {
            primal,
            dual,
            violation,
            passes: 0,
        };
        Evaluation {
            certificate,
            scale,
            intercept,
        }
    }

    /// The primal value, and the factor for the weights: a hard margin is reached by scaling.
    fn primal(&self, outputs: &[f64], intercept: f64, norm: f64) -> (f64, f64) {
        let penalty = match self.intercept {
            Intercept::Penalized(_) => norm + self.lift * self.balance * self.balance,
            _ => norm,
        };
        let margins = outputs
            .iter()
            .zip(&self.coordinates)
            .map(|(output, row)| row.sign * (output + intercept));
        if self.is_hard() {
            let least = margins.fold(f64::INFINITY, f64::min);
            return if least > 0.0 {
                (0.5 * penalty / (least * least), 1.0 / least)
            } else {
                (f64::INFINITY, 1.0)
            };
        }
        let losses = margins.zip(&self.coordinates).map(|(margin, row)| {
            let slack = (1.0 - margin).max(0.0);
            row.cost * if self.loss == Loss::Hinge { slack } else { slack * slack }
        });
        (0.5 * penalty + losses.sum::<f64>(), 1.0)
    }

    /// The dual value at α or, when the intercept is free, at the α of balance 0 that results from
    /// scaling one class.
    fn dual(&self, norm: f64) -> f64 {
        let free = self.intercept == Intercept::Free;
        let excess = self.balance.signum();
        let heavy = |row: &Coordinate| free && row.sign == excess;
        let total: f64 = self
            .coordinates
            .iter()
            .filter(|row| heavy(row))
            .map(|row| row.alpha)
            .sum();
        let kept = if total > 0.0 {
            1.0 - self.balance.abs() / total
        } else {
            1.0
        };
        let gains = self.coordinates.iter().map(|row| {
            let alpha = if heavy(row) { kept * row.alpha } else { row.alpha };
            alpha - 0.5 * diagonal(self.loss, row.cost) * alpha * alpha
        });
        let gain = gains.sum::<f64>();
        if !free {
            return gain - 0.5 * (norm + self.lift * self.balance * self.balance);
        }
        let mut weights = self.weights.clone();
        for (row, coordinate) in self.coordinates.iter().enumerate().filter(|(_, row)| heavy(row)) {
            if coordinate.alpha > 0.0 {
                let change = (kept - 1.0) * coordinate.alpha * coordinate.sign;
                self.rows.row(row).add_to(&mut weights, change);
            }
        }
        gain - 0.5 * self.rows.product(&weights, &weights)
    }
}
