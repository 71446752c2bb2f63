//! Terms and their numbers: an open-addressing table with short words inside the slot, n-grams as pairs.
//!
//! A word of up to 15 bytes is one 128-bit key, compared in one instruction; longer words are compared
//! through their bytes. An n-gram is the pair (number of its first n−1 words, number of its last word), so its
//! text is never built while counting. The hash is keyed at random for each lexicon: nobody can prepare
//! text that collides.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::bag::Bag;
use crate::patience::beat;
use crate::simd::{Marked, prefer_large_pages, prefetch};

/// The number of a term that the lexicon does not hold.
pub const UNKNOWN: u32 = u32::MAX;
/// The longest word that fits into a slot.
pub const SHORT: usize = 15;
const LONG_TAG: u64 = 0xFF << 56;
const LOOK_AHEAD: usize = 16;

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

/// The two words of 8 bytes from `start` on.
#[inline(always)]
fn load(bytes: &[u8], start: usize) -> Option<(u64, u64)> {
    let (words, _) = bytes.get(start..start + 16)?.as_chunks::<8>();
    Some((u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])))
}

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
        let (starts, ends) = marked.runs();
        let mut done = 0;
        while done < starts.len() {
            done += self.push_short(marked, &starts[done..], &ends[done..], shortest);
            if let (Some(&start), Some(&end)) = (starts.get(done), ends.get(done)) {
                self.push_rare(&marked.bytes[start as usize..end as usize], shortest, &mut other);
                done += 1;
            }
        }
    }

    /// Pushes short ASCII runs; stops at the first other one and says how many were done.
    ///
    /// A run that is too short is written and not counted, which costs less than a branch that nobody can predict.
    fn push_short(&mut self, marked: &Marked, starts: &[u32], ends: &[u32], shortest: usize) -> usize {
        self.make_room(starts.len());
        let (seeds, room) = (self.seeds, &mut self.room[self.count..]);
        let (mut count, mut done) = (0, 0);
        for (&start, &end) in starts.iter().zip(ends) {
            let length = (end - start) as usize;
            let Some(&(low, high, tag)) = MASKS.get(length) else {
                break;
            };
            let Some((first, second)) = load(&marked.bytes, start as usize) else {
                break;
            };
            let (low, high) = (first & low, second & high);
            if (low | high) & BEYOND_ASCII != 0 {
                break;
            }
            let key = Key { low, high: high | tag };
            let Some(place) = room.get_mut(count) else { break };
            *place = Token {
                key,
                hash: seeds.key(key),
            };
            count += usize::from(length >= shortest);
            done += 1;
        }
        self.count += count;
        done
    }

    #[cold]
    fn push_rare(&mut self, run: &[u8], shortest: usize, other: &mut impl FnMut(&mut Self, &[u8])) {
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
    fn find_again(&mut self, slots: &[Slot]) {
        let with_sums = slots.iter().enumerate().filter(|(_, slot)| slot.occurrences > 0);
        for (touched, (position, _)) in self.touched.iter_mut().zip(with_sums) {
            *touched = position as u32;
        }
    }
}

/// Looks for a key behind `position`; `None` if it is not there.
#[cold]
fn probe_on(slots: &[Slot], key: Key, mut position: usize) -> Option<usize> {
    while slots[position].key != Key::NONE {
        position = (position + 1) & (slots.len() - 1);
        if slots[position].key == key {
            return Some(position);
        }
    }
    None
}

/// Adds one occurrence; gives 1 if it is the word's first since the last flush. Whether it is, and whether it is new
/// in the document, are values and not branches: nobody could predict them.
#[inline(always)]
fn mark(slot: &mut Slot, position: usize, document: u32, touched: &mut u32) -> usize {
    *touched = position as u32;
    let first = usize::from(slot.occurrences == 0);
    slot.documents += u32::from(slot.document != document);
    slot.occurrences += 1;
    slot.document = document;
    first
}

/// A table of so many empty slots, on large pages if the system has them: the slots are visited at random.
fn roomy<T: Clone + Default>(size: usize) -> Vec<T> {
    let mut table = Vec::with_capacity(size);
    prefer_large_pages(table.spare_capacity_mut());
    table.resize(size, T::default());
    table
}

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct WeightSlot {
    key: Key,
    weights: [f64; 2],
}

/// A lexicon's words with two weights each in their slots: a token costs one cache line.
pub struct WeightTable {
    slots: Vec<WeightSlot>,
}

impl WeightTable {
    /// `weights` has a pair for each term of the lexicon up to some number; later ones weigh nothing.
    pub fn new(lexicon: &Lexicon, weights: &[[f64; 2]]) -> Self {
        let mut slots: Vec<WeightSlot> = roomy(lexicon.slots.len());
        // Empty slots weigh nothing. Long words keep their places, but are looked up in the lexicon.
        let full = slots
            .iter_mut()
            .zip(&lexicon.slots)
            .filter(|(_, slot)| slot.key != Key::NONE);
        for (target, slot) in full {
            beat();
            *target = WeightSlot {
                key: slot.key,
                weights: weights.get(slot.id as usize).copied().unwrap_or_default(),
            };
        }
        WeightTable { slots }
    }

    /// Adds the weights of words to `sums` and gives how many are known; `lexicon` is the one this was made of.
    pub fn add(&self, tokens: &Tokens, lexicon: &Lexicon, weights: &[[f64; 2]], sums: &mut [f64; 2]) -> usize {
        let slots = self.slots.as_slice();
        let mask = slots.len() - 1;
        let list = tokens.list();
        list.iter()
            .take(LOOK_AHEAD)
            .for_each(|ahead| prefetch(slots, ahead.hash as usize & mask));
        let ([mut first, mut second], mut known) = (*sums, 0);
        for (index, &token) in list.iter().enumerate() {
            if let Some(ahead) = list.get(index + LOOK_AHEAD) {
                prefetch(slots, ahead.hash as usize & mask);
            }
            let slot = &slots[token.hash as usize & mask];
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
        let mut position = token.hash as usize & (self.slots.len() - 1);
        while self.slots[position].key != Key::NONE {
            if self.slots[position].key == token.key {
                return Some(&self.slots[position].weights);
            }
            position = (position + 1) & (self.slots.len() - 1);
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
    slots: Vec<Slot>,
    words: usize,
    pairs: Vec<PairSlot>,
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
            slots: roomy((words * 5 / 3).next_power_of_two().max(64)),
            words: 0,
            pairs: Vec::new(),
            grams: 0,
            names: Vec::with_capacity(words),
            arena: Vec::new(),
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
        let mask = self.slots.len() - 1;
        let key = token.slot_key();
        let mut position = token.hash as usize & mask;
        loop {
            let slot = &self.slots[position];
            if slot.key == key && (!key.is_long() || self.is_name(slot.id, token, tokens)) {
                return position;
            }
            if slot.key == Key::NONE {
                return position;
            }
            position = (position + 1) & mask;
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
        let mut index = self.find_short(list, 0, numbers);
        while index < list.len() {
            numbers[index] = self.find(list[index], tokens);
            index = self.find_short(list, index + 1, numbers);
        }
    }

    /// Writes the numbers of short words that are there; stops at the first other one and says where.
    #[inline]
    fn find_short(&self, list: &[Token], from: usize, numbers: &mut [u32]) -> usize {
        let slots = self.slots.as_slice();
        let mask = slots.len() - 1;
        list[from.min(list.len())..]
            .iter()
            .take(LOOK_AHEAD)
            .for_each(|ahead| prefetch(slots, ahead.hash as usize & mask));
        for (index, (token, number)) in list.iter().zip(numbers).enumerate().skip(from) {
            if let Some(ahead) = list.get(index + LOOK_AHEAD) {
                prefetch(slots, ahead.hash as usize & mask);
            }
            let mut position = token.hash as usize & mask;
            while slots[position].key != token.key {
                if slots[position].key == Key::NONE {
                    return index;
                }
                position = (position + 1) & mask;
            }
            *number = slots[position].id;
        }
        list.len()
    }

    /// Adds words, new ones too, to the running sums in their slots, for the current document of `run`.
    pub fn count(&mut self, tokens: &Tokens, run: &mut Run) {
        run.make_room(tokens.len());
        let list = tokens.list();
        let mut index = self.count_short(list, 0, run);
        while index < list.len() {
            let size = self.slots.len();
            let position = self.settle(list[index], tokens);
            if self.slots.len() != size {
                run.find_again(&self.slots);
            }
            let touched = run.touched.get_mut(run.length);
            run.length += touched.map_or(0, |touched| {
                mark(&mut self.slots[position], position, run.document, touched)
            });
            index = self.count_short(list, index + 1, run);
        }
    }

    /// The fast way for short words that are there; stops at the first other one and says where.
    fn count_short(&mut self, list: &[Token], from: usize, run: &mut Run) -> usize {
        let slots = self.slots.as_mut_slice();
        let mask = slots.len() - 1;
        let list = &list[..list.len().min(from + run.touched.len() - run.length)];
        let rest = &list[from.min(list.len())..];
        rest.iter()
            .take(LOOK_AHEAD)
            .for_each(|ahead| prefetch(slots, ahead.hash as usize & mask));
        let (document, room) = (run.document, &mut run.touched[run.length..]);
        let (mut length, mut done) = (0, 0);
        for token in rest {
            if let Some(ahead) = rest.get(done + LOOK_AHEAD) {
                prefetch(slots, ahead.hash as usize & mask);
            }
            let mut position = token.hash as usize & mask;
            if slots[position].key != token.key {
                let Some(further) = probe_on(slots, token.key, position) else {
                    break;
                };
                position = further;
            }
            length += mark(&mut slots[position], position, document, &mut room[length]);
            done += 1;
        }
        run.length += length;
        from + done
    }

    /// Puts words, new ones too, into the bag of the current document; their slots know their places in it.
    pub fn fill_bag(&mut self, tokens: &Tokens, bag: &mut Bag) {
        bag.make_room(tokens.len());
        let list = tokens.list();
        let mut index = self.bag_short(list, 0, bag);
        while index < list.len() {
            let position = self.settle(list[index], tokens);
            let slot = &mut self.slots[position];
            bag.put(slot.id, &mut slot.document, &mut slot.occurrences);
            index = self.bag_short(list, index + 1, bag);
        }
    }

    /// The fast way for short words that are there; stops at the first other one and says where.
    fn bag_short(&mut self, list: &[Token], from: usize, bag: &mut Bag) -> usize {
        let slots = self.slots.as_mut_slice();
        let mask = slots.len() - 1;
        list[from.min(list.len())..]
            .iter()
            .take(LOOK_AHEAD)
            .for_each(|ahead| prefetch(slots, ahead.hash as usize & mask));
        for (index, token) in list.iter().enumerate().skip(from) {
            if let Some(ahead) = list.get(index + LOOK_AHEAD) {
                prefetch(slots, ahead.hash as usize & mask);
            }
            let mut position = token.hash as usize & mask;
            while slots[position].key != token.key {
                if slots[position].key == Key::NONE {
                    return index;
                }
                position = (position + 1) & mask;
            }
            let slot = &mut slots[position];
            bag.put(slot.id, &mut slot.document, &mut slot.occurrences);
        }
        list.len()
    }

    /// Ends the running sums: gives number, occurrences and documents of each word that has them.
    pub fn flush(&mut self, run: &mut Run, mut each: impl FnMut(u32, u32, u32)) {
        let touched = &run.touched[..run.length];
        for (index, &position) in touched.iter().enumerate() {
            if let Some(&ahead) = touched.get(index + LOOK_AHEAD) {
                prefetch(&self.slots, ahead as usize);
            }
            let slot = &mut self.slots[position as usize];
            each(slot.id, slot.occurrences, slot.documents);
            (slot.document, slot.occurrences, slot.documents) = (0, 0, 0);
        }
        run.length = 0;
        run.document = 0;
    }

    /// The slot of a word, new or not.
    fn settle(&mut self, token: Token, tokens: &Tokens) -> usize {
        let position = self.probe(token, tokens);
        if self.slots[position].key != Key::NONE {
            return position;
        }
        let size = self.slots.len();
        self.insert(position, token, tokens);
        if self.slots.len() == size {
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
        if self.words * 5 > self.slots.len() * 3 {
            self.grow();
        }
    }

    /// Words that came early are mostly frequent: put back first, they stand where their hash points.
    fn grow(&mut self) {
        let factor = if self.slots.len() < 1 << 16 { 4 } else { 2 };
        let larger = roomy(self.slots.len() * factor);
        let mask = larger.len() - 1;
        let old = std::mem::replace(&mut self.slots, larger);
        let mut ordered = vec![Slot::default(); self.names.len()];
        for slot in old.into_iter().filter(|slot| slot.key != Key::NONE) {
            ordered[slot.id as usize] = slot;
        }
        for slot in ordered.into_iter().filter(|slot| slot.key != Key::NONE) {
            let hash = if slot.key.is_long() {
                slot.key.low
            } else {
                self.seeds.key(slot.key)
            };
            let mut position = hash as usize & mask;
            while self.slots[position].key != Key::NONE {
                position = (position + 1) & mask;
            }
            self.slots[position] = slot;
        }
    }

    /// The slot of a pair, or the empty one where it would go. Keys are stored + 1, so that 0 is empty.
    #[inline(always)]
    fn probe_pair(&self, key: u64) -> usize {
        let mask = self.pairs.len() - 1;
        let mut position = self.seeds.pair(key) as usize & mask;
        while self.pairs[position].key != 0 && self.pairs[position].key != key {
            position = (position + 1) & mask;
        }
        position
    }

    fn pair_key(prefix: u32, word: u32) -> u64 {
        (u64::from(prefix) << 32 | u64::from(word)).wrapping_add(1)
    }

    pub fn prefetch_pair(&self, prefix: u32, word: u32) {
        if !self.pairs.is_empty() {
            let hash = self.seeds.pair(Self::pair_key(prefix, word));
            prefetch(&self.pairs, hash as usize & (self.pairs.len() - 1));
        }
    }

    pub fn find_pair(&self, prefix: u32, word: u32) -> u32 {
        if self.pairs.is_empty() || prefix == UNKNOWN || word == UNKNOWN {
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
        if self.grams * 5 >= self.pairs.len() * 3 {
            self.grow_pairs();
        }
        let key = Self::pair_key(prefix, word);
        let position = self.probe_pair(key);
        self.names[id as usize] = Name::Gram { prefix, word };
        self.pairs[position] = PairSlot { key, id };
        self.grams += 1;
    }

    fn grow_pairs(&mut self) {
        let larger = roomy((self.pairs.len() * 2).max(1 << 10));
        let old = std::mem::replace(&mut self.pairs, larger);
        for slot in old.into_iter().filter(|slot| slot.key != 0) {
            let position = self.probe_pair(slot.key);
            self.pairs[position] = slot;
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
            marked.fill(crate::simd::CodePath::Plain, &text[3..3 + length], true);
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
