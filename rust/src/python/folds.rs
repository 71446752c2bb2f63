//! Validation by subtraction.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::counter::by_class;
use super::work::{interruptible, share_out};
use crate::counting::folds::{Entries, Rows, Scratch, Smoothing, Validation, log_table};
use crate::counting::matrix::Matrix;

/// Rows in one portion of work, about.
const PORTION: usize = 1 << 8;

pub(super) const UNFIT: &str = "the rows do not match each other";

/// Rows of counts with their classes and sums, to be scored under the model that never saw them.
#[pyclass(frozen, module = "discern._native")]
pub(super) struct HeldOut {
    rows: Rows,
    classes: Vec<u32>,
    n_classes: usize,
    entries: Entries,
}

fn smoothing(kind: &str, value: f64) -> PyResult<Smoothing> {
    match kind {
        "Laplace" if value > 0.0 && value.is_finite() => Ok(Smoothing::Laplace(value)),
        "JelinekMercer" if (0.0..1.0).contains(&value) => Ok(Smoothing::JelinekMercer(value)),
        "Dirichlet" if value > 0.0 && value.is_finite() => Ok(Smoothing::Dirichlet(value)),
        _ => Err(PyValueError::new_err(format!("no smoothing {kind} of {value}"))),
    }
}

/// Split `order` at `ends`, checked against the number of rows.
fn folds(order: &[i64], ends: &[i64], rows: usize) -> PyResult<(Vec<usize>, Vec<usize>)> {
    let order: Option<Vec<usize>> = order
        .iter()
        .map(|&row| usize::try_from(row).ok().filter(|&row| row < rows))
        .collect();
    let ends: Option<Vec<usize>> = ends.iter().map(|&end| usize::try_from(end).ok()).collect();
    let fault = || PyValueError::new_err("the folds do not match the rows");
    let (order, ends) = (order.ok_or_else(fault)?, ends.ok_or_else(fault)?);
    let mut seen = vec![false; rows];
    let twice = order.iter().any(|&row| std::mem::replace(&mut seen[row], true));
    if twice || !ends.is_sorted() || ends.last().copied().unwrap_or(0) != order.len() {
        return Err(fault());
    }
    Ok((order, ends))
}

impl HeldOut {
    /// Take rows as they were counted, over `size` terms.
    pub(super) fn of_counted(rows: Matrix<u32>, classes: &[i32], n_classes: usize, size: usize) -> Option<Self> {
        Self::of(Rows::counted(rows)?, classes, n_classes, size)
    }

    /// Sum rows by class; none if there are not as many classes, or they are not below `n_classes`.
    fn of(rows: Rows, classes: &[i32], n_classes: usize, size: usize) -> Option<Self> {
        if rows.len() != classes.len() || classes.iter().any(|&class| class < 0 || class as usize >= n_classes) {
            return None;
        }
        let order = by_class(classes, n_classes);
        let classes: Vec<u32> = classes.iter().map(|&class| class as u32).collect();
        let entries = Entries::of(&rows, &classes, size, &order);
        Some(HeldOut {
            rows,
            classes,
            n_classes,
            entries,
        })
    }
}

fn wide(values: &[u32]) -> Vec<i64> {
    values.iter().map(|&value| i64::from(value)).collect()
}

#[pymethods]
impl HeldOut {
    /// Take rows of counts over `size` terms and the class of each row, a number below `n_classes`.
    #[new]
    fn new(
        py: Python<'_>,
        starts: PyReadonlyArray1<'_, i64>,
        terms: PyReadonlyArray1<'_, i32>,
        counts: PyReadonlyArray1<'_, i64>,
        size: usize,
        classes: PyReadonlyArray1<'_, i32>,
        n_classes: usize,
    ) -> PyResult<Self> {
        let (starts, terms, counts) = (starts.as_slice()?, terms.as_slice()?, counts.as_slice()?);
        let classes = classes.as_slice()?;
        let made = interruptible(py, || {
            HeldOut::of(Rows::new(starts, terms, counts, size)?, classes, n_classes, size)
        })?;
        made.ok_or_else(|| PyValueError::new_err(UNFIT))
    }

    /// The rows: (starts, terms, counts) of a compressed sparse matrix.
    #[allow(clippy::type_complexity)]
    fn rows<'py>(
        &self,
        py: Python<'py>,
    ) -> (
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i32>>,
        Bound<'py, PyArray1<i64>>,
    ) {
        let rows = self.rows.matrix();
        (
            PyArray1::from_slice(py, &rows.starts),
            PyArray1::from_slice(py, &rows.terms),
            wide(&rows.counts).into_pyarray(py),
        )
    }

    /// The sums by term and class: (entry terms, entry classes, occurrences, documents), in order.
    #[allow(clippy::type_complexity)]
    fn entries<'py>(
        &self,
        py: Python<'py>,
    ) -> (
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i64>>,
    ) {
        let mut terms = Vec::with_capacity(self.entries.classes.len());
        for (term, span) in self.entries.starts.windows(2).enumerate() {
            terms.resize(terms.len() + span[1] - span[0], term as i64);
        }
        (
            terms.into_pyarray(py),
            wide(&self.entries.classes).into_pyarray(py),
            wide(&self.entries.occurrences).into_pyarray(py),
            wide(&self.entries.documents).into_pyarray(py),
        )
    }

    /// Log likelihoods of the rows in `order`, cut into folds at `ends`, each under the model of all rows
    /// but its fold's; and how many known terms each has.
    #[allow(clippy::too_many_arguments, clippy::type_complexity)]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        value: f64,
        presence: bool,
        least: u32,
        order: PyReadonlyArray1<'py, i64>,
        ends: PyReadonlyArray1<'py, i64>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
        let (order, ends) = folds(order.as_slice()?, ends.as_slice()?, self.rows.len())?;
        let smoothing = smoothing(kind, value)?;
        let validation = Validation {
            rows: &self.rows,
            classes: &self.classes,
            n_classes: self.n_classes,
            entries: &self.entries,
            smoothing,
            presence,
            least,
            logs: log_table(smoothing),
        };
        let portions = portions(&ends);
        let (mut scores, mut lengths) = (vec![0.0; order.len() * self.n_classes], vec![0.0; order.len()]);
        {
            let slots = slots(&portions, self.n_classes, &mut scores, &mut lengths);
            let workers = threads.clamp(1, portions.len().max(1));
            let mut scratches: Vec<Scratch> = (0..workers).map(|_| validation.scratch()).collect();
            share_out(py, &mut scratches, portions.len(), false, |scratch, portion| {
                let mut slot = slots[portion].lock().unwrap_or_else(PoisonError::into_inner);
                let (scores, lengths) = &mut *slot;
                let first = portions[portion][0];
                for span in portions[portion].windows(2) {
                    let (start, end) = (span[0] - first, span[1] - first);
                    validation.score_fold(
                        scratch,
                        &order[span[0]..span[1]],
                        &mut scores[start * self.n_classes..end * self.n_classes],
                        &mut lengths[start..end],
                    );
                }
            })?;
        }
        let scores = scores.into_pyarray(py).reshape([order.len(), self.n_classes])?;
        Ok((scores, lengths.into_pyarray(py)))
    }
}

/// Group folds into portions of work: the bounds of the folds of each.
fn portions(ends: &[usize]) -> Vec<Vec<usize>> {
    let mut portions = vec![vec![0]];
    for &end in ends {
        let full = portions
            .last()
            .is_some_and(|last| last.len() > 1 && end - last[0] > PORTION);
        if full {
            let start = portions.last().and_then(|last| last.last().copied()).unwrap_or(0);
            portions.push(vec![start]);
        }
        if let Some(last) = portions.last_mut() {
            last.push(end);
        }
    }
    portions
}

type Slot<'a> = Mutex<(&'a mut [f64], &'a mut [f64])>;

/// The place for the results of each portion.
fn slots<'a>(
    portions: &[Vec<usize>],
    n_classes: usize,
    mut scores: &'a mut [f64],
    mut lengths: &'a mut [f64],
) -> Vec<Slot<'a>> {
    let mut slots = Vec::new();
    for portion in portions {
        let rows = portion.last().copied().unwrap_or(0) - portion[0];
        let (mine, rest) = scores.split_at_mut(rows * n_classes);
        let (mine_lengths, rest_lengths) = lengths.split_at_mut(rows);
        slots.push(Mutex::new((mine, mine_lengths)));
        (scores, lengths) = (rest, rest_lengths);
    }
    slots
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<HeldOut>()
}
