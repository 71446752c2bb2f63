//! Rows of documents against a fixed vocabulary.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::counter::RowArrays;
use super::sources::{Source, slices};
use super::text::{PORTION, PyText, SMALL};
use super::work::{interruptible, share_out};
use crate::counting::matrix::{Matrix, Rows, in_order};
use crate::counting::scores::{Vocabulary, few_rows};
use crate::text::documents::Documents;
use crate::text::reader::Sorted;
use crate::text::tokenizer::Text;

/// Bytes of text that are read by searching the sorted vocabulary before a table is built.
pub(super) const MOST_SEARCHED: usize = 1 << 15;

/// A fixed, sorted list of terms: rows and scores of documents.
///
/// The list is used in place, in the model file: a few documents are read by searching it. A table is built when more
/// documents come.
#[pyclass(frozen, name = "Vocabulary", module = "discern._native")]
pub(super) struct PyVocabulary {
    text: Arc<Text>,
    offsets: Py<PyArray1<i64>>,
    bytes: Py<PyArray1<u8>>,
    read_by_search: AtomicUsize,
    table: OnceLock<Arc<Vocabulary>>,
}

impl PyVocabulary {
    /// Return the table, which is built on first use.
    pub(super) fn table(&self, py: Python<'_>) -> PyResult<Arc<Vocabulary>> {
        if let Some(vocabulary) = self.table.get() {
            return Ok(vocabulary.clone());
        }
        let (offsets, bytes) = (self.offsets.bind(py).readonly(), self.bytes.bind(py).readonly());
        let terms = slices(offsets.as_slice()?, bytes.as_slice()?)?;
        let built = interruptible(py, || Vocabulary::new(self.text.clone(), terms.iter().copied()))?
            .ok_or_else(|| PyValueError::new_err("a term is in the vocabulary twice"))?;
        // Concurrent threads each build one, and the first is kept: a thread that waited for another would wait forever
        // in a process that is forked meanwhile.
        Ok(self.table.get_or_init(|| Arc::new(built)).clone())
    }

    /// Return whether `size` bytes, together with those of earlier calls, are few enough to be read by searching.
    fn is_little(&self, size: usize) -> bool {
        let before = self
            .read_by_search
            .fetch_add(size.min(MOST_SEARCHED), Ordering::Relaxed);
        self.table.get().is_none() && before.saturating_add(size) < MOST_SEARCHED
    }

    /// Return rows, and how many terms of each are unknown, by searching the sorted list; `None` for too much text.
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

    /// Return the term counts of each document, and how many of its terms are unknown.
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
            table.with_workspace(|workspace| {
                for row in portions[portion].clone() {
                    unknown.push(table.row(workspace, documents.document(row), rows));
                }
            });
        })?;
        let (rows, unknown): (Vec<Rows>, Vec<Vec<i64>>) = workers.into_iter().unzip();
        let mut all_unknown = Vec::with_capacity(documents.len());
        for portion in in_order(&rows) {
            all_unknown.extend_from_slice(&unknown[portion.owner][portion.rows]);
        }
        let matrix = interruptible(py, || Matrix::joined(rows, |_| |term| term))?;
        Ok((RowArrays::new(py, matrix), all_unknown.into_pyarray(py)))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyVocabulary>()
}
