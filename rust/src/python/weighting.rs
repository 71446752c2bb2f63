//! tf–idf weights of rows of counts.

use std::sync::{Mutex, PoisonError};

use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::work::share_out;
use crate::weighting::{Norm, Weighting};

/// Entries in one portion of work.
const ENTRIES: usize = 1 << 18;

/// Counts as scipy keeps them.
#[derive(FromPyObject)]
pub(super) enum Numbers<'py> {
    Whole(PyReadonlyArray1<'py, i64>),
    Real(PyReadonlyArray1<'py, f64>),
}

/// Takes the starts of rows, checked against the number of entries.
pub(super) fn checked_starts<'a>(starts: &'a PyReadonlyArray1<'_, i64>, entries: usize) -> PyResult<&'a [i64]> {
    let starts = starts.as_slice()?;
    let ends = starts.first() == Some(&0) && starts.last() == Some(&(entries as i64));
    if !ends || !starts.is_sorted() {
        return Err(PyValueError::new_err("the starts of the rows do not fit the entries"));
    }
    Ok(starts)
}

/// Cuts rows into ranges of about `ENTRIES` entries.
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

fn weights_of<T: Element + Copy + Sync>(
    py: Python<'_>,
    (starts, terms, counts): (&[i64], &[i32], &[T]),
    weighting: &Weighting<'_>,
    threads: usize,
    number: impl Fn(T) -> f64 + Sync,
) -> PyResult<Vec<f64>> {
    let mut weights = vec![0.0; counts.len()];
    let portions = row_portions(starts);
    let (mut slots, mut rest) = (Vec::with_capacity(portions.len()), weights.as_mut_slice());
    for rows in &portions {
        let (slot, others) = rest.split_at_mut((starts[rows.end] - starts[rows.start]) as usize);
        slots.push(Mutex::new(slot));
        rest = others;
    }
    let mut workers = vec![(); threads.clamp(1, portions.len().max(1))];
    share_out(py, &mut workers, portions.len(), portions.len() <= 1, |(), portion| {
        let mut slot = slots[portion].lock().unwrap_or_else(PoisonError::into_inner);
        let rows = portions[portion].clone();
        let first = starts[rows.start] as usize;
        for row in rows {
            let (start, end) = (starts[row] as usize, starts[row + 1] as usize);
            let values = counts[start..end].iter().map(|&count| number(count));
            weighting.row(&terms[start..end], values, &mut slot[start - first..end - first]);
        }
    })?;
    drop(slots);
    Ok(weights)
}

/// The weights of the counts of a sparse matrix by rows: tf or 1 + ln tf, times idf, over the length of the row.
#[pyfunction]
#[pyo3(signature = (starts, terms, counts, idf, sublinear, norm, threads))]
#[allow(clippy::too_many_arguments)]
pub(super) fn weigh<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i64>,
    terms: PyReadonlyArray1<'py, i32>,
    counts: Numbers<'py>,
    idf: Option<PyReadonlyArray1<'py, f64>>,
    sublinear: bool,
    norm: &str,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let terms = terms.as_slice()?;
    let starts = checked_starts(&starts, terms.len())?;
    let idf = idf.as_ref().map(|idf| idf.as_slice()).transpose()?;
    let norm = Norm::named(norm).ok_or_else(|| PyValueError::new_err("the norm must be none, l1 or l2"))?;
    let known = idf.map_or(usize::MAX, <[f64]>::len);
    if terms.iter().any(|&term| term < 0 || term as usize >= known) {
        return Err(PyValueError::new_err("there is a term without an idf"));
    }
    let weighting = Weighting::new(idf, sublinear, norm);
    let unequal = || PyValueError::new_err("the counts do not fit the terms");
    let weights = match &counts {
        Numbers::Whole(counts) if counts.len()? == terms.len() => {
            let counts = counts.as_slice()?;
            weights_of(py, (starts, terms, counts), &weighting, threads, |count| count as f64)?
        }
        Numbers::Real(counts) if counts.len()? == terms.len() => {
            let counts = counts.as_slice()?;
            weights_of(py, (starts, terms, counts), &weighting, threads, |count| count)?
        }
        _ => return Err(unequal()),
    };
    Ok(weights.into_pyarray(py))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(weigh, module)?)
}
