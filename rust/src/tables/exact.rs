//! Exact sums of numbers and of their squares by class.
//!
//! A double is a whole number of at most 53 bits times a power of two. Sums of doubles and of their squares are therefore
//! whole numbers in units of a power of two, and do not depend on the order of the rows. Missing numbers (NaN) are left
//! out.
//!
//! Numbers with the same exponent are added up as 128-bit integers first, a cell for each class and exponent. The cells
//! are then added to long integers, one for each class. Where there would be almost as many cells as numbers, each
//! number is added to its long integer at once.

use crate::system::vector::{Kernel, dispatch};

/// Bits of a long integer in one limb.
const LIMB: usize = 32;
/// Limbs that a number of 128 bits can reach, wherever it begins.
const REACH: usize = 5;
/// Numbers in one cell at most: the sum of squares of 106 bits has 128 bits at most.
const MOST_IN_CELL: usize = 1 << 20;
/// Additions to a limb before its carries are passed on.
const MOST_PENDING: usize = 1 << 30;
/// Bits above the largest number that a sum can reach.
const SPARE: usize = 96;

/// With at most this many cells there are two tables of them.
const MOST_TWICE: usize = 1 << 10;

/// In a cell the number of its numbers stands above the sum of their mantissas, of at most 74 bits with the sign.
const COUNT: u32 = 100;

const INFINITE: u64 = 0x7ff << 52;
const MAGNITUDE: u64 = u64::MAX >> 1;

/// A number is infinite, so that it has no sum.
#[derive(Debug, PartialEq, Eq)]
pub struct Infinite;

/// For each class how many numbers there are, Σ x in units of 2^unit and Σ x² in units of 4^unit.
pub struct ExactSums {
    pub counts: Vec<i64>,
    first: Integers,
    second: Integers,
    cells: Vec<Cell>,
}

/// The sums of numbers of one class and one exponent: of their mantissas, with their number, and of the squares.
#[derive(Clone, Copy, Default)]
struct Cell {
    first: i128,
    second: u128,
}

impl Cell {
    #[inline(always)]
    fn add(&mut self, number: &Number) {
        self.first += number.signed() as i128 + (1 << COUNT);
        self.second += number.mantissa as u128 * number.mantissa as u128;
    }

    /// How many numbers there are, and the sum of their mantissas.
    fn first(&self) -> (i64, i128) {
        let count = (self.first + (1 << (COUNT - 1))) >> COUNT;
        (count as i64, self.first - (count << COUNT))
    }
}

/// A finite number: ± mantissa · 2^(exponent − 1074).
struct Number {
    negative: bool,
    mantissa: u64,
    exponent: usize,
}

impl Number {
    #[inline(always)]
    fn of(value: f64) -> Number {
        let bits = value.to_bits();
        let field = (bits & MAGNITUDE) >> 52;
        Number {
            negative: bits > MAGNITUDE,
            mantissa: (bits & ((1 << 52) - 1)) | u64::from(field != 0) << 52,
            exponent: (field - u64::from(field != 0)) as usize,
        }
    }

    #[inline(always)]
    fn signed(&self) -> i64 {
        let mask = -i64::from(self.negative);
        (self.mantissa as i64 ^ mask) - mask
    }
}

impl ExactSums {
    pub fn new(classes: usize) -> Self {
        ExactSums {
            counts: vec![0; classes],
            first: Integers::new(classes),
            second: Integers::new(classes),
            cells: Vec::new(),
        }
    }

    /// Make room for more classes, which have no numbers yet.
    pub fn grow(&mut self, classes: usize) {
        if classes > self.counts.len() {
            self.counts.resize(classes, 0);
            self.first.grow(classes);
            self.second.grow(classes);
        }
    }

    /// Add numbers with the class of each.
    pub fn add(&mut self, values: &[f64], classes: &[i32]) -> Result<(), Infinite> {
        for (values, classes) in values.chunks(MOST_IN_CELL).zip(classes.chunks(MOST_IN_CELL)) {
            let (low, high) = exponents(values)?;
            // Both begin at the same power of two, so that one unit tells where.
            let start = low / LIMB;
            self.first.cover(start, (high + 53 + SPARE).div_ceil(LIMB));
            self.second.cover(2 * start, (2 * (high + 53) + SPARE).div_ceil(LIMB));
            let span = high - low + 1;
            if self.counts.len().saturating_mul(span) <= values.len() / 4 {
                self.add_by_cell(values, classes, low, span);
            } else {
                self.add_one_by_one(values, classes);
            }
        }
        Ok(())
    }

    fn add_by_cell(&mut self, values: &[f64], classes: &[i32], low: usize, span: usize) {
        let cells = self.counts.len() * span;
        // Neighbors are added to two tables: an addition need not wait for the one before, often to the same cell.
        let (tables, other) = if cells <= MOST_TWICE { (2, cells) } else { (1, 0) };
        self.cells.clear();
        self.cells.resize(tables * cells, Cell::default());
        let mut add = |value: f64, class: i32, table: usize| {
            if !value.is_nan() {
                let number = Number::of(value);
                // Zero is below the lowest exponent; it adds nothing to any cell.
                let exponent = number.exponent.saturating_sub(low);
                self.cells[table + class as usize * span + exponent].add(&number);
            }
        };
        let (pairs, last) = values.as_chunks::<2>();
        let (class_pairs, last_class) = classes.as_chunks::<2>();
        for (&[one, two], &[first, second]) in pairs.iter().zip(class_pairs) {
            add(one, first, 0);
            add(two, second, other);
        }
        for (&value, &class) in last.iter().zip(last_class) {
            add(value, class, 0);
        }
        for (place, cell) in self.cells.iter().enumerate().filter(|(_, cell)| cell.first != 0) {
            let (class, exponent) = (place % cells / span, low + place % span);
            let (count, first) = cell.first();
            self.counts[class] += count;
            self.first.add(class, exponent, first.unsigned_abs(), first < 0);
            self.second.add(class, 2 * exponent, cell.second, false);
        }
    }

    fn add_one_by_one(&mut self, values: &[f64], classes: &[i32]) {
        for (&value, &class) in values.iter().zip(classes) {
            let number = Number::of(value);
            self.counts[class as usize] += i64::from(!value.is_nan());
            if value.is_nan() || number.mantissa == 0 {
                continue;
            }
            let (class, mantissa) = (class as usize, number.mantissa as u128);
            self.first.add(class, number.exponent, mantissa, number.negative);
            self.second.add(class, 2 * number.exponent, mantissa * mantissa, false);
        }
    }

    /// The power of two that is the unit of Σ x.
    pub fn unit(&self) -> i64 {
        (self.first.start * LIMB) as i64 - 1074
    }

    /// The integers of Σ x and of Σ x², as bytes in two's complement, the lowest first; as many bytes for each class.
    pub fn integers(mut self) -> (Vec<u8>, Vec<u8>) {
        (self.first.bytes(), self.second.bytes())
    }
}

/// The lowest and the highest exponent of numbers other than zero; any if there are none.
fn exponents(values: &[f64]) -> Result<(usize, usize), Infinite> {
    let (least, most) = dispatch(Magnitudes(values));
    if most == INFINITE {
        return Err(Infinite);
    }
    let [least, most] = [least.min(most), most].map(|bits| Number::of(f64::from_bits(bits)).exponent);
    Ok((least, most))
}

/// The bits of the smallest magnitude but zero, and of the greatest; NaN is left out.
struct Magnitudes<'a>(&'a [f64]);

impl Kernel for Magnitudes<'_> {
    type Output = (u64, u64);

    #[inline(always)]
    fn run(self) -> (u64, u64) {
        let (least, most) = self.0.iter().fold((u64::MAX, 0), |(least, most), value| {
            let magnitude = value.to_bits() & MAGNITUDE;
            let known = if magnitude > INFINITE { 0 } else { magnitude };
            // Zero becomes the greatest.
            (least.min(known.wrapping_sub(1)), most.max(known))
        });
        (least.wrapping_add(1), most)
    }
}

/// Long integers, one for each class, of the same limbs: Σ limb[i] · 2^(32 (start + i)).
///
/// Limbs are signed and wider than their digits, so that carries are passed on only now and then.
struct Integers {
    classes: usize,
    start: usize,
    limbs: Vec<i64>,
    length: usize,
    pending: usize,
}

impl Integers {
    fn new(classes: usize) -> Self {
        Integers {
            classes,
            start: 0,
            limbs: Vec::new(),
            length: 0,
            pending: 0,
        }
    }

    fn grow(&mut self, classes: usize) {
        self.classes = classes;
        self.limbs.resize(classes * self.length, 0);
    }

    /// Make room for limbs from `start` to `end`, and for what a number that begins below `end` can reach.
    fn cover(&mut self, start: usize, end: usize) {
        let end = end + REACH;
        if self.length == 0 {
            (self.start, self.length) = (start, end - start);
            self.limbs = vec![0; self.classes * self.length];
            return;
        }
        let (low, high) = (start.min(self.start), end.max(self.start + self.length));
        if (low, high) == (self.start, self.start + self.length) {
            return;
        }
        self.carry();
        let mut limbs = vec![0; self.classes * (high - low)];
        let shift = self.start - low;
        for (wide, old) in limbs
            .chunks_exact_mut(high - low)
            .zip(self.limbs.chunks_exact(self.length))
        {
            wide[shift..shift + self.length].copy_from_slice(old);
        }
        (self.start, self.length, self.limbs) = (low, high - low, limbs);
    }

    /// Add ± `magnitude` · 2^place to the integer of a class.
    #[inline]
    fn add(&mut self, class: usize, place: usize, magnitude: u128, negative: bool) {
        let (limb, shift) = (place / LIMB - self.start, place % LIMB);
        let low = magnitude << shift;
        let high = if shift == 0 { 0 } else { magnitude >> (128 - shift) };
        let limbs = &mut self.limbs[class * self.length + limb..][..REACH];
        let digits = [low, low >> 32, low >> 64, low >> 96, high].map(|digits| i64::from(digits as u32));
        for (limb, digit) in limbs.iter_mut().zip(digits) {
            *limb += if negative { -digit } else { digit };
        }
        self.pending += 1;
        if self.pending == MOST_PENDING {
            self.carry();
        }
    }

    /// Bring all limbs but the last, which has the sign, to the range of their digits.
    fn carry(&mut self) {
        self.pending = 0;
        for limbs in self.limbs.chunks_exact_mut(self.length.max(1)) {
            let mut carry = 0;
            let last = limbs.len() - 1;
            for limb in &mut limbs[..last] {
                let sum = *limb + carry;
                *limb = sum & i64::from(u32::MAX);
                carry = sum >> LIMB;
            }
            limbs[last] += carry;
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.carry();
        self.limbs
            .iter()
            .flat_map(|&limb| (limb as u32).to_le_bytes())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The integers of both sums without the bytes that are zero in all of them, and the powers of two they stand for.
    fn small(sums: ExactSums) -> [(i64, Vec<i128>); 2] {
        let (unit, classes) = (sums.unit(), sums.counts.len());
        let (first, second) = sums.integers();
        [(unit, first), (2 * unit, second)].map(|(unit, bytes)| {
            let span = bytes.len() / classes;
            let low = (0..span)
                .find(|&byte| (0..classes).any(|class| bytes[class * span + byte] != 0))
                .unwrap();
            let value = |bytes: &[u8]| {
                let end = span.min(low + 16);
                let mut whole = [if bytes[span - 1] > 127 { 255 } else { 0 }; 16];
                whole[..end - low].copy_from_slice(&bytes[low..end]);
                assert!(bytes[end..].iter().all(|&byte| byte == whole[15]));
                i128::from_le_bytes(whole)
            };
            (unit + 8 * low as i64, bytes.chunks_exact(span).map(value).collect())
        })
    }

    fn of(values: &[f64], classes: &[i32], n_classes: usize) -> ExactSums {
        let mut sums = ExactSums::new(n_classes);
        sums.add(values, classes).unwrap();
        sums
    }

    #[test]
    fn sums_are_whole_numbers_of_the_unit() {
        let sums = of(&[1.5, -4.0, f64::NAN, 0.0, 0.25], &[0, 1, 0, 1, 0], 2);
        assert_eq!(sums.counts, [2, 2]);
        let [(unit, first), (square_unit, second)] = small(sums);
        let scale = |value: f64, unit: i64| (value * 2f64.powi(-unit as i32)) as i128;
        assert_eq!(first, [1.75, -4.0].map(|sum| scale(sum, unit)));
        assert_eq!(second, [2.3125, 16.0].map(|sum| scale(sum, square_unit)));
    }

    #[test]
    fn both_ways_and_any_parts_give_the_same_sums() {
        let mut state = 3u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state >> 20
        };
        let values: Vec<f64> = (0..3000)
            .map(|_| (draw() as f64 - 8e12) * 2f64.powi((draw() % 9) as i32))
            .collect();
        let classes: Vec<i32> = (0..3000).map(|_| (draw() % 3) as i32).collect();
        let whole = of(&values, &classes, 3);
        let mut slow = ExactSums::new(3);
        slow.first.cover(30, 50);
        slow.second.cover(60, 100);
        slow.add_one_by_one(&values, &classes);
        let mut parts = ExactSums::new(3);
        for (values, classes) in values.chunks(7).zip(classes.chunks(7)).rev() {
            parts.add(values, classes).unwrap();
        }
        let counts = |sums: &ExactSums| sums.counts.clone();
        assert_eq!([counts(&slow), counts(&parts)], [counts(&whole), counts(&whole)]);
        let expected = small(whole);
        assert_eq!(small(slow), expected);
        assert_eq!(small(parts), expected);
    }

    #[test]
    fn classes_may_come_later() {
        let mut sums = of(&[1.5, 2.5], &[0, 0], 1);
        sums.grow(3);
        sums.add(&[0.5, 1e9], &[2, 0]).unwrap();
        let whole = of(&[1.5, 2.5, 0.5, 1e9], &[0, 0, 2, 0], 3);
        assert_eq!(sums.counts, whole.counts);
        assert_eq!(small(sums), small(whole));
    }

    #[test]
    fn the_ends_of_the_range_are_summed_and_cancel() {
        let least = f64::from_bits(1);
        let mut sums = of(&[f64::MAX, least, -f64::MAX], &[0; 3], 1);
        sums.add(&[f64::MAX; 3], &[0; 3]).unwrap();
        sums.add(&[-f64::MAX; 3], &[0; 3]).unwrap();
        assert_eq!((sums.counts[0], sums.unit()), (9, -1074));
        let (first, second) = sums.integers();
        assert_eq!(first[0], 1);
        assert!(first[1..].iter().all(|&byte| byte == 0));
        assert_eq!(second[0], 1);
        // 8 · (2^53 − 1)² · 4^(1023 − 52 + 1074)
        let top = (2 * 2045 + 106 + 3 - 1) / 8;
        assert!(second[top] != 0 && second[top + 1..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn what_is_infinite_is_refused_and_nothing_is_nothing() {
        assert_eq!(ExactSums::new(1).add(&[1.0, f64::NEG_INFINITY], &[0, 0]), Err(Infinite));
        let sums = of(&[0.0, -0.0, f64::NAN], &[0, 1, 1], 2);
        assert_eq!((sums.counts.clone(), sums.unit()), (vec![1, 1], -1074));
        let (first, second) = sums.integers();
        assert!(first.iter().chain(&second).all(|&byte| byte == 0));
    }

    #[test]
    fn carries_are_passed_on_in_time() {
        let mut integers = Integers::new(1);
        integers.cover(0, 1);
        for (magnitude, negative) in [(u128::MAX, false), (u128::MAX, true), (1, true)] {
            integers.add(0, 31, magnitude, negative);
        }
        integers.pending = MOST_PENDING - 1;
        integers.add(0, 0, 1, false);
        assert_eq!(integers.pending, 0);
        // 1 − 2^31
        assert_eq!(
            integers.limbs,
            [0x8000_0001, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff, 0xffff_ffff, -1]
        );
    }
}
