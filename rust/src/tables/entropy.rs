//! Cuts of a column that separate the classes: Fayyad and Irani's recursive partitioning by least entropy.
//!
//! Paper: Fayyad and Irani, "Multi-interval discretization of continuous-valued attributes for classification
//! learning", IJCAI 1993.

use std::f64::consts::LN_2;

use crate::system::cancel::Countdown;

/// Up to this many rows, n log₂ n is looked up.
const MOST_LOOKED_UP: usize = 1 << 16;

/// Return the cuts between finite numbers, sorted; `weights` are how often each number counts, once without them.
///
/// The classes must be below `n_classes`.
pub fn entropy_cuts(values: &[f64], classes: &[i64], n_classes: usize, weights: Option<&[f64]>) -> Vec<f64> {
    let blocks = Blocks::of(values, classes, n_classes, weights);
    let bits = Bits::new(if weights.is_none() { values.len() } else { 0 });
    let (mut cuts, mut parts) = (Vec::new(), vec![(0, blocks.lows.len())]);
    let countdown = Countdown::default();
    while let Some((start, end)) = parts.pop() {
        if let Some(place) = blocks.best_cut(start, end, &bits, &countdown) {
            cuts.push(halfway(blocks.highs[place - 1], blocks.lows[place]));
            parts.extend([(start, place), (place, end)]);
        }
    }
    cuts.sort_unstable_by(f64::total_cmp);
    cuts
}

/// A cut between two neighbors: above the first, not above the second.
fn halfway(low: f64, high: f64) -> f64 {
    let middle = low / 2.0 + high / 2.0;
    if low < middle && middle <= high { middle } else { high }
}

/// Numbers in order; equal ones are one block, as are neighbors of the same class: no best cut lies between those.
struct Blocks {
    lows: Vec<f64>,
    highs: Vec<f64>,
    /// The rows of each class before each block, and of all: (blocks + 1) × classes.
    sums: Vec<f64>,
    n_classes: usize,
}

impl Blocks {
    fn of(values: &[f64], classes: &[i64], n_classes: usize, weights: Option<&[f64]>) -> Self {
        let mut order: Vec<(f64, usize, f64)> = (0..values.len())
            .map(|row| {
                (
                    values[row],
                    classes[row] as usize,
                    weights.map_or(1.0, |weights| weights[row]),
                )
            })
            .collect();
        order.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut blocks = Blocks {
            lows: Vec::new(),
            highs: Vec::new(),
            sums: vec![0.0; n_classes],
            n_classes,
        };
        let mut last = None; // the only class of the last block, if it has only one
        let countdown = Countdown::default();
        for equal in order.chunk_by(|one, other| one.0 == other.0) {
            countdown.spend(n_classes + equal.len());
            let (value, class, _) = equal[0];
            let only = equal.iter().all(|row| row.1 == class).then_some(class);
            if only.is_some() && only == last {
                blocks.highs.pop();
            } else {
                blocks.lows.push(value);
                blocks.sums.extend_from_within(blocks.sums.len() - n_classes..);
            }
            blocks.highs.push(equal[equal.len() - 1].0);
            let end = blocks.sums.len() - n_classes;
            equal.iter().for_each(|row| blocks.sums[end + row.1] += row.2);
            last = only;
        }
        blocks
    }

    fn before(&self, block: usize) -> &[f64] {
        &self.sums[block * self.n_classes..][..self.n_classes]
    }

    /// Return the block before which a cut of some blocks reduces the entropy most; `None` if no cut pays for its
    /// description. A cut of S into S₁ and S₂ with k, k₁ and k₂ classes is accepted if
    ///
    /// ```text
    /// Gain > (log₂(N − 1) + Δ) / N,   Δ = log₂(3^k − 2) − (k Ent(S) − k₁ Ent(S₁) − k₂ Ent(S₂))
    /// ```
    fn best_cut(&self, start: usize, end: usize, bits: &Bits, countdown: &Countdown) -> Option<usize> {
        let (first, last) = (self.before(start), self.before(end));
        let whole: Vec<f64> = last.iter().zip(first).map(|(last, first)| last - first).collect();
        let (of_whole, k) = bits.entropy(whole.iter().copied());
        if end - start < 2 || k < 2 {
            return None;
        }
        let (mut best, mut place) = (f64::INFINITY, start);
        for block in start + 1..end {
            countdown.spend(2 * self.n_classes);
            let (left, right) = self.parts(block, first, last);
            let remaining = bits.entropy(left).0 + bits.entropy(right).0;
            if remaining < best {
                (best, place) = (remaining, block);
            }
        }
        let (left, right) = self.parts(place, first, last);
        let rows = [whole.iter().sum(), left.clone().sum(), right.clone().sum::<f64>()];
        let [tree, tree_left, tree_right] = [(of_whole, k), bits.entropy(left), bits.entropy(right)]
            .iter()
            .zip(rows)
            .map(|(&(entropy, k), rows)| k as f64 * entropy / rows)
            .collect::<Vec<f64>>()
            .try_into()
            .ok()?;
        let patterns = k as f64 * 3f64.log2() + (-2.0 * 3f64.powf(-(k as f64))).ln_1p() / LN_2;
        let price = (rows[0] - 1.0).max(1.0).log2() + (patterns - (tree - tree_left - tree_right));
        (of_whole - best > price).then_some(place)
    }

    /// The rows of each class in the blocks before one, and in those from it on.
    fn parts<'a>(
        &'a self,
        block: usize,
        first: &'a [f64],
        last: &'a [f64],
    ) -> (
        impl Iterator<Item = f64> + Clone + 'a,
        impl Iterator<Item = f64> + Clone + 'a,
    ) {
        let here = self.before(block);
        let left = here.iter().zip(first).map(|(here, first)| here - first);
        (left, last.iter().zip(here).map(|(last, here)| last - here))
    }
}

/// n log₂ n, looked up where n is a small whole number.
struct Bits(Vec<f64>);

impl Bits {
    /// Make a table for whole numbers up to `most`; none if they are too many, or `most` is 0.
    fn new(most: usize) -> Self {
        let size = if most == 0 || most > MOST_LOOKED_UP {
            0
        } else {
            most + 1
        };
        Bits((0..size).map(|count| Self::computed(count as f64)).collect())
    }

    fn computed(count: f64) -> f64 {
        if count == 0.0 { 0.0 } else { count * count.ln() / LN_2 }
    }

    #[inline(always)]
    fn of(&self, count: f64) -> f64 {
        if self.0.is_empty() {
            Self::computed(count)
        } else {
            self.0[count as usize]
        }
    }

    /// N · Ent(S) = N log₂ N − Σ n_k log₂ n_k, and the number of classes there are.
    #[inline(always)]
    fn entropy(&self, counts: impl Iterator<Item = f64>) -> (f64, usize) {
        let (mut total, mut sum, mut k) = (0.0, 0.0, 0);
        for count in counts {
            total += count;
            sum += self.of(count);
            k += usize::from(count != 0.0);
        }
        (self.of(total) - sum, k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_cut_where_the_classes_change() {
        let values: Vec<f64> = (0..40).map(f64::from).collect();
        let classes: Vec<i64> = (0..40).map(|row| i64::from(row >= 10) + i64::from(row >= 30)).collect();
        assert_eq!(entropy_cuts(&values, &classes, 3, None), [9.5, 29.5]);
        assert_eq!(entropy_cuts(&values, &classes, 3, Some(&[2.0; 40])), [9.5, 29.5]);
        assert!(entropy_cuts(&values, &[0; 40], 1, None).is_empty());
        assert!(entropy_cuts(&[], &[], 2, None).is_empty());
    }

    #[test]
    fn equal_numbers_are_not_separated() {
        let values = [1.0, 1.0, 2.0, 2.0];
        assert!(entropy_cuts(&values, &[0, 1, 0, 1], 2, None).is_empty());
    }
}
