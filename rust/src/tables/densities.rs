//! Scores of many columns of numbers at once: each has a normal density in each class, or bins with weights.

use super::bins::Bins;
use crate::system::vector::{Kernel, dispatch};

/// Rows worked on at once, at most and at least, and their scores: they stay in the nearest cache.
const MOST_ROWS: usize = 1 << 9;
const LEAST_ROWS: usize = 1 << 5;
const BLOCK: usize = 1 << 12;
/// The difference of two numbers below this is a number.
const NEAR: f64 = 1e300;

/// What a column contributes to the score of each class.
pub enum Column {
    /// A normal density in each class: mean, standard deviation and its logarithm.
    Normal {
        means: Vec<f64>,
        deviations: Vec<f64>,
        logs: Vec<f64>,
    },
    /// The bins between edges. The weights of bins × classes, zeros for a bin that is not known, and a row of zeros.
    Binned {
        bins: Bins,
        weights: Vec<f64>,
        known: Vec<bool>,
    },
}

/// The scores of rows × classes, and for each row how many of its numbers are known and unknown.
pub struct Scores<'a> {
    pub scores: &'a mut [f64],
    pub known: &'a mut [i64],
    pub unknown: &'a mut [i64],
}

/// Columns of numbers with the same classes.
pub struct Densities {
    pub columns: Vec<Column>,
    pub classes: usize,
    /// Squared distances in standard deviations are cut here.
    pub farthest: f64,
}

impl Densities {
    /// Add the scores of rows, column by column; a missing number (NaN) and an infinite one of a density add nothing.
    ///
    /// `values` are the numbers of each column, as many as there are rows.
    pub fn add(&self, values: &[&[f64]], into: Scores<'_>) {
        let rows = into.known.len();
        let block = (BLOCK / self.classes.max(1)).clamp(LEAST_ROWS, MOST_ROWS);
        let (mut tile, mut codes) = (vec![0.0; block * self.classes], [0i64; MOST_ROWS]);
        for start in (0..rows).step_by(block) {
            let end = (start + block).min(rows);
            let scores = &mut into.scores[start * self.classes..end * self.classes];
            let tile = &mut tile[..scores.len()];
            // Class by class, neighbors are rows: loops over them become vectors.
            turn(scores, tile, self.classes, end - start, true);
            let (known, unknown) = (&mut into.known[start..end], &mut into.unknown[start..end]);
            for (column, values) in self.columns.iter().zip(values) {
                let values = &values[start..end];
                match column {
                    Column::Normal {
                        means,
                        deviations,
                        logs,
                    } => dispatch(Normal {
                        values,
                        means,
                        deviations,
                        logs,
                        farthest: self.farthest,
                        tile,
                        known,
                    }),
                    Column::Binned {
                        bins,
                        weights,
                        known: levels,
                    } => {
                        let codes = &mut codes[..values.len()];
                        bins.assign(values, codes);
                        for (place, &code) in codes.iter().enumerate().filter(|(_, code)| **code >= 0) {
                            let found = levels[code as usize];
                            known[place] += i64::from(found);
                            unknown[place] += i64::from(!found);
                        }
                        for (class, sums) in tile.chunks_exact_mut(values.len()).enumerate() {
                            for (sum, &code) in sums.iter_mut().zip(codes.iter()) {
                                // A missing number has the last row, of zeros.
                                *sum += weights[(code as usize).min(levels.len()) * self.classes + class];
                            }
                        }
                    }
                }
            }
            turn(scores, tile, self.classes, end - start, false);
        }
    }
}

/// Copy rows × classes to classes × rows, or back.
fn turn(scores: &mut [f64], tile: &mut [f64], classes: usize, rows: usize, forward: bool) {
    for (row, scores) in scores.chunks_exact_mut(classes.max(1)).enumerate() {
        for (class, score) in scores.iter_mut().enumerate() {
            let cell = &mut tile[class * rows + row];
            if forward {
                *cell = *score;
            } else {
                *score = *cell;
            }
        }
    }
}

struct Normal<'a> {
    values: &'a [f64],
    means: &'a [f64],
    deviations: &'a [f64],
    logs: &'a [f64],
    farthest: f64,
    tile: &'a mut [f64],
    known: &'a mut [i64],
}

impl Kernel for Normal<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (known, value) in self.known.iter_mut().zip(self.values) {
            *known += i64::from(value.is_finite());
        }
        let rows = self.values.len();
        let are_near = self.values.iter().all(|value| value.is_nan() || value.abs() < NEAR);
        let parameters = self.means.iter().zip(self.deviations).zip(self.logs);
        for (sums, ((&mean, &deviation), &log)) in self.tile.chunks_exact_mut(rows.max(1)).zip(parameters) {
            let squared = |distance: f64| {
                let square = distance * distance;
                if square < self.farthest { square } else { self.farthest }
            };
            let score = |distance: f64| -0.5 * (LOG_2_PI + squared(distance)) - log;
            let scored = |value: f64, distance: f64| if value.is_finite() { score(distance) } else { 0.0 };
            let pairs = sums.iter_mut().zip(self.values);
            if are_near && mean.abs() < NEAR {
                pairs.for_each(|(sum, &value)| *sum += scored(value, (value - mean) / deviation));
            } else {
                // The difference of two doubles may be none.
                pairs.for_each(|(sum, &value)| {
                    let (distance, half) = (value - mean, value / 2.0 - mean / 2.0);
                    let far = half / (deviation / 2.0);
                    let distance = if distance.is_finite() {
                        distance / deviation
                    } else {
                        far
                    };
                    *sum += scored(value, distance);
                });
            }
        }
    }
}

/// The logarithm of 2π.
const LOG_2_PI: f64 = 1.837_877_066_409_345_3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::vector::on_every_path;

    fn densities() -> Densities {
        let normal = Column::Normal {
            means: vec![0.0, 1.0, -1e308],
            deviations: vec![1.0, 2.0, 0.5],
            logs: [1.0f64, 2.0, 0.5].map(f64::ln).to_vec(),
        };
        let binned = Column::Binned {
            bins: Bins::new(vec![vec![0.5, 2.0]]),
            weights: vec![-1.0, -2.0, -3.0, 0.0, 0.0, 0.0, -4.0, -5.0, -6.0, 0.0, 0.0, 0.0],
            known: vec![true, false, true],
        };
        Densities {
            columns: vec![normal, binned],
            classes: 3,
            farthest: 1e150,
        }
    }

    #[test]
    fn scores_are_added_to_what_is_there() {
        let rows = 2 * MOST_ROWS + 3;
        let some = [0.25, f64::NAN, 1.5, -3.0, f64::INFINITY, 1.7e308];
        let values: Vec<f64> = (0..rows).map(|row| some[row % some.len()]).collect();
        let (mut scores, mut known, mut unknown) = (vec![7.0; 3 * rows], vec![0; rows], vec![0; rows]);
        let into = Scores {
            scores: &mut scores,
            known: &mut known,
            unknown: &mut unknown,
        };
        densities().add(&[&values, &values], into);
        for row in 0..rows {
            let (x, finite) = (values[row], values[row].is_finite());
            let expected = [(0.0, 1.0, 0), (1.0, 2.0, 1)].map(|(mean, deviation, class): (f64, f64, usize)| {
                let z: f64 = (x - mean) / deviation;
                let log = -0.5 * (LOG_2_PI + (z * z).min(1e150)) - deviation.ln();
                let bin = [[-1.0, -2.0], [0.0, 0.0], [-4.0, -5.0]][usize::from(x >= 0.5) + usize::from(x >= 2.0)];
                let bin = if x.is_nan() { 0.0 } else { bin[class] };
                7.0 + if finite { log } else { 0.0 } + bin
            });
            assert_eq!(scores[3 * row..3 * row + 2], expected, "{x}");
            assert!(scores[3 * row + 2].is_finite());
            let middle = (0.5..2.0).contains(&x);
            assert_eq!(known[row], i64::from(finite) + i64::from(!x.is_nan() && !middle));
            assert_eq!(unknown[row], i64::from(middle));
        }
    }

    #[test]
    fn every_path_gives_the_same_scores() {
        let values: Vec<f64> = (0..100).map(|step| f64::from(step * step) * 0.37 - 900.0).collect();
        let found = on_every_path(|| Path(&values));
        assert!(found.iter().all(|one| *one == found[0]));
    }

    struct Path<'a>(&'a [f64]);

    impl Kernel for Path<'_> {
        type Output = (Vec<f64>, Vec<i64>);

        #[inline(always)]
        fn run(self) -> Self::Output {
            let (mut tile, mut known) = (vec![0.1; 2 * self.0.len()], vec![0; self.0.len()]);
            let kernel = Normal {
                values: self.0,
                means: &[0.3, -1e308],
                deviations: &[1.7, 0.5],
                logs: &[0.5, -0.7],
                farthest: 1e150,
                tile: &mut tile,
                known: &mut known,
            };
            kernel.run();
            (tile, known)
        }
    }
}
