//! n-grams: pairs of the number of a prefix and the number of the last word, in a table of their own.

use super::{Lexicon, Name, PairSlot, UNKNOWN};
use crate::system::memory::Table;

impl Lexicon {
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
    pub(super) fn place_pair(&mut self, prefix: u32, word: u32, id: u32) {
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
}
