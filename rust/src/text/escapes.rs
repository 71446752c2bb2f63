//! Escapes in JSON strings, such as `\n` and `\u00e9`.

use memchr::memchr;

/// Return the character of the escape that a text begins with, and its bytes.
pub(super) fn escape(text: &[u8]) -> Option<(char, usize)> {
    let character = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = code_unit(text)?;
            let Some(high @ 0..=0x3ff) = first.checked_sub(0xd800) else {
                return Some((char::from_u32(first)?, 6));
            };
            let low = code_unit(text.get(6..)?)?
                .checked_sub(0xdc00)
                .filter(|low| *low < 0x400)?;
            return Some((char::from_u32(0x10000 + (high << 10) + low)?, 12));
        }
        _ => return None,
    };
    Some((character, 2))
}

/// Return the 16 bits of an escape such as `\u00e9`.
fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits
        .iter()
        .try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
}

/// Replace the escapes of a text, which become shorter; return where it ends then. They have been checked.
pub(super) fn unescape_in(block: &mut [u8], start: usize, end: usize) -> usize {
    let (mut from, mut to) = (start, start);
    while from < end {
        let length = memchr(b'\\', &block[from..end]).unwrap_or(end - from);
        block.copy_within(from..from + length, to);
        (from, to) = (from + length, to + length);
        if let Some((character, bytes)) = escape(&block[from..end]) {
            to += character.encode_utf8(&mut block[to..]).len();
            from += bytes;
        } else {
            break;
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_replaced_by_what_they_stand_for() {
        let mut block = br#"..\u0041\t\ud83d\ude00\"x.."#.to_vec();
        let length = block.len();
        let end = unescape_in(&mut block, 2, length - 2);
        assert_eq!(&block[2..end], "A\t😀\"x".as_bytes());
    }

    #[test]
    fn what_is_no_escape_is_refused() {
        for text in [
            r"\x",
            r"\",
            r"\u12",
            r"\u12g4",
            r"\ud800",
            r"\ud800x",
            r"\ud800\n",
            r"\udc00",
            r"\ud800\ud800",
        ] {
            assert_eq!(escape(text.as_bytes()), None, "{text}");
        }
    }
}
