//! Support vector machines with kernels.

use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::vectors::{Table, check_row_numbers};
use super::work::{share_out, step_to_end};
use crate::learners::kernel::{Kernel, Machines, Points};
use crate::learners::smo::{Cell, Problem, Settings, Solution, Solver};
use crate::tables::vectors::{Vector, Vectors};

/// Steps of a solver between two looks at the clock.
const STEPS: usize = 256;
/// Rows decided in one portion of work.
const DECIDED_AT_ONCE: usize = 64;

/// Make a kernel of its name and its numbers (gamma, offset, degree).
pub(super) fn kernel_of(name: &str, gamma: f64, offset: f64, degree: i32) -> PyResult<Kernel> {
    Ok(match name {
        "linear" => Kernel::Linear,
        "poly" => Kernel::Polynomial { gamma, offset, degree },
        "rbf" => Kernel::Gaussian { gamma },
        "sigmoid" => Kernel::Sigmoid { gamma, offset },
        "precomputed" => Kernel::Given,
        _ => return Err(PyValueError::new_err(format!("unknown kernel {name:?}"))),
    })
}

/// The result of one machine: coefficients, and (bias, primal, dual, violation, ‖w‖², steps, converged).
type Fitted<'py> = (Bound<'py, PyArray1<f64>>, (f64, f64, f64, f64, f64, u64, bool));

/// Solve a machine for each list of rows, their signs and their costs; with `growth`, then for costs multiplied by each
/// of these in turn, from the solution before. The solutions of a machine follow each other.
#[pyfunction]
#[pyo3(signature = (table, problems, kernel, settings, threads, growth = vec![]))]
#[allow(clippy::type_complexity)]
pub(super) fn fit_machines<'py>(
    py: Python<'py>,
    table: Table<'py>,
    problems: Vec<(
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, f64>,
        PyReadonlyArray1<'py, f64>,
    )>,
    kernel: (String, f64, f64, i32),
    settings: (f64, usize, bool, u64, bool),
    threads: usize,
    growth: Vec<f64>,
) -> PyResult<Vec<Fitted<'py>>> {
    let table = table.vectors()?;
    let kernel = kernel_of(&kernel.0, kernel.1, kernel.2, kernel.3)?;
    if kernel == Kernel::Given && (table.rows() != table.n_columns() || matches!(table, Vectors::Sparse { .. })) {
        return Err(PyValueError::new_err(
            "given kernel values must be a dense square table",
        ));
    }
    if !growth.iter().all(|factor| factor.is_finite() && *factor > 0.0) {
        return Err(PyValueError::new_err("costs grow by finite factors above 0"));
    }
    let (tolerance, cache, shrinking, most_steps, precise) = settings;
    let threads = threads.clamp(1, problems.len().max(1));
    let settings = Settings {
        tolerance,
        cache: cache / threads,
        shrinking,
        most_steps,
    };
    let mut checked = Vec::with_capacity(problems.len());
    for (rows, signs, costs) in &problems {
        checked.push(problem(
            table,
            kernel,
            rows.as_slice()?,
            signs.as_slice()?,
            costs.as_slice()?,
        )?);
    }
    let solutions = if precise {
        solve::<f64>(py, checked, settings, threads, &growth)?
    } else {
        solve::<f32>(py, checked, settings, threads, &growth)?
    };
    let fitted = solutions.into_iter().map(|solution| {
        let proof = (
            solution.bias,
            solution.primal,
            solution.dual,
            solution.violation,
            solution.squared_norm,
            solution.steps,
            solution.converged,
        );
        (solution.coefficients.into_pyarray(py), proof)
    });
    Ok(fitted.collect())
}

fn problem<'a>(
    table: Vectors<'a>,
    kernel: Kernel,
    rows: &[i64],
    signs: &[f64],
    costs: &[f64],
) -> PyResult<Problem<'a>> {
    let fits = signs.len() == rows.len()
        && costs.len() == rows.len()
        && signs.iter().all(|sign| sign.abs() == 1.0)
        && costs.iter().all(|cost| cost.is_finite() && *cost > 0.0);
    if !fits {
        return Err(PyValueError::new_err("the signs and costs do not match the rows"));
    }
    Ok(Problem {
        table,
        rows: check_row_numbers(rows, table.rows())?,
        signs: signs.to_vec(),
        costs: costs.to_vec(),
        kernel,
    })
}

fn solve<T: Cell>(
    py: Python<'_>,
    problems: Vec<Problem<'_>>,
    settings: Settings,
    threads: usize,
    growth: &[f64],
) -> PyResult<Vec<Solution>> {
    // A problem becomes a solver on its own thread, when its turn comes: until then it needs no memory.
    enum Task<'a, T> {
        Waiting(Option<Problem<'a>>),
        Solving(Box<Solver<'a, T>>, Vec<Solution>),
        Solved(Vec<Solution>),
    }
    let waiting = problems
        .into_iter()
        .map(|problem| Task::Waiting(Some(problem)))
        .collect();
    let ended = step_to_end(py, waiting, threads, |task: &mut Task<'_, T>| {
        match task {
            Task::Waiting(problem) => {
                if let Some(problem) = problem.take() {
                    *task = Task::Solving(Box::new(Solver::new(problem, settings)), Vec::new());
                }
            }
            Task::Solving(solver, found) => {
                if solver.advance(STEPS) {
                    found.push(solver.solution());
                    match growth.get(found.len() - 1) {
                        Some(&factor) => solver.scale_costs(factor, settings.most_steps),
                        None => *task = Task::Solved(std::mem::take(found)),
                    }
                }
            }
            Task::Solved(_) => return true,
        }
        false
    })?;
    let solutions = ended.into_iter().filter_map(|task| match task {
        Task::Solved(found) => Some(found),
        _ => None,
    });
    Ok(solutions.flatten().collect())
}

/// Decision values of rows × pairs of classes, for support vectors ordered by class.
#[pyfunction]
#[pyo3(signature = (table, support, places, kernel, class_sizes, coefficients, intercepts, threads))]
#[allow(clippy::too_many_arguments)]
pub(super) fn decide_machines<'py>(
    py: Python<'py>,
    table: Table<'py>,
    support: Table<'py>,
    places: PyReadonlyArray1<'py, i64>,
    kernel: (String, f64, f64, i32),
    class_sizes: Vec<usize>,
    coefficients: PyReadonlyArray2<'py, f64>,
    intercepts: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (table, support) = (table.vectors()?, support.vectors()?);
    let kernel = kernel_of(&kernel.0, kernel.1, kernel.2, kernel.3)?;
    // Given kernel values are columns of the rows to decide; other support vectors are rows of their own table.
    let limit = if kernel == Kernel::Given {
        table.n_columns()
    } else {
        support.rows()
    };
    let places = check_row_numbers(places.as_slice()?, limit)?;
    let classes = class_sizes.len();
    let mut class_starts = vec![0];
    class_sizes
        .iter()
        .for_each(|size| class_starts.push(class_starts[class_starts.len() - 1] + size));
    let pairs = classes * classes.saturating_sub(1) / 2;
    let fits = kernel == Kernel::Given && matches!(table, Vectors::Dense { .. }) || alike(&table, &support);
    if !fits
        || class_starts[classes] != places.len()
        || coefficients.as_array().dim() != (classes.saturating_sub(1), places.len())
        || intercepts.len()? != pairs
    {
        return Err(PyValueError::new_err("the support vectors do not match each other"));
    }
    let machines = Machines {
        support: Points::new(&support, &places, kernel),
        kernel,
        class_starts,
        coefficients: coefficients.as_slice()?,
        intercepts: intercepts.as_slice()?,
    };
    fill_rows(py, table.rows(), pairs, threads, |row, scratch, decisions| {
        machines.decide(table.row(row), scratch, decisions);
    })
}

/// Sum Σ coefficient κ(x, s) over the support vectors s, of rows × lines of coefficients.
#[pyfunction]
pub(super) fn kernel_sums<'py>(
    py: Python<'py>,
    table: Table<'py>,
    support: Table<'py>,
    kernel: (String, f64, f64, i32),
    coefficients: PyReadonlyArray2<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (table, support) = (table.vectors()?, support.vectors()?);
    let kernel = kernel_of(&kernel.0, kernel.1, kernel.2, kernel.3)?;
    let (lines, count) = coefficients.as_array().dim();
    if kernel == Kernel::Given || !alike(&table, &support) || count != support.rows() {
        return Err(PyValueError::new_err("the support vectors do not match each other"));
    }
    let places: Vec<u32> = (0..count as u32).collect();
    let points = Points::new(&support, &places, kernel);
    let coefficients = coefficients.as_slice()?;
    fill_rows(py, table.rows(), lines, threads, |row, scratch, sums| {
        points.against(table.row(row), kernel, scratch);
        for (line, sum) in sums.iter_mut().enumerate() {
            *sum = Vector::Dense(&scratch[..count]).dot(&coefficients[line * count..(line + 1) * count]);
        }
    })
}

/// Return whether rows of both tables can be compared.
fn alike(table: &Vectors<'_>, support: &Vectors<'_>) -> bool {
    table.n_columns() == support.n_columns() && std::mem::discriminant(table) == std::mem::discriminant(support)
}

/// Fill a table of rows × n_columns, each row by itself.
fn fill_rows<'py>(
    py: Python<'py>,
    rows: usize,
    n_columns: usize,
    threads: usize,
    fill: impl Fn(usize, &mut Vec<f64>, &mut [f64]) + Sync,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let mut values = vec![0.0; rows * n_columns];
    {
        let portions = values.chunks_mut((DECIDED_AT_ONCE * n_columns).max(1));
        let slots: Vec<Mutex<&mut [f64]>> = portions.map(Mutex::new).collect();
        let mut workers = vec![Vec::new(); threads.clamp(1, slots.len().max(1))];
        share_out(py, &mut workers, slots.len(), slots.len() <= 1, |scratch, portion| {
            let mut slot = slots[portion].lock().unwrap_or_else(PoisonError::into_inner);
            for (place, values) in slot.chunks_mut(n_columns.max(1)).enumerate() {
                fill(portion * DECIDED_AT_ONCE + place, scratch, values);
            }
        })?;
    }
    values.into_pyarray(py).reshape([rows, n_columns])
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fit_machines, module)?)?;
    module.add_function(wrap_pyfunction!(decide_machines, module)?)?;
    module.add_function(wrap_pyfunction!(kernel_sums, module)?)?;
    Ok(())
}
