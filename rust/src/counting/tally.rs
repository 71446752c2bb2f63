//! Counting terms by class: occurrences and documents, exact integers, in canonical order when drained.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::counting::matrix::{Matrix, Rows};
use crate::system::cancel::{beat, beats};
use crate::system::memory::{on_large_pages, prefetch, roomy};
use crate::system::threads::side_by_side;
use crate::text::bag::Bag;
use crate::text::lexicon::{Lexicon, Names, Run, UNKNOWN};
use crate::text::reader::{Growing, Reader};
use crate::text::tokenizer::Text;

/// Up to so many classes the counts of a term are a dense row; beyond, a list of what was added.
const MOST_DENSE: usize = 64;
/// The list is shortened, by adding up what belongs together, when it is twice as long as after the last time.
const LONGEST_LIST: usize = 1 << 20;
const LOOK_AHEAD: usize = 16;
/// Running sums are 32-bit numbers: after so many terms they are moved to wider ones.
const FLUSH: usize = 1 << 31;
/// Fewer terms than this are put in order by one thread.
const FEW: usize = 1 << 14;
/// What terms can begin with: two bytes.
const BEGINNINGS: usize = 1 << 16;

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
/// The same where both fit: half of the memory.
type Narrow = [u32; 2];

fn wide(cell: Narrow) -> Cell {
    cell.map(i64::from)
}

enum Tally {
    /// Rows of `width` cells.
    Dense {
        width: usize,
        cells: Vec<Narrow>,
    },
    Sparse(List),
}

/// Term, class, and what was added there; the same place may come again.
type Entry = (u32, u32, Cell);

#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    /// How long the list was when nothing came twice.
    shortest: usize,
}

impl List {
    fn push(&mut self, entry: Entry) {
        if self.entries.len() >= LONGEST_LIST.max(2 * self.shortest) {
            self.shorten();
        }
        self.entries.push(entry);
    }

    fn shorten(&mut self) {
        self.entries.sort_unstable_by_key(|&(term, class, _)| {
            beat();
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
    fn by_term(&self) -> ByTerm<'_> {
        let terms = self.entries.iter().map(|entry| entry.0 as usize + 1).max().unwrap_or(0);
        let mut starts = vec![0; terms + 1];
        for &(term, ..) in &self.entries {
            starts[term as usize + 1] += 1;
        }
        (0..terms).for_each(|term| starts[term + 1] += starts[term]);
        let (mut next, mut cells) = (starts.clone(), vec![(0, [0; 2]); self.entries.len()]);
        for &(term, class, cell) in &self.entries {
            beat();
            cells[next[term as usize]] = (class, cell);
            next[term as usize] += 1;
        }
        ByTerm::Listed { starts, cells }
    }
}

impl Tally {
    fn new(classes: usize) -> Self {
        if classes <= MOST_DENSE {
            Tally::Dense {
                width: classes.max(1),
                cells: Vec::new(),
            }
        } else {
            Tally::Sparse(List::default())
        }
    }

    /// Makes room for more classes than before.
    fn widen(&mut self, classes: usize) {
        if let Tally::Dense { width, .. } = self
            && classes > *width
        {
            self.move_into(Tally::new(classes));
        }
    }

    /// Becomes another tally, which has nothing yet; what is listed stays so.
    fn move_into(&mut self, mut other: Tally) {
        let Tally::Dense { width, cells } = self else { return };
        for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| cell[1] != 0) {
            let (term, class) = (index / *width, index % *width);
            other.make_room(term + 1);
            other.add(term as u32, class as u32, *cell);
        }
        *self = other;
    }

    fn make_room(&mut self, terms: usize) {
        if let Tally::Dense { width, cells } = self
            && cells.len() < terms * *width
        {
            let mut larger = vec![[0; 2]; (terms * *width).max(2 * cells.len())];
            on_large_pages(&mut larger);
            larger[..cells.len()].copy_from_slice(cells);
            *cells = larger;
        }
    }

    fn prefetch(&self, term: u32, class: u32) {
        if let Tally::Dense { width, cells } = self {
            prefetch(cells, term as usize * *width + class as usize);
        }
    }

    /// Adds to a cell; there must be room for the term.
    fn add(&mut self, term: u32, class: u32, more: Narrow) {
        match self {
            Tally::Dense { width, cells } => {
                let cell = &mut cells[term as usize * *width + class as usize];
                match cell[0].checked_add(more[0]) {
                    // No term has more documents than occurrences.
                    Some(occurrences) => *cell = [occurrences, cell[1] + more[1]],
                    None => self.list_more(term, class, more),
                }
            }
            Tally::Sparse(list) => list.push((term, class, wide(more))),
        }
    }

    /// Goes on with a list, whose numbers are as large as need be.
    #[cold]
    fn list_more(&mut self, term: u32, class: u32, more: Narrow) {
        self.move_into(Tally::Sparse(List::default()));
        self.add(term, class, more);
    }

    /// The tally of so many terms, arranged by them.
    fn by_term(&self, terms: usize) -> ByTerm<'_> {
        match self {
            Tally::Dense { width, cells } => ByTerm::Dense {
                width: *width,
                cells: &cells[..cells.len().min(terms * width)],
            },
            Tally::Sparse(list) => list.by_term(),
        }
    }
}

/// Sums of a class on their way into the tally: each waits until its cell has been fetched.
struct Flushing<'a> {
    tally: &'a mut Tally,
    class: u32,
    waiting: Vec<(u32, Narrow)>,
}

impl Flushing<'_> {
    fn push(&mut self, term: u32, occurrences: u32, documents: u32) {
        self.tally.prefetch(term, self.class);
        self.waiting.push((term, [occurrences, documents]));
        if self.waiting.len() == LOOK_AHEAD {
            self.add_waiting();
        }
    }

    fn add_waiting(&mut self) {
        for (term, cell) in self.waiting.drain(..) {
            self.tally.add(term, self.class, cell);
        }
    }
}

enum ByTerm<'a> {
    Dense {
        width: usize,
        cells: &'a [Narrow],
    },
    /// The cells of term i are `cells[starts[i]..starts[i + 1]]`.
    Listed {
        starts: Vec<usize>,
        cells: Vec<(u32, Cell)>,
    },
}

impl ByTerm<'_> {
    /// How many cells were counted.
    fn len(&self) -> usize {
        match self {
            ByTerm::Dense { cells, .. } => cells.iter().filter(|cell| cell[1] != 0).count(),
            ByTerm::Listed { cells, .. } => cells.len(),
        }
    }

    fn prefetch(&self, term: u32) {
        match self {
            ByTerm::Dense { width, cells } => prefetch(cells, term as usize * width),
            ByTerm::Listed { starts, .. } => prefetch(starts, term as usize),
        }
    }

    /// Appends class and cell wherever the term was counted.
    fn write(&self, term: u32, target: &mut Vec<(u32, Cell)>) {
        match self {
            ByTerm::Dense { width, cells } => {
                let start = term as usize * width;
                let row = cells.get(start..start + width).unwrap_or_default();
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
    kept: Rows,
}

impl Shard {
    /// `bytes` of text are expected: a guess at the size of the vocabulary saves growing it.
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

    /// The class of the running sums: to go on with it saves a flush.
    pub fn class(&self) -> u32 {
        self.class
    }

    /// Whether a document since the last question was not UTF-8.
    pub fn take_invalid(&mut self) -> bool {
        self.reader.take_invalid()
    }

    /// Starts to keep the rows of portion `place` of the stream.
    pub fn keep_rows(&mut self, place: usize) {
        self.kept.begin(place);
    }

    /// What `each` says of every term of the lexicon.
    pub fn each_term<T>(&self, mut each: impl FnMut(&Lexicon, u32) -> T) -> Vec<T> {
        (0..self.lexicon.len() as u32)
            .map(|term| each(&self.lexicon, term))
            .collect()
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

    /// Keeps the row of one document, and counts nothing: the sums can be had from the rows.
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

    /// Which terms stand in kept rows.
    fn kept_terms(&self) -> Vec<bool> {
        // Of plain words there is none without a row; of n-grams some are only the beginning of longer ones.
        let every = self.reader.is_plain();
        let mut kept = vec![every; if self.kept.is_empty() { 0 } else { self.lexicon.len() }];
        if every {
            return kept;
        }
        self.kept.terms().iter().for_each(|&term| kept[term as usize] = true);
        kept
    }

    /// Moves the running sums into the tally.
    fn flush(&mut self) {
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

/// Ends the count; gives the kept rows too, in the order of the stream.
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

/// The terms of all shards in order with their counts, and the numbers of those in kept rows. Each thread does those
/// that begin with certain bytes.
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

/// What a shard has counted, its terms in order.
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
            beat();
            Place::new(names.get(term), term, number)
        }));
        View {
            tally: shard.tally.by_term(names.len()),
            kept: shard.kept_terms(),
            places: sorted_terms(places, &names),
            names,
        }
    }

    /// The terms that begin with certain bytes.
    fn places(&self, range: &Range<usize>) -> &[Place] {
        let place = |beginning| self.places.partition_point(|place| place.beginning() < beginning);
        &self.places[place(range.start)..place(range.end)]
    }
}

/// How many terms all shards have, those that several have more than once.
fn terms(views: &[View<'_>]) -> usize {
    views.iter().map(|view| view.places.len()).sum()
}

/// Beginnings of terms, in ranges of which the largest shard has about as many terms each; one range if threads do not
/// pay.
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

/// The terms that begin with certain bytes, in order, with their counts.
fn write_range(views: &[View<'_>], range: Range<usize>) -> (Drained, Vec<Kept>) {
    let order = merged(views, &range);
    // The other ranges are appended to the first.
    let room = if range.start == 0 { terms(views) } else { order.len() };
    let (mut drained, mut kept) = (Drained::new(views, room), Vec::new());
    let mut cells: Vec<(u32, Cell)> = Vec::new();
    let mut done = 0;
    for same in order.chunk_by(|left, right| left.is_same(right, views)) {
        beat();
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

    /// Whether the first bytes are all.
    fn is_whole(&self) -> bool {
        self.length <= 16
    }

    /// What terms are sorted by: those that are whole are then in order, and those of the same key are the same.
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

/// The first sixteen bytes as numbers, filled up with zeros; names of different numbers are in their order.
fn leading(name: &[u8]) -> [u64; 2] {
    let mut leading = [0; 16];
    let length = name.len().min(16);
    leading[..length].copy_from_slice(&name[..length]);
    let leading = u128::from_be_bytes(leading);
    [(leading >> 64) as u64, leading as u64]
}

/// The terms of all shards that begin with certain bytes, in the order of their bytes.
fn merged<'a>(views: &'a [View<'_>], range: &Range<usize>) -> Cow<'a, [Place]> {
    let parts: Vec<&[Place]> = views.iter().map(|view| view.places(range)).collect();
    if let [one] = parts[..] {
        return Cow::Borrowed(one);
    }
    let mut order = roomy(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| order.extend_from_slice(part));
    // A merge sort, which takes sorted runs as they are.
    order.sort_by(|left, right| {
        beat();
        left.compare(right, views)
    });
    Cow::Owned(order)
}

/// The terms of a shard in the order of their bytes.
fn sorted_terms(places: Vec<Place>, names: &Names<'_>) -> Vec<Place> {
    let mut order = by_beginning(places);
    for part in order.chunk_by_mut(|left, right| left.beginning() == right.beginning()) {
        beats(part.len());
        part.sort_unstable_by_key(Place::key);
    }
    for equal in order
        .chunk_by_mut(|left, right| left.key() == right.key())
        .filter(|equal| equal.len() > 1 && !equal[0].is_whole())
    {
        equal.sort_by_cached_key(|place| {
            beat();
            let name = names.get(place.term as usize);
            (leading(&name[16..]), name)
        });
    }
    order
}

/// The terms that begin with the same two bytes together, in the order of these bytes.
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
    /// Room for so many terms of those of all shards, if these have the same.
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

    /// Appends terms that come behind these.
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

    /// Appends the term just written with its cells, those of equal class added up, and gives its number.
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

/// The rows that each shard has kept; nothing else is left of it.
pub fn kept_rows(mut shards: Vec<Shard>) -> Vec<Rows> {
    let kept = shards.iter_mut().map(|shard| std::mem::take(&mut shard.kept)).collect();
    // To give back the memory of large vocabularies takes time: all threads do it.
    side_by_side(shards.into_iter().map(|shard| || drop(shard)).collect());
    kept
}

/// Merges sorted lists of terms; returns the merged list and the new number of each old term.
pub fn merge_terms(lists: &[Vec<&[u8]>]) -> (Vec<u8>, Vec<i64>, Vec<Vec<i64>>) {
    let mut all: Vec<(&[u8], usize, usize)> = Vec::new();
    for (list, terms) in lists.iter().enumerate() {
        all.extend(terms.iter().enumerate().map(|(place, &term)| (term, list, place)));
    }
    // A merge sort, which takes sorted runs as they are.
    all.sort_by(|left, right| {
        beat();
        left.cmp(right)
    });
    let (mut bytes, mut offsets) = (Vec::new(), vec![0i64]);
    let mut numbers: Vec<Vec<i64>> = lists.iter().map(|terms| vec![0; terms.len()]).collect();
    let mut previous: Option<&[u8]> = None;
    for (term, list, place) in all {
        beat();
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
    use crate::text::tokenizer::{Analyzer, Script};
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

    /// Words of which many begin alike, more than one thread puts in order.
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
