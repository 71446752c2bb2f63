//! Logistic regression on dense rows: loss, gradient and Hessian at given coefficients, and probabilities.

use crate::learners::block::{BLOCK, Block, LANES, Vector, add_four, summed, total, vector_at};
use crate::system::vector::vectorized;
use crate::tables::posterior::exp_of_moderate;

/// The first number where the sign is plus, the second where it is minus. Without a branch, because signs are
/// unpredictable.
#[inline(always)]
fn chosen(sign: f64, plus: f64, minus: f64) -> f64 {
    let mask = (sign.to_bits().cast_signed() >> 63).cast_unsigned();
    f64::from_bits((minus.to_bits() & mask) | (plus.to_bits() & !mask))
}

/// Loss, gradient and Hessian of rows at given coefficients; the intercept is last.
pub struct Sums {
    pub loss: f64,
    gradient: Vec<Vector>,
    hessian: Vec<Vector>,
    block: Block,
}

impl Sums {
    /// Make sums of 0 for rows of `n_columns` numbers, with or without the Hessian.
    pub fn new(n_columns: usize, hessian: bool) -> Self {
        let block = Block::new(n_columns);
        let lines = if hessian { n_columns + 1 } else { 0 };
        Sums {
            loss: 0.0,
            gradient: vec![[0.0; LANES]; block.stride()],
            hessian: vec![[0.0; LANES]; lines * block.stride()],
            block,
        }
    }

    pub fn merge(&mut self, other: &Sums) {
        self.loss += other.loss;
        for (mine, theirs) in [
            (&mut self.gradient, &other.gradient),
            (&mut self.hessian, &other.hessian),
        ] {
            let sums = mine.as_flattened_mut().iter_mut().zip(theirs.as_flattened());
            sums.for_each(|(sum, part)| *sum += part);
        }
    }

    pub fn gradient(&self) -> Vec<f64> {
        self.gradient.as_flattened()[..=self.block.n_columns].to_vec()
    }

    /// The Hessian as a square, row after row. Only what is on and above the diagonal was summed.
    pub fn hessian(&self) -> Vec<f64> {
        let (side, stride, sums) = (
            self.block.n_columns + 1,
            self.block.stride() * LANES,
            self.hessian.as_flattened(),
        );
        (0..side * side)
            .map(|place| (place / side, place % side))
            .map(|(row, column)| sums[row.min(column) * stride + row.max(column)])
            .collect()
    }

    /// Add rows with their classes (0 or 1) and weights, at coefficients whose last is the intercept.
    pub fn add_rows(&mut self, rows: &[f64], classes: &[i32], weights: Option<&[f64]>, coefficients: &[f64]) {
        let padded = self.block.padded(coefficients);
        let size = BLOCK * self.block.n_columns;
        vectorized(
            #[inline(always)]
            || {
                let mut start = 0;
                for (rows, classes) in rows.chunks(size).zip(classes.chunks(BLOCK)) {
                    let weights = weights.map(|weights| &weights[start..start + classes.len()]);
                    let mut filled = Vec::new();
                    if rows.len() < size {
                        filled.extend_from_slice(rows);
                        filled.resize(size, 0.0);
                    }
                    let rows = if rows.len() < size { &filled } else { rows };
                    self.add_block(rows, classes, weights, &padded);
                    start += classes.len();
                }
            },
        )
    }

    /// Add [`BLOCK`] rows; those without a class do not count.
    #[inline(always)]
    fn add_block(&mut self, rows: &[f64], classes: &[i32], weights: Option<&[f64]>, coefficients: &[Vector]) {
        self.block.take(rows, coefficients);
        let (mut signs, mut counted) = ([1.0; BLOCK], [0.0; BLOCK]);
        for ((sign, counts), class) in signs.iter_mut().zip(&mut counted).zip(classes) {
            *sign = f64::from(2 * *class - 1);
            *counts = 1.0;
        }
        let scores = self.block.scores;
        let mut smalls = smallnesses(&scores);
        let (mut residuals, mut curvatures, mut wrongs) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        for place in 0..BLOCK {
            // With t the score towards the row's own class, the loss is ln(1 + e^-t).
            let (toward, small) = (signs[place] * scores[place], smalls[place]);
            let share = 1.0 / (1.0 + small);
            let missing = chosen(toward, small * share, share);
            residuals[place] = -signs[place] * missing * counted[place];
            curvatures[place] = small * share * share * counted[place];
            smalls[place] = small * counted[place];
            wrongs[place] = chosen(toward, 0.0, -toward) * counted[place];
        }
        match weights {
            None => self.loss += sum_of_losses(&smalls, &wrongs),
            Some(weights) => {
                for (place, weight) in weights.iter().enumerate() {
                    self.loss += weight * (smalls[place].ln_1p() + wrongs[place]);
                    residuals[place] *= weight;
                    curvatures[place] *= weight;
                }
            }
        }
        self.add_products(rows, &residuals, &curvatures);
    }

    /// Add Σ residual·x to the gradient and Σ curvature·x xᵀ to the Hessian, four rows at a time.
    #[inline(always)]
    fn add_products(&mut self, rows: &[f64], residuals: &[f64; BLOCK], curvatures: &[f64; BLOCK]) {
        let (n_columns, stride, lasts) = (self.block.n_columns, self.block.stride(), &self.block.lasts);
        let (whole, end) = self.gradient.split_at_mut(n_columns / LANES);
        for (vector, sums) in whole.iter_mut().enumerate() {
            *sums = summed(*sums, residuals, |row| {
                vector_at(rows, row * n_columns + vector * LANES)
            });
        }
        end[0] = summed(end[0], residuals, |row| lasts[row]);
        if self.hessian.is_empty() {
            return;
        }
        for (fours, curvatures) in curvatures.as_chunks::<4>().0.iter().enumerate() {
            let four = [0, 1, 2, 3].map(|place| {
                let row = fours * 4 + place;
                let numbers = &rows[row * n_columns..(row + 1) * n_columns];
                (numbers.as_chunks::<LANES>().0, &lasts[row])
            });
            for (place, line) in self.hessian.chunks_exact_mut(stride).enumerate() {
                let (vector, lane) = (place / LANES, place % LANES);
                let tails = four.map(|(vectors, last)| (&vectors[vector..], last));
                let factors = [0, 1, 2, 3].map(|row| {
                    let (vectors, last) = tails[row];
                    curvatures[row] * vectors.first().unwrap_or(last)[lane]
                });
                add_four(&mut line[vector..], &factors, tails);
            }
        }
    }
}

/// Σ ln(1 + small) + wrong; the logarithm of products of at most 2^64 instead of the sum of logarithms.
#[inline(always)]
fn sum_of_losses(smalls: &[f64; BLOCK], wrongs: &[f64; BLOCK]) -> f64 {
    let (mut products, mut sums) = ([1.0; LANES], [0.0; LANES]);
    let pairs = smalls.as_chunks::<LANES>().0.iter().zip(wrongs.as_chunks::<LANES>().0);
    for (small, wrong) in pairs {
        for lane in 0..LANES {
            products[lane] *= 1.0 + small[lane];
            sums[lane] += wrong[lane];
        }
    }
    products.iter().product::<f64>().ln() + total(&sums)
}

/// e^−|score| of each.
#[inline(always)]
fn smallnesses(scores: &[f64; BLOCK]) -> [f64; BLOCK] {
    let mut smalls = [0.0; BLOCK];
    for (small, score) in smalls.iter_mut().zip(scores) {
        *small = exp_of_moderate(-score.abs());
    }
    smalls
}

/// Write the probabilities of both classes for each row.
pub fn fill_probabilities(rows: &[f64], n_columns: usize, coefficients: &[f64], pairs: &mut [f64]) {
    let mut block = Block::new(n_columns);
    let padded = block.padded(coefficients);
    vectorized(
        #[inline(always)]
        || {
            for (rows, pairs) in rows.chunks(BLOCK * n_columns).zip(pairs.chunks_mut(2 * BLOCK)) {
                block.take(rows, &padded);
                let (scores, smalls) = (block.scores, smallnesses(&block.scores));
                let mut both = [[0.0; 2]; BLOCK];
                for place in 0..BLOCK {
                    let (score, small) = (scores[place], smalls[place]);
                    let share = 1.0 / (1.0 + small);
                    // A score that is not a number becomes visible: the comparison would hide it.
                    let unsound = score * 0.0;
                    both[place][0] = chosen(score, small * share, share) + unsound;
                    both[place][1] = chosen(score, share, small * share) + unsound;
                }
                let filled = pairs.len();
                pairs.copy_from_slice(&both.as_flattened()[..filled]);
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_one_row() {
        let mut sums = Sums::new(2, true);
        sums.add_rows(&[1.0, 2.0], &[1], None, &[0.0, 0.0, 0.0]);
        assert!((sums.loss - 2f64.ln()).abs() < 1e-15);
        assert_eq!(sums.gradient(), [-0.5, -1.0, -0.5]);
        assert_eq!(sums.hessian(), [0.25, 0.5, 0.25, 0.5, 1.0, 0.5, 0.25, 0.5, 0.25]);
        let mut weighed = Sums::new(2, true);
        weighed.add_rows(&[1.0, 2.0], &[1], Some(&[2.0]), &[0.0, 0.0, 0.0]);
        assert!((weighed.loss - 2.0 * 2f64.ln()).abs() < 1e-15);
        assert_eq!(weighed.gradient(), [-1.0, -2.0, -1.0]);
    }

    #[test]
    fn blocks_add_up_to_their_rows() {
        for n_columns in 1..=18 {
            let numbers: Vec<f64> = (0..70 * n_columns).map(|place| (place as f64).sin()).collect();
            let classes: Vec<i32> = (0..70).map(|row| row % 3 % 2).collect();
            let coefficients: Vec<f64> = (0..=n_columns).map(|place| (place as f64).cos()).collect();
            let (mut whole, mut parts) = (Sums::new(n_columns, true), Sums::new(n_columns, true));
            whole.add_rows(&numbers, &classes, None, &coefficients);
            for (row, class) in numbers.chunks(n_columns).zip(classes.chunks(1)) {
                parts.add_rows(row, class, None, &coefficients);
            }
            let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11);
            assert!(near(&[whole.loss], &[parts.loss]));
            assert!(near(&whole.gradient(), &parts.gradient()));
            assert!(near(&whole.hessian(), &parts.hessian()));
        }
    }

    #[test]
    fn the_next_row_does_not_count() {
        for n_columns in 1..=18 {
            let mut rows = vec![0.5; 3 * n_columns];
            rows[n_columns..2 * n_columns].fill(f64::NAN);
            let mut pairs = [0.0; 6];
            fill_probabilities(&rows, n_columns, &vec![0.25; n_columns + 1], &mut pairs);
            let score = 0.125 * n_columns as f64 + 0.25;
            let expected = 1.0 / (1.0 + (-score).exp());
            assert!((pairs[1] - expected).abs() < 1e-15 && (pairs[5] - expected).abs() < 1e-15);
            assert!(pairs[2].is_nan() && pairs[3].is_nan());
        }
    }
}
