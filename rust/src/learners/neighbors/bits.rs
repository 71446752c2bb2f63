//! Nearest rows of packed bits by the share of bits that differ.

use super::{Found, Nearest};
use crate::system::vector::{code_path, differing_bits};

/// The nearest rows by the number of differing bits, as a share of `n_bits` bits; rows have as many words as `query`.
pub fn nearest_bits(rows: &[u64], query: &[u64], n_bits: usize, count: usize, without: Option<usize>) -> Vec<Found> {
    let mut nearest = Nearest::new(count);
    let (share, path) = (n_bits.max(1) as f64, code_path());
    for (row, words) in rows.chunks_exact(query.len().max(1)).enumerate() {
        let distance = f64::from(differing_bits(path, words, query)) / share;
        if distance < nearest.limit() && Some(row) != without {
            nearest.offer(Found { distance, row });
        }
    }
    nearest.sorted()
}
