//! Coordinate descent on a quadratic model of a loss of several outputs.
//!
//! The model of the loss at weights w is g·d + ½ Σᵢ cᵢ (xᵢ·d)² + ½ Σⱼ rⱼ dⱼ², where g is the gradient with the ridge r,
//! and cᵢ the curvature of the loss of row i; λⱼ |wⱼ + dⱼ| is added to it.

use super::columns::Columns;
use super::{shrunk, violation};
use crate::learners::margin::Random;
use crate::system::cancel::Countdown;
use crate::system::vector::vectorized;

/// How the loss of the rows bends with their scores, an output after the other.
#[derive(Clone, Copy)]
pub enum Bending<'a> {
    /// The second derivative by the only score.
    Single(&'a [f64]),
    /// Of a softmax: the shares p of the outputs, and perhaps the weights of the rows; the second derivatives are those
    /// of diag(p) − ppᵀ.
    Shares(&'a [f64], Option<&'a [f64]>),
}

/// The quadratic model at some weights, and the penalties. Weights and gradients are those of one output after another.
pub struct Model<'a> {
    pub columns: Columns<'a>,
    pub bending: Bending<'a>,
    pub outputs: usize,
    pub gradient: &'a [f64],
    pub weights: &'a [f64],
    /// λ and r of each column.
    pub lasso: &'a [f64],
    pub ridge: &'a [f64],
}

/// Improve a step d of the `working` weights until the violations of the conditions of optimality sum to at most
/// `share` of those of the first pass, or for some passes. The step begins at 0. Return the passes.
pub fn descend(model: &Model<'_>, working: &[usize], step: &mut [f64], share: f64, passes: usize) -> usize {
    let rows = model.columns.rows();
    // What bends a score by itself, and the shares times the weights of the rows.
    let (own, weighted): (Vec<f64>, Vec<f64>) = match model.bending {
        Bending::Single(curvature) => (curvature.to_vec(), curvature.to_vec()),
        Bending::Shares(shares, weights) => {
            let weight = |place: usize| weights.map_or(1.0, |weights| weights[place % rows]);
            let pairs = shares.iter().enumerate();
            pairs
                .map(|(place, p)| (weight(place) * p * (1.0 - p), weight(place) * p))
                .unzip()
        }
    };
    vectorized(
        #[inline(always)]
        || descend_with(model, &own, &weighted, working, step, share, passes),
    )
}

#[inline(always)]
fn descend_with(
    model: &Model<'_>,
    own: &[f64],
    weighted: &[f64],
    working: &[usize],
    step: &mut [f64],
    share: f64,
    passes: usize,
) -> usize {
    let (rows, n_weights, countdown) = (model.columns.rows(), model.lasso.len(), Countdown::default());
    let mut pulls = vec![0.0; rows * model.outputs];
    let mut order: Vec<(usize, f64)> = Vec::with_capacity(working.len());
    for &place in working {
        let (output, column) = (place / n_weights, place % n_weights);
        let (mut bend, own) = (model.ridge[column], &own[output * rows..][..rows]);
        model.columns.each(column, |row, x| bend += x * x * own[row]);
        if bend > 0.0 {
            order.push((place, bend)); // a weight without curvature is left where it is
        }
        countdown.spend(model.columns.size(column));
    }
    let (mut first, mut random) = (0.0, Random(0));
    for pass in 1..=passes {
        let mut violations = 0.0;
        random.shuffle(&mut order); // in a fixed order it converges many times slower
        for &(place, bend) in &order {
            let (output, column) = (place / n_weights, place % n_weights);
            let line = output * rows..(output + 1) * rows;
            countdown.spend(2 * model.outputs * model.columns.size(column));
            let slope = model.gradient[place]
                + model.ridge[column] * step[place]
                + model.columns.product(column, &pulls[line.clone()]);
            let (weight, lasso) = (model.weights[place] + step[place], model.lasso[column]);
            violations += violation(slope, weight, lasso);
            let change = shrunk(weight - slope / bend, lasso / bend) - weight;
            if change == 0.0 {
                continue;
            }
            step[place] += change;
            let weighted = &weighted[line.clone()];
            model.columns.add_to(column, change, weighted, None, &mut pulls[line]);
            if let Bending::Shares(shares, _) = model.bending {
                for (pulls, shares) in pulls.chunks_exact_mut(rows).zip(shares.chunks_exact(rows)) {
                    model.columns.add_to(column, -change, weighted, Some(shares), pulls);
                }
            }
        }
        if pass == 1 {
            first = violations;
        }
        if violations <= share * first {
            return pass;
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_column_is_solved_in_one_pass() {
        let values = [1.0, 2.0];
        let model = Model {
            columns: Columns::dense(&values, 2, 1).unwrap(),
            bending: Bending::Single(&[1.0, 1.0]),
            outputs: 1,
            gradient: &[-6.0, 0.0],
            weights: &[0.0, 0.0],
            lasso: &[1.0, 0.0],
            ridge: &[0.0, 0.0],
        };
        let mut step = [0.0; 2];
        descend(&model, &[0], &mut step, 1e-9, 10);
        assert_eq!(step, [1.0, 0.0]);
    }

    #[test]
    fn several_outputs_are_solved_together() {
        // With shares of ½ and ½ the second derivatives are ¼ and −¼, and the ridge makes them definite.
        let values = [2.0];
        let model = Model {
            columns: Columns::dense(&values, 1, 1).unwrap(),
            bending: Bending::Shares(&[0.5, 0.5], Some(&[3.0])),
            outputs: 2,
            gradient: &[-4.0, 4.0],
            weights: &[0.0, 0.0],
            lasso: &[0.0],
            ridge: &[1.0],
        };
        let mut step = [0.0; 2];
        descend(&model, &[0, 1], &mut step, 1e-14, 1000);
        // 3 · 2² · ¼ (a − b) + a = 4 and its mirror: a = −b = 4/7.
        assert!((step[0] - 4.0 / 7.0).abs() < 1e-9 && (step[1] + 4.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn dense_and_sparse_columns_give_the_same() {
        let values = [1.0, 0.0, 2.0, 0.0, 3.0, 1.0];
        let dense = Columns::dense(&values, 3, 2).unwrap();
        let sparse = Columns::sparse(&[0, 2, 4], &[0, 2, 1, 2], &[1.0, 2.0, 3.0, 1.0], 3).unwrap();
        let steps = [dense, sparse].map(|columns| {
            let model = Model {
                columns,
                bending: Bending::Single(&[1.0, 0.5, 2.0]),
                outputs: 1,
                gradient: &[-3.0, 4.0, 1.0],
                weights: &[0.5, 0.0, 0.1],
                lasso: &[0.5, 0.25, 0.0],
                ridge: &[0.1, 0.1, 0.0],
            };
            let mut step = [0.0; 3];
            descend(&model, &[0, 1, 2], &mut step, 1e-12, 1000);
            step
        });
        assert_eq!(steps[0], steps[1]);
        assert!(Columns::sparse(&[0, 1], &[3], &[1.0], 3).is_none());
        assert!(Columns::dense(&values, 4, 2).is_none());
    }
}
