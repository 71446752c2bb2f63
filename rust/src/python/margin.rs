//! Linear classifiers of large margin.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::tables::{checked_classes, checked_weights};
use super::vectors::Table;
use super::work::{MOST_THREADS, internal_error, interruptible, on_threads};
use crate::learners::margin::crammer::CrammerSinger;
use crate::learners::margin::dual::Dual;
use crate::learners::margin::order::{Merged, NOWHERE, Order};
use crate::learners::margin::primal::Primal;
use crate::learners::margin::rows::Rows;
use crate::learners::margin::together::{LANES, LEAST_TOLERANCE, Together};
use crate::learners::margin::value::{One, Value, is_narrow, is_one};
use crate::learners::margin::{Certificate, Intercept, Limits, Loss, Solution};
use crate::tables::vectors::{Vectors, class_sums as sum_by_class};

/// 32-bit floats have an error of up to 2⁻²⁴: a tolerance below this needs 64 bits.
const NARROW_ENOUGH: f64 = 1e-6;

/// Decision functions with their certificates, a row for each.
#[pyclass(frozen, get_all, module = "discern._native")]
struct Margins {
    weights: Py<PyArray2<f64>>,
    intercepts: Py<PyArray1<f64>>,
    /// Primal values, dual values, violations.
    primal: Vec<f64>,
    dual: Vec<f64>,
    violation: Vec<f64>,
    passes: Vec<usize>,
    /// α of each given row, a column for each decision function.
    duals: Option<Py<PyArray2<f64>>>,
}

/// What to solve, except for the rows.
struct Task {
    solver: Solver,
    loss: Loss,
    intercept: Intercept,
    limits: Limits,
    seed: u64,
    threads: usize,
    /// Whether to keep the α of each row.
    duals: bool,
}

impl Task {
    /// Return whether functions with these costs can be solved over the same reading of the rows.
    fn fits_together(&self, costs: &[[f64; 2]]) -> bool {
        let Some([first, _]) = costs.first() else {
            return false;
        };
        let same = costs.iter().flatten().all(|cost| cost == first && cost.is_finite());
        let smooth = self.solver == Solver::Dual && self.loss == Loss::SquaredHinge;
        same && smooth && self.intercept != Intercept::Free && self.limits.tolerance >= LEAST_TOLERANCE
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Solver {
    Dual,
    Primal,
    CrammerSinger,
}

/// Learn one decision function for each row of `costs`: number k takes class k (or the last, if there is one function
/// only) as positive, with the first cost, and all other rows as negative, with the second. With `members`, functions ×
/// classes, it takes all classes as positive where its row is true. For Crammer and Singer all
/// functions are learned together, and the first cost of a class is that of its rows. `scales`, a row for each
/// function, multiply the columns before it is learned; the returned weights belong to the scaled columns.
#[pyfunction]
#[pyo3(signature = (rows, classes, weights, costs, scales, members=None, *, solver, loss, intercept, free, tolerance, passes, seed, threads, duals))]
#[allow(clippy::too_many_arguments)]
fn fit_margins<'py>(
    py: Python<'py>,
    rows: Table<'py>,
    classes: PyReadonlyArray1<'py, i32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    costs: PyReadonlyArray2<'py, f64>,
    scales: Option<PyReadonlyArray2<'py, f64>>,
    members: Option<PyReadonlyArray2<'py, bool>>,
    solver: &str,
    loss: &str,
    intercept: Option<f64>,
    free: bool,
    tolerance: f64,
    passes: usize,
    seed: u64,
    threads: usize,
    duals: bool,
) -> PyResult<Margins> {
    let table = rows.unsorted()?;
    if !table.values().iter().fold(true, |all, value| all & value.is_finite()) {
        return Err(PyValueError::new_err("the rows hold a number that is not finite"));
    }
    let count = table.rows();
    let functions = costs.as_array().dim().0;
    let members = match &members {
        Some(given) if given.as_array().dim().0 != functions || solver == "crammer_singer" => {
            return Err(PyValueError::new_err("the members do not match the decision functions"));
        }
        Some(given) => Some((given.as_slice()?, given.as_array().dim().1)),
        None => None,
    };
    let n_classes = members.map_or(functions.max(2), |(_, n_classes)| n_classes);
    let classes = checked_classes(&classes, count, n_classes)?;
    let weights = checked_weights(&weights, count)?;
    let task = Task {
        solver: match solver {
            "dual" => Solver::Dual,
            "primal" => Solver::Primal,
            "crammer_singer" => Solver::CrammerSinger,
            _ => {
                return Err(PyValueError::new_err(
                    "the solver must be dual, primal or crammer_singer",
                ));
            }
        },
        loss: match loss {
            "hinge" => Loss::Hinge,
            "squared_hinge" => Loss::SquaredHinge,
            _ => return Err(PyValueError::new_err("the loss must be hinge or squared_hinge")),
        },
        intercept: match (intercept, free) {
            (_, true) => Intercept::Free,
            (None, _) => Intercept::None,
            (Some(scale), _) => Intercept::Penalized(scale),
        },
        limits: Limits { tolerance, passes },
        seed,
        threads: threads.clamp(1, MOST_THREADS),
        duals,
    };
    let pairs: Vec<[f64; 2]> = match costs.as_array().dim().1 {
        2 => costs
            .as_array()
            .rows()
            .into_iter()
            .map(|pair| [pair[0], pair[1]])
            .collect(),
        _ => return Err(PyValueError::new_err("a decision function has two costs")),
    };
    if pairs.iter().flatten().any(|cost| cost.is_nan() || *cost <= 0.0) {
        return Err(PyValueError::new_err("costs must be above 0"));
    }
    if weights.is_some_and(|weights| weights.iter().any(|weight| !weight.is_finite() || *weight < 0.0)) {
        return Err(PyValueError::new_err("weights must be finite and at least 0"));
    }
    let n_columns = table.n_columns();
    let scales = match &scales {
        Some(given) if given.as_array().dim() != (functions, n_columns) => {
            return Err(PyValueError::new_err("the scales do not match the columns"));
        }
        Some(given) => Some(given.as_slice()?),
        None => None,
    };
    let order = interruptible(py, || Order::new(&table, classes, weights, task.seed))?;
    let hard = pairs.iter().flatten().any(|cost| cost.is_infinite());
    let coarse = tolerance >= NARROW_ENOUGH && !hard;
    let narrow = coarse || (scales.is_none() && interruptible(py, || is_narrow(&table))?);
    let ones = task.solver == Solver::Dual && interruptible(py, || is_one(&table, scales))?;
    let solutions = if ones {
        solve::<One>(py, &table, &order, &pairs, scales, members, &task)?
    } else if narrow {
        solve::<f32>(py, &table, &order, &pairs, scales, members, &task)?
    } else {
        solve::<f64>(py, &table, &order, &pairs, scales, members, &task)?
    };
    arrays(py, solutions, &order, n_columns, weights, duals)
}

fn solve<V: Value>(
    py: Python<'_>,
    table: &Vectors<'_>,
    order: &Order,
    costs: &[[f64; 2]],
    scales: Option<&[f64]>,
    members: Option<(&[bool], usize)>,
    task: &Task,
) -> PyResult<Vec<Solution>> {
    let n_columns = table.n_columns();
    // A single function has rows of its own.
    let (own, scales) = if costs.len() == 1 {
        (scales, None)
    } else {
        (None, scales)
    };
    let rows: Rows<V> = interruptible(py, || Rows::new(table, &order.rows(), own))?;
    if task.solver == Solver::CrammerSinger {
        let solutions = interruptible(py, || {
            CrammerSinger::new(&rows, order, costs, task.intercept).solve(task.limits, task.seed)
        })?;
        let expand = |solution: Solution| Solution {
            weights: rows.expand(solution.weights, n_columns),
            ..solution
        };
        return Ok(solutions.into_iter().map(expand).collect());
    }
    let solutions: Vec<Mutex<Option<Solution>>> = costs.iter().map(|_| Mutex::new(None)).collect();
    if let Some(members) = members.filter(|_| scales.is_none() && task.fits_together(costs)) {
        solve_together(py, &rows, order, costs[0][0], members, n_columns, task, &solutions)?;
    }
    let next = AtomicUsize::new(0);
    let mut workers = vec![(); task.threads.min(costs.len()).max(1)];
    on_threads(py, &mut workers, |()| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(pair) = costs.get(number) else { break };
            if is_solved(&solutions[number]) {
                continue;
            }
            let own = if costs.len() == 1 { 1 } else { number as u32 };
            let is_positive = |class: u32| match members {
                Some((members, n_classes)) => members[number * n_classes + class as usize],
                None => class == own,
            };
            let scaled = scales.map(|scales| rows.scaled(&scales[number * n_columns..(number + 1) * n_columns]));
            let own = scaled.as_ref().unwrap_or(&rows);
            let solution = solve_one(own, order, &is_positive, *pair, task);
            let solution = Solution {
                weights: own.expand(solution.weights, n_columns),
                duals: if task.duals { solution.duals } else { Vec::new() },
                ..solution
            };
            *solutions[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(solution);
        }
    })?;
    let taken = solutions
        .into_iter()
        .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    taken.collect::<Option<Vec<_>>>().ok_or_else(internal_error)
}

fn is_solved(slot: &Mutex<Option<Solution>>) -> bool {
    slot.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Solve functions of one cost in groups, each group over the same reading of the rows; some may be left.
#[allow(clippy::too_many_arguments)]
fn solve_together<V: Value>(
    py: Python<'_>,
    rows: &Rows<V>,
    order: &Order,
    cost: f64,
    (members, n_classes): (&[bool], usize),
    n_columns: usize,
    task: &Task,
    solutions: &[Mutex<Option<Solution>>],
) -> PyResult<()> {
    let costs: Vec<f64> = order.merged.iter().map(|row| cost * row.weight).collect();
    let is_positive = |function: usize, row: &Merged| members[function * n_classes + row.class as usize];
    let count = |function: usize| order.merged.iter().filter(|row| is_positive(function, row)).count();
    let counts: Vec<usize> = (0..solutions.len()).map(count).collect();
    let mut functions: Vec<usize> = (0..solutions.len()).collect();
    functions.sort_by_key(|&function| (counts[function], function)); // those of a group take about as many passes
    let (groups, next) = (functions.chunks(LANES).collect::<Vec<_>>(), AtomicUsize::new(0));
    let mut workers = vec![(); task.threads.min(groups.len()).max(1)];
    on_threads(py, &mut workers, |()| {
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            if group.len() < LANES / 2 {
                continue; // one by one is faster
            }
            let bits = |row: &Merged| {
                let bit = |(lane, &function): (usize, &usize)| u32::from(is_positive(function, row)) << lane;
                group.iter().enumerate().map(bit).sum()
            };
            let positive: Vec<u32> = order.merged.iter().map(bits).collect();
            let found =
                Together::new(rows, &positive, &costs, task.intercept).solve(task.limits, task.seed, group.len());
            for (&function, solution) in group.iter().zip(found) {
                let expand = |solution: Solution| Solution {
                    weights: rows.expand(solution.weights, n_columns),
                    duals: if task.duals { solution.duals } else { Vec::new() },
                    ..solution
                };
                *solutions[function].lock().unwrap_or_else(PoisonError::into_inner) = solution.map(expand);
            }
        }
    })
}

fn solve_one<V: Value>(
    rows: &Rows<V>,
    order: &Order,
    is_positive: &dyn Fn(u32) -> bool,
    [own, other]: [f64; 2],
    task: &Task,
) -> Solution {
    let signs: Vec<f64> = order
        .merged
        .iter()
        .map(|row| if is_positive(row.class) { 1.0 } else { -1.0 })
        .collect();
    let cost = |row: &Merged| row.weight * if is_positive(row.class) { own } else { other };
    let costs: Vec<f64> = order.merged.iter().map(cost).collect();
    match task.solver {
        Solver::Primal => Primal::new(rows, &signs, &costs, task.intercept).solve(task.limits),
        _ => Dual::new(rows, &signs, &costs, task.loss, task.intercept).solve(task.limits, task.seed),
    }
}

fn arrays(
    py: Python<'_>,
    solutions: Vec<Solution>,
    order: &Order,
    n_columns: usize,
    weights: Option<&[f64]>,
    duals: bool,
) -> PyResult<Margins> {
    let of = |part: fn(&Certificate) -> f64| solutions.iter().map(|solution| part(&solution.certificate)).collect();
    let all = solutions.iter().flat_map(|solution| solution.weights.iter().copied());
    let intercepts: Vec<f64> = solutions.iter().map(|solution| solution.intercept).collect();
    // Equal rows share the α of the row they were merged to, by their weights.
    let share = |row: usize, place: u32| weights.map_or(1.0, |w| w[row]) / order.merged[place as usize].weight;
    let spread = order.places.iter().enumerate().flat_map(|(row, &place)| {
        solutions.iter().map(move |solution| match place {
            NOWHERE => 0.0,
            place => solution.duals[place as usize] * share(row, place),
        })
    });
    let shape = [order.places.len(), solutions.len()];
    let duals = if duals {
        Some(spread.collect::<Vec<f64>>().into_pyarray(py).reshape(shape)?.unbind())
    } else {
        None
    };
    Ok(Margins {
        weights: all
            .collect::<Vec<f64>>()
            .into_pyarray(py)
            .reshape([solutions.len(), n_columns])?
            .unbind(),
        intercepts: intercepts.into_pyarray(py).unbind(),
        primal: of(|certificate| certificate.primal),
        dual: of(|certificate| certificate.dual),
        violation: of(|certificate| certificate.violation),
        passes: solutions.iter().map(|solution| solution.certificate.passes).collect(),
        duals,
    })
}

/// Sum the rows of each class, each row times its weight: classes × columns.
#[pyfunction]
fn class_sums<'py>(
    py: Python<'py>,
    rows: Table<'py>,
    classes: PyReadonlyArray1<'py, i32>,
    count: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let table = rows.unsorted()?;
    let classes = checked_classes(&classes, table.rows(), count)?;
    let weights = checked_weights(&weights, table.rows())?;
    let shape = [count, table.n_columns()];
    if shape[0]
        .checked_mul(shape[1])
        .is_none_or(|size| size > isize::MAX as usize / 8)
    {
        return Err(PyValueError::new_err("there are too many classes and columns"));
    }
    let sums = interruptible(py, || sum_by_class(&table, classes, count, weights))?;
    sums.into_pyarray(py).reshape(shape)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Margins>()?;
    module.add_function(wrap_pyfunction!(fit_margins, module)?)?;
    module.add_function(wrap_pyfunction!(class_sums, module)?)?;
    Ok(())
}
