//! Rows of numbers, dense or sparse, as learners read them. No column occurs twice in a sparse row. Solvers that
//! compare rows with rows need sorted columns; others take any order.

use std::ops::Range;

use crate::system::cancel::checkpoint;
use crate::system::memory::{fetch, prefetch};

/// Rows of a table.
#[derive(Clone, Copy)]
pub enum Vectors<'a> {
    Dense {
        values: &'a [f64],
        rows: usize,
        n_columns: usize,
    },
    Sparse {
        starts: &'a [i64],
        columns: &'a [i32],
        values: &'a [f64],
        n_columns: usize,
    },
}

/// One row of a table.
#[derive(Clone, Copy)]
pub enum Vector<'a> {
    Dense(&'a [f64]),
    Sparse(&'a [i32], &'a [f64]),
}

impl<'a> Vectors<'a> {
    /// Take a dense table; `None` if its size is not rows × n_columns.
    pub fn dense(values: &'a [f64], rows: usize, n_columns: usize) -> Option<Self> {
        (rows.checked_mul(n_columns) == Some(values.len())).then_some(Vectors::Dense {
            values,
            rows,
            n_columns,
        })
    }

    /// Take compressed sparse rows with sorted columns; `None` if they do not fit together.
    pub fn sparse(starts: &'a [i64], columns: &'a [i32], values: &'a [f64], n_columns: usize) -> Option<Self> {
        let rises = |pair: &[i64]| columns[pair[0] as usize..pair[1] as usize].is_sorted_by(|left, right| left < right);
        Self::unsorted(starts, columns, values, n_columns).filter(|_| starts.windows(2).all(rises))
    }

    /// Take compressed sparse rows with columns in any order; `None` if they do not fit together.
    pub fn unsorted(starts: &'a [i64], columns: &'a [i32], values: &'a [f64], n_columns: usize) -> Option<Self> {
        let (first, last) = (*starts.first()?, *starts.last()?);
        let ordered = first == 0 && last == columns.len() as i64 && columns.len() == values.len() && starts.is_sorted();
        // Without branches: as an unsigned number, a negative one is large.
        let largest = columns.iter().fold(0, |most, &column| most.max(column as u32));
        let within = columns.is_empty() || (largest as usize) < n_columns.min(1 << 31);
        (ordered && within).then_some(Vectors::Sparse {
            starts,
            columns,
            values,
            n_columns,
        })
    }

    pub fn values(&self) -> &'a [f64] {
        match *self {
            Vectors::Dense { values, .. } | Vectors::Sparse { values, .. } => values,
        }
    }

    pub fn rows(&self) -> usize {
        match self {
            Vectors::Dense { rows, .. } => *rows,
            Vectors::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    pub fn n_columns(&self) -> usize {
        match self {
            Vectors::Dense { n_columns, .. } | Vectors::Sparse { n_columns, .. } => *n_columns,
        }
    }

    /// Return whether a column occurs twice in some row.
    pub fn repeats_columns(&self) -> bool {
        match *self {
            Vectors::Dense { .. } => false,
            Vectors::Sparse {
                starts,
                columns,
                n_columns,
                ..
            } => repeats(starts, columns, n_columns),
        }
    }

    #[inline(always)]
    pub fn row(&self, index: usize) -> Vector<'a> {
        let place = self.place(index);
        match *self {
            Vectors::Dense { values, .. } => Vector::Dense(&values[place]),
            Vectors::Sparse { columns, values, .. } => Vector::Sparse(&columns[place.clone()], &values[place]),
        }
    }

    /// Fetch where the numbers of a sparse row are, which [`Vector::fetch`] needs.
    #[inline(always)]
    pub fn fetch_place(&self, index: usize) {
        if let Vectors::Sparse { starts, .. } = self {
            prefetch(starts, index);
        }
    }

    /// The places of the numbers of a row among all.
    #[inline(always)]
    pub fn place(&self, index: usize) -> Range<usize> {
        match *self {
            Vectors::Dense { n_columns, .. } => index * n_columns..(index + 1) * n_columns,
            Vectors::Sparse { starts, .. } => starts[index] as usize..starts[index + 1] as usize,
        }
    }
}

impl Vector<'_> {
    /// Call for each number that is there, in the order of the columns.
    #[inline(always)]
    pub fn each(&self, mut visit: impl FnMut(usize, f64)) {
        match self {
            Vector::Dense(values) => values
                .iter()
                .enumerate()
                .for_each(|(column, &value)| visit(column, value)),
            Vector::Sparse(columns, values) => columns
                .iter()
                .zip(*values)
                .for_each(|(&column, &value)| visit(column as usize, value)),
        }
    }

    /// Fetch the beginning of the row ahead of its use; the hardware prefetcher follows a longer one by itself.
    #[inline(always)]
    pub fn fetch(&self) {
        match self {
            Vector::Dense(values) => fetch(values),
            Vector::Sparse(columns, values) => {
                fetch(columns);
                fetch(values);
            }
        }
    }

    /// Return how many numbers are there.
    #[inline(always)]
    pub fn len(&self) -> usize {
        match self {
            Vector::Dense(values) | Vector::Sparse(_, values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return whether two rows hold the same numbers, whatever zeros are stored and in whatever order.
    pub fn equals(&self, other: Vector<'_>) -> bool {
        match (self, other) {
            (Vector::Dense(mine), Vector::Dense(theirs)) => *mine == theirs,
            (Vector::Sparse(columns, values), Vector::Sparse(other_columns, other_values)) => {
                (*columns == other_columns && *values == other_values) || self.items() == other.items()
            }
            _ => false,
        }
    }

    /// The numbers that are not zero with their columns, sorted by column.
    pub fn items(&self) -> Vec<(usize, f64)> {
        let mut items = Vec::with_capacity(self.len());
        self.each(|column, value| {
            if value != 0.0 {
                items.push((column, value));
            }
        });
        items.sort_unstable_by_key(|&(column, _)| column);
        items
    }

    /// Return whether the columns of a sparse row precede those of another in lexicographic order.
    pub fn precedes(&self, other: Vector<'_>) -> bool {
        matches!((self, other), (Vector::Sparse(mine, _), Vector::Sparse(theirs, _)) if *mine < theirs)
    }

    /// Return w·x, always summed in the same order.
    #[inline(always)]
    pub fn dot(&self, weights: &[f64]) -> f64 {
        // Four sums at once: a single one would wait for each addition.
        let mut sums = [0.0; 4];
        match self {
            Vector::Dense(values) => {
                let whole = values.len() / 4 * 4;
                for (values, weights) in values[..whole]
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .zip(weights.as_chunks::<4>().0)
                {
                    (0..4).for_each(|lane| sums[lane] += values[lane] * weights[lane]);
                }
                for (value, weight) in values[whole..].iter().zip(&weights[whole..]) {
                    sums[0] += value * weight;
                }
            }
            Vector::Sparse(columns, values) => {
                let whole = columns.len() / 4 * 4;
                let chunks = columns[..whole]
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .zip(values.as_chunks::<4>().0);
                for (columns, values) in chunks {
                    (0..4).for_each(|lane| sums[lane] += values[lane] * weights[columns[lane] as usize]);
                }
                for (&column, value) in columns[whole..].iter().zip(&values[whole..]) {
                    sums[0] += value * weights[column as usize];
                }
            }
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    /// Add a multiple of the row to weights.
    #[inline(always)]
    pub fn add_to(&self, weights: &mut [f64], factor: f64) {
        match self {
            Vector::Dense(values) => {
                let pairs = weights.iter_mut().zip(*values);
                pairs.for_each(|(weight, value)| *weight += factor * value);
            }
            Vector::Sparse(columns, values) => {
                let pairs = columns.iter().zip(*values);
                pairs.for_each(|(&column, value)| weights[column as usize] += factor * value);
            }
        }
    }

    pub fn squared_norm(&self) -> f64 {
        let mut sum = 0.0;
        self.each(|_, value| sum += value * value);
        sum
    }
}

/// Return whether a column occurs twice in some row; starts and columns must fit the number of columns.
pub fn repeats(starts: &[i64], columns: &[i32], n_columns: usize) -> bool {
    let mut last = vec![0; n_columns]; // the number of the row that last held each column, from 1
    starts.windows(2).zip(1u32..).any(|(pair, number)| {
        checkpoint();
        let row = &columns[pair[0] as usize..pair[1] as usize];
        row.iter().fold(false, |repeats, &column| {
            repeats | (std::mem::replace(&mut last[column as usize], number) == number)
        })
    })
}

/// Sum the rows of each class by column, each row times its weight; the classes follow each other.
pub fn class_sums(table: &Vectors<'_>, classes: &[i32], count: usize, weights: Option<&[f64]>) -> Vec<f64> {
    let n_columns = table.n_columns();
    let mut sums = vec![0.0; count * n_columns];
    for (row, &class) in classes.iter().enumerate() {
        checkpoint();
        let own = &mut sums[class as usize * n_columns..][..n_columns];
        table.row(row).add_to(own, weights.map_or(1.0, |weights| weights[row]));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_the_same_whatever_zeros_are_written() {
        let row = Vector::Sparse(&[1, 3], &[2.0, 1.0]);
        assert!(row.equals(Vector::Sparse(&[0, 1, 3], &[0.0, 2.0, 1.0])));
        assert!(!row.equals(Vector::Sparse(&[1, 3], &[2.0, 1.5])));
        assert!(!row.equals(Vector::Sparse(&[1, 4], &[2.0, 1.0])));
        assert!(!row.equals(Vector::Sparse(&[1], &[2.0])));
        assert!(Vector::Dense(&[0.0, 2.0]).equals(Vector::Dense(&[-0.0, 2.0])));
        assert!(!Vector::Dense(&[0.0]).equals(row));
    }

    #[test]
    fn the_order_of_columns_says_nothing() {
        let rising = Vector::Sparse(&[1, 3], &[2.0, 1.0]);
        let falling = Vector::Sparse(&[3, 1], &[1.0, 2.0]);
        assert!(rising.equals(falling) && falling.equals(rising));
        assert!(!rising.equals(Vector::Sparse(&[3, 1], &[2.0, 1.0])));
        assert!(rising.precedes(falling) && !falling.precedes(rising));
        assert!(Vectors::unsorted(&[0, 2], &[3, 1], &[1.0, 2.0], 4).is_some());
        assert!(Vectors::sparse(&[0, 2], &[3, 1], &[1.0, 2.0], 4).is_none());
    }

    #[test]
    fn repeated_columns_are_found() {
        assert!(!repeats(&[0, 2, 2, 4], &[1, 0, 0, 1], 2));
        assert!(repeats(&[0, 2, 2, 5], &[1, 0, 0, 1, 0], 2));
    }

    #[test]
    fn dense_and_sparse_rows_say_the_same() {
        let dense = Vectors::dense(&[0.0, 2.0, 3.0, 0.0, 5.0, 0.0], 1, 6).unwrap();
        let sparse = Vectors::sparse(&[0, 3], &[1, 2, 4], &[2.0, 3.0, 5.0], 6).unwrap();
        let weights = [1.0, 10.0, 100.0, 1000.0, 1e4, 1e5];
        for rows in [dense, sparse] {
            assert_eq!((rows.rows(), rows.n_columns()), (1, 6));
            assert_eq!(rows.row(0).dot(&weights), 50320.0);
            assert_eq!(rows.row(0).squared_norm(), 38.0);
            let mut sums = [0.0; 6];
            rows.row(0).add_to(&mut sums, 2.0);
            assert_eq!(sums, [0.0, 4.0, 6.0, 0.0, 10.0, 0.0]);
        }
    }

    #[test]
    fn rows_that_do_not_fit_together_are_refused() {
        assert!(Vectors::dense(&[1.0], 2, 1).is_none());
        assert!(Vectors::sparse(&[], &[], &[], 1).is_none());
        assert!(Vectors::sparse(&[0, 1], &[1], &[1.0], 1).is_none());
        assert!(Vectors::sparse(&[0, 1], &[-1], &[1.0], 1).is_none());
        assert!(Vectors::sparse(&[0, 2], &[1, 1], &[1.0, 1.0], 2).is_none());
        assert!(Vectors::sparse(&[0, 2, 1], &[0], &[1.0], 2).is_none());
        for columns in [[-1, 0], [0, 2], [i32::MIN, 0]] {
            assert!(Vectors::unsorted(&[0, 2], &columns, &[1.0, 1.0], 2).is_none());
        }
    }
}
