//! Vocabularies merged into one.

use crate::system::cancel::checkpoint;

/// Merge sorted lists of terms; return the merged list and the new number of each old term.
pub fn merge_terms(lists: &[Vec<&[u8]>]) -> (Vec<u8>, Vec<i64>, Vec<Vec<i64>>) {
    let mut all: Vec<(&[u8], usize, usize)> = Vec::new();
    for (list, terms) in lists.iter().enumerate() {
        all.extend(terms.iter().enumerate().map(|(place, &term)| (term, list, place)));
    }
    // A merge sort, which keeps sorted runs.
    all.sort_by(|left, right| {
        checkpoint();
        left.cmp(right)
    });
    let (mut bytes, mut offsets) = (Vec::new(), vec![0i64]);
    let mut numbers: Vec<Vec<i64>> = lists.iter().map(|terms| vec![0; terms.len()]).collect();
    let mut previous: Option<&[u8]> = None;
    for (term, list, place) in all {
        checkpoint();
        if previous != Some(term) {
            bytes.extend_from_slice(term);
            offsets.push(bytes.len() as i64);
            previous = Some(term);
        }
        numbers[list][place] = offsets.len() as i64 - 2;
    }
    (bytes, offsets, numbers)
}
