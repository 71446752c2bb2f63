//! Blocks of dense rows, and sums of whole vectors of numbers.

/// Rows whose scores are computed together, so that the exponentials are vectorized.
pub(super) const BLOCK: usize = 64;
/// Numbers in a vector: rows are padded to whole vectors, so that no loop has a remainder.
pub(super) const LANES: usize = 8;

pub(super) type Vector = [f64; LANES];

/// A block of rows: the whole vectors stay in the table; the rest of each row, followed by the 1 of the intercept and
/// zeros, is one vector here.
pub(super) struct Block {
    pub(super) n_columns: usize,
    /// The last vector of a row without numbers: the 1 of the intercept, and zeros.
    bare: Vector,
    /// All bits where the last vector has numbers.
    mask: [u64; LANES],
    pub(super) lasts: [Vector; BLOCK],
    pub(super) scores: [f64; BLOCK],
}

impl Block {
    pub(super) fn new(n_columns: usize) -> Self {
        let (mut bare, mut mask) = ([0.0; LANES], [0; LANES]);
        bare[n_columns % LANES] = 1.0;
        mask[..n_columns % LANES].fill(u64::MAX);
        Block {
            n_columns,
            bare,
            mask,
            lasts: [bare; BLOCK],
            scores: [0.0; BLOCK],
        }
    }

    /// Return how many vectors a row has, the last included.
    pub(super) fn stride(&self) -> usize {
        self.n_columns / LANES + 1
    }

    /// The coefficients, padded as the rows are.
    pub(super) fn padded(&self, coefficients: &[f64]) -> Vec<Vector> {
        let mut padded = vec![[0.0; LANES]; self.stride()];
        let numbers = padded.as_flattened_mut().iter_mut().zip(coefficients);
        numbers.for_each(|(number, coefficient)| *number = *coefficient);
        padded
    }

    /// Take up to [`BLOCK`] rows and compute their scores; the scores of missing rows are 0.
    #[inline(always)]
    pub(super) fn take(&mut self, rows: &[f64], coefficients: &[Vector]) {
        self.score::<true>(rows, coefficients);
    }

    /// Compute the scores of the rows that were taken last at other coefficients.
    #[inline(always)]
    pub(super) fn take_again(&mut self, rows: &[f64], coefficients: &[Vector]) {
        self.score::<false>(rows, coefficients);
    }

    #[inline(always)]
    fn score<const NEW: bool>(&mut self, rows: &[f64], coefficients: &[Vector]) {
        let (whole, end) = coefficients.split_at(self.n_columns / LANES);
        let mut all = [0.0; BLOCK];
        for (group, scores) in all.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut partials = [[0.0; LANES]; LANES];
            for (place, partial) in partials.iter_mut().enumerate() {
                let row = group * LANES + place;
                let Some(numbers) = rows.get(row * self.n_columns..(row + 1) * self.n_columns) else {
                    break;
                };
                for (x, w) in numbers.as_chunks::<LANES>().0.iter().zip(whole) {
                    *partial = multiplied(*partial, *x, *w);
                }
                if NEW {
                    self.lasts[row] = self.last(&rows[row * self.n_columns + whole.len() * LANES..]);
                }
                *partial = multiplied(*partial, self.lasts[row], end[0]);
            }
            *scores = totals(&partials);
        }
        self.scores = all;
    }

    /// The last vector of a row, from the numbers after its whole vectors. Numbers of the next row are read and masked,
    /// because a vector that is written number by number is slow to read.
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
                let rest = last[..self.n_columns % LANES].iter_mut().zip(numbers);
                rest.for_each(|(number, value)| *number = *value);
            }
        }
        last
    }
}

/// Add a·b to sums. By value, as in all such loops, so that the compiler sees that nothing overlaps and uses vectors.
#[inline(always)]
pub(super) fn multiplied(mut sums: Vector, a: Vector, b: Vector) -> Vector {
    for lane in 0..LANES {
        sums[lane] += a[lane] * b[lane];
    }
    sums
}

#[inline(always)]
pub(super) fn total(sums: &Vector) -> f64 {
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// The [`total`] of each of eight vectors, by halves, so that every addition is one of whole vectors.
#[inline(always)]
pub(super) fn totals(sums: &[Vector; LANES]) -> Vector {
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
pub(super) fn added(a: Vector, b: Vector) -> Vector {
    let mut sums = a;
    for lane in 0..LANES {
        sums[lane] += b[lane];
    }
    sums
}

/// Eight numbers of a table.
#[inline(always)]
pub(super) fn vector_at(numbers: &[f64], place: usize) -> Vector {
    numbers[place..].first_chunk().copied().unwrap_or_default()
}

/// Add Σ factor·row of one vector of every row to sums.
#[inline(always)]
pub(super) fn summed(mut sums: Vector, factors: &[f64; BLOCK], row: impl Fn(usize) -> Vector) -> Vector {
    for (fours, factors) in factors.as_chunks::<4>().0.iter().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|place| row(fours * 4 + place));
        sums = combined(sums, factors, a, b, c, d);
    }
    sums
}

/// Add Σ factor·row to sums, vector by vector; a row is its whole vectors and its last.
#[inline(always)]
pub(super) fn add_four(sums: &mut [Vector], factors: &[f64; 4], rows: [(&[Vector], &Vector); 4]) {
    let [a, b, c, d] = rows;
    let (whole, end) = sums.split_at_mut(a.0.len());
    for ((((sums, a), b), c), d) in whole.iter_mut().zip(a.0).zip(b.0).zip(c.0).zip(d.0) {
        *sums = combined(*sums, factors, *a, *b, *c, *d);
    }
    end[0] = combined(end[0], factors, *a.1, *b.1, *c.1, *d.1);
}

#[inline(always)]
pub(super) fn combined(mut sums: Vector, factors: &[f64; 4], a: Vector, b: Vector, c: Vector, d: Vector) -> Vector {
    for lane in 0..LANES {
        sums[lane] += (factors[0] * a[lane] + factors[1] * b[lane]) + (factors[2] * c[lane] + factors[3] * d[lane]);
    }
    sums
}
