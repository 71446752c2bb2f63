//! Coordinate descent with an L1 penalty.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::work::interruptible;
use crate::learners::lasso::{Columns, Model, descend};

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

/// The step from some weights to the least of a quadratic model of a loss with ridges and L1 penalties, for the
/// `working` columns; the number of columns stands for one that is 1 in each row. Return it, and the passes it took.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn lasso_step<'py>(
    py: Python<'py>,
    table: Table<'py>,
    curvature: PyReadonlyArray1<'py, f64>,
    gradient: PyReadonlyArray1<'py, f64>,
    weights: PyReadonlyArray1<'py, f64>,
    lasso: PyReadonlyArray1<'py, f64>,
    ridge: PyReadonlyArray1<'py, f64>,
    working: PyReadonlyArray1<'py, i64>,
    share: f64,
    passes: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, usize)> {
    let columns = table.columns()?;
    let model = Model {
        columns,
        curvature: curvature.as_slice()?,
        gradient: gradient.as_slice()?,
        weights: weights.as_slice()?,
        lasso: lasso.as_slice()?,
        ridge: ridge.as_slice()?,
    };
    let count = model.weights.len();
    let alike = [model.gradient.len(), model.lasso.len(), model.ridge.len()] == [count; 3];
    let fits = count == columns.count() || count == columns.count() + 1;
    if !alike || !fits || model.curvature.len() != columns.rows() {
        return Err(PyValueError::new_err("the weights do not match the table"));
    }
    let working = working
        .as_slice()?
        .iter()
        .map(|&place| usize::try_from(place).ok().filter(|&place| place < count));
    let working: Vec<usize> = working
        .collect::<Option<_>>()
        .ok_or_else(|| PyValueError::new_err("a working column is outside the table"))?;
    let mut step = vec![0.0; count];
    let taken = interruptible(py, || descend(&model, &working, &mut step, share, passes))?;
    Ok((step.into_pyarray(py), taken))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(lasso_step, module)?)
}
