//! The face to Python: takes batches, gives arrays. Everything that knows Python is here.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use regex::bytes::Regex;

use crate::counts::{self, Matrix, Rows, Shard};
use crate::csv::Dialect;
use crate::documents::Documents;
use crate::lexicon::{Lexicon, Tokens};
use crate::reader::Sorted;
use crate::scores::{Hashed, Scorer, Vocabulary, few_rows};
use crate::simd::code_path;
use crate::tables::{Levels, Moments, Normals};
use crate::text::{Analyzer, PythonTables, Script, Text};

/// Bytes of text in one portion of work.
const PORTION: usize = 1 << 18;
/// Work below so many bytes is done at once, without other threads.
const SMALL: usize = 1 << 18;
/// Text read by searching the sorted vocabulary before a table is built for it.
const MOST_SEARCHED: usize = 1 << 15;
/// More threads than this do not help.
const MOST_THREADS: usize = 1 << 10;
/// How often the waiting thread looks for Ctrl-C.
const WATCH: Duration = Duration::from_millis(50);
/// The length of the longest document: positions in it are 32-bit numbers.
const LONGEST: usize = u32::MAX as usize / 2;

fn internal_error() -> PyErr {
    PyRuntimeError::new_err("an internal error in discern's native code; please report it with the input")
}

/// Gives portions `0..portions` to one thread for each state, while the calling thread watches for Ctrl-C.
///
/// Threads live only for this call: nothing of them is left behind that a fork could break.
fn share_out<S: Send>(
    py: Python<'_>,
    states: &mut [S],
    portions: usize,
    small: bool,
    job: impl Fn(&mut S, usize) + Sync,
) -> PyResult<()> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let work = |state: &mut S| {
        while !stop.load(Ordering::Relaxed) {
            let portion = next.fetch_add(1, Ordering::Relaxed);
            if portion >= portions {
                break;
            }
            job(state, portion);
        }
    };
    if small && let Some(state) = states.first_mut() {
        return catch_unwind(AssertUnwindSafe(|| work(state))).map_err(|_| internal_error());
    }
    if let [state] = states {
        return work_alone(py, state, portions, job);
    }
    let mut interrupted = None;
    let whole = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = channel();
            let count = states.len();
            for state in states {
                let (done, work) = (done.clone(), &work);
                scope.spawn(move || {
                    let result = catch_unwind(AssertUnwindSafe(|| work(state)));
                    let _ = done.send(result.is_ok());
                });
            }
            let (mut ended, mut whole) = (0, true);
            while ended < count {
                match finished.recv_timeout(WATCH) {
                    Ok(well) => {
                        ended += 1;
                        whole &= well;
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.store(true, Ordering::Relaxed);
                            interrupted = Some(error);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return false,
                }
            }
            whole
        })
    });
    match interrupted {
        Some(error) => Err(error),
        None if whole => Ok(()),
        None => Err(internal_error()),
    }
}

/// Does all portions on the calling thread, looking for Ctrl-C now and then.
fn work_alone<S: Send>(
    py: Python<'_>,
    state: &mut S,
    portions: usize,
    job: impl Fn(&mut S, usize) + Sync,
) -> PyResult<()> {
    let mut next = 0;
    while next < portions {
        let turn = || {
            let start = Instant::now();
            while next < portions && start.elapsed() < WATCH {
                job(state, next);
                next += 1;
            }
        };
        py.detach(|| catch_unwind(AssertUnwindSafe(turn)))
            .map_err(|_| internal_error())?;
        py.check_signals()?;
    }
    Ok(())
}

/// A Python string that cannot be UTF-8 (a lone surrogate) is kept as its generalised UTF-8.
enum Held<'py> {
    Text(Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
}

impl<'py> Held<'py> {
    fn new(item: Bound<'py, PyAny>, row: usize) -> PyResult<Self> {
        let text = item.cast_into::<PyString>().map_err(|error| {
            let found = error.into_inner().get_type().to_string();
            PyTypeError::new_err(format!(
                "row {row}: expected a string, found {found}; convert it with str() first"
            ))
        })?;
        if text.to_str().is_ok() {
            return Ok(Held::Text(text));
        }
        let encoded = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
        Ok(Held::Bytes(encoded.cast_into::<PyBytes>().map_err(PyErr::from)?))
    }

    fn bytes(&self) -> PyResult<&[u8]> {
        match self {
            Held::Text(text) => Ok(text.to_str()?.as_bytes()),
            Held::Bytes(bytes) => Ok(bytes.as_bytes()),
        }
    }
}

/// Documents as Python gave them, kept alive while the core reads them.
enum Source<'py> {
    /// A list of strings.
    List(Vec<Held<'py>>),
    /// Lists of terms, one after the other, and where each ends.
    Terms(Vec<Held<'py>>, Vec<usize>),
    /// Arrow's string layout: offsets and bytes.
    Offsets(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>),
    /// Arrow's view layout: 16 bytes a value, pointing into buffers.
    Views(PyReadonlyArray1<'py, u8>, Vec<PyReadonlyArray1<'py, u8>>),
}

fn hold<'py>(list: &Bound<'py, PyList>) -> PyResult<Vec<Held<'py>>> {
    list.iter()
        .enumerate()
        .map(|(row, item)| Held::new(item, row))
        .collect()
}

impl<'py> Source<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(Source::List(hold(list)?));
        }
        let parts = object
            .cast::<PyTuple>()
            .map_err(|_| PyTypeError::new_err("expected a list of strings"))?;
        let kind: String = parts.get_item(0)?.extract()?;
        let (first, second) = (parts.get_item(1)?, parts.get_item(2)?);
        match kind.as_str() {
            "offsets" => Ok(Source::Offsets(first.extract()?, second.extract()?)),
            "views" => Ok(Source::Views(first.extract()?, second.extract()?)),
            "terms" => Ok(Source::Terms(hold(first.cast()?)?, second.extract()?)),
            _ => Err(PyTypeError::new_err("expected offsets, views or terms")),
        }
    }

    fn documents(&self) -> PyResult<Documents<'_>> {
        let documents = match self {
            Source::List(texts) => Documents::texts(texts.iter().map(Held::bytes).collect::<PyResult<_>>()?),
            Source::Terms(terms, ends) => {
                let terms = terms.iter().map(Held::bytes).collect::<PyResult<_>>()?;
                Documents::terms(terms, ends.clone()).ok_or_else(|| PyValueError::new_err("ends are not in order"))?
            }
            Source::Offsets(offsets, bytes) => Documents::texts(slices(offsets.as_slice()?, bytes.as_slice()?)?),
            Source::Views(views, buffers) => {
                let buffers = buffers
                    .iter()
                    .map(|buffer| Ok(buffer.as_slice()?))
                    .collect::<PyResult<Vec<_>>>()?;
                Documents::texts(viewed(views.as_slice()?, &buffers)?)
            }
        };
        match (0..documents.len()).find(|&row| documents.document(row).iter().any(|piece| piece.len() > LONGEST)) {
            Some(row) => Err(PyValueError::new_err(format!(
                "row {row} is longer than 2 GiB; split it"
            ))),
            None => Ok(documents),
        }
    }
}

fn slices<'a>(offsets: &[i64], bytes: &'a [u8]) -> PyResult<Vec<&'a [u8]>> {
    let slice = |span: &[i64]| {
        let range = usize::try_from(span[0]).ok()?..usize::try_from(span[1]).ok()?;
        bytes.get(range)
    };
    let all: Option<Vec<&[u8]>> = offsets.windows(2).map(slice).collect();
    all.ok_or_else(|| PyValueError::new_err("the offsets of a string column do not fit its bytes"))
}

fn viewed<'a>(views: &'a [u8], buffers: &[&'a [u8]]) -> PyResult<Vec<&'a [u8]>> {
    let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    let (views, _) = views.as_chunks::<16>();
    let slice = |view: &'a [u8; 16]| {
        let length = number(&view[..4]);
        if length <= 12 {
            return view.get(4..4 + length);
        }
        let start = number(&view[12..]);
        buffers.get(number(&view[8..12]))?.get(start..start + length)
    };
    let all: Option<Vec<&[u8]>> = views.iter().map(slice).collect();
    all.ok_or_else(|| PyValueError::new_err("the views of a string column do not fit its buffers"))
}

fn token_pattern(pattern: &str) -> PyResult<Regex> {
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
struct PyText(Arc<Text>);

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
        let mut reader = crate::reader::Reader::new(self.0.clone(), lexicon.seeds());
        let mut numbers = Vec::new();
        let mut terms = crate::reader::Growing(&mut lexicon);
        reader.read(document.bytes()?, &mut terms, &mut |portion, _| {
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

#[derive(Default)]
struct Counting {
    shards: Vec<Shard>,
    classes: usize,
    portions: usize,
    broken: bool,
}

/// Counts terms by class over any number of batches.
#[pyclass(frozen, module = "discern._native")]
struct Counter {
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

    /// Counts `documents`, the class of each given in `classes` as a number below `width`.
    fn add(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        classes: PyReadonlyArray1<'_, i32>,
        width: usize,
        threads: usize,
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
        let mut counting = self.counting(py);
        if counting.broken {
            return Err(PyRuntimeError::new_err(
                "this count was interrupted and is incomplete; start a new one",
            ));
        }
        counting.classes = counting.classes.max(width);
        let (before, wide) = (counting.portions, counting.classes);
        // Running sums are kept for one class at a time: documents of a class are counted in a row.
        let keep = self.keep_rows;
        let order = if keep {
            (0..documents.len()).collect()
        } else {
            by_class(classes, wide)
        };
        let portions = documents.portions(&order, PORTION);
        counting.portions += portions.len();
        let workers = threads.clamp(1, portions.len().clamp(1, MOST_THREADS));
        while counting.shards.len() < workers {
            counting
                .shards
                .push(Shard::new(&self.text, wide, documents.total_size() / workers));
        }
        counting.shards.iter_mut().for_each(|shard| shard.widen(wide));
        let small = documents.total_size() < SMALL;
        let done = share_out(
            py,
            &mut counting.shards[..workers],
            portions.len(),
            small,
            |shard, portion| {
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
            },
        );
        counting.broken = done.is_err();
        done
    }

    /// Ends the count: sorted terms, entries (term, class, occurrences, documents) and the kept rows.
    fn drain(&self, py: Python<'_>) -> PyResult<PyDrained> {
        let mut counting = self.counting(py);
        if counting.broken {
            return Err(PyRuntimeError::new_err(
                "this count was interrupted and is incomplete; start a new one",
            ));
        }
        let shards = std::mem::take(&mut *counting).shards;
        let drained = py
            .detach(|| catch_unwind(AssertUnwindSafe(|| counts::drain(shards))))
            .map_err(|_| internal_error())?;
        Ok(PyDrained {
            offsets: drained.offsets.into_pyarray(py).unbind(),
            bytes: drained.bytes.into_pyarray(py).unbind(),
            entry_terms: drained.entry_terms.into_pyarray(py).unbind(),
            entry_classes: drained.entry_classes.into_pyarray(py).unbind(),
            occurrences: drained.occurrences.into_pyarray(py).unbind(),
            documents: drained.documents.into_pyarray(py).unbind(),
            rows: Py::new(py, RowArrays::new(py, drained.rows))?,
        })
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
        let places: Vec<_> = shards.iter().map(|shard| hashed.places(shard)).collect();
        let (mut ends, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
        for (shard, rows) in counts::kept_rows(shards) {
            let before = indices.len() as i64;
            ends.extend(rows.ends.iter().map(|&end| before + end as i64));
            for (&term, &count) in rows.terms.iter().zip(&rows.counts) {
                let (column, sign) = places[shard][term as usize];
                indices.push(column);
                values.push(sign * f64::from(count));
            }
        }
        Ok((ends.into_pyarray(py), indices.into_pyarray(py), values.into_pyarray(py)))
    }
}

/// The rows in the order of their classes.
fn by_class(classes: &[i32], width: usize) -> Vec<usize> {
    let mut next = vec![0; width + 1];
    classes.iter().for_each(|&class| next[class as usize + 1] += 1);
    (0..width).for_each(|class| next[class + 1] += next[class]);
    let mut order = vec![0; classes.len()];
    for (row, &class) in classes.iter().enumerate() {
        order[next[class as usize]] = row;
        next[class as usize] += 1;
    }
    order
}

/// Rows of counts as the three arrays of a compressed sparse matrix.
#[pyclass(frozen, get_all, name = "Rows", module = "discern._native")]
struct RowArrays {
    starts: Py<PyArray1<i64>>,
    terms: Py<PyArray1<i32>>,
    counts: Py<PyArray1<i64>>,
}

impl RowArrays {
    fn new(py: Python<'_>, matrix: Matrix) -> Self {
        RowArrays {
            starts: matrix.starts.into_pyarray(py).unbind(),
            terms: matrix.terms.into_pyarray(py).unbind(),
            counts: matrix.counts.into_pyarray(py).unbind(),
        }
    }
}

/// Counts in canonical order.
#[pyclass(frozen, get_all, name = "Drained", module = "discern._native")]
struct PyDrained {
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
struct PyVocabulary {
    text: Arc<Text>,
    offsets: Py<PyArray1<i64>>,
    bytes: Py<PyArray1<u8>>,
    read_by_search: AtomicUsize,
    table: Mutex<Option<Arc<Vocabulary>>>,
}

impl PyVocabulary {
    /// The table, built if it is not there yet.
    fn table(&self, py: Python<'_>) -> PyResult<Arc<Vocabulary>> {
        let mut table = self.table.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if let Some(vocabulary) = &*table {
            return Ok(vocabulary.clone());
        }
        let (offsets, bytes) = (self.offsets.bind(py).readonly(), self.bytes.bind(py).readonly());
        let terms = slices(offsets.as_slice()?, bytes.as_slice()?)?;
        let built = Vocabulary::new(self.text.clone(), terms.iter().copied())
            .ok_or_else(|| PyValueError::new_err("a term stands in the vocabulary twice"))?;
        Ok(table.insert(Arc::new(built)).clone())
    }

    /// Whether so many bytes are few enough to be read by searching, all such calls together.
    fn is_little(&self, py: Python<'_>, size: usize) -> bool {
        let before = self
            .read_by_search
            .fetch_add(size.min(MOST_SEARCHED), Ordering::Relaxed);
        let built = self
            .table
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
            .is_some();
        !built && before.saturating_add(size) < MOST_SEARCHED
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
            table: Mutex::new(None),
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
        if self.is_little(py, documents.total_size()) {
            let (offsets, bytes) = (self.offsets.bind(py).readonly(), self.bytes.bind(py).readonly());
            let mut terms = Sorted::new(offsets.as_slice()?, bytes.as_slice()?);
            let (rows, unknown) = few_rows(&self.text, &mut terms, &documents);
            let mut matrix = Matrix::with_capacity(rows.ends.len(), rows.terms.len());
            matrix.append(&rows, |term| term);
            return Ok((RowArrays::new(py, matrix), unknown.into_pyarray(py)));
        }
        let table = self.table(py)?;
        let order: Vec<usize> = (0..documents.len()).collect();
        let portions = documents.portions(&order, PORTION);
        let finished: Mutex<Vec<(usize, Rows, Vec<i64>)>> = Mutex::new(Vec::new());
        let mut workers = vec![(); threads.clamp(1, portions.len().max(1))];
        let small = documents.total_size() < SMALL;
        share_out(py, &mut workers, portions.len(), small, |(), portion| {
            let (mut rows, mut unknown) = (Rows::default(), Vec::new());
            table.at_desk(|desk| {
                for row in portions[portion].clone() {
                    unknown.push(table.row(desk, documents.document(row), &mut rows));
                }
            });
            finished
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((portion, rows, unknown));
        })?;
        let mut finished = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
        finished.sort_unstable_by_key(|part| part.0);
        let entries = finished.iter().map(|(_, rows, _)| rows.terms.len()).sum();
        let (mut matrix, mut all_unknown) = (Matrix::with_capacity(documents.len(), entries), Vec::new());
        for (_, rows, unknown) in finished {
            matrix.append(&rows, |term| term);
            all_unknown.extend(unknown);
        }
        Ok((RowArrays::new(py, matrix), all_unknown.into_pyarray(py)))
    }
}

/// A linear classifier on the terms of documents: label = the highest of bias + sums of weights.
#[pyclass(frozen, name = "Scorer", module = "discern._native")]
struct PyScorer {
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
        let scorer = Scorer::new(vocabulary, weights.readonly().as_slice()?, bias.len(), presence);
        Ok(PyScorer {
            scorer,
            weights: weights.unbind(),
            bias,
            labels,
        })
    }

    /// Scores of each document and label, and how many of its terms are known and unknown.
    #[allow(clippy::type_complexity)]
    fn score<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<(
        Bound<'py, PyArray2<f64>>,
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i64>>,
    )> {
        let source = Source::new(documents)?;
        let documents = source.documents()?;
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
                for (row, sums) in range.zip(scores.chunks_exact_mut(width)) {
                    lengths.push(self.scorer.add(desk, documents.document(row), weights, sums));
                }
            });
            finished
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((portion, scores, lengths));
        })?;
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
        let document = [text.bytes()?];
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
fn distinct<'py>(
    py: Python<'py>,
    strings: &Bound<'py, PyAny>,
) -> PyResult<(
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
)> {
    let source = Source::new(strings)?;
    let documents = source.documents()?;
    let mut lexicon = Lexicon::default();
    let mut tokens = Tokens::new(lexicon.seeds());
    let mut numbers = Vec::with_capacity(documents.len());
    for row in 0..documents.len() {
        tokens.clear();
        tokens.push(documents.document(row)[0]);
        numbers.push(lexicon.intern(tokens.list()[0], &tokens) as i32);
    }
    let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
    for number in 0..lexicon.len() as u32 {
        lexicon.write_name(number, &mut bytes);
        offsets.push(bytes.len() as i64);
    }
    Ok((
        numbers.into_pyarray(py),
        offsets.into_pyarray(py),
        bytes.into_pyarray(py),
    ))
}

/// Merges sorted lists of terms, each given as (offsets, bytes): (offsets, bytes, new number of each old term).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn merge_terms<'py>(
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
    let (bytes, offsets, numbers) = py.detach(|| counts::merge_terms(&borrowed));
    let numbers = numbers.into_iter().map(|list| list.into_pyarray(py)).collect();
    Ok((offsets.into_pyarray(py), bytes.into_pyarray(py), numbers))
}

/// Whether terms, given as offsets and bytes, rise strictly.
#[pyfunction]
fn is_sorted(offsets: PyReadonlyArray1<'_, i64>, bytes: PyReadonlyArray1<'_, u8>) -> PyResult<bool> {
    Ok(slices(offsets.as_slice()?, bytes.as_slice()?)?.is_sorted_by(|left, right| left < right))
}

/// Offsets and bytes of a column of strings.
type ColumnArrays = (Py<PyArray1<i64>>, Py<PyArray1<u8>>);

/// Rows of a block of a CSV file.
#[pyclass(frozen, get_all, name = "Parsed", module = "discern._native")]
struct PyParsed {
    /// (offsets, bytes) of each wanted column, in their order.
    columns: Vec<ColumnArrays>,
    rows: usize,
    consumed: usize,
    /// (row in the block, number of fields) of rows that do not fit.
    ragged: Vec<(usize, usize)>,
    /// (place among the wanted columns, row) of the first value that is not UTF-8.
    invalid: Option<(usize, usize)>,
    /// The row whose last field has a quote that is never closed.
    unclosed: Option<usize>,
}

/// Splits a block of a CSV file; `follows`: more of the file comes after it.
#[pyfunction]
#[pyo3(signature = (block, wanted, *, delimiter=b',', quote=Some(b'"'), follows=false))]
fn parse_csv(
    py: Python<'_>,
    block: PyReadonlyArray1<'_, u8>,
    wanted: Vec<bool>,
    delimiter: u8,
    quote: Option<u8>,
    follows: bool,
) -> PyResult<PyParsed> {
    let block = block.as_slice()?;
    let (parsed, invalid) = py.detach(|| {
        let parsed = Dialect { delimiter, quote }.parse(block, &wanted, follows);
        let invalid: Vec<Option<usize>> = parsed.columns.iter().map(crate::csv::Column::first_invalid).collect();
        (parsed, invalid)
    });
    let chosen = || {
        wanted
            .iter()
            .enumerate()
            .filter(|(_, wanted)| **wanted)
            .map(|(column, _)| column)
    };
    let invalid = chosen()
        .enumerate()
        .find_map(|(place, column)| invalid[column].map(|row| (place, row)));
    let mut columns = Vec::new();
    for (column, _) in parsed.columns.into_iter().zip(&wanted).filter(|(_, wanted)| **wanted) {
        columns.push((
            column.offsets.into_pyarray(py).unbind(),
            column.bytes.into_pyarray(py).unbind(),
        ));
    }
    let ragged = parsed.ragged.iter().map(|ragged| (ragged.row, ragged.fields)).collect();
    let (rows, consumed, unclosed) = (parsed.rows, parsed.consumed, parsed.unclosed);
    Ok(PyParsed {
        columns,
        rows,
        consumed,
        ragged,
        invalid,
        unclosed,
    })
}

/// Rows of a table in one portion of work; fixed, so that sums do not depend on the number of threads.
const TABLE_ROWS: usize = 1 << 14;

/// Takes the class numbers of a table's rows, checked.
fn checked_classes<'a>(classes: &'a PyReadonlyArray1<'_, i32>, rows: usize, width: usize) -> PyResult<&'a [i32]> {
    let classes = classes.as_slice()?;
    if classes.len() != rows || classes.iter().any(|&class| class < 0 || class as usize >= width) {
        return Err(PyValueError::new_err("the class numbers do not fit the rows"));
    }
    Ok(classes)
}

fn checked_weights<'a>(weights: &'a Option<PyReadonlyArray1<'_, f64>>, rows: usize) -> PyResult<Option<&'a [f64]>> {
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    match weights {
        Some(weights) if weights.len() != rows => Err(PyValueError::new_err("the weights do not fit the rows")),
        _ => Ok(weights),
    }
}

fn row_range(portion: usize, rows: usize) -> std::ops::Range<usize> {
    portion * TABLE_ROWS..((portion + 1) * TABLE_ROWS).min(rows)
}

/// Sums of numbers by class and column about a pivot: (Σ w, Σ w(x−c), Σ w(x−c)²), each classes × columns.
#[pyfunction]
#[pyo3(signature = (table, classes, width, pivot, weights, threads))]
#[allow(clippy::type_complexity)]
fn moments<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    classes: PyReadonlyArray1<'py, i32>,
    width: usize,
    pivot: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    threads: usize,
) -> PyResult<(
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
)> {
    let (rows, columns) = table.as_array().dim();
    let (table, pivot) = (table.as_slice()?, pivot.as_slice()?);
    let (classes, weights) = (
        checked_classes(&classes, rows, width)?,
        checked_weights(&weights, rows)?,
    );
    if pivot.len() != columns {
        return Err(PyValueError::new_err("the pivot does not fit the columns"));
    }
    let parts: Mutex<Vec<(usize, Moments)>> = Mutex::new(Vec::new());
    let portions = if columns == 0 { 0 } else { rows.div_ceil(TABLE_ROWS) };
    let mut workers = vec![(); threads.clamp(1, portions.max(1))];
    share_out(py, &mut workers, portions, portions <= 1, |(), portion| {
        let range = row_range(portion, rows);
        let mut sums = Moments::new(width, columns);
        let chosen = weights.map(|weights| &weights[range.clone()]);
        sums.add(
            &table[range.start * columns..range.end * columns],
            &classes[range],
            chosen,
            pivot,
        );
        parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((portion, sums));
    })?;
    let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_unstable_by_key(|part| part.0);
    let mut total = Moments::new(width, columns);
    parts.iter().for_each(|(_, part)| total.merge(part));
    let shaped = |values: Vec<f64>| values.into_pyarray(py).reshape([width, columns]);
    Ok((shaped(total.counts)?, shaped(total.first)?, shaped(total.second)?))
}

/// Fills scores of rows × classes, portion by portion, each beginning as `bias`.
fn fill_scores<'py>(
    py: Python<'py>,
    rows: usize,
    bias: &[f64],
    threads: usize,
    score: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let portions = rows.div_ceil(TABLE_ROWS);
    let mut scores = bias.repeat(rows);
    {
        let slots: Vec<Mutex<&mut [f64]>> = scores
            .chunks_mut((TABLE_ROWS * bias.len()).max(1))
            .map(Mutex::new)
            .collect();
        let mut workers = vec![(); threads.clamp(1, portions.max(1))];
        share_out(py, &mut workers, slots.len(), portions <= 1, |(), portion| {
            let mut slot = slots[portion].lock().unwrap_or_else(PoisonError::into_inner);
            score(row_range(portion, rows), &mut slot);
        })?;
    }
    scores.into_pyarray(py).reshape([rows, bias.len()])
}

/// Scores of rows under normal densities by class and column: bias + Σ (level − (x − mean)² · scale).
#[pyfunction]
fn normal_scores<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    means: PyReadonlyArray2<'py, f64>,
    scales: PyReadonlyArray2<'py, f64>,
    levels: PyReadonlyArray2<'py, f64>,
    bias: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, columns) = table.as_array().dim();
    let bias = bias.as_slice()?;
    let shape = (bias.len(), columns);
    if [&means, &scales, &levels]
        .iter()
        .any(|array| array.as_array().dim() != shape)
    {
        return Err(PyValueError::new_err("the densities do not fit the table"));
    }
    let (table, normals) = (
        table.as_slice()?,
        Normals {
            means: means.as_slice()?,
            scales: scales.as_slice()?,
            levels: levels.as_slice()?,
        },
    );
    fill_scores(py, rows, bias, threads, |range, scores| {
        if columns > 0 {
            normals.score(
                &table[range.start * columns..range.end * columns],
                columns,
                bias.len(),
                scores,
            );
        }
    })
}

/// Counts of categories: a flat table of (column, level, class), columns having `levels` levels each.
#[pyfunction]
#[pyo3(signature = (table, levels, classes, width, weights))]
fn category_counts<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, i64>,
    levels: Vec<i64>,
    classes: PyReadonlyArray1<'py, i32>,
    width: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (rows, columns) = table.as_array().dim();
    let table = table.as_slice()?;
    let (classes, weights) = (
        checked_classes(&classes, rows, width)?,
        checked_weights(&weights, rows)?,
    );
    if levels.len() != columns || columns == 0 {
        return Err(PyValueError::new_err("the levels do not fit the columns"));
    }
    let places = Levels::new(&levels, width);
    let mut cells = vec![0.0; places.cells()];
    share_out(
        py,
        &mut [&mut cells],
        rows.div_ceil(TABLE_ROWS),
        rows <= TABLE_ROWS,
        |cells, portion| {
            let range = row_range(portion, rows);
            let chosen = weights.map(|weights| &weights[range.clone()]);
            places.count(
                &table[range.start * columns..range.end * columns],
                &classes[range],
                chosen,
                cells,
            );
        },
    )?;
    Ok(cells.into_pyarray(py))
}

/// Scores of rows of categories: bias + the weights of their levels, laid out as in `category_counts`.
#[pyfunction]
fn category_scores<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, i64>,
    levels: Vec<i64>,
    weights: PyReadonlyArray1<'py, f64>,
    bias: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, columns) = table.as_array().dim();
    let (table, weights, bias) = (table.as_slice()?, weights.as_slice()?, bias.as_slice()?);
    let places = Levels::new(&levels, bias.len());
    if levels.len() != columns || columns == 0 || weights.len() != places.cells() {
        return Err(PyValueError::new_err("the weights do not fit the levels"));
    }
    fill_scores(py, rows, bias, threads, |range, scores| {
        places.score(&table[range.start * columns..range.end * columns], weights, scores);
    })
}

/// BLAKE3 of a file, with the bytes from `start` to `end` read as zeros.
#[pyfunction]
fn checksum(py: Python<'_>, file: PyReadonlyArray1<'_, u8>, start: usize, end: usize) -> PyResult<String> {
    let file = file.as_slice()?;
    let (Some(before), Some(hole), Some(after)) = (file.get(..start), file.get(start..end), file.get(end..)) else {
        return Err(PyValueError::new_err("the place of the checksum is outside the file"));
    };
    Ok(py.detach(|| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(before).update(&vec![0; hole.len()]).update(after);
        hasher.finalize().to_hex().to_string()
    }))
}

/// What a safetensors file holds, checked: (metadata, [(name, type, shape, start, end)]).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn layout(
    file: PyReadonlyArray1<'_, u8>,
) -> PyResult<(
    std::collections::BTreeMap<String, String>,
    Vec<(String, String, Vec<usize>, usize, usize)>,
)> {
    let file = file.as_slice()?;
    let (header, metadata) =
        safetensors::SafeTensors::read_metadata(file).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let base = header + 8;
    let tensors = metadata.tensors().into_iter().map(|(name, info)| {
        let (start, end) = info.data_offsets;
        (
            name,
            info.dtype.to_string(),
            info.shape.clone(),
            base + start,
            base + end,
        )
    });
    let texts = metadata.metadata().iter().flatten();
    Ok((
        texts.map(|(key, text)| (key.clone(), text.clone())).collect(),
        tensors.collect(),
    ))
}

/// Which code this processor runs: "plain", "avx2" or "avx512".
#[pyfunction(name = "code_path")]
fn code_path_name() -> &'static str {
    code_path().name()
}

/// Fails inside a worker thread, for the test that such a failure becomes an ordinary exception.
#[pyfunction]
fn fail_on_purpose(py: Python<'_>, small: bool) -> PyResult<()> {
    share_out(py, &mut [(), ()], 4, small, |(), _| {
        std::panic::resume_unwind(Box::new("on purpose"));
    })
}

/// Works for about so many seconds on two threads, for the test that Ctrl-C is answered.
#[pyfunction]
fn work_for(py: Python<'_>, seconds: f64) -> PyResult<()> {
    if !(0.0..=60.0).contains(&seconds) {
        return Err(PyKeyError::new_err("seconds must be between 0 and 60"));
    }
    share_out(py, &mut [(), ()], (seconds * 200.0) as usize, false, |(), _| {
        std::thread::sleep(Duration::from_millis(10));
    })
}

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyText>()?;
    module.add_class::<Counter>()?;
    module.add_class::<PyDrained>()?;
    module.add_class::<RowArrays>()?;
    module.add_class::<PyVocabulary>()?;
    module.add_class::<PyScorer>()?;
    module.add_class::<PyParsed>()?;
    module.add_function(wrap_pyfunction!(distinct, module)?)?;
    module.add_function(wrap_pyfunction!(merge_terms, module)?)?;
    module.add_function(wrap_pyfunction!(is_sorted, module)?)?;
    module.add_function(wrap_pyfunction!(parse_csv, module)?)?;
    module.add_function(wrap_pyfunction!(moments, module)?)?;
    module.add_function(wrap_pyfunction!(normal_scores, module)?)?;
    module.add_function(wrap_pyfunction!(category_counts, module)?)?;
    module.add_function(wrap_pyfunction!(category_scores, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    module.add_function(wrap_pyfunction!(layout, module)?)?;
    module.add_function(wrap_pyfunction!(code_path_name, module)?)?;
    module.add_function(wrap_pyfunction!(fail_on_purpose, module)?)?;
    module.add_function(wrap_pyfunction!(work_for, module)?)?;
    Ok(())
}
