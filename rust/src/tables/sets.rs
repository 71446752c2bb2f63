//! Held-out rows with several labels each: counts of terms by label in all rows but a fold's, and products with them.

use super::by_class::Compressed;
use crate::system::cancel::{checkpoint, checkpoints};
use crate::system::vector::vectorized;

/// A term with weights for at least one label in 8 is added as a whole row of weights.
const DENSE: usize = 8;

/// Lines of entries: where each begins and ends, their places, and a number for each.
#[derive(Clone, Copy)]
pub struct Lines<'a> {
    pub starts: &'a [i64],
    pub places: &'a [i32],
    pub values: &'a [f64],
}

impl Lines<'_> {
    /// Return whether there are as many lines as given, with places below `most`.
    pub fn fits(&self, lines: usize, most: usize) -> bool {
        let ends = self.starts.first() == Some(&0) && self.starts.last() == Some(&(self.values.len() as i64));
        let rising = self.starts.len() == lines + 1 && self.starts.is_sorted();
        let within = self.places.iter().all(|&place| (place as usize) < most);
        ends && rising && within && self.places.len() == self.values.len()
    }

    fn line(&self, index: usize) -> (&[i32], &[f64]) {
        let span = self.starts[index] as usize..self.starts[index + 1] as usize;
        (&self.places[span.clone()], &self.values[span])
    }
}

/// Lines of entries that grow at the end.
#[derive(Default)]
pub struct Growing {
    pub starts: Vec<i64>,
    pub places: Vec<i32>,
    pub values: Vec<f64>,
}

impl Growing {
    fn push(&mut self, place: i32, value: f64) {
        self.places.push(place);
        self.values.push(value);
    }

    fn end_line(&mut self) {
        self.starts.push(self.places.len() as i64);
    }

    /// Drop what came after the last whole line.
    fn drop_line(&mut self) {
        let end = self.starts.last().map_or(0, |&end| end as usize);
        self.places.truncate(end);
        self.values.truncate(end);
    }
}

/// A fold of rows, and the counts of their terms in all other rows.
#[derive(Default)]
pub struct HeldFold {
    /// The rows of the fold that have each of its terms, as places in the fold, and how often.
    pub rows: Growing,
    /// The labels of the other rows that have the term, and the counts.
    pub labels: Growing,
    /// The count of each of its terms in the other rows.
    pub terms: Vec<f64>,
    /// The sum of the counts of all terms in the other rows: by label, and of all.
    pub in_labels: Vec<f64>,
    pub total: f64,
    /// The number of terms of the other rows.
    pub size: usize,
}

/// Which rows are held out together.
#[derive(Clone, Copy)]
pub struct Held<'a> {
    /// The fold of each row, below `folds`; negative for rows that are never held out.
    pub fold: &'a [i32],
    /// The place of each row in its fold.
    pub place: &'a [i32],
    pub folds: usize,
}

/// The counts of one term, by fold and label.
struct Term {
    n_labels: usize,
    rows: usize,
    rows_of_fold: Vec<usize>,
    total: f64,
    of_fold: Vec<f64>,
    /// The labels of the rows of the term.
    labels: Vec<i32>,
    by_label: Vec<f64>,
    by_fold_and_label: Vec<f64>,
}

impl Term {
    fn new(n_labels: usize, folds: usize) -> Self {
        Term {
            n_labels,
            rows: 0,
            rows_of_fold: vec![0; folds],
            total: 0.0,
            of_fold: vec![0.0; folds],
            labels: Vec::new(),
            by_label: vec![0.0; n_labels],
            by_fold_and_label: vec![0.0; n_labels * folds],
        }
    }

    #[inline(always)]
    fn add(&mut self, value: f64, fold: i32, labels: &[i32]) {
        self.rows += 1;
        self.total += value;
        for &label in labels {
            let sum = &mut self.by_label[label as usize];
            if *sum == 0.0 {
                self.labels.push(label);
            }
            *sum += value;
        }
        if fold >= 0 {
            let fold = fold as usize;
            self.rows_of_fold[fold] += 1;
            self.of_fold[fold] += value;
            let sums = &mut self.by_fold_and_label[fold * self.n_labels..][..self.n_labels];
            labels.iter().for_each(|&label| sums[label as usize] += value);
        }
    }

    /// Add the counts outside a fold to its sums.
    fn end(&self, fold: usize, least: usize, held: &mut HeldFold) {
        let is_used = self.rows_of_fold[fold] > 0;
        if self.rows - self.rows_of_fold[fold] < least.max(1) {
            held.rows.drop_line();
            return;
        }
        held.size += 1;
        held.total += self.total - self.of_fold[fold];
        let sums = &self.by_fold_and_label[fold * self.n_labels..][..self.n_labels];
        for &label in &self.labels {
            let count = self.by_label[label as usize] - sums[label as usize];
            held.in_labels[label as usize] += count;
            if is_used && count > 0.0 {
                held.labels.push(label, count);
            }
        }
        if is_used {
            held.terms.push(self.total - self.of_fold[fold]);
            held.rows.end_line();
            held.labels.end_line();
        }
    }

    fn clear(&mut self) {
        for label in self.labels.drain(..) {
            self.by_label[label as usize] = 0.0;
            for (fold, rows) in self.rows_of_fold.iter().enumerate() {
                if *rows > 0 {
                    self.by_fold_and_label[fold * self.n_labels + label as usize] = 0.0;
                }
            }
        }
        (self.rows, self.total) = (0, 0.0);
        self.rows_of_fold.fill(0);
        self.of_fold.fill(0.0);
    }
}

/// Count terms by label in the rows that are not of a fold, for each fold and its terms.
///
/// `by_term` has the rows of each term, and `sets` the labels of each row. With `presence` a term counts once a row.
/// Terms in fewer than `least` other rows, or none, are unknown to the fold. The tables must fit.
pub fn held_out(
    by_term: Compressed<'_, i32, i64>,
    sets: Compressed<'_, i32, i64>,
    held: Held<'_>,
    n_labels: usize,
    presence: bool,
    least: usize,
) -> Vec<HeldFold> {
    let fold = || {
        let mut fold = HeldFold {
            in_labels: vec![0.0; n_labels],
            ..HeldFold::default()
        };
        fold.rows.end_line();
        fold.labels.end_line();
        fold
    };
    let mut folds: Vec<HeldFold> = (0..held.folds).map(|_| fold()).collect();
    let mut term = Term::new(n_labels, held.folds);
    for number in 0..by_term.starts.len() - 1 {
        checkpoint();
        let (rows, values) = by_term.line(number);
        for (&row, &value) in rows.iter().zip(values) {
            let (row, value) = (row as usize, if presence { 1.0 } else { value as f64 });
            let fold = held.fold[row];
            term.add(value, fold, sets.line(row).0);
            if fold >= 0 {
                folds[fold as usize].rows.push(held.place[row], value);
            }
        }
        folds
            .iter_mut()
            .enumerate()
            .for_each(|(fold, held)| term.end(fold, least, held));
        term.clear();
    }
    folds
}

/// Add to the scores of rows × labels, for each term, how often a row has it times the weights of the term.
///
/// A term's weight is its shift, for every label, and that of its entries. Lines must fit, and `n_labels` be above 0.
pub fn add_products_of_terms(rows: Lines<'_>, weights: Lines<'_>, shifts: &[f64], n_labels: usize, scores: &mut [f64]) {
    let (mut whole, mut shifted) = (vec![0.0; n_labels], vec![0.0; scores.len() / n_labels]);
    for (term, &shift) in shifts.iter().enumerate() {
        let ((places, counts), (labels, own)) = (rows.line(term), weights.line(term));
        checkpoints(1 + places.len() * labels.len() / 64);
        let entries = || labels.iter().map(|&label| label as usize).zip(own);
        let is_dense = labels.len() * DENSE >= n_labels;
        if is_dense {
            whole.fill(0.0);
            entries().for_each(|(label, weight)| whole[label] += weight);
        }
        for (&place, &count) in places.iter().zip(counts) {
            shifted[place as usize] += count * shift;
            let scores = &mut scores[place as usize * n_labels..][..n_labels];
            if is_dense {
                add_multiple(scores, count, &whole);
            } else {
                entries().for_each(|(label, weight)| scores[label] += count * weight);
            }
        }
    }
    for (scores, shift) in scores.chunks_exact_mut(n_labels).zip(shifted) {
        scores.iter_mut().for_each(|score| *score += shift);
    }
}

fn add_multiple(sums: &mut [f64], factor: f64, values: &[f64]) {
    vectorized(
        #[inline(always)]
        || {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += factor * value;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four rows of three terms by term, and the labels of the rows: {0}, {0, 1}, {} and {1}.
    const BY_TERM: Compressed<'_, i32, i64> = Compressed {
        starts: &[0, 3, 5, 6],
        places: &[0, 1, 3, 1, 2, 3],
        values: &[2, 1, 1, 3, 4, 5],
    };
    const SETS: Compressed<'_, i32, i64> = Compressed {
        starts: &[0, 1, 3, 3, 4],
        places: &[0, 0, 1, 1],
        values: &[1, 1, 1, 1],
    };
    const HELD: Held<'_> = Held {
        fold: &[1, -1, -1, 0],
        place: &[0, 0, 0, 0],
        folds: 2,
    };

    #[test]
    fn counts_are_those_of_the_rows_outside_the_fold() {
        let [last, first] = &held_out(BY_TERM, SETS, HELD, 2, false, 1)[..] else {
            panic!("two folds");
        };
        // The fold of the last row has the terms 0 and 2, of which the other rows have the first.
        assert_eq!(
            (&last.rows.starts[..], &last.rows.values[..]),
            (&[0, 1][..], &[1.0][..])
        );
        assert_eq!(
            (&last.labels.places[..], &last.labels.values[..]),
            (&[0, 1][..], &[3.0, 1.0][..])
        );
        assert_eq!((&last.terms[..], last.total, last.size), (&[3.0][..], 10.0, 2));
        assert_eq!(last.in_labels, [6.0, 4.0]);
        assert_eq!(
            (&first.labels.places[..], &first.labels.values[..]),
            (&[0, 1][..], &[1.0, 2.0][..])
        );
        assert_eq!(
            (first.in_labels.clone(), first.total, first.size),
            (vec![4.0, 10.0], 14.0, 3)
        );
        let frequent = &held_out(BY_TERM, SETS, HELD, 2, true, 2)[1];
        assert_eq!(
            (&frequent.terms[..], frequent.total, frequent.size),
            (&[2.0][..], 4.0, 2)
        );
        assert_eq!(frequent.in_labels, [2.0, 3.0]);
    }

    #[test]
    fn products_are_those_of_plain_loops() {
        let rows = Lines {
            starts: &[0, 2, 3],
            places: &[0, 2, 0],
            values: &[3.0, 1.0, 2.0],
        };
        for n_labels in [2, 40] {
            let weights = Lines {
                starts: &[0, 2, 2],
                places: &[0, 1],
                values: &[2.0, -1.0],
            };
            assert!(rows.fits(2, 3) && !rows.fits(2, 2) && !rows.fits(3, 3) && weights.fits(2, n_labels));
            let mut scores = vec![0.5; 3 * n_labels];
            add_products_of_terms(rows, weights, &[0.25, 10.0], n_labels, &mut scores);
            assert_eq!(scores[..2], [27.25, 18.25]);
            assert_eq!(scores[n_labels..n_labels + 2], [0.5, 0.5]);
            assert_eq!(scores[2 * n_labels..2 * n_labels + 2], [2.75, -0.25]);
            assert!(scores[2..n_labels].iter().all(|&score| score == 21.25));
        }
    }
}
