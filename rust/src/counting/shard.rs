//! What one thread counts: the terms of documents by class, or the rows of documents.

use std::sync::Arc;

use super::matrix::Rows;
use super::tally::{Flushing, LOOK_AHEAD, Sums, Tally};
use crate::system::threads::side_by_side;
use crate::text::bag::Bag;
use crate::text::lexicon::{Lexicon, Run};
use crate::text::reader::{Growing, Reader};
use crate::text::tokenizer::Text;

/// Running sums are 32-bit numbers: after this many terms they are moved into the tally.
const FLUSH: usize = 1 << 31;

/// The counts of one thread.
pub struct Shard {
    pub(super) lexicon: Lexicon,
    reader: Reader,
    bag: Bag,
    /// The class of the running sums, and a bound on the number of terms in them.
    class: u32,
    bytes: usize,
    run: Run,
    sums: Sums,
    pub(super) tally: Tally,
    pub(super) kept: Rows,
}

impl Shard {
    /// Start a count of about `bytes` bytes of text: a guess at the size of the vocabulary saves growing it.
    pub fn new(text: &Arc<Text>, classes: usize, bytes: usize) -> Self {
        let lexicon = Lexicon::with_capacity((bytes / 64).clamp(1 << 10, 1 << 16));
        let reader = Reader::new(text.clone(), lexicon.seeds());
        Shard {
            lexicon,
            reader,
            bag: Bag::default(),
            class: 0,
            bytes: 0,
            run: Run::default(),
            sums: Sums::default(),
            tally: Tally::new(classes),
            kept: Rows::default(),
        }
    }

    pub fn widen(&mut self, classes: usize) {
        self.tally.widen(classes);
    }

    /// The class of the running sums. Continuing with it saves a flush.
    pub fn class(&self) -> u32 {
        self.class
    }

    /// Return whether a document since the last call was not UTF-8.
    pub fn take_invalid(&mut self) -> bool {
        self.reader.take_invalid()
    }

    /// Start to keep the rows of portion `place` of the stream.
    pub fn keep_rows(&mut self, place: usize) {
        self.kept.begin(place);
    }

    /// Return the result of `each` for every term of the lexicon.
    pub fn each_term<T>(&self, mut each: impl FnMut(&Lexicon, u32) -> T) -> Vec<T> {
        (0..self.lexicon.len() as u32)
            .map(|term| each(&self.lexicon, term))
            .collect()
    }

    /// Count one document, given in pieces, for `class`. Documents of one class are best counted in a row.
    pub fn count(&mut self, document: &[&[u8]], class: u32) {
        let bytes: usize = document.iter().map(|piece| piece.len() + 1).sum();
        if class != self.class || self.bytes > FLUSH {
            self.flush();
            (self.class, self.bytes) = (class, 0);
        }
        self.bytes += bytes * self.reader.terms_a_byte();
        self.run.next_document();
        self.sums.next_document();
        let Shard {
            lexicon,
            reader,
            run,
            sums,
            ..
        } = self;
        for piece in document {
            if reader.is_plain() {
                reader.tokenize(piece, &mut |tokens| lexicon.count(tokens, run));
            } else {
                reader.read(piece, &mut Growing(lexicon), &mut |numbers, limit| {
                    sums.add(numbers, limit)
                });
            }
        }
    }

    /// Keep the row of one document without counting it: the sums follow from the rows.
    pub fn keep(&mut self, document: &[&[u8]]) {
        let Shard {
            lexicon,
            reader,
            bag,
            kept,
            ..
        } = self;
        bag.clear();
        for piece in document {
            if reader.is_plain() {
                reader.tokenize(piece, &mut |tokens| lexicon.fill_bag(tokens, bag, |_| ()));
            } else {
                reader.read(piece, &mut Growing(lexicon), &mut |numbers, limit| {
                    bag.add(numbers, limit)
                });
            }
        }
        kept.push(bag.terms(), bag.counts());
    }

    /// Return which terms are in kept rows.
    pub(super) fn kept_terms(&self) -> Vec<bool> {
        // Every plain word is in a row; some n-grams are only prefixes of longer ones.
        let every = self.reader.is_plain();
        let mut kept = vec![every; if self.kept.is_empty() { 0 } else { self.lexicon.len() }];
        if every {
            return kept;
        }
        self.kept.terms().iter().for_each(|&term| kept[term as usize] = true);
        kept
    }

    /// Move the running sums into the tally.
    pub(super) fn flush(&mut self) {
        let Shard {
            lexicon,
            run,
            sums,
            tally,
            class,
            ..
        } = self;
        tally.make_room(lexicon.len());
        let mut flushing = Flushing {
            tally,
            class: *class,
            waiting: Vec::with_capacity(LOOK_AHEAD),
        };
        let mut push = |term, occurrences, documents| flushing.push(term, occurrences, documents);
        lexicon.flush(run, &mut push);
        sums.flush(&mut push);
        flushing.add_waiting();
    }
}

/// Take the rows that each shard has kept, and drop the shards.
pub fn kept_rows(mut shards: Vec<Shard>) -> Vec<Rows> {
    let kept = shards.iter_mut().map(|shard| std::mem::take(&mut shard.kept)).collect();
    // Freeing the memory of large vocabularies takes time: all threads do it.
    side_by_side(shards.into_iter().map(|shard| || drop(shard)).collect());
    kept
}
