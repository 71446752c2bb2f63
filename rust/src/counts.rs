//! Counting terms by class: occurrences and documents, exact integers, in canonical order when drained.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::lexicon::{Lexicon, Run, UNKNOWN};
use crate::reader::{Growing, Reader};
use crate::simd::prefetch;
use crate::text::Text;

/// Up to so many classes the counts of a term are a dense row; beyond, one table of (term, class).
const MOST_DENSE: usize = 64;
const LOOK_AHEAD: usize = 16;
/// Running sums are 32-bit numbers: after so many terms they are moved to wider ones.
const FLUSH: usize = 1 << 31;

/// The distinct terms of one document with their counts.
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
    /// Empties the bag for the next document.
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

    /// Adds occurrences of terms with numbers below `limit`. Whether a term is new in the document is a choice of
    /// values, not a branch: nobody could predict it.
    pub fn add(&mut self, numbers: &[u32], limit: usize) {
        if self.terms.len() < self.length + numbers.len() {
            let size = (self.length + numbers.len()).next_power_of_two();
            self.terms.resize(size, 0);
            self.counts.resize(size, 0);
        }
        if self.places.len() < limit {
            self.places.resize(limit.next_power_of_two(), (0, 0));
        }
        let (terms, counts, places) = (&mut self.terms[..], &mut self.counts[..], &mut self.places[..]);
        let (document, mut length) = (self.document, self.length);
        for (index, &number) in numbers.iter().enumerate() {
            if let Some(&ahead) = numbers.get(index + LOOK_AHEAD) {
                prefetch(places, ahead as usize);
            }
            if number as usize >= limit {
                continue;
            }
            let mark = &mut places[number as usize];
            let seen = mark.0 == document;
            let place = if seen { mark.1 as usize } else { length };
            *mark = (document, place as u32);
            terms[place] = number;
            counts[place] = (counts[place] & 0u32.wrapping_sub(u32::from(seen))) + 1;
            length += usize::from(!seen);
        }
        self.length = length;
    }
}

/// Running sums by term, for terms that are not plain words (those have their sums in the lexicon's slots).
#[derive(Default)]
struct Sums {
    document: u32,
    /// For each term: the document that last held it, occurrences, documents.
    sums: Vec<[u32; 3]>,
    /// Room for the terms that have sums; the first `length` are there.
    touched: Vec<u32>,
    length: usize,
}

impl Sums {
    fn next_document(&mut self) {
        self.document += 1;
    }

    fn add(&mut self, numbers: &[u32], limit: usize) {
        if self.sums.len() < limit {
            self.sums.resize(limit.next_power_of_two(), [0; 3]);
        }
        if self.touched.len() < self.length + numbers.len() {
            self.touched.resize((self.length + numbers.len()).next_power_of_two(), 0);
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

    fn flush(&mut self, mut each: impl FnMut(u32, u32, u32)) {
        for &term in &self.touched[..self.length] {
            let [_, occurrences, documents] = std::mem::take(&mut self.sums[term as usize]);
            each(term, occurrences, documents);
        }
        (self.length, self.document) = (0, 0);
    }
}

/// Occurrences and documents of a term in a class.
type Cell = [i64; 2];

enum Tally {
    /// Rows of `width` cells.
    Dense { width: usize, cells: Vec<Cell> },
    Sparse(HashMap<(u32, u32), Cell>),
}

impl Tally {
    fn new(classes: usize) -> Self {
        if classes <= MOST_DENSE {
            Tally::Dense { width: classes.max(1), cells: Vec::new() }
        } else {
            Tally::Sparse(HashMap::new())
        }
    }

    /// Makes room for more classes than before.
    fn widen(&mut self, classes: usize) {
        let Tally::Dense { width, cells } = self else { return };
        if classes <= *width {
            return;
        }
        let mut wider = Tally::new(classes);
        for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| cell[1] != 0) {
            let (term, class) = (index / *width, index % *width);
            match &mut wider {
                Tally::Dense { width, cells } => {
                    cells.resize(cells.len().max((term + 1) * *width), [0; 2]);
                    cells[term * *width + class] = *cell;
                }
                Tally::Sparse(cells) => {
                    cells.insert((term as u32, class as u32), *cell);
                }
            }
        }
        *self = wider;
    }

    fn make_room(&mut self, terms: usize) {
        if let Tally::Dense { width, cells } = self
            && cells.len() < terms * *width
        {
            cells.resize((terms * *width).next_power_of_two(), [0; 2]);
        }
    }

    /// Adds to a cell; there must be room for the term.
    fn add(&mut self, term: u32, class: u32, more: Cell) {
        let cell = match self {
            Tally::Dense { width, cells } => &mut cells[term as usize * *width + class as usize],
            Tally::Sparse(cells) => cells.entry((term, class)).or_default(),
        };
        cell[0] += more[0];
        cell[1] += more[1];
    }

    /// All cells that are not zero, as (term, class, cell), in no order.
    fn entries(&self) -> Vec<(u32, u32, Cell)> {
        match self {
            Tally::Dense { width, cells } => {
                let full = cells.iter().enumerate().filter(|(_, cell)| cell[1] != 0);
                full.map(|(index, cell)| ((index / width) as u32, (index % width) as u32, *cell)).collect()
            }
            Tally::Sparse(cells) => cells.iter().map(|(&(term, class), cell)| (term, class, *cell)).collect(),
        }
    }
}

/// Rows of term counts, compressed: row i is `terms[ends[i-1]..ends[i]]`.
#[derive(Default)]
pub struct Rows {
    pub ends: Vec<usize>,
    pub terms: Vec<u32>,
    pub counts: Vec<u32>,
}

impl Rows {
    pub fn push(&mut self, bag: &Bag) {
        self.terms.extend_from_slice(bag.terms());
        self.counts.extend_from_slice(bag.counts());
        self.ends.push(self.terms.len());
    }
}

/// Rows of counts as a compressed sparse matrix: row i is `terms[starts[i]..starts[i + 1]]`, sorted.
#[derive(Default)]
pub struct Matrix {
    pub starts: Vec<i64>,
    pub terms: Vec<i32>,
    pub counts: Vec<i64>,
}

impl Matrix {
    pub fn with_capacity(rows: usize, entries: usize) -> Self {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Matrix { starts, terms: Vec::with_capacity(entries), counts: Vec::with_capacity(entries) }
    }

    /// Appends rows, their terms renumbered, sorted, and shown to `each` with the row's place among these rows.
    pub fn append(&mut self, rows: &Rows, number: impl Fn(u32) -> u32, mut each: impl FnMut(usize, u32, u32)) {
        let mut pairs: Vec<u64> = Vec::new();
        let mut start = 0;
        for (row, &end) in rows.ends.iter().enumerate() {
            pairs.clear();
            let entries = rows.terms[start..end].iter().zip(&rows.counts[start..end]);
            pairs.extend(entries.map(|(&term, &count)| u64::from(number(term)) << 32 | u64::from(count)));
            pairs.sort_unstable();
            self.terms.extend(pairs.iter().map(|pair| (pair >> 32) as i32));
            self.counts.extend(pairs.iter().map(|&pair| i64::from(pair as u32)));
            self.starts.push(self.terms.len() as i64);
            pairs.iter().for_each(|&pair| each(row, (pair >> 32) as u32, pair as u32));
            start = end;
        }
    }
}

/// A portion of rows that a shard has kept.
struct Kept {
    /// The place of the portion in the stream.
    place: usize,
    rows: Rows,
    classes: Vec<u32>,
}

/// What one thread has counted.
pub struct Shard {
    lexicon: Lexicon,
    reader: Reader,
    bag: Bag,
    /// The class of the running sums, and how much text they hold at the most.
    class: u32,
    bytes: usize,
    run: Run,
    sums: Sums,
    tally: Tally,
    kept: Vec<Kept>,
}

impl Shard {
    pub fn new(text: &Arc<Text>, classes: usize) -> Self {
        let lexicon = Lexicon::default();
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
            kept: Vec::new(),
        }
    }

    pub fn widen(&mut self, classes: usize) {
        self.tally.widen(classes);
    }

    /// Starts to keep the rows of portion `place` of the stream.
    pub fn keep_rows(&mut self, place: usize) {
        self.kept.push(Kept { place, rows: Rows::default(), classes: Vec::new() });
    }

    /// What `each` says of every term of the lexicon.
    pub fn each_term<T>(&self, mut each: impl FnMut(&Lexicon, u32) -> T) -> Vec<T> {
        (0..self.lexicon.len() as u32).map(|term| each(&self.lexicon, term)).collect()
    }

    /// Counts one document, given in pieces, for `class`. Documents of one class are best counted in a row.
    pub fn count(&mut self, document: &[&[u8]], class: u32) {
        let bytes: usize = document.iter().map(|piece| piece.len() + 1).sum();
        if class != self.class || self.bytes > FLUSH {
            self.flush();
            (self.class, self.bytes) = (class, 0);
        }
        self.bytes += bytes * self.reader.terms_a_byte();
        self.run.next_document();
        self.sums.next_document();
        let Shard { lexicon, reader, run, sums, .. } = self;
        for piece in document {
            if reader.is_plain() {
                reader.tokenize(piece, &mut |tokens| lexicon.count(tokens, run));
            } else {
                reader.read(piece, &mut Growing(lexicon), &mut |numbers, limit| sums.add(numbers, limit));
            }
        }
    }

    /// Keeps the row of one document; its counts are taken from the row when the shard is drained.
    pub fn keep(&mut self, document: &[&[u8]], class: u32) {
        let Shard { lexicon, reader, bag, kept, .. } = self;
        bag.clear();
        for piece in document {
            reader.read(piece, &mut Growing(lexicon), &mut |numbers, limit| bag.add(numbers, limit));
        }
        if let Some(kept) = kept.last_mut() {
            kept.rows.push(bag);
            kept.classes.push(class);
        }
    }

    /// Which terms of the lexicon were counted, and not only parts of n-grams.
    fn counted(&self) -> Vec<bool> {
        let mut counted = vec![false; self.lexicon.len()];
        self.tally.entries().iter().for_each(|entry| counted[entry.0 as usize] = true);
        let kept = self.kept.iter().flat_map(|kept| &kept.rows.terms);
        kept.for_each(|&term| counted[term as usize] = true);
        counted
    }

    /// Moves the running sums into the tally.
    fn flush(&mut self) {
        let Shard { lexicon, run, sums, tally, class, .. } = self;
        tally.make_room(lexicon.len());
        let mut add = |term, occurrences, documents| {
            tally.add(term, *class, [i64::from(occurrences), i64::from(documents)]);
        };
        lexicon.flush(run, &mut add);
        sums.flush(&mut add);
    }
}

/// Counts in canonical order: terms sorted by their bytes, entries by term and class.
#[derive(Default)]
pub struct Drained {
    pub bytes: Vec<u8>,
    pub offsets: Vec<i64>,
    pub entry_terms: Vec<i64>,
    pub entry_classes: Vec<i32>,
    pub occurrences: Vec<i64>,
    pub documents: Vec<i64>,
    /// The kept rows, in the order of the stream.
    pub rows: Matrix,
}

/// Ends the count of `classes` classes.
pub fn drain(mut shards: Vec<Shard>, classes: usize) -> Drained {
    let mut drained = Drained::default();
    shards.iter_mut().for_each(Shard::flush);
    let numbers = sort_terms(&shards, &mut drained);
    let mut entries = Vec::new();
    for (shard, numbers) in shards.iter().zip(&numbers) {
        let tallied = shard.tally.entries().into_iter();
        entries.extend(tallied.map(|(term, class, cell)| (numbers[term as usize], class, cell)));
    }
    let mut tally = Tally::new(classes);
    drained.rows = order_rows(shards, &numbers, drained.offsets.len() - 1, &mut tally);
    entries.extend(tally.entries());
    merge_entries(&entries, &mut drained);
    drained
}

/// Writes entries in the order of terms and classes, equal ones added up.
fn merge_entries(entries: &[(u32, u32, Cell)], drained: &mut Drained) {
    let terms = drained.offsets.len() - 1;
    let mut next = vec![0usize; terms + 1];
    entries.iter().for_each(|entry| next[entry.0 as usize + 1] += 1);
    (0..terms).for_each(|term| next[term + 1] += next[term]);
    let mut sorted = vec![(0u32, [0i64; 2]); next[terms]];
    for &(term, class, cell) in entries {
        sorted[next[term as usize]] = (class, cell);
        next[term as usize] += 1;
    }
    let mut start = 0;
    for (term, &end) in next[..terms].iter().enumerate() {
        let group = &mut sorted[start..end];
        group.sort_unstable_by_key(|entry| entry.0);
        for same in group.chunk_by(|left, right| left.0 == right.0) {
            drained.entry_terms.push(term as i64);
            drained.entry_classes.push(same[0].0 as i32);
            drained.occurrences.push(same.iter().map(|entry| entry.1[0]).sum());
            drained.documents.push(same.iter().map(|entry| entry.1[1]).sum());
        }
        start = end;
    }
}

/// Writes the sorted terms of all shards; returns the number of each shard's terms in that order.
fn sort_terms(shards: &[Shard], drained: &mut Drained) -> Vec<Vec<u32>> {
    let terms = shards.iter().map(|shard| shard.lexicon.len()).sum();
    let (mut arena, mut order) = (Vec::with_capacity(terms * 8), Vec::with_capacity(terms));
    let (mut names, mut owners) = (Vec::with_capacity(terms), Vec::with_capacity(terms));
    let mut numbers: Vec<Vec<u32>> = Vec::new();
    for (index, shard) in shards.iter().enumerate() {
        numbers.push(vec![UNKNOWN; shard.lexicon.len()]);
        let counted = shard.counted();
        for term in (0..shard.lexicon.len() as u32).filter(|&term| counted[term as usize]) {
            let start = arena.len();
            shard.lexicon.write_name(term, &mut arena);
            order.push((leading(&arena[start..]), names.len() as u32));
            names.push((start, arena.len()));
            owners.push((index as u32, term));
        }
    }
    // By the first eight bytes as a number, then by the names within equal ones.
    order.sort_unstable();
    let name = |place: u32| {
        let (start, end) = names[place as usize];
        &arena[start..end]
    };
    for equal in order.chunk_by_mut(|left, right| left.0 == right.0).filter(|equal| equal.len() > 1) {
        equal.sort_unstable_by_key(|&(_, place)| name(place));
    }
    drained.bytes.reserve(arena.len());
    drained.offsets.reserve(order.len() + 1);
    drained.offsets.push(0);
    let mut previous: Option<&[u8]> = None;
    for (_, place) in order {
        let (name, (shard, term)) = (name(place), owners[place as usize]);
        if previous != Some(name) {
            drained.bytes.extend_from_slice(name);
            drained.offsets.push(drained.bytes.len() as i64);
            previous = Some(name);
        }
        numbers[shard as usize][term as usize] = drained.offsets.len() as u32 - 2;
    }
    numbers
}

fn leading(name: &[u8]) -> u64 {
    let mut first = [0u8; 8];
    let length = name.len().min(8);
    first[..length].copy_from_slice(&name[..length]);
    u64::from_be_bytes(first)
}

/// The kept portions in the order of the stream, each with the index of its shard.
fn in_order(shards: Vec<Shard>) -> Vec<(usize, Kept)> {
    let tagged = shards.into_iter().enumerate();
    let mut kept: Vec<(usize, Kept)> =
        tagged.flat_map(|(index, shard)| shard.kept.into_iter().map(move |kept| (index, kept))).collect();
    kept.sort_unstable_by_key(|(_, kept)| kept.place);
    kept
}

/// The kept rows in the order of the stream, each portion with the index of its shard.
pub fn kept_rows(shards: Vec<Shard>) -> impl Iterator<Item = (usize, Rows)> {
    in_order(shards).into_iter().map(|(shard, kept)| (shard, kept.rows))
}

/// Builds the matrix of the kept rows and counts it into `tally`.
fn order_rows(shards: Vec<Shard>, numbers: &[Vec<u32>], terms: usize, tally: &mut Tally) -> Matrix {
    let kept = in_order(shards);
    if kept.is_empty() {
        return Matrix::with_capacity(0, 0);
    }
    tally.make_room(terms);
    let rows = kept.iter().map(|(_, kept)| kept.rows.ends.len()).sum();
    let entries = kept.iter().map(|(_, kept)| kept.rows.terms.len()).sum();
    let mut matrix = Matrix::with_capacity(rows, entries);
    for (shard, Kept { rows, classes, .. }) in kept {
        let number = |term: u32| numbers[shard][term as usize];
        matrix.append(&rows, number, |row, term, count| tally.add(term, classes[row], [i64::from(count), 1]));
    }
    matrix
}

/// Merges sorted lists of terms; returns the merged list and the new number of each old term.
pub fn merge_terms(lists: &[Vec<&[u8]>]) -> (Vec<u8>, Vec<i64>, Vec<Vec<i64>>) {
    let mut all: Vec<(&[u8], usize, usize)> = Vec::new();
    for (list, terms) in lists.iter().enumerate() {
        all.extend(terms.iter().enumerate().map(|(place, &term)| (term, list, place)));
    }
    all.sort(); // a merge sort, which takes sorted runs as they are
    let (mut bytes, mut offsets) = (Vec::new(), vec![0i64]);
    let mut numbers: Vec<Vec<i64>> = lists.iter().map(|terms| vec![0; terms.len()]).collect();
    let mut previous: Option<&[u8]> = None;
    for (term, list, place) in all {
        if previous != Some(term) {
            bytes.extend_from_slice(term);
            offsets.push(bytes.len() as i64);
            previous = Some(term);
        }
        numbers[list][place] = offsets.len() as i64 - 2;
    }
    (bytes, offsets, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Analyzer, Script};
    use std::collections::HashSet;

    fn text() -> Arc<Text> {
        Arc::new(Text {
            analyzer: Analyzer::Words { shortest: 2 },
            script: Script::World,
            lowercase: true,
            shortest_gram: 1,
            longest_gram: 2,
            stop_words: HashSet::from([b"the".to_vec()]),
            stemmer: None,
        })
    }

    fn terms(drained: &Drained) -> Vec<String> {
        let spans = drained.offsets.windows(2);
        spans.map(|w| String::from_utf8_lossy(&drained.bytes[w[0] as usize..w[1] as usize]).into_owned()).collect()
    }

    #[test]
    fn sharding_and_many_classes_change_nothing() {
        let text = text();
        let documents = ["the cat sat", "cat cat on the mat", "on the mat the cat", "dog"];
        let mut results = Vec::new();
        for (shards, classes, keep) in [(1, 2, true), (2, 2, true), (3, 2, false), (2, 1000, false)] {
            let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&text, classes)).collect();
            for (index, document) in documents.iter().enumerate() {
                let shard = &mut all[index % shards];
                shard.keep_rows(index);
                if keep {
                    shard.keep(&[document.as_bytes()], (index % 2) as u32);
                } else {
                    shard.count(&[document.as_bytes()], (index % 2) as u32);
                }
            }
            let drained = drain(all, classes);
            results.push((
                terms(&drained),
                drained.entry_terms,
                drained.entry_classes,
                drained.occurrences,
                drained.documents,
            ));
            if keep {
                assert_eq!(drained.rows.counts, [1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
            }
        }
        assert_eq!(
            results[0].0,
            ["cat", "cat cat", "cat on", "cat sat", "dog", "mat", "mat cat", "on", "on mat", "sat"]
        );
        assert!(results.iter().all(|result| result == &results[0]));
    }

    #[test]
    fn classes_may_grow() {
        let text = text();
        let mut shard = Shard::new(&text, 1);
        for class in 0..100 {
            shard.widen(class + 1);
            shard.count(&[b"cat"], class as u32);
        }
        let drained = drain(vec![shard], 100);
        assert_eq!(drained.entry_classes, (0..100).collect::<Vec<i32>>());
        assert_eq!(drained.documents, vec![1; 100]);
    }
}
