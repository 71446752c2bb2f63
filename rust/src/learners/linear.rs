//! Linear functions of dense rows: their scores, and the best function of each row.

use super::block::{BLOCK, Block, LANES, Vector};
use crate::system::cancel::checkpoints;
use crate::system::vector::vectorized;
use crate::tables::by_class::Number;

/// Rows that are scored at once: their scores stay in the nearest cache.
pub const ROWS: usize = 8 * BLOCK;

/// Linear functions of rows of some columns.
pub struct Functions {
    n_columns: usize,
    coefficients: Vec<f64>,
    padded: Vec<Vec<Vector>>,
}

impl Functions {
    /// Take functions from their coefficients, a line for each function with the intercept last.
    pub fn new(coefficients: &[f64], n_columns: usize) -> Self {
        let block = Block::new(n_columns);
        let lines = coefficients.chunks_exact(n_columns + 1);
        Functions {
            n_columns,
            padded: lines.map(|line| block.padded(line)).collect(),
            coefficients: coefficients.to_vec(),
        }
    }

    fn line(&self, function: usize) -> &[f64] {
        &self.coefficients[function * (self.n_columns + 1)..][..=self.n_columns]
    }
}

/// How a function is chosen for a row.
#[derive(Clone, Copy)]
pub struct Choice {
    /// Whether a single function that is 0 counts as above 0.
    pub at_zero: bool,
    /// Whether scores are rounded to 32 bits first.
    pub single: bool,
}

/// The scores of up to [`ROWS`] rows, a line for each function.
pub struct Scores<'a> {
    functions: &'a Functions,
    block: Block,
    lines: Vec<[f64; ROWS]>,
}

impl<'a> Scores<'a> {
    pub fn new(functions: &'a Functions) -> Self {
        Scores {
            functions,
            block: Block::new(functions.n_columns),
            lines: vec![[0.0; ROWS]; functions.padded.len()],
        }
    }

    /// Score up to [`BLOCK`] rows that follow each other; `first` is the place of the first among the rows.
    pub fn score_rows(&mut self, first: usize, rows: &[f64]) {
        let (block, lines, padded) = (&mut self.block, &mut self.lines, &self.functions.padded);
        checkpoints(1 + rows.len() * lines.len() / 64);
        vectorized(
            #[inline(always)]
            || {
                for (place, (line, coefficients)) in lines.iter_mut().zip(padded).enumerate() {
                    match place {
                        0 => block.take(rows, coefficients),
                        _ => block.take_again(rows, coefficients),
                    }
                    line[first..first + BLOCK].copy_from_slice(&block.scores);
                }
            },
        );
    }

    /// Score up to [`ROWS`] rows by their columns.
    pub fn score_columns<'b, V: Number + 'b>(&mut self, count: usize, column: impl Fn(usize) -> &'b [V]) {
        let (functions, n_columns) = (self.functions, self.functions.n_columns);
        for (place, line) in self.lines.iter_mut().enumerate() {
            line[..count].fill(functions.line(place)[n_columns]);
        }
        for start in (0..n_columns).step_by(4) {
            checkpoints(1 + count * self.lines.len() / 16);
            if start + 4 > n_columns {
                for place in start..n_columns {
                    let values = column(place);
                    for (function, line) in self.lines.iter_mut().enumerate() {
                        add_column(&mut line[..count], functions.line(function)[place], values);
                    }
                }
            } else {
                let four = [0, 1, 2, 3].map(|place| column(start + place));
                for (function, line) in self.lines.iter_mut().enumerate() {
                    let factors = functions.line(function)[start..].first_chunk();
                    add_columns(&mut line[..count], factors.copied().unwrap_or_default(), four);
                }
            }
        }
    }

    /// Write the scores of the first rows, rows × functions.
    pub fn write(&self, target: &mut [f64]) {
        if let [line] = self.lines.as_slice() {
            target.copy_from_slice(&line[..target.len()]);
            return;
        }
        for (row, scores) in target.chunks_exact_mut(self.lines.len()).enumerate() {
            for (score, line) in scores.iter_mut().zip(&self.lines) {
                *score = line[row];
            }
        }
    }

    /// Write the number of the best function of each of the first rows, the first of those that are equally good; of a
    /// single function whether it is above 0. Return whether every score is a finite number.
    pub fn choose(&mut self, choice: Choice, target: &mut [i64]) -> bool {
        let lines = &mut self.lines;
        vectorized(
            #[inline(always)]
            || {
                if choice.single {
                    for score in lines.iter_mut().flatten() {
                        *score = f64::from(*score as f32);
                    }
                }
                match lines.as_slice() {
                    [line] => above_zero(line, choice.at_zero, target),
                    lines => best(lines, target),
                }
            },
        )
    }
}

fn add_column<V: Number>(scores: &mut [f64], factor: f64, values: &[V]) {
    vectorized(
        #[inline(always)]
        || {
            for (score, value) in scores.iter_mut().zip(values) {
                *score += factor * value.number();
            }
        },
    );
}

fn add_columns<V: Number>(scores: &mut [f64], factors: [f64; 4], columns: [&[V]; 4]) {
    vectorized(
        #[inline(always)]
        || {
            let [a, b, c, d] = columns.map(|column| &column[..scores.len()]);
            for (place, score) in scores.iter_mut().enumerate() {
                let near = factors[0] * a[place].number() + factors[1] * b[place].number();
                let far = factors[2] * c[place].number() + factors[3] * d[place].number();
                *score += near + far;
            }
        },
    );
}

#[inline(always)]
fn above_zero(scores: &[f64; ROWS], at_zero: bool, target: &mut [i64]) -> bool {
    let mut unsound = 0.0;
    for (number, &score) in target.iter_mut().zip(scores) {
        *number = i64::from(if at_zero { score >= 0.0 } else { score > 0.0 });
    }
    for &score in &scores[..target.len()] {
        unsound = larger(unsound, score.abs());
    }
    unsound < f64::INFINITY
}

/// The larger of two numbers, +∞ if the second is no number.
#[inline(always)]
fn larger(one: f64, other: f64) -> f64 {
    let other = if other < f64::INFINITY { other } else { f64::INFINITY };
    if one > other { one } else { other }
}

#[inline(always)]
fn best(lines: &[[f64; ROWS]], target: &mut [i64]) -> bool {
    let Some((first, rest)) = lines.split_first() else {
        return false;
    };
    let (mut tops, mut places, mut unsound) = (*first, [0i64; ROWS], [0.0; ROWS]);
    for (most, score) in unsound.iter_mut().zip(first) {
        *most = larger(*most, score.abs());
    }
    for (place, line) in (1..).zip(rest) {
        for row in 0..ROWS {
            let (score, top) = (line[row], tops[row]);
            places[row] = if score > top { place } else { places[row] };
            tops[row] = if score > top { score } else { top };
            unsound[row] = larger(unsound[row], score.abs());
        }
    }
    target.copy_from_slice(&places[..target.len()]);
    unsound[..target.len()].iter().all(|most| *most < f64::INFINITY)
}

/// Write the number of the best score of each row, the first of those that are equally good. Return whether all are finite.
pub fn best_of_rows<V: Number>(scores: &[V], n_scores: usize, target: &mut [i64]) -> bool {
    checkpoints(1 + scores.len() / 64);
    vectorized(
        #[inline(always)]
        || match n_scores {
            1 => best_of_few::<1, V>(scores, target),
            2 => best_of_few::<2, V>(scores, target),
            3 => best_of_few::<3, V>(scores, target),
            4 => best_of_few::<4, V>(scores, target),
            _ => {
                let mut most = 0.0;
                for (row, number) in scores.chunks_exact(n_scores).zip(target) {
                    most = larger(most, best_of_many(row, number));
                }
                most < f64::INFINITY
            }
        },
    )
}

#[inline(always)]
fn best_of_few<const N: usize, V: Number>(scores: &[V], target: &mut [i64]) -> bool {
    let mut most = 0.0;
    for (row, number) in scores.as_chunks::<N>().0.iter().zip(target) {
        most = larger(most, best_of_row(row, number));
    }
    most < f64::INFINITY
}

/// Write the number of the best score of a row; return the largest of their absolute values, +∞ if one is no number.
#[inline(always)]
fn best_of_row<V: Number>(row: &[V], number: &mut i64) -> f64 {
    let (mut top, mut best, mut most) = (f64::NEG_INFINITY, 0, 0.0);
    for (place, score) in (0..).zip(row) {
        let score = score.number();
        best = if score > top { place } else { best };
        top = if score > top { score } else { top };
        most = larger(most, score.abs());
    }
    *number = best;
    most
}

/// The same for rows of many scores: their best is found first, eight at a time, and then its place.
#[inline(always)]
fn best_of_many<V: Number>(row: &[V], number: &mut i64) -> f64 {
    let (mut tops, mut mosts) = ([f64::NEG_INFINITY; LANES], [0.0; LANES]);
    let (whole, rest) = row.as_chunks::<LANES>();
    for scores in whole {
        for lane in 0..LANES {
            let score = scores[lane].number();
            tops[lane] = if score > tops[lane] { score } else { tops[lane] };
            mosts[lane] = larger(mosts[lane], score.abs());
        }
    }
    for (lane, score) in rest.iter().enumerate() {
        let score = score.number();
        tops[lane] = if score > tops[lane] { score } else { tops[lane] };
        mosts[lane] = larger(mosts[lane], score.abs());
    }
    let top = tops.into_iter().fold(f64::NEG_INFINITY, f64::max);
    *number = row.iter().position(|score| score.number() == top).unwrap_or(0) as i64;
    mosts.into_iter().fold(0.0, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(rows: &[f64], n_columns: usize, line: &[f64]) -> Vec<f64> {
        rows.chunks(n_columns)
            .map(|row| row.iter().zip(line).map(|(x, w)| x * w).sum::<f64>() + line[n_columns])
            .collect()
    }

    #[test]
    fn scores_of_rows_and_of_columns_are_those_of_plain_loops() {
        for (n_columns, n_functions, n_rows) in [(1, 1, 3), (3, 2, 70), (8, 3, 64), (19, 5, 130), (4, 1, 512)] {
            let rows: Vec<f64> = (0..n_rows * n_columns).map(|place| (place as f64).sin()).collect();
            let coefficients: Vec<f64> = (0..n_functions * (n_columns + 1))
                .map(|place| (place as f64).cos())
                .collect();
            let functions = Functions::new(&coefficients, n_columns);
            let (mut by_row, mut by_column) = (Scores::new(&functions), Scores::new(&functions));
            for (place, part) in rows.chunks(BLOCK * n_columns).enumerate() {
                by_row.score_rows(place * BLOCK, part);
            }
            let columns: Vec<Vec<f64>> = (0..n_columns)
                .map(|column| rows.iter().skip(column).step_by(n_columns).copied().collect())
                .collect();
            by_column.score_columns(n_rows, |place| &columns[place]);
            for scores in [&by_row, &by_column] {
                let mut found = vec![0.0; n_rows * n_functions];
                scores.write(&mut found);
                for (function, line) in coefficients.chunks(n_columns + 1).enumerate() {
                    let wanted = expected(&rows, n_columns, line);
                    for (row, score) in wanted.iter().enumerate() {
                        assert!((found[row * n_functions + function] - score).abs() < 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_of_the_best_is_chosen() {
        let functions = Functions::new(&[1.0, 0.0, -1.0, 0.0, 1.0, 0.0], 1);
        let mut scores = Scores::new(&functions);
        let choice = Choice {
            at_zero: false,
            single: false,
        };
        let (rows, mut found) = ([2.0, -2.0, 0.0], [7; 3]);
        scores.score_columns(3, |_| &rows);
        assert!(scores.choose(choice, &mut found));
        assert_eq!(found, [0, 1, 0]);
        assert!(best_of_rows(&[1.0, 3.0, 3.0, -1.0, -2.0, -1.0], 3, &mut found[..2]));
        assert_eq!(found[..2], [1, 0]);
        for (n_scores, place) in [(2, 1), (4, 0), (5, 4), (8, 3), (9, 8), (40, 17)] {
            let mut many = vec![-1.0; n_scores];
            many[place..].fill(-0.5);
            assert!(best_of_rows(&many, n_scores, &mut found[..1]));
            assert_eq!(found[0], place as i64);
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            scores.score_columns(2, |_| {
                if bad.is_nan() {
                    &[1.0, f64::NAN]
                } else {
                    &[f64::INFINITY, 1.0]
                }
            });
            assert!(!scores.choose(choice, &mut found[..2]));
            assert!(!best_of_rows(&[1.0, bad], 2, &mut found[..1]));
        }
    }

    #[test]
    fn a_single_function_is_above_zero_or_not() {
        let functions = Functions::new(&[1.0, 0.0], 1);
        let mut scores = Scores::new(&functions);
        for (at_zero, single, expected) in [
            (false, false, [0, 0, 1, 1]),
            (true, false, [0, 1, 1, 1]),
            (false, true, [0, 0, 0, 1]),
        ] {
            let mut found = [7; 4];
            scores.score_columns(4, |_| &[-1.0, 0.0, 1e-60, 1.0]);
            assert!(scores.choose(Choice { at_zero, single }, &mut found));
            assert_eq!(found, expected);
        }
    }
}
