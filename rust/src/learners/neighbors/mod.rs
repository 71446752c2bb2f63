//! Nearest neighbors, exactly: by cosine through an inverted index, by Euclidean distance through a tree or blocks of
//! products, by differing bits.
//!
//! Candidates are found with 32-bit numbers and bounds on their rounding; the distances of the few that remain are
//! computed again with 64-bit numbers, term by term in ascending order, and ranked by (distance, row). So the result
//! is identical to comparing with every row, ties included, whichever path was taken.

mod bits;
mod dense;
mod inverted;
mod sparse;
mod tree;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

pub use bits::nearest_bits;
pub use dense::{Measure, Screen};
pub use inverted::{Inverted, Scratch};
pub use sparse::Sparse;
pub use tree::{Index, tree};

/// The unit of rounding of 32-bit numbers, 2⁻²⁴.
pub const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// A row and its distance; ordered by distance, then by row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    pub distance: f64,
    pub row: usize,
}

impl Eq for Found {}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.row.cmp(&other.row))
    }
}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The nearest few of many, offered one by one.
pub struct Nearest {
    count: usize,
    heap: BinaryHeap<Found>,
}

impl Nearest {
    pub fn new(count: usize) -> Self {
        Nearest {
            count,
            heap: BinaryHeap::new(),
        }
    }

    /// The distance beyond which no row is wanted.
    pub fn limit(&self) -> f64 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.count => worst.distance,
            _ => f64::INFINITY,
        }
    }

    /// The last of the rows found, if there are as many as are wanted.
    pub fn last(&self) -> Option<&Found> {
        self.heap.peek().filter(|_| self.heap.len() >= self.count)
    }

    pub fn offer(&mut self, found: Found) {
        if self.heap.len() < self.count {
            self.heap.push(found);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && found < *worst
        {
            *worst = found;
        }
    }

    pub fn sorted(self) -> Vec<Found> {
        self.heap.into_sorted_vec()
    }
}
