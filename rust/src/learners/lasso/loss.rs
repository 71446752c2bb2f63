//! The losses of rows by their scores, one output.

use crate::learners::logistic::residuals::{Labels, residuals};
use crate::system::vector::vectorized;

/// Logistic losses are taken to bend at least as much as this,
const LEAST_CURVATURE: f64 = 1e-12;
/// and as this share of the bound of Jaakkola and Jordan (2000), which makes a quadratic model an upper bound.
const SHARE_OF_SECANT: f64 = 0.01;

/// The loss of each row, whose weights or costs are at least 0.
#[derive(Clone, Copy)]
pub enum Loss<'a> {
    /// weight · ln(1 + exp(∓score)), by the classes 0 and 1.
    Logistic(Labels<'a>),
    /// cost · max(0, 1 − target · score)², by targets of ±1.
    SquaredHinge { targets: &'a [f64], costs: &'a [f64] },
}

/// The loss at some scores, its derivative by each of them, and about its second derivative.
#[derive(Clone, Default)]
pub struct Slopes {
    pub loss: f64,
    pub residuals: Vec<f64>,
    pub curvature: Vec<f64>,
}

impl Loss<'_> {
    /// How many rows there are, if all parts agree.
    pub fn rows(&self) -> Option<usize> {
        let (rows, others) = match self {
            Loss::Logistic(labels) => (labels.classes.len(), labels.weights.map(<[f64]>::len)),
            Loss::SquaredHinge { targets, costs } => (targets.len(), Some(costs.len())),
        };
        others.is_none_or(|others| others == rows).then_some(rows)
    }

    /// The change of a score within which the second derivative tells something of the loss.
    pub fn reach(&self) -> f64 {
        match self {
            Loss::Logistic(_) => 32.0,
            Loss::SquaredHinge { .. } => f64::INFINITY,
        }
    }

    /// Compute the loss at some scores.
    pub fn at(&self, scores: &[f64], found: &mut Slopes) {
        found.residuals.clear();
        found.residuals.extend_from_slice(scores);
        found.curvature.resize(scores.len(), 0.0);
        match *self {
            Loss::Logistic(labels) => {
                let plain = Labels {
                    weights: None,
                    ..labels
                };
                let count = scores.len();
                if let Some(weights) = labels.weights {
                    let mut weighted = scores.to_vec();
                    found.loss = residuals(&mut weighted, count, &[0.0], labels);
                    residuals(&mut found.residuals, count, &[0.0], plain);
                    bend(scores, &found.residuals, &mut found.curvature);
                    let pairs = found.curvature.iter_mut().zip(weights);
                    pairs.for_each(|(curvature, weight)| *curvature *= weight);
                    found.residuals = weighted;
                } else {
                    found.loss = residuals(&mut found.residuals, count, &[0.0], plain);
                    bend(scores, &found.residuals, &mut found.curvature);
                }
            }
            Loss::SquaredHinge { targets, costs } => found.loss = squared_hinge(targets, costs, found),
        }
    }
}

/// Write p (1 − p), where residuals are p, or p − 1; no less than the least, and in rows that are far on the wrong side
/// than a share of the secant's: there the loss is nearly a line that soon bends, and steps would be far too long.
fn bend(scores: &[f64], residuals: &[f64], curvature: &mut [f64]) {
    vectorized(
        #[inline(always)]
        || {
            for ((curvature, residual), score) in curvature.iter_mut().zip(residuals).zip(scores) {
                let error = residual.abs();
                let secant = SHARE_OF_SECANT * (error - 0.5) / score.abs().max(1.0);
                *curvature = (error * (1.0 - error)).max(secant).max(LEAST_CURVATURE);
            }
        },
    );
}

fn squared_hinge(targets: &[f64], costs: &[f64], found: &mut Slopes) -> f64 {
    let rows = found.residuals.iter_mut().zip(&mut found.curvature);
    let mut loss = 0.0;
    for ((residual, curvature), (target, cost)) in rows.zip(targets.iter().zip(costs)) {
        let slack = 1.0 - target * *residual;
        // A score that is no number stays one, so that it shows.
        let slack = if slack < 0.0 { 0.0 } else { slack };
        loss += cost * slack * slack;
        *residual = -2.0 * cost * target * slack;
        *curvature = if slack > 0.0 { 2.0 * cost } else { 0.0 };
    }
    loss
}
