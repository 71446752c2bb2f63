//! Loops over dense tables: moments, Gaussian scores and bins of numbers, counts and scores of categories, labels.
//!
//! A missing number is NaN and a missing category is negative: it leaves its column out of its row's sums.

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
    pub fn new(classes: usize, width: usize) -> Self {
        let zeros = vec![0.0; classes * width];
        Moments {
            counts: zeros.clone(),
            first: zeros.clone(),
            second: zeros,
        }
    }

    /// Sums rows of `pivot.len()` numbers with the class and the weight of each.
    pub fn of(rows: &[f64], classes: &[i32], width: usize, weights: Option<&[f64]>, pivot: &[f64]) -> Self {
        let mut sums = Moments::new(width, pivot.len());
        if weights.is_none() && sums.add_complete(rows, classes, pivot) {
            return sums;
        }
        let mut sums = Moments::new(width, pivot.len());
        sums.add(rows, classes, weights, pivot);
        sums
    }

    /// Adds rows in which nothing is missing; says whether that was so, the sums being of no use if not.
    fn add_complete(&mut self, rows: &[f64], classes: &[i32], pivot: &[f64]) -> bool {
        dispatch(CompleteSums {
            rows,
            classes,
            pivot,
            first: &mut self.first,
            second: &mut self.second,
        });
        let width = pivot.len();
        let rows_of = tally(classes.iter().map(|&class| class as usize), self.counts.len() / width);
        for (counts, rows) in self.counts.chunks_exact_mut(width).zip(rows_of) {
            counts.fill(rows as f64);
        }
        !self.second.iter().any(|sum| sum.is_nan())
    }

    fn add(&mut self, rows: &[f64], classes: &[i32], weights: Option<&[f64]>, pivot: &[f64]) {
        let width = pivot.len();
        for (index, (row, &class)) in rows.chunks_exact(width).zip(classes).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[index]);
            let range = class as usize * width..(class as usize + 1) * width;
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
        let width = self.pivot.len();
        let (centers, last_centers) = self.pivot.as_chunks::<LANES>();
        for (row, &class) in self.rows.chunks_exact(width).zip(self.classes) {
            let range = class as usize * width..(class as usize + 1) * width;
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
    pub fn heights(&self, width: usize) -> Vec<f64> {
        let sums = self
            .levels
            .chunks_exact(width.max(1))
            .map(|levels| levels.iter().sum::<f64>());
        self.bias.iter().zip(sums).map(|(bias, sum)| bias + sum).collect()
    }

    /// Writes the scores of rows of `width` numbers, one for each class; `heights` as above.
    pub fn score(&self, rows: &[f64], width: usize, heights: &[f64], scores: &mut [f64]) {
        let complete = dispatch(Distances {
            normals: self,
            heights,
            width,
            rows,
            scores: &mut *scores,
        });
        if !complete {
            self.score_incomplete(rows, width, scores);
        }
    }

    /// Scores the rows again in which a number is missing.
    fn score_incomplete(&self, rows: &[f64], width: usize, scores: &mut [f64]) {
        let incomplete = rows
            .chunks_exact(width)
            .zip(scores.chunks_exact_mut(self.bias.len()))
            .filter(|(row, _)| row.iter().any(|value| value.is_nan()));
        for (row, scores) in incomplete {
            for (class, score) in scores.iter_mut().enumerate() {
                let columns = class * width..(class + 1) * width;
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

/// Scores of rows as if nothing were missing; says whether no score is NaN.
struct Distances<'a> {
    normals: &'a Normals<'a>,
    heights: &'a [f64],
    width: usize,
    rows: &'a [f64],
    scores: &'a mut [f64],
}

impl Kernel for Distances<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (width, mut complete) = (self.width, true);
        let (means, scales) = (self.normals.means, self.normals.scales);
        for (row, scores) in self
            .rows
            .chunks_exact(width)
            .zip(self.scores.chunks_exact_mut(self.heights.len()))
        {
            let densities = means.chunks_exact(width).zip(scales.chunks_exact(width));
            for ((score, height), (means, scales)) in scores.iter_mut().zip(self.heights).zip(densities) {
                *score = height - weighted_distance(row, means, scales);
                complete &= !score.is_nan();
            }
        }
        complete
    }
}

/// Σ (x − mean)² · scale, several sums at once: one after the other they would wait for each addition.
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

/// Levels counted without looking whether there is room for them.
const LOW: usize = 256;
/// No more tables of low levels than stay in the cache.
const MOST_LOW: usize = 1 << 9;
/// More cells than this have no room in all columns together: one row with a huge level must not take all memory.
const MOST_CELLS: usize = 1 << 27;
/// Rows counted before looking whether all levels were low; they are still in the nearest cache then.
const ROWS_AT_ONCE: usize = 1 << 8;

/// Counts of categories by class, column and level, which grow with the levels that come.
pub struct LevelCounts {
    columns: usize,
    classes: usize,
    /// For each class and column, the counts of low levels; none if they would not stay in the cache.
    low: Vec<[u32; LOW]>,
    /// Whether all levels were low so far.
    all_low: bool,
    /// For each column, Σ w of (level, class): everything else.
    cells: Vec<Vec<f64>>,
    /// How many values were negative: missing.
    pub missing: usize,
    /// The greatest level that there was no room for, or −1.
    pub excessive: i64,
}

impl LevelCounts {
    /// Begins empty, for fewer than 2^32 rows.
    pub fn new(columns: usize, classes: usize) -> Self {
        let tables = columns.saturating_mul(classes);
        let small = tables <= MOST_LOW;
        LevelCounts {
            columns,
            classes,
            low: vec![[0; LOW]; if small { tables } else { 0 }],
            all_low: small,
            cells: vec![Vec::new(); columns],
            missing: 0,
            excessive: -1,
        }
    }

    /// Counts rows of categories with the class and the weight of each.
    pub fn add(&mut self, rows: &[i64], classes: &[i32], weights: Option<&[f64]>) {
        let blocks = rows
            .chunks(ROWS_AT_ONCE * self.columns)
            .zip(classes.chunks(ROWS_AT_ONCE));
        for (block, (rows, classes)) in blocks.enumerate() {
            let weights = weights.map(|weights| &weights[block * ROWS_AT_ONCE..]);
            if weights.is_some() || !self.all_low || !self.add_if_low(rows, classes) {
                self.add_any(rows, classes, weights);
            }
        }
    }

    /// Counts rows if all their levels are low, and says whether they are.
    fn add_if_low(&mut self, rows: &[i64], classes: &[i32]) -> bool {
        self.all_low = self.add_low(rows, classes, 1) < LOW as u64;
        if !self.all_low {
            self.add_low(rows, classes, u32::MAX); // takes the same counts back
        }
        self.all_low
    }

    /// Adds `step` to the count of the last bits of each level; gives the union of the bits of all levels.
    fn add_low(&mut self, rows: &[i64], classes: &[i32], step: u32) -> u64 {
        let mut union = 0;
        for (row, &class) in rows.chunks_exact(self.columns).zip(classes) {
            let tables = &mut self.low[class as usize * self.columns..][..self.columns];
            for (counts, &level) in tables.iter_mut().zip(row) {
                union |= level as u64;
                let count = &mut counts[usize::from(level as u8)];
                *count = count.wrapping_add(step);
            }
        }
        union
    }

    fn add_any(&mut self, rows: &[i64], classes: &[i32], weights: Option<&[f64]>) {
        let most = MOST_CELLS / self.columns.max(1);
        for (index, (row, &class)) in rows.chunks_exact(self.columns).zip(classes).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[index]);
            for (cells, &level) in self.cells.iter_mut().zip(row) {
                if level < 0 {
                    self.missing += 1;
                } else if has_room(cells, level, self.classes, most) {
                    cells[level as usize * self.classes + class as usize] += weight;
                } else {
                    self.excessive = self.excessive.max(level);
                }
            }
        }
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: LevelCounts) {
        self.missing += other.missing;
        self.excessive = self.excessive.max(other.excessive);
        for (mine, theirs) in self.cells.iter_mut().zip(other.drain()) {
            if mine.is_empty() {
                *mine = theirs;
                continue;
            }
            mine.resize(mine.len().max(theirs.len()), 0.0);
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// Σ w of each column for (level, class), up to the highest level that came.
    pub fn drain(mut self) -> Vec<Vec<f64>> {
        for (column, cells) in self.cells.iter_mut().enumerate() {
            let tables: Vec<&[u32; LOW]> = self.low.iter().skip(column).step_by(self.columns).collect();
            let used = |level: &usize| tables.iter().any(|table| table[*level] > 0);
            let levels = (0..LOW).rev().find(used).map_or(0, |level| level + 1);
            cells.resize(cells.len().max(levels * self.classes), 0.0);
            for (class, table) in tables.iter().enumerate() {
                for (level, &count) in table[..levels].iter().enumerate() {
                    cells[level * self.classes + class] += f64::from(count);
                }
            }
        }
        self.cells
    }
}

/// Makes room for a level and says whether there is some.
fn has_room(cells: &mut Vec<f64>, level: i64, classes: usize, most: usize) -> bool {
    let needed = (level as usize).saturating_add(1).saturating_mul(classes);
    if needed > cells.len() {
        if needed > most || cells.try_reserve(needed - cells.len()).is_err() {
            return false;
        }
        cells.resize(needed, 0.0);
    }
    true
}

/// Where the cells of each column begin in a table of (column, level, class); the last is the number of cells.
pub struct Levels {
    starts: Vec<usize>,
    levels: Vec<i64>,
    classes: usize,
}

impl Levels {
    pub fn new(levels: &[i64], classes: usize) -> Self {
        let mut starts = vec![0];
        levels
            .iter()
            .for_each(|&count| starts.push(starts[starts.len() - 1] + count.max(0) as usize * classes));
        Levels {
            starts,
            levels: levels.to_vec(),
            classes,
        }
    }

    pub fn cells(&self) -> usize {
        self.starts[self.levels.len()]
    }

    /// Where the cells of a level begin; `None` if the level is missing or was never seen.
    #[inline(always)]
    fn place(&self, column: usize, level: i64) -> Option<usize> {
        (level >= 0 && level < self.levels[column]).then(|| self.starts[column] + level as usize * self.classes)
    }

    /// Writes the scores of rows, one for each class: the bias and the weights of the levels.
    pub fn score(&self, rows: &[i64], weights: &[f64], bias: &[f64], scores: &mut [f64]) {
        match <[f64; 2]>::try_from(bias) {
            Ok(bias) => self.score_two(rows, weights, bias, scores),
            Err(_) => self.score_any(rows, weights, bias, scores),
        }
    }

    fn score_two(&self, rows: &[i64], weights: &[f64], bias: [f64; 2], scores: &mut [f64]) {
        let (pairs, scores) = (weights.as_chunks::<2>().0, scores.as_chunks_mut::<2>().0);
        for (row, scores) in rows.chunks_exact(self.levels.len()).zip(scores) {
            let mut sums = bias;
            for (column, &level) in row.iter().enumerate() {
                if let Some(place) = self.place(column, level) {
                    let pair = pairs[place / 2];
                    sums = [sums[0] + pair[0], sums[1] + pair[1]];
                }
            }
            *scores = sums;
        }
    }

    fn score_any(&self, rows: &[i64], weights: &[f64], bias: &[f64], scores: &mut [f64]) {
        let width = self.levels.len();
        for (row, scores) in rows.chunks_exact(width).zip(scores.chunks_exact_mut(self.classes)) {
            scores.copy_from_slice(bias);
            for (column, &level) in row.iter().enumerate() {
                if let Some(place) = self.place(column, level) {
                    let cells = &weights[place..place + self.classes];
                    scores
                        .iter_mut()
                        .zip(cells)
                        .for_each(|(score, weight)| *score += weight);
                }
            }
        }
    }
}

/// Bins of numbers, by the edges between them in each column: a number that reaches an edge lies behind it.
pub struct Bins {
    edges: Vec<Vec<f64>>,
    /// The same edges, the first of each column, then the second of each; NaN, which nothing reaches, behind the last.
    steps: Vec<f64>,
}

/// With so many edges, a number is compared with all of them: that is faster than to search.
const FEW_EDGES: usize = 32;
/// Numbers of a single column compared at once.
const COLUMN_BLOCK: usize = 1 << 10;

impl Bins {
    /// Takes the sorted edges between the bins of each column.
    pub fn new(edges: Vec<Vec<f64>>) -> Self {
        let most = edges.iter().map(Vec::len).max().unwrap_or(0);
        let few = if most <= FEW_EDGES { most } else { 0 };
        let step = |step: usize| {
            edges
                .iter()
                .map(move |edges| edges.get(step).copied().unwrap_or(f64::NAN))
        };
        let steps = (0..few).flat_map(step).collect();
        Bins { edges, steps }
    }

    /// Writes the number of the bin of each number, −1 if it is missing.
    pub fn assign(&self, rows: &[f64], codes: &mut [i64]) {
        match self.edges.as_slice() {
            edges if edges.iter().any(|edges| edges.len() > FEW_EDGES) => self.search(rows, codes),
            [edges] => {
                // The numbers of one column lie side by side, as those of one row do otherwise.
                for (values, codes) in rows.chunks(COLUMN_BLOCK).zip(codes.chunks_mut(COLUMN_BLOCK)) {
                    dispatch(EdgesOfOne { edges, values, codes });
                }
            }
            _ => dispatch(EdgesOfRows {
                bins: self,
                rows,
                codes,
            }),
        }
    }

    fn search(&self, rows: &[f64], codes: &mut [i64]) {
        let width = self.edges.len();
        for (row, codes) in rows.chunks_exact(width).zip(codes.chunks_exact_mut(width)) {
            for ((value, code), edges) in row.iter().zip(codes).zip(&self.edges) {
                let reached = edges.partition_point(|edge| value >= edge) as i64;
                *code = if value.is_nan() { MISSING } else { reached };
            }
        }
    }
}

/// The code of a missing number.
const MISSING: i64 = -1;

#[inline(always)]
fn start(value: f64) -> i64 {
    if value.is_nan() { MISSING } else { 0 }
}

struct EdgesOfOne<'a> {
    edges: &'a [f64],
    values: &'a [f64],
    codes: &'a mut [i64],
}

impl Kernel for EdgesOfOne<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.codes
            .iter_mut()
            .zip(self.values)
            .for_each(|(code, &value)| *code = start(value));
        for &edge in self.edges {
            self.codes
                .iter_mut()
                .zip(self.values)
                .for_each(|(code, &value)| *code += i64::from(value >= edge));
        }
    }
}

struct EdgesOfRows<'a> {
    bins: &'a Bins,
    rows: &'a [f64],
    codes: &'a mut [i64],
}

impl Kernel for EdgesOfRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let width = self.bins.edges.len().max(1);
        for (row, codes) in self.rows.chunks_exact(width).zip(self.codes.chunks_exact_mut(width)) {
            codes
                .iter_mut()
                .zip(row)
                .for_each(|(code, &value)| *code = start(value));
            for step in self.bins.steps.chunks_exact(width) {
                for ((code, value), edge) in codes.iter_mut().zip(row).zip(step) {
                    *code += i64::from(value >= edge);
                }
            }
        }
    }
}

/// Numbers small whole labels in their order.
///
/// Gives the distinct labels, the number of each row and how many rows have it; `None` if the labels lie too far apart.
pub fn number_labels(labels: &[i64]) -> Option<(Vec<i64>, Vec<i32>, Vec<i64>)> {
    let (least, most) = dispatch(Extremes(labels));
    let span = usize::try_from(most.checked_sub(least)?).ok()?;
    if span > FARTHEST.min(labels.len().saturating_mul(4) + LOW) {
        return None;
    }
    let counts = tally(labels.iter().map(|&label| (label - least) as usize), span + 1);
    let mut numbers = Vec::with_capacity(counts.len());
    let mut found = 0;
    for &count in &counts {
        numbers.push(found);
        found += i32::from(count > 0);
    }
    let rows = if found as usize == counts.len() {
        labels.iter().map(|&label| (label - least) as i32).collect()
    } else {
        labels.iter().map(|&label| numbers[(label - least) as usize]).collect()
    };
    let present = (least..=most).zip(&counts).filter(|(_, count)| **count > 0);
    let (distinct, counts) = present.map(|(label, &count)| (label, count)).unzip();
    Some((distinct, rows, counts))
}

/// Counts how often each place comes; all are below `width`.
fn tally(places: impl Iterator<Item = usize>, width: usize) -> Vec<i64> {
    // Four counts for a place, taken in turns: when it comes again at once, the last addition is not waited for.
    let mut counts = vec![[0i64; 4]; width];
    places
        .enumerate()
        .for_each(|(turn, place)| counts[place][turn % 4] += 1);
    counts.iter().map(|turns| turns.iter().sum()).collect()
}

/// Labels farther apart than this are sorted instead.
const FARTHEST: usize = 1 << 20;

/// The least and the greatest number; of none, the least is above the greatest.
struct Extremes<'a>(&'a [i64]);

impl Kernel for Extremes<'_> {
    type Output = (i64, i64);

    #[inline(always)]
    fn run(self) -> (i64, i64) {
        self.0.iter().fold((i64::MAX, i64::MIN), |(least, most), &value| {
            (least.min(value), most.max(value))
        })
    }
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
        for width in [1, 3, 4, 5, 20, 23] {
            let (rows, pivot) = (random(width * 50), random(width));
            let classes: Vec<i32> = (0..50).map(|row| row % 3).collect();
            let swift = Moments::of(&rows, &classes, 3, None, &pivot);
            let mut careful = Moments::new(3, width);
            careful.add(&rows, &classes, None, &pivot);
            assert_eq!(swift.counts, careful.counts);
            assert_eq!(swift.first, careful.first);
            assert_eq!(swift.second, careful.second);
        }
    }

    #[test]
    fn every_path_gives_the_same_scores() {
        let (width, classes) = (23, 3);
        let (rows, means, scales) = (random(width * 40), random(width * classes), random(width * classes));
        let (levels, bias) = (random(width * classes), random(classes));
        let normals = Normals {
            means: &means,
            scales: &scales,
            levels: &levels,
            bias: &bias,
        };
        let heights = normals.heights(width);
        struct Scores<'a>(Distances<'a>);
        impl Kernel for Scores<'_> {
            type Output = Vec<f64>;

            #[inline(always)]
            fn run(self) -> Vec<f64> {
                let mut scores = vec![0.0; self.0.rows.len() / self.0.width * self.0.heights.len()];
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
                width,
                rows: &rows,
                scores: &mut [],
            })
        });
        assert!(found.iter().all(|scores| *scores == found[0]));
    }

    #[test]
    fn levels_never_seen_are_left_out() {
        let mut counts = LevelCounts::new(2, 2);
        counts.add(&[0, 2, 1, -1, 5, 0], &[0, 1, 1], None);
        assert_eq!(counts.missing, 1);
        let cells = counts.drain();
        assert_eq!(cells[0], [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(cells[1], [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        let levels = Levels::new(&[6, 3], 2);
        let mut scores = [0.0; 2];
        levels.score(&[1, 9], &cells.concat(), &[0.25, 0.5], &mut scores);
        assert_eq!(scores, [0.25, 1.5]);
    }

    #[test]
    fn levels_are_counted_alike_however_low_they_are() {
        for (columns, levels) in [(3, 11), (4, 16), (3, 17), (4, 200), (3, 700)] {
            let rows: Vec<i64> = (0..columns * 1_000).map(|place| place * 7919 % levels).collect();
            let classes: Vec<i32> = (0..1_000).map(|row| row % 5).collect();
            let mut counted = LevelCounts::new(columns as usize, 5);
            counted.add(&rows, &classes, None);
            let mut weighted = LevelCounts::new(columns as usize, 5);
            weighted.add(&rows, &classes, Some(&[1.0; 1_000]));
            let mut halves = [
                LevelCounts::new(columns as usize, 5),
                LevelCounts::new(columns as usize, 5),
            ];
            let middle = columns as usize * 300;
            halves[0].add(&rows[..middle], &classes[..300], None);
            halves[1].add(&rows[middle..], &classes[300..], None);
            let [mut first, second] = halves;
            first.merge(second);
            let expected = weighted.drain();
            assert_eq!(counted.drain(), expected);
            assert_eq!(first.drain(), expected);
        }
    }

    #[test]
    fn levels_without_room_are_told() {
        let mut counts = LevelCounts::new(1, 2);
        counts.add(&[300, i64::MAX, 1 << 40], &[0, 1, 0], None);
        assert_eq!(counts.excessive, i64::MAX);
        assert_eq!(counts.drain()[0].len(), 602);
    }

    #[test]
    fn numbers_are_put_into_bins_by_comparing_and_by_searching() {
        let many: Vec<f64> = (0..40).map(f64::from).collect();
        let rows = [-1.0, f64::NAN, 0.0, 39.0, f64::INFINITY, f64::NEG_INFINITY, 1.5, 38.9];
        let expected = [[0, -1], [1, 40], [40, 0], [2, 39]];
        let mut codes = [9; 8];
        Bins::new(vec![many.clone(), many.clone()]).assign(&rows, &mut codes);
        assert_eq!(codes, *expected.as_flattened());
        Bins::new(vec![many[..2].to_vec(), many[..1].to_vec()]).assign(&rows, &mut codes);
        assert_eq!(codes, [0, -1, 1, 1, 2, 0, 2, 1]);
        Bins::new(vec![many[..2].to_vec()]).assign(&rows, &mut codes);
        assert_eq!(codes, [0, -1, 1, 2, 2, 0, 2, 2]);
    }

    #[test]
    fn labels_are_numbered_in_order() {
        let (distinct, numbers, counts) = number_labels(&[5, -1, 5, 7]).unwrap();
        assert_eq!(
            (distinct, numbers, counts),
            (vec![-1, 5, 7], vec![1, 0, 1, 2], vec![1, 2, 1])
        );
        assert_eq!(number_labels(&[0, 1, 0]).unwrap().1, [0, 1, 0]);
        assert!(number_labels(&[0, i64::MAX]).is_none());
        assert!(number_labels(&[i64::MIN, i64::MAX]).is_none());
        assert!(number_labels(&[]).is_none());
    }
}
