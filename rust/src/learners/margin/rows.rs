//! Rows as the solvers read them: a copy in an order of its own, with columns numbered anew.

use std::sync::Arc;

use super::value::Value;
use crate::system::cancel::checkpoint;
use crate::system::memory::{fetch, prefetch, roomy};
use crate::tables::vectors::{Vector, Vectors};

/// How many rows ahead of its use a given row is fetched.
const AHEAD: usize = 4;
/// Sums at a time: a single one would wait for each addition.
const LANES: usize = 4;

/// The merged rows, one after the other; without `columns` every row holds `n_columns` numbers.
///
/// The columns of sparse rows are numbered anew, the frequent ones first and the empty ones not at all, so that
/// the weights that are needed most are close together in memory.
///
/// Rows of ones whose columns have scales sⱼ are not multiplied out. In place of the weights wⱼ of the scaled columns
/// solvers then keep vⱼ = sⱼwⱼ: so w·x is the sum of v over the columns of x, adding a·x to w adds a·sⱼ² to
/// vⱼ, and the product of two such weights is Σ vⱼv'ⱼ/sⱼ².
pub struct Rows<V> {
    pattern: Arc<Pattern>,
    values: Vec<V>,
    /// Of rows of ones: sⱼ, sⱼ² and 1/sⱼ² (or 0) of each column.
    scales: Vec<f64>,
    squared_scales: Vec<f64>,
    inverses: Vec<f64>,
    pub n_columns: usize,
    /// ‖x‖² of each row.
    pub squares: Vec<f64>,
}

/// The places of the numbers of the rows.
struct Pattern {
    starts: Vec<usize>,
    columns: Vec<i32>,
    /// The given number of each column; empty if they are as given.
    names: Vec<u32>,
}

impl<V: Value> Rows<V> {
    /// Copy rows of a table, each column multiplied by its scale, if there are scales.
    pub fn new(table: &Vectors<'_>, rows: &[u32], scales: Option<&[f64]>) -> Self {
        let size = rows.iter().map(|&row| table.row(row as usize).len()).sum();
        let (numbers, names) = frequent_first(table, rows);
        let (mut values, mut columns) = (roomy(size), roomy(if names.is_empty() { 0 } else { size }));
        let mut starts = Vec::with_capacity(rows.len() + 1);
        let mut squares = Vec::with_capacity(rows.len());
        starts.push(0);
        for (place, &row) in rows.iter().enumerate() {
            checkpoint();
            if let Some(&later) = rows.get(place + AHEAD) {
                table.row(later as usize).fetch();
            }
            match table.row(row as usize) {
                Vector::Sparse(named, given) => {
                    columns.extend(named.iter().map(|&column| numbers[column as usize] as i32));
                    extend_scaled(&mut values, given, named.iter().map(|&column| column as usize), scales);
                }
                Vector::Dense(given) => extend_scaled(&mut values, given, 0..given.len(), scales),
            }
            if !V::ONE {
                squares.push(square(&values[starts[place]..]));
            }
            starts.push(values.len());
        }
        let n_columns = if names.is_empty() {
            table.n_columns()
        } else {
            names.len()
        };
        let pattern = Arc::new(Pattern { starts, columns, names });
        let rows = Rows {
            pattern,
            values,
            scales: vec![],
            squared_scales: vec![],
            inverses: vec![],
            n_columns,
            squares,
        };
        if V::ONE { rows.with_scales(scales) } else { rows }
    }

    /// Set the scales of the columns of rows of ones.
    fn with_scales(mut self, scales: Option<&[f64]>) -> Self {
        let Pattern { names, starts, columns } = &*self.pattern;
        let scale = |&name: &u32| scales.map_or(1.0, |scales| scales[name as usize]);
        self.scales = names.iter().map(scale).collect();
        self.squared_scales = self.scales.iter().map(|scale| scale * scale).collect();
        let inverse = |&pull: &f64| if pull > 0.0 { 1.0 / pull } else { 0.0 };
        self.inverses = self.squared_scales.iter().map(inverse).collect();
        let square = |span: &[usize]| {
            columns[span[0]..span[1]]
                .iter()
                .map(|&column| self.squared_scales[column as usize])
                .sum()
        };
        self.squares = starts.windows(2).map(square).collect();
        self
    }

    /// The product of two weights.
    pub fn product(&self, left: &[f64], right: &[f64]) -> f64 {
        let [product] = summed([left, right, self.inverses_of(left)], |[left, right, inverse]| {
            [left * right * if V::ONE { inverse } else { 1.0 }]
        });
        product
    }

    /// With s = now − before and l the step before that: s·s, s·l, l·l, now·s and now·l.
    pub fn products(&self, now: &[f64], before: &[f64], last: &[f64]) -> [f64; 5] {
        summed(
            [now, before, last, self.inverses_of(now)],
            |[now, before, last, inverse]| {
                let scale = if V::ONE { inverse } else { 1.0 };
                let (step, last_scaled, now_scaled) = (now - before, last * scale, now * scale);
                let step_scaled = step * scale;
                [
                    step * step_scaled,
                    step * last_scaled,
                    last * last_scaled,
                    now_scaled * step,
                    now_scaled * last,
                ]
            },
        )
    }

    /// The factors of the products of weights; arbitrary unless the rows are of ones.
    fn inverses_of<'a>(&'a self, other: &'a [f64]) -> &'a [f64] {
        if V::ONE { &self.inverses } else { other }
    }

    /// Move weights to the columns of the given table.
    pub fn expand(&self, mut weights: Vec<f64>, n_columns: usize) -> Vec<f64> {
        for (weight, scale) in weights.iter_mut().zip(&self.scales) {
            *weight = if *scale == 0.0 { 0.0 } else { *weight / scale };
        }
        if self.pattern.names.is_empty() {
            return weights;
        }
        let mut every = vec![0.0; n_columns];
        self.put_back(&weights, &mut every);
        every
    }

    /// Write weights to their given columns; other columns stay as they are.
    fn put_back(&self, weights: &[f64], every: &mut [f64]) {
        for (&name, &weight) in self.pattern.names.iter().zip(weights) {
            every[name as usize] = weight;
        }
    }

    /// The same rows with each column multiplied by its scale.
    pub fn scaled(&self, scales: &[f64]) -> Self {
        if V::ONE {
            let rows = Rows {
                pattern: self.pattern.clone(),
                values: self.values.clone(),
                scales: vec![],
                squared_scales: vec![],
                inverses: vec![],
                squares: vec![],
                n_columns: self.n_columns,
            };
            return rows.with_scales(Some(scales));
        }
        let Pattern { names, starts, .. } = &*self.pattern;
        let mut values = roomy(self.values.len());
        for row in 0..self.len() {
            self.row(row).each(|column, value| {
                let name = names.get(column).map_or(column, |&name| name as usize);
                values.push(V::narrow(value * scales[name]));
            });
        }
        Rows {
            squares: starts
                .windows(2)
                .map(|span| square(&values[span[0]..span[1]]))
                .collect(),
            pattern: self.pattern.clone(),
            values,
            scales: vec![],
            squared_scales: vec![],
            inverses: vec![],
            n_columns: self.n_columns,
        }
    }

    pub fn len(&self) -> usize {
        self.squares.len()
    }

    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// Return how many numbers a row holds.
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
            squared_scales: &self.squared_scales,
        }
    }

    /// Fetch the place of a row, which [`Self::prefetch`] needs.
    #[inline(always)]
    pub fn prefetch_start(&self, row: usize) {
        prefetch(&self.pattern.starts, row);
    }

    /// Fetch a row ahead of its use.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        let Pattern { starts, columns, .. } = &*self.pattern;
        let range = starts[row]..starts[row + 1];
        if !columns.is_empty() {
            fetch(&columns[range.clone()]);
        }
        fetch(&self.values[range]);
    }
}

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

/// Sum functions of the numbers at each place of some arrays, in four lanes.
#[inline(always)]
fn summed<const INPUTS: usize, const SUMS: usize>(
    arrays: [&[f64]; INPUTS],
    function: impl Fn([f64; INPUTS]) -> [f64; SUMS],
) -> [f64; SUMS] {
    let length = arrays.iter().map(|array| array.len()).min().unwrap_or(0);
    let (groups, rest) = (
        arrays.map(|array| array[..length].as_chunks::<LANES>().0),
        length / LANES * LANES,
    );
    let mut sums = [[0.0; LANES]; SUMS];
    for group in 0..length / LANES {
        let numbers = groups.map(|groups| groups[group]);
        for lane in 0..LANES {
            let found = function(numbers.map(|numbers| numbers[lane]));
            (0..SUMS).for_each(|sum| sums[sum][lane] += found[sum]);
        }
    }
    for place in rest..length {
        let found = function(arrays.map(|array| array[place]));
        (0..SUMS).for_each(|sum| sums[sum][0] += found[sum]);
    }
    sums.map(|sums| (sums[0] + sums[1]) + (sums[2] + sums[3]))
}

/// ‖x‖².
fn square<V: Value>(row: &[V]) -> f64 {
    row.iter().map(|value| value.wide() * value.wide()).sum()
}

/// Number the columns of sparse rows by how many rows have them: the number of each given column, and the reverse.
fn frequent_first(table: &Vectors<'_>, rows: &[u32]) -> (Vec<u32>, Vec<u32>) {
    if matches!(table, Vectors::Dense { .. }) {
        return (Vec::new(), Vec::new());
    }
    let mut rows = rows.to_vec();
    rows.sort_unstable(); // the order in memory
    let mut counts = vec![0u32; table.n_columns()];
    for &row in &rows {
        checkpoint();
        if let Vector::Sparse(columns, _) = table.row(row as usize) {
            columns.iter().for_each(|&column| counts[column as usize] += 1);
        }
    }
    let names = by_count(&counts);
    for (number, &name) in names.iter().enumerate() {
        counts[name as usize] = number as u32;
    }
    (counts, names)
}

/// The places of the counts above 0, the largest first, ties in order (a counting sort).
fn by_count(counts: &[u32]) -> Vec<u32> {
    let most = counts.iter().copied().max().unwrap_or(0) as usize;
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
    columns: Option<&'a [i32]>,
    values: &'a [V],
    squared_scales: &'a [f64],
}

impl<V: Value> Row<'_, V> {
    /// w·x, in four sums at once: a single one would wait for each addition.
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

    /// w·x for many weights at once; of rows of ones without scales.
    #[inline(always)]
    pub fn dots<const N: usize>(&self, weights: &[[f32; N]]) -> [f32; N] {
        let mut sums = [0.0; N];
        let mut add = |value: V, weights: &[f32; N]| {
            let value = value.wide() as f32;
            (0..N).for_each(|lane| sums[lane] += value * weights[lane]);
        };
        match self.columns {
            Some(columns) => {
                for (&column, &value) in columns.iter().zip(self.values) {
                    add(value, &weights[column as usize]);
                }
            }
            None => weights
                .iter()
                .zip(self.values)
                .for_each(|(weights, &value)| add(value, weights)),
        }
        sums
    }

    /// w ← w + scale·x for many weights, each with its scale; of rows of ones without scales.
    #[inline(always)]
    pub fn add_multiples<const N: usize>(&self, weights: &mut [[f32; N]], scales: &[f32; N]) {
        let add = |value: V, weights: &mut [f32; N]| {
            let value = value.wide() as f32;
            (0..N).for_each(|lane| weights[lane] += value * scales[lane]);
        };
        match self.columns {
            Some(columns) => {
                for (&column, &value) in columns.iter().zip(self.values) {
                    add(value, &mut weights[column as usize]);
                }
            }
            None => weights
                .iter_mut()
                .zip(self.values)
                .for_each(|(weights, &value)| add(value, weights)),
        }
    }

    /// w ← w + scale·x; of rows of ones the weights are those of their products, see [`Rows`].
    #[inline(always)]
    pub fn add_to(&self, weights: &mut [f64], scale: f64) {
        match self.columns {
            Some(columns) if V::ONE => {
                for &column in columns {
                    weights[column as usize] += scale * self.squared_scales[column as usize];
                }
            }
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
