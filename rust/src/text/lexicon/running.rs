//! Running sums and bags kept in the slots of the words themselves: one cache line a token.

use super::{LOOK_AHEAD, Lexicon, Slot};
use crate::system::memory::Table;
use crate::text::bag::{Bag, Writer};
use crate::text::key::{Key, Token};
use crate::text::tokens::Tokens;

/// Slots with running sums are listed as long as they are at most one in this many.
const LISTED_SHARE: usize = 16;

/// The state of running sums: which document is counted, and the slots that have sums.
#[derive(Default)]
pub struct Run {
    document: u32,
    /// Room for positions; the first `length` are there.
    touched: Vec<u32>,
    length: usize,
    /// Whether too many slots have sums to list them: then a flush visits all slots.
    all: bool,
}

impl Run {
    /// Start a new document; return how many there were since the last flush.
    pub fn next_document(&mut self) -> u32 {
        self.document += 1;
        self.document
    }

    fn make_room(&mut self, more: usize) {
        if self.touched.len() < self.length + more {
            self.touched.resize((self.length + more).next_power_of_two(), 0);
        }
    }

    /// List the slots again after the table has grown, because they have moved.
    fn find_again(&mut self, slots: &Table<Slot>) {
        let with_sums = slots.iter().enumerate().filter(|(_, slot)| slot.occurrences > 0);
        for (touched, (position, _)) in self.touched.iter_mut().zip(with_sums) {
            *touched = position as u32;
        }
    }
}

/// Look for a key behind `position`; `None` if it is not there.
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

/// List a slot; return 1 if it has no sums yet, and 0 if it is listed already, so that the next overwrites it.
#[inline(always)]
fn list_new(slot: &Slot, position: usize, touched: &mut u32) -> usize {
    *touched = position as u32;
    usize::from(slot.occurrences == 0)
}

/// Add one occurrence. Whether it is new in the document is a value and not a branch, because it is unpredictable.
#[inline(always)]
fn mark(slot: &mut Slot, document: u32) {
    slot.documents += u32::from(slot.document != document);
    slot.occurrences += 1;
    slot.document = document;
}

impl Lexicon {
    /// Add words, new ones too, to the running sums in their slots, for the current document of `run`.
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

    /// Count short words that are there; stop at the first other one and return its place.
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

    /// End the running sums: call `each` with number, occurrences and documents of each word that has them.
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

    /// Put words, new ones too, into the bag of the current document; their slots hold their places in it.
    /// `seen` is called with the number of each, so that the caller can prefetch what belongs to it.
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

    /// Put short words that are there into the bag; stop at the first other one and return its place.
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
}
