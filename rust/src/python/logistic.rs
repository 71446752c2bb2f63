//! Logistic regression.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::tables::{TABLE_ROWS, checked_classes, checked_weights, fill_scores, row_range};
use super::work::{internal_error, interruptible, share_out};
use crate::learners::logistic::dense::{Sums, fill_probabilities};
use crate::learners::logistic::dual::{DualDescent, Sparse};
use crate::learners::logistic::residuals::{Labels, residuals};
use crate::system::cancel::check_now;

/// Rows that the dual descent visits in one portion of work.
const VISITED_ROWS: usize = 1 << 10;

/// Loss, gradient and Hessian (None unless asked for) of a table at coefficients, the intercept last; two classes.
#[pyfunction]
#[pyo3(signature = (table, classes, coefficients, weights, hessian, threads))]
#[allow(clippy::type_complexity)]
pub(super) fn logistic_sums<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    classes: PyReadonlyArray1<'py, i32>,
    coefficients: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    hessian: bool,
    threads: usize,
) -> PyResult<(f64, Bound<'py, PyArray1<f64>>, Option<Bound<'py, PyArray2<f64>>>)> {
    let (rows, columns) = table.as_array().dim();
    let (table, coefficients) = (table.as_slice()?, checked_coefficients(&coefficients, columns)?);
    let (classes, weights) = (checked_classes(&classes, rows, 2)?, checked_weights(&weights, rows)?);
    let parts: Mutex<Vec<(usize, Sums)>> = Mutex::new(Vec::new());
    let portions = rows.div_ceil(TABLE_ROWS);
    let mut workers = vec![(); threads.clamp(1, portions.max(1))];
    share_out(py, &mut workers, portions, portions <= 1, |(), portion| {
        let range = row_range(portion, rows);
        let mut sums = Sums::new(columns, hessian);
        let chosen = weights.map(|weights| &weights[range.clone()]);
        let numbers = &table[range.start * columns..range.end * columns];
        sums.add_rows(numbers, &classes[range], chosen, coefficients);
        parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((portion, sums));
    })?;
    let mut parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_unstable_by_key(|part| part.0);
    let mut total = Sums::new(columns, hessian);
    parts.iter().for_each(|(_, part)| total.merge(part));
    let side = columns + 1;
    let squared = hessian.then(|| total.hessian().into_pyarray(py).reshape([side, side]));
    Ok((total.loss, total.gradient().into_pyarray(py), squared.transpose()?))
}

fn checked_coefficients<'a>(coefficients: &'a PyReadonlyArray1<'_, f64>, columns: usize) -> PyResult<&'a [f64]> {
    let coefficients = coefficients.as_slice()?;
    if columns == 0 || coefficients.len() != columns + 1 {
        return Err(PyValueError::new_err("the coefficients do not match the columns"));
    }
    Ok(coefficients)
}

/// Probabilities of both classes for the rows of a table; NaN where a score is not a finite number.
#[pyfunction]
pub(super) fn logistic_probabilities<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    coefficients: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, columns) = table.as_array().dim();
    let (table, coefficients) = (table.as_slice()?, checked_coefficients(&coefficients, columns)?);
    fill_scores(py, (rows, 2), false, threads, |range, pairs| {
        let numbers = &table[range.start * columns..range.end * columns];
        fill_probabilities(numbers, columns, coefficients, pairs);
    })
}

/// Replace scores, a line for each output, by the residuals of the rows, and return the loss. The intercepts are added to
/// the scores first; a single output is the log odds of the second of two classes.
#[pyfunction]
#[pyo3(signature = (scores, intercepts, classes, weights))]
pub(super) fn logistic_residuals(
    mut scores: PyReadwriteArray2<'_, f64>,
    intercepts: PyReadonlyArray1<'_, f64>,
    classes: PyReadonlyArray1<'_, i32>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<f64> {
    let (outputs, rows) = scores.as_array().dim();
    let intercepts = intercepts.as_slice()?;
    if outputs == 0 || intercepts.len() != outputs {
        return Err(PyValueError::new_err("the intercepts do not match the scores"));
    }
    let labels = Labels {
        classes: checked_classes(&classes, rows, outputs.max(2))?,
        weights: checked_weights(&weights, rows)?,
    };
    if rows == 0 {
        return Ok(0.0);
    }
    catch_unwind(AssertUnwindSafe(|| {
        Ok(residuals(scores.as_slice_mut()?, rows, intercepts, labels))
    }))
    .map_err(|_| internal_error())?
}

/// Coefficients (the intercept last) of sparse rows by dual coordinate descent, the epochs it took, and the norm of the
/// distance of the dual variables from their optimum. Ends when that is at most `enough`, or after `epochs` epochs.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(super) fn logistic_dual<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i32>,
    columns: PyReadonlyArray1<'py, i32>,
    values: PyReadonlyArray1<'py, f64>,
    classes: PyReadonlyArray1<'py, i32>,
    costs: PyReadonlyArray1<'py, f64>,
    mean: PyReadonlyArray1<'py, f64>,
    intercept: bool,
    epochs: usize,
    enough: f64,
    seed: u64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, usize, f64)> {
    let (mean, costs) = (mean.as_slice()?, costs.as_slice()?);
    let rows = Sparse::new(starts.as_slice()?, columns.as_slice()?, values.as_slice()?, mean.len())
        .ok_or_else(|| PyValueError::new_err("the sparse rows do not match each other"))?;
    let classes = checked_classes(&classes, rows.rows(), 2)?;
    if costs.len() != rows.rows() || !costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0) {
        return Err(PyValueError::new_err("the costs do not match the rows"));
    }
    let mut descent = DualDescent::new(&rows, classes, costs, mean, intercept, seed | 1);
    let mut done = 0;
    interruptible(py, || {
        while done < epochs && descent.lacking > enough {
            descent.shuffle();
            for start in (0..rows.rows()).step_by(VISITED_ROWS) {
                check_now();
                descent.visit(start..(start + VISITED_ROWS).min(rows.rows()));
            }
            descent.end_epoch();
            done += 1;
        }
    })?;
    Ok((descent.coefficients().into_pyarray(py), done, descent.lacking))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(logistic_sums, module)?)?;
    module.add_function(wrap_pyfunction!(logistic_probabilities, module)?)?;
    module.add_function(wrap_pyfunction!(logistic_residuals, module)?)?;
    module.add_function(wrap_pyfunction!(logistic_dual, module)?)?;
    Ok(())
}
