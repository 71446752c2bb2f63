//! Rows as the solvers read them: a copy in an order of its own, equal rows merged.
//!
//! The order comes from a keyed hash of what a row holds, and equal rows of one class become one row with the sum of
//! their weights. So what is learned does not depend on the order of the rows, a row of weight 2 is the same as that row
//! twice, to the last bit, and files sorted by class do no harm.

use std::sync::Arc;

use super::mix;
use crate::patience::beat;

/// A number of a row; 32 bits halve what has to be read.
pub trait Value: Copy + Send + Sync {
    fn wide(self) -> f64;
    fn narrow(value: f64) -> Self;
}

impl Value for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn narrow(value: f64) -> Self {
        value as f32
    }
}

impl Value for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> Self {
        value
    }
}

/// A matrix as it is given, checked before: columns of a sparse row rise and are below `width`.
#[derive(Clone, Copy)]
pub enum Matrix<'a> {
    Sparse {
        starts: &'a [i64],
        columns: &'a [i32],
        values: &'a [f64],
        width: usize,
    },
    Dense {
        values: &'a [f64],
        width: usize,
    },
}

impl<'a> Matrix<'a> {
    pub fn width(&self) -> usize {
        match *self {
            Matrix::Sparse { width, .. } | Matrix::Dense { width, .. } => width,
        }
    }

    pub fn values(&self) -> &'a [f64] {
        match *self {
            Matrix::Sparse { values, .. } | Matrix::Dense { values, .. } => values,
        }
    }

    /// Whether its numbers are the same as 32-bit floats.
    pub fn is_narrow(&self) -> bool {
        self.values().iter().all(|&value| f64::from(value as f32) == value)
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match *self {
            Matrix::Sparse { starts, .. } => starts[row] as usize..starts[row + 1] as usize,
            Matrix::Dense { width, .. } => row * width..(row + 1) * width,
        }
    }

    /// Fetches a row ahead of its use.
    #[inline(always)]
    fn prefetch(&self, row: usize) {
        let range = self.range(row);
        if let Matrix::Sparse { columns, .. } = *self {
            fetch(columns, range.clone());
        }
        fetch(self.values(), range);
    }

    /// Calls for each number of a row that is not zero.
    #[inline(always)]
    fn each(&self, row: usize, mut call: impl FnMut(u32, f64)) {
        let range = self.range(row);
        match *self {
            Matrix::Sparse { columns, values, .. } => {
                for (&column, &value) in columns[range.clone()].iter().zip(&values[range]) {
                    if value != 0.0 {
                        call(column as u32, value);
                    }
                }
            }
            Matrix::Dense { values, .. } => {
                for (column, &value) in values[range].iter().enumerate() {
                    if value != 0.0 {
                        call(column as u32, value);
                    }
                }
            }
        }
    }

    /// A keyed hash of the numbers of a row; a sum, so that the processor need not wait from one to the next.
    fn hash(&self, row: usize, key: u64) -> u64 {
        let mut sum = key;
        self.each(row, |column, value| {
            let folded = u128::from(value.to_bits() ^ key) * u128::from((u64::from(column) << 1 | 1).wrapping_mul(ODD));
            sum = sum.wrapping_add(folded as u64 ^ (folded >> 64) as u64);
        });
        mix(sum)
    }

    fn same(&self, left: usize, right: usize) -> bool {
        let list = |row| {
            let mut items = Vec::new();
            self.each(row, |column, value| items.push((column, value)));
            items
        };
        list(left) == list(right)
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// One merged row: where it first stands in the matrix, its class, the sum of its weights.
#[derive(Clone, Copy)]
pub struct Merged {
    pub row: usize,
    pub class: u32,
    pub weight: f64,
}

/// Which rows there are, in the order of their hashes, and the merged row of each given row (`NOWHERE`: weight 0).
pub struct Order {
    pub merged: Vec<Merged>,
    pub places: Vec<u32>,
}

pub const NOWHERE: u32 = u32::MAX;

impl Order {
    pub fn new(matrix: &Matrix<'_>, classes: &[i32], weights: Option<&[f64]>, seed: u64) -> Self {
        let key = mix(seed ^ 0x5851_f42d_4c95_7f2d);
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let mut keyed: Vec<(u64, u32)> = (0..classes.len())
            .filter(|&row| weight(row) > 0.0)
            .inspect(|_| beat())
            .map(|row| (matrix.hash(row, key) ^ mix(classes[row] as u64), row as u32))
            .collect();
        keyed.sort_unstable_by(|left, right| {
            beat();
            left.cmp(right)
        });
        let mut order = Order {
            merged: Vec::with_capacity(keyed.len()),
            places: vec![NOWHERE; classes.len()],
        };
        let mut first = 0; // of those with the same hash
        let mut last_hash = None;
        for (hash, row) in keyed {
            let row = row as usize;
            if last_hash != Some(hash) {
                (first, last_hash) = (order.merged.len(), Some(hash));
            }
            let equal = |kept: &Merged| kept.class == classes[row] as u32 && matrix.same(kept.row, row);
            let place = order.merged[first..].iter().position(equal).map(|place| first + place);
            let place = place.unwrap_or_else(|| {
                let (class, weight) = (classes[row] as u32, 0.0);
                order.merged.push(Merged { row, class, weight });
                order.merged.len() - 1
            });
            order.merged[place].weight += weight(row);
            order.places[row] = place as u32;
        }
        order
    }
}

/// The merged rows, one after the other; without `columns` every row holds `width` numbers.
///
/// The columns of sparse rows are numbered anew, the frequent ones first and the empty ones not at all: so the weights
/// that are needed most lie together.
pub struct Rows<V> {
    pattern: Arc<Pattern>,
    values: Vec<V>,
    pub width: usize,
    /// ‖x‖² of each row.
    pub squares: Vec<f64>,
}

/// Where the numbers of the rows stand.
struct Pattern {
    starts: Vec<usize>,
    columns: Vec<u32>,
    /// The given number of each column; empty if they are as given.
    names: Vec<u32>,
}

/// How many rows ahead of its use a given row is fetched.
const AHEAD: usize = 4;

impl<V: Value> Rows<V> {
    /// Takes the rows, each column multiplied by its scale, if there are some.
    pub fn new(matrix: &Matrix<'_>, order: &Order, scales: Option<&[f64]>) -> Self {
        let size = order.merged.iter().map(|merged| matrix.range(merged.row).len()).sum();
        let (numbers, names) = frequent_first(matrix, order);
        let (mut values, mut columns) = (
            crate::simd::roomy(size),
            crate::simd::roomy(if names.is_empty() { 0 } else { size }),
        );
        let mut starts = Vec::with_capacity(order.merged.len() + 1);
        starts.push(0);
        for (place, merged) in order.merged.iter().enumerate() {
            beat();
            if let Some(later) = order.merged.get(place + AHEAD) {
                matrix.prefetch(later.row);
            }
            let range = matrix.range(merged.row);
            let given = &matrix.values()[range.clone()];
            match *matrix {
                Matrix::Sparse { columns: named, .. } => {
                    let named = &named[range];
                    columns.extend(named.iter().map(|&column| numbers[column as usize]));
                    extend_scaled(&mut values, given, named.iter().map(|&column| column as usize), scales);
                }
                Matrix::Dense { width, .. } => extend_scaled(&mut values, given, 0..width, scales),
            }
            starts.push(values.len());
        }
        let width = if names.is_empty() { matrix.width() } else { names.len() };
        let squares = squares(&starts, &values);
        let pattern = Arc::new(Pattern { starts, columns, names });
        Rows {
            pattern,
            values,
            width,
            squares,
        }
    }

    /// Takes some of the rows of a sparse matrix, one after the other, the columns as they are; `None` if it is dense.
    pub fn plain(matrix: &Matrix<'_>, rows: &[u32]) -> Option<Self> {
        let Matrix::Sparse { columns: named, .. } = *matrix else {
            return None;
        };
        let size = rows.iter().map(|&row| matrix.range(row as usize).len()).sum();
        let (mut values, mut columns) = (crate::simd::roomy(size), crate::simd::roomy(size));
        let mut starts = Vec::with_capacity(rows.len() + 1);
        starts.push(0);
        for (place, &row) in rows.iter().enumerate() {
            beat();
            if let Some(&later) = rows.get(place + AHEAD) {
                matrix.prefetch(later as usize);
            }
            let range = matrix.range(row as usize);
            values.extend(matrix.values()[range.clone()].iter().map(|&value| V::narrow(value)));
            columns.extend(named[range].iter().map(|&column| column as u32));
            starts.push(values.len());
        }
        let names = Vec::new();
        Some(Rows {
            squares: squares(&starts, &values),
            pattern: Arc::new(Pattern { starts, columns, names }),
            values,
            width: matrix.width(),
        })
    }

    /// Gives weights the places of the columns as they were given.
    pub fn expand(&self, weights: Vec<f64>, width: usize) -> Vec<f64> {
        let names = &self.pattern.names;
        if names.is_empty() {
            return weights;
        }
        let mut every = vec![0.0; width];
        for (&name, weight) in names.iter().zip(weights) {
            every[name as usize] = weight;
        }
        every
    }

    /// The same rows with each column multiplied by its scale.
    pub fn scaled(&self, scales: &[f64]) -> Self {
        let names = &self.pattern.names;
        let mut values = crate::simd::roomy(self.values.len());
        for row in 0..self.len() {
            self.row(row).each(|column, value| {
                let name = names.get(column).map_or(column, |&name| name as usize);
                values.push(V::narrow(value * scales[name]));
            });
        }
        Rows {
            squares: squares(&self.pattern.starts, &values),
            pattern: self.pattern.clone(),
            values,
            width: self.width,
        }
    }

    pub fn len(&self) -> usize {
        self.squares.len()
    }

    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// How many numbers a row holds.
    #[inline(always)]
    pub fn size(&self, row: usize) -> usize {
        self.pattern.starts[row + 1] - self.pattern.starts[row]
    }

    #[inline(always)]
    pub fn row(&self, row: usize) -> Row<'_, V> {
        let Pattern { starts, columns, .. } = &*self.pattern;
        let range = starts[row]..starts[row + 1];
        Row {
            columns: if columns.is_empty() {
                None
            } else {
                Some(&columns[range.clone()])
            },
            values: &self.values[range],
        }
    }

    /// Fetches a row ahead of its use.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        let Pattern { starts, columns, .. } = &*self.pattern;
        fetch(columns, starts[row]..starts[row + 1]);
        fetch(&self.values, starts[row]..starts[row + 1]);
    }
}

/// Fetches the beginning of a range, line by line.
#[inline(always)]
fn fetch<T>(items: &[T], range: std::ops::Range<usize>) {
    let line = 64 / size_of::<T>();
    for place in range.step_by(line).take(MOST_LINES) {
        crate::simd::prefetch(items, place);
    }
}

/// Of a long row more need not be asked for: what follows is read one after the other.
const MOST_LINES: usize = 32;

#[inline(always)]
fn extend_scaled<V: Value>(
    values: &mut Vec<V>,
    given: &[f64],
    columns: impl Iterator<Item = usize>,
    scales: Option<&[f64]>,
) {
    match scales {
        Some(scales) => {
            let pairs = given.iter().zip(columns);
            values.extend(pairs.map(|(&value, column)| V::narrow(value * scales[column])));
        }
        None => values.extend(given.iter().map(|&value| V::narrow(value))),
    }
}

fn squares<V: Value>(starts: &[usize], values: &[V]) -> Vec<f64> {
    let rows = starts.windows(2).map(|span| &values[span[0]..span[1]]);
    rows.map(|row| row.iter().map(|value| value.wide() * value.wide()).sum())
        .collect()
}

/// The number of each given column of sparse rows, by how many rows hold it, and the given number of each.
fn frequent_first(matrix: &Matrix<'_>, order: &Order) -> (Vec<u32>, Vec<u32>) {
    let Matrix::Sparse { columns, width, .. } = *matrix else {
        return (Vec::new(), Vec::new());
    };
    let mut rows: Vec<usize> = order.merged.iter().map(|merged| merged.row).collect();
    rows.sort_unstable(); // as they lie in memory
    let mut counts = vec![0u32; width];
    for &row in &rows {
        beat();
        columns[matrix.range(row)]
            .iter()
            .for_each(|&column| counts[column as usize] += 1);
    }
    let names = by_count(&counts, rows.len());
    for (number, &name) in names.iter().enumerate() {
        counts[name as usize] = number as u32;
    }
    (counts, names)
}

/// The places of the counts above 0, the largest first, equal ones as they come (a counting sort).
fn by_count(counts: &[u32], most: usize) -> Vec<u32> {
    let mut starts = vec![0u32; most + 2]; // of the places of each count
    counts.iter().for_each(|&count| starts[most - count as usize + 1] += 1);
    for rank in 1..starts.len() {
        starts[rank] += starts[rank - 1];
    }
    let mut places = vec![0; starts[most] as usize];
    for (place, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let start = &mut starts[most - count as usize];
        places[*start as usize] = place as u32;
        *start += 1;
    }
    places
}

pub struct Row<'a, V> {
    columns: Option<&'a [u32]>,
    values: &'a [V],
}

impl<V: Value> Row<'_, V> {
    /// w·x, in four sums at once: one after the other they would wait for each addition.
    #[inline(always)]
    pub fn dot(&self, weights: &[f64]) -> f64 {
        let mut sums = [0.0; 4];
        match self.columns {
            Some(columns) => {
                let ((groups, rest), (numbers, last)) = (columns.as_chunks::<4>(), self.values.as_chunks::<4>());
                for (columns, values) in groups.iter().zip(numbers) {
                    for lane in 0..4 {
                        sums[lane] += weights[columns[lane] as usize] * values[lane].wide();
                    }
                }
                for (&column, value) in rest.iter().zip(last) {
                    sums[0] += weights[column as usize] * value.wide();
                }
            }
            None => {
                let ((groups, rest), (numbers, last)) = (weights.as_chunks::<4>(), self.values.as_chunks::<4>());
                for (weights, values) in groups.iter().zip(numbers) {
                    for lane in 0..4 {
                        sums[lane] += weights[lane] * values[lane].wide();
                    }
                }
                for (weight, value) in rest.iter().zip(last) {
                    sums[0] += weight * value.wide();
                }
            }
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    }

    /// w ← w + scale·x.
    #[inline(always)]
    pub fn add_to(&self, weights: &mut [f64], scale: f64) {
        match self.columns {
            Some(columns) => {
                for (&column, value) in columns.iter().zip(self.values) {
                    weights[column as usize] += scale * value.wide();
                }
            }
            None => {
                for (weight, value) in weights.iter_mut().zip(self.values) {
                    *weight += scale * value.wide();
                }
            }
        }
    }

    #[inline(always)]
    pub fn each(&self, mut call: impl FnMut(usize, f64)) {
        match self.columns {
            Some(columns) => {
                for (&column, value) in columns.iter().zip(self.values) {
                    call(column as usize, value.wide());
                }
            }
            None => self
                .values
                .iter()
                .enumerate()
                .for_each(|(column, value)| call(column, value.wide())),
        }
    }
}
