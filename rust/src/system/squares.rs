//! Sums of products of whole numbers, by multiplications of 16 bits that processors with AVX-512 VNNI add up in pairs.
//!
//! A number q of up to 23 bits is h·2¹¹ + l. The products of a row with itself are hh·2²² + (hl + lh)·2¹¹ + ll, and
//! hl + lh is (h + l)(h + l) − hh − ll: three symmetric products, each of 32 numbers an instruction instead of 8.
//!
//! Each unsafe block calls a function whose processor features were checked at run time, or reads and writes a slice of
//! which the length was checked.
#![allow(unsafe_code)]

use super::vector::{CodePath, code_path, vectorized};

/// The greatest magnitude of a number.
pub const MOST: f64 = 4_194_304.0;
/// Adding this to a double below 2³¹ leaves its whole number in the lowest bits.
const WHOLE: f64 = 6_755_399_441_055_744.0;
const DIGIT: u32 = 11;
/// Axes side by side in memory, and those that are multiplied with them at once.
const PANEL: usize = 48;
const LINES: usize = 8;
/// Pairs of rows whose sums no 32 bits exceed: (h + l)² is below 2²³·1.13.
const MOST_PAIRS: usize = 96;
/// The digits h and l, and their sum.
const PLANES: usize = 3;

/// Whether this processor has the instructions.
pub fn is_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return code_path() == CodePath::Avx512 && is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Add the products of rows with themselves to `sums`, axes × axes, of which the upper triangle counts.
///
/// `rows` are whole numbers up to [`MOST`], row by row. Panics if the processor lacks the instructions.
pub fn add_squares(rows: &[f64], axes: usize, sums: &mut [i64]) {
    assert!(
        is_fast() && axes > 0 && sums.len() == axes * axes,
        "no sums of products"
    );
    let mut digits = Digits::new(axes);
    for rows in rows.chunks(2 * MOST_PAIRS * axes) {
        digits.set(rows, axes);
        // SAFETY: `is_fast` checked the features.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            digits.add_to(axes, sums);
        }
    }
}

/// The digits of some rows. A number of 32 bits holds those of two rows; panels of axes lie one after the other.
struct Digits {
    planes: [Vec<i32>; PLANES],
    pairs: usize,
}

impl Digits {
    fn new(axes: usize) -> Self {
        let size = axes.div_ceil(PANEL) * PANEL * MOST_PAIRS;
        Digits {
            planes: std::array::from_fn(|_| vec![0; size]),
            pairs: 0,
        }
    }

    fn set(&mut self, rows: &[f64], axes: usize) {
        let none = vec![0.0; axes];
        self.pairs = rows.len().div_ceil(2 * axes);
        let pairs = self.pairs;
        let [high, low, both] = &mut self.planes;
        vectorized(
            #[inline(always)]
            || {
                for (pair, rows) in rows.chunks(2 * axes).enumerate() {
                    let (one, other) = rows.split_at(axes);
                    let other = if other.is_empty() { &none } else { other };
                    for (panel, (one, other)) in one.chunks(PANEL).zip(other.chunks(PANEL)).enumerate() {
                        let start = (panel * pairs + pair) * PANEL;
                        let planes = [
                            &mut high[start..][..PANEL],
                            &mut low[start..][..PANEL],
                            &mut both[start..][..PANEL],
                        ];
                        split(one, other, planes);
                    }
                }
            },
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    fn add_to(&self, axes: usize, sums: &mut [i64]) {
        let size = self.pairs * PANEL;
        let mut tiles = [[0i32; LINES * PANEL]; PLANES];
        for (right, columns) in (0..axes).step_by(PANEL).enumerate() {
            let n_columns = PANEL.min(axes - columns);
            for first in (0..axes.min(columns + PANEL)).step_by(LINES) {
                for (plane, tile) in self.planes.iter().zip(&mut tiles) {
                    let left = &plane[first / PANEL * size..][..size];
                    multiply(left, first % PANEL, &plane[right * size..][..size], tile);
                }
                let [high, low, both] = &tiles;
                for line in 0..LINES.min(axes - first) {
                    let sums = &mut sums[(first + line) * axes + columns..][..n_columns];
                    let part = line * PANEL..line * PANEL + n_columns;
                    let tiles = high[part.clone()].iter().zip(&low[part.clone()]).zip(&both[part]);
                    for (sum, ((&high, &low), &both)) in sums.iter_mut().zip(tiles) {
                        let cross = both.wrapping_sub(high).wrapping_sub(low);
                        *sum += (i64::from(high) << (2 * DIGIT)) + (i64::from(cross) << DIGIT) + i64::from(low);
                    }
                }
            }
        }
    }
}

/// Split the numbers of two rows on a panel of axes.
#[inline(always)]
fn split(one: &[f64], other: &[f64], planes: [&mut [i32]; PLANES]) {
    let [high, low, both] = planes;
    let pairs = one.iter().zip(other);
    for ((((&one, &other), high), low), both) in pairs.zip(high).zip(low).zip(both) {
        let (one, other) = (digits(one), digits(other));
        *high = paired(one.0, other.0);
        *low = paired(one.1, other.1);
        *both = paired(one.0 + one.1, other.0 + other.1);
    }
}

#[inline(always)]
fn digits(number: f64) -> (i32, i32) {
    let whole = (number + WHOLE).to_bits() as i32;
    let high = (whole + (1 << (DIGIT - 1))) >> DIGIT;
    (high, whole - (high << DIGIT))
}

#[inline(always)]
fn paired(one: i32, other: i32) -> i32 {
    (one & 0xffff) | (other << 16)
}

/// Set a tile of lines × panel to the sums over rows of the products of the lines of one panel with another panel.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
#[inline]
fn multiply(left: &[i32], first: usize, right: &[i32], tile: &mut [i32; LINES * PANEL]) {
    use std::arch::x86_64::_mm512_storeu_si512;
    use std::arch::x86_64::{_mm512_dpwssd_epi32, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_setzero_si512};
    const LANES: usize = 16;
    const WIDTH: usize = PANEL / LANES;

    let mut sums = [[_mm512_setzero_si512(); WIDTH]; LINES];
    for (left, right) in left.chunks_exact(PANEL).zip(right.chunks_exact(PANEL)) {
        // SAFETY: `right` has PANEL numbers, LANES for each part.
        let parts: [_; WIDTH] =
            std::array::from_fn(|part| unsafe { _mm512_loadu_si512(right[part * LANES..].as_ptr().cast()) });
        for (sums, &number) in sums.iter_mut().zip(&left[first..first + LINES]) {
            let number = _mm512_set1_epi32(number);
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum = _mm512_dpwssd_epi32(*sum, number, part);
            }
        }
    }
    for (sums, line) in sums.iter().zip(tile.chunks_exact_mut(PANEL)) {
        for (&sum, part) in sums.iter().zip(line.chunks_exact_mut(LANES)) {
            // SAFETY: `part` has LANES numbers.
            unsafe { _mm512_storeu_si512(part.as_mut_ptr().cast(), sum) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(rows: &[f64], axes: usize) -> Vec<i64> {
        let mut sums = vec![0; axes * axes];
        for row in rows.chunks_exact(axes) {
            for (place, &one) in row.iter().enumerate() {
                for (other, &number) in row.iter().enumerate() {
                    sums[place * axes + other] += one as i64 * number as i64;
                }
            }
        }
        sums
    }

    #[test]
    fn digits_make_the_number_again() {
        for number in [
            0.0,
            1.0,
            -1.0,
            1023.0,
            1024.0,
            -1024.0,
            -1025.0,
            MOST,
            -MOST,
            MOST - 1025.0,
        ] {
            let (high, low) = digits(number);
            assert_eq!(f64::from(high * (1 << DIGIT) + low), number);
            assert!((-1024..1024).contains(&low) && (-2048..=2048).contains(&high));
        }
    }

    #[test]
    fn sums_are_those_of_plain_loops() {
        if !is_fast() {
            return;
        }
        for (rows, axes) in [(1, 1), (2, 3), (193, 7), (5, 48), (385, 49), (200, 101), (576, 130)] {
            // Numbers of all sizes, and the greatest of both signs.
            let numbers: Vec<f64> = (0..rows * axes)
                .map(|place| match place % 7 {
                    0 => MOST - 1025.0,
                    1 => -MOST,
                    _ => ((place as f64 * 0.7).sin() * MOST).round(),
                })
                .collect();
            let (mut sums, wanted) = (vec![3; axes * axes], plain(&numbers, axes));
            add_squares(&numbers, axes, &mut sums);
            for line in 0..axes {
                for column in line..axes {
                    assert_eq!(sums[line * axes + column], wanted[line * axes + column] + 3);
                }
            }
            // All numbers the greatest: no 32 bits are exceeded.
            let numbers = vec![MOST - 1025.0; rows * axes];
            let (mut sums, wanted) = (vec![0; axes * axes], plain(&numbers, axes));
            add_squares(&numbers, axes, &mut sums);
            assert_eq!(sums[axes - 1], wanted[axes - 1]);
        }
    }
}
