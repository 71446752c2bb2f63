//! Numbers into bins, by the edges between them.

use crate::system::vector::{Kernel, dispatch};

/// The most edges for which comparing a number with all of them is faster than searching.
const FEW_EDGES: usize = 32;
/// Numbers of a single column compared at once.
const COLUMN_BLOCK: usize = 1 << 10;
/// The code of a missing number.
const MISSING: i64 = -1;

/// Bins of numbers, by the edges between them in each column: a number that reaches an edge lies behind it.
pub struct Bins {
    edges: Vec<Vec<f64>>,
    /// The same edges, the first of each column, then the second of each; NaN, which nothing reaches, behind the last.
    steps: Vec<f64>,
}

impl Bins {
    /// Take the sorted edges between the bins of each column.
    pub fn new(edges: Vec<Vec<f64>>) -> Self {
        let most = edges.iter().map(Vec::len).max().unwrap_or(0);
        let few = if most <= FEW_EDGES { most } else { 0 };
        let step = |step: usize| {
            edges
                .iter()
                .map(move |edges| edges.get(step).copied().unwrap_or(f64::NAN))
        };
        let steps = (0..few).flat_map(step).collect();
        Bins { edges, steps }
    }

    /// Write the number of the bin of each number, −1 if it is missing.
    pub fn assign(&self, rows: &[f64], codes: &mut [i64]) {
        match self.edges.as_slice() {
            edges if edges.iter().any(|edges| edges.len() > FEW_EDGES) => self.search(rows, codes),
            [edges] => {
                // The numbers of one column are contiguous, as those of one row are otherwise.
                for (values, codes) in rows.chunks(COLUMN_BLOCK).zip(codes.chunks_mut(COLUMN_BLOCK)) {
                    dispatch(EdgesOfOne { edges, values, codes });
                }
            }
            _ => dispatch(EdgesOfRows {
                bins: self,
                rows,
                codes,
            }),
        }
    }

    fn search(&self, rows: &[f64], codes: &mut [i64]) {
        let n_columns = self.edges.len();
        for (row, codes) in rows.chunks_exact(n_columns).zip(codes.chunks_exact_mut(n_columns)) {
            for ((value, code), edges) in row.iter().zip(codes).zip(&self.edges) {
                let reached = edges.partition_point(|edge| value >= edge) as i64;
                *code = if value.is_nan() { MISSING } else { reached };
            }
        }
    }
}

#[inline(always)]
fn start(value: f64) -> i64 {
    if value.is_nan() { MISSING } else { 0 }
}

struct EdgesOfOne<'a> {
    edges: &'a [f64],
    values: &'a [f64],
    codes: &'a mut [i64],
}

impl Kernel for EdgesOfOne<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.codes
            .iter_mut()
            .zip(self.values)
            .for_each(|(code, &value)| *code = start(value));
        for &edge in self.edges {
            self.codes
                .iter_mut()
                .zip(self.values)
                .for_each(|(code, &value)| *code += i64::from(value >= edge));
        }
    }
}

struct EdgesOfRows<'a> {
    bins: &'a Bins,
    rows: &'a [f64],
    codes: &'a mut [i64],
}

impl Kernel for EdgesOfRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n_columns = self.bins.edges.len().max(1);
        for (row, codes) in self
            .rows
            .chunks_exact(n_columns)
            .zip(self.codes.chunks_exact_mut(n_columns))
        {
            codes
                .iter_mut()
                .zip(row)
                .for_each(|(code, &value)| *code = start(value));
            for step in self.bins.steps.chunks_exact(n_columns) {
                for ((code, value), edge) in codes.iter_mut().zip(row).zip(step) {
                    *code += i64::from(value >= edge);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_put_into_bins_by_comparing_and_by_searching() {
        let many: Vec<f64> = (0..40).map(f64::from).collect();
        let rows = [-1.0, f64::NAN, 0.0, 39.0, f64::INFINITY, f64::NEG_INFINITY, 1.5, 38.9];
        let expected = [[0, -1], [1, 40], [40, 0], [2, 39]];
        let mut codes = [9; 8];
        Bins::new(vec![many.clone(), many.clone()]).assign(&rows, &mut codes);
        assert_eq!(codes, *expected.as_flattened());
        Bins::new(vec![many[..2].to_vec(), many[..1].to_vec()]).assign(&rows, &mut codes);
        assert_eq!(codes, [0, -1, 1, 1, 2, 0, 2, 1]);
        Bins::new(vec![many[..2].to_vec()]).assign(&rows, &mut codes);
        assert_eq!(codes, [0, -1, 1, 2, 2, 0, 2, 2]);
    }
}
