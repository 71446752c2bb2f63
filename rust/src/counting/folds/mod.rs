//! Validation by subtraction: the scores of rows under the naive Bayes model that never saw them.
//!
//! A fold's model is the total minus the fold. Only the terms of the fold's rows change, so that leaving out every row
//! in turn costs about as much as scoring all rows once. With c the count of a term in a class, T its count in all
//! classes, both without the fold, every smoothing has the form
//!
//! ```text
//! log P(t|k) = base(T) + log(1 + a_k c / b(T)) + level_k
//! ```
//!
//! Laplace: a = 1/α, b = 1; Jelinek–Mercer: a_k = λN / ((1−λ)N_k), b = T; Dirichlet: a = N/μ, b = T. A
//! count of zero adds nothing, so only the classes that hold a term cost time.

mod entries;
mod subtraction;
mod table;

use std::ops::Range;

use crate::system::memory::{fetch, prefetch};
use crate::system::vector::vectorized;
use subtraction::{Fold, FoldTerm};
use table::Table;

pub use entries::{Entries, Rows};

/// How many terms ahead to prefetch.
const LOOK_AHEAD: usize = 24;
/// How many rows ahead to prefetch.
const ROWS_AHEAD: usize = 4;

/// How counts become probabilities.
#[derive(Clone, Copy)]
pub enum Smoothing {
    Laplace(f64),
    JelinekMercer(f64),
    Dirichlet(f64),
}

/// A validation: rows, their classes and sums, and the settings of the model.
pub struct Validation<'a> {
    pub rows: &'a Rows,
    pub classes: &'a [u32],
    pub n_classes: usize,
    pub entries: &'a Entries,
    pub smoothing: Smoothing,
    /// Whether a term counts once a document.
    pub presence: bool,
    /// Terms in fewer documents are not used.
    pub least: u32,
    /// ln(1 + c/α) for small counts c.
    pub logs: Vec<f64>,
}

const LOGS: usize = 1 << 12;

/// ln(1 + c/α) for small c, which Laplace smoothing needs again and again.
pub fn log_table(smoothing: Smoothing) -> Vec<f64> {
    match smoothing {
        Smoothing::Laplace(alpha) => (0..LOGS).map(|count| (count as f64 / alpha).ln_1p()).collect(),
        _ => Vec::new(),
    }
}

/// The sums of all rows, and the counts of the current fold, which a thread has subtracted.
pub struct Scratch {
    term_values: Vec<u32>,
    term_documents: Vec<u32>,
    class_values: Vec<f64>,
    size: usize,
    /// The counts of the fold in each entry.
    removed: Vec<u32>,
    /// The number of each term in the fold; `ABSENT` if the fold does not have it, `ONCE` if only one row of all has
    /// it, `UNUSED` if no fold uses it.
    numbers: Vec<u32>,
    fold: Fold,
    table: Table,
}

const ABSENT: u32 = u32::MAX;
const ONCE: u32 = u32::MAX - 1;
const UNUSED: u32 = 0;

/// The model without a fold, by class.
struct FoldModel {
    /// Whether any term is left.
    has_terms: bool,
    level: Vec<f64>,
    factor: Vec<f64>,
}

impl FoldModel {
    /// Add the parts that do not depend on the terms of a row.
    #[inline(always)]
    fn finish(&self, scores: &mut [f64], base: f64, length: f64) {
        let known = self.has_terms && length > 0.0;
        for (score, level) in scores.iter_mut().zip(&self.level) {
            *score = if known { *score + base + length * level } else { 0.0 };
        }
    }
}

impl Validation<'_> {
    fn values(&self) -> &[u32] {
        if self.presence {
            &self.entries.documents
        } else {
            &self.entries.occurrences
        }
    }

    pub fn scratch(&self) -> Scratch {
        let size = self.entries.starts.len() - 1;
        let sum = |values: &[u32], term| values[self.entries.range(term)].iter().sum::<u32>();
        let term_documents: Vec<u32> = (0..size).map(|term| sum(&self.entries.documents, term)).collect();
        let number = |&count: &u32| match count {
            _ if count < self.least.max(1) => UNUSED,
            1 => ONCE,
            _ => ABSENT,
        };
        let numbers: Vec<u32> = term_documents.iter().map(number).collect();
        let mut class_values = vec![0.0; self.n_classes];
        for term in (0..size).filter(|&term| numbers[term] != UNUSED) {
            for entry in self.entries.range(term) {
                class_values[self.entries.classes[entry] as usize] += f64::from(self.values()[entry]);
            }
        }
        Scratch {
            term_values: (0..size).map(|term| sum(self.values(), term)).collect(),
            size: numbers.iter().filter(|&&number| number != UNUSED).count(),
            removed: vec![0; self.entries.classes.len()],
            fold: Fold::default(),
            table: Table::default(),
            term_documents,
            class_values,
            numbers,
        }
    }

    /// Score the rows of one fold under the model of all others; return how many of its terms each row knows.
    pub fn score_fold(&self, scratch: &mut Scratch, fold: &[usize], scores: &mut [f64], lengths: &mut [f64]) {
        let mut classes = scratch.class_values.clone();
        self.subtract(scratch, fold, &mut classes);
        let size = scratch.size - self.drop_rare(scratch, &mut classes);
        let model = self.fold_model(&classes, size as f64);
        match fold {
            [row] => {
                lengths[0] = self.score_row(scratch, &model, *row, scores);
                self.restore(scratch, *row);
            }
            _ => {
                self.tabulate(scratch, &model);
                vectorized(
                    #[inline(always)]
                    || self.look_up(scratch, &model, fold, scores, lengths),
                );
            }
        }
    }

    fn fold_model(&self, classes: &[f64], size: f64) -> FoldModel {
        let total: f64 = classes.iter().sum();
        let level = |&in_class: &f64| match self.smoothing {
            Smoothing::Laplace(alpha) => alpha.ln() - (in_class + alpha * size).ln(),
            Smoothing::JelinekMercer(weight) => {
                // A class without words is like the corpus.
                (if in_class > 0.0 { 1.0 - weight } else { 1.0 }).ln() - total.ln()
            }
            Smoothing::Dirichlet(mass) => (mass / total).ln() - (in_class + mass).ln(),
        };
        let factor = |&in_class: &f64| match self.smoothing {
            Smoothing::Laplace(alpha) => 1.0 / alpha,
            Smoothing::JelinekMercer(weight) if in_class > 0.0 => weight * total / ((1.0 - weight) * in_class),
            Smoothing::JelinekMercer(_) => 0.0,
            Smoothing::Dirichlet(mass) => total / mass,
        };
        FoldModel {
            level: classes.iter().map(level).collect(),
            factor: classes.iter().map(factor).collect(),
            has_terms: total > 0.0,
        }
    }

    /// ln(1 + a c / b) of a class that has a term `rest` times without the fold.
    #[inline(always)]
    fn excess(&self, model: &FoldModel, class: u32, rest: u32, divisor: f64) -> f64 {
        match self.logs.get(rest as usize) {
            Some(&log) => log,
            None if rest == 0 => 0.0,
            None => (1.0 + f64::from(rest) * model.factor[class as usize] / divisor).ln(),
        }
    }

    /// The excess of each class that has a term; `removed` are the counts of the fold in the term's entries.
    #[inline(always)]
    fn excesses(
        &self,
        model: &FoldModel,
        entries: Range<usize>,
        removed: &[u32],
        divisor: f64,
    ) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let rests = self.values()[entries.clone()].iter().zip(removed);
        let classes = self.entries.classes[entries].iter();
        classes
            .zip(rests)
            .map(move |(&class, (all, removed))| (class, self.excess(model, class, all - removed, divisor)))
    }

    /// b of a term of the fold without the fold.
    fn divisor(&self, scratch: &Scratch, taken: FoldTerm) -> f64 {
        match self.smoothing {
            Smoothing::Laplace(_) => 1.0,
            _ => f64::from(scratch.term_values[taken.term as usize] - taken.values),
        }
    }

    #[inline(always)]
    fn value(&self, count: u32) -> f64 {
        if self.presence { 1.0 } else { f64::from(count) }
    }

    fn score_row(&self, scratch: &Scratch, model: &FoldModel, row: usize, scores: &mut [f64]) -> f64 {
        scores.fill(0.0);
        let (mut length, mut base) = (0.0, 0.0);
        let fold = &scratch.fold;
        let counted = fold.counted.iter().map(|&number| fold.terms[number as usize]);
        let counts = &self.rows.0.counts[self.rows.span(row)];
        for (taken, &count) in counted.zip(counts).filter(|(taken, _)| taken.documents > 0) {
            let (value, divisor) = (self.value(count), self.divisor(scratch, taken));
            length += value;
            base += value * divisor.ln();
            let range = self.entries.range(taken.term as usize);
            for (class, excess) in self.excesses(model, range.clone(), &scratch.removed[range], divisor) {
                scores[class as usize] += value * excess;
            }
        }
        model.finish(scores, base, length);
        length
    }

    /// Score all rows of a fold as `score_row` does, from the table.
    #[inline(always)]
    fn look_up(&self, scratch: &Scratch, model: &FoldModel, rows: &[usize], scores: &mut [f64], lengths: &mut [f64]) {
        let (table, mut counted) = (&scratch.table, scratch.fold.counted.as_slice());
        scores.fill(0.0);
        let scored = scores.chunks_exact_mut(self.n_classes).zip(lengths);
        for (number, (&row, (scores, length))) in rows.iter().zip(scored).enumerate() {
            if let Some(&soon) = rows.get(number + ROWS_AHEAD) {
                fetch(&self.rows.0.counts[self.rows.span(soon)]);
            }
            let counts = &self.rows.0.counts[self.rows.span(row)];
            let (own, rest) = counted.split_at(counts.len());
            let ahead = counted.iter().skip(LOOK_AHEAD).take(counts.len());
            ahead.for_each(|&number| prefetch(&table.terms, number as usize));
            let mut base = 0.0;
            for (&number, &count) in own.iter().zip(counts) {
                let entry = table.terms[number as usize];
                if entry.classes > 0 {
                    let value = self.value(count);
                    *length += value;
                    base += value * entry.base;
                    table.add(entry, value, scores);
                }
            }
            counted = rest;
            model.finish(scores, base, *length);
        }
    }
}
