//! A fixed vocabulary: rows of counts, scores of documents, and hashed columns.

use std::hash::Hasher;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use siphasher::sip::SipHasher24;

use crate::counting::matrix::{Matrix, Rows};
use crate::counting::shard::{Shard, kept_rows};
use crate::system::cancel::checkpoint;
use crate::system::memory::prefetch;
use crate::text::bag::Bag;
use crate::text::documents::Documents;
use crate::text::key::Seeds;
use crate::text::lexicon::{Lexicon, UNKNOWN, WeightTable};
use crate::text::reader::{Fixed, Reader, Sorted, Terms};
use crate::text::tokenizer::Text;

const LOOK_AHEAD: usize = 16;

/// Terms with fixed numbers.
pub struct Vocabulary {
    text: Arc<Text>,
    lexicon: Lexicon,
    terms: usize,
    workspaces: WorkspacePool,
}

/// Workspaces for reuse. No thread waits for a lock: in a process that was forked while another thread held one, it
/// would wait forever.
struct WorkspacePool([Mutex<Option<Workspace>>; 64]);

impl WorkspacePool {
    fn new() -> Self {
        WorkspacePool(std::array::from_fn(|_| Mutex::new(None)))
    }

    fn take(&self) -> Option<Workspace> {
        self.places().find_map(|mut place| place.take())
    }

    /// Take a workspace back, or drop it if the pool is full.
    fn put_back(&self, workspace: Workspace) {
        if let Some(mut place) = self.places().find(|place| place.is_none()) {
            *place = Some(workspace);
        }
    }

    /// The places that no other thread has locked.
    fn places(&self) -> impl Iterator<Item = MutexGuard<'_, Option<Workspace>>> {
        self.0.iter().filter_map(|place| match place.try_lock() {
            Ok(place) => Some(place),
            Err(TryLockError::Poisoned(place)) => Some(place.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
    }
}

/// The memory of a thread that reads documents.
pub struct Workspace {
    reader: Reader,
    bag: Bag,
}

impl Workspace {
    fn new(text: &Arc<Text>, seeds: Seeds) -> Self {
        Workspace {
            reader: Reader::new(text.clone(), seeds),
            bag: Bag::default(),
        }
    }

    /// Return whether a document since the last call was not UTF-8.
    pub fn take_invalid(&mut self) -> bool {
        self.reader.take_invalid()
    }

    /// Put the document's terms into the bag; return how many are unknown.
    fn fill_bag<T: Terms>(&mut self, document: &[&[u8]], terms: &mut T, limit: usize) -> i64 {
        let Workspace { reader, bag } = self;
        bag.clear();
        let mut unknown = 0;
        for piece in document {
            reader.read(piece, terms, &mut |numbers, _| {
                unknown += numbers.iter().filter(|&&number| number as usize >= limit).count() as i64;
                bag.add(numbers, limit);
            });
        }
        unknown
    }
}

/// Return the rows of a few documents against a sorted list of terms, and how many of their terms are unknown.
pub fn few_rows(text: &Arc<Text>, terms: &mut Sorted<'_>, documents: &Documents<'_>) -> (Rows, Vec<i64>) {
    let mut reader = Reader::new(text.clone(), terms.seeds());
    let (mut rows, mut all_unknown, mut found) = (Rows::default(), Vec::new(), Vec::new());
    let mut places: hashbrown::HashMap<u32, usize> = hashbrown::HashMap::new();
    rows.begin(0);
    for row in 0..documents.len() {
        found.clear();
        for piece in documents.document(row) {
            reader.read(piece, terms, &mut |numbers, _| found.extend_from_slice(numbers));
        }
        // In the order of first appearance, as with the table: sums must not depend on which was used.
        let (mut known, mut counts, mut unknown) = (Vec::new(), Vec::new(), 0);
        places.clear();
        for &number in &found {
            if number == UNKNOWN {
                unknown += 1;
                continue;
            }
            let place = *places.entry(number).or_insert(known.len());
            if place == known.len() {
                known.push(number);
                counts.push(0);
            }
            counts[place] += 1;
        }
        all_unknown.push(unknown);
        rows.push(&known, &counts);
    }
    (rows, all_unknown)
}

impl Vocabulary {
    /// Build a vocabulary; `None` if a term is in the list twice.
    pub fn new<'a>(text: Arc<Text>, terms: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Option<Self> {
        let count = terms.len();
        let lexicon = Lexicon::from_terms(terms, text.joins_words())?;
        Some(Vocabulary {
            text,
            lexicon,
            terms: count,
            workspaces: WorkspacePool::new(),
        })
    }

    pub fn len(&self) -> usize {
        self.terms
    }

    pub fn is_empty(&self) -> bool {
        self.terms == 0
    }

    pub fn text(&self) -> &Text {
        &self.text
    }

    /// Lend a workspace to `work`.
    pub fn with_workspace<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> T {
        let spare = self.workspaces.take();
        let mut workspace = spare.unwrap_or_else(|| Workspace::new(&self.text, self.lexicon.seeds()));
        let result = work(&mut workspace);
        self.workspaces.put_back(workspace);
        result
    }

    /// Append the document's row; return how many of its terms are unknown.
    pub fn row(&self, workspace: &mut Workspace, document: &[&[u8]], rows: &mut Rows) -> i64 {
        let unknown = workspace.fill_bag(document, &mut Fixed(&self.lexicon), self.terms);
        rows.push(workspace.bag.terms(), workspace.bag.counts());
        unknown
    }
}

/// Sums of weights over the terms of documents.
pub struct Scorer {
    vocabulary: Arc<Vocabulary>,
    presence: bool,
    /// For two classes and plain words, the most common case.
    table: Option<WeightTable>,
}

impl Scorer {
    /// Build a scorer. `weights` has a row of `n_classes` numbers for each term. With `presence`, repeats do not count.
    pub fn new(vocabulary: Arc<Vocabulary>, weights: &[f64], n_classes: usize, presence: bool) -> Self {
        let plain = vocabulary.with_workspace(|workspace| workspace.reader.is_plain());
        let table = (n_classes == 2 && plain && !presence)
            .then(|| WeightTable::new(&vocabulary.lexicon, weights.as_chunks::<2>().0));
        Scorer {
            vocabulary,
            presence,
            table,
        }
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// Add the weights of the document's terms to `sums`; return how many of its terms are known and unknown.
    pub fn add(&self, workspace: &mut Workspace, document: &[&[u8]], weights: &[f64], sums: &mut [f64]) -> (i64, i64) {
        let lexicon = &self.vocabulary.lexicon;
        let (mut known, mut total) = (0, 0);
        if self.presence {
            let unknown = workspace.fill_bag(document, &mut Fixed(lexicon), self.vocabulary.terms);
            known = add_rows(weights, workspace.bag.terms(), sums);
            return (known, unknown);
        }
        if let (Some(table), Some(sums)) = (&self.table, sums.as_mut_array::<2>()) {
            let pairs = weights.as_chunks::<2>().0;
            for piece in document {
                workspace.reader.tokenize(piece, &mut |tokens| {
                    total += tokens.len() as i64;
                    known += table.add(tokens, lexicon, pairs, sums) as i64;
                });
            }
            return (known, total - known);
        }
        for piece in document {
            workspace.reader.read(piece, &mut Fixed(lexicon), &mut |numbers, _| {
                total += numbers.len() as i64;
                known += add_rows(weights, numbers, sums);
            });
        }
        (known, total - known)
    }
}

/// Add the rows of terms to `sums`; return how many are known.
fn add_rows(weights: &[f64], numbers: &[u32], sums: &mut [f64]) -> i64 {
    let n_classes = sums.len();
    let mut known = 0;
    for (index, &number) in numbers.iter().enumerate() {
        if let Some(&ahead) = numbers.get(index + LOOK_AHEAD) {
            prefetch(weights, (ahead as usize).wrapping_mul(n_classes));
        }
        let start = number as usize * n_classes;
        if let Some(row) = weights.get(start..start + n_classes) {
            sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight);
            known += 1;
        }
    }
    known
}

/// Column and sign of each term by a keyed hash (SipHash-2-4): without the key nobody can construct words that cancel.
pub struct Hashed {
    pub key: (u64, u64),
    pub columns: u64,
    pub signed: bool,
}

impl Hashed {
    pub fn place(&self, term: &[u8]) -> (i32, f64) {
        let mut hasher = SipHasher24::new_with_keys(self.key.0, self.key.1);
        hasher.write(term);
        let hash = hasher.finish();
        let sign = if self.signed && hash >> 63 == 1 { -1.0 } else { 1.0 };
        (((hash & (u64::MAX >> 1)) % self.columns) as i32, sign)
    }

    /// The kept rows of all shards: columns and signed counts.
    pub fn rows(&self, shards: Vec<Shard>) -> Matrix<f64> {
        let places: Vec<_> = shards.iter().map(|shard| self.places(shard)).collect();
        let mut rows: Matrix<f64> = Matrix::joined(kept_rows(shards), |shard| {
            let places = &places[shard];
            |term| places[term as usize]
        });
        for (column, value) in rows.terms.iter_mut().zip(&mut rows.counts) {
            checkpoint();
            if *column < 0 {
                *column &= i32::MAX;
                *value = -*value;
            }
        }
        rows
    }

    /// The column of every term of a shard, with the highest bit set if its sign is negative.
    fn places(&self, shard: &Shard) -> Vec<u32> {
        let mut name = Vec::new();
        shard.each_term(|lexicon, term| {
            checkpoint();
            name.clear();
            lexicon.write_name(term, &mut name);
            let (column, sign) = self.place(&name);
            column as u32 | u32::from(sign < 0.0) << 31
        })
    }
}
