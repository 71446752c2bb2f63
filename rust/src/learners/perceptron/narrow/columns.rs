//! Columns numbered anew, the frequent ones first.

use super::{RARE, Rare};
use crate::learners::margin::rows::by_count;
use crate::tables::vectors::{Vector, Vectors};

/// The size of the sample from which frequent columns are found, in numbers.
const COUNTED: usize = 1 << 21;

/// How many of the sampled rows have each column, plus one.
pub struct Sample {
    counts: Vec<u32>,
    step: usize,
}

impl Sample {
    pub fn new(table: &Vectors<'_>) -> Self {
        Sample {
            counts: vec![1; table.width()],
            step: table.values().len() / COUNTED + 1,
        }
    }

    /// Count a row, if it is in the sample; to be called while it is in the cache.
    #[inline(always)]
    pub fn see(&mut self, row: usize, vector: Vector<'_>) {
        if let Vector::Sparse(columns, _) = vector
            && row.is_multiple_of(self.step)
        {
            columns.iter().for_each(|&column| self.counts[column as usize] += 1);
        }
    }
}

/// The new number of each column, and the given number of each that has one.
pub(super) struct Numbers {
    pub(super) common: Vec<Known>,
    /// For rare columns: 0, `ONCE` or `AGAIN` while they are counted, then their numbers.
    rare: Vec<u32>,
    pub(super) names: Vec<u32>,
    /// The first number of the columns that occur once, and their names; they come after the others.
    pub(super) first_single: usize,
    pub(super) single_names: Vec<u32>,
    pub(super) stamp: u16,
}

const ONCE: u32 = 1;
const AGAIN: u32 = 2;

/// The number of a column, if it is not rare, and the stamp of the last row that held it.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) number: u16,
    pub(super) stamp: u16,
}

impl Numbers {
    /// Number the columns that are frequent in some of the rows.
    pub(super) fn new(Sample { mut counts, .. }: Sample) -> Self {
        let mut names = by_count(&counts);
        names.truncate(RARE as usize);
        let unknown = Known { number: RARE, stamp: 0 };
        let mut common = vec![unknown; counts.len()];
        for (&name, number) in names.iter().zip(0..) {
            common[name as usize].number = number;
        }
        counts.fill(0);
        Numbers {
            common,
            rare: counts,
            first_single: names.len(),
            names,
            single_names: Vec::new(),
            stamp: 0,
        }
    }

    /// The stamp of the next row; stamps start again after 65,535 rows.
    #[inline(always)]
    pub(super) fn next_stamp(&mut self) -> u16 {
        if self.stamp == u16::MAX {
            self.stamp = 0;
            self.common.iter_mut().for_each(|known| known.stamp = 0);
        }
        self.stamp += 1;
        self.stamp
    }

    pub(super) fn count_rares(&mut self, found: &[Rare]) {
        for rare in found {
            let count = &mut self.rare[rare.column as usize];
            self.first_single += usize::from(*count == ONCE);
            *count = if *count == 0 { ONCE } else { AGAIN };
        }
    }

    /// The number of a rare column, in the order of first use: columns of the same rows get neighbouring numbers.
    pub(super) fn rare(&mut self, name: u32) -> u32 {
        let known = &mut self.rare[name as usize];
        match *known {
            ONCE => {
                self.single_names.push(name);
                (self.first_single + self.single_names.len() - 1) as u32
            }
            AGAIN => {
                *known = self.names.len() as u32;
                self.names.push(name);
                *known
            }
            number => number,
        }
    }
}
