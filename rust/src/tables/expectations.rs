//! Expectations of scores of classes, under the probabilities that a weighted sum of them gives.
//!
//! A calibration fits the weights: the gradient and the curvature of its log loss are made of these expectations.

use super::posterior::exp_below_zero;
use crate::system::cancel::Countdown;
use crate::system::vector::vectorized;

/// Rows worked on at once.
const BLOCK: usize = 64;

/// Scores of rows × classes of several parts, and the factor of each part in each row.
pub struct Parts<'a> {
    pub scores: Vec<&'a [f64]>,
    pub factors: Vec<&'a [f64]>,
    pub classes: usize,
}

/// What is expected of each row; lists of rows follow each other.
pub struct Expectations {
    /// log Σₖ exp(Σⱼ fⱼ zⱼₖ).
    pub log_totals: Vec<f64>,
    /// E[zⱼ] of each part.
    pub means: Vec<f64>,
    /// E[zᵢ zⱼ] of each pair of parts i ≤ j: (0, 0), (0, 1), …, (1, 1), ….
    pub products: Vec<f64>,
}

impl Expectations {
    /// Take the expectations of all rows; the lists must be of as many rows.
    pub fn of(parts: &Parts<'_>, rows: usize) -> Self {
        let n_parts = parts.scores.len();
        let mut found = Expectations {
            log_totals: vec![0.0; rows],
            means: vec![0.0; rows * n_parts],
            products: vec![0.0; rows * n_parts * (n_parts + 1) / 2],
        };
        let mut shares = vec![0.0; BLOCK * parts.classes];
        let countdown = Countdown::default();
        for start in (0..rows).step_by(BLOCK) {
            let end = (start + BLOCK).min(rows);
            let shares = &mut shares[..(end - start) * parts.classes];
            countdown.spend(shares.len() * n_parts);
            vectorized(
                #[inline(always)]
                || found.take(parts, start, shares, rows),
            );
        }
        found
    }

    #[inline(always)]
    fn take(&mut self, parts: &Parts<'_>, start: usize, shares: &mut [f64], rows: usize) {
        let k = parts.classes;
        shares.fill(0.0);
        for (scores, factors) in parts.scores.iter().zip(&parts.factors) {
            let scores = scores[start * k..].chunks_exact(k);
            for ((shares, scores), factor) in shares.chunks_exact_mut(k).zip(scores).zip(&factors[start..]) {
                let pairs = shares.iter_mut().zip(scores);
                pairs.for_each(|(share, score)| *share += factor * score);
            }
        }
        for (shares, total) in shares.chunks_exact_mut(k).zip(&mut self.log_totals[start..]) {
            *total = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            shares.iter_mut().for_each(|share| *share -= *total);
        }
        shares.iter_mut().for_each(|share| *share = exp_below_zero(*share));
        for (shares, total) in shares.chunks_exact_mut(k).zip(&mut self.log_totals[start..]) {
            let sum: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= sum);
            *total += sum.ln();
        }
        let mut pair = 0;
        for (place, one) in parts.scores.iter().enumerate() {
            let means = &mut self.means[place * rows + start..];
            let ones = one[start * k..].chunks_exact(k);
            for ((mean, one), shares) in means.iter_mut().zip(ones.clone()).zip(shares.chunks_exact(k)) {
                *mean = shares.iter().zip(one).map(|(share, score)| share * score).sum();
            }
            for other in &parts.scores[place..] {
                let products = &mut self.products[pair * rows + start..];
                let pairs = ones.clone().zip(other[start * k..].chunks_exact(k));
                for ((product, (one, other)), shares) in products.iter_mut().zip(pairs).zip(shares.chunks_exact(k)) {
                    let scored = shares.iter().zip(one).zip(other);
                    *product = scored.map(|((share, one), other)| share * one * other).sum();
                }
                pair += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_as_by_hand() {
        // The second row has the shares 1/4 and 3/4.
        let (first, second) = ([0.0, 0.0, 0.0, 3f64.ln()], [1.0, 3.0, 0.0, -2.0]);
        let parts = Parts {
            scores: vec![&first, &second],
            factors: vec![&[1.0, 1.0], &[0.0, 0.0]],
            classes: 2,
        };
        let found = Expectations::of(&parts, 2);
        let near = |found: &[f64], expected: &[f64]| found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14);
        assert!(near(&found.log_totals, &[2f64.ln(), 4f64.ln()]));
        assert!(near(&found.means, &[0.0, 0.75 * 3f64.ln(), 2.0, -1.5]));
        let squares = [0.0, 0.75 * 3f64.ln().powi(2), 0.0, -1.5 * 3f64.ln(), 5.0, 3.0];
        assert!(near(&found.products, &squares));
    }

    #[test]
    fn blocks_do_not_matter() {
        let scores: Vec<f64> = (0..300).map(|place| -f64::from(place % 7)).collect();
        let factors: Vec<f64> = (0..100).map(|row| f64::from(row) / 100.0).collect();
        let parts = |rows: std::ops::Range<usize>| Parts {
            scores: vec![&scores[3 * rows.start..3 * rows.end]],
            factors: vec![&factors[rows]],
            classes: 3,
        };
        let (all, some) = (
            Expectations::of(&parts(0..100), 100),
            Expectations::of(&parts(70..90), 20),
        );
        assert_eq!(all.means[70..90], some.means);
        assert_eq!(all.products[70..90], some.products);
    }
}
