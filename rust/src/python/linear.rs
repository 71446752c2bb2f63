//! Scores and choices of linear functions on dense rows, in the layout of the caller.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::ndarray::{ArrayView2, Axis, Slice};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::matrices::Cells;
use super::tables::{TABLE_ROWS, fill_scores, on_portions, row_range};
use crate::learners::linear::{Choice, Functions, ROWS, Scores, best_of_rows};
use crate::tables::by_class::Number;

/// Rows that are laid out one after the other before they are scored.
const PACKED_ROWS: usize = ROWS / 8;

trait Cell: Number {
    /// Return the numbers themselves if they need not be converted.
    fn as_doubles(values: &[Self]) -> Option<&[f64]>;
}

impl Cell for f64 {
    fn as_doubles(values: &[f64]) -> Option<&[f64]> {
        Some(values)
    }
}

macro_rules! converted {
    ($($kind:ty),*) => {
        $(impl Cell for $kind {
            fn as_doubles(_: &[$kind]) -> Option<&[f64]> {
                None
            }
        })*
    };
}

converted!(f32, i64, i32, u8);

fn part<V>(table: ArrayView2<'_, V>, rows: Range<usize>) -> ArrayView2<'_, V> {
    table.slice_axis_move(Axis(0), Slice::from(rows))
}

/// Score some rows, at most [`ROWS`].
fn score<V: Cell>(table: ArrayView2<'_, V>, scores: &mut Scores<'_>, packed: &mut Vec<f64>) {
    let (rows, columns) = table.dim();
    let column = |place: usize| table.index_axis_move(Axis(1), place).to_slice();
    let by_row = columns > 1 && table.strides()[1] == 1;
    if !by_row && rows > 1 && column(0).is_some() {
        scores.score_columns(rows, |place| column(place).unwrap_or_default());
        return;
    }
    for first in (0..rows).step_by(PACKED_ROWS) {
        let block = part(table, first..(first + PACKED_ROWS).min(rows));
        if let Some(doubles) = block.to_slice().and_then(V::as_doubles) {
            scores.score_rows(first, doubles);
            continue;
        }
        packed.clear();
        for row in block.rows() {
            match row.to_slice() {
                Some(values) => packed.extend(values.iter().map(|value| value.number())),
                None => packed.extend(row.iter().map(|value| value.number())),
            }
        }
        scores.score_rows(first, packed);
    }
}

/// Score the rows of a portion, and pass the scores of each part on.
fn each_part<V: Cell>(
    table: ArrayView2<'_, V>,
    portion: Range<usize>,
    functions: &Functions,
    mut job: impl FnMut(&mut Scores<'_>, Range<usize>),
) {
    let (mut scores, mut packed) = (Scores::new(functions), Vec::new());
    let begin = portion.start;
    for start in portion.clone().step_by(ROWS) {
        let end = (start + ROWS).min(portion.end);
        score(part(table, start..end), &mut scores, &mut packed);
        job(&mut scores, start - begin..end - begin);
    }
}

fn checked_functions(coefficients: &PyReadonlyArray2<'_, f64>, columns: usize) -> PyResult<Functions> {
    let (functions, n_columns) = coefficients.as_array().dim();
    if columns == 0 || functions == 0 || n_columns != columns + 1 {
        return Err(PyValueError::new_err("the coefficients do not match the columns"));
    }
    Ok(Functions::new(coefficients.as_slice()?, columns))
}

macro_rules! with_cells {
    ($cells:expr, $table:ident => $work:expr) => {
        match &$cells {
            Cells::Double(cells) => {
                let $table = cells.as_array();
                $work
            }
            Cells::Single(cells) => {
                let $table = cells.as_array();
                $work
            }
            Cells::Long(cells) => {
                let $table = cells.as_array();
                $work
            }
            Cells::Int(cells) => {
                let $table = cells.as_array();
                $work
            }
            Cells::Byte(cells) => {
                let $table = cells.as_array();
                $work
            }
        }
    };
}

/// Scores of rows, rows × functions; the coefficients have a line for each function, the intercept last.
#[pyfunction]
fn linear_scores<'py>(
    py: Python<'py>,
    table: Cells<'py>,
    coefficients: PyReadonlyArray2<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    with_cells!(table, table => {
        let (rows, columns) = table.dim();
        let functions = checked_functions(&coefficients, columns)?;
        let count = coefficients.as_array().nrows();
        fill_scores(py, (rows, count), false, threads, |portion, target| {
            each_part(table, portion, &functions, |scores, range| {
                scores.write(&mut target[range.start * count..range.end * count]);
            });
        })
    })
}

/// The number of the best function of each row, or whether a single function is above 0; None if a score is not finite.
///
/// With `at_zero`, a score of 0 counts as above it. With `single`, scores are rounded to 32 bits before.
#[pyfunction]
fn linear_choices<'py>(
    py: Python<'py>,
    table: Cells<'py>,
    coefficients: PyReadonlyArray2<'py, f64>,
    at_zero: bool,
    single: bool,
    threads: usize,
) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
    let (choice, unsound) = (Choice { at_zero, single }, AtomicBool::new(false));
    with_cells!(table, table => {
        let (rows, columns) = table.dim();
        let functions = checked_functions(&coefficients, columns)?;
        let chosen = PyArray2::zeros(py, [rows, 1], false);
        on_portions(py, &mut chosen.readwrite(), threads, |portion, target| {
            each_part(table, row_range(portion, rows), &functions, |scores, range| {
                if !scores.choose(choice, &mut target[range]) {
                    unsound.store(true, Ordering::Relaxed);
                }
            });
        })?;
        sound(chosen, rows, &unsound)
    })
}

fn sound<'py>(
    chosen: Bound<'py, PyArray2<i64>>,
    rows: usize,
    unsound: &AtomicBool,
) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
    if unsound.load(Ordering::Relaxed) {
        return Ok(None);
    }
    chosen.reshape([rows]).map(Some)
}

/// The number of the best score of each row, the first of those that are equally good; None if a score is not finite.
#[pyfunction]
fn best_scores<'py>(
    py: Python<'py>,
    scores: Cells<'py>,
    threads: usize,
) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
    let unsound = AtomicBool::new(false);
    with_cells!(scores, scores => {
        let (rows, columns) = scores.dim();
        let Some(values) = scores.to_slice().filter(|_| columns > 0) else {
            return Err(PyValueError::new_err("the scores must be laid out by row"));
        };
        let chosen = PyArray2::zeros(py, [rows, 1], false);
        on_portions(py, &mut chosen.readwrite(), threads, |portion, target| {
            let start = portion * TABLE_ROWS * columns;
            if !best_of_rows(&values[start..start + target.len() * columns], columns, target) {
                unsound.store(true, Ordering::Relaxed);
            }
        })?;
        sound(chosen, rows, &unsound)
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(linear_scores, module)?)?;
    module.add_function(wrap_pyfunction!(linear_choices, module)?)?;
    module.add_function(wrap_pyfunction!(best_scores, module)?)
}
