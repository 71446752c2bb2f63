//! Tables of numbers and categories.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;

use super::work::{interruptible, share_out};
use crate::tables::bins::Bins;
use crate::tables::edges;
use crate::tables::entropy;
use crate::tables::expectations::{Expectations, Parts};
use crate::tables::labels::number_labels as number_labels_in_order;
use crate::tables::levels::{LevelCounts, Levels};
use crate::tables::moments::{Moments, Normals};
use crate::tables::posterior;

/// Rows of a table in one portion of work; fixed, so that sums do not depend on the number of threads.
pub(super) const TABLE_ROWS: usize = 1 << 14;

/// The most numbers × classes that are cut by their classes: each cell takes eight bytes.
const MOST_CUT_CELLS: usize = 1 << 31;

/// Take the class numbers of a table's rows, checked.
pub(super) fn checked_classes<'a>(
    classes: &'a PyReadonlyArray1<'_, i32>,
    rows: usize,
    n_classes: usize,
) -> PyResult<&'a [i32]> {
    let classes = classes.as_slice()?;
    // As unsigned numbers, negative ones are above all others.
    let highest = classes.iter().map(|&class| class as u32).max();
    if classes.len() != rows || highest.is_some_and(|highest| highest as usize >= n_classes) {
        return Err(PyValueError::new_err("the class numbers do not match the rows"));
    }
    Ok(classes)
}

pub(super) fn checked_weights<'a>(
    weights: &'a Option<PyReadonlyArray1<'_, f64>>,
    rows: usize,
) -> PyResult<Option<&'a [f64]>> {
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    match weights {
        Some(weights) if weights.len() != rows => Err(PyValueError::new_err("the weights do not match the rows")),
        _ => Ok(weights),
    }
}

pub(super) fn row_range(portion: usize, rows: usize) -> std::ops::Range<usize> {
    portion * TABLE_ROWS..((portion + 1) * TABLE_ROWS).min(rows)
}

/// Sum numbers by class and column about a pivot: (Σ w, Σ w(x−c), Σ w(x−c)²), each classes × columns.
#[pyfunction]
#[pyo3(signature = (table, classes, n_classes, pivot, weights, threads))]
#[allow(clippy::type_complexity)]
pub(super) fn moments<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    classes: PyReadonlyArray1<'py, i32>,
    n_classes: usize,
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
        checked_classes(&classes, rows, n_classes)?,
        checked_weights(&weights, rows)?,
    );
    if pivot.len() != columns {
        return Err(PyValueError::new_err("the pivot does not match the columns"));
    }
    let parts: Mutex<Vec<(usize, Moments)>> = Mutex::new(Vec::new());
    let portions = if columns == 0 { 0 } else { rows.div_ceil(TABLE_ROWS) };
    let mut workers = vec![(); threads.clamp(1, portions.max(1))];
    share_out(py, &mut workers, portions, portions <= 1, |(), portion| {
        let range = row_range(portion, rows);
        let chosen = weights.map(|weights| &weights[range.clone()]);
        let sums = Moments::of(
            &table[range.start * columns..range.end * columns],
            &classes[range],
            n_classes,
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
    let mut total = Moments::new(n_classes, columns);
    parts.iter().for_each(|(_, part)| total.merge(part));
    let shaped = |values: Vec<f64>| values.into_pyarray(py).reshape([n_classes, columns]);
    Ok((shaped(total.counts)?, shaped(total.first)?, shaped(total.second)?))
}

/// Fill scores of rows × classes, portion by portion, and turn them into probabilities if wanted.
pub(super) fn fill_scores<'py>(
    py: Python<'py>,
    (rows, classes): (usize, usize),
    probabilities: bool,
    threads: usize,
    score: impl Fn(std::ops::Range<usize>, &mut [f64]) + Sync,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let scores = PyArray2::zeros(py, [rows, classes], false);
    on_portions(py, &mut scores.readwrite(), threads, |portion, scores| {
        score(row_range(portion, rows), scores);
        if probabilities {
            posterior::posterior(scores, classes);
        }
    })?;
    Ok(scores)
}

/// Work on the rows of a table, portion by portion.
pub(super) fn on_portions<T: numpy::Element + Send>(
    py: Python<'_>,
    table: &mut PyReadwriteArray2<'_, T>,
    threads: usize,
    job: impl Fn(usize, &mut [T]) + Sync,
) -> PyResult<()> {
    let columns = table.as_array().ncols();
    let portions = table.as_slice_mut()?.chunks_mut((TABLE_ROWS * columns).max(1));
    let slots: Vec<Mutex<&mut [T]>> = portions.map(Mutex::new).collect();
    let mut workers = vec![(); threads.clamp(1, slots.len().max(1))];
    share_out(py, &mut workers, slots.len(), slots.len() <= 1, |(), portion| {
        job(
            portion,
            &mut slots[portion].lock().unwrap_or_else(PoisonError::into_inner),
        );
    })
}

/// Turn rows of log joint probabilities into probabilities, in place.
#[pyfunction]
pub(super) fn to_probabilities(py: Python<'_>, mut scores: PyReadwriteArray2<'_, f64>, threads: usize) -> PyResult<()> {
    let classes = scores.as_array().ncols();
    on_portions(py, &mut scores, threads, |_, scores| {
        posterior::posterior(scores, classes)
    })
}

/// Expectations of parts of scores (rows × classes) under the probabilities of their sum, each part times its factor in
/// a row: log totals, means of parts × rows, and means of products of pairs × rows, (0, 0), (0, 1), …, (1, 1), ….
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(super) fn expectations<'py>(
    py: Python<'py>,
    parts: Vec<PyReadonlyArray2<'py, f64>>,
    factors: Vec<PyReadonlyArray1<'py, f64>>,
) -> PyResult<(
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
)> {
    let shape @ (rows, classes) = parts.first().map_or((0, 0), |part| part.as_array().dim());
    let fits = parts.iter().all(|part| part.as_array().dim() == shape) && parts.len() == factors.len();
    if !fits || classes == 0 || factors.iter().any(|one| one.as_array().len() != rows) {
        return Err(PyValueError::new_err("the factors do not match the scores"));
    }
    let parts = Parts {
        scores: parts.iter().map(|part| part.as_slice()).collect::<Result<_, _>>()?,
        factors: factors.iter().map(|one| one.as_slice()).collect::<Result<_, _>>()?,
        classes,
    };
    let found = interruptible(py, || Expectations::of(&parts, rows))?;
    let n_parts = parts.scores.len();
    Ok((
        found.log_totals.into_pyarray(py),
        found.means.into_pyarray(py).reshape([n_parts, rows])?,
        found
            .products
            .into_pyarray(py)
            .reshape([n_parts * (n_parts + 1) / 2, rows])?,
    ))
}

/// Score rows under normal densities by class and column: bias + Σ (level − (x − mean)² · scale).
#[pyfunction]
#[pyo3(signature = (table, means, scales, levels, bias, threads, probabilities=false))]
#[allow(clippy::too_many_arguments)]
pub(super) fn normal_scores<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    means: PyReadonlyArray2<'py, f64>,
    scales: PyReadonlyArray2<'py, f64>,
    levels: PyReadonlyArray2<'py, f64>,
    bias: PyReadonlyArray1<'py, f64>,
    threads: usize,
    probabilities: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, columns) = table.as_array().dim();
    let bias = bias.as_slice()?;
    let shape = (bias.len(), columns);
    let fits = |array: &PyReadonlyArray2<'_, f64>| array.as_array().dim() == shape;
    if columns == 0 || ![&means, &scales, &levels].into_iter().all(fits) {
        return Err(PyValueError::new_err("the densities do not match the table"));
    }
    let normals = Normals {
        means: means.as_slice()?,
        scales: scales.as_slice()?,
        levels: levels.as_slice()?,
        bias,
    };
    let (table, heights) = (table.as_slice()?, normals.heights(columns));
    fill_scores(py, (rows, bias.len()), probabilities, threads, |range, scores| {
        let part = &table[range.start * columns..range.end * columns];
        normals.score(part, columns, &heights, scores);
    })
}

/// Count categories: for each column an array of levels × classes; and how many values were negative.
#[pyfunction]
#[pyo3(signature = (table, classes, n_classes, weights, threads))]
pub(super) fn category_counts<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, i64>,
    classes: PyReadonlyArray1<'py, i32>,
    n_classes: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    threads: usize,
) -> PyResult<(Vec<Bound<'py, PyArray2<f64>>>, usize)> {
    let (rows, columns) = table.as_array().dim();
    let table = table.as_slice()?;
    let (classes, weights) = (
        checked_classes(&classes, rows, n_classes)?,
        checked_weights(&weights, rows)?,
    );
    if columns == 0 || n_classes == 0 || rows > u32::MAX as usize {
        return Err(PyValueError::new_err(
            "a table of categories needs columns, classes and fewer than 2^32 rows",
        ));
    }
    let portions = rows.div_ceil(TABLE_ROWS);
    // Sums of weights depend on their order: one thread takes them.
    let most = if weights.is_some() { 1 } else { portions.max(1) };
    let mut workers: Vec<LevelCounts> = (0..threads.clamp(1, most))
        .map(|_| LevelCounts::new(columns, n_classes))
        .collect();
    share_out(py, &mut workers, portions, portions <= 1, |counts, portion| {
        let range = row_range(portion, rows);
        let chosen = weights.map(|weights| &weights[range.clone()]);
        counts.add(
            &table[range.start * columns..range.end * columns],
            &classes[range],
            chosen,
        );
    })?;
    let mut counts = LevelCounts::new(columns, n_classes);
    workers.into_iter().for_each(|worker| counts.merge(worker));
    if counts.excessive >= 0 {
        return Err(PyValueError::new_err(format!(
            "there is no room for a category as large as {}: number the categories from 0",
            counts.excessive
        )));
    }
    let missing = counts.missing;
    let shaped = |cells: Vec<f64>| {
        let levels = cells.len() / n_classes;
        cells.into_pyarray(py).reshape([levels, n_classes])
    };
    Ok((
        counts.drain().into_iter().map(shaped).collect::<PyResult<_>>()?,
        missing,
    ))
}

/// Score rows of categories: bias + the weights of their levels, laid out as (column, level, class).
#[pyfunction]
#[pyo3(signature = (table, levels, weights, bias, threads, probabilities=false))]
pub(super) fn category_scores<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, i64>,
    levels: Vec<i64>,
    weights: PyReadonlyArray1<'py, f64>,
    bias: PyReadonlyArray1<'py, f64>,
    threads: usize,
    probabilities: bool,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (rows, columns) = table.as_array().dim();
    let (table, weights, bias) = (table.as_slice()?, weights.as_slice()?, bias.as_slice()?);
    let places = Levels::new(&levels, bias.len());
    if levels.len() != columns || columns == 0 || weights.len() != places.cells() {
        return Err(PyValueError::new_err("the weights do not match the levels"));
    }
    fill_scores(py, (rows, bias.len()), probabilities, threads, |range, scores| {
        places.score(
            &table[range.start * columns..range.end * columns],
            weights,
            bias,
            scores,
        );
    })
}

/// The bin of each number of a table, by the sorted edges between the bins of each column; −1 if it is missing.
#[pyfunction]
pub(super) fn bin_codes<'py>(
    py: Python<'py>,
    table: PyReadonlyArray2<'py, f64>,
    edges: Vec<Vec<f64>>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let (rows, columns) = table.as_array().dim();
    if edges.len() != columns {
        return Err(PyValueError::new_err("the edges do not match the columns"));
    }
    let (table, bins) = (table.as_slice()?, Bins::new(edges));
    let codes = PyArray2::zeros(py, [rows, columns], false);
    on_portions(py, &mut codes.readwrite(), threads, |portion, codes| {
        let range = row_range(portion, rows);
        bins.assign(&table[range.start * columns..range.end * columns], codes);
    })?;
    Ok(codes)
}

/// The cuts of finite numbers that separate the classes, sorted.
#[pyfunction]
pub(super) fn entropy_cuts<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    classes: PyReadonlyArray1<'py, i64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (values, classes) = (values.as_slice()?, classes.as_slice()?);
    let weights = checked_weights(&weights, values.len())?;
    let n_classes = classes.iter().max().map_or(0, |&most| most.saturating_add(1));
    if classes.len() != values.len() || classes.iter().any(|&class| class < 0) || n_classes > u32::MAX.into() {
        return Err(PyValueError::new_err("the class numbers do not match the rows"));
    }
    if values.len().saturating_mul(n_classes as usize) > MOST_CUT_CELLS {
        return Err(PyMemoryError::new_err(format!(
            "{} numbers of {n_classes} classes are too many to cut by their classes; choose another strategy",
            values.len()
        )));
    }
    let cuts = interruptible(py, || {
        entropy::entropy_cuts(values, classes, n_classes as usize, weights)
    })?;
    Ok(cuts.into_pyarray(py))
}

/// Edges with the same numbers between them, of which none is one of the sorted numbers; the outermost are infinite.
#[pyfunction]
pub(super) fn edges_without_values<'py>(
    py: Python<'py>,
    edges: PyReadonlyArray1<'py, f64>,
    known: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    Ok(edges::without_values(edges.as_slice()?, known.as_slice()?).into_pyarray(py))
}

/// Encode whole-number labels: the distinct labels in order, the number of each row and how many rows have each label;
/// `None` if they are too far apart.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(super) fn number_labels<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray1<'py, i64>,
) -> PyResult<
    Option<(
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i32>>,
        Bound<'py, PyArray1<i64>>,
    )>,
> {
    let labels = labels.as_slice()?;
    let numbered = interruptible(py, || number_labels_in_order(labels))?;
    Ok(numbered.map(|(distinct, numbers, counts)| {
        (
            distinct.into_pyarray(py),
            numbers.into_pyarray(py),
            counts.into_pyarray(py),
        )
    }))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(moments, module)?)?;
    module.add_function(wrap_pyfunction!(bin_codes, module)?)?;
    module.add_function(wrap_pyfunction!(number_labels, module)?)?;
    module.add_function(wrap_pyfunction!(expectations, module)?)?;
    module.add_function(wrap_pyfunction!(entropy_cuts, module)?)?;
    module.add_function(wrap_pyfunction!(edges_without_values, module)?)?;
    module.add_function(wrap_pyfunction!(to_probabilities, module)?)?;
    module.add_function(wrap_pyfunction!(normal_scores, module)?)?;
    module.add_function(wrap_pyfunction!(category_counts, module)?)?;
    module.add_function(wrap_pyfunction!(category_scores, module)?)?;
    Ok(())
}
