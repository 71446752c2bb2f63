//! Tables of numbers and categories.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::work::share_out;
use crate::tables::{Levels, Moments, Normals};

/// Rows of a table in one portion of work; fixed, so that sums do not depend on the number of threads.
pub(super) const TABLE_ROWS: usize = 1 << 14;

/// Takes the class numbers of a table's rows, checked.
pub(super) fn checked_classes<'a>(
    classes: &'a PyReadonlyArray1<'_, i32>,
    rows: usize,
    width: usize,
) -> PyResult<&'a [i32]> {
    let classes = classes.as_slice()?;
    if classes.len() != rows || classes.iter().any(|&class| class < 0 || class as usize >= width) {
        return Err(PyValueError::new_err("the class numbers do not fit the rows"));
    }
    Ok(classes)
}

pub(super) fn checked_weights<'a>(
    weights: &'a Option<PyReadonlyArray1<'_, f64>>,
    rows: usize,
) -> PyResult<Option<&'a [f64]>> {
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    match weights {
        Some(weights) if weights.len() != rows => Err(PyValueError::new_err("the weights do not fit the rows")),
        _ => Ok(weights),
    }
}

pub(super) fn row_range(portion: usize, rows: usize) -> std::ops::Range<usize> {
    portion * TABLE_ROWS..((portion + 1) * TABLE_ROWS).min(rows)
}

/// Sums of numbers by class and column about a pivot: (Σ w, Σ w(x−c), Σ w(x−c)²), each classes × columns.
#[pyfunction]
#[pyo3(signature = (table, classes, width, pivot, weights, threads))]
#[allow(clippy::type_complexity)]
pub(super) fn moments<'py>(
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
pub(super) fn fill_scores<'py>(
    py: Python<'py>,
    rows: usize,
    bias: &[f64],
    threads: usize,
    score: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let portions = rows.div_ceil(TABLE_ROWS);
    // Zeros come from the system as they are first touched; other numbers would have to be written first.
    let zeros = bias.iter().all(|value| *value == 0.0);
    let mut scores = if zeros {
        vec![0.0; rows * bias.len()]
    } else {
        bias.repeat(rows)
    };
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
pub(super) fn normal_scores<'py>(
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
pub(super) fn category_counts<'py>(
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
pub(super) fn category_scores<'py>(
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

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(moments, module)?)?;
    module.add_function(wrap_pyfunction!(normal_scores, module)?)?;
    module.add_function(wrap_pyfunction!(category_counts, module)?)?;
    module.add_function(wrap_pyfunction!(category_scores, module)?)?;
    Ok(())
}
