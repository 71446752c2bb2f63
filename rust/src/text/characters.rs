//! Characters: which belong to words, their lower case, and where each starts.

use std::sync::OnceLock;

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script as UnicodeScript};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};

/// The classes and lower cases of characters beyond ASCII, as Python's `str` methods define them.
pub struct PythonTables {
    word: Characters,
    lower: hashbrown::HashMap<u32, u32>,
    /// Characters with case, and characters that are ignored, when the lower case of Σ is chosen.
    cased: Characters,
    ignored: Characters,
}

/// A set of characters, one bit each.
struct Characters(Vec<u64>);

impl Characters {
    /// Make the set of half-open ranges.
    fn new(ranges: &[(u32, u32)]) -> Self {
        let mut bits = vec![0u64; 0x11_0000 / 64];
        for &(start, end) in ranges {
            for code in start..end.min(0x11_0000) {
                bits[code as usize / 64] |= 1 << (code % 64);
            }
        }
        Characters(bits)
    }

    pub(super) fn has(&self, character: char) -> bool {
        let code = character as usize;
        self.0[code / 64] >> (code % 64) & 1 == 1
    }
}

impl PythonTables {
    /// Make the tables. `word`: half-open ranges that `\w` matches; `lower`: pairs (character, its lower case); `cased`
    /// and `ignored`: half-open ranges of characters with case, and of those ignored between Σ and its neighbors.
    pub fn new(word: &[(u32, u32)], lower: &[(u32, u32)], cased: &[(u32, u32)], ignored: &[(u32, u32)]) -> Self {
        PythonTables {
            word: Characters::new(word),
            lower: lower.iter().copied().collect(),
            cased: Characters::new(cased),
            ignored: Characters::new(ignored),
        }
    }

    pub(super) fn is_word(&self, character: char) -> bool {
        self.word.has(character)
    }

    /// The lower case of the Σ between two texts: ς behind a letter, unless another letter follows.
    pub(super) fn lower_sigma(&self, before: &str, after: &str) -> char {
        let final_sigma = self.begins_cased(before.chars().rev()) && !self.begins_cased(after.chars());
        if final_sigma { 'ς' } else { 'σ' }
    }

    fn begins_cased(&self, mut characters: impl Iterator<Item = char>) -> bool {
        characters
            .find(|&character| !self.ignored.has(character))
            .is_some_and(|next| self.cased.has(next))
    }

    pub(super) fn lower(&self, character: char) -> char {
        self.lower
            .get(&(character as u32))
            .and_then(|&code| char::from_u32(code))
            .unwrap_or(character)
    }
}

pub(super) fn segmenter() -> WordSegmenterBorrowed<'static> {
    static SEGMENTER: OnceLock<WordSegmenterBorrowed<'static>> = OnceLock::new();
    *SEGMENTER.get_or_init(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not part of a word.
    Apart,
    /// Continues a word: combining marks and joiners.
    Mark,
    Letter,
    /// A letter of a script that is written without spaces.
    Complex,
}

pub(super) fn kind(character: char) -> Kind {
    if character.is_ascii() {
        let word = character.is_ascii_alphanumeric() || character == '_';
        return if word { Kind::Letter } else { Kind::Apart };
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(character);
    if GeneralCategoryGroup::Mark.contains(category) || matches!(character, '\u{200C}' | '\u{200D}') {
        return Kind::Mark;
    }
    if !GeneralCategoryGroup::Letter
        .union(GeneralCategoryGroup::Number)
        .contains(category)
    {
        return Kind::Apart;
    }
    let spaceless = character >= '\u{E00}'
        && matches!(
            CodePointMapData::<UnicodeScript>::new().get(character),
            UnicodeScript::Han
                | UnicodeScript::Hiragana
                | UnicodeScript::Katakana
                | UnicodeScript::Thai
                | UnicodeScript::Lao
                | UnicodeScript::Khmer
                | UnicodeScript::Myanmar
        );
    if spaceless { Kind::Complex } else { Kind::Letter }
}

/// The byte length of the character at the start of `text`, which may be any bytes.
pub(super) fn character_length(text: &[u8]) -> usize {
    let wanted = match text[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    let continued = text[1..]
        .iter()
        .take(wanted - 1)
        .take_while(|&&byte| byte & 0xC0 == 0x80)
        .count();
    if continued == wanted - 1 { wanted } else { 1 }
}

pub(super) fn character_starts(text: &[u8], starts: &mut Vec<usize>) {
    starts.clear();
    let mut position = 0;
    while position < text.len() {
        starts.push(position);
        position += character_length(&text[position..]);
    }
    starts.push(text.len());
}

/// The byte length of the white-space character (Python's `str.isspace`) at the start of `text`, or 0.
fn space_length(text: &[u8]) -> usize {
    match text {
        [b'\t'..=b'\r' | 0x1C..=b' ', ..] => 1,
        [0xC2, 0x85 | 0xA0, ..] => 2,
        [0xE1, 0x9A, 0x80, ..] | [0xE2, 0x80, 0x80..=0x8A | 0xA8 | 0xA9 | 0xAF, ..] => 3,
        [0xE2, 0x81, 0x9F, ..] | [0xE3, 0x80, 0x80, ..] => 3,
        _ => 0,
    }
}

pub(super) fn split_spaces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut position = 0;
    std::iter::from_fn(move || {
        while position < text.len() && space_length(&text[position..]) > 0 {
            position += space_length(&text[position..]);
        }
        let start = position;
        while position < text.len() && space_length(&text[position..]) == 0 {
            position += character_length(&text[position..]);
        }
        (position > start).then(|| &text[start..position])
    })
}

/// Replace two or more white-space characters in a row by one space.
pub(super) fn join_spaces(text: &mut Vec<u8>) {
    let (mut read, mut write) = (0, 0);
    while read < text.len() {
        let first = space_length(&text[read..]);
        if first == 0 {
            let length = character_length(&text[read..]);
            text.copy_within(read..read + length, write);
            (read, write) = (read + length, write + length);
            continue;
        }
        let mut end = read + first;
        while end < text.len() && space_length(&text[end..]) > 0 {
            end += space_length(&text[end..]);
        }
        if end == read + first {
            text.copy_within(read..end, write);
            write += first;
        } else {
            text[write] = b' ';
            write += 1;
        }
        read = end;
    }
    text.truncate(write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_takes_no_bytes_that_are_not_its_own() {
        let lengths = [
            (&[0xC3, 0xA9, 0x80][..], 2),
            (&[0xE2, 0x82, 0xAC, 0x80, 0x80], 3),
            (&[0xF0, 0x9F, 0x98, 0x80, 0x80], 4),
            (&[0xE2, 0x82], 1),
            (&[0x80, 0x80], 1),
            (b"ab", 1),
        ];
        for (text, length) in lengths {
            assert_eq!(character_length(text), length, "{text:x?}");
        }
    }
}
