//! Logistic regression from the scores of rows, which are laid out output by output: loss and residuals.

use crate::learners::block::{BLOCK, LANES, Vector, total};
use crate::system::vector::vectorized;
use crate::tables::posterior::exp_of_moderate;

/// The scores of a block of rows for one output.
type Line = [f64; BLOCK];

/// With more outputs than this the product of the sums of [`BLOCK`] rows may not be a finite number.
const MOST_MULTIPLIED: usize = 1 << 15;

/// Rows in the order of their scores: class numbers and perhaps weights.
#[derive(Clone, Copy)]
pub struct Labels<'a> {
    pub classes: &'a [i32],
    pub weights: Option<&'a [f64]>,
}

/// Replace the scores of rows by weight · (share − 1 of the own class), and return the weighted loss.
///
/// `scores` has a line of `rows` numbers for each output. `intercepts`, one for each output, are added to them first.
/// A single output is the log odds of the second of two classes.
pub fn residuals(scores: &mut [f64], rows: usize, intercepts: &[f64], labels: Labels<'_>) -> f64 {
    let outputs = intercepts.len();
    let mut lines = vec![[0.0; BLOCK]; outputs];
    vectorized(
        #[inline(always)]
        || {
            let mut loss = 0.0;
            for start in (0..rows).step_by(BLOCK) {
                let size = BLOCK.min(rows - start);
                for ((line, scores), intercept) in lines.iter_mut().zip(scores.chunks_exact(rows)).zip(intercepts) {
                    line[..size].copy_from_slice(&scores[start..start + size]);
                    line.iter_mut().for_each(|score| *score += intercept);
                }
                let classes = &labels.classes[start..start + size];
                let weights = labels.weights.map(|weights| &weights[start..start + size]);
                loss += match &mut lines[..] {
                    [line] => of_two(line, classes, weights),
                    lines => of_several(lines, classes, weights),
                };
                for (line, scores) in lines.iter().zip(scores.chunks_exact_mut(rows)) {
                    scores[start..start + size].copy_from_slice(&line[..size]);
                }
            }
            loss
        },
    )
}

/// The same for a block of rows of two classes.
#[inline(always)]
fn of_two(scores: &mut Line, classes: &[i32], weights: Option<&[f64]>) -> f64 {
    let (mut ones, mut wrongs) = ([1.0; BLOCK], [0.0; BLOCK]);
    let mut targets = [0.0; BLOCK];
    for (target, class) in targets.iter_mut().zip(classes) {
        *target = f64::from(*class);
    }
    for place in 0..BLOCK {
        let (score, target) = (scores[place], targets[place]);
        let small = exp_of_moderate(-score.abs());
        let share = 1.0 / (1.0 + small);
        // The share of the second class, and of the first: each to full precision.
        let (second, first) = if score > 0.0 {
            (share, small * share)
        } else {
            (small * share, share)
        };
        ones[place] = 1.0 + small;
        wrongs[place] = (0.5 * (score + score.abs())) - target * score;
        scores[place] = if target > 0.5 { -first } else { second };
    }
    weigh(scores, weights);
    summed_losses(&ones, &wrongs, classes.len(), weights, true)
}

/// The same for a block of rows of several classes.
#[inline(always)]
fn of_several(lines: &mut [Line], classes: &[i32], weights: Option<&[f64]>) -> f64 {
    let mut tops = lines[0];
    for line in &lines[1..] {
        for (top, score) in tops.iter_mut().zip(line) {
            *top = if *score > *top { *score } else { *top };
        }
    }
    let (mut sums, mut wrongs) = ([0.0; BLOCK], [0.0; BLOCK]);
    for (place, class) in classes.iter().enumerate() {
        wrongs[place] = tops[place] - lines[*class as usize][place];
    }
    for line in &mut *lines {
        for place in 0..BLOCK {
            line[place] = exp_of_moderate(line[place] - tops[place]);
            sums[place] += line[place];
        }
    }
    let mut inverses = sums;
    inverses.iter_mut().for_each(|sum| *sum = 1.0 / *sum);
    for line in &mut *lines {
        line.iter_mut()
            .zip(&inverses)
            .for_each(|(share, inverse)| *share *= inverse);
    }
    for (place, class) in classes.iter().enumerate() {
        // 1 less the share would lose the digits of a share near 1.
        let own = *class as usize;
        lines[own][place] = if lines[own][place] < 0.5 {
            lines[own][place] - 1.0
        } else {
            let others: f64 = (0..lines.len())
                .filter(|line| *line != own)
                .map(|line| lines[line][place])
                .sum();
            -others
        };
    }
    let few = lines.len() <= MOST_MULTIPLIED;
    let loss = summed_losses(&sums, &wrongs, classes.len(), weights, few);
    for line in lines {
        weigh(line, weights);
    }
    loss
}

/// Multiply residuals by the weights of their rows.
#[inline(always)]
fn weigh(residuals: &mut Line, weights: Option<&[f64]>) {
    if let Some(weights) = weights {
        residuals
            .iter_mut()
            .zip(weights)
            .for_each(|(residual, weight)| *residual *= weight);
    }
}

/// Σ ln(sum) + wrong of the first `rows` rows, weighted; with `few` outputs the logarithm of products instead of the
/// sum of logarithms.
#[inline(always)]
fn summed_losses(sums: &Line, wrongs: &Line, rows: usize, weights: Option<&[f64]>, few: bool) -> f64 {
    if let Some(weights) = weights {
        let losses = sums.iter().zip(wrongs).zip(weights);
        return losses.map(|((sum, wrong), weight)| weight * (sum.ln() + wrong)).sum();
    }
    if !few || rows < BLOCK {
        return sums
            .iter()
            .zip(wrongs)
            .take(rows)
            .map(|(sum, wrong)| sum.ln() + wrong)
            .sum();
    }
    let (mut products, mut totals): (Vector, Vector) = ([1.0; LANES], [0.0; LANES]);
    for (sums, wrongs) in sums.as_chunks::<LANES>().0.iter().zip(wrongs.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            products[lane] *= sums[lane];
            totals[lane] += wrongs[lane];
        }
    }
    products.iter().map(|product| product.ln()).sum::<f64>() + total(&totals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_hand(scores: &[f64], rows: usize, outputs: usize, row: usize, class: usize) -> (f64, Vec<f64>) {
        let mut own: Vec<f64> = (0..outputs).map(|output| scores[output * rows + row]).collect();
        if outputs == 1 {
            own.insert(0, 0.0);
        }
        let total: f64 = own.iter().map(|score| score.exp()).sum();
        let mut shares: Vec<f64> = own.iter().map(|score| score.exp() / total).collect();
        shares[class] -= 1.0;
        (total.ln() - own[class], shares[usize::from(outputs == 1)..].to_vec())
    }

    #[test]
    fn residuals_are_those_of_the_softmax() {
        for outputs in [1, 3, 7] {
            for rows in [1, 63, 64, 65, 200] {
                let scores: Vec<f64> = (0..rows * outputs).map(|place| 3.0 * (place as f64).sin()).collect();
                let classes: Vec<i32> = (0..rows).map(|row| (row % outputs.max(2)) as i32).collect();
                let weights: Vec<f64> = (0..rows).map(|row| (row % 4) as f64).collect();
                for weights in [None, Some(&weights[..])] {
                    let (mut found, mut loss) = (scores.clone(), 0.0);
                    let labels = Labels {
                        classes: &classes,
                        weights,
                    };
                    let sum = residuals(&mut found, rows, &vec![0.0; outputs], labels);
                    for row in 0..rows {
                        let weight = weights.map_or(1.0, |weights| weights[row]);
                        let (own, expected) = by_hand(&scores, rows, outputs, row, classes[row] as usize);
                        loss += weight * own;
                        for (output, expected) in expected.iter().enumerate() {
                            assert!((found[output * rows + row] - weight * expected).abs() < 1e-14);
                        }
                    }
                    assert!((sum - loss).abs() <= 1e-12 * (1.0 + loss));
                }
            }
        }
    }

    #[test]
    fn residuals_near_zero_keep_their_digits() {
        let mut scores = [40.0, 0.0, 0.0];
        let labels = Labels {
            classes: &[0],
            weights: None,
        };
        residuals(&mut scores, 1, &[0.0; 3], labels);
        let small = (-40f64).exp();
        assert!((scores[0] + 2.0 * small).abs() < 1e-12 * small && (scores[1] - small).abs() < 1e-12 * small);
    }

    #[test]
    fn a_score_that_is_no_number_shows() {
        for outputs in [1, 3] {
            let mut scores = vec![0.5; outputs];
            scores[outputs - 1] = f64::NAN;
            let labels = Labels {
                classes: &[0],
                weights: None,
            };
            assert!(residuals(&mut scores, 1, &vec![0.0; outputs], labels).is_nan());
        }
    }
}
