//! A canonical order of rows, equal rows merged.
//!
//! The order comes from a keyed hash of the contents of a row, and equal rows of one class become one row with the sum
//! of their weights. So the result does not depend on the order of the rows, a row of weight 2 is the same as that row
//! twice, to the last bit, and files sorted by class do no harm.

use super::mix;
use crate::system::cancel::checkpoint;
use crate::tables::vectors::{Vector, Vectors};

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

pub const NOWHERE: u32 = u32::MAX;

/// A keyed hash of the numbers of a row that are not zero, and of its class. It is a sum, so that the order of
/// the columns does not matter and the additions need not wait for each other.
#[inline(always)]
pub fn content_hash(vector: Vector<'_>, class: i32, key: u64) -> u64 {
    let mut sum = key;
    vector.each(|column, value| {
        if value != 0.0 {
            let folded = u128::from(value.to_bits() ^ key) * u128::from(((column as u64) << 1 | 1).wrapping_mul(ODD));
            sum = sum.wrapping_add(folded as u64 ^ (folded >> 64) as u64);
        }
    });
    mix(sum) ^ mix(class as u64)
}

/// A keyed hash of the columns of a row whose number is not zero, also a sum.
#[inline(always)]
pub fn columns_hash(vector: Vector<'_>, key: u64) -> u64 {
    let hash = |column: usize| {
        let spread = (column as u64 ^ key >> 32).wrapping_mul(ODD);
        ((spread >> 32) * (spread & u64::from(u32::MAX) | 1)) ^ spread
    };
    let mut sum = key;
    vector.each(|column, value| sum = sum.wrapping_add(if value == 0.0 { 0 } else { hash(column) }));
    mix(sum)
}

/// The key of the hashes for a seed.
pub fn key_of(seed: u64) -> u64 {
    mix(seed ^ 0x5851_f42d_4c95_7f2d)
}

/// Return each row of positive weight with its key, sorted by key.
#[inline(always)]
pub fn sorted_keys(rows: usize, weights: Option<&[f64]>, mut key: impl FnMut(usize) -> u64) -> Vec<(u64, u32)> {
    let mut keyed = Vec::with_capacity(rows);
    for row in 0..rows {
        checkpoint();
        if weights.is_none_or(|weights| weights[row] > 0.0) {
            keyed.push((key(row), row as u32));
        }
    }
    sort_by_key(&mut keyed);
    keyed
}

/// Assign a second key to rows of the same key, and sort them by it.
pub fn untie(keyed: &mut [(u64, u32)], second: impl Fn(usize) -> u64) {
    for tied in keyed
        .chunk_by_mut(|left, right| left.0 == right.0)
        .filter(|tied| tied.len() > 1)
    {
        for (key, row) in &mut *tied {
            checkpoint();
            *key = second(*row as usize);
        }
        sort_by_key(tied);
    }
}

fn sort_by_key(keyed: &mut [(u64, u32)]) {
    if keyed.len() < 1 << 20 {
        return keyed.sort_unstable(); // too fast to be cancelled
    }
    keyed.sort_unstable_by(|left, right| {
        checkpoint();
        left.cmp(right)
    });
}

/// One merged row: its place in the table, its class, the sum of its weights.
#[derive(Clone, Copy)]
pub struct Merged {
    pub row: usize,
    pub class: u32,
    pub weight: f64,
}

/// Which rows there are, in the order of their hashes, and the merged row of each given row (`NOWHERE`: weight 0).
pub struct Order {
    pub merged: Vec<Merged>,
    pub places: Vec<u32>,
}

impl Order {
    /// Sort rows by a keyed hash of their contents.
    pub fn new(table: &Vectors<'_>, classes: &[i32], weights: Option<&[f64]>, seed: u64) -> Self {
        let key = key_of(seed);
        let keyed = sorted_keys(classes.len(), weights, |row| {
            content_hash(table.row(row), classes[row], key)
        });
        Self::merged(table, classes, weights, keyed)
    }

    /// Take rows in this order, in which equal ones are neighbors and have the same key; see [`sorted_keys`].
    pub fn merged(table: &Vectors<'_>, classes: &[i32], weights: Option<&[f64]>, keyed: Vec<(u64, u32)>) -> Self {
        let mut order = Order {
            merged: Vec::with_capacity(keyed.len()),
            places: vec![NOWHERE; classes.len()],
        };
        let mut first = 0; // of those with the same hash
        let mut last_hash = None;
        for (hash, row) in keyed {
            let row = row as usize;
            if last_hash != Some(hash) {
                (first, last_hash) = (order.merged.len(), Some(hash));
            }
            // Equal hashes are no proof: somebody can construct them.
            let equal = |kept: &Merged| kept.class == classes[row] as u32 && table.row(kept.row).equals(table.row(row));
            let place = order.merged[first..].iter().position(equal).map(|place| first + place);
            let place = place.unwrap_or_else(|| {
                let (class, weight) = (classes[row] as u32, 0.0);
                order.merged.push(Merged { row, class, weight });
                order.merged.len() - 1
            });
            let merged = &mut order.merged[place];
            merged.weight += weights.map_or(1.0, |weights| weights[row]);
            // Of rows that differ only in the order of columns, always read the same one.
            if row != merged.row && table.row(row).precedes(table.row(merged.row)) {
                merged.row = row;
            }
            order.places[row] = place as u32;
        }
        order
    }

    /// The rows that represent all.
    pub fn rows(&self) -> Vec<u32> {
        self.merged.iter().map(|merged| merged.row as u32).collect()
    }
}
