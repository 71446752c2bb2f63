//! Validation by subtraction: the scores of rows under the naive Bayes model that never saw them.
//!
//! A fold's model is the total minus the fold. Only what the fold's rows hold changes, so that leaving out every row
//! in turn costs about as much as scoring all rows once. With c the count of a term in a class, T its count in all
//! classes, both without the fold, every smoothing has the form
//!
//! ```text
//! log P(t|k) = base(T) + log(1 + a_k c / b(T)) + level_k
//! ```
//!
//! Laplace: a = 1/α, b = 1; Jelinek–Mercer: a_k = λN / ((1−λ)N_k), b = T; Dirichlet: a = N/μ, b = T. What has a
//! count of zero adds nothing, so only the classes that hold a term cost time.

use std::ops::Range;

use crate::counting::matrix::Matrix;
use crate::system::cancel::beat;
use crate::system::memory::{fetch, prefetch, roomy};
use crate::system::vector::vectorised;

/// Terms are fetched so many ahead.
const LOOK_AHEAD: usize = 24;
/// Rows are fetched so many ahead.
const ROWS_AHEAD: usize = 4;
/// So many sums are near at hand anyway: in the second-level cache.
const MOST_NEAR: usize = 1 << 16;

/// Rows of counts, whose indices are sound and whose sum fits into 32 bits: so does every sum of some.
pub struct Rows(Matrix<u32>);

impl Rows {
    /// Takes rows as they were counted; none if there are too many counts.
    pub fn counted(rows: Matrix<u32>) -> Option<Self> {
        let total: u64 = rows.counts.iter().map(|&count| u64::from(count)).sum();
        u32::try_from(total).is_ok().then_some(Rows(rows))
    }

    /// Checks and takes a matrix; none if the arrays do not fit together.
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

    /// Where the counts of a row stand.
    fn span(&self, row: usize) -> Range<usize> {
        self.0.starts[row] as usize..self.0.starts[row + 1] as usize
    }
}

/// Counts by term and class: those of term t stand at `starts[t]..starts[t + 1]`, classes rising.
#[derive(Default)]
pub struct Entries {
    pub starts: Vec<usize>,
    pub classes: Vec<u32>,
    pub occurrences: Vec<u32>,
    pub documents: Vec<u32>,
    /// The entry that each count of the rows is part of.
    pub places: Vec<u32>,
}

impl Entries {
    /// Sums rows by class in time linear in their non-zeros; `order` has the rows of a class together, classes rising.
    pub fn of(rows: &Rows, classes: &[u32], size: usize, order: &[usize]) -> Self {
        let (starts, mut places) = ranks(rows, classes, size, order);
        let mut entries = Entries {
            classes: vec![0; starts[size]],
            occurrences: vec![0; starts[size]],
            documents: vec![0; starts[size]],
            ..Entries::default()
        };
        for (row, &class) in classes.iter().enumerate() {
            beat();
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

    fn range(&self, term: usize) -> Range<usize> {
        self.starts[term]..self.starts[term + 1]
    }
}

/// Where the entries of each term start, and which entry of its term each count of the rows is part of.
fn ranks(rows: &Rows, classes: &[u32], size: usize, order: &[usize]) -> (Vec<usize>, Vec<u32>) {
    // Of each term the classes so far, and the last of them, from 1.
    let mut found = vec![(0u32, 0u32); size];
    let mut ranks = roomy(rows.0.terms.len());
    ranks.resize(rows.0.terms.len(), 0);
    for &row in order {
        beat();
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

/// How counts become probabilities.
#[derive(Clone, Copy)]
pub enum Smoothing {
    Laplace(f64),
    JelinekMercer(f64),
    Dirichlet(f64),
}

/// A validation: rows, their classes and sums, and what of them is used.
pub struct Validation<'a> {
    pub rows: &'a Rows,
    pub classes: &'a [u32],
    pub width: usize,
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

/// The sums of all rows, and what a thread has subtracted from them for the fold at hand.
pub struct Scratch {
    term_values: Vec<u32>,
    term_documents: Vec<u32>,
    class_values: Vec<f64>,
    size: usize,
    /// What the rows of the fold have of each entry.
    removed: Vec<u32>,
    /// The number of each term in the fold; `ABSENT` if the fold has not got it, `ONCE` if only one row of all has it,
    /// `UNUSED` if no fold uses it.
    numbers: Vec<u32>,
    fold: Fold,
    table: Table,
}

const ABSENT: u32 = u32::MAX;
const ONCE: u32 = u32::MAX - 1;
const UNUSED: u32 = 0;

/// The terms of a fold, numbered as they come, so that those of many rows stand together; the first is in place of all
/// that are not used.
#[derive(Default)]
struct Fold {
    terms: Vec<Taken>,
    /// The number of the term of each count, row by row.
    counted: Vec<u32>,
    /// Terms that no other fold has.
    own: usize,
}

/// What a fold has of a term.
#[derive(Clone, Copy, Default)]
struct Taken {
    term: u32,
    /// How many of its rows have it; 0 if it is not used, because too few others have it.
    documents: u32,
    values: u32,
}

impl Fold {
    /// Makes room for the terms of so many counts; gives the number of the first.
    fn clear(&mut self, counts: usize) -> usize {
        self.terms.resize(counts + 2, Taken::default());
        self.counted.resize(counts, UNUSED);
        self.own = 0;
        1
    }

    /// The term that comes some places behind.
    fn ahead(&self, number: usize, places: usize) -> Option<usize> {
        self.terms.get(number + places).map(|taken| taken.term as usize)
    }
}

/// What the terms of a fold of several rows say, computed once for all of them.
#[derive(Default)]
struct Table {
    said: Vec<Said>,
    /// Class and ln(1 + a c / b), where few classes have a term.
    sparse: Vec<(u32, f64)>,
    /// The same for all classes, one term after the other, where many have it.
    dense: Vec<f64>,
}

/// Where the table has a term: how many classes, from where; no class if the term is not used. And ln b.
#[derive(Clone, Copy, Default)]
struct Said {
    classes: u32,
    start: u32,
    base: f64,
}

/// The model of a fold: what each class adds.
struct Left {
    /// Whether any term is left.
    has_terms: bool,
    level: Vec<f64>,
    factor: Vec<f64>,
}

impl Left {
    /// Adds what all terms of a row have in common.
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
        let mut class_values = vec![0.0; self.width];
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

    /// Scores the rows of one fold under the model of all others; gives how many of its terms each row knows.
    pub fn score_fold(&self, scratch: &mut Scratch, fold: &[usize], scores: &mut [f64], lengths: &mut [f64]) {
        let mut classes = scratch.class_values.clone();
        self.subtract(scratch, fold, &mut classes);
        let size = scratch.size - self.drop_rare(scratch, &mut classes);
        let left = self.left(&classes, size as f64);
        match fold {
            [row] => {
                lengths[0] = self.score_row(scratch, &left, *row, scores);
                self.restore(scratch, *row);
            }
            _ => {
                self.tabulate(scratch, &left);
                vectorised(
                    #[inline(always)]
                    || self.look_up(scratch, &left, fold, scores, lengths),
                );
            }
        }
    }

    /// Subtracts the counts of a fold, and numbers its terms.
    fn subtract(&self, scratch: &mut Scratch, rows: &[usize], classes: &mut [f64]) {
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
        scratch.fold.terms[UNUSED as usize] = Taken::default();
    }

    /// Fetches the counts of a row that comes soon, and what those of the next are subtracted from: the rows of a fold lie
    /// anywhere.
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

    /// Subtracts the counts of a row, and writes the numbers of its terms to `target`; gives the sum of those in use.
    ///
    /// Whether a term is new cannot be foreseen: nothing branches on it. What is written for a term that no fold uses is
    /// never read.
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
            taken[next] = Taken {
                term: term as u32,
                ..Taken::default()
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

    /// Leaves out the terms that too few rows outside the fold have; gives how many.
    fn drop_rare(&self, scratch: &mut Scratch, classes: &mut [f64]) -> usize {
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

    fn left(&self, classes: &[f64], size: f64) -> Left {
        let total: f64 = classes.iter().sum();
        let level = |&in_class: &f64| match self.smoothing {
            Smoothing::Laplace(alpha) => alpha.ln() - (in_class + alpha * size).ln(),
            Smoothing::JelinekMercer(weight) => {
                // A class without words is as the corpus.
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
        Left {
            level: classes.iter().map(level).collect(),
            factor: classes.iter().map(factor).collect(),
            has_terms: total > 0.0,
        }
    }

    /// ln(1 + a c / b) of a class that has a term so often without the fold.
    #[inline(always)]
    fn excess(&self, left: &Left, class: u32, rest: u32, divisor: f64) -> f64 {
        match self.logs.get(rest as usize) {
            Some(&log) => log,
            None if rest == 0 => 0.0,
            None => (1.0 + f64::from(rest) * left.factor[class as usize] / divisor).ln(),
        }
    }

    /// The excess of each class that has a term; `removed` is what the fold has of the term's entries.
    #[inline(always)]
    fn excesses(
        &self,
        left: &Left,
        entries: Range<usize>,
        removed: &[u32],
        divisor: f64,
    ) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let rests = self.values()[entries.clone()].iter().zip(removed);
        let classes = self.entries.classes[entries].iter();
        classes
            .zip(rests)
            .map(move |(&class, (all, removed))| (class, self.excess(left, class, all - removed, divisor)))
    }

    /// b of a term of the fold without the fold.
    fn divisor(&self, scratch: &Scratch, taken: Taken) -> f64 {
        match self.smoothing {
            Smoothing::Laplace(_) => 1.0,
            _ => f64::from(scratch.term_values[taken.term as usize] - taken.values),
        }
    }

    #[inline(always)]
    fn value(&self, count: u32) -> f64 {
        if self.presence { 1.0 } else { f64::from(count) }
    }

    fn score_row(&self, scratch: &Scratch, left: &Left, row: usize, scores: &mut [f64]) -> f64 {
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
            for (class, excess) in self.excesses(left, range.clone(), &scratch.removed[range], divisor) {
                scores[class as usize] += value * excess;
            }
        }
        left.finish(scores, base, length);
        length
    }

    /// Computes once what the terms of a fold say, and forgets what was subtracted.
    fn tabulate(&self, scratch: &mut Scratch, left: &Left) {
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
                table.said.push(Said::default());
            } else {
                let base = if laplace { 0.0 } else { divisor.ln() };
                table.push(base, self.excesses(left, range, removed, divisor), self.width);
            }
            removed.fill(0);
            scratch.numbers[taken.term as usize] = ABSENT;
        }
        scratch.table = table;
    }

    /// Fetches the entries of the terms that follow a term of the fold.
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

    /// Does as `score_row` for all rows of a fold by what the table holds.
    #[inline(always)]
    fn look_up(&self, scratch: &Scratch, left: &Left, rows: &[usize], scores: &mut [f64], lengths: &mut [f64]) {
        let (table, mut counted) = (&scratch.table, scratch.fold.counted.as_slice());
        scores.fill(0.0);
        let scored = scores.chunks_exact_mut(self.width).zip(lengths);
        for (number, (&row, (scores, length))) in rows.iter().zip(scored).enumerate() {
            if let Some(&soon) = rows.get(number + ROWS_AHEAD) {
                fetch(&self.rows.0.counts[self.rows.span(soon)]);
            }
            let counts = &self.rows.0.counts[self.rows.span(row)];
            let (own, rest) = counted.split_at(counts.len());
            let ahead = counted.iter().skip(LOOK_AHEAD).take(counts.len());
            ahead.for_each(|&number| prefetch(&table.said, number as usize));
            let mut base = 0.0;
            for (&number, &count) in own.iter().zip(counts) {
                let said = table.said[number as usize];
                if said.classes > 0 {
                    let value = self.value(count);
                    *length += value;
                    base += value * said.base;
                    table.add(said, value, scores);
                }
            }
            counted = rest;
            left.finish(scores, base, *length);
        }
    }

    /// Forgets what was subtracted for a row.
    fn restore(&self, scratch: &mut Scratch, row: usize) {
        for place in self.rows.span(row) {
            scratch.removed[self.entries.places[place] as usize] = 0;
        }
        for taken in &scratch.fold.terms[1..] {
            scratch.numbers[taken.term as usize] = ABSENT;
        }
    }
}

impl Table {
    fn clear(&mut self) {
        self.said.clear();
        self.said.push(Said::default());
        self.sparse.clear();
        self.dense.clear();
    }

    /// Takes what the next term says of the classes that have it.
    fn push(&mut self, base: f64, excesses: impl ExactSizeIterator<Item = (u32, f64)>, width: usize) {
        let (classes, start) = if 2 * excesses.len() < width {
            let start = self.sparse.len();
            self.sparse.extend(excesses);
            (self.sparse.len() - start, start)
        } else {
            let start = self.dense.len();
            self.dense.resize(start + width, 0.0);
            excesses.for_each(|(class, excess)| self.dense[start + class as usize] = excess);
            (width, start / width)
        };
        self.said.push(Said {
            classes: classes as u32,
            start: start as u32,
            base,
        });
    }

    /// Adds what a term says, times its count.
    #[inline(always)]
    fn add(&self, said: Said, value: f64, scores: &mut [f64]) {
        let (classes, start) = (said.classes as usize, said.start as usize);
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
