//! Terms and their numbers: an open-addressing table with short words inside the slot, n-grams as pairs.
//!
//! A word of up to 15 bytes is one 128-bit key, compared in one instruction; longer words are compared
//! through their bytes. An n-gram is the pair (number of its first n−1 words, number of its last word), so its
//! text is never built while counting. The hash is keyed at random for each lexicon: nobody can prepare
//! text that collides.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::system::cancel::beat;
use crate::system::marks::Marked;
use crate::system::memory::{Table, roomy};
use crate::text::bag::{Bag, Writer};

/// The number of a term that the lexicon does not hold.
pub const UNKNOWN: u32 = u32::MAX;
/// The longest word that fits into a slot.
pub const SHORT: usize = 15;
const LONG_TAG: u64 = 0xFF << 56;
/// So many words are fetched at once: fewer wait where other programs take the cache.
const LOOK_AHEAD: usize = 64;
/// Bytes of a word, when room is made for many.
const USUAL_LENGTH: usize = 8;
/// Words that are placed first in a table of weights.
const HEAVY_WORDS: usize = 1 << 13;
/// A table is never full: a search ends at an empty slot.
const FEWEST_SLOTS: usize = 64;
/// The share of the slots, as 1 in so many, up to which those with running sums are listed.
const LISTED_SHARE: usize = 16;

/// How many words a table of so many slots may hold: fuller ones have long chains.
fn most_words(slots: usize) -> usize {
    slots * 4 / 5
}

/// The first 15 bytes of a word, then its length + 1. A long word has its hash, then 255; in a token, where its
/// bytes are too, so that the fast loops, which know only equal keys, never find it. All zeros is no word.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Key {
    low: u64,
    high: u64,
}

impl Key {
    const NONE: Key = Key { low: 0, high: 0 };

    /// The key of at most 15 bytes. The two ends of a word are read whole, and overlap: nothing is copied byte by byte.
    #[inline]
    fn short(bytes: &[u8]) -> Self {
        let length = bytes.len();
        let (low, high) = match (bytes.first_chunk(), bytes.last_chunk()) {
            (Some(&first), Some(&last)) => {
                let behind = u64::from_le_bytes(last).checked_shr(8 * (16 - length as u32));
                (u64::from_le_bytes(first), behind.unwrap_or(0))
            }
            _ => (few_bytes(bytes), 0),
        };
        Key {
            low,
            high: high | (length as u64 + 1) << 56,
        }
    }

    /// The key of a run of at most 15 bytes.
    #[inline(always)]
    fn of_run(marked: &Marked, start: u16, end: u16) -> Option<Self> {
        let &(low, high, tag) = MASKS.get(usize::from(end.wrapping_sub(start)))?;
        let [first, second] = marked.load(start);
        Some(Key {
            low: first & low,
            high: second & high | tag,
        })
    }

    fn is_long(self) -> bool {
        self.high >= LONG_TAG
    }

    /// The key of a long word in a slot.
    fn long(hash: u64) -> Self {
        Key {
            low: hash,
            high: LONG_TAG,
        }
    }

    /// Appends the bytes of a short word.
    fn write(self, target: &mut Vec<u8>) {
        let bytes = (u128::from(self.high) << 64 | u128::from(self.low)).to_le_bytes();
        target.extend_from_slice(&bytes[..(bytes[SHORT] as usize).saturating_sub(1).min(SHORT)]);
    }
}

/// Fewer than eight bytes as a number.
fn few_bytes(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(&first), Some(&last)) => {
            u64::from(u32::from_le_bytes(first)) | u64::from(u32::from_le_bytes(last)) << (8 * (bytes.len() - 4))
        }
        _ => bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}

/// A word as it is looked up.
#[derive(Clone, Copy, Default)]
pub struct Token {
    key: Key,
    hash: u64,
}

impl Token {
    fn slot_key(self) -> Key {
        if self.key.is_long() {
            Key::long(self.hash)
        } else {
            self.key
        }
    }
}

/// Random keys of the hash.
#[derive(Clone, Copy)]
pub struct Seeds([u64; 3]);

impl Seeds {
    pub fn random() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        // Odd, so that no seed can turn a factor into zero for all inputs.
        Seeds([random() | 1, random() | 1, random() | 1])
    }

    /// The 128-bit product of two words folded to 64 bits, as in wyhash.
    #[inline(always)]
    fn fold(left: u64, right: u64) -> u64 {
        let product = u128::from(left) * u128::from(right);
        (product as u64) ^ ((product >> 64) as u64)
    }

    #[inline(always)]
    fn key(self, key: Key) -> u64 {
        Self::fold(key.low ^ self.0[0], key.high ^ self.0[1])
    }

    #[inline(always)]
    fn pair(self, pair: u64) -> u64 {
        Self::fold(pair ^ self.0[0], self.0[1])
    }

    fn bytes(self, bytes: &[u8]) -> u64 {
        let mut state = self.0[2] ^ bytes.len() as u64;
        for chunk in bytes.chunks(SHORT) {
            let key = Key::short(chunk);
            state = self.key(Key {
                low: key.low ^ state,
                high: key.high,
            });
        }
        state
    }
}

const BEYOND_ASCII: u64 = 0x8080_8080_8080_8080;

/// `MASKS[n]`: what keeps the first n bytes of a key, and the tag of its length.
const MASKS: [(u64, u64, u64); 16] = {
    let mut masks = [(0, 0, 1 << 56); 16];
    let mut length = 1;
    while length < 16 {
        let low = if length < 8 {
            u64::MAX >> (8 * (8 - length))
        } else {
            u64::MAX
        };
        let high = if length > 8 { u64::MAX >> (8 * (16 - length)) } else { 0 };
        masks[length] = (low, high, (length as u64 + 1) << 56);
        length += 1;
    }
    masks
};

/// The tokens of one document, ready for look-up.
pub struct Tokens {
    seeds: Seeds,
    /// Room for tokens; the first `count` are there.
    room: Vec<Token>,
    count: usize,
    /// The long words of the document, and where each ends.
    long: Vec<u8>,
    long_ends: Vec<usize>,
}

impl Tokens {
    pub fn new(seeds: Seeds) -> Self {
        Tokens {
            seeds,
            room: Vec::new(),
            count: 0,
            long: Vec::new(),
            long_ends: Vec::new(),
        }
    }

    pub fn clear(&mut self) {
        self.count = 0;
        self.long.clear();
        self.long_ends.clear();
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn push(&mut self, word: &[u8]) {
        let token = if word.len() <= SHORT {
            let key = Key::short(word);
            Token {
                key,
                hash: self.seeds.key(key),
            }
        } else {
            let hash = self.seeds.bytes(word);
            self.long.extend_from_slice(word);
            self.long_ends.push(self.long.len());
            Token {
                key: Key {
                    low: hash,
                    high: LONG_TAG | self.long_ends.len() as u64,
                },
                hash,
            }
        };
        self.make_room(1);
        self.room[self.count] = token;
        self.count += 1;
    }

    fn make_room(&mut self, more: usize) {
        if self.room.len() < self.count + more {
            let size = (self.count + more).next_power_of_two();
            self.room.resize(size, Token::default());
        }
    }

    /// Pushes the runs of word bytes in a marked text that have at least `shortest` bytes; runs with bytes beyond
    /// ASCII go to `other`.
    pub fn push_marked(&mut self, marked: &Marked, shortest: usize, mut other: impl FnMut(&mut Self, &[u8])) {
        let mut runs = marked.runs();
        while !runs.is_empty() {
            let done = if marked.ascii && shortest <= 2 {
                self.push_plain(marked, runs)
            } else {
                self.push_short(marked, runs, shortest)
            };
            runs = &runs[done..];
            if let Some((&run, behind)) = runs.split_first() {
                self.push_rare(marked.run(run), shortest, &mut other);
                runs = behind;
            }
        }
    }

    /// Pushes short runs, all of which are ASCII and long enough; stops at the first long one and says how many were
    /// done.
    fn push_plain(&mut self, marked: &Marked, runs: &[[u16; 2]]) -> usize {
        self.make_room(runs.len());
        let (seeds, room) = (self.seeds, &mut self.room[self.count..]);
        let mut done = 0;
        for (&[start, end], place) in runs.iter().zip(room) {
            let Some(key) = Key::of_run(marked, start, end) else {
                break;
            };
            *place = Token {
                key,
                hash: seeds.key(key),
            };
            done += 1;
        }
        self.count += done;
        done
    }

    /// Pushes short ASCII runs; stops at the first other one and says how many were done.
    ///
    /// A run that is too short is written and not counted, which costs less than a branch that nobody can predict.
    fn push_short(&mut self, marked: &Marked, runs: &[[u16; 2]], shortest: usize) -> usize {
        self.make_room(runs.len());
        let (seeds, room) = (self.seeds, &mut self.room[self.count..]);
        let (mut count, mut done) = (0, 0);
        for &[start, end] in runs {
            let key = Key::of_run(marked, start, end).filter(|key| (key.low | key.high) & BEYOND_ASCII == 0);
            let (Some(key), Some(place)) = (key, room.get_mut(count)) else {
                break;
            };
            *place = Token {
                key,
                hash: seeds.key(key),
            };
            count += usize::from(usize::from(end - start) >= shortest);
            done += 1;
        }
        self.count += count;
        done
    }

    /// Pushes a run of any kind.
    #[cold]
    pub fn push_rare(&mut self, run: &[u8], shortest: usize, other: &mut impl FnMut(&mut Self, &[u8])) {
        if !run.is_ascii() {
            other(self, run);
        } else if run.len() >= shortest {
            self.push(run);
        }
    }

    /// The bytes of a token, for those who need the text (stems, stop words).
    pub fn text(&self, token: Token, target: &mut Vec<u8>) {
        target.clear();
        self.write(token, target);
    }

    pub fn list(&self) -> &[Token] {
        &self.room[..self.count]
    }

    fn write(&self, token: Token, target: &mut Vec<u8>) {
        if token.key.is_long() {
            target.extend_from_slice(self.long_bytes(token));
        } else {
            token.key.write(target);
        }
    }

    fn long_bytes(&self, token: Token) -> &[u8] {
        let place = (token.key.high & !LONG_TAG) as usize;
        &self.long[if place == 1 { 0 } else { self.long_ends[place - 2] }..self.long_ends[place - 1]]
    }
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

/// The state of running sums: which document is counted, and the slots that have sums.
#[derive(Default)]
pub struct Run {
    document: u32,
    /// Room for positions; the first `length` are there.
    touched: Vec<u32>,
    length: usize,
    /// So many slots have sums that no more are listed: all are looked at in the end.
    all: bool,
}

impl Run {
    /// Starts a new document; says how many there were since the last flush.
    pub fn next_document(&mut self) -> u32 {
        self.document += 1;
        self.document
    }

    fn make_room(&mut self, more: usize) {
        if self.touched.len() < self.length + more {
            self.touched.resize((self.length + more).next_power_of_two(), 0);
        }
    }

    /// After the table has grown, slots stand elsewhere.
    fn find_again(&mut self, slots: &Table<Slot>) {
        let with_sums = slots.iter().enumerate().filter(|(_, slot)| slot.occurrences > 0);
        for (touched, (position, _)) in self.touched.iter_mut().zip(with_sums) {
            *touched = position as u32;
        }
    }
}

/// Looks for a key behind `position`; `None` if it is not there.
#[cold]
fn probe_on(slots: &Table<Slot>, key: Key, mut position: usize) -> Option<usize> {
    while slots[position].key != Key::NONE {
        position += 1;
        if slots[position].key == key {
            return Some(slots.place(position));
        }
    }
    None
}

/// Lists a slot; gives 1 if it has no sums yet, and 0 if it is listed already: then it is written over by the next.
#[inline(always)]
fn list_new(slot: &Slot, position: usize, touched: &mut u32) -> usize {
    *touched = position as u32;
    usize::from(slot.occurrences == 0)
}

/// Adds one occurrence. Whether it is new in the document is a value and not a branch: nobody could predict it.
#[inline(always)]
fn mark(slot: &mut Slot, document: u32) {
    slot.documents += u32::from(slot.document != document);
    slot.occurrences += 1;
    slot.document = document;
}

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct WeightSlot {
    key: Key,
    weights: [f64; 2],
}

/// The least of the `count` highest sums of two weights; of fewer, it is below all.
fn least_of_heaviest(weights: &[[f64; 2]], count: usize) -> f64 {
    let mut sums: Vec<f64> = weights.iter().map(|[first, second]| first + second).collect();
    match sums.len().checked_sub(count) {
        Some(place) if place < sums.len() => *sums.select_nth_unstable_by(place, f64::total_cmp).1,
        _ => f64::NEG_INFINITY,
    }
}

/// A lexicon's words with two weights each in their slots: a token costs one cache line.
pub struct WeightTable {
    slots: Table<WeightSlot>,
}

impl WeightTable {
    /// `weights` has a pair for each term of the lexicon up to some number; later ones weigh nothing.
    ///
    /// Where the weights are logarithms of frequencies, the heavy words are the frequent ones: placed first, they stand
    /// where their hash points. Long words are looked up in the lexicon.
    pub fn new(lexicon: &Lexicon, weights: &[[f64; 2]]) -> Self {
        let least = least_of_heaviest(weights, HEAVY_WORDS);
        let mut slots: Table<WeightSlot> = Table::new(lexicon.slots.size());
        for heavy in [true, false] {
            for word in lexicon
                .slots
                .iter()
                .filter(|word| word.key != Key::NONE && !word.key.is_long())
            {
                beat();
                let weights = weights.get(word.id as usize).copied().unwrap_or_default();
                if (weights[0] + weights[1] >= least) == heavy {
                    let mut position = slots.place(lexicon.seeds.key(word.key) as usize);
                    while slots[position].key != Key::NONE {
                        position += 1;
                    }
                    slots[position] = WeightSlot { key: word.key, weights };
                }
            }
        }
        WeightTable { slots }
    }

    /// Adds the weights of words to `sums` and gives how many are known; `lexicon` is the one this was made of.
    pub fn add(&self, tokens: &Tokens, lexicon: &Lexicon, weights: &[[f64; 2]], sums: &mut [f64; 2]) -> usize {
        let slots = &self.slots;
        let list = tokens.list();
        list.iter()
            .take(LOOK_AHEAD)
            .for_each(|ahead| slots.prefetch(ahead.hash as usize));
        let ([mut first, mut second], mut known) = (*sums, 0);
        for (index, &token) in list.iter().enumerate() {
            if let Some(ahead) = list.get(index + LOOK_AHEAD) {
                slots.prefetch(ahead.hash as usize);
            }
            let slot = &slots[token.hash as usize];
            let pair = if slot.key == token.key {
                Some(&slot.weights)
            } else {
                self.search(token, tokens, lexicon, weights)
            };
            if let Some(pair) = pair {
                first += pair[0];
                second += pair[1];
                known += 1;
            }
        }
        *sums = [first, second];
        known
    }

    /// The weights of a word that is not where its hash points.
    #[cold]
    fn search<'a>(
        &'a self,
        token: Token,
        tokens: &Tokens,
        lexicon: &Lexicon,
        weights: &'a [[f64; 2]],
    ) -> Option<&'a [f64; 2]> {
        if token.key.is_long() {
            return weights.get(lexicon.find(token, tokens) as usize);
        }
        let mut position = self.slots.place(token.hash as usize);
        while self.slots[position].key != Key::NONE {
            if self.slots[position].key == token.key {
                return Some(&self.slots[position].weights);
            }
            position += 1;
        }
        None
    }
}

/// The texts of all terms of a lexicon, by their numbers.
pub struct Names<'a> {
    lexicon: &'a Lexicon,
    /// The texts of n-grams, which the lexicon has only as numbers, and where that of each term ends.
    grams: Vec<u8>,
    ends: Vec<usize>,
}

impl Names<'_> {
    pub fn get(&self, term: usize) -> &[u8] {
        match self.lexicon.names[term] {
            Name::Word { start, length } => &self.lexicon.arena[start as usize..start as usize + length as usize],
            Name::Gram { .. } => &self.grams[if term == 0 { 0 } else { self.ends[term - 1] }..self.ends[term]],
        }
    }

    pub fn len(&self) -> usize {
        self.lexicon.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all texts together.
    pub fn size(&self) -> usize {
        self.lexicon.arena.len() + self.grams.len()
    }
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

    /// How many terms there are, words and n-grams.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The texts of all terms.
    pub fn names(&self) -> Names<'_> {
        let (mut grams, mut ends) = (Vec::new(), Vec::new());
        if self.grams > 0 {
            ends.reserve(self.names.len());
            for term in 0..self.names.len() as u32 {
                beat();
                if matches!(self.names[term as usize], Name::Gram { .. }) {
                    self.write_name(term, &mut grams);
                }
                ends.push(grams.len());
            }
        }
        Names {
            lexicon: self,
            grams,
            ends,
        }
    }

    /// Writes the text of a term: a word, or words joined by spaces.
    pub fn write_name(&self, id: u32, target: &mut Vec<u8>) {
        match self.names[id as usize] {
            Name::Word { start, length } => {
                target.extend_from_slice(&self.arena[start as usize..start as usize + length as usize]);
            }
            Name::Gram { prefix, word } => {
                self.write_name(prefix, target);
                target.push(b' ');
                self.write_name(word, target);
            }
        }
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

    /// Appends the numbers of words, new ones too.
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

    /// Writes the numbers of words, [`UNKNOWN`] for those that are not there.
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

    /// Fetches the slots of the first words; those behind are fetched on the way, so many words before they are needed.
    #[inline]
    fn fetch_first(&self, list: &[Token]) {
        let first = list.iter().take(LOOK_AHEAD);
        first.for_each(|token| self.slots.prefetch(token.hash as usize));
    }

    /// Writes the numbers of short words that are there; stops at the first other one and says where.
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

    /// Adds words, new ones too, to the running sums in their slots, for the current document of `run`.
    pub fn count(&mut self, tokens: &Tokens, run: &mut Run) {
        run.all |= run.length > self.slots.size() / LISTED_SHARE;
        if run.all {
            self.count_all::<false>(tokens, run);
        } else {
            run.make_room(tokens.len());
            self.count_all::<true>(tokens, run);
        }
    }

    fn count_all<const LISTED: bool>(&mut self, tokens: &Tokens, run: &mut Run) {
        let list = tokens.list();
        self.fetch_first(list);
        let mut index = self.count_short::<LISTED>(list, 0, run);
        while index < list.len() {
            let size = self.slots.size();
            let position = self.settle(list[index], tokens);
            if self.slots.size() != size {
                run.find_again(&self.slots);
            }
            let touched = run.touched.get_mut(run.length).filter(|_| LISTED);
            let slot = &mut self.slots[position];
            run.length += touched.map_or(0, |touched| list_new(slot, position, touched));
            mark(slot, run.document);
            index = self.count_short::<LISTED>(list, index + 1, run);
        }
    }

    /// The fast way for short words that are there; stops at the first other one and says where.
    fn count_short<const LISTED: bool>(&mut self, list: &[Token], from: usize, run: &mut Run) -> usize {
        let slots = &mut self.slots;
        let rest = &list[from.min(list.len())..];
        let (document, room) = (run.document, &mut run.touched[run.length..]);
        let (mut length, mut done) = (0, 0);
        for token in rest {
            if let Some(ahead) = rest.get(done + LOOK_AHEAD) {
                slots.prefetch(ahead.hash as usize);
            }
            let mut position = slots.place(token.hash as usize);
            if slots[position].key != token.key {
                let Some(further) = probe_on(slots, token.key, position) else {
                    break;
                };
                position = further;
            }
            let slot = &mut slots[position];
            if LISTED {
                let Some(touched) = room.get_mut(length) else { break };
                length += list_new(slot, position, touched);
            }
            mark(slot, document);
            done += 1;
        }
        run.length += length;
        from + done
    }

    /// Puts words, new ones too, into the bag of the current document; their slots know their places in it. `seen` is told
    /// the number of each, so that what it stands for can be fetched meanwhile.
    pub fn fill_bag(&mut self, tokens: &Tokens, bag: &mut Bag, seen: impl Fn(u32)) {
        bag.make_room(tokens.len());
        let list = tokens.list();
        self.fetch_first(list);
        bag.write(|writer| {
            let mut index = self.bag_short(list, 0, writer, &seen);
            while index < list.len() {
                let position = self.settle(list[index], tokens);
                let slot = &mut self.slots[position];
                writer.put(slot.id, &mut slot.document, &mut slot.occurrences);
                index = self.bag_short(list, index + 1, writer, &seen);
            }
        });
    }

    /// The fast way for short words that are there; stops at the first other one and says where.
    #[inline(always)]
    fn bag_short(&mut self, list: &[Token], from: usize, writer: &mut Writer<'_>, seen: &impl Fn(u32)) -> usize {
        let slots = &mut self.slots;
        let rest = &list[from.min(list.len())..];
        let mut done = 0;
        for token in rest {
            if let Some(ahead) = rest.get(done + LOOK_AHEAD) {
                slots.prefetch(ahead.hash as usize);
            }
            let mut position = slots.place(token.hash as usize);
            if slots[position].key != token.key {
                let Some(further) = probe_on(slots, token.key, position) else {
                    break;
                };
                position = further;
            }
            let slot = &mut slots[position];
            seen(slot.id);
            writer.put(slot.id, &mut slot.document, &mut slot.occurrences);
            done += 1;
        }
        from + done
    }

    /// Ends the running sums: gives number, occurrences and documents of each word that has them.
    pub fn flush(&mut self, run: &mut Run, mut each: impl FnMut(u32, u32, u32)) {
        let mut take = |slot: &mut Slot| {
            each(slot.id, slot.occurrences, slot.documents);
            (slot.document, slot.occurrences, slot.documents) = (0, 0, 0);
        };
        if run.all {
            self.slots.iter_mut().filter(|slot| slot.occurrences > 0).for_each(take);
        } else {
            let touched = &run.touched[..run.length];
            for (index, &position) in touched.iter().enumerate() {
                if let Some(&ahead) = touched.get(index + LOOK_AHEAD) {
                    self.slots.prefetch(ahead as usize);
                }
                take(&mut self.slots[position as usize]);
            }
        }
        (run.length, run.document, run.all) = (0, 0, false);
    }

    /// The slot of a word, new or not.
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

    /// Words that came early are mostly frequent: put back first, they stand where their hash points.
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

    /// The slot of a pair, or the empty one where it would go. Keys are stored + 1, so that 0 is empty.
    #[inline(always)]
    fn probe_pair(&self, key: u64) -> usize {
        let mut position = self.pairs.place(self.seeds.pair(key) as usize);
        while self.pairs[position].key != 0 && self.pairs[position].key != key {
            position += 1;
        }
        position
    }

    fn pair_key(prefix: u32, word: u32) -> u64 {
        (u64::from(prefix) << 32 | u64::from(word)).wrapping_add(1)
    }

    pub fn prefetch_pair(&self, prefix: u32, word: u32) {
        self.pairs
            .prefetch(self.seeds.pair(Self::pair_key(prefix, word)) as usize);
    }

    pub fn find_pair(&self, prefix: u32, word: u32) -> u32 {
        if prefix == UNKNOWN || word == UNKNOWN {
            return UNKNOWN;
        }
        let slot = self.pairs[self.probe_pair(Self::pair_key(prefix, word))];
        if slot.key == 0 { UNKNOWN } else { slot.id }
    }

    pub fn intern_pair(&mut self, prefix: u32, word: u32) -> u32 {
        let found = self.find_pair(prefix, word);
        if found != UNKNOWN {
            return found;
        }
        let id = self.names.len() as u32;
        self.names.push(Name::Gram { prefix, word });
        self.place_pair(prefix, word, id);
        id
    }

    #[cold]
    fn place_pair(&mut self, prefix: u32, word: u32, id: u32) {
        if self.grams * 5 >= self.pairs.size() * 3 {
            self.grow_pairs();
        }
        let key = Self::pair_key(prefix, word);
        let position = self.probe_pair(key);
        self.names[id as usize] = Name::Gram { prefix, word };
        self.pairs[position] = PairSlot { key, id };
        self.grams += 1;
    }

    fn grow_pairs(&mut self) {
        let larger = Table::new((self.pairs.size() * 2).max(1 << 10));
        let old = std::mem::replace(&mut self.pairs, larger);
        for slot in old.iter().filter(|slot| slot.key != 0) {
            let position = self.probe_pair(slot.key);
            self.pairs[position] = *slot;
        }
    }

    /// A lexicon of given terms, each with its place in the list as its number.
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
                beat();
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
    fn runs_and_single_words_are_equal() {
        let lexicon = Lexicon::default();
        let mut tokens = Tokens::new(lexicon.seeds());
        let text = b"abcdefghijklmnopqrstuvwxyz0123456789________________";
        for length in 1..20 {
            tokens.clear();
            tokens.push(&text[3..3 + length]);
            let mut written = Vec::new();
            tokens.text(tokens.list()[0], &mut written);
            assert_eq!(written, &text[3..3 + length]);
            let mut marked = Marked::default();
            marked.fill(crate::system::vector::CodePath::Plain, &text[3..3 + length], true, true);
            tokens.push_marked(&marked, 1, |_, _| ());
            assert!(tokens.list()[0].slot_key() == tokens.list()[1].slot_key());
            assert_eq!(tokens.list()[0].hash, tokens.list()[1].hash);
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

#[cfg(test)]
mod seeds {
    use super::*;

    #[test]
    fn no_two_lexicons_spread_their_words_alike() {
        let seeds: Vec<[u64; 3]> = (0..100).map(|_| Seeds::random().0).collect();
        assert!(seeds.iter().flatten().all(|seed| seed & 1 == 1 && seed >> 16 != 0));
        let mut all: Vec<u64> = seeds.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300);
    }

    /// How many of 4096 places so many hashes take, in the middle of nine draws of keys: some are unlucky.
    fn spread(hash: impl Fn(Seeds, u64) -> u64) -> usize {
        let mut taken: Vec<usize> = (0..9)
            .map(|_| {
                let seeds = Seeds::random();
                let mut places: Vec<u64> = (0..4096).map(|number| hash(seeds, number) & 4095).collect();
                places.sort_unstable();
                places.dedup();
                places.len()
            })
            .collect();
        taken.sort_unstable();
        taken[4]
    }

    #[test]
    fn hashes_of_short_words_long_words_and_pairs_are_spread_over_a_table() {
        // By chance 63% of the places are taken; far fewer would make chains.
        assert!(spread(|seeds, number| seeds.key(Key::short(format!("word{number}").as_bytes()))) > 2000);
        assert!(spread(|seeds, number| seeds.bytes(format!("a word too long for a slot {number}").as_bytes())) > 2000);
        assert!(spread(|seeds, number| seeds.bytes(format!("{number} is too long for a slot").as_bytes())) > 2000);
        assert!(spread(|seeds, number| seeds.pair(number << 32 | (number + 7))) > 2000);
    }
}
