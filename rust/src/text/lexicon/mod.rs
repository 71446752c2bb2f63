//! Terms and their numbers: an open-addressing table with short words inside the slot, n-grams as pairs.
//!
//! An n-gram is the pair (number of its first n−1 words, number of its last word), so its text is never built while
//! counting.

mod names;
mod pairs;
mod running;
mod weights;

use super::key::{Key, Seeds, Token};
use super::tokens::Tokens;
use crate::system::cancel::checkpoint;
use crate::system::memory::{Table, roomy};

pub use names::Names;
pub use running::Run;
pub use weights::WeightTable;

/// The number of a term that the lexicon does not hold.
pub const UNKNOWN: u32 = u32::MAX;
/// Words fetched ahead. Fewer would wait for memory when other programs use the cache.
const LOOK_AHEAD: usize = 64;
/// Bytes reserved for a word.
const USUAL_LENGTH: usize = 8;
/// Slots of the smallest table. A table is never full, because a search ends at an empty slot.
const FEWEST_SLOTS: usize = 64;

/// Return how many words a table may hold: fuller ones have long chains.
fn most_words(slots: usize) -> usize {
    slots * 4 / 5
}

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Slot {
    key: Key,
    id: u32,
    /// Running sums of [`Lexicon::count`]: the document that last held the word, occurrences, documents.
    document: u32,
    occurrences: u32,
    documents: u32,
}

#[derive(Clone, Copy, Default)]
struct PairSlot {
    key: u64,
    id: u32,
}

#[derive(Clone, Copy)]
enum Name {
    Word { start: u64, length: u32 },
    Gram { prefix: u32, word: u32 },
}

/// Words and n-grams, numbered from 0 in the order of their first appearance.
pub struct Lexicon {
    seeds: Seeds,
    slots: Table<Slot>,
    words: usize,
    pairs: Table<PairSlot>,
    grams: usize,
    names: Vec<Name>,
    arena: Vec<u8>,
}

impl Default for Lexicon {
    fn default() -> Self {
        Self::with_capacity(1 << 10)
    }
}

impl Lexicon {
    pub fn with_capacity(words: usize) -> Self {
        Lexicon {
            seeds: Seeds::random(),
            slots: Table::new((words * 5 / 4).max(FEWEST_SLOTS)),
            words: 0,
            pairs: Table::new(FEWEST_SLOTS),
            grams: 0,
            names: roomy(words),
            arena: roomy(words * USUAL_LENGTH),
        }
    }

    pub fn seeds(&self) -> Seeds {
        self.seeds
    }

    /// Return how many terms there are, words and n-grams.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Build a lexicon of given terms, each with its place in the list as its number.
    ///
    /// With `split`, terms are words joined by spaces and become chains of pairs; parts that are not terms
    /// themselves are numbered behind the terms. `None` if a term stands in the list twice.
    pub fn from_terms<'a>(terms: impl ExactSizeIterator<Item = &'a [u8]> + Clone, split: bool) -> Option<Self> {
        let mut lexicon = Self::with_capacity(terms.len());
        let nameless = Name::Gram {
            prefix: UNKNOWN,
            word: UNKNOWN,
        };
        lexicon.names = vec![nameless; terms.len()];
        let mut tokens = Tokens::new(lexicon.seeds);
        let spaces = |term: &[u8]| {
            if split {
                memchr::memchr_iter(b' ', term).count()
            } else {
                0
            }
        };
        let mut grams: Vec<(usize, u32, &[u8])> = Vec::new();
        // Short words are mostly frequent: placed first, they stand where their hash points.
        for length in [0..5, 5..8, 8..usize::MAX] {
            for (id, term) in terms
                .clone()
                .enumerate()
                .filter(|(_, term)| length.contains(&term.len()))
            {
                checkpoint();
                match spaces(term) {
                    0 => {
                        tokens.clear();
                        tokens.push(term);
                        let position = lexicon.probe(tokens.list()[0], &tokens);
                        if lexicon.slots[position].key != Key::NONE {
                            return None;
                        }
                        lexicon.place(position, tokens.list()[0], &tokens, id as u32);
                    }
                    count => grams.push((count, id as u32, term)),
                }
            }
        }
        // Shorter n-grams first: they are the prefixes of the longer ones.
        grams.sort_unstable_by_key(|&(count, id, _)| (count, id));
        for (_, id, term) in grams {
            tokens.clear();
            term.split(|&byte| byte == b' ').for_each(|word| tokens.push(word));
            let mut prefix = lexicon.intern(tokens.list()[0], &tokens);
            for index in 1..tokens.len() {
                let word = lexicon.intern(tokens.list()[index], &tokens);
                if index + 1 < tokens.len() {
                    prefix = lexicon.intern_pair(prefix, word);
                } else if lexicon.find_pair(prefix, word) != UNKNOWN {
                    return None;
                } else {
                    lexicon.place_pair(prefix, word, id);
                }
            }
        }
        Some(lexicon)
    }

    /// The slot of the token, or the empty one where it would go.
    #[inline(always)]
    fn probe(&self, token: Token, tokens: &Tokens) -> usize {
        let key = token.slot_key();
        let mut position = self.slots.place(token.hash as usize);
        loop {
            let slot = &self.slots[position];
            if slot.key == key && (!key.is_long() || self.is_name(slot.id, token, tokens)) {
                return position;
            }
            if slot.key == Key::NONE {
                return position;
            }
            position = self.slots.place(position + 1);
        }
    }

    #[cold]
    fn is_name(&self, id: u32, token: Token, tokens: &Tokens) -> bool {
        matches!(self.names[id as usize], Name::Word { start, length }
            if self.arena[start as usize..start as usize + length as usize] == *tokens.long_bytes(token))
    }

    #[inline(always)]
    pub fn find(&self, token: Token, tokens: &Tokens) -> u32 {
        let slot = &self.slots[self.probe(token, tokens)];
        if slot.key == Key::NONE { UNKNOWN } else { slot.id }
    }

    #[inline(always)]
    pub fn intern(&mut self, token: Token, tokens: &Tokens) -> u32 {
        let position = self.probe(token, tokens);
        let slot = &self.slots[position];
        if slot.key != Key::NONE {
            slot.id
        } else {
            self.insert(position, token, tokens)
        }
    }

    /// Append the numbers of words, new ones too.
    pub fn intern_all(&mut self, tokens: &Tokens, numbers: &mut Vec<u32>) {
        let before = numbers.len();
        numbers.resize(before + tokens.len(), UNKNOWN);
        let (list, numbers) = (tokens.list(), &mut numbers[before..]);
        self.fetch_first(list);
        let mut index = self.find_short(list, 0, numbers);
        while index < list.len() {
            numbers[index] = self.intern(list[index], tokens);
            index = self.find_short(list, index + 1, numbers);
        }
    }

    /// Write the numbers of words, [`UNKNOWN`] for those that are not there.
    pub fn find_all(&self, tokens: &Tokens, numbers: &mut Vec<u32>) {
        let before = numbers.len();
        numbers.resize(before + tokens.len(), UNKNOWN);
        let (list, numbers) = (tokens.list(), &mut numbers[before..]);
        self.fetch_first(list);
        let mut index = self.find_short(list, 0, numbers);
        while index < list.len() {
            numbers[index] = self.find(list[index], tokens);
            index = self.find_short(list, index + 1, numbers);
        }
    }

    /// Fetch the slots of the first words; the loops fetch the others [`LOOK_AHEAD`] words before they need them.
    #[inline]
    fn fetch_first(&self, list: &[Token]) {
        let first = list.iter().take(LOOK_AHEAD);
        first.for_each(|token| self.slots.prefetch(token.hash as usize));
    }

    /// Write the numbers of short words that are there; stop at the first other one and return its place.
    #[inline]
    fn find_short(&self, list: &[Token], from: usize, numbers: &mut [u32]) -> usize {
        let slots = &self.slots;
        for (index, (token, number)) in list.iter().zip(numbers).enumerate().skip(from) {
            if let Some(ahead) = list.get(index + LOOK_AHEAD) {
                slots.prefetch(ahead.hash as usize);
            }
            let mut position = slots.place(token.hash as usize);
            while slots[position].key != token.key {
                if slots[position].key == Key::NONE {
                    return index;
                }
                position += 1;
            }
            *number = slots[position].id;
        }
        list.len()
    }

    /// Return the slot of a word, which is added if it is new.
    fn settle(&mut self, token: Token, tokens: &Tokens) -> usize {
        let position = self.probe(token, tokens);
        if self.slots[position].key != Key::NONE {
            return position;
        }
        let size = self.slots.size();
        self.insert(position, token, tokens);
        if self.slots.size() == size {
            position
        } else {
            self.probe(token, tokens)
        }
    }

    #[cold]
    fn insert(&mut self, position: usize, token: Token, tokens: &Tokens) -> u32 {
        let id = self.names.len() as u32;
        self.names.push(Name::Word { start: 0, length: 0 });
        self.place(position, token, tokens, id);
        id
    }

    fn place(&mut self, position: usize, token: Token, tokens: &Tokens, id: u32) {
        let start = self.arena.len();
        tokens.write(token, &mut self.arena);
        let length = (self.arena.len() - start) as u32;
        self.names[id as usize] = Name::Word {
            start: start as u64,
            length,
        };
        self.slots[position] = Slot {
            key: token.slot_key(),
            id,
            ..Slot::default()
        };
        self.words += 1;
        if self.words > most_words(self.slots.size()) {
            self.grow();
        }
    }

    /// Move to a larger table. Words that came early are mostly frequent: placed first, they stand where their hash
    /// points.
    fn grow(&mut self) {
        let factor = if self.slots.size() < 1 << 16 { 4 } else { 2 };
        let larger = Table::new(self.slots.size() * factor);
        let old = std::mem::replace(&mut self.slots, larger);
        self.names.reserve(most_words(self.slots.size()) - self.words);
        let mut ordered = vec![Slot::default(); self.names.len()];
        for slot in old.iter().filter(|slot| slot.key != Key::NONE) {
            ordered[slot.id as usize] = *slot;
        }
        for slot in ordered.into_iter().filter(|slot| slot.key != Key::NONE) {
            let hash = if slot.key.is_long() {
                slot.key.low
            } else {
                self.seeds.key(slot.key)
            };
            let mut position = self.slots.place(hash as usize);
            while self.slots[position].key != Key::NONE {
                position += 1;
            }
            self.slots[position] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_all_lengths_keep_their_numbers_through_growth() {
        let mut lexicon = Lexicon::default();
        let words: Vec<String> = (0..20_000).map(|n| format!("{}{n}", "x".repeat(n % 40))).collect();
        let mut tokens = Tokens::new(lexicon.seeds());
        words.iter().for_each(|word| tokens.push(word.as_bytes()));
        for round in 0..2 {
            for (index, word) in words.iter().enumerate() {
                let id = lexicon.intern(tokens.list()[index], &tokens);
                assert_eq!(id as usize, index, "round {round}");
                let mut name = Vec::new();
                lexicon.write_name(id, &mut name);
                assert_eq!(name, word.as_bytes());
            }
        }
    }

    #[test]
    fn pairs_are_found_again() {
        let terms: [&[u8]; 3] = [b"city", b"new york city", b"new york"];
        let lexicon = Lexicon::from_terms(terms.into_iter(), true).unwrap();
        for (id, term) in terms.iter().enumerate() {
            let mut name = Vec::new();
            lexicon.write_name(id as u32, &mut name);
            assert_eq!(name, *term);
        }
        assert_eq!(lexicon.len(), 5);
        assert_eq!(lexicon.find_pair(2, 0), 1);
        assert_eq!(lexicon.find_pair(0, 0), UNKNOWN);
        assert!(Lexicon::from_terms([b"a" as &[u8], b"a"].into_iter(), false).is_none());
    }
}
