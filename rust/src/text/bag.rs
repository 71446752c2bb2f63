//! The distinct terms of one document with their counts.

use crate::system::memory::prefetch;

const LOOK_AHEAD: usize = 16;

#[derive(Default)]
pub struct Bag {
    /// Room for terms and counts; the first `length` are there.
    terms: Vec<u32>,
    counts: Vec<u32>,
    length: usize,
    document: u32,
    /// For each term, the document that last held it and its place in that document's bag.
    places: Vec<(u32, u32)>,
}

impl Bag {
    /// Empty the bag for the next document.
    pub fn clear(&mut self) {
        self.length = 0;
        self.document = self.document.wrapping_add(1);
        if self.document == 0 {
            self.places.fill((0, 0));
            self.document = 1;
        }
    }

    pub fn terms(&self) -> &[u32] {
        &self.terms[..self.length]
    }

    pub fn counts(&self) -> &[u32] {
        &self.counts[..self.length]
    }

    pub fn make_room(&mut self, more: usize) {
        if self.terms.len() < self.length + more {
            let size = (self.length + more).next_power_of_two();
            self.terms.resize(size, 0);
            self.counts.resize(size, 0);
        }
    }

    /// Hand `write` a writer into the room that was made, and keep the terms that it put there.
    #[inline(always)]
    pub fn write<T>(&mut self, write: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        let room = self.terms.len().min(self.counts.len());
        let mut writer = Writer {
            terms: &mut self.terms[..room],
            counts: &mut self.counts[..room],
            length: self.length,
            document: self.document,
        };
        let result = write(&mut writer);
        self.length = writer.length;
        result
    }

    /// Count terms; those with numbers from `limit` on are left out.
    pub fn add(&mut self, numbers: &[u32], limit: usize) {
        self.make_room(numbers.len());
        if self.places.len() < limit {
            self.places.resize(limit.next_power_of_two(), (0, 0));
        }
        let mut places = std::mem::take(&mut self.places);
        self.write(|writer| {
            for (index, &number) in numbers.iter().enumerate() {
                if let Some(&ahead) = numbers.get(index + LOOK_AHEAD) {
                    prefetch(&places, ahead as usize);
                }
                if (number as usize) < limit {
                    let (document, place) = &mut places[number as usize];
                    writer.put(number, document, place);
                }
            }
        });
        self.places = places;
    }
}

/// Puts terms into the bag of the current document.
pub struct Writer<'a> {
    terms: &'a mut [u32],
    counts: &'a mut [u32],
    length: usize,
    document: u32,
}

impl Writer<'_> {
    /// Count a term whose last document and place in that document's bag are kept by the caller.
    ///
    /// Whether the term is new in the document is a choice of values, not a branch, because it is unpredictable.
    #[inline(always)]
    pub fn put(&mut self, term: u32, document: &mut u32, place: &mut u32) {
        let seen = *document == self.document;
        let here = if seen { *place as usize } else { self.length };
        (*document, *place) = (self.document, here as u32);
        if let (Some(slot), Some(count)) = (self.terms.get_mut(here), self.counts.get_mut(here)) {
            *slot = term;
            *count = (*count & 0u32.wrapping_sub(u32::from(seen))) + 1;
        }
        self.length += usize::from(!seen);
    }
}
