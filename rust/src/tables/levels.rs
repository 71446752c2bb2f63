//! Counts of categories by class, and the scores of their levels.
//!
//! A missing category is negative: it leaves its column out of its row's sums.

/// Levels below this are counted in tables of fixed size, without a check.
const LOW: usize = 256;
/// The most tables of low levels that stay in the cache.
const MOST_LOW: usize = 1 << 9;
/// The most cells of all columns together: one row with a huge level must not take all memory.
const MOST_CELLS: usize = 1 << 27;
/// Rows counted before checking that all levels were low: few enough to be still in the first-level cache.
const ROWS_AT_ONCE: usize = 1 << 8;

/// Counts of categories by class, column and level, which grow with the levels.
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
    /// Begin empty, for fewer than 2^32 rows.
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

    /// Count rows of categories with the class and the weight of each.
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

    /// Count rows if all their levels are low, and return whether they are.
    fn add_if_low(&mut self, rows: &[i64], classes: &[i32]) -> bool {
        self.all_low = self.add_low(rows, classes, 1) < LOW as u64;
        if !self.all_low {
            self.add_low(rows, classes, u32::MAX); // undoes the same counts
        }
        self.all_low
    }

    /// Add `step` to the count of the last bits of each level; return the union of the bits of all levels.
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

    /// Add the counts of another.
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

    /// Σ w of each column for (level, class), up to the highest level.
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

/// Make room for a level and return whether there is some.
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

/// A table of (column, level, class): where the cells of each column start; the last start is the number of cells.
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

    /// Return where the cells of a level start; `None` if the level is missing or was never seen.
    #[inline(always)]
    fn place(&self, column: usize, level: i64) -> Option<usize> {
        (level >= 0 && level < self.levels[column]).then(|| self.starts[column] + level as usize * self.classes)
    }

    /// Write the scores of rows, one for each class: the bias and the weights of the levels.
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
        let n_columns = self.levels.len();
        for (row, scores) in rows.chunks_exact(n_columns).zip(scores.chunks_exact_mut(self.classes)) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
