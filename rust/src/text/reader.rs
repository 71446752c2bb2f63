//! From a document to the numbers of its terms, in a growing lexicon (training) or a fixed one (prediction).

use std::sync::Arc;

use crate::text::key::{Seeds, Token};
use crate::text::lexicon::{Lexicon, UNKNOWN};
use crate::text::tokenizer::{Analyzer, Scratch, Text};
use crate::text::tokens::Tokens;

/// The number of a word that is left out before n-grams are formed.
const STOPPED: u32 = UNKNOWN - 1;
/// Replaced words that a reader remembers before it starts anew.
const MOST_REPLACEMENTS: usize = 1 << 20;

/// A source of the numbers of terms.
pub trait Terms {
    /// Whether n-grams are looked up as pairs; else as joined text.
    const PAIRS: bool = true;
    fn seeds(&self) -> Seeds;
    /// Return how many numbers are in use.
    fn limit(&self) -> usize;
    fn prefetch_pair(&self, _prefix: u32, _word: u32) {}
    fn word(&mut self, token: Token, tokens: &Tokens) -> u32;
    fn words(&mut self, tokens: &Tokens, numbers: &mut Vec<u32>);
    fn pair(&mut self, prefix: u32, word: u32) -> u32;
}

/// Terms that are not there yet are added.
pub struct Growing<'a>(pub &'a mut Lexicon);
/// Terms that are not there are [`UNKNOWN`].
pub struct Fixed<'a>(pub &'a Lexicon);

impl Terms for Growing<'_> {
    fn seeds(&self) -> Seeds {
        self.0.seeds()
    }
    fn limit(&self) -> usize {
        self.0.len()
    }
    fn prefetch_pair(&self, prefix: u32, word: u32) {
        self.0.prefetch_pair(prefix, word);
    }
    #[inline(always)]
    fn word(&mut self, token: Token, tokens: &Tokens) -> u32 {
        self.0.intern(token, tokens)
    }
    fn words(&mut self, tokens: &Tokens, numbers: &mut Vec<u32>) {
        self.0.intern_all(tokens, numbers);
    }
    fn pair(&mut self, prefix: u32, word: u32) -> u32 {
        self.0.intern_pair(prefix, word)
    }
}

impl Terms for Fixed<'_> {
    fn seeds(&self) -> Seeds {
        self.0.seeds()
    }
    fn limit(&self) -> usize {
        self.0.len()
    }
    fn prefetch_pair(&self, prefix: u32, word: u32) {
        self.0.prefetch_pair(prefix, word);
    }
    #[inline(always)]
    fn word(&mut self, token: Token, tokens: &Tokens) -> u32 {
        self.0.find(token, tokens)
    }
    fn words(&mut self, tokens: &Tokens, numbers: &mut Vec<u32>) {
        self.0.find_all(tokens, numbers);
    }
    fn pair(&mut self, prefix: u32, word: u32) -> u32 {
        self.0.find_pair(prefix, word)
    }
}

/// A sorted list of terms, searched by bisection: slower than a lexicon, but with nothing to build.
///
/// Term i is `bytes[offsets[i]..offsets[i + 1]]`; where the offsets do not fit, nothing is found.
pub struct Sorted<'a> {
    offsets: &'a [i64],
    bytes: &'a [u8],
    seeds: Seeds,
    word: Vec<u8>,
}

impl<'a> Sorted<'a> {
    pub fn new(offsets: &'a [i64], bytes: &'a [u8]) -> Self {
        Sorted {
            offsets,
            bytes,
            seeds: Seeds::random(),
            word: Vec::new(),
        }
    }

    fn term(&self, place: usize) -> &[u8] {
        let range = self.offsets[place] as usize..self.offsets[place + 1] as usize;
        self.bytes.get(range).unwrap_or_default()
    }

    fn search(&self) -> u32 {
        let (mut low, mut high) = (0, self.limit());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.term(middle).cmp(&self.word) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return middle as u32,
            }
        }
        UNKNOWN
    }
}

impl Terms for Sorted<'_> {
    const PAIRS: bool = false;
    fn seeds(&self) -> Seeds {
        self.seeds
    }
    fn limit(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
    fn word(&mut self, token: Token, tokens: &Tokens) -> u32 {
        tokens.text(token, &mut self.word);
        self.search()
    }
    fn words(&mut self, tokens: &Tokens, numbers: &mut Vec<u32>) {
        numbers.extend(tokens.list().iter().map(|&token| self.word(token, tokens)));
    }
    fn pair(&mut self, _prefix: u32, _word: u32) -> u32 {
        UNKNOWN
    }
}

/// The replacement of each word, computed once a word, not once a token.
struct Replacements {
    raw: Lexicon,
    numbers: Vec<u32>,
    word: Vec<u8>,
    tokens: Tokens,
}

impl Replacements {
    fn new(seeds: Seeds) -> Self {
        Replacements {
            raw: Lexicon::default(),
            numbers: Vec::new(),
            word: Vec::new(),
            tokens: Tokens::new(seeds),
        }
    }

    fn number(&mut self, text: &Text, token: Token, tokens: &Tokens, terms: &mut impl Terms) -> u32 {
        let raw = self.raw.intern(token, tokens) as usize;
        if let Some(&number) = self.numbers.get(raw) {
            return number;
        }
        tokens.text(token, &mut self.word);
        let number = if text.stop_words.contains(&self.word) {
            STOPPED
        } else {
            text.stem(&mut self.word);
            self.tokens.clear();
            self.tokens.push(&self.word);
            terms.word(self.tokens.list()[0], &self.tokens)
        };
        self.numbers.push(number);
        number
    }
}

/// The memory of one thread that reads documents against one lexicon.
pub struct Reader {
    text: Arc<Text>,
    scratch: Scratch,
    tokens: Tokens,
    replacements: Option<Replacements>,
    /// Numbers of the words at hand; the first few are the end of the portion before.
    words: Vec<u32>,
    grams: Vec<u32>,
    recent: Vec<Vec<u8>>,
}

impl Reader {
    /// Make a reader. `seeds` are those of the terms that documents will be read against.
    pub fn new(text: Arc<Text>, seeds: Seeds) -> Self {
        let replacements = text.replaces().then(|| Replacements::new(seeds));
        let seeds = replacements
            .as_ref()
            .map_or(seeds, |replacements| replacements.raw.seeds());
        Reader {
            text,
            scratch: Scratch::default(),
            tokens: Tokens::new(seeds),
            replacements,
            words: Vec::new(),
            grams: Vec::new(),
            recent: Vec::new(),
        }
    }

    /// Return whether the tokens are the terms, as they are.
    pub fn is_plain(&self) -> bool {
        let joined =
            self.text.longest_gram > 1 && matches!(self.text.analyzer, Analyzer::Words { .. } | Analyzer::Pattern(_));
        !joined && !self.text.replaces()
    }

    /// The most terms that one byte of text can produce.
    pub fn terms_a_byte(&self) -> usize {
        self.text.longest_gram - self.text.shortest_gram + 1
    }

    /// Return whether a document since the last call was not UTF-8; only known where [`Text::sees_invalid`] is true.
    pub fn take_invalid(&mut self) -> bool {
        self.scratch.take_invalid()
    }

    /// Hand the tokens of a document to `take`, in portions.
    pub fn tokenize(&mut self, document: &[u8], take: &mut impl FnMut(&Tokens)) {
        self.text.tokenize(document, &mut self.scratch, &mut self.tokens, take);
    }

    /// Call `each` with the numbers of the document's terms, in portions, and the size of the lexicon by then.
    /// In a fixed lexicon, terms that are not there are [`UNKNOWN`].
    pub fn read<T: Terms>(&mut self, document: &[u8], terms: &mut T, each: &mut impl FnMut(&[u32], usize)) {
        let Reader {
            text,
            scratch,
            tokens,
            replacements,
            words,
            grams,
            recent,
        } = self;
        if replacements
            .as_ref()
            .is_some_and(|replacements| replacements.numbers.len() > MOST_REPLACEMENTS)
        {
            let fresh = Replacements::new(terms.seeds());
            *tokens = Tokens::new(fresh.raw.seeds());
            *replacements = Some(fresh);
        }
        words.clear();
        recent.clear();
        let as_text = !T::PAIRS && text.joins_words() || matches!(text.analyzer, Analyzer::Pattern(_));
        let joined = text.longest_gram > 1 && as_text;
        text.tokenize(document, scratch, tokens, &mut |tokens| {
            let carried = words.len();
            if joined {
                join_words(text, tokens, recent, terms, each);
                return;
            }
            number_words(text, tokens, replacements.as_mut(), terms, words);
            if !text.joins_words() {
                each(words, terms.limit());
                words.clear();
                return;
            }
            number_grams(text, carried, words, grams, terms, each);
            let kept = words.len().min(text.longest_gram - 1);
            words.drain(..words.len() - kept);
        });
    }
}

fn number_words(
    text: &Text,
    tokens: &Tokens,
    replacements: Option<&mut Replacements>,
    terms: &mut impl Terms,
    words: &mut Vec<u32>,
) {
    if let Some(replacements) = replacements {
        let numbers = tokens
            .list()
            .iter()
            .map(|&token| replacements.number(text, token, tokens, terms));
        words.extend(numbers.filter(|&number| number != STOPPED));
        return;
    }
    terms.words(tokens, words);
}

/// Number n-grams as chains of pairs, one length after the other; those that end before `carried` are already done.
fn number_grams(
    text: &Text,
    carried: usize,
    words: &[u32],
    grams: &mut Vec<u32>,
    terms: &mut impl Terms,
    each: &mut impl FnMut(&[u32], usize),
) {
    grams.clear();
    grams.extend_from_slice(words);
    for length in 1..=text.longest_gram.min(words.len()) {
        if length > 1 {
            grams.truncate(words.len() + 1 - length);
            for index in 0..grams.len() {
                if let (Some(&prefix), Some(&word)) = (grams.get(index + 8), words.get(index + 7 + length)) {
                    terms.prefetch_pair(prefix, word);
                }
                let (prefix, word) = (grams[index], words[index + length - 1]);
                let unknown = prefix == UNKNOWN || word == UNKNOWN;
                grams[index] = if unknown { UNKNOWN } else { terms.pair(prefix, word) };
            }
        }
        if length >= text.shortest_gram {
            each(
                &grams[(carried + 1).saturating_sub(length).min(grams.len())..],
                terms.limit(),
            );
        }
    }
}

/// Number n-grams of words that may contain spaces. They are joined as text, because pairs would distinguish "a b"+"c"
/// from "a"+"b c".
fn join_words(
    text: &Text,
    tokens: &Tokens,
    recent: &mut Vec<Vec<u8>>,
    terms: &mut impl Terms,
    each: &mut impl FnMut(&[u32], usize),
) {
    let mut joined = Tokens::new(terms.seeds());
    for &token in tokens.list() {
        let mut word = Vec::new();
        tokens.text(token, &mut word);
        if text.stop_words.contains(&word) {
            continue;
        }
        text.stem(&mut word);
        recent.push(word);
        if recent.len() > text.longest_gram {
            recent.remove(0);
        }
        for length in text.shortest_gram..=recent.len() {
            joined.clear();
            joined.push(&recent[recent.len() - length..].join(&b' '));
            let number = terms.word(joined.list()[0], &joined);
            each(&[number], terms.limit());
        }
    }
}
