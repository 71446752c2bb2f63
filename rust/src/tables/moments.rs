//! Moments of numeric columns by class, and scores under normal densities.
//!
//! A missing number is NaN: it leaves its column out of its row's sums.

use super::labels::tally;
use crate::system::vector::{Kernel, dispatch};

/// Columns worked on at once: independent sums, which the processor adds side by side.
const LANES: usize = 4;

/// Sums by class and column about a pivot: Σ w, Σ w(x−c), Σ w(x−c)².
#[derive(Clone)]
pub struct Moments {
    pub counts: Vec<f64>,
    pub first: Vec<f64>,
    pub second: Vec<f64>,
}

impl Moments {
    pub fn new(classes: usize, n_columns: usize) -> Self {
        let zeros = vec![0.0; classes * n_columns];
        Moments {
            counts: zeros.clone(),
            first: zeros.clone(),
            second: zeros,
        }
    }

    /// Sum rows of `pivot.len()` numbers with the class and the weight of each.
    pub fn of(rows: &[f64], classes: &[i32], n_classes: usize, weights: Option<&[f64]>, pivot: &[f64]) -> Self {
        let mut sums = Moments::new(n_classes, pivot.len());
        if weights.is_none() && sums.add_complete(rows, classes, pivot) {
            return sums;
        }
        let mut sums = Moments::new(n_classes, pivot.len());
        sums.add(rows, classes, weights, pivot);
        sums
    }

    /// Add rows in which nothing is missing; return whether nothing was; if not, the sums are useless.
    fn add_complete(&mut self, rows: &[f64], classes: &[i32], pivot: &[f64]) -> bool {
        dispatch(CompleteSums {
            rows,
            classes,
            pivot,
            first: &mut self.first,
            second: &mut self.second,
        });
        let n_columns = pivot.len();
        let rows_of = tally(
            classes.iter().map(|&class| class as usize),
            self.counts.len() / n_columns,
        );
        for (counts, rows) in self.counts.chunks_exact_mut(n_columns).zip(rows_of) {
            counts.fill(rows as f64);
        }
        !self.second.iter().any(|sum| sum.is_nan())
    }

    fn add(&mut self, rows: &[f64], classes: &[i32], weights: Option<&[f64]>, pivot: &[f64]) {
        let n_columns = pivot.len();
        for (index, (row, &class)) in rows.chunks_exact(n_columns).zip(classes).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[index]);
            let range = class as usize * n_columns..(class as usize + 1) * n_columns;
            let counts = &mut self.counts[range.clone()];
            let sums = self.first[range.clone()].iter_mut().zip(&mut self.second[range]);
            for (((value, center), count), (first, second)) in row.iter().zip(pivot).zip(counts).zip(sums) {
                let distance = value - center;
                let present = if distance.is_nan() { 0.0 } else { weight };
                let distance = if distance.is_nan() { 0.0 } else { distance };
                *count += present;
                *first += present * distance;
                *second += present * distance * distance;
            }
        }
    }

    pub fn merge(&mut self, other: &Moments) {
        let pairs = [
            (&mut self.counts, &other.counts),
            (&mut self.first, &other.first),
            (&mut self.second, &other.second),
        ];
        for (mine, theirs) in pairs {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

/// First and second sums of rows without weights and without missing values.
struct CompleteSums<'a> {
    rows: &'a [f64],
    classes: &'a [i32],
    pivot: &'a [f64],
    first: &'a mut [f64],
    second: &'a mut [f64],
}

impl Kernel for CompleteSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n_columns = self.pivot.len();
        let (centers, last_centers) = self.pivot.as_chunks::<LANES>();
        for (row, &class) in self.rows.chunks_exact(n_columns).zip(self.classes) {
            let range = class as usize * n_columns..(class as usize + 1) * n_columns;
            let (values, last_values) = row.as_chunks::<LANES>();
            let (first, last_first) = self.first[range.clone()].as_chunks_mut::<LANES>();
            let (second, last_second) = self.second[range].as_chunks_mut::<LANES>();
            for (((value, center), first), second) in values.iter().zip(centers).zip(first).zip(second) {
                for lane in 0..LANES {
                    let distance = value[lane] - center[lane];
                    first[lane] += distance;
                    second[lane] += distance * distance;
                }
            }
            let last = last_values.iter().zip(last_centers);
            for (((value, center), first), second) in last.zip(last_first).zip(last_second) {
                let distance = value - center;
                *first += distance;
                *second += distance * distance;
            }
        }
    }
}

/// Normal densities by class and column: log p(x) = level − (x − mean)² · scale; and a bias for each class.
pub struct Normals<'a> {
    pub means: &'a [f64],
    pub scales: &'a [f64],
    pub levels: &'a [f64],
    pub bias: &'a [f64],
}

impl Normals<'_> {
    /// The score of each class when nothing is missing and every number is the mean.
    pub fn heights(&self, n_columns: usize) -> Vec<f64> {
        let sums = self
            .levels
            .chunks_exact(n_columns.max(1))
            .map(|levels| levels.iter().sum::<f64>());
        self.bias.iter().zip(sums).map(|(bias, sum)| bias + sum).collect()
    }

    /// Write the scores of rows of `n_columns` numbers, one for each class; `heights` are those of [`Normals::heights`].
    pub fn score(&self, rows: &[f64], n_columns: usize, heights: &[f64], scores: &mut [f64]) {
        let scores_of_rows = &mut *scores;
        let complete = match n_columns {
            1 => dispatch(Densities {
                normals: self,
                heights,
                numbers: rows,
                scores: scores_of_rows,
            }),
            _ => dispatch(Distances {
                normals: self,
                heights,
                n_columns,
                rows,
                scores: scores_of_rows,
            }),
        };
        if !complete {
            self.score_incomplete(rows, n_columns, scores);
        }
    }

    /// Score the rows again in which a number is missing.
    fn score_incomplete(&self, rows: &[f64], n_columns: usize, scores: &mut [f64]) {
        let incomplete = rows
            .chunks_exact(n_columns)
            .zip(scores.chunks_exact_mut(self.bias.len()))
            .filter(|(row, _)| row.iter().any(|value| value.is_nan()));
        for (row, scores) in incomplete {
            for (class, score) in scores.iter_mut().enumerate() {
                let columns = class * n_columns..(class + 1) * n_columns;
                let present = row.iter().zip(columns).filter(|(value, _)| !value.is_nan());
                *score = self.bias[class] + present.map(|(&value, place)| self.density(value, place)).sum::<f64>();
            }
        }
    }

    fn density(&self, value: f64, place: usize) -> f64 {
        let distance = value - self.means[place];
        self.levels[place] - distance * distance * self.scales[place]
    }
}

/// Scores rows of one number as if none were missing; the output is whether no score is NaN.
struct Densities<'a> {
    normals: &'a Normals<'a>,
    heights: &'a [f64],
    numbers: &'a [f64],
    scores: &'a mut [f64],
}

impl Kernel for Densities<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (n_classes, mut complete) = (self.heights.len(), true);
        let densities = self.normals.means.iter().zip(self.normals.scales).zip(self.heights);
        for (class, ((mean, scale), height)) in densities.enumerate() {
            let scores = self.scores.iter_mut().skip(class).step_by(n_classes);
            for (score, number) in scores.zip(self.numbers) {
                let distance = number - mean;
                *score = height - distance * distance * scale;
                complete &= !score.is_nan();
            }
        }
        complete
    }
}

/// Scores rows as if nothing were missing; the output is whether no score is NaN.
struct Distances<'a> {
    normals: &'a Normals<'a>,
    heights: &'a [f64],
    n_columns: usize,
    rows: &'a [f64],
    scores: &'a mut [f64],
}

impl Kernel for Distances<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (n_columns, mut complete) = (self.n_columns, true);
        let (means, scales) = (self.normals.means, self.normals.scales);
        for (row, scores) in self
            .rows
            .chunks_exact(n_columns)
            .zip(self.scores.chunks_exact_mut(self.heights.len()))
        {
            let densities = means.chunks_exact(n_columns).zip(scales.chunks_exact(n_columns));
            for ((score, height), (means, scales)) in scores.iter_mut().zip(self.heights).zip(densities) {
                *score = height - weighted_distance(row, means, scales);
                complete &= !score.is_nan();
            }
        }
        complete
    }
}

/// Σ (x − mean)² · scale, several sums at once: a single sum would wait for each addition.
#[inline(always)]
fn weighted_distance(row: &[f64], means: &[f64], scales: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (values, last_values) = row.as_chunks::<LANES>();
    let (means, last_means) = means.as_chunks::<LANES>();
    let (scales, last_scales) = scales.as_chunks::<LANES>();
    for ((value, mean), scale) in values.iter().zip(means).zip(scales) {
        for lane in 0..LANES {
            let distance = value[lane] - mean[lane];
            sums[lane] += distance * distance * scale[lane];
        }
    }
    let last = last_values.iter().zip(last_means).zip(last_scales);
    for (((value, mean), scale), sum) in last.zip(&mut sums) {
        let distance = value - mean;
        *sum += distance * distance * scale;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::vector::on_every_path;

    fn random(count: usize) -> Vec<f64> {
        let mut state = 7u64;
        let step = |_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as f64 / 1e6 - 8.0
        };
        (0..count).map(step).collect()
    }

    #[test]
    fn missing_values_leave_their_column_out() {
        let moments = Moments::of(&[1.0, f64::NAN, 3.0, 4.0], &[0, 0], 2, None, &[1.0, 1.0]);
        assert_eq!(moments.counts, [2.0, 1.0, 0.0, 0.0]);
        assert_eq!(moments.first, [2.0, 3.0, 0.0, 0.0]);
        assert_eq!(moments.second, [4.0, 9.0, 0.0, 0.0]);
        let normals = Normals {
            means: &[0.0, 0.0],
            scales: &[1.0, 1.0],
            levels: &[5.0, 7.0],
            bias: &[0.5],
        };
        let mut scores = [0.0, 0.0];
        normals.score(&[2.0, f64::NAN, 1.0, 1.0], 2, &normals.heights(2), &mut scores);
        assert_eq!(scores, [1.5, 10.5]);
    }

    #[test]
    fn complete_rows_are_summed_as_incomplete_ones_are() {
        for n_columns in [1, 3, 4, 5, 20, 23] {
            let (rows, pivot) = (random(n_columns * 50), random(n_columns));
            let classes: Vec<i32> = (0..50).map(|row| row % 3).collect();
            let swift = Moments::of(&rows, &classes, 3, None, &pivot);
            let mut careful = Moments::new(3, n_columns);
            careful.add(&rows, &classes, None, &pivot);
            assert_eq!(swift.counts, careful.counts);
            assert_eq!(swift.first, careful.first);
            assert_eq!(swift.second, careful.second);
        }
    }

    #[test]
    fn every_path_gives_the_same_scores() {
        let (n_columns, classes) = (23, 3);
        let (rows, means, scales) = (
            random(n_columns * 40),
            random(n_columns * classes),
            random(n_columns * classes),
        );
        let (levels, bias) = (random(n_columns * classes), random(classes));
        let normals = Normals {
            means: &means,
            scales: &scales,
            levels: &levels,
            bias: &bias,
        };
        let heights = normals.heights(n_columns);
        struct Scores<'a>(Distances<'a>);
        impl Kernel for Scores<'_> {
            type Output = Vec<f64>;

            #[inline(always)]
            fn run(self) -> Vec<f64> {
                let mut scores = vec![0.0; self.0.rows.len() / self.0.n_columns * self.0.heights.len()];
                let inner = Distances {
                    scores: &mut scores,
                    ..self.0
                };
                assert!(inner.run());
                scores
            }
        }
        let found = on_every_path(|| {
            Scores(Distances {
                normals: &normals,
                heights: &heights,
                n_columns,
                rows: &rows,
                scores: &mut [],
            })
        });
        assert!(found.iter().all(|scores| *scores == found[0]));
    }
}
