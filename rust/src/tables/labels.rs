//! Whole-number labels to class numbers.

use crate::system::vector::{Kernel, dispatch};

/// Labels farther apart than this are sorted instead.
const FARTHEST: usize = 1 << 20;
/// Labels no farther apart than this are counted in a table however few rows there are.
const NEAR: usize = 256;

/// Encode whole-number labels as 0 … K−1 in sorted order, without sorting.
///
/// Return the distinct labels, the number of each row and how many rows have each label; `None` if the labels are too
/// far apart.
pub fn number_labels(labels: &[i64]) -> Option<(Vec<i64>, Vec<i32>, Vec<i64>)> {
    let (least, most) = dispatch(Extremes(labels));
    let span = usize::try_from(most.checked_sub(least)?).ok()?;
    if span > FARTHEST.min(labels.len().saturating_mul(4) + NEAR) {
        return None;
    }
    let counts = tally(labels.iter().map(|&label| (label - least) as usize), span + 1);
    let mut numbers = Vec::with_capacity(counts.len());
    let mut found = 0;
    for &count in &counts {
        numbers.push(found);
        found += i32::from(count > 0);
    }
    let rows = if found as usize == counts.len() {
        labels.iter().map(|&label| (label - least) as i32).collect()
    } else {
        labels.iter().map(|&label| numbers[(label - least) as usize]).collect()
    };
    let present = (least..=most).zip(&counts).filter(|(_, count)| **count > 0);
    let (distinct, counts) = present.map(|(label, &count)| (label, count)).unzip();
    Some((distinct, rows, counts))
}

/// Count how often each place occurs; all are below `n_places`.
pub(super) fn tally(places: impl Iterator<Item = usize>, n_places: usize) -> Vec<i64> {
    // Four counts for a place, used in turn: when it comes again at once, the addition need not wait for the last one.
    let mut counts = vec![[0i64; 4]; n_places];
    places
        .enumerate()
        .for_each(|(turn, place)| counts[place][turn % 4] += 1);
    counts.iter().map(|turns| turns.iter().sum()).collect()
}

/// The least and the greatest number; of none, the least is above the greatest.
struct Extremes<'a>(&'a [i64]);

impl Kernel for Extremes<'_> {
    type Output = (i64, i64);

    #[inline(always)]
    fn run(self) -> (i64, i64) {
        self.0.iter().fold((i64::MAX, i64::MIN), |(least, most), &value| {
            (least.min(value), most.max(value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_numbered_in_order() {
        let (distinct, numbers, counts) = number_labels(&[5, -1, 5, 7]).unwrap();
        assert_eq!(
            (distinct, numbers, counts),
            (vec![-1, 5, 7], vec![1, 0, 1, 2], vec![1, 2, 1])
        );
        assert_eq!(number_labels(&[0, 1, 0]).unwrap().1, [0, 1, 0]);
        assert!(number_labels(&[0, i64::MAX]).is_none());
        assert!(number_labels(&[i64::MIN, i64::MAX]).is_none());
        assert!(number_labels(&[]).is_none());
    }
}
