//! Validation by subtraction: the scores of rows under the naive Bayes model that never saw them.
//!
//! A fold's model is the total minus the fold. Only what the fold's rows hold changes, so that leaving out every row
//! in turn costs about as much as scoring all rows once. With c the count of a term in a class, T its count in all
//! classes, both without the fold, every smoothing has the form
//!
//!     log P(t|k) = base(T) + log(1 + a_k c / b(T)) + level_k
//!
//! Laplace: a = 1/α, b = 1; Jelinek–Mercer: a_k = λN / ((1−λ)N_k), b = T; Dirichlet: a = N/μ, b = T. What has a
//! count of zero adds nothing, so only the classes that hold a term cost time.

/// Rows of counts, as a compressed sparse matrix whose indices were checked.
pub struct Rows {
    pub starts: Vec<usize>,
    pub terms: Vec<u32>,
    pub counts: Vec<u32>,
}

impl Rows {
    /// Checks and takes a matrix; none if the arrays do not fit together.
    pub fn new(starts: &[i64], terms: &[i32], counts: &[i64], size: usize) -> Option<Self> {
        let starts: Option<Vec<usize>> = starts.iter().map(|&start| usize::try_from(start).ok()).collect();
        let counts: Option<Vec<u32>> = counts.iter().map(|&count| u32::try_from(count).ok()).collect();
        let terms: Option<Vec<u32>> = terms.iter().map(|&term| u32::try_from(term).ok()).collect();
        let (starts, counts, terms) = (starts?, counts?, terms?);
        let sound = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last() == Some(&terms.len())
            && counts.len() == terms.len()
            && counts.iter().all(|&count| count > 0)
            && counts.iter().map(|&count| u64::from(count)).sum::<u64>() <= u64::from(u32::MAX)
            && terms.iter().all(|&term| (term as usize) < size);
        sound.then_some(Rows { starts, terms, counts })
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
    /// Sums rows by class in time linear in their non-zeros.
    pub fn of(rows: &Rows, classes: &[u32], size: usize, order: &[usize]) -> Self {
        let mut places = vec![0usize; size + 1];
        rows.terms.iter().for_each(|&term| places[term as usize + 1] += 1);
        (0..size).for_each(|term| places[term + 1] += places[term]);
        let mut ends = places[..size].to_vec();
        let mut wide = vec![(0u32, 0u32, 0u32); rows.terms.len()];
        for &row in order {
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
            for &(class, occurrences, documents) in &wide[places[term]..ends[term]] {
                entries.classes.push(class);
                entries.occurrences.push(occurrences);
                entries.documents.push(documents);
            }
            entries.starts.push(entries.classes.len());
        }
        entries
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
    dead: Vec<bool>,
}

/// The model of a fold: what each class adds.
struct Left {
    /// Whether any term is left.
    has_terms: bool,
    level: Vec<f64>,
    factor: Vec<f64>,
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
        let dead: Vec<bool> = term_documents.iter().map(|&count| count < self.least.max(1)).collect();
        let mut class_values = vec![0.0; self.width];
        for term in (0..size).filter(|&term| !dead[term]) {
            for entry in self.entries.range(term) {
                class_values[self.entries.classes[entry] as usize] += f64::from(self.values()[entry]);
            }
        }
        Scratch {
            term_values: (0..size).map(|term| sum(self.values(), term)).collect(),
            size: dead.iter().filter(|dead| !**dead).count(),
            removed: vec![0; self.entries.classes.len()],
            removed_values: vec![0; size],
            removed_documents: vec![0; size],
            touched: Vec::new(),
            term_documents,
            class_values,
            dead,
        }
    }

    /// Scores the rows of one fold under the model of all others; gives how many of its terms each row knows.
    pub fn score_fold(&self, scratch: &mut Scratch, fold: &[usize], scores: &mut [f64], lengths: &mut [f64]) {
        let left = self.subtract(scratch, fold);
        let scored = scores.chunks_exact_mut(self.width).zip(lengths);
        for (&row, (scores, length)) in fold.iter().zip(scored) {
            *length = self.score_row(scratch, &left, row, scores);
        }
        self.restore(scratch);
    }

    fn subtract(&self, scratch: &mut Scratch, fold: &[usize]) -> Left {
        let mut classes = scratch.class_values.clone();
        for &row in fold {
            let class = self.classes[row];
            for (term, count) in self.rows.row(row) {
                if scratch.dead[term] {
                    continue;
                }
                let value = if self.presence { 1 } else { count };
                let range = self.entries.range(term);
                let place = self.entries.classes[range.clone()].partition_point(|&other| other < class);
                scratch.removed[range.start + place] += value;
                if scratch.removed_documents[term] == 0 {
                    scratch.touched.push(term as u32);
                }
                scratch.removed_documents[term] += 1;
                scratch.removed_values[term] += value;
                classes[class as usize] -= f64::from(value);
            }
        }
        let mut size = scratch.size;
        for &term in &scratch.touched {
            let term = term as usize;
            if scratch.term_documents[term] - scratch.removed_documents[term] < self.least.max(1) {
                scratch.dead[term] = true;
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

    fn score_row(&self, scratch: &Scratch, left: &Left, row: usize, scores: &mut [f64]) -> f64 {
        scores.fill(0.0);
        let (mut length, mut base) = (0.0, 0.0);
        let laplace = matches!(self.smoothing, Smoothing::Laplace(_));
        for (term, count) in self.rows.row(row) {
            if scratch.dead[term] {
                continue;
            }
            let value = if self.presence { 1.0 } else { f64::from(count) };
            let of_term = f64::from(scratch.term_values[term] - scratch.removed_values[term]);
            let divisor = if laplace { 1.0 } else { of_term };
            length += value;
            base += if laplace { 0.0 } else { value * of_term.ln() };
            for entry in self.entries.range(term) {
                let rest = self.values()[entry] - scratch.removed[entry];
                if rest > 0 {
                    let class = self.entries.classes[entry] as usize;
                    let excess = match self.logs.get(rest as usize) {
                        Some(&log) => log,
                        None => (1.0 + f64::from(rest) * left.factor[class] / divisor).ln(),
                    };
                    scores[class] += value * excess;
                }
            }
        }
        let known = left.has_terms && length > 0.0;
        for (class, score) in scores.iter_mut().enumerate() {
            let said = if known {
                *score + base + length * left.level[class]
            } else {
                0.0
            };
            *score = said;
        }
        length
    }

    fn restore(&self, scratch: &mut Scratch) {
        for &term in &scratch.touched {
            let term = term as usize;
            scratch.removed[self.entries.range(term)].fill(0);
            scratch.removed_values[term] = 0;
            scratch.removed_documents[term] = 0;
            scratch.dead[term] = scratch.term_documents[term] < self.least.max(1);
        }
        scratch.touched.clear();
    }
}
