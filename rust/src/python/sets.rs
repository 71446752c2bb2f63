//! Held-out rows with several labels each: counts of terms by label without a fold, and products with them.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::work::interruptible;
use crate::tables::by_class::Compressed;
use crate::tables::sets::{self as products, Growing, Held, HeldFold, Lines, held_out};

/// The starts, places and counts of compressed lines.
#[derive(FromPyObject)]
struct Counts<'py>(
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, i64>,
);

impl Counts<'_> {
    fn lines(&self, lines: usize, most: usize) -> PyResult<Compressed<'_, i32, i64>> {
        let table = Compressed {
            starts: self.0.as_slice()?,
            places: self.1.as_slice()?,
            values: self.2.as_slice()?,
        };
        if table.fits(lines) && table.within(most) {
            Ok(table)
        } else {
            Err(mismatch())
        }
    }
}

fn mismatch() -> PyErr {
    PyValueError::new_err("the rows, terms and labels do not match each other")
}

/// The arrays of lines: starts, places and numbers.
type LinesArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<f64>>,
);

/// A fold: the rows of its terms, the labels of its terms; the counts of its terms; the counts of all terms by label
/// and together; and the number of all terms.
type FoldArrays<'py> = (
    LinesArrays<'py>,
    LinesArrays<'py>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    f64,
    usize,
);

fn arrays(py: Python<'_>, lines: Growing) -> LinesArrays<'_> {
    (
        lines.starts.into_pyarray(py),
        lines.places.into_pyarray(py),
        lines.values.into_pyarray(py),
    )
}

/// Count terms by label in the rows that are not of a fold, for each fold and its terms.
///
/// Takes the rows of each term, the labels of each row, and of each row its fold (negative: none) and its place there.
/// Terms in fewer than `least` other rows are unknown to the fold.
#[pyfunction]
#[pyo3(signature = (by_term, sets, fold, place, n_folds, n_labels, presence, least))]
#[allow(clippy::too_many_arguments)]
fn hold_out_label_counts<'py>(
    py: Python<'py>,
    by_term: Counts<'_>,
    sets: Counts<'_>,
    fold: PyReadonlyArray1<'_, i32>,
    place: PyReadonlyArray1<'_, i32>,
    n_folds: usize,
    n_labels: usize,
    presence: bool,
    least: usize,
) -> PyResult<Vec<FoldArrays<'py>>> {
    let held = Held {
        fold: fold.as_slice()?,
        place: place.as_slice()?,
        folds: n_folds,
    };
    let (rows, n_terms) = (held.fold.len(), by_term.0.len().saturating_sub(1));
    if held.place.len() != rows || held.fold.iter().any(|&fold| fold >= 0 && fold as usize >= n_folds) {
        return Err(mismatch());
    }
    let (terms, sets) = (by_term.lines(n_terms, rows)?, sets.lines(rows, n_labels)?);
    let found = interruptible(py, || held_out(terms, sets, held, n_labels, presence, least))?;
    let fold = |fold: HeldFold| {
        (
            arrays(py, fold.rows),
            arrays(py, fold.labels),
            fold.terms.into_pyarray(py),
            fold.in_labels.into_pyarray(py),
            fold.total,
            fold.size,
        )
    };
    Ok(found.into_iter().map(fold).collect())
}

/// The starts, places and numbers of lines.
#[derive(FromPyObject)]
struct Given<'py>(
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i32>,
    PyReadonlyArray1<'py, f64>,
);

impl Given<'_> {
    fn lines(&self, lines: usize, most: usize) -> PyResult<Lines<'_>> {
        let found = Lines {
            starts: self.0.as_slice()?,
            places: self.1.as_slice()?,
            values: self.2.as_slice()?,
        };
        if found.fits(lines, most) {
            Ok(found)
        } else {
            Err(mismatch())
        }
    }
}

/// Add to the scores of rows × labels, for each term, how often a row has it times the weights of the term: its shift,
/// for every label, and those of its entries.
#[pyfunction]
fn add_products_of_terms(
    py: Python<'_>,
    rows: Given<'_>,
    weights: Given<'_>,
    shifts: PyReadonlyArray1<'_, f64>,
    mut scores: PyReadwriteArray2<'_, f64>,
) -> PyResult<()> {
    let ((n_rows, n_labels), shifts) = (scores.as_array().dim(), shifts.as_slice()?);
    let (rows, weights) = (
        rows.lines(shifts.len(), n_rows)?,
        weights.lines(shifts.len(), n_labels)?,
    );
    let scores = scores.as_slice_mut()?;
    if scores.is_empty() {
        return Ok(());
    }
    interruptible(py, || {
        products::add_products_of_terms(rows, weights, shifts, n_labels, scores)
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(hold_out_label_counts, module)?)?;
    module.add_function(wrap_pyfunction!(add_products_of_terms, module)?)
}
