//! Logistic regression learned from documents while they are read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use super::sources::{Source, slices};
use super::tables::checked_classes;
use super::text::{PORTION, PyText, SMALL};
use super::work::{interruptible, share_out};
use crate::learners::streaming::{Cell, Learner, Model};
use crate::system::cancel::checkpoint;
use crate::text::lexicon::Lexicon;
use crate::text::tokenizer::Text;

/// The most classes: each has a weight for every term.
const MOST_CLASSES: usize = 1 << 16;

#[derive(Default)]
struct Learning {
    /// `None` before the first document.
    model: Option<Model>,
    broken: bool,
}

/// Terms (offsets, bytes), then weights and sums of squares: a row a learner, a column a term, the bias last.
type State<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray2<f32>>,
);

/// Learns from documents, in the order given, over any number of batches.
#[pyclass(frozen, module = "discern._native")]
pub(super) struct TextLearner {
    text: Arc<Text>,
    rate: f32,
    learning: Mutex<Learning>,
}

impl TextLearner {
    /// Wait for the lock without holding Python, which the thread that has the lock may need.
    fn learning(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Learning>> {
        let learning = self
            .learning
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner);
        match learning.broken {
            true => Err(PyRuntimeError::new_err(
                "learning was interrupted within a batch; start a new model",
            )),
            false => Ok(learning),
        }
    }
}

#[pymethods]
impl TextLearner {
    #[new]
    fn new(text: &PyText, rate: f32) -> PyResult<Self> {
        if !(rate > 0.0 && rate <= 1e6) {
            return Err(PyValueError::new_err("the rate must be above 0 and at most 1000000"));
        }
        Ok(TextLearner {
            text: text.0.clone(),
            rate,
            learning: Mutex::default(),
        })
    }

    /// Continue from a state that `state` returned.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn restored(
        py: Python<'_>,
        text: &PyText,
        rate: f32,
        classes: usize,
        offsets: PyReadonlyArray1<'_, i64>,
        bytes: PyReadonlyArray1<'_, u8>,
        weights: PyReadonlyArray2<'_, f32>,
        squares: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Self> {
        let made = Self::new(text, rate)?;
        let terms = slices(offsets.as_slice()?, bytes.as_slice()?)?;
        let learners = learners_of(classes, terms.len(), &weights, &squares)?;
        let lexicon = interruptible(py, || {
            Lexicon::from_terms(terms.iter().copied(), made.text.joins_words())
        })?
        .filter(|lexicon| lexicon.len() == terms.len())
        .ok_or_else(|| PyValueError::new_err("the terms do not make a vocabulary"))?;
        made.learning(py)?.model = Some(Model::with(&made.text, rate, lexicon, classes, learners));
        Ok(made)
    }

    /// Learn documents, the class of each given as a number below `n_classes`. All classes below `begun` start at once,
    /// others with their first document.
    fn learn(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        classes: PyReadonlyArray1<'_, i32>,
        n_classes: usize,
        begun: usize,
    ) -> PyResult<()> {
        let source = Source::new(documents)?;
        let documents = source.documents()?;
        let classes = checked_classes(&classes, documents.len(), n_classes)?;
        if n_classes.max(begun) > MOST_CLASSES {
            return Err(PyValueError::new_err(format!(
                "{} classes are too many to learn one by one; at most {MOST_CLASSES} are possible",
                n_classes.max(begun)
            )));
        }
        let order: Vec<usize> = (0..documents.len()).collect();
        let portions = documents.portions(&order, PORTION);
        let small = documents.total_size() < SMALL;
        let mut learning = self.learning(py)?;
        let model = learning
            .model
            .get_or_insert_with(|| Model::new(&self.text, self.rate, documents.total_size()));
        model.widen(begun);
        let done = share_out(
            py,
            std::slice::from_mut(model),
            portions.len(),
            small,
            |model, portion| {
                for row in portions[portion].clone() {
                    model.learn(documents.document(row), classes[row] as usize);
                }
            },
        );
        learning.broken = done.is_err();
        done
    }

    /// The score of each document under each learner: one for two classes, else one a class.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let source = Source::new(documents)?;
        let documents = source.documents()?;
        let learning = self.learning(py)?;
        let model = learning.model.as_ref().ok_or_else(nothing_learned)?;
        let order: Vec<usize> = (0..documents.len()).collect();
        let portions = documents.portions(&order, PORTION);
        let finished: Mutex<Vec<(usize, Vec<f64>)>> = Mutex::default();
        let mut workspaces: Vec<_> = (0..threads.clamp(1, portions.len().max(1)))
            .map(|_| model.workspace())
            .collect();
        let small = documents.total_size() < SMALL;
        share_out(py, &mut workspaces, portions.len(), small, |workspace, portion| {
            let mut scores = Vec::new();
            for row in portions[portion].clone() {
                model.score(workspace, documents.document(row), &mut scores);
            }
            finished
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((portion, scores));
        })?;
        let mut finished = finished.into_inner().unwrap_or_else(PoisonError::into_inner);
        finished.sort_unstable_by_key(|part| part.0);
        let scores: Vec<f64> = finished.into_iter().flat_map(|part| part.1).collect();
        scores
            .into_pyarray(py)
            .reshape([documents.len(), model.learners().len()])
    }

    /// Return how many terms were seen.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self
            .learning(py)?
            .model
            .as_ref()
            .map_or(0, |model| model.lexicon().len()))
    }

    /// Return everything that was learned.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let learning = self.learning(py)?;
        let model = learning.model.as_ref().ok_or_else(nothing_learned)?;
        let ((offsets, bytes), weights, squares) = interruptible(py, || {
            (
                named(model.lexicon()),
                of_cells(model, |cell| cell.weight),
                of_cells(model, |cell| cell.squares),
            )
        })?;
        let shape = [model.learners().len(), model.lexicon().len() + 1];
        Ok((
            offsets.into_pyarray(py),
            bytes.into_pyarray(py),
            weights.into_pyarray(py).reshape(shape)?,
            squares.into_pyarray(py).reshape(shape)?,
        ))
    }
}

fn nothing_learned() -> PyErr {
    PyValueError::new_err("nothing was learned yet")
}

/// The bytes of all terms, and where each starts.
fn named(lexicon: &Lexicon) -> (Vec<i64>, Vec<u8>) {
    let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
    for term in 0..lexicon.len() as u32 {
        checkpoint();
        lexicon.write_name(term, &mut bytes);
        offsets.push(bytes.len() as i64);
    }
    (offsets, bytes)
}

/// A number of each cell, learner by learner, the bias after the terms.
fn of_cells(model: &Model, number: impl Fn(Cell) -> f32) -> Vec<f32> {
    let terms = model.lexicon().len();
    let learners = model.learners().iter();
    learners.flat_map(|learner| learner.cells(terms)).map(number).collect()
}

fn learners_of(
    classes: usize,
    terms: usize,
    weights: &PyReadonlyArray2<'_, f32>,
    squares: &PyReadonlyArray2<'_, f32>,
) -> PyResult<Vec<Learner>> {
    let (weights, squares) = (weights.as_slice()?, squares.as_slice()?);
    let learners = if classes <= 2 { 1 } else { classes };
    let fits = [weights.len(), squares.len()] == [learners * (terms + 1); 2];
    let sound = weights.iter().all(|weight| weight.is_finite()) && squares.iter().all(|&sum| sum > 0.0);
    if !fits || !sound {
        return Err(PyValueError::new_err("the weights do not match the terms and classes"));
    }
    let cell = |(&weight, &squares): (&f32, &f32)| Cell { weight, squares };
    let rows = weights.chunks_exact(terms + 1).zip(squares.chunks_exact(terms + 1));
    Ok(rows
        .map(|(weights, squares)| {
            let mut cells: Vec<Cell> = weights.iter().zip(squares).map(cell).collect();
            let bias = cells.pop().unwrap_or_default();
            Learner::new(cells, bias)
        })
        .collect())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TextLearner>()
}
