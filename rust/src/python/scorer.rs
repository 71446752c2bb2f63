//! Scores of documents: sums of the weights of their terms.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::sources::Source;
use super::text::{PORTION, SMALL, Strict};
use super::vocabulary::PyVocabulary;
use super::work::{interruptible, share_out};
use crate::counting::scores::Scorer;

/// A linear classifier on the terms of documents: label = the highest of bias + sums of weights.
#[pyclass(frozen, name = "Scorer", module = "discern._native")]
pub(super) struct PyScorer {
    scorer: Scorer,
    weights: Py<PyArray2<f64>>,
    bias: Vec<f64>,
}

impl PyScorer {
    /// The number of classes.
    pub(super) fn classes(&self) -> usize {
        self.bias.len()
    }

    /// Write the scores of one document, and return how many of its terms are known.
    pub(super) fn write(&self, py: Python<'_>, document: &[&[u8]], scores: &mut [f64]) -> PyResult<i64> {
        let weights = self.weights.bind(py).readonly();
        let weights = weights.as_slice()?;
        scores.copy_from_slice(&self.bias);
        let (known, _) = self
            .scorer
            .vocabulary()
            .with_workspace(|workspace| self.scorer.add(workspace, document, weights, scores));
        Ok(known)
    }
}

#[pymethods]
impl PyScorer {
    #[new]
    fn new(
        py: Python<'_>,
        vocabulary: &PyVocabulary,
        weights: Bound<'_, PyArray2<f64>>,
        bias: Vec<f64>,
        presence: bool,
    ) -> PyResult<Self> {
        let vocabulary = vocabulary.table(py)?;
        let fits = weights.shape() == [vocabulary.len(), bias.len()];
        if !fits || bias.is_empty() {
            return Err(PyValueError::new_err("bias and weights do not match the vocabulary"));
        }
        let read = weights.readonly();
        let table = read.as_slice()?;
        let scorer = interruptible(py, || Scorer::new(vocabulary, table, bias.len(), presence))?;
        drop(read);
        Ok(PyScorer {
            scorer,
            weights: weights.unbind(),
            bias,
        })
    }

    /// Return the scores of each document and label, and how many of its terms are known and unknown. With `strict`,
    /// text that is not UTF-8 is a `UnicodeError`.
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
        let n_classes = self.bias.len();
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
            self.scorer.vocabulary().with_workspace(|workspace| {
                workspace.take_invalid(); // forget what an earlier call has seen
                for (row, sums) in range.zip(scores.chunks_exact_mut(n_classes)) {
                    lengths.push(self.scorer.add(workspace, documents.document(row), weights, sums));
                }
                watch.look(|| workspace.take_invalid());
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
        let scores = scores.into_pyarray(py).reshape([documents.len(), n_classes])?;
        Ok((scores, known.into_pyarray(py), unknown.into_pyarray(py)))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScorer>()
}
