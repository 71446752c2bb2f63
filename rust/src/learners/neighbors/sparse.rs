//! Sparse rows, and the cosine of two.

use std::cmp::Ordering;

/// Rows of a sparse matrix, the terms of each ascending.
#[derive(Clone, Copy)]
pub struct Sparse<'a> {
    starts: &'a [i64],
    pub(super) terms: &'a [i32],
    weights: &'a [f64],
}

impl<'a> Sparse<'a> {
    /// Check and take rows; `None` unless starts, terms below `n_terms` and weights fit together and are in order.
    pub fn new(starts: &'a [i64], terms: &'a [i32], weights: &'a [f64], n_terms: usize) -> Option<Self> {
        let fits = terms.len() == weights.len()
            && terms.len() <= u32::MAX as usize
            && starts.first() == Some(&0)
            && starts.last() == Some(&(terms.len() as i64))
            && starts.is_sorted();
        if !fits || terms.iter().any(|&term| term < 0 || term as usize >= n_terms) {
            return None;
        }
        let sparse = Sparse { starts, terms, weights };
        let ascending = (0..sparse.rows()).all(|row| sparse.row(row).0.windows(2).all(|pair| pair[0] < pair[1]));
        (ascending && weights.iter().all(|weight| weight.is_finite())).then_some(sparse)
    }

    /// Take rows that were checked before.
    pub fn trusted(starts: &'a [i64], terms: &'a [i32], weights: &'a [f64]) -> Self {
        Sparse { starts, terms, weights }
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn row(&self, row: usize) -> Row<'a> {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.terms[range.clone()], &self.weights[range])
    }

    pub(super) fn norm(&self, row: usize) -> f64 {
        self.row(row).1.iter().map(|weight| weight * weight).sum::<f64>().sqrt()
    }
}

/// Terms, ascending, and their weights.
pub type Row<'a> = (&'a [i32], &'a [f64]);

/// The sum of products over shared terms, in ascending order of the terms.
pub(super) fn dot(left: Row<'_>, right: Row<'_>) -> f64 {
    let (mut first, mut second, mut sum) = (0, 0, 0.0);
    while first < left.0.len() && second < right.0.len() {
        match left.0[first].cmp(&right.0[second]) {
            Ordering::Less => first += 1,
            Ordering::Greater => second += 1,
            Ordering::Equal => {
                sum += left.1[first] * right.1[second];
                first += 1;
                second += 1;
            }
        }
    }
    sum
}

/// One minus the cosine of rows of unit length.
pub(super) fn cosine_distance(similarity: f64) -> f64 {
    (1.0 - similarity).clamp(0.0, 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        assert!(Sparse::new(&[0, 2], &[1, 0], &[1.0, 1.0], 2).is_none());
        assert!(Sparse::new(&[0, 2], &[0, 2], &[1.0, 1.0], 2).is_none());
        assert!(Sparse::new(&[0, 1], &[0], &[f64::NAN], 2).is_none());
        assert!(Sparse::new(&[0, 3], &[0], &[1.0], 2).is_none());
    }
}
