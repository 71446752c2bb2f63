//! Nearest dense rows by Euclidean distance or cosine, from approximate values that come block by block.

use super::sparse::cosine_distance;
use super::{Found, Nearest};
use crate::system::vector::{any_within, code_path};

/// Values checked together.
const SCREENED: usize = 64;
/// Beyond this multiple of the neighbors wanted, and `CROWD_LEAST`, a query is crowded.
const CROWD: usize = 16;
const CROWD_LEAST: usize = 1 << 12;

/// The squared Euclidean distance, summed column by column.
pub(super) fn squared_distance(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).fold(0.0, |sum, (a, b)| sum + (a - b) * (a - b))
}

/// The distance of dense rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    Euclidean,
    /// One minus the cosine; rows and queries have unit length.
    Cosine,
}

impl Measure {
    /// The distance, summed column by column.
    fn distance(self, row: &[f64], query: &[f64]) -> f64 {
        match self {
            Measure::Euclidean => squared_distance(row, query).sqrt(),
            Measure::Cosine => cosine_distance(row.iter().zip(query).fold(0.0, |sum, (a, b)| sum + a * b)),
        }
    }
}

/// Candidates of one query among dense rows, from approximate values that come block by block.
pub struct Screen {
    count: usize,
    slack: f32,
    without: Option<usize>,
    best: Nearest,
    limit: f32,
    candidates: Vec<(f32, u32)>,
    /// Whether too many rows are about equally near, so that all must be compared.
    crowded: bool,
}

impl Screen {
    /// Start a search; `slack` bounds the error of a value. If it is not finite, all rows are compared.
    pub fn new(count: usize, slack: f32, without: Option<usize>) -> Self {
        Screen {
            count,
            slack,
            without,
            best: Nearest::new(count),
            limit: f32::INFINITY,
            candidates: Vec::new(),
            crowded: !slack.is_finite(),
        }
    }

    /// Return whether there are `count` neighbors among `rows` rows, and no candidate beyond them.
    pub fn fits(&self, count: usize, rows: usize) -> bool {
        let within = self.candidates.iter().all(|candidate| (candidate.1 as usize) < rows);
        let enough = self.crowded || self.candidates.len() >= count;
        count == self.count && count + usize::from(self.without.is_some()) <= rows && within && enough
    }

    /// Take the values of rows from `first` on; smaller is nearer.
    pub fn add(&mut self, values: &[f32], first: usize) {
        if self.crowded {
            return;
        }
        let path = code_path();
        for (block, part) in values.chunks(SCREENED).enumerate() {
            if any_within(path, part, self.limit) {
                self.take(part, first + block * SCREENED);
            }
        }
        if self.candidates.len() > CROWD * self.count + CROWD_LEAST {
            let limit = self.limit;
            self.candidates.retain(|candidate| candidate.0 <= limit);
            self.crowded = self.candidates.len() > (CROWD * self.count + CROWD_LEAST) / 2;
        }
    }

    fn take(&mut self, values: &[f32], first: usize) {
        for (offset, &value) in values.iter().enumerate() {
            let row = first + offset;
            if value > self.limit || Some(row) == self.without {
                continue;
            }
            self.candidates.push((value, row as u32));
            let distance = f64::from(value);
            self.best.offer(Found { distance, row });
            self.limit = (self.best.limit() + 2.0 * f64::from(self.slack)) as f32;
        }
    }

    /// The nearest of `rows`, each of `query.len()` numbers.
    pub fn nearest(self, rows: &[f64], query: &[f64], measure: Measure) -> Vec<Found> {
        let n_columns = query.len().max(1);
        let distance = |row: usize| measure.distance(&rows[row * n_columns..(row + 1) * n_columns], query);
        let mut nearest = Nearest::new(self.count);
        if self.crowded {
            for row in (0..rows.len() / n_columns).filter(|&row| Some(row) != self.without) {
                nearest.offer(Found {
                    distance: distance(row),
                    row,
                });
            }
            return nearest.sorted();
        }
        for &(_, row) in self.candidates.iter().filter(|candidate| candidate.0 <= self.limit) {
            let row = row as usize;
            nearest.offer(Found {
                distance: distance(row),
                row,
            });
        }
        nearest.sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crowded_rows_are_all_compared() {
        let rows = vec![1.0; 20_000];
        let mut screen = Screen::new(2, 0.1, Some(0));
        rows.chunks(500)
            .enumerate()
            .for_each(|(part, _)| screen.add(&[0.0; 500], part * 500));
        assert!(screen.crowded);
        let nearest = screen.nearest(&rows, &[3.0], Measure::Euclidean);
        let found: Vec<usize> = nearest.iter().map(|found| found.row).collect();
        assert_eq!(found, [1, 2]);
    }
}
