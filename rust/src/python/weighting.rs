//! tf–idf weights of rows of counts.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::work::share_out;
use crate::tables::weighting::{Norm, Weighting};

/// Entries in one portion of work.
const ENTRIES: usize = 1 << 18;

/// Take the starts of rows, checked against the number of entries.
fn checked_starts<'a>(starts: &'a PyReadonlyArray1<'_, i64>, entries: usize) -> PyResult<&'a [i64]> {
    let starts = starts.as_slice()?;
    let ends = starts.first() == Some(&0) && starts.last() == Some(&(entries as i64));
    if !ends || !starts.is_sorted() {
        return Err(PyValueError::new_err("the starts of the rows do not match the entries"));
    }
    Ok(starts)
}

/// Cut rows into ranges of about `ENTRIES` entries.
fn row_portions(starts: &[i64]) -> Vec<std::ops::Range<usize>> {
    let (mut portions, mut first) = (Vec::new(), 0);
    for row in 1..starts.len() {
        if (starts[row] - starts[first]) as usize >= ENTRIES || row + 1 == starts.len() {
            portions.push(first..row);
            first = row;
        }
    }
    portions
}

/// Replace counts by weights in a sparse matrix by rows: tf or 1 + ln tf, times idf, over the row's length.
///
/// If `whole`, the counts are 64-bit integers in the memory of the weights: a second array of this size would cost more
/// than the work.
#[pyfunction]
#[pyo3(signature = (starts, terms, values, whole, idf, sublinear, norm, threads))]
#[allow(clippy::too_many_arguments)]
pub(super) fn weigh<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i64>,
    terms: PyReadonlyArray1<'py, i32>,
    mut values: PyReadwriteArray1<'py, f64>,
    whole: bool,
    idf: Option<PyReadonlyArray1<'py, f64>>,
    sublinear: bool,
    norm: &str,
    threads: usize,
) -> PyResult<()> {
    let (terms, values) = (terms.as_slice()?, values.as_slice_mut()?);
    let starts = checked_starts(&starts, terms.len())?;
    let idf = idf.as_ref().map(|idf| idf.as_slice()).transpose()?;
    let norm = Norm::named(norm).ok_or_else(|| PyValueError::new_err("the norm must be none, l1 or l2"))?;
    let known = idf.map_or(usize::MAX, <[f64]>::len);
    if values.len() != terms.len() || terms.iter().any(|&term| term < 0 || term as usize >= known) {
        return Err(PyValueError::new_err("the counts or the idf do not match the terms"));
    }
    let weighting = Weighting::new(idf, sublinear, norm);
    let portions = row_portions(starts);
    let (mut slots, mut rest) = (Vec::with_capacity(portions.len()), values);
    for rows in &portions {
        let (slot, others) = rest.split_at_mut((starts[rows.end] - starts[rows.start]) as usize);
        slots.push(Mutex::new(slot));
        rest = others;
    }
    let mut workers = vec![(); threads.clamp(1, portions.len().max(1))];
    share_out(py, &mut workers, portions.len(), portions.len() <= 1, |(), portion| {
        let mut slot = slots[portion].lock().unwrap_or_else(PoisonError::into_inner);
        if whole {
            slot.iter_mut().for_each(|value| *value = value.to_bits() as i64 as f64);
        }
        let first = starts[portions[portion].start] as usize;
        for row in portions[portion].clone() {
            let (start, end) = (starts[row] as usize, starts[row + 1] as usize);
            weighting.row(&terms[start..end], &mut slot[start - first..end - first]);
        }
    })
}

/// Count the rows that have each of `n_terms` terms, given the terms of all rows.
#[pyfunction]
pub(super) fn term_rows<'py>(
    py: Python<'py>,
    terms: PyReadonlyArray1<'py, i32>,
    n_terms: usize,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let terms = terms.as_slice()?;
    if terms.iter().any(|&term| term < 0 || term as usize >= n_terms) {
        return Err(PyValueError::new_err("there is a term beyond the number of terms"));
    }
    let mut counts = vec![0i64; n_terms];
    let portions = terms.len().div_ceil(ENTRIES);
    share_out(py, &mut [&mut counts], portions, portions <= 1, |counts, portion| {
        let end = ((portion + 1) * ENTRIES).min(terms.len());
        terms[portion * ENTRIES..end]
            .iter()
            .for_each(|&term| counts[term as usize] += 1);
    })?;
    Ok(counts.into_pyarray(py))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(term_rows, module)?)?;
    module.add_function(wrap_pyfunction!(weigh, module)?)
}
