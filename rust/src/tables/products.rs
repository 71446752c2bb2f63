//! Scores of sparse rows: their products with a small dense table of weights, a row of weights for each column.

use super::by_class::{Compressed, Number, Place};
use crate::system::cancel::checkpoint;
use crate::system::memory::prefetch;
use crate::system::vector::vectorized;

/// How many numbers ahead of its use a row of weights is fetched.
const AHEAD: usize = 8;
/// Numbers in a line of the cache.
const LINE: usize = 8;

/// Add row · weights to the scores of each row, rows × `n_scores`. The table must fit, and `n_scores` be above 0.
///
/// Products are added in the order of the numbers, so that the result does not depend on the number of scores.
pub fn add_products<P: Place + Ord, V: Number>(
    rows: Compressed<'_, P, V>,
    weights: &[f64],
    n_scores: usize,
    scores: &mut [f64],
) {
    match n_scores {
        1 => add_few::<1, P, V>(rows, weights, scores),
        2 => add_few::<2, P, V>(rows, weights, scores),
        3 => add_few::<3, P, V>(rows, weights, scores),
        4 => add_few::<4, P, V>(rows, weights, scores),
        _ => add_many(rows, weights, n_scores, scores),
    }
}

fn add_few<const N: usize, P: Place + Ord, V: Number>(rows: Compressed<'_, P, V>, weights: &[f64], scores: &mut [f64]) {
    let (weights, _) = weights.as_chunks::<N>();
    let (scores, _) = scores.as_chunks_mut::<N>();
    for (row, scores) in scores.iter_mut().enumerate() {
        checkpoint();
        let (columns, values) = rows.line(row);
        let mut sums = *scores;
        for (place, (column, &value)) in columns.iter().zip(values).enumerate() {
            if let Some(ahead) = columns.get(place + AHEAD) {
                prefetch(weights, ahead.place());
            }
            let value = value.number();
            for (sum, weight) in sums.iter_mut().zip(&weights[column.place()]) {
                *sum += value * weight;
            }
        }
        *scores = sums;
    }
}

fn add_many<P: Place + Ord, V: Number>(
    rows: Compressed<'_, P, V>,
    weights: &[f64],
    n_scores: usize,
    scores: &mut [f64],
) {
    vectorized(
        #[inline(always)]
        || {
            for (row, scores) in scores.chunks_exact_mut(n_scores).enumerate() {
                checkpoint();
                let (columns, values) = rows.line(row);
                for (place, (column, &value)) in columns.iter().zip(values).enumerate() {
                    if let Some(ahead) = columns.get(place + AHEAD) {
                        let first = ahead.place() * n_scores;
                        (first..first + n_scores)
                            .step_by(LINE)
                            .for_each(|ahead| prefetch(weights, ahead));
                    }
                    let (value, weights) = (value.number(), &weights[column.place() * n_scores..][..n_scores]);
                    for (sum, weight) in scores.iter_mut().zip(weights) {
                        *sum += value * weight;
                    }
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_plain_loops() {
        let rows = Compressed {
            starts: &[0i32, 2, 2, 3],
            places: &[2, 0, 1],
            values: &[3i64, 1, -2],
        };
        for n_scores in (1..7).chain([15, 16, 17, 40]) {
            let weights: Vec<f64> = (0..3 * n_scores).map(|place| place as f64 - 4.0).collect();
            let mut scores = vec![0.5; 3 * n_scores];
            add_products(rows, &weights, n_scores, &mut scores);
            for score in 0..n_scores {
                let weight = |column: usize| weights[column * n_scores + score];
                assert_eq!(scores[score], 0.5 + 3.0 * weight(2) + weight(0));
                assert_eq!(scores[n_scores + score], 0.5);
                assert_eq!(scores[2 * n_scores + score], 0.5 - 2.0 * weight(1));
            }
        }
    }
}
