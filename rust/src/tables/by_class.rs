//! Rows of numbers added up by class: the statistics of naive Bayes on tables of counts.

use crate::system::cancel::{checkpoint, checkpoints};
use crate::system::vector::vectorized;

/// A number of a table.
pub trait Number: Copy + Send + Sync {
    fn number(self) -> f64;
}

macro_rules! numbers {
    ($($kind:ty),*) => {
        $(impl Number for $kind {
            #[inline(always)]
            fn number(self) -> f64 {
                self as f64
            }
        })*
    };
}

numbers!(f64, f32, i64, i32, u8);

/// A place in a sparse table.
pub trait Place: Copy + Send + Sync {
    /// The place; a negative one is beyond every table.
    fn place(self) -> usize;
}

impl Place for i32 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

impl Place for i64 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

/// What a number of the table adds to a sum.
#[derive(Clone, Copy)]
pub enum Counted {
    /// The number itself.
    Amount,
    /// One if the number is above a threshold.
    Above(f64),
}

/// The class of each row, and its weight if the rows do not all have the weight 1.
#[derive(Clone, Copy)]
pub struct Groups<'a> {
    pub classes: &'a [i32],
    pub weights: Option<&'a [f64]>,
}

impl Groups<'_> {
    #[inline(always)]
    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }
}

/// Compressed sparse rows, or columns.
#[derive(Clone, Copy)]
pub struct Compressed<'a, P, V> {
    pub starts: &'a [P],
    pub places: &'a [P],
    pub values: &'a [V],
}

impl<'a, P: Place + Ord, V: Number> Compressed<'a, P, V> {
    /// Return whether there are `number` lines which lie inside the values.
    pub fn fits(&self, number: usize) -> bool {
        let (first, last) = (self.starts.first(), self.starts.last());
        let ends =
            first.is_some_and(|first| first.place() == 0) && last.is_some_and(|last| last.place() <= self.values.len());
        ends && self.values.len() == self.places.len() && self.starts.len() == number + 1 && self.starts.is_sorted()
    }

    /// Return whether every place is below `most`.
    pub fn within(&self, most: usize) -> bool {
        // Without branches: as an unsigned number, a negative one is large.
        self.places.is_empty() || self.places.iter().fold(0, |highest, place| place.place().max(highest)) < most
    }

    #[inline(always)]
    pub(super) fn line(&self, index: usize) -> (&'a [P], &'a [V]) {
        let span = self.starts[index].place()..self.starts[index + 1].place();
        (&self.places[span.clone()], &self.values[span])
    }
}

/// Add sparse rows to the sums of their classes, classes × columns. The table must fit.
pub fn add_rows<P: Place + Ord, V: Number>(
    rows: Compressed<'_, P, V>,
    groups: Groups<'_>,
    counted: Counted,
    sums: &mut [f64],
    n_columns: usize,
) {
    match counted {
        Counted::Amount => add_rows_by(rows, groups, V::number, sums, n_columns),
        Counted::Above(least) => add_rows_by(rows, groups, above(least), sums, n_columns),
    }
}

/// Add sparse columns to the sums of the classes of their rows, classes × columns. The table must fit.
pub fn add_columns<P: Place + Ord, V: Number>(
    columns: Compressed<'_, P, V>,
    groups: Groups<'_>,
    counted: Counted,
    sums: &mut [f64],
    n_columns: usize,
) {
    match counted {
        Counted::Amount => add_columns_by(columns, groups, V::number, sums, n_columns),
        Counted::Above(least) => add_columns_by(columns, groups, above(least), sums, n_columns),
    }
}

/// Add rows of a dense table, row after row or (`by_column`) column after column, to the sums of their classes.
pub fn add_dense<V: Number>(
    values: &[V],
    by_column: bool,
    groups: Groups<'_>,
    counted: Counted,
    sums: &mut [f64],
    n_columns: usize,
) {
    match (counted, by_column) {
        (Counted::Amount, false) => add_dense_rows(values, groups, V::number, sums, n_columns),
        (Counted::Above(least), false) => add_dense_rows(values, groups, above(least), sums, n_columns),
        (Counted::Amount, true) => add_dense_columns(values, groups, V::number, sums, n_columns),
        (Counted::Above(least), true) => add_dense_columns(values, groups, above(least), sums, n_columns),
    }
}

#[inline(always)]
fn above<V: Number>(least: f64) -> impl Fn(V) -> f64 + Copy {
    move |value| f64::from(u8::from(value.number() > least))
}

#[inline(always)]
fn add_rows_by<P: Place + Ord, V: Number>(
    rows: Compressed<'_, P, V>,
    groups: Groups<'_>,
    count: impl Fn(V) -> f64,
    sums: &mut [f64],
    n_columns: usize,
) {
    for (row, &class) in groups.classes.iter().enumerate() {
        checkpoint();
        let (weight, (columns, values)) = (groups.weight(row), rows.line(row));
        let sums = &mut sums[class as usize * n_columns..][..n_columns];
        for (column, &value) in columns.iter().zip(values) {
            sums[column.place()] += weight * count(value);
        }
    }
}

#[inline(always)]
fn add_columns_by<P: Place + Ord, V: Number>(
    columns: Compressed<'_, P, V>,
    groups: Groups<'_>,
    count: impl Fn(V) -> f64,
    sums: &mut [f64],
    n_columns: usize,
) {
    for column in 0..n_columns {
        checkpoint();
        let (rows, values) = columns.line(column);
        for (row, &value) in rows.iter().zip(values) {
            let row = row.place();
            sums[groups.classes[row] as usize * n_columns + column] += groups.weight(row) * count(value);
        }
    }
}

#[inline(always)]
fn add_dense_rows<V: Number>(
    values: &[V],
    groups: Groups<'_>,
    count: impl Fn(V) -> f64 + Copy,
    sums: &mut [f64],
    n_columns: usize,
) {
    if n_columns == 0 {
        return;
    }
    vectorized(
        #[inline(always)]
        || {
            for (row, (numbers, &class)) in values.chunks_exact(n_columns).zip(groups.classes).enumerate() {
                checkpoints(1 + n_columns / 64);
                let weight = groups.weight(row);
                let sums = &mut sums[class as usize * n_columns..][..n_columns];
                for (sum, &value) in sums.iter_mut().zip(numbers) {
                    *sum += weight * count(value);
                }
            }
        },
    );
}

#[inline(always)]
fn add_dense_columns<V: Number>(
    values: &[V],
    groups: Groups<'_>,
    count: impl Fn(V) -> f64,
    sums: &mut [f64],
    n_columns: usize,
) {
    let rows = groups.classes.len();
    if rows == 0 || n_columns == 0 {
        return;
    }
    // Four sums for a class, used in turn: when it comes again at once, the addition need not wait for the last one.
    let mut of_column = vec![[0.0; 4]; sums.len() / n_columns];
    for (column, numbers) in values.chunks_exact(rows).enumerate() {
        checkpoints(1 + rows / 64);
        of_column.fill([0.0; 4]);
        for (row, (&value, &class)) in numbers.iter().zip(groups.classes).enumerate() {
            of_column[class as usize][row % 4] += groups.weight(row) * count(value);
        }
        for (class, turns) in of_column.iter().enumerate() {
            sums[class * n_columns + column] += turns.iter().sum::<f64>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: [i32; 4] = [1, 0, 1, 1];
    /// Four rows of three columns, and the same in compressed rows and columns.
    const DENSE: [f32; 12] = [0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.5];
    const BY_COLUMN: [f32; 12] = [0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 4.0, 0.5];
    const ROWS: Compressed<'_, i32, f32> = Compressed {
        starts: &[0, 1, 2, 4, 5],
        places: &[1, 0, 2, 1, 2],
        values: &[2.0, 1.0, 4.0, 3.0, 0.5],
    };
    const COLUMNS: Compressed<'_, i64, f32> = Compressed {
        starts: &[0, 1, 3, 5],
        places: &[1, 0, 2, 3, 2],
        values: &[1.0, 2.0, 3.0, 0.5, 4.0],
    };

    #[test]
    fn every_layout_gives_the_same_sums() {
        let weights = [1.0, 2.0, 0.5, 4.0];
        for (weights, counted, expected) in [
            (None, Counted::Amount, [1.0, 0.0, 0.0, 0.0, 5.0, 4.5]),
            (None, Counted::Above(0.5), [1.0, 0.0, 0.0, 0.0, 2.0, 1.0]),
            (Some(&weights[..]), Counted::Amount, [2.0, 0.0, 0.0, 0.0, 3.5, 4.0]),
        ] {
            let groups = Groups {
                classes: &CLASSES,
                weights,
            };
            let mut found = [[0.0; 6]; 4];
            add_rows(ROWS, groups, counted, &mut found[0], 3);
            add_columns(COLUMNS, groups, counted, &mut found[1], 3);
            add_dense(&DENSE, false, groups, counted, &mut found[2], 3);
            add_dense(&BY_COLUMN, true, groups, counted, &mut found[3], 3);
            assert_eq!(found, [expected; 4]);
        }
    }

    #[test]
    fn tables_that_do_not_match_are_found() {
        assert!(ROWS.fits(4) && ROWS.within(3) && COLUMNS.fits(3) && COLUMNS.within(4));
        assert!(!ROWS.fits(3) && !ROWS.within(2) && !COLUMNS.within(0));
        let falling = Compressed {
            starts: &[0, 3, 2, 4, 5],
            ..ROWS
        };
        let negative = Compressed {
            places: &[1, -1, 2, 1, 2],
            ..ROWS
        };
        let beyond = Compressed {
            starts: &[0, 1, 2, 4, 6],
            ..ROWS
        };
        assert!(!falling.fits(4) && !negative.within(3) && !beyond.fits(4));
    }
}
