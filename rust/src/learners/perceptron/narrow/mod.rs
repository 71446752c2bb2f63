//! A copy of sparse rows in a third of their memory, for rows that are read often: 16 bits a column, 16 bits a number.
//!
//! Columns are numbered anew, the frequent ones first, so that the weights that are needed most are close together. The
//! numbers of a row are rounded to multiples of a unit of its own. That is enough to decide on which side of a plane
//! most rows are, with a bound on the error; for the others the given numbers are read.

mod columns;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::learners::margin::order::NOWHERE;
use crate::system::cancel::checkpoint;
use crate::system::memory::{fetch, on_large_pages, prefetch};
use crate::system::vector::vectorised;
use crate::tables::vectors::{Vector, Vectors};
use columns::Numbers;

pub use columns::Sample;

/// Numbers of a row that are read at once; the last group is padded with zeros.
const LANES: usize = 8;
/// Columns from this on do not fit 16 bits: this number replaces them, and the true one is in a list of the row.
const RARE: u16 = u16::MAX;
/// A row's largest number in its units.
const MOST_UNITS: f64 = i16::MAX as f64;
/// Units and lengths outside these ranges could overflow or underflow 32 bits.
const UNITS: std::ops::RangeInclusive<f64> = 1e-20..=1e30;
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-20..=1e25;
/// Columns, or units, of some numbers.
type Group = [u16; LANES];
/// A factor above the relative error of rounding.
pub const ROUNDING_MARGIN: f64 = 1.0 + 1e-6;

/// A number of a column that is not among the frequent ones.
#[derive(Clone, Copy)]
struct Rare {
    column: u32,
    units: i16,
}

/// The head of a row: how many numbers it has, where they and the rare ones start, how many are rare, and where the
/// given numbers start.
#[derive(Clone, Copy)]
struct Head {
    count: u32,
    start: u32,
    rare: u32,
    rares: u32,
    unit: f32,
    /// See [`Narrow::surely`].
    doubt: f32,
    /// An upper bound on the sum of the absolute rare numbers whose columns other rows have, too.
    rare_size: f32,
    given: u32,
}

pub struct Narrow {
    groups: Vec<Group>,
    rares: Vec<Rare>,
    heads: Vec<Head>,
    /// ‖x‖² of each row.
    squares: Vec<f64>,
    /// The given number of each column.
    names: Vec<u32>,
    /// The first number of the rare columns that only a single row has.
    first_single: usize,
    /// Whether a column occurs twice in some row.
    pub repeats: bool,
    /// Whether some number is zero.
    pub has_zeros: bool,
}

/// Weights with 32 bits, of the columns that are not rare; the last is zero.
pub struct Light {
    weights: Box<[f32; 1 << 16]>,
    /// An upper bound on ‖w‖; infinite if it is out of range for 32 bits.
    length: f64,
    /// The first of the columns that only a single row has.
    first_single: usize,
    /// The largest absolute weight that another rare column has had; infinite if one of a single row started with a
    /// weight.
    largest_rare: f64,
}

impl Head {
    fn new(count: usize, start: usize, given: usize) -> Option<Self> {
        Some(Head {
            count: u32::try_from(count).ok()?,
            start: u32::try_from(start).ok()?,
            rare: 0,
            rares: 0,
            unit: 0.0,
            doubt: 0.0,
            rare_size: 0.0,
            given: u32::try_from(given).ok()?,
        })
    }

    fn measure(&mut self, largest: f64, square: f64) {
        let (count, unit) = (self.count as usize, largest / MOST_UNITS);
        let fits = count == 0 || UNITS.contains(&unit) && square.is_finite();
        // The error of each number is at most half a unit; and twice the rounding error of weights, products and sums.
        let spread = (count as f64).sqrt() * unit;
        let rounding = (count / LANES + LANES + 8) as f64 * (2.0 / (1 << 24) as f64);
        let doubt = 0.51 * spread + rounding * (square.sqrt() + spread);
        self.unit = unit as f32;
        self.doubt = if fits { doubt as f32 } else { f32::INFINITY };
    }
}

impl Light {
    /// Copy the weights of the columns of some rows.
    pub fn new(rows: &Narrow, weights: &[f64], length: f64) -> Self {
        let singles_weigh = weights[rows.first_single..].iter().any(|weight| *weight != 0.0);
        let mut light = Light {
            weights: Box::new([0.0; 1 << 16]),
            length: 0.0,
            first_single: rows.first_single,
            largest_rare: if singles_weigh { f64::INFINITY } else { 0.0 },
        };
        (0..weights.len()).for_each(|column| light.set(column, weights[column]));
        light.set_length(length);
        light
    }

    #[inline(always)]
    pub fn set(&mut self, column: usize, weight: f64) {
        if column < RARE as usize {
            self.weights[column] = weight as f32;
        } else if column < self.first_single {
            self.largest_rare = self.largest_rare.max(weight.abs());
        }
    }

    pub fn set_length(&mut self, length: f64) {
        self.length = if LENGTHS.contains(&length) {
            length
        } else {
            f64::INFINITY
        };
    }
}

impl Narrow {
    /// Copy rows of a sparse table; with `presence` only whether a number is zero. `None` if there are too many rows,
    /// or one comes twice.
    pub fn new(table: &Vectors<'_>, rows: &[u32], presence: bool, sample: Sample) -> Option<Self> {
        let places = places_of(rows, table.rows())?;
        let mut numbers = Numbers::new(sample);
        let (mut heads, mut end) = (Vec::with_capacity(rows.len()), 0);
        for &row in rows {
            let given = table.place(row as usize);
            heads.push(Head::new(given.len(), end, given.start)?);
            end += 2 * given.len().div_ceil(LANES);
        }
        let mut copy = Narrow {
            groups: vec![[0; LANES]; end],
            rares: Vec::new(),
            squares: vec![0.0; heads.len()],
            heads,
            names: Vec::new(),
            first_single: 0,
            repeats: false,
            has_zeros: false,
        };
        on_large_pages(&mut copy.groups);
        vectorised(
            #[inline(always)]
            || {
                // Read in order and written anywhere, because there is less to write than to read.
                for (row, &place) in places.iter().enumerate().filter(|(_, place)| **place != NOWHERE) {
                    checkpoint();
                    // The place that a row is written to is anywhere in memory, and so is its head.
                    let coming = |ahead: usize| places.get(row + ahead).copied().filter(|&place| place != NOWHERE);
                    if let Some(later) = coming(16) {
                        copy.fetch_head(later as usize);
                        prefetch(&copy.squares, later as usize);
                    }
                    if let Some(soon) = coming(4) {
                        copy.fetch(soon as usize);
                    }
                    if row + 2 < places.len() {
                        table.row(row + 2).fetch(); // the hardware prefetcher stops at page boundaries
                    }
                    if let Vector::Sparse(columns, values) = table.row(row) {
                        copy.fill(place as usize, columns, values, &mut numbers, presence);
                    }
                }
            },
        );
        copy.sort_rares(&mut numbers);
        (copy.names, copy.first_single) = (numbers.names, numbers.first_single);
        Some(copy)
    }

    #[inline(always)]
    fn fill(&mut self, place: usize, given: &[i32], values: &[f64], numbers: &mut Numbers, presence: bool) {
        let (largest, square) = extent(values);
        let head = &mut self.heads[place];
        head.measure(largest, square);
        self.squares[place] = square;
        head.rare = self.rares.len() as u32;
        let room = given.len().div_ceil(LANES);
        let (columns, units) = self.groups[head.start as usize..][..2 * room].split_at_mut(room);
        let (columns, units) = (columns.as_flattened_mut(), units.as_flattened_mut());
        let per_unit = MOST_UNITS / largest;
        let mut zeros = 0;
        for (units, &value) in units.iter_mut().zip(values) {
            zeros |= u64::from(value == 0.0);
            *units = if presence {
                u16::from(value != 0.0)
            } else {
                rounded(value * per_unit)
            };
        }
        self.has_zeros |= zeros != 0;
        let (stamp, mut repeats) = (numbers.next_stamp(), false);
        for ((column, &name), &units) in columns.iter_mut().zip(given).zip(&*units) {
            let known = &mut numbers.common[name as usize];
            repeats |= known.stamp == stamp;
            known.stamp = stamp;
            *column = known.number;
            if known.number == RARE {
                self.rares.push(Rare {
                    column: name as u32,
                    units: units as i16,
                });
            }
        }
        head.rares = self.rares.len() as u32 - head.rare;
        self.repeats |= repeats;
    }

    /// Put the rare columns in the order of the rows here, and number them anew.
    fn sort_rares(&mut self, numbers: &mut Numbers) {
        let found = std::mem::take(&mut self.rares);
        numbers.count_rares(&found);
        self.rares.reserve_exact(found.len());
        for head in self.heads.iter_mut().filter(|head| head.rares > 0) {
            let own = &found[head.rare as usize..][..head.rares as usize];
            head.rare = self.rares.len() as u32;
            let mut shared_units = 0;
            for &Rare { column, units } in own {
                let column = numbers.rare(column);
                if (column as usize) < numbers.first_single {
                    shared_units += u64::from(units.unsigned_abs());
                }
                self.rares.push(Rare { column, units });
            }
            head.rare_size = (shared_units as f64 * f64::from(head.unit) * ROUNDING_MARGIN) as f32;
        }
        numbers.names.append(&mut numbers.single_names);
    }

    /// The columns and the units of a row.
    #[inline(always)]
    fn groups(&self, head: &Head) -> (&[Group], &[Group]) {
        let room = (head.count as usize).div_ceil(LANES);
        self.groups[head.start as usize..][..2 * room].split_at(room)
    }

    fn rares(&self, head: &Head) -> &[Rare] {
        &self.rares[head.rare as usize..][..head.rares as usize]
    }

    /// Return whether w·x + bias has this sign; `None` if that is uncertain. The error of w·x is at most `doubt` times
    /// ‖w‖.
    #[inline(always)]
    pub fn surely(&self, row: usize, sign: f64, light: &Light, weights: &[f64], bias: f64) -> Option<bool> {
        let head = &self.heads[row];
        let mut sums = [0.0f32; LANES];
        let (columns, units) = self.groups(head);
        for (columns, units) in columns.iter().zip(units) {
            for lane in 0..LANES {
                sums[lane] += light.weights[columns[lane] as usize] * f32::from(units[lane] as i16);
            }
        }
        let mut sum = f64::from(sums.iter().sum::<f32>());
        let score = |sum: f64| sign * (sum * f64::from(head.unit) + bias);
        let doubt = f64::from(head.doubt) * light.length;
        // The weights of rare columns are anywhere in memory, and seldom decide. The weight of a column that no other
        // row has changes only with mistakes on this row, towards its sign: it never reduces the score.
        if score(sum) > doubt + f64::from(head.rare_size) * light.largest_rare {
            return Some(true);
        }
        for rare in self.rares(head) {
            sum += weights[rare.column as usize] * f64::from(rare.units);
        }
        (score(sum).abs() > doubt).then_some(score(sum) > 0.0)
    }

    /// Write the columns of a row, in the given order.
    #[inline(always)]
    pub fn columns(&self, row: usize, into: &mut Vec<i32>) {
        let head = &self.heads[row];
        let (columns, _) = self.groups(head);
        into.clear();
        into.extend(
            columns.as_flattened()[..head.count as usize]
                .iter()
                .map(|&column| i32::from(column)),
        );
        if head.rares > 0 {
            let places = into.iter_mut().filter(|column| **column == i32::from(RARE));
            places
                .zip(self.rares(head))
                .for_each(|(column, rare)| *column = rare.column as i32);
        }
    }

    /// Call with each column of a row and its number in units, in the given order.
    #[inline(always)]
    pub fn each(&self, row: usize, mut call: impl FnMut(usize, i16)) {
        let head = &self.heads[row];
        let (columns, units) = self.groups(head);
        let mut rares = self.rares(head).iter();
        let numbers = columns.as_flattened().iter().zip(units.as_flattened());
        for (&column, &units) in numbers.take(head.count as usize) {
            if column < RARE {
                call(column as usize, units as i16);
            } else if let Some(rare) = rares.next() {
                call(rare.column as usize, rare.units);
            }
        }
    }

    /// The sum of the weights of the columns whose number is not zero, in the given order.
    #[inline(always)]
    pub fn present(&self, row: usize, weight: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0.0;
        self.each(row, |column, units| {
            sum += if units != 0 { weight(column) } else { 0.0 }
        });
        sum
    }

    /// The sum of ‖x‖² over all rows.
    pub fn squares(&self) -> f64 {
        self.squares.iter().sum()
    }

    /// ‖x‖² of a row.
    pub fn square(&self, row: usize) -> f64 {
        self.squares[row]
    }

    /// Fetch the square of a row.
    #[inline(always)]
    pub fn fetch_square(&self, row: usize) {
        prefetch(&self.squares, row);
    }

    /// The places of the numbers of a row in the table.
    #[inline(always)]
    pub fn given(&self, row: usize) -> Range<usize> {
        let head = &self.heads[row];
        let start = head.given as usize;
        start..start + head.count as usize
    }

    /// Return how many numbers a row holds.
    #[inline(always)]
    pub fn size(&self, row: usize) -> usize {
        self.heads[row].count as usize
    }

    /// Fetch the head of a row, which [`Self::fetch`] needs.
    #[inline(always)]
    pub fn fetch_head(&self, row: usize) {
        prefetch(&self.heads, row);
    }

    /// Fetch a row ahead of its use.
    #[inline(always)]
    pub fn fetch(&self, row: usize) {
        let head = &self.heads[row];
        fetch(&self.groups[head.start as usize..][..2 * (head.count as usize).div_ceil(LANES)]);
        prefetch(&self.rares, head.rare as usize);
    }

    /// Pick the weights of the columns here from those of all given columns.
    pub fn picked(&self, every: &[f64]) -> Vec<f64> {
        self.names.iter().map(|&name| every[name as usize]).collect()
    }

    /// Write weights to their given columns; other columns stay as they are.
    pub fn put_back(&self, weights: &[f64], every: &mut [f64]) {
        for (&name, &weight) in self.names.iter().zip(weights) {
            every[name as usize] = weight;
        }
    }
}

/// The place of each row of a table among some of its rows, or `NOWHERE`; `None` if one comes twice.
fn places_of(rows: &[u32], count: usize) -> Option<Vec<u32>> {
    let mut places = vec![NOWHERE; count];
    for (&row, place) in rows.iter().zip(0..) {
        if std::mem::replace(&mut places[row as usize], place) != NOWHERE {
            return None;
        }
    }
    Some(places)
}

/// The largest absolute number, and the sum of all squares.
#[inline(always)]
pub fn extent(values: &[f64]) -> (f64, f64) {
    let (mut largest, mut squares) = ([0.0f64; LANES], [0.0; LANES]);
    let mut add = |lane: usize, value: f64| {
        let size = value.abs();
        largest[lane] = if size > largest[lane] { size } else { largest[lane] };
        squares[lane] += value * value;
    };
    let (groups, rest) = values.as_chunks::<LANES>();
    for values in groups {
        (0..LANES).for_each(|lane| add(lane, values[lane]));
    }
    rest.iter().enumerate().for_each(|(lane, &value)| add(lane, value));
    (largest.into_iter().fold(0.0, f64::max), squares.iter().sum())
}

/// The nearest whole number to one that fits 16 bits: after adding 1.5 · 2⁵², the last bits are the rounded integer.
#[inline(always)]
fn rounded(value: f64) -> u16 {
    (value + 1.5 * (1u64 << 52) as f64).to_bits() as u16
}
