//! Rows of numbers, dense or sparse, as learners read them. The columns of a sparse row rise and none comes twice.

/// Rows of a table.
#[derive(Clone, Copy)]
pub enum Vectors<'a> {
    Dense {
        values: &'a [f64],
        rows: usize,
        width: usize,
    },
    Sparse {
        starts: &'a [i64],
        columns: &'a [i32],
        values: &'a [f64],
        width: usize,
    },
}

/// One row of a table.
#[derive(Clone, Copy)]
pub enum Vector<'a> {
    Dense(&'a [f64]),
    Sparse(&'a [i32], &'a [f64]),
}

impl<'a> Vectors<'a> {
    /// Takes a dense table; `None` if its size is not rows × width.
    pub fn dense(values: &'a [f64], rows: usize, width: usize) -> Option<Self> {
        (rows.checked_mul(width) == Some(values.len())).then_some(Vectors::Dense { values, rows, width })
    }

    /// Takes compressed sparse rows; `None` if they do not fit together.
    pub fn sparse(starts: &'a [i64], columns: &'a [i32], values: &'a [f64], width: usize) -> Option<Self> {
        let (first, last) = (*starts.first()?, *starts.last()?);
        let ordered = first == 0
            && last == columns.len() as i64
            && columns.len() == values.len()
            && starts.windows(2).all(|pair| pair[0] <= pair[1]);
        let rises = |pair: &[i64]| {
            let row = &columns[pair[0] as usize..pair[1] as usize];
            let within = row.first().is_none_or(|&column| column >= 0)
                && row.last().is_none_or(|&column| (column as usize) < width);
            within && row.windows(2).all(|pair| pair[0] < pair[1])
        };
        (ordered && starts.windows(2).all(rises)).then_some(Vectors::Sparse {
            starts,
            columns,
            values,
            width,
        })
    }

    pub fn rows(&self) -> usize {
        match self {
            Vectors::Dense { rows, .. } => *rows,
            Vectors::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    pub fn width(&self) -> usize {
        match self {
            Vectors::Dense { width, .. } | Vectors::Sparse { width, .. } => *width,
        }
    }

    pub fn row(&self, index: usize) -> Vector<'a> {
        match *self {
            Vectors::Dense { values, width, .. } => Vector::Dense(&values[index * width..(index + 1) * width]),
            Vectors::Sparse {
                starts,
                columns,
                values,
                ..
            } => {
                let range = starts[index] as usize..starts[index + 1] as usize;
                Vector::Sparse(&columns[range.clone()], &values[range])
            }
        }
    }
}

impl Vector<'_> {
    /// Calls for each number that is there, in the order of the columns.
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

    /// Whether two rows hold the same numbers, whatever zeros are written out.
    pub fn says_the_same(&self, other: Vector<'_>) -> bool {
        match (self, other) {
            (Vector::Dense(mine), Vector::Dense(theirs)) => *mine == theirs,
            (Vector::Sparse(columns, values), Vector::Sparse(other_columns, other_values)) => {
                let mine = columns.iter().zip(*values).filter(|(_, value)| **value != 0.0);
                mine.eq(other_columns
                    .iter()
                    .zip(other_values)
                    .filter(|(_, value)| **value != 0.0))
            }
            _ => false,
        }
    }

    /// Gives w·x, always summed in the same order.
    #[inline(always)]
    pub fn dot(&self, weights: &[f64]) -> f64 {
        // Four sums at once: one after the other they would wait for each addition.
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

    /// Adds a multiple of the row to weights.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_the_same_whatever_zeros_are_written() {
        let row = Vector::Sparse(&[1, 3], &[2.0, 1.0]);
        assert!(row.says_the_same(Vector::Sparse(&[0, 1, 3], &[0.0, 2.0, 1.0])));
        assert!(!row.says_the_same(Vector::Sparse(&[1, 3], &[2.0, 1.5])));
        assert!(!row.says_the_same(Vector::Sparse(&[1, 4], &[2.0, 1.0])));
        assert!(!row.says_the_same(Vector::Sparse(&[1], &[2.0])));
        assert!(Vector::Dense(&[0.0, 2.0]).says_the_same(Vector::Dense(&[-0.0, 2.0])));
        assert!(!Vector::Dense(&[0.0]).says_the_same(row));
    }

    #[test]
    fn dense_and_sparse_rows_say_the_same() {
        let dense = Vectors::dense(&[0.0, 2.0, 3.0, 0.0, 5.0, 0.0], 1, 6).unwrap();
        let sparse = Vectors::sparse(&[0, 3], &[1, 2, 4], &[2.0, 3.0, 5.0], 6).unwrap();
        let weights = [1.0, 10.0, 100.0, 1000.0, 1e4, 1e5];
        for rows in [dense, sparse] {
            assert_eq!((rows.rows(), rows.width()), (1, 6));
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
    }
}
