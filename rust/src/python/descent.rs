//! Stochastic gradient descent.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::tables::{checked_classes, checked_weights};
use super::vectors::Table;
use super::work::{interruptible, step_to_end};
use crate::learners::descent::{Learner, Loss, Rate, Rows, Settings};

/// Weights, their average (empty for none), intercept, its average.
type StateArrays<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, f64, f64);
/// The same, epochs, and whether a weight became infinite.
type Learned<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    f64,
    f64,
    u64,
    bool,
);
/// Loss; α, share of L1 (below 0: no penalty); rate, first step, power.
type Objective = (String, f64, f64, String, f64, f64);
/// Intercept, its decay, shuffle, epochs, tolerance, patience, average, first step number.
type Course = (bool, f64, bool, u64, f64, u64, u64, f64);

/// Descend for each positive class, the others being negative; `factors` weigh negative and positive rows.
#[pyfunction]
#[pyo3(signature = (table, weights, classes, positives, factors, objective, course, seeds, states, threads))]
#[allow(clippy::too_many_arguments)]
pub(super) fn descend<'py>(
    py: Python<'py>,
    table: Table<'py>,
    weights: PyReadonlyArray1<'py, f64>,
    classes: PyReadonlyArray1<'py, i32>,
    positives: Vec<i32>,
    factors: Vec<(f64, f64)>,
    objective: Objective,
    course: Course,
    seeds: Vec<u32>,
    states: Vec<StateArrays<'py>>,
    threads: usize,
) -> PyResult<Vec<Learned<'py>>> {
    let table = table.unsorted()?;
    let weights = Some(weights);
    let weights = checked_weights(&weights, table.rows())?.unwrap_or(&[]);
    let classes = checked_classes(&classes, table.rows(), usize::MAX)?;
    let settings = settings_of(&objective, course)?;
    let count = positives.len();
    if factors.len() != count || seeds.len() != count || states.len() != count {
        return Err(PyValueError::new_err("the states do not match the classes"));
    }
    let norms: Vec<f64> = interruptible(py, || {
        (0..table.rows()).map(|row| table.row(row).squared_norm()).collect()
    })?;
    let mut learners = Vec::with_capacity(count);
    for (place, (kept, averages, intercept, average_intercept)) in states.iter().enumerate() {
        let (kept, averages) = (kept.as_slice()?.to_vec(), averages.as_slice()?.to_vec());
        let fits = |length: usize| length == table.n_columns();
        if !fits(kept.len()) || fits(averages.len()) != (settings.average > 0) {
            return Err(PyValueError::new_err("the weights do not match the columns"));
        }
        let rows = Rows {
            table,
            classes,
            positive: positives[place],
            factors: [factors[place].0, factors[place].1],
            weights,
            norms: &norms,
        };
        let intercepts = [*intercept, *average_intercept];
        learners.push(Learner::new(rows, settings, seeds[place], kept, averages, intercepts));
    }
    let learners = step_to_end(py, learners, threads, |learner| learner.advance())?;
    let given = learners.into_iter().map(|learner| {
        let (intercept, average_intercept) = (learner.intercept, learner.average_intercept);
        let (epochs, overflown) = (learner.epochs, learner.overflown);
        let (weights, averages) = learner.into_weights();
        let (weights, averages) = (weights.into_pyarray(py), averages.into_pyarray(py));
        (weights, averages, intercept, average_intercept, epochs, overflown)
    });
    Ok(given.collect())
}

fn settings_of((loss, alpha, l1_ratio, rate, first_step, power): &Objective, course: Course) -> PyResult<Settings> {
    let (intercept, intercept_decay, shuffle, most_epochs, tolerance, patience, average, start) = course;
    let unknown = |name: &str| PyValueError::new_err(format!("unknown loss or rate {name:?}"));
    Ok(Settings {
        loss: Loss::named(loss).ok_or_else(|| unknown(loss))?,
        alpha: *alpha,
        l1_ratio: (*l1_ratio >= 0.0).then_some(*l1_ratio),
        rate: match rate.as_str() {
            "constant" => Rate::Constant,
            "optimal" => Rate::Optimal,
            "invscaling" => Rate::InverseScaling(*power),
            "adaptive" => Rate::Adaptive,
            _ => return Err(unknown(rate)),
        },
        first_step: *first_step,
        intercept,
        intercept_decay,
        shuffle,
        most_epochs,
        tolerance,
        patience,
        average,
        start,
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(descend, module)?)
}
