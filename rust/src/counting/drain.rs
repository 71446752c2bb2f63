//! Counts in canonical order: the terms of all shards sorted by their bytes, each once.

use std::borrow::Cow;
use std::ops::Range;

use super::matrix::Matrix;
use super::shard::{Shard, kept_rows};
use super::tally::{ByTerm, Cell, LOOK_AHEAD};
use crate::system::cancel::{checkpoint, checkpoints};
use crate::system::memory::roomy;
use crate::system::threads::side_by_side;
use crate::text::lexicon::{Names, UNKNOWN};

/// Fewer terms than this are sorted by one thread.
const FEW: usize = 1 << 14;
/// How many beginnings of two bytes there are.
const BEGINNINGS: usize = 1 << 16;

/// Counts in canonical order: terms sorted by their bytes, entries by term and class.
#[derive(Default)]
pub struct Drained {
    pub bytes: Vec<u8>,
    pub offsets: Vec<i64>,
    pub entry_terms: Vec<i64>,
    pub entry_classes: Vec<i32>,
    pub occurrences: Vec<i64>,
    pub documents: Vec<i64>,
}

/// End the count; return the kept rows too, in the order of the stream.
pub fn drain<C: From<u32> + Copy + Send>(mut shards: Vec<Shard>) -> (Drained, Matrix<C>) {
    let (drained, kept) = write_terms(&mut shards);
    let rows = |shard: &Shard| if shard.kept.is_empty() { 0 } else { shard.lexicon.len() };
    let mut numbers: Vec<_> = shards.iter().map(|shard| vec![UNKNOWN; rows(shard)]).collect();
    for Kept { shard, term, number } in kept {
        numbers[shard as usize][term as usize] = number;
    }
    let rows = Matrix::joined(kept_rows(shards), |shard| {
        let numbers = &numbers[shard];
        |term| numbers[term as usize]
    });
    (drained, rows)
}

/// The number that a kept term of a shard has in the order of all.
struct Kept {
    shard: u16,
    term: u32,
    number: u32,
}

/// Write the terms of all shards in order with their counts; return also the numbers of those in kept rows. Each thread
/// does a range of beginnings.
fn write_terms(shards: &mut [Shard]) -> (Drained, Vec<Kept>) {
    let views = shards.iter_mut().enumerate();
    let views = side_by_side(views.map(|(number, shard)| View::later(shard, number)).collect());
    let ranges = ranges(&views);
    let parts = side_by_side(ranges.into_iter().map(|range| || write_range(&views, range)).collect());
    let mut parts = parts.into_iter();
    let first = parts.next().unwrap_or_default();
    parts.fold(first, |(mut drained, mut kept), (other, more)| {
        let before = drained.terms() as u32;
        kept.extend(more.into_iter().map(|one| Kept {
            number: before + one.number,
            ..one
        }));
        drained.append(&other);
        (drained, kept)
    })
}

/// The counts of a shard, its terms in order.
struct View<'a> {
    names: Names<'a>,
    tally: ByTerm<'a>,
    kept: Vec<bool>,
    places: Vec<Place>,
}

impl<'a> View<'a> {
    fn later(shard: &'a mut Shard, number: usize) -> impl FnOnce() -> Self + Send {
        move || Self::new(shard, number)
    }

    fn new(shard: &'a mut Shard, number: usize) -> Self {
        shard.flush();
        let names = shard.lexicon.names();
        let mut places = roomy(names.len());
        places.extend((0..names.len()).map(|term| {
            checkpoint();
            Place::new(names.get(term), term, number)
        }));
        View {
            tally: shard.tally.by_term(names.len()),
            kept: shard.kept_terms(),
            places: sorted_terms(places, &names),
            names,
        }
    }

    /// The terms whose beginnings are in a range.
    fn places(&self, range: &Range<usize>) -> &[Place] {
        let place = |beginning| self.places.partition_point(|place| place.beginning() < beginning);
        &self.places[place(range.start)..place(range.end)]
    }
}

/// Return how many terms all shards have together; a term of several shards counts once for each.
fn terms(views: &[View<'_>]) -> usize {
    views.iter().map(|view| view.places.len()).sum()
}

/// Divide the beginnings of terms into ranges with about as many terms of the largest shard each; one range if threads
/// do not pay.
fn ranges(views: &[View<'_>]) -> Vec<Range<usize>> {
    let most = views.iter().map(|view| &view.places).max_by_key(|places| places.len());
    let parts = if terms(views) < FEW { 1 } else { views.len() };
    let mut bounds = vec![0];
    if let Some(places) = most {
        bounds.extend((1..parts).map(|part| places[part * places.len() / parts].beginning()));
    }
    bounds.push(BEGINNINGS);
    bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Write the terms whose beginnings are in a range, in order, with their counts.
fn write_range(views: &[View<'_>], range: Range<usize>) -> (Drained, Vec<Kept>) {
    let order = merged(views, &range);
    // The other ranges are appended to the first.
    let room = if range.start == 0 { terms(views) } else { order.len() };
    let (mut drained, mut kept) = (Drained::new(views, room), Vec::new());
    let mut cells: Vec<(u32, Cell)> = Vec::new();
    let mut done = 0;
    for same in order.chunk_by(|left, right| left.is_same(right, views)) {
        checkpoint();
        for ahead in order.iter().skip(done + LOOK_AHEAD).take(same.len()) {
            views[ahead.shard as usize].tally.prefetch(ahead.term);
        }
        done += same.len();
        cells.clear();
        same.iter()
            .for_each(|place| views[place.shard as usize].tally.write(place.term, &mut cells));
        let is_kept = |place: &&Place| views[place.shard as usize].kept.get(place.term as usize) == Some(&true);
        if cells.is_empty() && !same.iter().any(|place| is_kept(&place)) {
            continue; // only a part of n-grams
        }
        same[0].write(views, &mut drained.bytes);
        let number = drained.push(&mut cells);
        let those = same.iter().filter(is_kept);
        kept.extend(those.map(|&Place { shard, term, .. }| Kept { shard, term, number }));
    }
    (drained, kept)
}

/// A term of a shard, with its first bytes as numbers: short terms need not be looked up.
#[derive(Clone, Copy, Default)]
struct Place {
    leading: [u64; 2],
    term: u32,
    shard: u16,
    /// The length of the term, or the most that fits.
    length: u16,
}

impl Place {
    fn new(name: &[u8], term: usize, shard: usize) -> Self {
        Place {
            leading: leading(name),
            term: term as u32,
            shard: shard as u16,
            length: name.len().min(u16::MAX as usize) as u16,
        }
    }

    /// The first two bytes, as a number.
    fn beginning(&self) -> usize {
        (self.leading[0] >> 48) as usize
    }

    /// Return whether the leading bytes are the whole term.
    fn is_whole(&self) -> bool {
        self.length <= 16
    }

    /// The sort key. Terms that are whole are in order by it, and whole terms of the same key are the same.
    fn key(&self) -> ([u64; 2], u16) {
        (self.leading, self.length.min(17))
    }

    fn name<'a>(&self, views: &'a [View<'_>]) -> &'a [u8] {
        views[self.shard as usize].names.get(self.term as usize)
    }

    fn compare(&self, other: &Place, views: &[View<'_>]) -> std::cmp::Ordering {
        let order = self.key().cmp(&other.key());
        if order.is_eq() && !self.is_whole() {
            return self.name(views).cmp(other.name(views));
        }
        order
    }

    fn is_same(&self, other: &Place, views: &[View<'_>]) -> bool {
        self.key() == other.key() && (self.is_whole() || self.name(views) == other.name(views))
    }

    fn write(&self, views: &[View<'_>], target: &mut Vec<u8>) {
        let [first, second] = self.leading;
        let leading = (u128::from(first) << 64 | u128::from(second)).to_be_bytes();
        target.extend_from_slice(leading.get(..self.length as usize).unwrap_or_else(|| self.name(views)));
    }
}

/// The first sixteen bytes as numbers, filled up with zeros; they sort as the names do.
fn leading(name: &[u8]) -> [u64; 2] {
    let mut leading = [0; 16];
    let length = name.len().min(16);
    leading[..length].copy_from_slice(&name[..length]);
    let leading = u128::from_be_bytes(leading);
    [(leading >> 64) as u64, leading as u64]
}

/// Merge the terms of all shards whose beginnings are in a range, in the order of their bytes.
fn merged<'a>(views: &'a [View<'_>], range: &Range<usize>) -> Cow<'a, [Place]> {
    let parts: Vec<&[Place]> = views.iter().map(|view| view.places(range)).collect();
    if let [one] = parts[..] {
        return Cow::Borrowed(one);
    }
    let mut order = roomy(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| order.extend_from_slice(part));
    // A merge sort, which keeps sorted runs.
    order.sort_by(|left, right| {
        checkpoint();
        left.compare(right, views)
    });
    Cow::Owned(order)
}

/// Sort the terms of a shard by their bytes.
fn sorted_terms(places: Vec<Place>, names: &Names<'_>) -> Vec<Place> {
    let mut order = by_beginning(places);
    for part in order.chunk_by_mut(|left, right| left.beginning() == right.beginning()) {
        checkpoints(part.len());
        part.sort_unstable_by_key(Place::key);
    }
    for equal in order
        .chunk_by_mut(|left, right| left.key() == right.key())
        .filter(|equal| equal.len() > 1 && !equal[0].is_whole())
    {
        equal.sort_by_cached_key(|place| {
            checkpoint();
            let name = names.get(place.term as usize);
            (leading(&name[16..]), name)
        });
    }
    order
}

/// Sort terms by their first two bytes.
fn by_beginning(places: Vec<Place>) -> Vec<Place> {
    let mut next = vec![0u32; BEGINNINGS + 1];
    places.iter().for_each(|place| next[place.beginning() + 1] += 1);
    (0..BEGINNINGS).for_each(|beginning| next[beginning + 1] += next[beginning]);
    let mut ordered = roomy(places.len());
    ordered.resize(places.len(), Place::default());
    for place in places {
        let target = &mut next[place.beginning()];
        ordered[*target as usize] = place;
        *target += 1;
    }
    ordered
}

impl Drained {
    /// Reserve room for `terms` of the terms of all shards, assuming that the shards share their vocabulary.
    fn new(views: &[View<'_>], terms: usize) -> Self {
        let all = self::terms(views) * views.len();
        let share = |whole: usize| (whole as f64 * terms as f64 / all.max(1) as f64) as usize + 1;
        let entries = share(views.iter().map(|view| view.tally.len()).sum());
        let mut drained = Drained {
            bytes: roomy(share(views.iter().map(|view| view.names.size()).sum())),
            offsets: roomy(terms / views.len().max(1) + 1),
            entry_terms: roomy(entries),
            entry_classes: roomy(entries),
            occurrences: roomy(entries),
            documents: roomy(entries),
        };
        drained.offsets.push(0);
        drained
    }

    pub fn terms(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Append terms that sort after these.
    fn append(&mut self, other: &Drained) {
        let (terms, bytes) = (self.terms() as i64, self.bytes.len() as i64);
        self.bytes.extend_from_slice(&other.bytes);
        self.offsets.extend(other.offsets[1..].iter().map(|end| bytes + end));
        self.entry_terms
            .extend(other.entry_terms.iter().map(|term| terms + term));
        self.entry_classes.extend_from_slice(&other.entry_classes);
        self.occurrences.extend_from_slice(&other.occurrences);
        self.documents.extend_from_slice(&other.documents);
    }

    /// Append the term just written with its cells, those of equal class added up, and return its number.
    fn push(&mut self, cells: &mut [(u32, Cell)]) -> u32 {
        let number = self.terms() as u32;
        self.offsets.push(self.bytes.len() as i64);
        cells.sort_unstable_by_key(|cell| cell.0);
        for same in cells.chunk_by(|left, right| left.0 == right.0) {
            self.entry_terms.push(i64::from(number));
            self.entry_classes.push(same[0].0 as i32);
            self.occurrences.push(same.iter().map(|cell| cell.1[0]).sum());
            self.documents.push(same.iter().map(|cell| cell.1[1]).sum());
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::*;
    use crate::text::tokenizer::{Analyzer, Script, Text};

    fn text() -> Arc<Text> {
        Arc::new(Text {
            analyzer: Analyzer::Words { shortest: 2 },
            script: Script::World,
            lowercase: true,
            shortest_gram: 1,
            longest_gram: 2,
            stop_words: HashSet::from([b"the".to_vec()]),
            stemmer: None,
            symbols: false,
        })
    }

    fn terms(drained: &Drained) -> Vec<String> {
        let spans = drained.offsets.windows(2);
        spans
            .map(|w| String::from_utf8_lossy(&drained.bytes[w[0] as usize..w[1] as usize]).into_owned())
            .collect()
    }

    const DOCUMENTS: [&str; 4] = ["the cat sat", "cat cat on the mat", "on the mat the cat", "dog"];

    const TERMS: [&str; 10] = [
        "cat", "cat cat", "cat on", "cat sat", "dog", "mat", "mat cat", "on", "on mat", "sat",
    ];

    #[test]
    fn sharding_and_many_classes_change_nothing() {
        let text = text();
        let mut results = Vec::new();
        for (shards, classes) in [(1, 2), (2, 2), (3, 2), (2, 1000)] {
            let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&text, classes, 0)).collect();
            for (index, document) in DOCUMENTS.iter().enumerate() {
                all[index % shards].count(&[document.as_bytes()], (index % 2) as u32);
            }
            let (drained, _) = drain::<i64>(all);
            assert_eq!(terms(&drained), TERMS);
            results.push((
                drained.entry_terms,
                drained.entry_classes,
                drained.occurrences,
                drained.documents,
            ));
        }
        assert!(results.iter().all(|result| result == &results[0]));
    }

    /// Make documents of words with common beginnings, enough for several threads to sort.
    fn many_documents() -> Vec<String> {
        let word = |number: usize| match number % 4 {
            0 => format!("word{number}"),
            1 => format!("sixteen_letters_{number}"),
            2 => format!("{number}ä"),
            _ => format!("{}{number}", ["a", "ab", "zz"][number % 3]),
        };
        let document = |number: usize| (0..30).map(move |step| word((number * 17 + step * step * 31) % (3 * FEW)));
        (0..4000)
            .map(|number| document(number).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn many_terms_are_put_in_order_by_several_threads() {
        let plain = Arc::new(Text {
            longest_gram: 1,
            ..Arc::into_inner(text()).unwrap()
        });
        let documents = many_documents();
        for keep in [false, true] {
            let results = [1, 2, 5].map(|shards| {
                let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&plain, 3, 0)).collect();
                for (index, document) in documents.iter().enumerate() {
                    let shard = &mut all[index % shards];
                    if keep {
                        shard.keep_rows(index);
                        shard.keep(&[document.as_bytes()]);
                    } else {
                        shard.count(&[document.as_bytes()], (index % 3) as u32);
                    }
                }
                drain::<i64>(all)
            });
            let (first, rows) = &results[0];
            let names = terms(first);
            assert!(names.len() > FEW && names.is_sorted());
            for (other, other_rows) in &results[1..] {
                assert!(terms(other) == names);
                assert!(other.entry_terms == first.entry_terms && other.entry_classes == first.entry_classes);
                assert!(other.occurrences == first.occurrences && other.documents == first.documents);
                assert!(other_rows.starts == rows.starts && other_rows.terms == rows.terms);
                assert!(other_rows.counts == rows.counts);
            }
        }
    }

    #[test]
    fn terms_of_the_same_sixteen_bytes_are_told_apart() {
        let given = Arc::new(Text {
            analyzer: Analyzer::Given,
            longest_gram: 1,
            stop_words: HashSet::new(),
            ..Arc::into_inner(text()).unwrap()
        });
        let words: [&[u8]; 6] = [
            b"a\0",
            b"a",
            b"sixteen letters!b",
            b"sixteen letters!",
            b"sixteen letters!a",
            b"",
        ];
        let mut all: Vec<Shard> = (0..3).map(|_| Shard::new(&given, 1, 0)).collect();
        for (index, word) in words.iter().cycle().take(12).enumerate() {
            all[(index * index) % 3].count(&[*word], 0);
        }
        let (drained, _) = drain::<i64>(all);
        let mut sorted: Vec<String> = words.iter().map(|word| String::from_utf8_lossy(word).into()).collect();
        sorted.sort();
        assert_eq!(terms(&drained), sorted);
        assert_eq!(drained.documents, [2; 6]);
    }

    #[test]
    fn kept_rows_are_in_order_whatever_the_shards() {
        let text = text();
        for shards in 1..4 {
            let mut all: Vec<Shard> = (0..shards).map(|_| Shard::new(&text, 1, 0)).collect();
            for (index, document) in DOCUMENTS.iter().enumerate() {
                all[index % shards].keep_rows(index);
                all[index % shards].keep(&[document.as_bytes()]);
            }
            let (drained, rows) = drain::<i64>(all);
            assert_eq!(terms(&drained), TERMS);
            assert_eq!(rows.starts, [0, 3, 9, 14, 15]);
            assert_eq!(rows.terms, [0, 9, 3, 0, 7, 5, 1, 2, 8, 7, 5, 0, 8, 6, 4]);
            assert_eq!(rows.counts, [1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        }
    }

    #[test]
    fn classes_may_grow() {
        let text = text();
        let mut shard = Shard::new(&text, 1, 0);
        for class in 0..100 {
            shard.widen(class + 1);
            shard.count(&[b"cat"], class as u32);
        }
        let (drained, _) = drain::<i64>(vec![shard]);
        assert_eq!(drained.entry_classes, (0..100).collect::<Vec<i32>>());
        assert_eq!(drained.documents, vec![1; 100]);
    }
}
