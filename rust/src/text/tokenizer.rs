//! From a document to its tokens: words, words of a pattern, or character n-grams.
//!
//! There are two kinds of words. `Script::Python` cuts exactly as Python's `\b\w\w+\b` after `str.lower`, from tables
//! that the running Python hands over. `Script::World` is the same on ASCII and right elsewhere: combining marks belong
//! to their word, text is composed (NFC), and Chinese, Japanese, Thai, Khmer, Lao and Burmese are segmented by ICU.

use std::collections::HashSet;

use icu_normalizer::ComposingNormalizerBorrowed;
use regex::bytes::Regex;
use waken_snowball::Algorithm;

use super::characters::{Kind, PythonTables, character_starts, join_spaces, kind, segmenter, split_spaces};
use super::tokens::Tokens;
use crate::system::marks::Marked;
use crate::system::vector::{CodePath, code_path};

/// The longest piece in bytes. Documents are cut at spaces into pieces, so that scratch memory stays small.
const PIECE: usize = Marked::LONGEST;
/// Tokens handed over at a time by the analyzers that do not cut the document.
pub(super) const PORTION: usize = 1 << 14;
/// Words longer than this are not stemmed: no language has them.
const LONGEST_STEM: usize = 128;

pub enum Script {
    Python(PythonTables),
    World,
}

pub enum Analyzer {
    /// Words of at least `shortest` characters.
    Words { shortest: usize },
    /// Matches of a regular expression, or of its only group.
    Pattern(Regex),
    /// All runs of n characters.
    Characters,
    /// Runs of n characters inside words padded with a space on each side.
    CharactersInWords,
    /// The documents come as lists of finished terms.
    Given,
}

/// Everything that decides which terms a document has.
pub struct Text {
    pub analyzer: Analyzer,
    pub script: Script,
    pub lowercase: bool,
    pub shortest_gram: usize,
    pub longest_gram: usize,
    pub stop_words: HashSet<Vec<u8>>,
    pub stemmer: Option<Algorithm>,
    /// Whether punctuation marks, emoji and other symbols are words, too, each alone.
    pub symbols: bool,
}

/// Memory that one thread uses again for each document.
pub struct Scratch {
    path: CodePath,
    marked: Marked,
    pub(super) text: Vec<u8>,
    pub(super) word: String,
    starts: Vec<usize>,
    /// Whether a word was not UTF-8 since the last call of `take_invalid`.
    pub(super) invalid: bool,
}

impl Scratch {
    pub fn take_invalid(&mut self) -> bool {
        std::mem::take(&mut self.invalid)
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch {
            path: code_path(),
            marked: Marked::default(),
            text: Vec::new(),
            word: String::new(),
            starts: Vec::new(),
            invalid: false,
        }
    }
}

impl Text {
    /// Return whether words are replaced (stop words, stems) before they are counted.
    pub fn replaces(&self) -> bool {
        !self.stop_words.is_empty() || self.stemmer.is_some()
    }

    /// Return whether the terms of the vocabulary are words joined by single spaces.
    pub fn joins_words(&self) -> bool {
        self.longest_gram > 1 && matches!(self.analyzer, Analyzer::Words { .. })
    }

    /// Replace a word by its stem, if there is a stemmer.
    pub fn stem(&self, word: &mut Vec<u8>) {
        let Some(algorithm) = self.stemmer else { return };
        if word.len() > LONGEST_STEM {
            return;
        }
        let Ok(text) = std::str::from_utf8(word) else { return };
        let stem = std::panic::catch_unwind(|| waken_snowball::stem(algorithm, text).into_owned());
        if let Ok(stem) = stem {
            word.clear();
            word.extend_from_slice(stem.as_bytes());
        }
    }

    /// Hand the tokens of `document` to `take` in portions: words for word analyzers, terms for the others.
    pub fn tokenize(
        &self,
        document: &[u8],
        scratch: &mut Scratch,
        tokens: &mut Tokens,
        take: &mut impl FnMut(&Tokens),
    ) {
        tokens.clear();
        match &self.analyzer {
            Analyzer::Words { shortest } => self.words(document, *shortest, scratch, tokens, take),
            Analyzer::Pattern(pattern) => {
                self.lowered(document, &mut scratch.text);
                matches(pattern, &scratch.text, tokens, take);
            }
            Analyzer::Characters => {
                self.lowered(document, &mut scratch.text);
                join_spaces(&mut scratch.text);
                self.character_grams(&scratch.text, &mut scratch.starts, tokens, false, take);
            }
            Analyzer::CharactersInWords => self.grams_in_words(document, scratch, tokens, take),
            Analyzer::Given => tokens.push(document),
        }
        hand_over(tokens, take, 1);
    }

    fn words(
        &self,
        document: &[u8],
        shortest: usize,
        scratch: &mut Scratch,
        tokens: &mut Tokens,
        take: &mut impl FnMut(&Tokens),
    ) {
        if self.symbols {
            return self.words_and_symbols(document, shortest, scratch, tokens, take);
        }
        if document.len() <= PIECE {
            self.mark(document, shortest, scratch);
            if scratch.marked.ascii || !self.has_sigma(document) {
                self.push_marked(shortest, scratch, tokens);
                return;
            }
        }
        let mut lowered = std::mem::take(&mut scratch.text);
        let sigma = self.has_sigma(document);
        if sigma {
            self.lowered(document, &mut lowered);
        }
        for piece in pieces(if sigma { &lowered } else { document }) {
            self.words_of_piece(piece, shortest, scratch, tokens);
            hand_over(tokens, take, 1);
        }
        scratch.text = lowered;
    }

    /// Return whether there is a Σ to lower, whose lower case depends on its neighbors, even past the end of the word.
    fn has_sigma(&self, document: &[u8]) -> bool {
        self.lowercase
            && memchr::memchr(0xCE, document).is_some()
            && memchr::memmem::find(document, "Σ".as_bytes()).is_some()
    }

    fn words_of_piece(&self, piece: &[u8], shortest: usize, scratch: &mut Scratch, tokens: &mut Tokens) {
        if piece.len() <= PIECE {
            self.mark(piece, shortest, scratch);
            self.push_marked(shortest, scratch, tokens);
            return;
        }
        let mut run = piece.to_vec();
        if self.lowercase {
            run.make_ascii_lowercase();
        }
        let Scratch { word, invalid, .. } = scratch;
        tokens.push_rare(&run, shortest, &mut |tokens, run| {
            *invalid |= self.words_of_run(run, shortest, word, tokens);
        });
    }

    fn mark(&self, piece: &[u8], shortest: usize, scratch: &mut Scratch) {
        scratch.marked.fill(scratch.path, piece, self.lowercase, shortest < 2);
    }

    fn push_marked(&self, shortest: usize, scratch: &mut Scratch, tokens: &mut Tokens) {
        let Scratch {
            marked, word, invalid, ..
        } = scratch;
        tokens.push_marked(marked, shortest, |tokens, run| {
            *invalid |= self.words_of_run(run, shortest, word, tokens);
        });
    }

    /// Return whether tokenizing detects documents that are not UTF-8.
    pub fn sees_invalid(&self) -> bool {
        matches!(self.analyzer, Analyzer::Words { .. })
    }

    /// Push the words of a run of ASCII word bytes and non-ASCII characters, ASCII already lowered; return whether part
    /// of it is not UTF-8.
    pub(super) fn words_of_run(&self, run: &[u8], shortest: usize, word: &mut String, tokens: &mut Tokens) -> bool {
        let mut invalid = false;
        for chunk in run.utf8_chunks() {
            invalid |= !chunk.invalid().is_empty();
            match &self.script {
                Script::Python(tables) => self.python_words(tables, chunk.valid(), shortest, word, tokens),
                Script::World => self.world_words(chunk.valid(), shortest, word, tokens),
            }
        }
        invalid
    }

    fn python_words(&self, tables: &PythonTables, run: &str, shortest: usize, word: &mut String, tokens: &mut Tokens) {
        let mut length = 0;
        word.clear();
        let mut take = |character: char, word: &mut String| {
            if character.is_ascii_alphanumeric() || character == '_' || tables.is_word(character) {
                word.push(character);
                length += 1;
            } else {
                push_word(word, length, shortest, tokens);
                length = 0;
            }
        };
        for character in run.chars() {
            if !self.lowercase {
                take(character, word);
            } else if character == 'İ' {
                "i\u{307}".chars().for_each(|part| take(part, word));
            } else {
                take(tables.lower(character), word);
            }
        }
        push_word(word, length, shortest, tokens);
    }

    fn world_words(&self, run: &str, shortest: usize, word: &mut String, tokens: &mut Tokens) {
        let lowered: String = if self.lowercase {
            run.chars().flat_map(char::to_lowercase).collect()
        } else {
            run.to_owned()
        };
        let composed = ComposingNormalizerBorrowed::new_nfc().normalize(&lowered);
        word.clear();
        let (mut length, mut complex) = (0, false);
        for character in composed.chars() {
            match kind(character) {
                Kind::Apart => {
                    push_world_word(word, length, shortest, complex, tokens);
                    (length, complex) = (0, false);
                }
                Kind::Mark if length == 0 => {}
                found => {
                    complex |= found == Kind::Complex;
                    word.push(character);
                    length += 1;
                }
            }
        }
        push_world_word(word, length, shortest, complex, tokens);
    }

    /// Write `document` to `target`, in lower case if the settings ask for it, as Python's `str.lower` does.
    pub(super) fn lowered(&self, document: &[u8], target: &mut Vec<u8>) {
        target.clear();
        if !self.lowercase {
            target.extend_from_slice(document);
        } else if document.is_ascii() {
            target.extend(document.iter().map(u8::to_ascii_lowercase));
        } else {
            for chunk in document.utf8_chunks() {
                self.lower_valid(chunk.valid(), target);
                target.extend_from_slice(chunk.invalid());
            }
        }
    }

    fn lower_valid(&self, text: &str, target: &mut Vec<u8>) {
        let Script::Python(tables) = &self.script else {
            target.extend_from_slice(text.to_lowercase().as_bytes());
            return;
        };
        let mut encoded = [0u8; 4];
        for (place, character) in text.char_indices() {
            let lower = match character {
                'İ' => {
                    target.extend_from_slice("i\u{307}".as_bytes());
                    continue;
                }
                'Σ' => tables.lower_sigma(&text[..place], &text[place + character.len_utf8()..]),
                other => tables.lower(other),
            };
            target.extend_from_slice(lower.encode_utf8(&mut encoded).as_bytes());
        }
    }

    /// Push all n-grams of characters of `text`; with `once`, a text shorter than n counts once, for the smallest n.
    fn character_grams(
        &self,
        text: &[u8],
        starts: &mut Vec<usize>,
        tokens: &mut Tokens,
        once: bool,
        take: &mut impl FnMut(&Tokens),
    ) {
        character_starts(text, starts);
        let characters = starts.len() - 1;
        for length in self.shortest_gram..=self.longest_gram {
            if length >= characters {
                if once {
                    tokens.push(text);
                    break;
                }
                if length > characters {
                    break;
                }
            }
            for window in starts.windows(length + 1) {
                tokens.push(&text[window[0]..window[length]]);
                hand_over(tokens, take, PORTION);
            }
        }
    }

    fn grams_in_words(
        &self,
        document: &[u8],
        scratch: &mut Scratch,
        tokens: &mut Tokens,
        take: &mut impl FnMut(&Tokens),
    ) {
        self.lowered(document, &mut scratch.text);
        let mut padded = Vec::new();
        for word in split_spaces(&scratch.text) {
            padded.clear();
            padded.push(b' ');
            padded.extend_from_slice(word);
            padded.push(b' ');
            self.character_grams(&padded, &mut scratch.starts, tokens, true, take);
        }
    }
}

fn push_word(word: &mut String, length: usize, shortest: usize, tokens: &mut Tokens) {
    if length >= shortest.max(1) {
        tokens.push(word.as_bytes());
    }
    word.clear();
}

/// Push a word, or, where a script writes words without spaces, the words that ICU finds in it.
fn push_world_word(word: &mut String, length: usize, shortest: usize, complex: bool, tokens: &mut Tokens) {
    if !complex {
        let kept = word.trim_end_matches(['\u{200C}', '\u{200D}']).len();
        let joiners = word[kept..].chars().count();
        word.truncate(kept);
        push_word(word, length - joiners, shortest, tokens);
        return;
    }
    let mut start = 0;
    for end in segmenter().segment_str(word).skip(1) {
        let part = &word[start..end];
        let least = if part.chars().any(|character| kind(character) == Kind::Complex) {
            1
        } else {
            shortest
        };
        if part.chars().count() >= least.max(1) {
            tokens.push(part.as_bytes());
        }
        start = end;
    }
    word.clear();
}

/// Cut a document into pieces of at most [`PIECE`] bytes, never inside a run of word bytes; only a piece that is
/// just one run may be longer.
fn pieces(document: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_apart = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'_';
    let mut rest = document;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = match rest.split_at_checked(PIECE) {
            None => rest.len(),
            Some((window, behind)) => match window.iter().rposition(is_apart) {
                Some(last) => last + 1,
                None => PIECE + behind.iter().position(is_apart).unwrap_or(behind.len()),
            },
        };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        Some(piece)
    })
}

fn matches(pattern: &Regex, text: &[u8], tokens: &mut Tokens, take: &mut impl FnMut(&Tokens)) {
    if pattern.captures_len() == 1 {
        for found in pattern.find_iter(text) {
            tokens.push(found.as_bytes());
            hand_over(tokens, take, PORTION);
        }
    } else {
        for captures in pattern.captures_iter(text) {
            tokens.push(captures.get(1).map_or(b"", |group| group.as_bytes()));
            hand_over(tokens, take, PORTION);
        }
    }
}

/// Hand the tokens over and clear them, if there are at least `least`.
#[inline(always)]
pub(super) fn hand_over(tokens: &mut Tokens, take: &mut impl FnMut(&Tokens), least: usize) {
    if tokens.len() >= least {
        take(tokens);
        tokens.clear();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::text::lexicon::Lexicon;

    pub fn text(analyzer: Analyzer) -> Text {
        Text {
            analyzer,
            script: Script::World,
            lowercase: true,
            shortest_gram: 1,
            longest_gram: 1,
            stop_words: HashSet::new(),
            stemmer: None,
            symbols: false,
        }
    }

    pub fn tokens_of(text: &Text, document: &str) -> Vec<String> {
        let mut tokens = Tokens::new(Lexicon::default().seeds());
        let (mut words, mut bytes) = (Vec::new(), Vec::new());
        text.tokenize(
            document.as_bytes(),
            &mut Scratch::default(),
            &mut tokens,
            &mut |tokens| {
                for &token in tokens.list() {
                    tokens.text(token, &mut bytes);
                    words.push(String::from_utf8_lossy(&bytes).into_owned());
                }
            },
        );
        words
    }

    #[test]
    fn words_in_many_scripts() {
        let words = text(Analyzer::Words { shortest: 2 });
        assert_eq!(tokens_of(&words, "Don't a_b X2, go"), ["don", "a_b", "x2", "go"]);
        assert_eq!(tokens_of(&words, "Straße ΟΔΟΣ"), ["straße", "οδος"]);
        assert_eq!(tokens_of(&words, "नमस्ते दुनिया"), ["नमस्ते", "दुनिया"]);
        assert_eq!(tokens_of(&words, "e\u{301}te\u{301} \u{2764}\u{FE0F}"), ["été"]);
        assert_eq!(
            tokens_of(&words, "我们喜欢iPhone手机"),
            ["我们", "喜欢", "iphone", "手机"]
        );
        assert_eq!(tokens_of(&words, "ภาษาไทย"), ["ภาษา", "ไทย"]);
    }

    #[test]
    fn characters_and_patterns() {
        let mut grams = text(Analyzer::CharactersInWords);
        (grams.shortest_gram, grams.longest_gram) = (2, 3);
        assert_eq!(tokens_of(&grams, "ab"), [" a", "ab", "b ", " ab", "ab "]);
        (grams.shortest_gram, grams.longest_gram) = (4, 5);
        assert_eq!(tokens_of(&grams, "a  ab"), [" a ", " ab "]);
        let digits = text(Analyzer::Pattern(Regex::new(r"(\d)\d*").unwrap()));
        assert_eq!(tokens_of(&digits, "12 x 3"), ["1", "3"]);
    }

    #[test]
    fn long_documents_are_cut_between_words() {
        let words = text(Analyzer::Words { shortest: 2 });
        let document = "abcdefg ".repeat(PIECE / 4);
        assert_eq!(tokens_of(&words, &document).len(), PIECE / 4);
        let endless = "x".repeat(3 * PIECE);
        assert_eq!(tokens_of(&words, &endless), [endless]);
    }
}
