//! The counts of a fold, subtracted from those of all rows and restored.

use std::ops::Range;

use super::{ABSENT, LOOK_AHEAD, ONCE, ROWS_AHEAD, Scratch, UNUSED, Validation};
use crate::counting::matrix::Matrix;
use crate::system::memory::{fetch, prefetch};

/// The most sums that stay in the second-level cache and need no prefetching.
const MOST_NEAR: usize = 1 << 16;

/// The terms of a fold, numbered as they come, so that the terms of many rows are close together in memory. Number 0
/// stands for all terms that are not used.
#[derive(Default)]
pub(super) struct Fold {
    pub(super) terms: Vec<FoldTerm>,
    /// The number of the term of each count, row by row.
    pub(super) counted: Vec<u32>,
    /// Terms that no other fold has.
    pub(super) own: usize,
}

/// The counts of a term in a fold.
#[derive(Clone, Copy, Default)]
pub(super) struct FoldTerm {
    pub(super) term: u32,
    /// How many of its rows have it; 0 if it is not used, because too few others have it.
    pub(super) documents: u32,
    pub(super) values: u32,
}

impl Fold {
    /// Make room for the terms of `counts` counts; return the first free number.
    pub(super) fn clear(&mut self, counts: usize) -> usize {
        self.terms.resize(counts + 2, FoldTerm::default());
        self.counted.resize(counts, UNUSED);
        self.own = 0;
        1
    }

    /// The term `places` places after `number`.
    pub(super) fn ahead(&self, number: usize, places: usize) -> Option<usize> {
        self.terms.get(number + places).map(|taken| taken.term as usize)
    }
}

impl Validation<'_> {
    /// Subtract the counts of a fold, and number its terms.
    pub(super) fn subtract(&self, scratch: &mut Scratch, rows: &[usize], classes: &mut [f64]) {
        let counts = rows.iter().map(|&row| self.rows.span(row).len()).sum();
        let (mut filled, mut place) = (scratch.fold.clear(counts), 0);
        for (number, &row) in rows.iter().enumerate() {
            self.fetch_rows(scratch, &rows[number + 1..]);
            let span = self.rows.span(row);
            let end = place + span.len();
            let sum = self.subtract_row(scratch, span, place..end, &mut filled);
            classes[self.classes[row] as usize] -= sum as f64;
            place = end;
        }
        scratch.fold.terms.truncate(filled);
        scratch.fold.terms[UNUSED as usize] = FoldTerm::default();
    }

    /// Fetch the counts of a row that comes soon, and the sums of the next one: the rows of a fold are anywhere in
    /// memory.
    fn fetch_rows(&self, scratch: &Scratch, coming: &[usize]) {
        let (terms, places) = (&self.rows.0.terms, &self.entries.places);
        if let Some(&soon) = coming.get(ROWS_AHEAD) {
            let span = self.rows.span(soon);
            fetch(&terms[span.clone()]);
            fetch(&places[span.clone()]);
            fetch(&self.rows.0.counts[span]);
        }
        if let (true, Some(&next)) = (scratch.removed.len() > MOST_NEAR, coming.first()) {
            let span = self.rows.span(next);
            let terms = terms[span.clone()].iter();
            terms.for_each(|&term| prefetch(&scratch.numbers, term as usize));
            let places = places[span].iter();
            places.for_each(|&entry| prefetch(&scratch.removed, entry as usize));
        }
    }

    /// Subtract the counts of a row, and write the numbers of its terms to `target`; return the sum of the counts in
    /// use.
    ///
    /// Nothing branches on whether a term is new, because it is unpredictable. The result for a term that no fold uses
    /// is never read.
    fn subtract_row(&self, scratch: &mut Scratch, span: Range<usize>, target: Range<usize>, filled: &mut usize) -> u64 {
        let Matrix { terms, counts, .. } = self.rows.matrix();
        let places = &self.entries.places[span.clone()];
        let counts = terms[span.clone()].iter().zip(places).zip(&counts[span]);
        let (numbers, removed) = (&mut scratch.numbers[..], &mut scratch.removed[..]);
        let (taken, counted) = (&mut scratch.fold.terms[..], &mut scratch.fold.counted[target]);
        let (mut next, mut own, mut sum) = (*filled, 0, 0);
        for (((&term, &entry), &count), counted) in counts.zip(counted) {
            let value = if self.presence { 1 } else { count };
            let known = numbers[term as usize];
            let number = if known == ABSENT { next as u32 } else { known };
            numbers[term as usize] = number;
            taken[next] = FoldTerm {
                term: term as u32,
                ..FoldTerm::default()
            };
            next += usize::from(known == ABSENT);
            own += usize::from(known == ONCE);
            sum += u64::from(if known == UNUSED { 0 } else { value });
            removed[entry as usize] += value;
            *counted = if known == ONCE { UNUSED } else { number };
            let taken = &mut taken[*counted as usize];
            taken.documents += 1;
            taken.values += value;
        }
        scratch.fold.own += own;
        *filled = next;
        sum
    }

    /// Leave out the terms that too few rows outside the fold have; return how many.
    pub(super) fn drop_rare(&self, scratch: &mut Scratch, classes: &mut [f64]) -> usize {
        let fold = &mut scratch.fold;
        let mut dropped = fold.own;
        for number in 1..fold.terms.len() {
            if let Some(ahead) = fold.ahead(number, LOOK_AHEAD) {
                prefetch(&scratch.term_documents, ahead);
            }
            let taken = &mut fold.terms[number];
            if scratch.term_documents[taken.term as usize] - taken.documents < self.least.max(1) {
                taken.documents = 0;
                dropped += 1;
                for entry in self.entries.range(taken.term as usize) {
                    let rest = self.values()[entry] - scratch.removed[entry];
                    classes[self.entries.classes[entry] as usize] -= f64::from(rest);
                }
            }
        }
        dropped
    }

    /// Undo the subtraction of a row.
    pub(super) fn restore(&self, scratch: &mut Scratch, row: usize) {
        for place in self.rows.span(row) {
            scratch.removed[self.entries.places[place] as usize] = 0;
        }
        for taken in &scratch.fold.terms[1..] {
            scratch.numbers[taken.term as usize] = ABSENT;
        }
    }
}
