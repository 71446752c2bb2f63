//! Numbers of 32 bits as the doubles of their shortest decimal texts: 0.1 is 0.1 at any precision.
//!
//! The decimal number of d digits that is nearest to a number is m / 10^k with a whole m. As long as both fit a double
//! exactly, the division gives the double that is nearest to the decimal number, as reading its text does. Six digits or
//! seven are tried first, then one more each time, until the result is the number again in 32 bits. At six digits no two
//! decimal numbers lie as near to each other as two neighboring numbers of 32 bits, so that a shorter text is found, too.

use crate::system::vector::vectorized;

/// Powers of ten up to this are exact.
const MOST_EXACT: i32 = 22;
/// Digits that are tried first, or one more.
const FIRST_DIGITS: i32 = 6;
/// The most digits tried: nine write every number, and one may have been counted too few.
const TRIED: i32 = 5;
/// Numbers nearer to the middle between two whole numbers than this may be rounded to the wrong side.
const MIDDLE: f64 = 1e-5;
const BLOCK: usize = 256;

/// Powers of ten to multiply by and to divide by, for each binary exponent; 0 where these would not be exact.
struct Scales([(f64, f64); 256]);

impl Scales {
    fn new() -> Self {
        let mut scales = [(0.0, 0.0); 256];
        for (field, scale) in scales.iter_mut().enumerate().skip(1) {
            let tens = (f64::from(field as i32 - 127) * 2f64.log10()).floor() as i32;
            let power = FIRST_DIGITS - 1 - tens;
            if power + TRIED <= MOST_EXACT && power >= -MOST_EXACT {
                *scale = (10f64.powi(power.max(0)), 10f64.powi((-power).max(0)));
            }
        }
        Scales(scales)
    }
}

/// Write the doubles of the shortest decimal texts.
pub fn widen(values: &[f32], doubles: &mut [f64]) {
    let scales = Scales::new();
    for (values, doubles) in values.chunks(BLOCK).zip(doubles.chunks_mut(BLOCK)) {
        vectorized(
            #[inline(always)]
            || widen_block(values, doubles, &scales),
        );
        for (value, double) in values.iter().zip(doubles).filter(|(_, double)| double.is_nan()) {
            *double = by_text(*value);
        }
    }
}

/// Widen what can be widened by arithmetic alone; NaN stands for the rest.
#[inline(always)]
fn widen_block(values: &[f32], doubles: &mut [f64], scales: &Scales) {
    for (&value, double) in values.iter().zip(doubles) {
        let bits = value.to_bits();
        let (factor, divisor) = scales.0[(bits >> 23 & 0xff) as usize];
        // Below a power of two, numbers lie nearer to each other than above: the nearest text may be none of it.
        let is_power = bits << 9 == 0;
        let (mut found, mut is_open) = (f64::NAN, !is_power && factor != 0.0);
        // A step more has a power of ten more: less to divide by, as long as there is, else more to multiply by.
        let (mut factor, mut divisor) = (factor, divisor);
        for _ in 0..TRIED {
            let scaled = f64::from(value) * factor / divisor;
            let whole = scaled.round_ties_even();
            let decimal = whole * divisor / factor;
            let is_sure = ((scaled - whole).abs() - 0.5).abs() > MIDDLE;
            let is_found = is_open && decimal as f32 == value;
            found = if is_found && is_sure { decimal } else { found };
            // What is not sure is left to the text.
            is_open = is_open && !is_found && is_sure;
            (factor, divisor) = if divisor > 1.0 {
                (factor, divisor / 10.0)
            } else {
                (factor * 10.0, divisor)
            };
        }
        *double = if value == 0.0 { f64::from(value) } else { found };
    }
}

/// Read the shortest text of a number.
fn by_text(value: f32) -> f64 {
    if value.is_finite() {
        format!("{value:e}").parse().unwrap_or(f64::NAN)
    } else {
        f64::from(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_their_texts() {
        let mut bits = 12345u32;
        let mut values: Vec<f32> = (0..300_000)
            .map(|_| {
                bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f32::from_bits(bits)
            })
            .collect();
        values.extend(
            (-3000..3000).flat_map(|whole| [10.0, 1000.0, 99_999.0, 3.0].map(|part| (f64::from(whole) / part) as f32)),
        );
        values.extend((0..=254).map(|field| f32::from_bits(field << 23)));
        values.extend([0.1, 1e10, 16_777_216.0, 8_388_608.5, f32::MAX, f32::MIN_POSITIVE, 1e-45]);
        let mut doubles = vec![0.0; values.len()];
        widen(&values, &mut doubles);
        for (value, double) in values.iter().zip(doubles).filter(|(value, _)| value.is_finite()) {
            assert_eq!(
                double.to_bits(),
                format!("{value}").parse::<f64>().unwrap().to_bits(),
                "{value:e}"
            );
        }
    }

    #[test]
    fn what_is_no_number_stays() {
        let mut doubles = [0.0; 4];
        widen(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0], &mut doubles);
        assert!(doubles[0].is_nan() && doubles[3].is_sign_negative());
        assert_eq!(doubles[1..3], [f64::INFINITY, f64::NEG_INFINITY]);
    }
}
