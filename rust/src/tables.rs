//! Loops over dense tables: moments and Gaussian scores of numbers, counts and scores of categories.
//!
//! A missing number is NaN and a missing category is negative: it leaves its column out of its row's sums.

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

    /// Adds rows of `pivot.len()` numbers with the class and the weight of each.
    pub fn add(&mut self, rows: &[f64], classes: &[i32], weights: Option<&[f64]>, pivot: &[f64]) {
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

/// Normal densities by class and column: log p(x) = level − (x − mean)² · scale.
pub struct Normals<'a> {
    pub means: &'a [f64],
    pub scales: &'a [f64],
    pub levels: &'a [f64],
}

impl Normals<'_> {
    /// Adds the log densities of rows of `width` numbers to their scores, one for each class.
    pub fn score(&self, rows: &[f64], width: usize, classes: usize, scores: &mut [f64]) {
        for (row, scores) in rows.chunks_exact(width).zip(scores.chunks_exact_mut(classes)) {
            for (class, score) in scores.iter_mut().enumerate() {
                let range = class * width..(class + 1) * width;
                let (means, scales, levels) = (
                    &self.means[range.clone()],
                    &self.scales[range.clone()],
                    &self.levels[range],
                );
                // Four sums at once: one after the other they would wait for each addition.
                let mut sums = [0.0; 4];
                for (place, (((value, mean), scale), level)) in
                    row.iter().zip(means).zip(scales).zip(levels).enumerate()
                {
                    let distance = value - mean;
                    let part = level - distance * distance * scale;
                    sums[place % 4] += if distance.is_nan() { 0.0 } else { part };
                }
                *score += (sums[0] + sums[1]) + (sums[2] + sums[3]);
            }
        }
    }
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

    /// Counts rows of categories with the class and the weight of each.
    pub fn count(&self, rows: &[i64], classes: &[i32], weights: Option<&[f64]>, cells: &mut [f64]) {
        for (index, (row, &class)) in rows.chunks_exact(self.levels.len()).zip(classes).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[index]);
            for (column, &level) in row.iter().enumerate() {
                if let Some(place) = self.place(column, level) {
                    cells[place + class as usize] += weight;
                }
            }
        }
    }

    /// Adds the weights of the levels of rows to their scores, one for each class.
    pub fn score(&self, rows: &[i64], weights: &[f64], scores: &mut [f64]) {
        for (row, scores) in rows
            .chunks_exact(self.levels.len())
            .zip(scores.chunks_exact_mut(self.classes))
        {
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
    fn missing_values_leave_their_column_out() {
        let mut moments = Moments::new(2, 2);
        moments.add(&[1.0, f64::NAN, 3.0, 4.0], &[0, 0], None, &[1.0, 1.0]);
        assert_eq!(moments.counts, [2.0, 1.0, 0.0, 0.0]);
        assert_eq!(moments.first, [2.0, 3.0, 0.0, 0.0]);
        assert_eq!(moments.second, [4.0, 9.0, 0.0, 0.0]);
        let normals = Normals {
            means: &[0.0, 0.0],
            scales: &[1.0, 1.0],
            levels: &[5.0, 7.0],
        };
        let mut scores = [0.0, 0.0];
        normals.score(&[2.0, f64::NAN, 1.0, 1.0], 2, 1, &mut scores);
        assert_eq!(scores, [1.0, 10.0]);
    }

    #[test]
    fn levels_never_seen_are_left_out() {
        let levels = Levels::new(&[2, 3], 2);
        let mut cells = vec![0.0; levels.cells()];
        levels.count(&[0, 2, 1, -1, 5, 0], &[0, 1, 1], None, &mut cells);
        assert_eq!(cells, [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        let mut scores = [0.0; 2];
        levels.score(&[1, 9], &cells, &mut scores);
        assert_eq!(scores, [0.0, 1.0]);
    }
}
