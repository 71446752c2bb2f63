//! Occurrences and documents of terms by class, exact integers.

use crate::system::cancel::checkpoint;
use crate::system::memory::{on_large_pages, prefetch};

/// The most classes for which the counts of a term are a dense row; beyond, a list of additions.
const MOST_DENSE: usize = 64;
/// The list is compacted when it is twice as long as after the last time, and at least this long.
const LONGEST_LIST: usize = 1 << 20;
pub(super) const LOOK_AHEAD: usize = 16;

/// Running sums by term, for terms that are not plain words (those have their sums in the lexicon's slots).
#[derive(Default)]
pub(super) struct Sums {
    document: u32,
    /// For each term: the document that last held it, occurrences, documents.
    sums: Vec<[u32; 3]>,
    /// Room for the terms that have sums; the first `length` are there.
    touched: Vec<u32>,
    length: usize,
}

impl Sums {
    pub(super) fn next_document(&mut self) {
        self.document += 1;
    }

    pub(super) fn add(&mut self, numbers: &[u32], limit: usize) {
        if self.sums.len() < limit {
            self.sums.resize(limit.next_power_of_two(), [0; 3]);
        }
        if self.touched.len() < self.length + numbers.len() {
            self.touched
                .resize((self.length + numbers.len()).next_power_of_two(), 0);
        }
        let (sums, touched) = (self.sums.as_mut_slice(), &mut self.touched[self.length..]);
        let (document, mut length) = (self.document, 0);
        for (index, &number) in numbers.iter().enumerate() {
            if let Some(&ahead) = numbers.get(index + LOOK_AHEAD) {
                prefetch(sums, ahead as usize);
            }
            let (sum, touched) = (&mut sums[number as usize], &mut touched[length]);
            *touched = number;
            length += usize::from(sum[1] == 0);
            sum[2] += u32::from(sum[0] != document);
            sum[1] += 1;
            sum[0] = document;
        }
        self.length += length;
    }

    pub(super) fn flush(&mut self, mut each: impl FnMut(u32, u32, u32)) {
        for &term in &self.touched[..self.length] {
            let [_, occurrences, documents] = std::mem::take(&mut self.sums[term as usize]);
            each(term, occurrences, documents);
        }
        (self.length, self.document) = (0, 0);
    }
}

/// Occurrences and documents of a term in a class.
pub(super) type Cell = [i64; 2];
/// The same where both fit: half of the memory.
pub(super) type Narrow = [u32; 2];

fn wide(cell: Narrow) -> Cell {
    cell.map(i64::from)
}

pub(super) enum Tally {
    /// Rows of `n_classes` cells.
    Dense {
        n_classes: usize,
        cells: Vec<Narrow>,
    },
    Sparse(List),
}

/// Term, class and an addition; there may be several of the same term and class.
type Entry = (u32, u32, Cell);

#[derive(Default)]
pub(super) struct List {
    entries: Vec<Entry>,
    /// The length of the list after it was last compacted.
    shortest: usize,
}

impl List {
    pub(super) fn push(&mut self, entry: Entry) {
        if self.entries.len() >= LONGEST_LIST.max(2 * self.shortest) {
            self.shorten();
        }
        self.entries.push(entry);
    }

    fn shorten(&mut self) {
        self.entries.sort_unstable_by_key(|&(term, class, _)| {
            checkpoint();
            (term, class)
        });
        self.entries.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2[0] += next.2[0];
                kept.2[1] += next.2[1];
            }
            same
        });
        self.shortest = self.entries.len();
    }

    /// The entries in the order of their terms, and where those of each term start.
    pub(super) fn by_term(&self) -> ByTerm<'_> {
        let terms = self.entries.iter().map(|entry| entry.0 as usize + 1).max().unwrap_or(0);
        let mut starts = vec![0; terms + 1];
        for &(term, ..) in &self.entries {
            starts[term as usize + 1] += 1;
        }
        (0..terms).for_each(|term| starts[term + 1] += starts[term]);
        let (mut next, mut cells) = (starts.clone(), vec![(0, [0; 2]); self.entries.len()]);
        for &(term, class, cell) in &self.entries {
            checkpoint();
            cells[next[term as usize]] = (class, cell);
            next[term as usize] += 1;
        }
        ByTerm::Listed { starts, cells }
    }
}

impl Tally {
    pub(super) fn new(classes: usize) -> Self {
        if classes <= MOST_DENSE {
            Tally::Dense {
                n_classes: classes.max(1),
                cells: Vec::new(),
            }
        } else {
            Tally::Sparse(List::default())
        }
    }

    /// Make room for more classes than before.
    pub(super) fn widen(&mut self, classes: usize) {
        if let Tally::Dense { n_classes, .. } = self
            && classes > *n_classes
        {
            self.move_into(Tally::new(classes));
        }
    }

    /// Move all counts into another, empty tally, and become that; a list stays a list.
    fn move_into(&mut self, mut other: Tally) {
        let Tally::Dense { n_classes, cells } = self else {
            return;
        };
        for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| cell[1] != 0) {
            let (term, class) = (index / *n_classes, index % *n_classes);
            other.make_room(term + 1);
            other.add(term as u32, class as u32, *cell);
        }
        *self = other;
    }

    pub(super) fn make_room(&mut self, terms: usize) {
        if let Tally::Dense { n_classes, cells } = self
            && cells.len() < terms * *n_classes
        {
            let mut larger = vec![[0; 2]; (terms * *n_classes).max(2 * cells.len())];
            on_large_pages(&mut larger);
            larger[..cells.len()].copy_from_slice(cells);
            *cells = larger;
        }
    }

    pub(super) fn prefetch(&self, term: u32, class: u32) {
        if let Tally::Dense { n_classes, cells } = self {
            prefetch(cells, term as usize * *n_classes + class as usize);
        }
    }

    /// Add to a cell; there must be room for the term.
    pub(super) fn add(&mut self, term: u32, class: u32, more: Narrow) {
        match self {
            Tally::Dense { n_classes, cells } => {
                let cell = &mut cells[term as usize * *n_classes + class as usize];
                match cell[0].checked_add(more[0]) {
                    // No term has more documents than occurrences.
                    Some(occurrences) => *cell = [occurrences, cell[1] + more[1]],
                    None => self.list_more(term, class, more),
                }
            }
            Tally::Sparse(list) => list.push((term, class, wide(more))),
        }
    }

    /// Continue with a list, whose numbers have 64 bits.
    #[cold]
    fn list_more(&mut self, term: u32, class: u32, more: Narrow) {
        self.move_into(Tally::Sparse(List::default()));
        self.add(term, class, more);
    }

    /// Counts of the first `terms` terms, indexed by term.
    pub(super) fn by_term(&self, terms: usize) -> ByTerm<'_> {
        match self {
            Tally::Dense { n_classes, cells } => ByTerm::Dense {
                n_classes: *n_classes,
                cells: &cells[..cells.len().min(terms * n_classes)],
            },
            Tally::Sparse(list) => list.by_term(),
        }
    }
}

/// Sums of a class on their way into the tally: each waits until its cell is in the cache.
pub(super) struct Flushing<'a> {
    pub(super) tally: &'a mut Tally,
    pub(super) class: u32,
    pub(super) waiting: Vec<(u32, Narrow)>,
}

impl Flushing<'_> {
    pub(super) fn push(&mut self, term: u32, occurrences: u32, documents: u32) {
        self.tally.prefetch(term, self.class);
        self.waiting.push((term, [occurrences, documents]));
        if self.waiting.len() == LOOK_AHEAD {
            self.add_waiting();
        }
    }

    pub(super) fn add_waiting(&mut self) {
        for (term, cell) in self.waiting.drain(..) {
            self.tally.add(term, self.class, cell);
        }
    }
}

pub(super) enum ByTerm<'a> {
    Dense {
        n_classes: usize,
        cells: &'a [Narrow],
    },
    /// The cells of term i are `cells[starts[i]..starts[i + 1]]`.
    Listed {
        starts: Vec<usize>,
        cells: Vec<(u32, Cell)>,
    },
}

impl ByTerm<'_> {
    /// Return how many cells were counted.
    pub(super) fn len(&self) -> usize {
        match self {
            ByTerm::Dense { cells, .. } => cells.iter().filter(|cell| cell[1] != 0).count(),
            ByTerm::Listed { cells, .. } => cells.len(),
        }
    }

    pub(super) fn prefetch(&self, term: u32) {
        match self {
            ByTerm::Dense { n_classes, cells } => prefetch(cells, term as usize * n_classes),
            ByTerm::Listed { starts, .. } => prefetch(starts, term as usize),
        }
    }

    /// Append the class and the cell of each class in which the term was counted.
    pub(super) fn write(&self, term: u32, target: &mut Vec<(u32, Cell)>) {
        match self {
            ByTerm::Dense { n_classes, cells } => {
                let start = term as usize * n_classes;
                let row = cells.get(start..start + n_classes).unwrap_or_default();
                let full = row.iter().enumerate().filter(|(_, cell)| cell[1] != 0);
                target.extend(full.map(|(class, cell)| (class as u32, wide(*cell))));
            }
            ByTerm::Listed { starts, cells } => {
                if let (Some(&start), Some(&end)) = (starts.get(term as usize), starts.get(term as usize + 1)) {
                    target.extend_from_slice(&cells[start..end]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_shortened_and_loses_nothing() {
        let mut list = List::default();
        for number in 0..3 * LONGEST_LIST as u32 {
            list.push((number % 7, number % 5, [2, 1]));
        }
        assert!(list.entries.len() <= LONGEST_LIST);
        list.shorten();
        let places: Vec<_> = list.entries.iter().map(|entry| (entry.0, entry.1)).collect();
        let all: Vec<_> = (0..7).flat_map(|term| (0..5).map(move |class| (term, class))).collect();
        assert_eq!(places, all);
        let documents: i64 = list.entries.iter().map(|entry| entry.2[1]).sum();
        assert_eq!(documents, 3 * LONGEST_LIST as i64);
        assert!(list.entries.iter().all(|entry| entry.2[0] == 2 * entry.2[1]));
    }

    #[test]
    fn counts_may_be_larger_than_32_bits() {
        let (mut tally, most) = (Tally::new(2), u32::MAX);
        tally.make_room(3);
        for cell in [[most, most], [most, 7], [1, 1]] {
            tally.add(2, 1, cell);
        }
        tally.add(0, 0, [3, 2]);
        tally.widen(9);
        let Tally::Sparse(list) = &mut tally else {
            panic!("too large for the table")
        };
        list.shorten();
        let all = i64::from(most);
        assert_eq!(list.entries, [(0, 0, [3, 2]), (2, 1, [2 * all + 1, all + 8])]);
    }
}
