//! Texts to numbers, as data files write them.

/// The greatest whole number up to which every whole number is a double.
const MOST_EXACT: u64 = 1 << 53;
/// Digits that always fit a 64-bit number.
const MOST_DIGITS: usize = 19;
/// Powers of ten that are doubles.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];
/// Texts that stand for a missing number, beside an empty one.
const MISSING: [&[u8]; 17] = [
    b"?", b"-", b"--", b"NA", b"N/A", b"n/a", b"na", b"#N/A", b"#NA", b"<NA>", b"NaN", b"nan", b"NaT", b"NULL",
    b"Null", b"null", b"None",
];

/// Return the number that a text holds, NaN for a missing one; `None` for a text that is rare, or holds no number.
///
/// Truth values are one and zero. Spaces around the number do not count, if they are ASCII.
pub fn number(text: &[u8]) -> Option<f64> {
    let text = trimmed(text);
    match text.first() {
        None => Some(f64::NAN),
        Some(b'0'..=b'9' | b'+' | b'.') => decimal(text),
        _ if MISSING.contains(&text) => Some(f64::NAN),
        Some(b'-') => decimal(text),
        _ => match text {
            b"true" | b"True" | b"TRUE" => Some(1.0),
            b"false" | b"False" | b"FALSE" => Some(0.0),
            _ => None,
        },
    }
}

/// Return a text without the white space around it that is ASCII.
fn trimmed(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|&byte| !is_space(byte)).unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|&byte| !is_space(byte))
        .map_or(start, |last| last + 1);
    &text[start..end]
}

/// Return whether a byte is white space, as Python has it.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13 | 28..=31)
}

/// Return whether a text is missing, or a decimal number without a plus sign or spaces around it.
pub fn is_plain(text: &[u8]) -> bool {
    match (text.first(), text.last()) {
        (Some(first), Some(last)) => matches!(first, b'0'..=b'9' | b'-' | b'.') && matches!(last, b'0'..=b'9' | b'.'),
        _ => true,
    }
}

/// Return the double nearest to a decimal number such as `-1.5e3`, `.5`, `5.` or `+1`; `None` for any other text.
pub fn decimal(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let parts = Parts::of(digits)?;
    let magnitude = match parts.quick() {
        Some(quick) => quick,
        // The grammar is checked: what is left to the library are long numbers and great exponents.
        None => std::str::from_utf8(digits).ok()?.parse().ok()?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// A decimal number without a sign: its digits as a whole number, how many there are, and the power of ten.
struct Parts {
    mantissa: u64,
    digits: usize,
    exponent: i64,
}

impl Parts {
    fn of(text: &[u8]) -> Option<Parts> {
        let (mut mantissa, mut place) = (0u64, 0);
        place += add_digits(text, &mut mantissa);
        let mut digits = place;
        let mut exponent = 0;
        if text.get(place) == Some(&b'.') {
            let behind = add_digits(&text[place + 1..], &mut mantissa);
            (place, digits, exponent) = (place + 1 + behind, digits + behind, -(behind as i64));
        }
        if digits == 0 {
            return None;
        }
        if let Some(b'e' | b'E') = text.get(place) {
            let rest = &text[place + 1..];
            let (negative, written) = match rest {
                [b'-', written @ ..] => (true, written),
                [b'+', written @ ..] => (false, written),
                _ => (false, rest),
            };
            let mut power = 0;
            if written.is_empty() || add_digits(written, &mut power) < written.len() {
                return None;
            }
            // Long exponents are left to the library, as are numbers with many digits.
            let power = if written.len() > 4 { 100_000 } else { power as i64 };
            exponent += if negative { -power } else { power };
            place = text.len();
        }
        (place == text.len()).then_some(Parts {
            mantissa,
            digits,
            exponent,
        })
    }

    /// Return the number where one multiplication or division of doubles gives it, rounded once.
    fn quick(&self) -> Option<f64> {
        if self.digits > MOST_DIGITS || self.mantissa > MOST_EXACT {
            return None;
        }
        let power = *POWERS.get(usize::try_from(self.exponent.unsigned_abs()).ok()?)?;
        let mantissa = self.mantissa as f64;
        Some(if self.exponent < 0 {
            mantissa / power
        } else {
            mantissa * power
        })
    }
}

/// Append the leading digits of a text to a number, which wraps around; return how many there are.
fn add_digits(text: &[u8], number: &mut u64) -> usize {
    let mut count = 0;
    for digit in text.iter().map(|byte| byte.wrapping_sub(b'0')) {
        if digit > 9 {
            break;
        }
        *number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_the_library_rounds_them() {
        let texts = [
            "0",
            "-0",
            "1",
            "007",
            "1.50",
            "5.",
            ".5",
            "+1",
            "0.1",
            "123456789012345678",
            "9007199254740993",
            "1e22",
            "1e23",
            "1e-22",
            "123e-23",
            "4.9e-324",
            "2.4e-324",
            "1.7976931348623157e308",
            "1.8e308",
            "1e999",
            "1e-999",
            "0e99999999999999999999",
            "1e00000000000000000000003",
            "0.000000000000000000000000000001",
            "100000000000000000000000000",
            "8.5",
            "3.141592653589793238462643383279",
            "1E5",
            "1e+5",
        ];
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            let found = decimal(text.as_bytes()).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
            let negative = decimal(format!("-{}", text.trim_start_matches(['-', '+'])).as_bytes()).unwrap();
            assert_eq!(negative.to_bits(), (-expected.abs()).to_bits(), "-{text}");
        }
    }

    #[test]
    fn random_numbers_come_back() {
        let mut state = 7u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let value = f64::from_bits(state);
            if value.is_finite() {
                for text in [format!("{value:?}"), format!("{value:e}"), format!("{value:.3}")] {
                    let expected: f64 = text.parse().unwrap();
                    assert_eq!(
                        decimal(text.as_bytes()).map(f64::to_bits),
                        Some(expected.to_bits()),
                        "{text}"
                    );
                }
            }
        }
    }

    #[test]
    fn other_texts_are_no_decimal_numbers() {
        for text in [
            "", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1_0", "1,5", "1 2", "0x1", "--1", "1.2.3", "1e5.0",
            "inf",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn spaces_missing_numbers_and_truth_values() {
        let read = |text: &str| number(text.as_bytes());
        assert_eq!(read(" \t1.5\r\n\x1c"), Some(1.5));
        assert_eq!(
            [read("true"), read("FALSE"), read(" True")],
            [Some(1.0), Some(0.0), Some(1.0)]
        );
        for text in [
            "", "  ", "?", "NA", "N/A", "NaN", "nan", " null ", "None", "-", "--", "n/a", "NaT",
        ] {
            assert!(read(text).is_some_and(f64::is_nan), "{text}");
        }
        assert!(is_plain(b"") && is_plain(b"-1.5e3") && is_plain(b"5."));
        for text in ["-", "NA", "+1", " 1", "1 ", "true"] {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
        for text in ["inf", "NAN", "tRue", "\u{a0}1", "\u{661}", "x", "Na", "---"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
