//! Loops of logistic regression with two classes: statistics of dense rows at given coefficients, probabilities, and
//! coordinate descent in the dual for sparse rows.

use crate::system::vector::vectorised;
use crate::tables::posterior::exp_of_moderate;

/// Rows whose scores are worked out together, so that the exponentials are vectorised.
const BLOCK: usize = 64;

/// Numbers in a vector: rows are padded to whole vectors, so that no loop has a rest.
const LANES: usize = 8;
type Vector = [f64; LANES];

/// A block of rows: whole vectors where they lie in the table, and the rest of each row, followed by the 1 of the
/// intercept and zeros, as one vector here.
struct Block {
    width: usize,
    /// The last vector of a row without numbers: the 1 of the intercept, and zeros.
    bare: Vector,
    /// All bits where the last vector has numbers.
    mask: [u64; LANES],
    lasts: [Vector; BLOCK],
    scores: [f64; BLOCK],
}

impl Block {
    fn new(width: usize) -> Self {
        let (mut bare, mut mask) = ([0.0; LANES], [0; LANES]);
        bare[width % LANES] = 1.0;
        mask[..width % LANES].fill(u64::MAX);
        Block {
            width,
            bare,
            mask,
            lasts: [bare; BLOCK],
            scores: [0.0; BLOCK],
        }
    }

    /// How many vectors a row has, the last included.
    fn stride(&self) -> usize {
        self.width / LANES + 1
    }

    /// The coefficients, padded as the rows are.
    fn padded(&self, coefficients: &[f64]) -> Vec<Vector> {
        let mut padded = vec![[0.0; LANES]; self.stride()];
        let numbers = padded.as_flattened_mut().iter_mut().zip(coefficients);
        numbers.for_each(|(number, coefficient)| *number = *coefficient);
        padded
    }

    /// Takes up to [`BLOCK`] rows in and works their scores out; the scores of missing rows are 0.
    #[inline(always)]
    fn take(&mut self, rows: &[f64], coefficients: &[Vector]) {
        let (whole, end) = coefficients.split_at(self.width / LANES);
        let mut all = [0.0; BLOCK];
        for (group, scores) in all.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut partials = [[0.0; LANES]; LANES];
            for (place, partial) in partials.iter_mut().enumerate() {
                let row = group * LANES + place;
                let Some(numbers) = rows.get(row * self.width..(row + 1) * self.width) else {
                    break;
                };
                for (x, w) in numbers.as_chunks::<LANES>().0.iter().zip(whole) {
                    *partial = multiplied(*partial, *x, *w);
                }
                let rest = &rows[row * self.width + whole.len() * LANES..];
                self.lasts[row] = self.last(rest);
                *partial = multiplied(*partial, self.lasts[row], end[0]);
            }
            *scores = totals(&partials);
        }
        self.scores = all;
    }

    /// The last vector of a row, of the numbers from its rest on. Those behind it are read and masked: vectors that are
    /// written number by number are slow to read.
    #[inline(always)]
    fn last(&self, numbers: &[f64]) -> Vector {
        let mut last = self.bare;
        match numbers.first_chunk::<LANES>() {
            Some(near) => {
                for lane in 0..LANES {
                    let kept = near[lane].to_bits() & self.mask[lane];
                    last[lane] = f64::from_bits(kept | last[lane].to_bits());
                }
            }
            None => {
                let rest = last[..self.width % LANES].iter_mut().zip(numbers);
                rest.for_each(|(number, value)| *number = *value);
            }
        }
        last
    }
}

/// By value, as in all such loops, so that the compiler sees that nothing overlaps and takes whole vectors.
#[inline(always)]
fn multiplied(mut sums: Vector, a: Vector, b: Vector) -> Vector {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
    sums
}

/// The first number where the sign is plus, the second where it is minus. Not by a branch: signs cannot be foreseen.
#[inline(always)]
fn chosen(sign: f64, plus: f64, minus: f64) -> f64 {
    let mask = (sign.to_bits().cast_signed() >> 63).cast_unsigned();
    f64::from_bits((minus.to_bits() & mask) | (plus.to_bits() & !mask))
}

#[inline(always)]
fn total(sums: &Vector) -> f64 {
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// The [`total`] of each of eight vectors, by halves, so that every addition is one of whole vectors.
#[inline(always)]
fn totals(sums: &[Vector; LANES]) -> Vector {
    let quarters = [0, 2, 4, 6].map(|place| {
        let (a, b) = (sums[place], sums[place + 1]);
        added(
            [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]],
            [a[4], a[5], a[6], a[7], b[4], b[5], b[6], b[7]],
        )
    });
    let pairs = [0, 2].map(|place| {
        let (a, b) = (quarters[place], quarters[place + 1]);
        added(
            [a[0], a[1], a[4], a[5], b[0], b[1], b[4], b[5]],
            [a[2], a[3], a[6], a[7], b[2], b[3], b[6], b[7]],
        )
    });
    let [a, b] = pairs;
    added(
        [a[0], a[2], a[4], a[6], b[0], b[2], b[4], b[6]],
        [a[1], a[3], a[5], a[7], b[1], b[3], b[5], b[7]],
    )
}

#[inline(always)]
fn added(a: Vector, b: Vector) -> Vector {
    let mut sums = a;
    for lane in 0..LANES {
        sums[lane] += b[lane];
    }
    sums
}

/// Loss, gradient and Hessian of rows at given coefficients; the intercept is last.
pub struct Sums {
    pub loss: f64,
    gradient: Vec<Vector>,
    hessian: Vec<Vector>,
    block: Block,
}

impl Sums {
    /// Room for rows of so many numbers; for the Hessian only if it is asked for.
    pub fn new(width: usize, hessian: bool) -> Self {
        let block = Block::new(width);
        let lines = if hessian { width + 1 } else { 0 };
        Sums {
            loss: 0.0,
            gradient: vec![[0.0; LANES]; block.stride()],
            hessian: vec![[0.0; LANES]; lines * block.stride()],
            block,
        }
    }

    pub fn merge(&mut self, other: &Sums) {
        self.loss += other.loss;
        for (mine, theirs) in [
            (&mut self.gradient, &other.gradient),
            (&mut self.hessian, &other.hessian),
        ] {
            let sums = mine.as_flattened_mut().iter_mut().zip(theirs.as_flattened());
            sums.for_each(|(sum, part)| *sum += part);
        }
    }

    pub fn gradient(&self) -> Vec<f64> {
        self.gradient.as_flattened()[..=self.block.width].to_vec()
    }

    /// The Hessian as a square, row after row. Only what is on and above the diagonal was summed.
    pub fn hessian(&self) -> Vec<f64> {
        let (side, stride, sums) = (
            self.block.width + 1,
            self.block.stride() * LANES,
            self.hessian.as_flattened(),
        );
        (0..side * side)
            .map(|place| (place / side, place % side))
            .map(|(row, column)| sums[row.min(column) * stride + row.max(column)])
            .collect()
    }

    /// Adds rows with their classes (0 or 1) and weights, at coefficients whose last is the intercept.
    pub fn add_rows(&mut self, rows: &[f64], classes: &[i32], weights: Option<&[f64]>, coefficients: &[f64]) {
        let padded = self.block.padded(coefficients);
        let size = BLOCK * self.block.width;
        vectorised(
            #[inline(always)]
            || {
                let mut start = 0;
                for (rows, classes) in rows.chunks(size).zip(classes.chunks(BLOCK)) {
                    let weights = weights.map(|weights| &weights[start..start + classes.len()]);
                    let mut filled = Vec::new();
                    if rows.len() < size {
                        filled.extend_from_slice(rows);
                        filled.resize(size, 0.0);
                    }
                    let rows = if rows.len() < size { &filled } else { rows };
                    self.add_block(rows, classes, weights, &padded);
                    start += classes.len();
                }
            },
        )
    }

    /// Adds [`BLOCK`] rows; those that have no class count nothing.
    #[inline(always)]
    fn add_block(&mut self, rows: &[f64], classes: &[i32], weights: Option<&[f64]>, coefficients: &[Vector]) {
        self.block.take(rows, coefficients);
        let (mut signs, mut counted) = ([1.0; BLOCK], [0.0; BLOCK]);
        for ((sign, counts), class) in signs.iter_mut().zip(&mut counted).zip(classes) {
            *sign = f64::from(2 * *class - 1);
            *counts = 1.0;
        }
        let scores = self.block.scores;
        let mut smalls = smallnesses(&scores);
        let (mut residuals, mut curvatures, mut wrongs) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
        for place in 0..BLOCK {
            // With t the score towards the row's own class, the loss is ln(1 + e^-t).
            let (toward, small) = (signs[place] * scores[place], smalls[place]);
            let share = 1.0 / (1.0 + small);
            let missing = chosen(toward, small * share, share);
            residuals[place] = -signs[place] * missing * counted[place];
            curvatures[place] = small * share * share * counted[place];
            smalls[place] = small * counted[place];
            wrongs[place] = chosen(toward, 0.0, -toward) * counted[place];
        }
        match weights {
            None => self.loss += sum_of_losses(&smalls, &wrongs),
            Some(weights) => {
                for (place, weight) in weights.iter().enumerate() {
                    self.loss += weight * (smalls[place].ln_1p() + wrongs[place]);
                    residuals[place] *= weight;
                    curvatures[place] *= weight;
                }
            }
        }
        self.add_products(rows, &residuals, &curvatures);
    }

    /// Adds Σ residual·x to the gradient and Σ curvature·x xᵀ to the Hessian, four rows at a time.
    #[inline(always)]
    fn add_products(&mut self, rows: &[f64], residuals: &[f64; BLOCK], curvatures: &[f64; BLOCK]) {
        let (width, stride, lasts) = (self.block.width, self.block.stride(), &self.block.lasts);
        let (whole, end) = self.gradient.split_at_mut(width / LANES);
        for (vector, sums) in whole.iter_mut().enumerate() {
            *sums = summed(*sums, residuals, |row| vector_at(rows, row * width + vector * LANES));
        }
        end[0] = summed(end[0], residuals, |row| lasts[row]);
        if self.hessian.is_empty() {
            return;
        }
        for (fours, curvatures) in curvatures.as_chunks::<4>().0.iter().enumerate() {
            let four = [0, 1, 2, 3].map(|place| {
                let row = fours * 4 + place;
                let numbers = &rows[row * width..(row + 1) * width];
                (numbers.as_chunks::<LANES>().0, &lasts[row])
            });
            for (place, line) in self.hessian.chunks_exact_mut(stride).enumerate() {
                let (vector, lane) = (place / LANES, place % LANES);
                let tails = four.map(|(vectors, last)| (&vectors[vector..], last));
                let factors = [0, 1, 2, 3].map(|row| {
                    let (vectors, last) = tails[row];
                    curvatures[row] * vectors.first().unwrap_or(last)[lane]
                });
                add_four(&mut line[vector..], &factors, tails);
            }
        }
    }
}

/// Eight numbers of a table.
#[inline(always)]
fn vector_at(numbers: &[f64], place: usize) -> Vector {
    numbers[place..].first_chunk().copied().unwrap_or_default()
}

/// Σ factor·row and what was there, of one vector of every row.
#[inline(always)]
fn summed(mut sums: Vector, factors: &[f64; BLOCK], row: impl Fn(usize) -> Vector) -> Vector {
    for (fours, factors) in factors.as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|place| row(fours * 4 + place));
        sums = combined(sums, factors, a, b, c, d);
    }
    sums
}

/// Σ ln(1 + small) + wrong; the logarithm of products of at most 2^64 instead of the sum of logarithms.
#[inline(always)]
fn sum_of_losses(smalls: &[f64; BLOCK], wrongs: &[f64; BLOCK]) -> f64 {
    let (mut products, mut sums) = ([1.0; LANES], [0.0; LANES]);
    let pairs = smalls.as_chunks::<LANES>().0.iter().zip(wrongs.as_chunks::<LANES>().0);
    for (small, wrong) in pairs {
        for lane in 0..LANES {
            products[lane] *= 1.0 + small[lane];
            sums[lane] += wrong[lane];
        }
    }
    products.iter().product::<f64>().ln() + total(&sums)
}

/// Adds Σ factor·row to sums, vector by vector; a row is its whole vectors and its last.
#[inline(always)]
fn add_four(sums: &mut [Vector], factors: &[f64; 4], rows: [(&[Vector], &Vector); 4]) {
    let [a, b, c, d] = rows;
    let (whole, end) = sums.split_at_mut(a.0.len());
    for ((((sums, a), b), c), d) in whole.iter_mut().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
        *sums = combined(*sums, factors, *a, *b, *c, *d);
    }
    end[0] = combined(end[0], factors, *a.1, *b.1, *c.1, *d.1);
}

#[inline(always)]
fn combined(mut sums: Vector, factors: &[f64; 4], a: Vector, b: Vector, c: Vector, d: Vector) -> Vector {
    for lane in 0..LANES {
        sums[lane] += (factors[0] * a[lane] + factors[1] * b[lane]) + (factors[2] * c[lane] + factors[3] * d[lane]);
    }
    sums
}

/// e^−|score| of each.
#[inline(always)]
fn smallnesses(scores: &[f64; BLOCK]) -> [f64; BLOCK] {
    let mut smalls = [0.0; BLOCK];
    for (small, score) in smalls.iter_mut().zip(scores) {
        *small = exp_of_moderate(-score.abs());
    }
    smalls
}

/// Fills pairs of probabilities, of the first and the second class, of rows.
pub fn fill_probabilities(rows: &[f64], width: usize, coefficients: &[f64], pairs: &mut [f64]) {
    let mut block = Block::new(width);
    let padded = block.padded(coefficients);
    vectorised(
        #[inline(always)]
        || {
            for (rows, pairs) in rows.chunks(BLOCK * width).zip(pairs.chunks_mut(2 * BLOCK)) {
                block.take(rows, &padded);
                let (scores, smalls) = (block.scores, smallnesses(&block.scores));
                let mut both = [[0.0; 2]; BLOCK];
                for place in 0..BLOCK {
                    let (score, small) = (scores[place], smalls[place]);
                    let share = 1.0 / (1.0 + small);
                    // A score that is not a number shows: the comparison would hide it.
                    let unsound = score * 0.0;
                    both[place][0] = chosen(score, small * share, share) + unsound;
                    both[place][1] = chosen(score, share, small * share) + unsound;
                }
                let filled = pairs.len();
                pairs.copy_from_slice(&both.as_flattened()[..filled]);
            }
        },
    )
}

/// Rows of a sparse matrix; indices are below `width` and ends within the entries (checked by [`Sparse::new`]).
pub struct Sparse<'a> {
    starts: &'a [i32],
    columns: &'a [i32],
    values: &'a [f64],
    width: usize,
}

impl<'a> Sparse<'a> {
    pub fn new(starts: &'a [i32], columns: &'a [i32], values: &'a [f64], width: usize) -> Option<Self> {
        let sound = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last().is_some_and(|&end| end as usize == columns.len())
            && columns.len() == values.len()
            && columns.iter().all(|&column| column >= 0 && (column as usize) < width);
        sound.then_some(Sparse {
            starts,
            columns,
            values,
            width,
        })
    }

    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline(always)]
    fn row(&self, row: usize) -> (&[i32], &[f64]) {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    #[inline(always)]
    fn dot(&self, row: usize, vector: &[f64]) -> f64 {
        let (columns, values) = self.row(row);
        let (mut sums, heads, tails) = ([0.0; 4], columns.chunks_exact(4), values.chunks_exact(4));
        let rest: f64 = heads
            .remainder()
            .iter()
            .zip(tails.remainder())
            .map(|(&column, value)| vector[column as usize] * value)
            .sum();
        for (columns, values) in heads.zip(tails) {
            for lane in 0..4 {
                sums[lane] += vector[columns[lane] as usize] * values[lane];
            }
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
    }

    #[inline(always)]
    fn add_to(&self, row: usize, factor: f64, vector: &mut [f64]) {
        let (columns, values) = self.row(row);
        for (&column, value) in columns.iter().zip(values) {
            vector[column as usize] += factor * value;
        }
    }
}

/// Dual coordinate descent for logistic regression with a ridge, in linear time (Yu, Huang and Lin 2011, "Dual coordinate
/// descent methods for logistic regression and maximum entropy models").
///
/// Minimises ½‖w‖² + Σ cost·ln(1 + e^{-y(w·x + b)}). Each row has an α in (0, cost) with w = Σ α y x; at the optimum
/// α = cost·σ(-y(w·x + b)). The change of one α is found by Newton's method in u = ln(α / (cost - α)), where the equation
/// is nearly linear. The intercept b is free: rows are centred about their mean, in which terms b hardly depends on w, and
/// b follows after each epoch by a Newton step towards Σ α y = 0. Centring costs nothing: w·(x - μ) needs only x·v, where
/// v = Σ α y x, and three numbers.
pub struct DualDescent<'a> {
    rows: &'a Sparse<'a>,
    classes: &'a [i32],
    costs: &'a [f64],
    mean: &'a [f64],
    /// x·μ and ‖x - μ‖² of each row.
    along_mean: Vec<f64>,
    squares: Vec<f64>,
    mean_square: f64,
    alphas: Vec<f64>,
    order: Vec<u32>,
    random: u64,
    /// v = Σ α y x, v·μ and Σ α y.
    vector: Vec<f64>,
    vector_mean: f64,
    balance: f64,
    intercept: f64,
    free_intercept: bool,
    violation: f64,
    /// The norm of what α lacks of its optimum, over the last epoch.
    pub lacking: f64,
}

impl<'a> DualDescent<'a> {
    pub fn new(
        rows: &'a Sparse<'a>,
        classes: &'a [i32],
        costs: &'a [f64],
        mean: &'a [f64],
        free_intercept: bool,
        seed: u64,
    ) -> Self {
        let mean_square = mean.iter().map(|value| value * value).sum::<f64>();
        let along_mean: Vec<f64> = (0..rows.rows()).map(|row| rows.dot(row, mean)).collect();
        let squares = along_mean
            .iter()
            .enumerate()
            .map(|(row, along)| {
                let own: f64 = rows.row(row).1.iter().map(|value| value * value).sum();
                (own - 2.0 * along + mean_square).max(0.0)
            })
            .collect();
        DualDescent {
            rows,
            classes,
            costs,
            mean,
            along_mean,
            squares,
            mean_square,
            alphas: vec![0.0; rows.rows()],
            order: (0..rows.rows() as u32).collect(),
            random: seed,
            vector: vec![0.0; rows.width],
            vector_mean: 0.0,
            balance: 0.0,
            intercept: 0.0,
            free_intercept,
            violation: 0.0,
            lacking: f64::INFINITY,
        }
    }

    /// Begins an epoch: a new order of the rows.
    pub fn shuffle(&mut self) {
        self.violation = 0.0;
        for place in (1..self.order.len()).rev() {
            // xorshift64*: the order only has to be without pattern.
            self.random ^= self.random >> 12;
            self.random ^= self.random << 25;
            self.random ^= self.random >> 27;
            let drawn = self.random.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
            self.order.swap(place, ((drawn * (place as u64 + 1)) >> 32) as usize);
        }
    }

    /// Visits the rows at some places of the order.
    pub fn visit(&mut self, places: std::ops::Range<usize>) {
        for place in places {
            let row = self.order[place] as usize;
            if self.costs[row] > 0.0 {
                self.visit_row(row);
            }
        }
    }

    #[inline(always)]
    fn visit_row(&mut self, row: usize) {
        let (cost, alpha) = (self.costs[row], self.alphas[row]);
        let sign = if self.classes[row] == 1 { 1.0 } else { -1.0 };
        let along = self.along_mean[row];
        let score = self.rows.dot(row, &self.vector) - self.balance * along - self.vector_mean
            + self.balance * self.mean_square;
        let margin = sign * (score + self.intercept);
        let wanted = cost / (1.0 + margin.exp());
        self.violation += (alpha - wanted) * (alpha - wanted);
        let change = best_alpha(alpha, cost, margin, self.squares[row]) - alpha;
        self.alphas[row] = alpha + change;
        let step = sign * change;
        self.rows.add_to(row, step, &mut self.vector);
        self.vector_mean += step * along;
        self.balance += step;
    }

    /// Ends an epoch: the intercept moves towards Σ α y = 0.
    pub fn end_epoch(&mut self) {
        self.lacking = self.violation.sqrt();
        if !self.free_intercept {
            return;
        }
        let curvature: f64 = self
            .alphas
            .iter()
            .zip(self.costs)
            .filter(|(_, cost)| **cost > 0.0)
            .map(|(alpha, cost)| alpha * (cost - alpha) / cost)
            .sum();
        if curvature > 0.0 {
            self.intercept += self.balance / curvature;
        }
    }

    /// The coefficients, the intercept last.
    pub fn coefficients(&self) -> Vec<f64> {
        let mut weights: Vec<f64> = self
            .vector
            .iter()
            .zip(self.mean)
            .map(|(value, mean)| value - self.balance * mean)
            .collect();
        let shift: f64 = weights.iter().zip(self.mean).map(|(weight, mean)| weight * mean).sum();
        weights.push(self.intercept - shift);
        weights
    }
}

/// The z in (0, cost) with square·(z - alpha) + margin + ln(z / (cost - z)) = 0.
#[inline(always)]
fn best_alpha(alpha: f64, cost: f64, margin: f64, square: f64) -> f64 {
    // In u = ln(z / (cost - z)) the left side rises with a slope from 1 to 1 + square·cost/4.
    let (mut low, mut high) = (-margin - square * (cost - alpha), -margin + square * alpha);
    let mut u = if alpha > 0.0 && alpha < cost {
        (alpha / (cost - alpha)).ln().clamp(low, high)
    } else {
        0.5 * (low + high)
    };
    let mut z = cost / (1.0 + (-u).exp());
    for _ in 0..20 {
        let value = square * (z - alpha) + margin + u;
        if value > 0.0 {
            high = u;
        } else {
            low = u;
        }
        let slope = 1.0 + square * z * (cost - z) / cost;
        let step = value / slope;
        let next = u - step;
        u = if next >= low && next <= high {
            next
        } else {
            0.5 * (low + high)
        };
        z = cost / (1.0 + (-u).exp());
        if step.abs() < 1e-3 {
            break; // Newton's next step would be a millionth
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_one_row() {
        let mut sums = Sums::new(2, true);
        sums.add_rows(&[1.0, 2.0], &[1], None, &[0.0, 0.0, 0.0]);
        assert!((sums.loss - 2f64.ln()).abs() < 1e-15);
        assert_eq!(sums.gradient(), [-0.5, -1.0, -0.5]);
        assert_eq!(sums.hessian(), [0.25, 0.5, 0.25, 0.5, 1.0, 0.5, 0.25, 0.5, 0.25]);
        let mut weighed = Sums::new(2, true);
        weighed.add_rows(&[1.0, 2.0], &[1], Some(&[2.0]), &[0.0, 0.0, 0.0]);
        assert!((weighed.loss - 2.0 * 2f64.ln()).abs() < 1e-15);
        assert_eq!(weighed.gradient(), [-1.0, -2.0, -1.0]);
    }

    #[test]
    fn blocks_add_up_to_their_rows() {
        for width in 1..=18 {
            let numbers: Vec<f64> = (0..70 * width).map(|place| (place as f64).sin()).collect();
            let classes: Vec<i32> = (0..70).map(|row| row % 3 % 2).collect();
            let coefficients: Vec<f64> = (0..=width).map(|place| (place as f64).cos()).collect();
            let (mut whole, mut parts) = (Sums::new(width, true), Sums::new(width, true));
            whole.add_rows(&numbers, &classes, None, &coefficients);
            for (row, class) in numbers.chunks(width).zip(classes.chunks(1)) {
                parts.add_rows(row, class, None, &coefficients);
            }
            let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11);
            assert!(near(&[whole.loss], &[parts.loss]));
            assert!(near(&whole.gradient(), &parts.gradient()));
            assert!(near(&whole.hessian(), &parts.hessian()));
        }
    }

    #[test]
    fn the_next_row_does_not_count() {
        for width in 1..=18 {
            let mut rows = vec![0.5; 3 * width];
            rows[width..2 * width].fill(f64::NAN);
            let mut pairs = [0.0; 6];
            fill_probabilities(&rows, width, &vec![0.25; width + 1], &mut pairs);
            let score = 0.125 * width as f64 + 0.25;
            let expected = 1.0 / (1.0 + (-score).exp());
            assert!((pairs[1] - expected).abs() < 1e-15 && (pairs[5] - expected).abs() < 1e-15);
            assert!(pairs[2].is_nan() && pairs[3].is_nan());
        }
    }

    #[test]
    fn one_coordinate_is_solved() {
        for (alpha, cost, margin, square) in [(0.0, 1.0, 0.0, 1.0), (0.5, 1.0, 30.0, 1.0), (3.0, 1e3, -2.0, 50.0)] {
            let z = best_alpha(alpha, cost, margin, square);
            let left = square * (z - alpha) + margin + (z / (cost - z)).ln();
            assert!(left.abs() < 1e-4, "{left}");
        }
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        assert!(Sparse::new(&[0, 1], &[2], &[1.0], 2).is_none());
        assert!(Sparse::new(&[0, 2], &[1], &[1.0], 2).is_none());
        assert!(Sparse::new(&[0, 1], &[-1], &[1.0], 2).is_none());
        assert!(Sparse::new(&[0, 1], &[1], &[1.0], 2).is_some());
    }
}
