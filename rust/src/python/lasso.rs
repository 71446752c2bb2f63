//! Coordinate descent with an L1 penalty.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::tables::checked_weights;
use super::work::interruptible;
use crate::learners::lasso::columns::Columns;
use crate::learners::lasso::loss::Loss;
use crate::learners::lasso::newton::{Problem, minimize};
use crate::learners::lasso::quadratic::{Bending, Model, descend};
use crate::learners::logistic::residuals::Labels;

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

/// Minimize the loss of rows with ridges and L1 penalties, one output, from some weights; a last column beyond the table
/// is 1 in each row. The loss is that of logistic regression by `targets` of 0 and 1, perhaps with weights of the rows,
/// or the squared hinge by targets of ±1 and `costs`. Return the weights, the loss, the violation, the steps, and
/// whether no step led further down.
#[pyfunction]
#[pyo3(signature = (table, loss, targets, costs, start, lasso, ridge, tol, max_iter))]
#[allow(clippy::too_many_arguments, clippy::type_complexity)]
fn lasso_minimum<'py>(
    py: Python<'py>,
    table: Table<'py>,
    loss: &str,
    targets: PyReadonlyArray1<'py, f64>,
    costs: Option<PyReadonlyArray1<'py, f64>>,
    start: PyReadonlyArray1<'py, f64>,
    lasso: PyReadonlyArray1<'py, f64>,
    ridge: PyReadonlyArray1<'py, f64>,
    tol: f64,
    max_iter: usize,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, f64, usize, bool)> {
    let columns = table.columns()?;
    let costs = checked_weights(&costs, columns.rows())?;
    let targets = targets.as_slice()?;
    let classes: Vec<i32> = targets.iter().map(|&target| i32::from(target > 0.0)).collect();
    let loss = match (loss, costs) {
        ("logistic", weights) => Loss::Logistic(Labels {
            classes: &classes,
            weights,
        }),
        ("squared hinge", Some(costs)) => Loss::SquaredHinge { targets, costs },
        _ => return Err(PyValueError::new_err("unknown loss")),
    };
    let problem = Problem {
        columns,
        loss,
        lasso: lasso.as_slice()?,
        ridge: ridge.as_slice()?,
    };
    let mut weights = start.as_slice()?.to_vec();
    let count = weights.len();
    let fits = count == columns.count() || count == columns.count() + 1;
    if !fits || [problem.lasso.len(), problem.ridge.len()] != [count; 2] || loss.rows() != Some(columns.rows()) {
        return Err(PyValueError::new_err("the weights do not match the table"));
    }
    let end = interruptible(py, || minimize(problem, &mut weights, tol, max_iter))?;
    Ok((
        weights.into_pyarray(py),
        end.loss,
        end.violation,
        end.iterations,
        end.stuck,
    ))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(lasso_minimum, module)?)?;
    module.add_function(wrap_pyfunction!(lasso_step, module)?)
}
