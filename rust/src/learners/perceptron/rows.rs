//! The rows to show, equal ones pooled, in an order that depends only on their contents.

use super::narrow::{Narrow, Sample, extent};
use super::{Rule, Settings};
use crate::learners::margin::FEW_ROWS;
use crate::learners::margin::order::{Order, columns_hash, content_hash, key_of, sorted_keys, untie};
use crate::system::cancel::checkpoint;
use crate::system::vector::vectorised;
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
    /// The narrow copy of the rows.
    pub narrow: Option<&'a Narrow>,
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

fn squares_fit(squares: f64) -> Result<(), Unfit> {
    if squares <= LARGEST_SQUARES {
        Ok(())
    } else {
        Err(Unfit::Numbers)
    }
}

/// Check the numbers of sparse rows; those of dense ones were checked before.
fn numbers_fit(table: &Vectors<'_>) -> Result<(), Unfit> {
    match table {
        Vectors::Dense { .. } => Ok(()),
        Vectors::Sparse { values, .. } => squares_fit(vectorised(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for values in values.chunks(1 << 12) {
                    checkpoint();
                    sum += extent(values).1;
                }
                sum
            },
        )),
    }
}

/// The rows to show and how much each weighs; and a narrow copy of them, where this helps.
pub struct Shown {
    pub rows: Vec<u32>,
    pub weights: Vec<f64>,
    pub narrow: Option<Narrow>,
}

impl Shown {
    /// Take the rows of positive weight. If they are to be shuffled, equal ones of a class are pooled and the order
    /// depends only on their contents. Then no column may occur twice in a row.
    pub fn new(
        table: &Vectors<'_>,
        classes: &[i32],
        weights: &[f64],
        settings: &Settings,
        rule: &Rule<'_>,
    ) -> Result<Self, Unfit> {
        if !settings.shuffle {
            return numbers_fit(table).map(|()| Self::as_given(weights));
        }
        let presence = copied_as(table, settings, rule);
        let gathered = |zeros: bool| {
            let mut sample = Sample::new(table);
            let mut shown = Self::pooled(table, classes, weights, zeros, |row, vector| sample.see(row, vector));
            shown.narrow = presence.and_then(|presence| Narrow::new(table, &shown.rows, presence, sample));
            shown
        };
        // Few tables store zeros; copying shows whether this one does.
        let mut shown = gathered(presence.is_none());
        if presence.is_some() && shown.narrow.as_ref().is_none_or(|copy| copy.has_zeros) {
            shown = gathered(true);
        }
        let (repeats, fits) = match &shown.narrow {
            Some(copy) if weights.iter().all(|weight| *weight > 0.0) => (copy.repeats, squares_fit(copy.squares())),
            _ => (table.repeats_columns(), numbers_fit(table)),
        };
        if repeats {
            Err(Unfit::Repeats)
        } else {
            fits.map(|()| shown)
        }
    }

    fn as_given(weights: &[f64]) -> Self {
        let rows = (0..).zip(weights).filter(|&(_, &weight)| weight > 0.0);
        let (rows, weights) = rows.unzip();
        Shown {
            rows,
            weights,
            narrow: None,
        }
    }

    /// Sort by the columns of the rows, then by their contents; with `zeros`, columns whose number is zero do not
    /// count.
    fn pooled(
        table: &Vectors<'_>,
        classes: &[i32],
        weights: &[f64],
        zeros: bool,
        mut see: impl FnMut(usize, Vector<'_>),
    ) -> Self {
        let (weights, key) = (Some(weights), key_of(0));
        let keyed = if table.rows() <= FEW_ROWS {
            sorted_keys(classes.len(), weights, |row| {
                see(row, table.row(row));
                hash_of_few(table.row(row), classes[row])
            })
        } else {
            let mut keyed = vectorised(
                #[inline(always)]
                || {
                    sorted_keys(
                        classes.len(),
                        weights,
                        #[inline(always)]
                        |row| {
                            see(row, table.row(row));
                            columns_hash(table.row(row), key, zeros)
                        },
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
            narrow: None,
        }
    }
}

/// Return whether a narrow copy of the rows would hold only presence; `None` where it would not help.
fn copied_as(table: &Vectors<'_>, settings: &Settings, rule: &Rule<'_>) -> Option<bool> {
    let sparse = matches!(table, Vectors::Sparse { .. });
    let helps = sparse && settings.most_epochs >= FEW_EPOCHS && rule.skips_correct_rows();
    helps.then_some(matches!(rule, Rule::Winnow { .. } | Rule::BalancedWinnow { .. }))
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
        let pooled = |classes: &[i32], weights: &[f64]| Shown::pooled(&rows, classes, weights, true, |_, _| ());
        let mut shown = pooled(&[0, 0, 0], &[1.0, 2.0, 3.0]);
        assert_eq!(shown.weights.iter().sum::<f64>(), 6.0);
        shown.rows.sort_unstable();
        assert_eq!(shown.rows, [0, 1]);
        assert_eq!(pooled(&[0, 0, 1], &[1.0, 2.0, 0.0]).rows.len(), 2);
    }
}
