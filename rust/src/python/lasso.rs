//! Coordinate descent with an L1 penalty.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::tables::checked_weights;
use super::work::interruptible;
use crate::learners::lasso::{Bending, Columns, Model, descend};

/// Columns of a table: a dense array with a row for each column, or compressed sparse columns and the number of rows.
#[derive(FromPyObject)]
enum Table<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse(
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, i32>,
        PyReadonlyArray1<'py, f64>,
        usize,
    ),
}

impl Table<'_> {
    fn columns(&self) -> PyResult<Columns<'_>> {
        let columns = match self {
            Table::Dense(table) => {
                let (count, rows) = table.as_array().dim();
                Columns::dense(table.as_slice()?, rows, count)
            }
            Table::Sparse(starts, places, values, rows) => {
                Columns::sparse(starts.as_slice()?, places.as_slice()?, values.as_slice()?, *rows)
            }
        };
        columns.ok_or_else(|| PyValueError::new_err("the columns of the table do not match each other"))
    }
}

/// The step from some weights, a row an output, to the least of a quadratic model of a loss with ridges and L1
/// penalties, for the `working` weights; a last column beyond the table is 1 in each row. For one output `bending` has
/// the curvature of each row; for more, it has the shares of a softmax, a line an output, and rows may have weights.
/// Return the step, and the passes it took.
#[pyfunction]
#[pyo3(signature = (table, bending, row_weights, gradient, weights, lasso, ridge, working, share, passes))]
#[allow(clippy::too_many_arguments)]
fn lasso_step<'py>(
    py: Python<'py>,
    table: Table<'py>,
    bending: PyReadonlyArray2<'py, f64>,
    row_weights: Option<PyReadonlyArray1<'py, f64>>,
    gradient: PyReadonlyArray2<'py, f64>,
    weights: PyReadonlyArray2<'py, f64>,
    lasso: PyReadonlyArray1<'py, f64>,
    ridge: PyReadonlyArray1<'py, f64>,
    working: PyReadonlyArray1<'py, i64>,
    share: f64,
    passes: usize,
) -> PyResult<(Bound<'py, PyArray2<f64>>, usize)> {
    let columns = table.columns()?;
    let (outputs, count) = weights.as_array().dim();
    let row_weights = checked_weights(&row_weights, columns.rows())?;
    let given = bending.as_slice()?;
    let model = Model {
        columns,
        bending: match outputs {
            1 => Bending::Single(given),
            _ => Bending::Shares(given, row_weights),
        },
        outputs,
        gradient: gradient.as_slice()?,
        weights: weights.as_slice()?,
        lasso: lasso.as_slice()?,
        ridge: ridge.as_slice()?,
    };
    let alike = gradient.as_array().dim() == (outputs, count) && [model.lasso.len(), model.ridge.len()] == [count; 2];
    let fits = outputs > 0 && count > 0 && (count == columns.count() || count == columns.count() + 1);
    if !alike || !fits || bending.as_array().dim() != (outputs, columns.rows()) {
        return Err(PyValueError::new_err("the weights do not match the table"));
    }
    let places = working.as_slice()?.iter();
    let working: Vec<usize> = places
        .map(|&place| usize::try_from(place).ok().filter(|&place| place < outputs * count))
        .collect::<Option<_>>()
        .ok_or_else(|| PyValueError::new_err("a working weight is outside the table"))?;
    let mut step = vec![0.0; outputs * count];
    let taken = interruptible(py, || descend(&model, &working, &mut step, share, passes))?;
    Ok((step.into_pyarray(py).reshape([outputs, count])?, taken))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(lasso_step, module)?)
}
