//! The texts of a lexicon's terms.

use super::{Lexicon, Name};
use crate::system::cancel::checkpoint;

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

impl Lexicon {
    /// The texts of all terms.
    pub fn names(&self) -> Names<'_> {
        let (mut grams, mut ends) = (Vec::new(), Vec::new());
        if self.grams > 0 {
            ends.reserve(self.names.len());
            for term in 0..self.names.len() as u32 {
                checkpoint();
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

    /// Write the text of a term: a word, or words joined by spaces.
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
}
