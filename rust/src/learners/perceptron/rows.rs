//! The rows to show, equal ones pooled, in an order that depends only on their contents.

use super::{AHEAD, Settings};
use crate::learners::margin::FEW_ROWS;
use crate::learners::margin::order::{Order, columns_hash, content_hash, key_of, sorted_keys, untie};
use crate::system::cancel::checkpoint;
use crate::system::memory::roomy;
use crate::system::vector::vectorized;
use crate::tables::vectors::{Vector, Vectors};

/// Fewer epochs are not worth a copy of the rows.
const FEW_EPOCHS: u64 = 3;

/// The rows to show: which, how often, and the factor of an update for each sign.
pub struct Rows<'a> {
    pub table: Vectors<'a>,
    pub shown: &'a [u32],
    pub weights: &'a [f64],
    pub classes: &'a [i32],
    pub positive: i32,
    pub factors: [f64; 2],
}

impl Rows<'_> {
    pub(super) fn signs(&self) -> Vec<f64> {
        let is_positive = |row: u32| self.classes[row as usize] == self.positive;
        let signs = self.shown.iter().map(|&row| if is_positive(row) { 1.0 } else { -1.0 });
        signs.collect()
    }
}

/// Why rows cannot be learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A column occurs twice in a row.
    Repeats,
    /// A number is not finite, or so large that sums of squares are not.
    Numbers,
}

/// The largest sum of squares for which the weights cannot overflow.
const LARGEST_SQUARES: f64 = 1e150;

/// Lanes in which squares are summed: a single sum would wait for each addition.
const LANES: usize = 8;

/// Check the numbers of sparse rows; those of dense ones were checked before.
fn numbers_fit(table: &Vectors<'_>) -> Result<(), Unfit> {
    let Vectors::Sparse { values, .. } = table else {
        return Ok(());
    };
    let squares = vectorized(
        #[inline(always)]
        || {
            let mut sums = [0.0; LANES];
            for values in values.chunks(1 << 12) {
                checkpoint();
                let (groups, rest) = values.as_chunks::<LANES>();
                for group in groups {
                    (0..LANES).for_each(|lane| sums[lane] += group[lane] * group[lane]);
                }
                rest.iter().for_each(|value| sums[0] += value * value);
            }
            sums.iter().sum::<f64>()
        },
    );
    if squares <= LARGEST_SQUARES {
        Ok(())
    } else {
        Err(Unfit::Numbers)
    }
}

/// The rows to show and how much each weighs.
pub struct Shown {
    pub rows: Vec<u32>,
    pub weights: Vec<f64>,
}

impl Shown {
    /// Take the rows of positive weight. If they are to be shuffled, equal ones of a class are pooled and the order
    /// depends only on their contents. Then no column may occur twice in a row.
    pub fn new(table: &Vectors<'_>, classes: &[i32], weights: &[f64], settings: &Settings) -> Result<Self, Unfit> {
        if settings.shuffle && table.repeats_columns() {
            return Err(Unfit::Repeats);
        }
        numbers_fit(table)?;
        Ok(if settings.shuffle {
            Self::pooled(table, classes, weights)
        } else {
            Self::as_given(weights)
        })
    }

    /// Copy sparse rows that are often shown shuffled; `None` where this does not help. The rows here are then those of
    /// the copy.
    pub fn copied(&mut self, table: &Vectors<'_>, classes: &[i32], settings: &Settings) -> Option<Copied> {
        let sparse = matches!(table, Vectors::Sparse { .. });
        (sparse && settings.shuffle && settings.most_epochs >= FEW_EPOCHS).then(|| {
            let count = self.rows.len() as u32;
            let given = std::mem::replace(&mut self.rows, (0..count).collect());
            Copied::new(table, classes, &given)
        })
    }

    fn as_given(weights: &[f64]) -> Self {
        let rows = (0..).zip(weights).filter(|&(_, &weight)| weight > 0.0);
        let (rows, weights) = rows.unzip();
        Shown { rows, weights }
    }

    /// Sort by the columns of the rows, then by their contents; columns whose number is zero do not count.
    fn pooled(table: &Vectors<'_>, classes: &[i32], weights: &[f64]) -> Self {
        let (weights, key) = (Some(weights), key_of(0));
        let keyed = if table.rows() <= FEW_ROWS {
            sorted_keys(classes.len(), weights, |row| hash_of_few(table.row(row), classes[row]))
        } else {
            let mut keyed = vectorized(
                #[inline(always)]
                || {
                    sorted_keys(
                        classes.len(),
                        weights,
                        #[inline(always)]
                        |row| columns_hash(table.row(row), key),
                    )
                },
            );
            untie(&mut keyed, |row| content_hash(table.row(row), classes[row], key));
            keyed
        };
        let order = Order::merged(table, classes, weights, keyed);
        Shown {
            rows: order.rows(),
            weights: order.merged.iter().map(|merged| merged.weight).collect(),
        }
    }
}

/// Sparse rows one after the other in the order of [`Shown`]. An epoch shows runs of neighbors, which the hardware
/// prefetcher can follow only here: 200,000 rows of 50 numbers take half the time from the third epoch on.
pub struct Copied {
    starts: Vec<i64>,
    columns: Vec<i32>,
    values: Vec<f64>,
    n_columns: usize,
    pub classes: Vec<i32>,
}

impl Copied {
    fn new(table: &Vectors<'_>, classes: &[i32], rows: &[u32]) -> Self {
        let size = rows.iter().map(|&row| table.row(row as usize).len()).sum();
        let mut copied = Copied {
            starts: Vec::with_capacity(rows.len() + 1),
            columns: roomy(size),
            values: roomy(size),
            n_columns: table.n_columns(),
            classes: rows.iter().map(|&row| classes[row as usize]).collect(),
        };
        copied.starts.push(0);
        for (place, &row) in rows.iter().enumerate() {
            checkpoint();
            if let Some(&later) = rows.get(place + AHEAD) {
                table.row(later as usize).fetch();
            }
            if let Vector::Sparse(columns, values) = table.row(row as usize) {
                copied.columns.extend_from_slice(columns);
                copied.values.extend_from_slice(values);
            }
            copied.starts.push(copied.values.len() as i64);
        }
        copied
    }

    pub fn table(&self) -> Vectors<'_> {
        Vectors::Sparse {
            starts: &self.starts,
            columns: &self.columns,
            values: &self.values,
            n_columns: self.n_columns,
        }
    }
}

/// The hash by which few rows are sorted, of numbers that are not zero and their columns.
fn hash_of_few(vector: Vector<'_>, class: i32) -> u64 {
    let mut hash = class as u64;
    for (column, value) in vector.items() {
        hash = (hash ^ value.to_bits())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
        hash = (hash ^ column as u64)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .rotate_left(31);
    }
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rows_are_pooled_whatever_their_order() {
        let table = [1.0, 2.0, 0.0, 3.0, 1.0, 2.0];
        let rows = Vectors::dense(&table, 3, 2).unwrap();
        let pooled = |classes: &[i32], weights: &[f64]| Shown::pooled(&rows, classes, weights);
        let mut shown = pooled(&[0, 0, 0], &[1.0, 2.0, 3.0]);
        assert_eq!(shown.weights.iter().sum::<f64>(), 6.0);
        shown.rows.sort_unstable();
        assert_eq!(shown.rows, [0, 1]);
        assert_eq!(pooled(&[0, 0, 1], &[1.0, 2.0, 0.0]).rows.len(), 2);
    }
}
