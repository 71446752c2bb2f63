//! A lexicon's words with two weights each in their slots.

use super::{LOOK_AHEAD, Lexicon};
use crate::system::cancel::checkpoint;
use crate::system::memory::Table;
use crate::text::key::{Key, Token};
use crate::text::tokens::Tokens;

/// Words that are placed first in a table of weights.
const HEAVY_WORDS: usize = 1 << 13;

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct WeightSlot {
    key: Key,
    weights: [f64; 2],
}

/// The smallest of the `count` highest sums of two weights; −∞ if there are fewer.
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
    /// Build the table. `weights` has a pair for each term of the lexicon up to some number; later ones weigh nothing.
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
                checkpoint();
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

    /// Add the weights of words to `sums` and return how many are known; `lexicon` is the one this was made of.
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
