//! Sums and scores of tables in the layout of the caller: dense or sparse, by row or by column, of most kinds of number.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::tables::{checked_classes, checked_weights};
use super::work::interruptible;
use crate::tables::by_class::{Compressed, Counted, Groups, Number, Place, add_columns, add_dense, add_rows};
use crate::tables::products::add_products;
use crate::tables::quadratic::{expand, quadratic_columns};

/// Work on at most this many numbers is done at once, without looking for Ctrl-C: it cannot stop half-way.
const SMALL: usize = 1 << 20;

#[derive(FromPyObject)]
enum Places<'py> {
    Narrow(PyReadonlyArray1<'py, i32>),
    Wide(PyReadonlyArray1<'py, i64>),
}

#[derive(FromPyObject)]
enum Numbers<'py> {
    Double(PyReadonlyArray1<'py, f64>),
    Single(PyReadonlyArray1<'py, f32>),
    Long(PyReadonlyArray1<'py, i64>),
    Int(PyReadonlyArray1<'py, i32>),
    Byte(PyReadonlyArray1<'py, u8>),
}

/// The arrays of compressed sparse rows or columns.
#[derive(FromPyObject)]
struct Sparse<'py>(Places<'py>, Places<'py>, Numbers<'py>);

#[derive(FromPyObject)]
pub(super) enum Cells<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Long(PyReadonlyArray2<'py, i64>),
    Int(PyReadonlyArray2<'py, i32>),
    Byte(PyReadonlyArray2<'py, u8>),
}

/// What is done with a sparse table of any types.
trait Work {
    fn work<P: Place + Ord, V: Number>(self, table: Compressed<'_, P, V>) -> PyResult<()>;
}

impl Sparse<'_> {
    fn with(&self, work: impl Work) -> PyResult<()> {
        match (&self.0, &self.1) {
            (Places::Narrow(starts), Places::Narrow(places)) => {
                self.with_places(starts.as_slice()?, places.as_slice()?, work)
            }
            (Places::Wide(starts), Places::Wide(places)) => {
                self.with_places(starts.as_slice()?, places.as_slice()?, work)
            }
            _ => Err(mismatch()),
        }
    }

    fn with_places<P: Place + Ord>(&self, starts: &[P], places: &[P], work: impl Work) -> PyResult<()> {
        match &self.2 {
            Numbers::Double(values) => work.work(compressed(starts, places, values.as_slice()?)),
            Numbers::Single(values) => work.work(compressed(starts, places, values.as_slice()?)),
            Numbers::Long(values) => work.work(compressed(starts, places, values.as_slice()?)),
            Numbers::Int(values) => work.work(compressed(starts, places, values.as_slice()?)),
            Numbers::Byte(values) => work.work(compressed(starts, places, values.as_slice()?)),
        }
    }
}

fn compressed<'a, P, V>(starts: &'a [P], places: &'a [P], values: &'a [V]) -> Compressed<'a, P, V> {
    Compressed { starts, places, values }
}

fn mismatch() -> PyErr {
    PyValueError::new_err("the rows of the table do not match each other")
}

/// Do work that can be interrupted, unless it is small.
fn done(py: Python<'_>, size: usize, job: impl FnOnce() + Send) -> PyResult<()> {
    if size <= SMALL {
        job();
        return Ok(());
    }
    interruptible(py, job)
}

fn counted(above: Option<f64>) -> Counted {
    above.map_or(Counted::Amount, Counted::Above)
}

struct Summing<'a, 'py> {
    py: Python<'py>,
    by_column: bool,
    groups: Groups<'a>,
    counted: Counted,
    sums: &'a mut [f64],
    n_columns: usize,
}

impl Work for Summing<'_, '_> {
    fn work<P: Place + Ord, V: Number>(self, table: Compressed<'_, P, V>) -> PyResult<()> {
        let rows = self.groups.classes.len();
        let (lines, places) = if self.by_column {
            (self.n_columns, rows)
        } else {
            (rows, self.n_columns)
        };
        if !table.fits(lines) || !table.within(places) {
            return Err(mismatch());
        }
        let (groups, counted, sums, n_columns) = (self.groups, self.counted, self.sums, self.n_columns);
        done(self.py, table.values.len(), || match self.by_column {
            false => add_rows(table, groups, counted, sums, n_columns),
            true => add_columns(table, groups, counted, sums, n_columns),
        })
    }
}

/// Add the rows of a sparse table, times their weights, to the sums of their classes, classes × columns.
///
/// With `above`, numbers above it count as one and others not at all. Nothing is added if the table is unfit.
#[pyfunction]
#[pyo3(signature = (table, by_column, classes, weights, above, sums))]
fn add_sparse_by_class(
    py: Python<'_>,
    table: Sparse<'_>,
    by_column: bool,
    classes: PyReadonlyArray1<'_, i32>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    above: Option<f64>,
    mut sums: PyReadwriteArray2<'_, f64>,
) -> PyResult<()> {
    let (n_classes, n_columns) = sums.as_array().dim();
    let rows = classes.len();
    let groups = Groups {
        classes: checked_classes(&classes, rows, n_classes)?,
        weights: checked_weights(&weights, rows)?,
    };
    table.with(Summing {
        py,
        by_column,
        groups,
        counted: counted(above),
        sums: sums.as_slice_mut()?,
        n_columns,
    })
}

/// Add the rows of a dense table to the sums of their classes; its numbers are contiguous, by row or by column.
#[pyfunction]
#[pyo3(signature = (table, classes, weights, above, sums))]
fn add_dense_by_class(
    py: Python<'_>,
    table: Cells<'_>,
    classes: PyReadonlyArray1<'_, i32>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    above: Option<f64>,
    mut sums: PyReadwriteArray2<'_, f64>,
) -> PyResult<()> {
    let (n_classes, n_columns) = sums.as_array().dim();
    let rows = classes.len();
    let groups = Groups {
        classes: checked_classes(&classes, rows, n_classes)?,
        weights: checked_weights(&weights, rows)?,
    };
    let (counted, sums) = (counted(above), sums.as_slice_mut()?);
    match &table {
        Cells::Double(cells) => sum_cells(py, cells, groups, counted, sums, n_columns),
        Cells::Single(cells) => sum_cells(py, cells, groups, counted, sums, n_columns),
        Cells::Long(cells) => sum_cells(py, cells, groups, counted, sums, n_columns),
        Cells::Int(cells) => sum_cells(py, cells, groups, counted, sums, n_columns),
        Cells::Byte(cells) => sum_cells(py, cells, groups, counted, sums, n_columns),
    }
}

fn sum_cells<V: Number + numpy::Element>(
    py: Python<'_>,
    cells: &PyReadonlyArray2<'_, V>,
    groups: Groups<'_>,
    counted: Counted,
    sums: &mut [f64],
    n_columns: usize,
) -> PyResult<()> {
    if cells.as_array().dim() != (groups.classes.len(), n_columns) {
        return Err(mismatch());
    }
    let by_column = !cells.is_c_contiguous();
    let values = cells.as_slice()?;
    done(py, values.len(), || {
        add_dense(values, by_column, groups, counted, sums, n_columns);
    })
}

struct Scoring<'a, 'py> {
    py: Python<'py>,
    weights: &'a [f64],
    shape: (usize, usize),
    scores: &'a mut [f64],
    rows: usize,
}

impl Work for Scoring<'_, '_> {
    fn work<P: Place + Ord, V: Number>(self, table: Compressed<'_, P, V>) -> PyResult<()> {
        let (n_columns, n_scores) = self.shape;
        if !table.fits(self.rows) || !table.within(n_columns) {
            return Err(mismatch());
        }
        let (weights, scores) = (self.weights, self.scores);
        done(self.py, table.values.len().saturating_mul(n_scores), || {
            if n_scores > 0 {
                add_products(table, weights, n_scores, scores);
            }
        })
    }
}

/// Add row · weights (columns × scores) to the scores of each sparse row, rows × scores.
#[pyfunction]
fn add_products_of_rows(
    py: Python<'_>,
    table: Sparse<'_>,
    weights: PyReadonlyArray2<'_, f64>,
    mut scores: PyReadwriteArray2<'_, f64>,
) -> PyResult<()> {
    let (shape, (rows, n_scores)) = (weights.as_array().dim(), scores.as_array().dim());
    if n_scores != shape.1 {
        return Err(mismatch());
    }
    table.with(Scoring {
        py,
        weights: weights.as_slice()?,
        shape,
        scores: scores.as_slice_mut()?,
        rows,
    })
}

/// Write the columns of a table, their products by two and their squares to `target`, which has a column for each.
#[pyfunction]
fn quadratic(
    py: Python<'_>,
    rows: PyReadonlyArray2<'_, f64>,
    products: bool,
    squares: bool,
    mut target: PyReadwriteArray2<'_, f64>,
) -> PyResult<()> {
    let ((height, n_columns), made) = (rows.as_array().dim(), target.as_array().dim());
    if quadratic_columns(n_columns, products, squares) != Some(made.1) || made.0 != height {
        return Err(mismatch());
    }
    let (rows, target) = (rows.as_slice()?, target.as_slice_mut()?);
    done(py, target.len(), || {
        if n_columns > 0 {
            expand(rows, n_columns, products, squares, target);
        }
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(add_sparse_by_class, module)?)?;
    module.add_function(wrap_pyfunction!(add_dense_by_class, module)?)?;
    module.add_function(wrap_pyfunction!(add_products_of_rows, module)?)?;
    module.add_function(wrap_pyfunction!(quadratic, module)?)
}
