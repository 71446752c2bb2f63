//! The tokens of one document, ready for look-up.

use super::key::{Key, LONG_TAG, SHORT, Seeds, Token};
use crate::system::marks::Marked;

const BEYOND_ASCII: u64 = 0x8080_8080_8080_8080;

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

    /// Push the runs of word bytes in a marked text that have at least `shortest` bytes; runs with bytes beyond
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

    /// Push short runs, all of which are ASCII and long enough; stop at the first long one and return how many were
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

    /// Push short ASCII runs; stop at the first other one and return how many were done.
    ///
    /// A run that is too short is written and not counted, which costs less than an unpredictable branch.
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

    /// Push a run of any kind.
    #[cold]
    pub fn push_rare(&mut self, run: &[u8], shortest: usize, other: &mut impl FnMut(&mut Self, &[u8])) {
        if !run.is_ascii() {
            other(self, run);
        } else if run.len() >= shortest {
            self.push(run);
        }
    }

    /// Write the bytes of a token, where the text is needed (stems, stop words).
    pub fn text(&self, token: Token, target: &mut Vec<u8>) {
        target.clear();
        self.write(token, target);
    }

    pub fn list(&self) -> &[Token] {
        &self.room[..self.count]
    }

    pub(super) fn write(&self, token: Token, target: &mut Vec<u8>) {
        if token.key.is_long() {
            target.extend_from_slice(self.long_bytes(token));
        } else {
            token.key.write(target);
        }
    }

    pub(super) fn long_bytes(&self, token: Token) -> &[u8] {
        let place = (token.key.high & !LONG_TAG) as usize;
        &self.long[if place == 1 { 0 } else { self.long_ends[place - 2] }..self.long_ends[place - 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::vector::CodePath;

    #[test]
    fn runs_and_single_words_are_equal() {
        let mut tokens = Tokens::new(Seeds::random());
        let text = b"abcdefghijklmnopqrstuvwxyz0123456789________________";
        for length in 1..20 {
            tokens.clear();
            tokens.push(&text[3..3 + length]);
            let mut written = Vec::new();
            tokens.text(tokens.list()[0], &mut written);
            assert_eq!(written, &text[3..3 + length]);
            let mut marked = Marked::default();
            marked.fill(CodePath::Plain, &text[3..3 + length], true, true);
            tokens.push_marked(&marked, 1, |_, _| ());
            assert!(tokens.list()[0].slot_key() == tokens.list()[1].slot_key());
            assert_eq!(tokens.list()[0].hash, tokens.list()[1].hash);
        }
    }
}
