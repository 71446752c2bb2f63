//! Means and standard deviations of all numbers but those of a fold, each as exact sums give them, rounded once.
//!
//! Sums of numbers and of their squares are whole numbers in units of a power of two (see [`super::exact`]). Where the
//! numbers are not too far apart, these fit into integers of 192, 256 or 512 bits: a fold is then subtracted in a few
//! nanoseconds.

use crate::system::cancel::checkpoint;

/// The most numbers: a square of their count fits 62 bits.
const MOST_NUMBERS: usize = 1 << 31;
/// Exponents of results within these are those of normal doubles, whatever the rounding.
const MOST_EXPONENT: i64 = 900;

/// The mean and the standard deviation of some numbers; NaN where there are none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub mean: f64,
    pub deviation: f64,
}

/// Rows that are held out: the rows in order, and the fold of each.
pub struct Folds<'a> {
    pub order: &'a [i64],
    pub numbers: &'a [i64],
    pub count: usize,
}

/// The moments without each fold: of each class that the fold has rows of, and of all classes together.
pub struct Without {
    /// Class and fold of each of `of_cells`.
    pub cells: Vec<(usize, usize)>,
    pub of_cells: Vec<Moments>,
    pub of_folds: Vec<Moments>,
}

/// Return the moments without each fold; `None` if the numbers are too far apart, or too many.
///
/// The classes and the places in `folds` must be within bounds.
pub fn without(values: &[f64], classes: &[i32], n_classes: usize, folds: &Folds<'_>) -> Option<Without> {
    let (low, high) = exponents(values)?;
    let bits = 64 - (values.len() as u64).leading_zeros() as i64;
    // The largest number is count² · Σ x², of which one half of the bits must hold Σ x.
    let needed = 2 * (high - low + 53) + 3 * bits + 2;
    if values.len() >= MOST_NUMBERS {
        None
    } else if needed <= 192 {
        Sums::<3>::without(values, classes, n_classes, folds, low)
    } else if needed <= 256 {
        Sums::<4>::without(values, classes, n_classes, folds, low)
    } else if needed <= 512 {
        Sums::<8>::without(values, classes, n_classes, folds, low)
    } else {
        None
    }
}

/// The lowest and the highest exponent of the numbers other than zero; `None` if one is infinite.
fn exponents(values: &[f64]) -> Option<(i64, i64)> {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    for &value in values.iter().filter(|value| !value.is_nan() && **value != 0.0) {
        if value.is_infinite() {
            return None;
        }
        let exponent = split(value).1;
        (low, high) = (low.min(exponent), high.max(exponent));
    }
    Some(if low > high { (0, 0) } else { (low, high) })
}

/// Return m and e of a finite number, which is ± m · 2^e.
fn split(value: f64) -> (u64, i64) {
    let bits = value.to_bits();
    let field = (bits >> 52) & 0x7ff;
    let mantissa = (bits & ((1 << 52) - 1)) | u64::from(field != 0) << 52;
    (mantissa, (field.max(1) as i64) - 1075)
}

/// A whole number of 64 N bits in two's complement, the lowest limb first.
type Long<const N: usize> = [u64; N];

/// How many numbers there are, Σ x in units of 2^low and Σ x² in units of 4^low.
#[derive(Clone, Copy)]
struct Sums<const N: usize> {
    count: u64,
    first: Long<N>,
    second: Long<N>,
}

impl<const N: usize> Sums<N> {
    const NOTHING: Self = Sums {
        count: 0,
        first: [0; N],
        second: [0; N],
    };

    fn without(values: &[f64], classes: &[i32], n_classes: usize, folds: &Folds<'_>, low: i64) -> Option<Without> {
        let mut totals = vec![Self::NOTHING; n_classes];
        for (&value, &class) in values.iter().zip(classes) {
            checkpoint();
            totals[class as usize].add(value, low);
        }
        let every = totals.iter().fold(Self::NOTHING, |sums, one| sums.plus(one));
        let mut rows: Vec<(usize, usize, f64)> = folds
            .order
            .iter()
            .zip(folds.numbers)
            .map(|(&row, &fold)| (fold as usize, classes[row as usize] as usize, values[row as usize]))
            .collect();
        rows.sort_unstable_by_key(|&(fold, class, _)| (fold, class));
        let mut found = Without {
            cells: Vec::new(),
            of_cells: Vec::new(),
            of_folds: vec![every.moments(low)?; folds.count],
        };
        for rows in rows.chunk_by(|one, other| one.0 == other.0) {
            checkpoint();
            let mut mine = Self::NOTHING;
            for cell in rows.chunk_by(|one, other| one.1 == other.1) {
                let mut own = Self::NOTHING;
                cell.iter().for_each(|&(.., value)| own.add(value, low));
                mine = mine.plus(&own);
                found.cells.push((cell[0].1, cell[0].0));
                found.of_cells.push(totals[cell[0].1].minus(&own).moments(low)?);
            }
            found.of_folds[rows[0].0] = every.minus(&mine).moments(low)?;
        }
        Some(found)
    }

    fn add(&mut self, value: f64, low: i64) {
        if value.is_nan() {
            return;
        }
        self.count += 1;
        if value == 0.0 {
            return;
        }
        let (mantissa, exponent) = split(value);
        let shift = (exponent - low) as usize;
        let first = shifted(u128::from(mantissa), shift);
        self.first = if value < 0.0 {
            minus(&self.first, &first)
        } else {
            plus(&self.first, &first)
        };
        let square = shifted(u128::from(mantissa) * u128::from(mantissa), 2 * shift);
        self.second = plus(&self.second, &square);
    }

    fn plus(&self, other: &Self) -> Self {
        Sums {
            count: self.count + other.count,
            first: plus(&self.first, &other.first),
            second: plus(&self.second, &other.second),
        }
    }

    fn minus(&self, other: &Self) -> Self {
        Sums {
            count: self.count - other.count,
            first: minus(&self.first, &other.first),
            second: minus(&self.second, &other.second),
        }
    }

    /// Return the mean and the deviation, or `None` if they may be no normal doubles.
    fn moments(&self, low: i64) -> Option<Moments> {
        if self.count == 0 {
            return Some(Moments {
                mean: f64::NAN,
                deviation: f64::NAN,
            });
        }
        let negative = self.first[N - 1] >> 63 == 1;
        let size = if negative {
            minus(&[0; N], &self.first)
        } else {
            self.first
        };
        let mean = divided(&size, self.count, low)?;
        // (n Σx² − (Σx)²) / n², a ratio of whole numbers.
        let above = minus(&times(&self.second, self.count), &square(&size));
        let below = self.count * self.count;
        let half = (length(&above) - i64::from(64 - below.leading_zeros())).div_euclid(2);
        let ratio = divided(&above, below, -2 * half)?;
        Some(Moments {
            mean: if negative { -mean } else { mean },
            deviation: scaled(ratio.sqrt(), half + low)?,
        })
    }
}

fn plus<const N: usize>(one: &Long<N>, other: &Long<N>) -> Long<N> {
    let (mut sum, mut carry) = ([0; N], false);
    for ((sum, &one), &other) in sum.iter_mut().zip(one).zip(other) {
        let (partial, first) = one.overflowing_add(other);
        let (whole, second) = partial.overflowing_add(u64::from(carry));
        (*sum, carry) = (whole, first | second);
    }
    sum
}

fn minus<const N: usize>(one: &Long<N>, other: &Long<N>) -> Long<N> {
    let (mut rest, mut borrow) = ([0; N], false);
    for ((rest, &one), &other) in rest.iter_mut().zip(one).zip(other) {
        let (partial, first) = one.overflowing_sub(other);
        let (whole, second) = partial.overflowing_sub(u64::from(borrow));
        (*rest, borrow) = (whole, first | second);
    }
    rest
}

/// Return value · 2^shift, which must fit.
fn shifted<const N: usize>(value: u128, shift: usize) -> Long<N> {
    let (limb, bits) = (shift / 64, shift % 64);
    let low = value << bits;
    let high = if bits == 0 { 0 } else { value >> (128 - bits) };
    let mut found = [0; N];
    for (place, digits) in [low as u64, (low >> 64) as u64, high as u64].into_iter().enumerate() {
        if let Some(cell) = found.get_mut(limb + place) {
            *cell = digits;
        }
    }
    found
}

fn times<const N: usize>(one: &Long<N>, factor: u64) -> Long<N> {
    let (mut product, mut carry) = ([0; N], 0u128);
    for (cell, &limb) in product.iter_mut().zip(one) {
        carry += u128::from(limb) * u128::from(factor);
        *cell = carry as u64;
        carry >>= 64;
    }
    product
}

fn square<const N: usize>(one: &Long<N>) -> Long<N> {
    let mut product = [0u64; N];
    for (place, &factor) in one.iter().enumerate().filter(|(_, factor)| **factor != 0) {
        let mut carry = 0u128;
        for (cell, &limb) in product[place..].iter_mut().zip(one) {
            carry += u128::from(*cell) + u128::from(limb) * u128::from(factor);
            *cell = carry as u64;
            carry >>= 64;
        }
    }
    product
}

/// The bits of a number that is not negative.
fn length<const N: usize>(number: &Long<N>) -> i64 {
    let last = number.iter().rposition(|&limb| limb != 0);
    last.map_or(0, |place| {
        64 * (place as i64 + 1) - i64::from(number[place].leading_zeros())
    })
}

/// Return number / divisor · 2^exponent, rounded once, to even if it lies in the middle.
fn divided<const N: usize>(number: &Long<N>, divisor: u64, exponent: i64) -> Option<f64> {
    let bits = length(number);
    if bits == 0 {
        return Some(0.0);
    }
    // The highest 128 bits; whether there is anything below them decides only where a result lies in the middle.
    let shift = bits - 128;
    let (mut top, mut is_more) = (0u128, false);
    for (place, &limb) in number.iter().enumerate() {
        let at = 64 * place as i64 - shift;
        let limb = u128::from(limb);
        match at {
            0..128 => top |= limb << at,
            -63..0 => {
                top |= limb >> -at;
                is_more |= limb & ((1 << -at) - 1) != 0;
            }
            _ => is_more |= limb != 0 && at < 0,
        }
    }
    let quotient = top / u128::from(divisor);
    is_more |= top != quotient * u128::from(divisor);
    let extra = i64::from(128 - quotient.leading_zeros()) - 53;
    let (kept, lost) = (quotient >> extra, quotient & ((1 << extra) - 1));
    let middle = 1u128 << (extra - 1);
    let up = lost > middle || (lost == middle && (is_more || kept & 1 == 1));
    scaled((kept + u128::from(up)) as f64, extra + shift + exponent)
}

/// Return value · 2^exponent, or `None` if that may be no normal double.
fn scaled(value: f64, exponent: i64) -> Option<f64> {
    let power = |exponent: i64| f64::from_bits(((exponent + 1023) as u64) << 52);
    let whole = exponent.abs() < MOST_EXPONENT;
    (whole || value == 0.0).then(|| if value == 0.0 { 0.0 } else { value * power(exponent) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_as_by_hand() {
        let values = [1.0, 2.0, 3.0, -6.0, f64::NAN, 10.0];
        let classes = [0, 0, 0, 1, 1, 1];
        let folds = Folds {
            order: &[0, 5, 3, 4],
            numbers: &[0, 1, 1, 2],
            count: 3,
        };
        let found = without(&values, &classes, 2, &folds).unwrap();
        assert_eq!(found.cells, [(0, 0), (1, 1), (1, 2)]);
        let pair = |one: &Moments| (one.mean, one.deviation);
        assert_eq!(pair(&found.of_cells[0]), (2.5, 0.5));
        assert!(found.of_cells[1].mean.is_nan() && found.of_cells[1].deviation.is_nan());
        assert_eq!(pair(&found.of_cells[2]), (2.0, 8.0));
        assert_eq!(pair(&found.of_folds[1]), (2.0, (2f64 / 3.0).sqrt()));
        assert_eq!(found.of_folds[2].mean, 2.0);
    }

    #[test]
    fn far_numbers_need_more_bits_or_are_refused() {
        let folds = Folds {
            order: &[0],
            numbers: &[0],
            count: 1,
        };
        for (far, fits) in [(1e-9, true), (1e-30, true), (1e-80, false), (f64::INFINITY, false)] {
            let found = without(&[3.0, far, 1.0], &[0, 0, 0], 1, &folds);
            assert_eq!(found.is_some(), fits, "{far}");
            if let Some(found) = found {
                assert_eq!(found.of_folds, found.of_cells);
                assert_eq!(found.of_folds[0].mean, (1.0 + far) / 2.0);
            }
        }
        assert!(without(&[1e-300, 2e-300], &[0, 0], 1, &folds).is_none());
    }

    #[test]
    fn results_in_the_middle_are_rounded_to_even() {
        let of = |number: u128, divisor: u64| divided(&shifted::<4>(number, 0), divisor, 0).unwrap();
        for (number, divisor) in [
            ((1 << 53) + 1, 1),
            ((1 << 53) + 3, 1),
            ((1 << 54) + 3, 1),
            (7, 3),
            (1, 1 << 61),
            (u128::from(u64::MAX), 3),
        ] {
            assert_eq!(
                of(number, divisor),
                number as f64 / divisor as f64,
                "{number} / {divisor}"
            );
        }
        // Just above the middle by a bit far below.
        let mut number = shifted::<4>((1 << 53) + 1, 150);
        number[0] = 1;
        assert_eq!(divided(&number, 1, -150), Some(9007199254740994.0));
    }
}
