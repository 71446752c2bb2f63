//! Rows of numbers on a grid.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::tables::checked_classes;
use crate::system::squares;
use crate::tables::grid::{Grid, Number, Rows, place};

#[derive(FromPyObject)]
enum Values<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
}

/// Put rows on a grid: fill `units` and `largest`, and add to `first`, the sums of classes × axes.
///
/// A row with a number beyond `limit`, or one that is not finite, is left out, and its largest magnitude is infinite.
#[pyfunction]
#[pyo3(signature = (values, classes, origin, per_unit, limit, first, units, largest))]
#[allow(clippy::too_many_arguments)]
fn place_on_grid(
    py: Python<'_>,
    values: Values<'_>,
    classes: PyReadonlyArray1<'_, i32>,
    origin: PyReadonlyArray1<'_, f64>,
    per_unit: PyReadonlyArray1<'_, f64>,
    limit: f64,
    mut first: PyReadwriteArray2<'_, f64>,
    mut units: PyReadwriteArray2<'_, f64>,
    mut largest: PyReadwriteArray1<'_, f64>,
) -> PyResult<()> {
    let (rows, axes) = match &values {
        Values::Single(table) => table.as_array().dim(),
        Values::Double(table) => table.as_array().dim(),
    };
    let (n_classes, sums) = (first.as_array().nrows(), first.as_array().ncols());
    let classes = checked_classes(&classes, rows, n_classes)?;
    let grid = Grid {
        origin: origin.as_slice()?,
        per_unit: per_unit.as_slice()?,
    };
    let (first, units, largest) = (first.as_slice_mut()?, units.as_slice_mut()?, largest.as_slice_mut()?);
    let fits = axes > 0 && sums == axes && grid.origin.len() == axes && grid.per_unit.len() == axes;
    if !fits || units.len() != rows * axes || largest.len() != rows {
        return Err(PyValueError::new_err("the rows do not match the grid"));
    }
    match &values {
        Values::Single(table) => placed(py, grid, table.as_slice()?, (classes, limit, first), units, largest),
        Values::Double(table) => placed(py, grid, table.as_slice()?, (classes, limit, first), units, largest),
    }
    Ok(())
}

fn placed<T: Number + Send + Sync>(
    py: Python<'_>,
    grid: Grid<'_>,
    values: &[T],
    (classes, limit, first): (&[i32], f64, &mut [f64]),
    units: &mut [f64],
    largest: &mut [f64],
) {
    py.detach(|| {
        place(
            grid,
            Rows {
                values,
                classes,
                limit,
                first,
            },
            units,
            largest,
        )
    });
}

/// Whether `add_products` can be called.
#[pyfunction]
fn has_fast_products() -> bool {
    squares::is_fast()
}

/// Add the products of rows of units, up to 2²² each, to the upper triangle of `sums`.
#[pyfunction]
fn add_products(
    py: Python<'_>,
    units: PyReadonlyArray2<'_, f64>,
    mut sums: PyReadwriteArray2<'_, i64>,
) -> PyResult<()> {
    let (axes, shape) = (units.as_array().ncols(), sums.as_array().dim());
    if !squares::is_fast() || axes == 0 || shape != (axes, axes) {
        return Err(PyValueError::new_err("the sums do not match the rows"));
    }
    let (units, sums) = (units.as_slice()?, sums.as_slice_mut()?);
    py.detach(|| squares::add_squares(units, axes, sums));
    Ok(())
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(has_fast_products, module)?)?;
    module.add_function(wrap_pyfunction!(add_products, module)?)?;
    module.add_function(wrap_pyfunction!(place_on_grid, module)?)
}
