//! Text settings, counting, vocabularies and scores.

use std::collections::HashSet;
use std::hash::Hasher;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyRuntimeError, PyUnicodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList};
use regex::bytes::Regex;
use siphasher::sip::SipHasher13;

use super::folds::{HeldOut, UNFIT};
use super::sources::{Held, LONGEST, Source, Texts, each_string, slices};
use super::work::{MOST_THREADS, patiently, share_out};
use crate::counting::matrix::{Matrix, Rows, in_order};
use crate::counting::scores::{Hashed, Scorer, Vocabulary, few_rows};
use crate::counting::shard::Shard;
use crate::counting::{drain, merge};
use crate::system::cancel::beat;
use crate::system::memory::roomy;
use crate::system::threads::side_by_side;
use crate::system::vector::code_path;
use crate::text::characters::PythonTables;
use crate::text::documents::Documents;
use crate::text::lexicon::Lexicon;
use crate::text::reader::Sorted;
use crate::text::tokenizer::{Analyzer, Script, Text};
use crate::text::tokens::Tokens;

/// Bytes of text in one portion of work.
pub(super) const PORTION: usize = 1 << 18;
/// Work below so many bytes is done at once, without other threads.
pub(super) const SMALL: usize = 1 << 18;
/// Text read by searching the sorted vocabulary before a table is built for it.
pub(super) const MOST_SEARCHED: usize = 1 << 15;

pub(super) fn token_pattern(pattern: &str) -> PyResult<Regex> {
    let built = Regex::new(pattern).map_err(|error| {
        PyValueError::new_err(format!(
            "the token pattern is not a regular expression we can run: {error}"
        ))
    })?;
    if built.captures_len() > 2 {
        return Err(PyValueError::new_err(
            "the token pattern has more than one group; write the others as (?:…)",
        ));
    }
    Ok(built)
}

/// Text settings: which terms a document has.
#[pyclass(frozen, name = "Text", module = "discern._native")]
pub(super) struct PyText(pub(super) Arc<Text>);

#[pymethods]
impl PyText {
    #[new]
    #[pyo3(signature = (analyzer, *, tables=None, lowercase=true, ngrams=(1, 1), stop_words=Vec::new(), stemmer=None, shortest=2, pattern=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        analyzer: &str,
        tables: Option<[Vec<(u32, u32)>; 4]>,
        lowercase: bool,
        ngrams: (usize, usize),
        stop_words: Vec<Vec<u8>>,
        stemmer: Option<&str>,
        shortest: usize,
        pattern: Option<&str>,
    ) -> PyResult<Self> {
        let analyzer = match analyzer {
            "word" => Analyzer::Words { shortest },
            "pattern" => Analyzer::Pattern(token_pattern(pattern.unwrap_or(r"\w+"))?),
            "char" => Analyzer::Characters,
            "char_wb" => Analyzer::CharactersInWords,
            "given" => Analyzer::Given,
            other => return Err(PyValueError::new_err(format!("unknown analyzer {other:?}"))),
        };
        if ngrams.0 < 1 || ngrams.0 > ngrams.1 {
            return Err(PyValueError::new_err(format!(
                "n-gram lengths {ngrams:?} must rise from at least 1"
            )));
        }
        let stemmer = stemmer
            .map(|name| {
                waken_snowball::Algorithm::from_str(name)
                    .ok_or_else(|| PyValueError::new_err(format!("Snowball has no stemmer for {name:?}")))
            })
            .transpose()?;
        Ok(PyText(Arc::new(Text {
            analyzer,
            script: tables.map_or(Script::World, |[word, lower, cased, ignored]| {
                Script::Python(PythonTables::new(&word, &lower, &cased, &ignored))
            }),
            lowercase,
            shortest_gram: ngrams.0,
            longest_gram: ngrams.1,
            stop_words: HashSet::from_iter(stop_words),
            stemmer,
        })))
    }

    /// The terms of one document in order, as bytes.
    fn terms<'py>(&self, py: Python<'py>, document: Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let document = Held::new(document, 0)?;
        let mut lexicon = Lexicon::default();
        let mut reader = crate::text::reader::Reader::new(self.0.clone(), lexicon.seeds());
        let mut numbers = Vec::new();
        let mut terms = crate::text::reader::Growing(&mut lexicon);
        reader.read(document.bytes(), &mut terms, &mut |portion, _| {
            numbers.extend_from_slice(portion)
        });
        let name = |number: u32| {
            let mut name = Vec::new();
            lexicon.write_name(number, &mut name);
            PyBytes::new(py, &name)
        };
        Ok(numbers.into_iter().map(name).collect())
    }
}

/// Whether text that is not UTF-8 is refused, and whether such was seen.
struct Strict {
    strict: bool,
    seen: AtomicBool,
}

impl Strict {
    /// Where reading does not tell, the documents are looked through now.
    fn new(strict: bool, text: &Text, documents: &Documents<'_>) -> PyResult<Self> {
        let seen = strict && !text.sees_invalid() && !documents.are_utf8();
        let made = Strict {
            strict,
            seen: AtomicBool::new(seen),
        };
        made.end().map(|()| made)
    }

    fn look(&self, take_invalid: impl FnOnce() -> bool) {
        if self.strict && take_invalid() {
            self.seen.store(true, Ordering::Relaxed);
        }
    }

    fn end(&self) -> PyResult<()> {
        match self.seen.load(Ordering::Relaxed) {
            true => Err(PyUnicodeError::new_err("a document is not UTF-8")),
            false => Ok(()),
        }
    }
}

#[derive(Default)]
pub(super) struct Counting {
    shards: Vec<Shard>,
    classes: usize,
    portions: usize,
    broken: bool,
}

impl Counting {
    fn usable(&self) -> PyResult<()> {
        match self.broken {
            true => Err(PyRuntimeError::new_err(
                "this count was interrupted and is incomplete; start a new one",
            )),
            false => Ok(()),
        }
    }
}

/// Counts terms by class over any number of batches.
#[pyclass(frozen, module = "discern._native")]
pub(super) struct Counter {
    text: Arc<Text>,
    keep_rows: bool,
    counting: Mutex<Counting>,
}

impl Counter {
    /// Waits for the lock without holding Python, which the thread that has the lock may need.
    fn counting(&self, py: Python<'_>) -> MutexGuard<'_, Counting> {
        self.counting
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was counted; the next count begins anew.
    fn counted(&self, py: Python<'_>) -> PyResult<Vec<Shard>> {
        let mut counting = self.counting(py);
        counting.usable()?;
        Ok(std::mem::take(&mut *counting).shards)
    }
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (text, *, keep_rows=false))]
    fn new(text: &PyText, keep_rows: bool) -> Self {
        Counter {
            text: text.0.clone(),
            keep_rows,
            counting: Mutex::new(Counting::default()),
        }
    }

    /// Counts `documents`, the class of each given in `classes` as a number below `width`. With `strict`, text that is
    /// not UTF-8 is a `UnicodeError`.
    #[pyo3(signature = (documents, classes, width, threads, strict=false))]
    fn add(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        classes: PyReadonlyArray1<'_, i32>,
        width: usize,
        threads: usize,
        strict: bool,
    ) -> PyResult<()> {
        let source = Source::new(documents)?;
        let documents = source.documents()?;
        let classes = classes.as_slice()?;
        if classes.len() != documents.len() {
            let message = format!("{} documents but {} labels", documents.len(), classes.len());
            return Err(PyValueError::new_err(message));
        }
        if classes.iter().any(|&class| class < 0 || class as usize >= width) {
            return Err(PyValueError::new_err("a class number is out of range"));
        }
        let watch = Strict::new(strict, &self.text, &documents)?;
        let mut counting = self.counting(py);
        counting.usable()?;
        counting.classes = counting.classes.max(width);
        let (before, wide) = (counting.portions, counting.classes);
        // Running sums are kept for one class at a time: documents of a class are counted in a row.
        let keep = self.keep_rows;
        let order = if keep {
            (0..documents.len()).collect()
        } else {
            let mut order = by_class(classes, wide);
            let running = counting.shards.first().map_or(0, Shard::class);
            order.rotate_left(classes.iter().filter(|&&class| (class as u32) < running).count());
            order
        };
        let portions = documents.portions(&order, PORTION);
        counting.portions += portions.len();
        let workers = threads.clamp(1, portions.len().clamp(1, MOST_THREADS));
        let size = documents.total_size();
        let more = counting.shards.len()..workers;
        let made = side_by_side(more.map(|_| || Shard::new(&self.text, wide, size / workers)).collect());
        counting.shards.extend(made);
        counting.shards.iter_mut().for_each(|shard| shard.widen(wide));
        let small = size < SMALL;
        let done = share_out(
            py,
            &mut counting.shards[..workers],
            portions.len(),
            small,
            |shard, portion| {
                shard.take_invalid(); // what was seen before, when nobody asked
                if keep {
                    shard.keep_rows(before + portion);
                }
                for &row in &order[portions[portion].clone()] {
                    let (document, class) = (documents.document(row), classes[row] as u32);
                    if keep {
                        shard.keep(document)
                    } else {
                        shard.count(document, class)
                    }
                }
                watch.look(|| shard.take_invalid());
            },
        );
        let done = done.and_then(|()| watch.end());
        counting.broken = done.is_err();
        done
    }

    /// Ends the count: sorted terms, entries (term, class, occurrences, documents) and the kept rows.
    fn drain(&self, py: Python<'_>) -> PyResult<PyDrained> {
        let shards = self.counted(py)?;
        let (drained, rows) = patiently(py, || drain::drain(shards))?;
        Ok(PyDrained {
            offsets: drained.offsets.into_pyarray(py).unbind(),
            bytes: drained.bytes.into_pyarray(py).unbind(),
            entry_terms: drained.entry_terms.into_pyarray(py).unbind(),
            entry_classes: drained.entry_classes.into_pyarray(py).unbind(),
            occurrences: drained.occurrences.into_pyarray(py).unbind(),
            documents: drained.documents.into_pyarray(py).unbind(),
            rows: Py::new(py, RowArrays::new(py, rows))?,
        })
    }

    /// Ends the count with rows to validate by, of classes below `width`: (offsets and bytes of the terms, rows).
    #[allow(clippy::type_complexity)]
    fn held_out<'py>(
        &self,
        py: Python<'py>,
        classes: PyReadonlyArray1<'py, i32>,
        width: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>, HeldOut)> {
        let (shards, classes) = (self.counted(py)?, classes.as_slice()?);
        let (drained, made) = patiently(py, || {
            let (drained, rows) = drain::drain(shards);
            let made = HeldOut::of_counted(rows, classes, width, drained.terms());
            (drained, made)
        })?;
        let (offsets, bytes) = (drained.offsets.into_pyarray(py), drained.bytes.into_pyarray(py));
        Ok((offsets, bytes, made.ok_or_else(|| PyValueError::new_err(UNFIT))?))
    }

    /// Ends the count with rows of hashed columns: (row ends, columns, signed counts).
    #[allow(clippy::type_complexity)]
    fn hashed<'py>(
        &self,
        py: Python<'py>,
        key: (u64, u64),
        columns: u64,
        signed: bool,
    ) -> PyResult<(
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i32>>,
        Bound<'py, PyArray1<f64>>,
    )> {
        if columns == 0 || columns > i32::MAX as u64 {
            return Err(PyValueError::new_err(
                "the number of hashed columns must be between 1 and 2147483647",
            ));
        }
        let shards = std::mem::take(&mut *self.counting(py)).shards;
        let hashed = Hashed { key, columns, signed };
        let Matrix { starts, terms, counts } = patiently(py, || hashed.rows(shards))?;
        Ok((starts.into_pyarray(py), terms.into_pyarray(py), counts.into_pyarray(py)))
    }
}

/// The rows in the order of their classes.
pub(super) fn by_class(classes: &[i32], width: usize) -> Vec<usize> {
    let mut next = vec![0; width + 1];
    classes.iter().for_each(|&class| next[class as usize + 1] += 1);
    (0..width).for_each(|class| next[class + 1] += next[class]);
    let mut order = roomy(classes.len());
    order.resize(classes.len(), 0);
    for (row, &class) in classes.iter().enumerate() {
        order[next[class as usize]] = row;
        next[class as usize] += 1;
    }
    order
}

/// Rows of counts as the three arrays of a compressed sparse matrix.
#[pyclass(frozen, get_all, name = "Rows", module = "discern._native")]
pub(super) struct RowArrays {
    starts: Py<PyArray1<i64>>,
    terms: Py<PyArray1<i32>>,
    counts: Py<PyArray1<i64>>,
}

impl RowArrays {
    fn new(py: Python<'_>, matrix: Matrix<i64>) -> Self {
        RowArrays {
            starts: matrix.starts.into_pyarray(py).unbind(),
            terms: matrix.terms.into_pyarray(py).unbind(),
            counts: matrix.counts.into_pyarray(py).unbind(),
        }
    }
}

/// Counts in canonical order.
#[pyclass(frozen, get_all, name = "Drained", module = "discern._native")]
pub(super) struct PyDrained {
    offsets: Py<PyArray1<i64>>,
    bytes: Py<PyArray1<u8>>,
    entry_terms: Py<PyArray1<i64>>,
    entry_classes: Py<PyArray1<i32>>,
    occurrences: Py<PyArray1<i64>>,
    documents: Py<PyArray1<i64>>,
    rows: Py<RowArrays>,
}

/// A fixed, sorted list of terms: rows and scores of documents.
///
/// The list is used where it lies, in the model file: a few documents are read by searching it. A table for
/// many documents is built when they come.
#[pyclass(frozen, name = "Vocabulary", module = "discern._native")]
pub(super) struct PyVocabulary {
    text: Arc<Text>,
    offsets: Py<PyArray1<i64>>,
    bytes: Py<PyArray1<u8>>,
    read_by_search: AtomicUsize,
    table: OnceLock<Arc<Vocabulary>>,
}

impl PyVocabulary {
    /// The table, built if it is not there yet.
    fn table(&self, py: Python<'_>) -> PyResult<Arc<Vocabulary>> {
        if let Some(vocabulary) = self.table.get() {
            return Ok(vocabulary.clone());
        }
        let (offsets, bytes) = (self.offsets.bind(py).readonly(), self.bytes.bind(py).readonly());
        let terms = slices(offsets.as_slice()?, bytes.as_slice()?)?;
        let built = patiently(py, || Vocabulary::new(self.text.clone(), terms.iter().copied()))?
            .ok_or_else(|| PyValueError::new_err("a term stands in the vocabulary twice"))?;
        // Threads that come together each build one, and the first is kept: whoever waited for another thread would
        // wait forever in a process that is forked meanwhile.
        Ok(self.table.get_or_init(|| Arc::new(built)).clone())
    }

    /// Whether so many bytes are few enough to be read by searching, all such calls together.
    fn is_little(&self, size: usize) -> bool {
        let before = self
            .read_by_search
            .fetch_add(size.min(MOST_SEARCHED), Ordering::Relaxed);
        self.table.get().is_none() && before.saturating_add(size) < MOST_SEARCHED
    }

    /// Rows, and unknown terms of each, by searching the sorted list, if they are few enough.
    fn searched(&self, py: Python<'_>, documents: &Documents<'_>) -> PyResult<Option<(Rows, Vec<i64>)>> {
        if !self.is_little(documents.total_size()) {
            return Ok(None);
        }
        let (offsets, bytes) = (self.offsets.bind(py).readonly(), self.bytes.bind(py).readonly());
        let mut terms = Sorted::new(offsets.as_slice()?, bytes.as_slice()?);
        Ok(Some(few_rows(&self.text, &mut terms, documents)))
    }
}

#[pymethods]
impl PyVocabulary {
    #[new]
    fn new(text: &PyText, offsets: Bound<'_, PyArray1<i64>>, bytes: Bound<'_, PyArray1<u8>>) -> PyResult<Self> {
        if offsets.len() >= u32::MAX as usize / 2 {
            return Err(PyValueError::new_err(
                "a vocabulary may have at most two thousand million terms",
            ));
        }
        Ok(PyVocabulary {
            text: text.0.clone(),
            offsets: offsets.unbind(),
            bytes: bytes.unbind(),
            read_by_search: AtomicUsize::new(0),
            table: OnceLock::new(),
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.offsets.bind(py).len().saturating_sub(1))
    }

    /// Term counts of each document, and how many of its terms are unknown.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<(RowArrays, Bound<'py, PyArray1<i64>>)> {
        let source = Source::new(documents)?;
        let documents = source.documents()?;
        if let Some((rows, unknown)) = self.searched(py, &documents)? {
            let matrix = Matrix::joined(vec![rows], |_| |term| term);
            return Ok((RowArrays::new(py, matrix), unknown.into_pyarray(py)));
        }
        let table = self.table(py)?;
        let order: Vec<usize> = (0..documents.len()).collect();
        let portions = documents.portions(&order, PORTION);
        let mut workers: Vec<(Rows, Vec<i64>)> = Vec::new();
        workers.resize_with(threads.clamp(1, portions.len().max(1)), Default::default);
        let small = documents.total_size() < SMALL;
        share_out(py, &mut workers, portions.len(), small, |(rows, unknown), portion| {
            rows.begin(portion);
            table.at_desk(|desk| {
                for row in portions[portion].clone() {
                    unknown.push(table.row(desk, documents.document(row), rows));
                }
            });
        })?;
        let (rows, unknown): (Vec<Rows>, Vec<Vec<i64>>) = workers.into_iter().unzip();
        let mut all_unknown = Vec::with_capacity(documents.len());
        for portion in in_order(&rows) {
            all_unknown.extend_from_slice(&unknown[portion.owner][portion.rows]);
        }
        let matrix = patiently(py, || Matrix::joined(rows, |_| |term| term))?;
        Ok((RowArrays::new(py, matrix), all_unknown.into_pyarray(py)))
    }

    /// The place of the highest of bias + sums of weights for the only document, if it is short: the first answer of a
    /// model, when no table is built yet.
    fn best(
        &self,
        py: Python<'_>,
        document: &Bound<'_, PyAny>,
        weights: PyReadonlyArray2<'_, f64>,
        bias: PyReadonlyArray1<'_, f64>,
        presence: bool,
    ) -> PyResult<Option<usize>> {
        let source = Source::new(document)?;
        let documents = source.documents()?;
        let (weights, bias) = (weights.as_slice()?, bias.as_slice()?);
        if documents.len() != 1 || weights.len() != self.__len__(py)? * bias.len() {
            return Err(PyValueError::new_err("weights and bias do not fit the vocabulary"));
        }
        let found = self.searched(py, &documents)?;
        Ok(found.map(|(rows, _)| highest(&rows, weights, bias, presence)))
    }
}

/// The place of the highest of bias + sums of weights, in the order of the terms: the same bits as any other way.
fn highest(rows: &Rows, weights: &[f64], bias: &[f64], presence: bool) -> usize {
    let mut sums = vec![0.0; bias.len()];
    for (&term, count) in rows.terms().iter().zip(rows.counts()) {
        let factor = if presence { 1.0 } else { f64::from(count) };
        let weights = &weights[term as usize * bias.len()..];
        sums.iter_mut()
            .zip(weights)
            .for_each(|(sum, weight)| *sum += factor * weight);
    }
    sums.iter_mut().zip(bias).for_each(|(sum, bias)| *sum += bias);
    (1..sums.len()).fold(0, |best, place| if sums[place] > sums[best] { place } else { best })
}

/// A linear classifier on the terms of documents: label = the highest of bias + sums of weights.
#[pyclass(frozen, name = "Scorer", module = "discern._native")]
pub(super) struct PyScorer {
    scorer: Scorer,
    weights: Py<PyArray2<f64>>,
    bias: Vec<f64>,
    labels: Vec<Py<PyAny>>,
}

#[pymethods]
impl PyScorer {
    #[new]
    fn new(
        py: Python<'_>,
        vocabulary: &PyVocabulary,
        weights: Bound<'_, PyArray2<f64>>,
        bias: Vec<f64>,
        labels: Vec<Py<PyAny>>,
        presence: bool,
    ) -> PyResult<Self> {
        let vocabulary = vocabulary.table(py)?;
        let fits = weights.shape() == [vocabulary.len(), bias.len()];
        if !fits || labels.len() != bias.len() || labels.is_empty() {
            return Err(PyValueError::new_err(
                "labels, bias and weights do not fit the vocabulary",
            ));
        }
        let read = weights.readonly();
        let table = read.as_slice()?;
        let scorer = patiently(py, || Scorer::new(vocabulary, table, bias.len(), presence))?;
        drop(read);
        Ok(PyScorer {
            scorer,
            weights: weights.unbind(),
            bias,
            labels,
        })
    }

    /// Scores of each document and label, and how many of its terms are known and unknown. With `strict`, text that is
    /// not UTF-8 is a `UnicodeError`.
    #[allow(clippy::type_complexity)]
    #[pyo3(signature = (documents, threads, strict=false))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        threads: usize,
        strict: bool,
    ) -> PyResult<(
        Bound<'py, PyArray2<f64>>,
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i64>>,
    )> {
        let source = Source::new(documents)?;
        let documents = source.documents()?;
        let watch = Strict::new(strict, self.scorer.vocabulary().text(), &documents)?;
        let width = self.bias.len();
        let weights = self.weights.bind(py).readonly();
        let weights = weights.as_slice()?;
        let order: Vec<usize> = (0..documents.len()).collect();
        let portions = documents.portions(&order, PORTION);
        let finished: Mutex<Vec<(usize, Vec<f64>, Vec<(i64, i64)>)>> = Mutex::new(Vec::new());
        let mut workers = vec![(); threads.clamp(1, portions.len().max(1))];
        let small = documents.total_size() < SMALL;
        share_out(py, &mut workers, portions.len(), small, |(), portion| {
            let range = portions[portion].clone();
            let mut scores = self.bias.repeat(range.len());
            let mut lengths = Vec::with_capacity(range.len());
            self.scorer.vocabulary().at_desk(|desk| {
                desk.take_invalid(); // what was seen before, when nobody asked
                for (row, sums) in range.zip(scores.chunks_exact_mut(width)) {
                    lengths.push(self.scorer.add(desk, documents.document(row), weights, sums));
                }
                watch.look(|| desk.take_invalid());
            });
            finished
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((portion, scores, lengths));
        })?;
        watch.end()?;
        let mut finished = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
        finished.sort_unstable_by_key(|part| part.0);
        let scores: Vec<f64> = finished.iter().flat_map(|part| part.1.iter().copied()).collect();
        let known: Vec<i64> = finished
            .iter()
            .flat_map(|part| part.2.iter().map(|length| length.0))
            .collect();
        let unknown: Vec<i64> = finished
            .iter()
            .flat_map(|part| part.2.iter().map(|length| length.1))
            .collect();
        let scores = scores.into_pyarray(py).reshape([documents.len(), width])?;
        Ok((scores, known.into_pyarray(py), unknown.into_pyarray(py)))
    }

    /// The first label with the highest score, in well under a microsecond for a short message.
    fn __call__<'py>(&self, py: Python<'py>, text: Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let text = Held::new(text, 0)?;
        let document = [text.bytes()];
        if document[0].len() > LONGEST {
            return Err(PyValueError::new_err("the text is longer than 2 GiB; split it"));
        }
        let weights = self.weights.bind(py).readonly();
        let weights = weights.as_slice()?;
        let mut few = [0.0; 16];
        let mut many = Vec::new();
        let scores: &mut [f64] = if self.bias.len() <= few.len() {
            &mut few[..self.bias.len()]
        } else {
            many.resize(self.bias.len(), 0.0);
            &mut many
        };
        scores.copy_from_slice(&self.bias);
        self.scorer
            .vocabulary()
            .at_desk(|desk| self.scorer.add(desk, &document, weights, scores));
        let mut best = 0;
        for (class, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = class;
            }
        }
        Ok(self.labels[best].clone_ref(py))
    }
}

/// Numbers for the distinct strings of a column, in order of appearance: (number of each row, offsets, bytes).
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(super) fn distinct<'py>(
    py: Python<'py>,
    strings: &Bound<'py, PyAny>,
) -> PyResult<(
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
)> {
    let numbering = match strings.cast::<PyList>() {
        Ok(list) => numbered_list(list)?,
        Err(_) => {
            let source = Source::new(strings)?;
            let documents = source.documents()?;
            patiently(py, || numbered(&documents))?
        }
    };
    let (offsets, bytes) = patiently(py, || numbering.names())?;
    Ok((
        numbering.numbers.into_pyarray(py),
        offsets.into_pyarray(py),
        bytes.into_pyarray(py),
    ))
}

/// Strings get numbers in the order of their first appearance.
struct Numbering {
    lexicon: Lexicon,
    tokens: Tokens,
    numbers: Vec<i32>,
    /// The string that came last: labels often come in a row.
    last: Vec<u8>,
}

impl Numbering {
    fn of(rows: usize) -> Self {
        let lexicon = Lexicon::default();
        Numbering {
            tokens: Tokens::new(lexicon.seeds()),
            lexicon,
            numbers: Vec::with_capacity(rows),
            last: Vec::new(),
        }
    }

    fn push(&mut self, string: &[u8]) {
        if let Some(&number) = self.numbers.last()
            && string == self.last
        {
            return self.numbers.push(number);
        }
        self.tokens.clear();
        self.tokens.push(string);
        let number = self.lexicon.intern(self.tokens.list()[0], &self.tokens);
        self.numbers.push(number as i32);
        self.last.clear();
        self.last.extend_from_slice(string);
    }

    /// The distinct strings: offsets and bytes.
    fn names(&self) -> (Vec<i64>, Vec<u8>) {
        let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
        for number in 0..self.lexicon.len() as u32 {
            beat();
            self.lexicon.write_name(number, &mut bytes);
            offsets.push(bytes.len() as i64);
        }
        (offsets, bytes)
    }
}

fn numbered(documents: &Documents<'_>) -> Numbering {
    let mut numbering = Numbering::of(documents.len());
    for row in 0..documents.len() {
        beat();
        numbering.push(documents.document(row)[0]);
    }
    numbering
}

/// The strings of a list are read where they are, which is faster than to hold all of them first.
fn numbered_list(list: &Bound<'_, PyList>) -> PyResult<Numbering> {
    let mut numbering = Numbering::of(list.len());
    each_string(list, |string| numbering.push(string))?;
    Ok(numbering)
}

/// The strings of a column one behind the other: (offsets, bytes).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn packed<'py>(
    py: Python<'py>,
    strings: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>)> {
    let source = Source::new(strings)?;
    let documents = source.documents()?;
    let (offsets, bytes) = patiently(py, || {
        let (mut offsets, mut bytes) = (Vec::with_capacity(documents.len() + 1), Vec::new());
        offsets.push(0i64);
        for row in 0..documents.len() {
            beat();
            documents
                .document(row)
                .iter()
                .for_each(|piece| bytes.extend_from_slice(piece));
            offsets.push(bytes.len() as i64);
        }
        (offsets, bytes)
    })?;
    Ok((offsets.into_pyarray(py), bytes.into_pyarray(py)))
}

/// A number for each string of a column, the same wherever the string stands.
#[pyfunction]
fn row_hashes<'py>(py: Python<'py>, strings: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let source = Source::new(strings)?;
    let documents = source.documents()?;
    let hashes: Vec<u64> = patiently(py, || {
        let hash = |row| {
            beat();
            let mut hasher = SipHasher13::new();
            documents.document(row).iter().for_each(|piece| hasher.write(piece));
            hasher.finish()
        };
        (0..documents.len()).map(hash).collect()
    })?;
    Ok(hashes.into_pyarray(py))
}

/// Merges sorted lists of terms, each given as (offsets, bytes): (offsets, bytes, new number of each old term).
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(super) fn merge_terms<'py>(
    py: Python<'py>,
    lists: Vec<(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>)>,
) -> PyResult<(
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
    Vec<Bound<'py, PyArray1<i64>>>,
)> {
    let borrowed = lists
        .iter()
        .map(|(offsets, bytes)| slices(offsets.as_slice()?, bytes.as_slice()?))
        .collect::<PyResult<Vec<_>>>()?;
    let (bytes, offsets, numbers) = patiently(py, || merge::merge_terms(&borrowed))?;
    let numbers = numbers.into_iter().map(|list| list.into_pyarray(py)).collect();
    Ok((offsets.into_pyarray(py), bytes.into_pyarray(py), numbers))
}

/// Whether terms, given as offsets and bytes, rise strictly.
#[pyfunction]
pub(super) fn is_sorted(offsets: PyReadonlyArray1<'_, i64>, bytes: PyReadonlyArray1<'_, u8>) -> PyResult<bool> {
    Ok(slices(offsets.as_slice()?, bytes.as_slice()?)?.is_sorted_by(|left, right| left < right))
}

/// Which code this processor runs: "plain", "avx2" or "avx512".
#[pyfunction(name = "code_path")]
pub(super) fn code_path_name() -> &'static str {
    code_path().name()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyText>()?;
    module.add_class::<Texts>()?;
    module.add_class::<Counter>()?;
    module.add_class::<PyDrained>()?;
    module.add_class::<RowArrays>()?;
    module.add_class::<PyVocabulary>()?;
    module.add_class::<PyScorer>()?;
    module.add_function(wrap_pyfunction!(distinct, module)?)?;
    module.add_function(wrap_pyfunction!(merge_terms, module)?)?;
    module.add_function(wrap_pyfunction!(packed, module)?)?;
    module.add_function(wrap_pyfunction!(row_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(is_sorted, module)?)?;
    module.add_function(wrap_pyfunction!(code_path_name, module)?)?;
    Ok(())
}
