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

use crate::patience::beat;

/// Rows of counts, as a compressed sparse matrix whose indices were checked.
pub struct Rows {
    pub starts: Vec<usize>,
    pub terms: Vec<u32>,
    pub counts: Vec<u32>,
}

impl Rows {
    /// Checks and takes a matrix; none if the arrays do not fit together.
    pub fn new(starts: &[i64], terms: &[i32], counts: &[i64], size: usize) -> Option<Self> {
        // No sum of counts overflows if the sum of all does not.
        let least = counts.iter().fold(i64::MAX, |least, &count| least.min(count));
        let total = counts.iter().fold(0i64, |total, &count| total.saturating_add(count));
        let sound = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last() == Some(&(terms.len() as i64))
            && counts.len() == terms.len()
            && least > 0
            && total <= i64::from(u32::MAX)
            && terms.iter().all(|&term| term >= 0 && (term as usize) < size);
        sound.then(|| Rows {
            starts: starts.iter().map(|&start| start as usize).collect(),
            terms: terms.iter().map(|&term| term as u32).collect(),
            counts: counts.iter().map(|&count| count as u32).collect(),
        })
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let range = self.starts[row]..self.starts[row + 1];
        let terms = self.terms[range.clone()].iter().map(|&term| term as usize);
        terms.zip(self.counts[range].iter().copied())
    }
}

/// Counts by term and class: those of term t stand at `starts[t]..starts[t + 1]`, classes rising.
#[derive(Default)]
pub struct Entries {
    pub starts: Vec<usize>,
    pub classes: Vec<u32>,
    pub occurrences: Vec<u32>,
    pub documents: Vec<u32>,
}

impl Entries {
    /// Sums rows by class in time linear in their non-zeros; `order` has the rows of a class together, classes rising.
    pub fn of(rows: &Rows, classes: &[u32], width: usize, size: usize, order: &[usize]) -> Self {
        if size.saturating_mul(width) <= 2 * rows.terms.len() {
            return Self::of_table(rows, classes, width, size, order);
        }
        let mut places = vec![0usize; size + 1];
        rows.terms.iter().for_each(|&term| places[term as usize + 1] += 1);
        (0..size).for_each(|term| places[term + 1] += places[term]);
        let mut ends = places[..size].to_vec();
        let mut wide = vec![(0u32, 0u32, 0u32); rows.terms.len()];
        for &row in order {
            beat();
            for (term, count) in rows.row(row) {
                let end = ends[term];
                if end > places[term] && wide[end - 1].0 == classes[row] {
                    wide[end - 1].1 += count;
                    wide[end - 1].2 += 1;
                } else {
                    wide[end] = (classes[row], count, 1);
                    ends[term] += 1;
                }
            }
        }
        let mut entries = Entries::default();
        entries.starts.push(0);
        for term in 0..size {
            beat();
            wide[places[term]..ends[term]]
                .iter()
                .for_each(|&(class, own, documents)| entries.push(class, own, documents));
            entries.starts.push(entries.classes.len());
        }
        entries
    }

    /// Does the same by way of a table of all classes and terms, where it is no larger than the rows.
    fn of_table(rows: &Rows, classes: &[u32], width: usize, size: usize, order: &[usize]) -> Self {
        let mut table = vec![(0u32, 0u32); width * size];
        for &row in order {
            beat();
            let own = &mut table[classes[row] as usize * size..][..size];
            for (term, count) in rows.row(row) {
                own[term].0 += count;
                own[term].1 += 1;
            }
        }
        let mut entries = Entries::default();
        entries.starts.push(0);
        for term in 0..size {
            for class in 0..width {
                let (occurrences, documents) = table[class * size + term];
                if documents > 0 {
                    entries.push(class as u32, occurrences, documents);
                }
            }
            entries.starts.push(entries.classes.len());
        }
        entries
    }

    fn push(&mut self, class: u32, occurrences: u32, documents: u32) {
        self.classes.push(class);
        self.occurrences.push(occurrences);
        self.documents.push(documents);
    }

    fn range(&self, term: usize) -> std::ops::Range<usize> {
        self.starts[term]..self.starts[term + 1]
    }
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
    removed: Vec<u32>,
    removed_values: Vec<u32>,
    removed_documents: Vec<u32>,
    touched: Vec<u32>,
    /// Where a term stands in the table of the fold; `SPARSE` if among the sparse, `DEAD` if it is not used.
    places: Vec<u32>,
    table: Table,
}

const SPARSE: u32 = u32::MAX;
const DEAD: u32 = u32::MAX - 1;

/// What the terms of a fold of several rows say, computed once for all of them.
#[derive(Default)]
struct Table {
    /// ln(1 + a c / b) of each entry of a term that few classes have.
    sparse: Vec<f64>,
    /// The same for all classes, one term after the other, for terms that many classes have.
    dense: Vec<f64>,
    /// ln b of each term.
    bases: Vec<f64>,
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
        let place = |&count: &u32| if count < self.least.max(1) { DEAD } else { SPARSE };
        let places: Vec<u32> = term_documents.iter().map(place).collect();
        let mut class_values = vec![0.0; self.width];
        for term in (0..size).filter(|&term| places[term] != DEAD) {
            for entry in self.entries.range(term) {
                class_values[self.entries.classes[entry] as usize] += f64::from(self.values()[entry]);
            }
        }
        Scratch {
            term_values: (0..size).map(|term| sum(self.values(), term)).collect(),
            size: places.iter().filter(|&&place| place != DEAD).count(),
            removed: vec![0; self.entries.classes.len()],
            removed_values: vec![0; size],
            removed_documents: vec![0; size],
            touched: Vec::new(),
            table: Table::default(),
            term_documents,
            class_values,
            places,
        }
    }

    /// Scores the rows of one fold under the model of all others; gives how many of its terms each row knows.
    pub fn score_fold(&self, scratch: &mut Scratch, fold: &[usize], scores: &mut [f64], lengths: &mut [f64]) {
        let left = self.subtract(scratch, fold);
        if fold.len() > 1 {
            self.tabulate(scratch, &left);
        }
        let scored = scores.chunks_exact_mut(self.width).zip(lengths);
        for (&row, (scores, length)) in fold.iter().zip(scored) {
            *length = match fold {
                [_] => self.score_row(scratch, &left, row, scores),
                _ => self.look_up_row(scratch, &left, row, scores),
            };
        }
        self.restore(scratch);
    }

    fn subtract(&self, scratch: &mut Scratch, fold: &[usize]) -> Left {
        let mut classes = scratch.class_values.clone();
        let laplace = matches!(self.smoothing, Smoothing::Laplace(_));
        for &row in fold {
            let class = self.classes[row];
            let mut sum = 0u64;
            for (term, count) in self.rows.row(row) {
                if scratch.places[term] == DEAD {
                    continue;
                }
                let value = if self.presence { 1 } else { count };
                let range = self.entries.range(term);
                let place = if range.len() == self.width {
                    class as usize
                } else {
                    self.entries.classes[range.clone()].partition_point(|&other| other < class)
                };
                scratch.removed[range.start + place] += value;
                if scratch.removed_documents[term] == 0 {
                    scratch.touched.push(term as u32);
                }
                scratch.removed_documents[term] += 1;
                if !laplace {
                    scratch.removed_values[term] += value;
                }
                sum += u64::from(value);
            }
            classes[class as usize] -= sum as f64;
        }
        let mut size = scratch.size;
        for &term in &scratch.touched {
            let term = term as usize;
            if scratch.term_documents[term] - scratch.removed_documents[term] < self.least.max(1) {
                scratch.places[term] = DEAD;
                size -= 1;
                for entry in self.entries.range(term) {
                    let rest = self.values()[entry] - scratch.removed[entry];
                    classes[self.entries.classes[entry] as usize] -= f64::from(rest);
                }
            }
        }
        self.left(&classes, size as f64)
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

    /// ln(1 + a c / b) of an entry without the fold.
    fn excess(&self, scratch: &Scratch, left: &Left, entry: usize, divisor: f64) -> f64 {
        let rest = self.values()[entry] - scratch.removed[entry];
        if rest == 0 {
            return 0.0;
        }
        match self.logs.get(rest as usize) {
            Some(&log) => log,
            None => (1.0 + f64::from(rest) * left.factor[self.entries.classes[entry] as usize] / divisor).ln(),
        }
    }

    /// b of a term without the fold.
    fn divisor(&self, scratch: &Scratch, term: usize) -> f64 {
        match self.smoothing {
            Smoothing::Laplace(_) => 1.0,
            _ => f64::from(scratch.term_values[term] - scratch.removed_values[term]),
        }
    }

    fn value(&self, count: u32) -> f64 {
        if self.presence { 1.0 } else { f64::from(count) }
    }

    fn score_row(&self, scratch: &Scratch, left: &Left, row: usize, scores: &mut [f64]) -> f64 {
        scores.fill(0.0);
        let (mut length, mut base) = (0.0, 0.0);
        for (term, count) in self.rows.row(row).filter(|&(term, _)| scratch.places[term] != DEAD) {
            let (value, divisor) = (self.value(count), self.divisor(scratch, term));
            length += value;
            base += value * divisor.ln();
            for entry in self.entries.range(term) {
                let excess = self.excess(scratch, left, entry, divisor);
                scores[self.entries.classes[entry] as usize] += value * excess;
            }
        }
        left.finish(scores, base, length);
        length
    }

    /// Computes once what the terms of a fold say.
    fn tabulate(&self, scratch: &mut Scratch, left: &Left) {
        let mut table = std::mem::take(&mut scratch.table);
        let laplace = matches!(self.smoothing, Smoothing::Laplace(_));
        table.sparse.resize(self.entries.classes.len(), 0.0);
        table.bases.resize(self.entries.starts.len(), 0.0);
        table.dense.clear();
        for term in scratch.touched.iter().map(|&term| term as usize) {
            if scratch.places[term] == DEAD {
                continue;
            }
            let (divisor, range) = (self.divisor(scratch, term), self.entries.range(term));
            if !laplace {
                table.bases[term] = divisor.ln();
            }
            if 2 * range.len() < self.width {
                for entry in range {
                    table.sparse[entry] = self.excess(scratch, left, entry, divisor);
                }
            } else {
                let start = table.dense.len();
                scratch.places[term] = (start / self.width) as u32;
                table.dense.resize(start + self.width, 0.0);
                for entry in range {
                    let class = self.entries.classes[entry] as usize;
                    table.dense[start + class] = self.excess(scratch, left, entry, divisor);
                }
            }
        }
        scratch.table = table;
    }

    /// Does as `score_row` by what the table of the fold holds.
    fn look_up_row(&self, scratch: &Scratch, left: &Left, row: usize, scores: &mut [f64]) -> f64 {
        scores.fill(0.0);
        let table = &scratch.table;
        let laplace = matches!(self.smoothing, Smoothing::Laplace(_));
        let (mut length, mut base) = (0.0, 0.0);
        for (term, count) in self.rows.row(row) {
            let place = scratch.places[term];
            if place == DEAD {
                continue;
            }
            let value = self.value(count);
            length += value;
            if !laplace {
                base += value * table.bases[term];
            }
            if place == SPARSE {
                for entry in self.entries.range(term) {
                    scores[self.entries.classes[entry] as usize] += value * table.sparse[entry];
                }
            } else {
                let start = place as usize * self.width;
                let excesses = &table.dense[start..start + self.width];
                for (score, excess) in scores.iter_mut().zip(excesses) {
                    *score += value * excess;
                }
            }
        }
        left.finish(scores, base, length);
        length
    }

    fn restore(&self, scratch: &mut Scratch) {
        for &term in &scratch.touched {
            let term = term as usize;
            scratch.removed[self.entries.range(term)].fill(0);
            scratch.removed_values[term] = 0;
            scratch.removed_documents[term] = 0;
            scratch.places[term] = SPARSE; // what was dead before is never touched
        }
        scratch.touched.clear();
    }
}
