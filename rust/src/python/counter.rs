//! Terms counted by class over batches of documents.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use super::folds::{HeldOut, UNFIT};
use super::sources::Source;
use super::text::{PORTION, PyText, SMALL, Strict};
use super::work::{MOST_THREADS, interruptible, share_out};
use crate::counting::drain;
use crate::counting::matrix::Matrix;
use crate::counting::scores::Hashed;
use crate::counting::shard::Shard;
use crate::system::memory::roomy;
use crate::system::threads::side_by_side;
use crate::text::tokenizer::Text;

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
    /// Wait for the lock without holding Python, which the thread that has the lock may need.
    fn counting(&self, py: Python<'_>) -> MutexGuard<'_, Counting> {
        self.counting
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Take the counts; the next count starts anew.
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

    /// Count `documents`, the class of each given in `classes` as a number below `n_classes`. With `strict`, text that is
    /// not UTF-8 is a `UnicodeError`.
    #[pyo3(signature = (documents, classes, n_classes, threads, strict=false))]
    fn add(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        classes: PyReadonlyArray1<'_, i32>,
        n_classes: usize,
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
        if classes.iter().any(|&class| class < 0 || class as usize >= n_classes) {
            return Err(PyValueError::new_err("a class number is out of range"));
        }
        let watch = Strict::new(strict, &self.text, &documents)?;
        let mut counting = self.counting(py);
        counting.usable()?;
        counting.classes = counting.classes.max(n_classes);
        let (before, wide) = (counting.portions, counting.classes);
        // Running sums are kept for one class at a time: so documents are counted class by class.
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
                shard.take_invalid(); // forget what an earlier call has seen
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

    /// End the count: sorted terms, entries (term, class, occurrences, documents) and the kept rows.
    fn drain(&self, py: Python<'_>) -> PyResult<PyDrained> {
        let shards = self.counted(py)?;
        let (drained, rows) = interruptible(py, || drain::drain(shards))?;
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

    /// End the count with rows to validate by, of classes below `n_classes`: (offsets and bytes of the terms, rows).
    #[allow(clippy::type_complexity)]
    fn held_out<'py>(
        &self,
        py: Python<'py>,
        classes: PyReadonlyArray1<'py, i32>,
        n_classes: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>, HeldOut)> {
        let (shards, classes) = (self.counted(py)?, classes.as_slice()?);
        let (drained, made) = interruptible(py, || {
            let (drained, rows) = drain::drain(shards);
            let made = HeldOut::of_counted(rows, classes, n_classes, drained.terms());
            (drained, made)
        })?;
        let (offsets, bytes) = (drained.offsets.into_pyarray(py), drained.bytes.into_pyarray(py));
        Ok((offsets, bytes, made.ok_or_else(|| PyValueError::new_err(UNFIT))?))
    }

    /// End the count with rows of hashed columns: (row ends, columns, signed counts).
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
        let Matrix { starts, terms, counts } = interruptible(py, || hashed.rows(shards))?;
        Ok((starts.into_pyarray(py), terms.into_pyarray(py), counts.into_pyarray(py)))
    }
}

/// Sort the rows by their classes.
pub(super) fn by_class(classes: &[i32], n_classes: usize) -> Vec<usize> {
    let mut next = vec![0; n_classes + 1];
    classes.iter().for_each(|&class| next[class as usize + 1] += 1);
    (0..n_classes).for_each(|class| next[class + 1] += next[class]);
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
    pub(super) fn new(py: Python<'_>, matrix: Matrix<i64>) -> Self {
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

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Counter>()?;
    module.add_class::<PyDrained>()?;
    module.add_class::<RowArrays>()?;
    Ok(())
}
