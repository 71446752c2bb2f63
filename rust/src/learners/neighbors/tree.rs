//! Nearest dense rows of few columns by Euclidean distance, through a k-d tree.
//!
//! Each node halves its rows at the median of the column in which they spread most, down to a few rows. A part of the
//! tree is left out if a lower bound on its distances is beyond the neighbors found so far. The bound allows for
//! rounding, and the distances are those of a comparison with every row, to the last bit.

use super::dense::squared_distance;
use super::{Found, Nearest};
use crate::system::cancel::checkpoints;

/// The most columns of rows in a tree.
pub const MOST_COLUMNS: usize = 8;
/// The most rows at the end of a branch.
const LEAF: usize = 16;
/// Bounds are this much smaller than computed, which is more than their rounding.
const CAUTION: f64 = 1.0 - 1e-12;

/// A search among rows that were put in order for it.
pub trait Index: Send + Sync {
    /// The `count` nearest rows to a query, nearest first; of equally near ones the first. A row may be left out.
    fn nearest(&self, query: &[f64], count: usize, without: Option<usize>) -> Vec<Found>;
}

/// Put rows of `n_columns` numbers in a tree; `None` if there are too many columns, or more rows than can be numbered.
pub fn tree(table: &[f64], n_columns: usize) -> Option<Box<dyn Index>> {
    match n_columns {
        1 => Tree::<1>::of(table),
        2 => Tree::<2>::of(table),
        3 => Tree::<3>::of(table),
        4 => Tree::<4>::of(table),
        5 => Tree::<5>::of(table),
        6 => Tree::<6>::of(table),
        7 => Tree::<7>::of(table),
        MOST_COLUMNS => Tree::<MOST_COLUMNS>::of(table),
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct Point<const D: usize> {
    at: [f64; D],
    row: u32,
}

/// The column and the number at which the rows of a node are halved.
#[derive(Clone, Copy, Default)]
struct Split {
    column: u32,
    at: f64,
}

/// The children of node i are 2i + 1 and 2i + 2. A node that has no split is a leaf.
struct Tree<const D: usize> {
    points: Vec<Point<D>>,
    splits: Vec<Split>,
    /// The first of the rows of each node and leaf.
    first_rows: Vec<u32>,
}

impl<const D: usize> Tree<D> {
    fn of(table: &[f64]) -> Option<Box<dyn Index>> {
        let (rows, _) = table.as_chunks::<D>();
        let _ = u32::try_from(rows.len()).ok()?;
        let points: Vec<Point<D>> = rows.iter().zip(0..).map(|(&at, row)| Point { at, row }).collect();
        let levels = points.len().div_ceil(LEAF).next_power_of_two().trailing_zeros();
        let nodes = (1usize << levels) - 1;
        let mut tree = Tree {
            splits: vec![Split::default(); nodes],
            first_rows: vec![u32::MAX; 2 * nodes + 1],
            points: Vec::new(),
        };
        let mut points = points;
        tree.halve(0, &mut points);
        tree.points = points;
        Some(Box::new(tree))
    }

    /// Order the rows of a node and of all below it.
    fn halve(&mut self, node: usize, points: &mut [Point<D>]) {
        checkpoints(1 + points.len() / 16);
        if node < self.splits.len() {
            let (column, middle) = (widest(points), points.len() / 2);
            if middle < points.len() {
                let order = |one: &Point<D>, other: &Point<D>| {
                    one.at[column]
                        .total_cmp(&other.at[column])
                        .then(one.row.cmp(&other.row))
                };
                let (_, median, _) = points.select_nth_unstable_by(middle, order);
                self.splits[node] = Split {
                    column: column as u32,
                    at: median.at[column],
                };
            }
            let (left, right) = points.split_at_mut(middle);
            self.halve(2 * node + 1, left);
            self.halve(2 * node + 2, right);
        }
        let least = points.iter().map(|point| point.row).min();
        self.first_rows[node] = least.unwrap_or(u32::MAX);
    }
}

/// The column in which points spread most; a spread beyond all numbers counts as the widest.
fn widest<const D: usize>(points: &[Point<D>]) -> usize {
    let (mut least, mut most) = ([f64::INFINITY; D], [f64::NEG_INFINITY; D]);
    for point in points {
        for column in 0..D {
            least[column] = least[column].min(point.at[column]);
            most[column] = most[column].max(point.at[column]);
        }
    }
    let spread = |column: &usize| most[*column] - least[*column];
    (0..D)
        .max_by(|one, other| spread(one).total_cmp(&spread(other)))
        .unwrap_or(0)
}

impl<const D: usize> Index for Tree<D> {
    fn nearest(&self, query: &[f64], count: usize, without: Option<usize>) -> Vec<Found> {
        let Some(&query) = query.first_chunk::<D>() else {
            return Vec::new();
        };
        let mut search = Search {
            tree: self,
            query,
            without: without.and_then(|row| u32::try_from(row).ok()),
            offsets: [0.0; D],
            nearest: Nearest::new(count),
            limit: f64::INFINITY,
        };
        search.visit(0, 0, self.points.len(), 0.0);
        search.nearest.sorted()
    }
}

struct Search<'a, const D: usize> {
    tree: &'a Tree<D>,
    query: [f64; D],
    without: Option<u32>,
    /// How far the cell of the node lies from the query, by column.
    offsets: [f64; D],
    nearest: Nearest,
    /// The square of the distance beyond which no row is wanted.
    limit: f64,
}

impl<const D: usize> Search<'_, D> {
    /// Look at the rows from `start` to `end`, whose squared distance is at least about `bound`.
    fn visit(&mut self, node: usize, start: usize, end: usize, bound: f64) {
        if bound * CAUTION > self.limit || self.is_too_late(node) {
            return;
        }
        let Some(&Split { column, at }) = self.tree.splits.get(node) else {
            return self.compare(start, end);
        };
        let (column, middle) = (column as usize, start + (end - start) / 2);
        let offset = self.query[column] - at;
        let before = self.offsets[column];
        let beyond = bound - before * before + offset * offset;
        if offset < 0.0 {
            self.visit(2 * node + 1, start, middle, bound);
            self.offsets[column] = offset;
            self.visit(2 * node + 2, middle, end, beyond);
        } else {
            self.visit(2 * node + 2, middle, end, bound);
            self.offsets[column] = offset;
            self.visit(2 * node + 1, start, middle, beyond);
        }
        self.offsets[column] = before;
    }

    /// Return whether the last neighbor is at a distance of zero, and all rows of the node come after it: without this
    /// look, many equal rows would all be compared.
    fn is_too_late(&self, node: usize) -> bool {
        let last = self.nearest.last();
        last.is_some_and(|last| last.distance == 0.0 && last.row < self.tree.first_rows[node] as usize)
    }

    fn compare(&mut self, start: usize, end: usize) {
        for point in &self.tree.points[start..end] {
            let square = squared_distance(&point.at, &self.query);
            if square * CAUTION > self.limit || Some(point.row) == self.without {
                continue;
            }
            self.nearest.offer(Found {
                distance: square.sqrt(),
                row: point.row as usize,
            });
            let limit = self.nearest.limit();
            // The smallest squares have few digits.
            self.limit = limit * limit + f64::MIN_POSITIVE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn next(&mut self, most: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % most
        }
    }

    fn compared_with_all(table: &[f64], query: &[f64], count: usize, without: Option<usize>) -> Vec<Found> {
        let mut nearest = Nearest::new(count);
        for (row, numbers) in table.chunks(query.len()).enumerate() {
            if Some(row) != without {
                let distance = squared_distance(numbers, query).sqrt();
                nearest.offer(Found { distance, row });
            }
        }
        nearest.sorted()
    }

    #[test]
    fn the_tree_finds_what_a_comparison_with_every_row_finds() {
        let mut random = Random(1);
        for n_columns in 1..=MOST_COLUMNS {
            for rows in [1, 2, 15, 16, 17, 33, 200, 1000] {
                // Few different numbers make ties and duplicates; large ones overflow when they are squared.
                for (different, scale) in [(2, 1.0), (10, 0.1), (1 << 30, 1e-9), (5, 1e200), (3, 1e-170)] {
                    let mut number = || (random.next(different) as f64 - 1.0) * scale;
                    let table: Vec<f64> = (0..rows * n_columns).map(|_| number()).collect();
                    let tree = tree(&table, n_columns).unwrap();
                    for count in [1, 2, 7, rows] {
                        let query: Vec<f64> = (0..n_columns).map(|_| number()).collect();
                        let count = count.min(rows);
                        let expected = compared_with_all(&table, &query, count, None);
                        assert_eq!(tree.nearest(&query, count, None), expected);
                        let own = &table[..n_columns];
                        let expected = compared_with_all(&table, own, count.min(rows - 1), Some(0));
                        assert_eq!(tree.nearest(own, count.min(rows - 1), Some(0)), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_of_many_columns_have_no_tree() {
        assert!(tree(&[0.0; 18], 9).is_none() && tree(&[], 0).is_none());
    }
}
