//! Words as they are looked up: 128-bit keys and their keyed hashes.
//!
//! A word of up to 15 bytes is one 128-bit key, compared in one instruction; longer words are compared through their
//! bytes. The hash is keyed at random for each lexicon, so that nobody can prepare text that collides.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::system::marks::Marked;

/// The longest word that fits into a slot.
pub const SHORT: usize = 15;
pub(super) const LONG_TAG: u64 = 0xFF << 56;

/// The first 15 bytes of a word, then its length + 1. A long word has its hash, then 255; in a token also
/// the place of its bytes, so that the fast loops, which compare keys only, never match it. All zeros is no word.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) low: u64,
    pub(super) high: u64,
}

impl Key {
    pub(super) const NONE: Key = Key { low: 0, high: 0 };

    /// The key of at most 15 bytes. The two ends of a word are read whole, and overlap: nothing is copied byte by byte.
    #[inline]
    pub(super) fn short(bytes: &[u8]) -> Self {
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
    pub(super) fn of_run(marked: &Marked, start: u16, end: u16) -> Option<Self> {
        let &(low, high, tag) = MASKS.get(usize::from(end.wrapping_sub(start)))?;
        let [first, second] = marked.load(start);
        Some(Key {
            low: first & low,
            high: second & high | tag,
        })
    }

    pub(super) fn is_long(self) -> bool {
        self.high >= LONG_TAG
    }

    /// The key of a long word in a slot.
    pub(super) fn long(hash: u64) -> Self {
        Key {
            low: hash,
            high: LONG_TAG,
        }
    }

    /// Append the bytes of a short word.
    pub(super) fn write(self, target: &mut Vec<u8>) {
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

/// `MASKS[n]`: the masks that keep the first n bytes of a key, and the tag of its length.
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

/// A word as it is looked up.
#[derive(Clone, Copy, Default)]
pub struct Token {
    pub(super) key: Key,
    pub(super) hash: u64,
}

impl Token {
    pub(super) fn slot_key(self) -> Key {
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
    pub(super) fn key(self, key: Key) -> u64 {
        Self::fold(key.low ^ self.0[0], key.high ^ self.0[1])
    }

    #[inline(always)]
    pub(super) fn pair(self, pair: u64) -> u64 {
        Self::fold(pair ^ self.0[0], self.0[1])
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> u64 {
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

#[cfg(test)]
mod tests {
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

    /// Return how many of 4096 places 4096 hashes take: the median of nine random keys, since some are unlucky.
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
