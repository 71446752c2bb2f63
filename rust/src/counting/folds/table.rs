//! What the terms of a fold of several rows add to the scores, computed once for all its rows.

use super::{ABSENT, FoldModel, LOOK_AHEAD, Scratch, Smoothing, Validation};
use crate::system::memory::prefetch;

/// The contributions of the terms of a fold of several rows.
#[derive(Default)]
pub(super) struct Table {
    pub(super) terms: Vec<TermEntry>,
    /// Class and ln(1 + a c / b), where few classes have a term.
    sparse: Vec<(u32, f64)>,
    /// The same for all classes, one term after the other, where many have it.
    dense: Vec<f64>,
}

/// Where the table has a term: how many classes (0 if the term is not used) and the first place; and ln b.
#[derive(Clone, Copy, Default)]
pub(super) struct TermEntry {
    pub(super) classes: u32,
    pub(super) start: u32,
    pub(super) base: f64,
}

impl Validation<'_> {
    /// Compute the contributions of the terms of a fold, and undo the subtraction.
    pub(super) fn tabulate(&self, scratch: &mut Scratch, model: &FoldModel) {
        let mut table = std::mem::take(&mut scratch.table);
        let laplace = matches!(self.smoothing, Smoothing::Laplace(_));
        table.clear();
        for number in 1..scratch.fold.terms.len() {
            self.fetch_entries(scratch, number);
            let taken = scratch.fold.terms[number];
            let divisor = self.divisor(scratch, taken);
            let range = self.entries.range(taken.term as usize);
            let removed = &mut scratch.removed[range.clone()];
            if taken.documents == 0 {
                table.terms.push(TermEntry::default());
            } else {
                let base = if laplace { 0.0 } else { divisor.ln() };
                table.push(base, self.excesses(model, range, removed, divisor), self.n_classes);
            }
            removed.fill(0);
            scratch.numbers[taken.term as usize] = ABSENT;
        }
        scratch.table = table;
    }

    /// Fetch the entries of the terms that follow a term of the fold.
    fn fetch_entries(&self, scratch: &Scratch, number: usize) {
        if let Some(ahead) = scratch.fold.ahead(number, LOOK_AHEAD) {
            prefetch(&self.entries.starts, ahead);
        }
        if let Some(ahead) = scratch.fold.ahead(number, LOOK_AHEAD / 2) {
            let start = self.entries.starts[ahead];
            prefetch(self.values(), start);
            prefetch(&self.entries.classes, start);
            prefetch(&scratch.removed, start);
        }
    }
}

impl Table {
    fn clear(&mut self) {
        self.terms.clear();
        self.terms.push(TermEntry::default());
        self.sparse.clear();
        self.dense.clear();
    }

    /// Append the contributions of the next term to the classes that have it.
    fn push(&mut self, base: f64, excesses: impl ExactSizeIterator<Item = (u32, f64)>, n_classes: usize) {
        let (classes, start) = if 2 * excesses.len() < n_classes {
            let start = self.sparse.len();
            self.sparse.extend(excesses);
            (self.sparse.len() - start, start)
        } else {
            let start = self.dense.len();
            self.dense.resize(start + n_classes, 0.0);
            excesses.for_each(|(class, excess)| self.dense[start + class as usize] = excess);
            (n_classes, start / n_classes)
        };
        self.terms.push(TermEntry {
            classes: classes as u32,
            start: start as u32,
            base,
        });
    }

    /// Add the contributions of a term, times its count.
    #[inline(always)]
    pub(super) fn add(&self, entry: TermEntry, value: f64, scores: &mut [f64]) {
        let (classes, start) = (entry.classes as usize, entry.start as usize);
        if classes == scores.len() {
            let excesses = &self.dense[start * classes..][..classes];
            if let ([first, second], [one, other]) = (&mut *scores, excesses) {
                *first += value * one;
                *second += value * other;
                return;
            }
            for (score, excess) in scores.iter_mut().zip(excesses) {
                *score += value * excess;
            }
        } else {
            for &(class, excess) in &self.sparse[start..start + classes] {
                scores[class as usize] += value * excess;
            }
        }
    }
}
