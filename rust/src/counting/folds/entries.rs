//! Rows of counts, and their sums by term and class.

use std::ops::Range;

use super::LOOK_AHEAD;
use crate::counting::matrix::Matrix;
use crate::system::cancel::checkpoint;
use crate::system::memory::{prefetch, roomy};

/// Rows of counts with checked indices. Their total fits into 32 bits, and so does every partial sum.
pub struct Rows(pub(super) Matrix<u32>);

impl Rows {
    /// Take rows as they were counted; `None` if the counts are too large.
    pub fn counted(rows: Matrix<u32>) -> Option<Self> {
        let total: u64 = rows.counts.iter().map(|&count| u64::from(count)).sum();
        u32::try_from(total).is_ok().then_some(Rows(rows))
    }

    /// Check and take a matrix; `None` if the arrays do not fit together.
    pub fn new(starts: &[i64], terms: &[i32], counts: &[i64], size: usize) -> Option<Self> {
        let sound = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last() == Some(&(terms.len() as i64))
            && counts.len() == terms.len()
            && counts.iter().all(|&count| count > 0 && u32::try_from(count).is_ok())
            && terms.iter().all(|&term| term >= 0 && (term as usize) < size);
        let mut narrow = roomy(counts.len());
        narrow.extend(counts.iter().map(|&count| count as u32));
        let matrix = Matrix {
            starts: starts.to_vec(),
            terms: terms.to_vec(),
            counts: narrow,
        };
        Self::counted(matrix).filter(|_| sound)
    }

    pub fn matrix(&self) -> &Matrix<u32> {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.starts.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places of the counts of a row.
    pub(super) fn span(&self, row: usize) -> Range<usize> {
        self.0.starts[row] as usize..self.0.starts[row + 1] as usize
    }
}

/// Counts by term and class: those of term t are at `starts[t]..starts[t + 1]`, classes rising.
#[derive(Default)]
pub struct Entries {
    pub starts: Vec<usize>,
    pub classes: Vec<u32>,
    pub occurrences: Vec<u32>,
    pub documents: Vec<u32>,
    /// The entry that each count of the rows belongs to.
    pub places: Vec<u32>,
}

impl Entries {
    /// Sum rows by class in time linear in their non-zeros; `order` has the rows of a class together, classes rising.
    pub fn of(rows: &Rows, classes: &[u32], size: usize, order: &[usize]) -> Self {
        let (starts, mut places) = ranks(rows, classes, size, order);
        let mut entries = Entries {
            classes: vec![0; starts[size]],
            occurrences: vec![0; starts[size]],
            documents: vec![0; starts[size]],
            ..Entries::default()
        };
        for (row, &class) in classes.iter().enumerate() {
            checkpoint();
            for place in rows.span(row) {
                if let Some(&ahead) = rows.0.terms.get(place + LOOK_AHEAD) {
                    prefetch(&starts, ahead as usize);
                }
                let entry = starts[rows.0.terms[place] as usize] + places[place] as usize;
                entries.classes[entry] = class;
                entries.occurrences[entry] += rows.0.counts[place];
                entries.documents[entry] += 1;
                places[place] = entry as u32;
            }
        }
        Entries {
            starts,
            places,
            ..entries
        }
    }

    pub(super) fn range(&self, term: usize) -> Range<usize> {
        self.starts[term]..self.starts[term + 1]
    }
}

/// Return where the entries of each term start, and which entry of its term each count of the rows belongs to.
fn ranks(rows: &Rows, classes: &[u32], size: usize, order: &[usize]) -> (Vec<usize>, Vec<u32>) {
    // For each term, the number of classes so far, and the last of them, counted from 1.
    let mut found = vec![(0u32, 0u32); size];
    let mut ranks = roomy(rows.0.terms.len());
    ranks.resize(rows.0.terms.len(), 0);
    for &row in order {
        checkpoint();
        let class = classes[row] + 1;
        for place in rows.span(row) {
            if let Some(&ahead) = rows.0.terms.get(place + LOOK_AHEAD) {
                prefetch(&found, ahead as usize);
            }
            let (number, last) = &mut found[rows.0.terms[place] as usize];
            *number += u32::from(*last != class);
            *last = class;
            ranks[place] = *number - 1;
        }
    }
    let mut starts = Vec::with_capacity(size + 1);
    starts.push(0);
    let mut end = 0;
    starts.extend(found.iter().map(|&(number, _)| {
        end += number as usize;
        end
    }));
    (starts, ranks)
}
