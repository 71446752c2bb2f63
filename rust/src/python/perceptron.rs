//! Learners that see one row after another.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::kernel::kernel_of;
use super::tables::{checked_classes, checked_weights};
use super::vectors::Table;
use super::work::{interruptible, step_to_end};
use crate::learners::kernel::Points;
use crate::learners::perceptron::{Learner, Rows, Rule, Settings, Shown, State, Unfit};
use crate::tables::vectors::Vectors;

/// The largest weight of a row, which is shown as often as it weighs.
const HEAVIEST_ROW: f64 = 1e6;

/// Weights, bias, second weights, second bias, rows shown: what a learner starts from and ends with.
type StateArrays<'py> = (PyReadonlyArray1<'py, f64>, f64, PyReadonlyArray1<'py, f64>, f64, f64);
/// The state, and (promotions, demotions, epochs, share of mistakes in the last epoch, converged).
type Learned<'py> = (
    (Bound<'py, PyArray1<f64>>, f64, Bound<'py, PyArray1<f64>>, f64, f64),
    (u64, u64, u64, f64, bool),
);
/// Name of the rule and its numbers.
type RuleNumbers = (String, Vec<f64>);
/// Epochs, tolerance, patience, share of errors, shuffle, seed.
type SettingNumbers = (u64, f64, u64, f64, bool, u64);

/// Show rows to a learner for each positive class, the others being negative; None if rows are to be shuffled and a
/// column occurs twice in one.
#[pyfunction]
#[pyo3(signature = (table, weights, classes, positives, factors, rule, kernel, settings, states, threads))]
#[allow(clippy::too_many_arguments)]
pub(super) fn learn_online<'py>(
    py: Python<'py>,
    table: Table<'py>,
    weights: PyReadonlyArray1<'py, f64>,
    classes: PyReadonlyArray1<'py, i32>,
    positives: Vec<i32>,
    factors: Vec<(f64, f64)>,
    rule: RuleNumbers,
    kernel: Option<(String, f64, f64, i32)>,
    settings: SettingNumbers,
    states: Vec<StateArrays<'py>>,
    threads: usize,
) -> PyResult<Option<Vec<Learned<'py>>>> {
    let table = match kernel {
        None => table.unsorted()?,
        Some(_) => table.vectors()?,
    };
    let weights = Some(weights);
    let weights = checked_weights(&weights, table.rows())?.unwrap_or(&[]);
    let classes = checked_classes(&classes, table.rows(), usize::MAX)?;
    let kernel = kernel
        .map(|(name, gamma, offset, degree)| kernel_of(&name, gamma, offset, degree))
        .transpose()?;
    let all: Vec<u32> = (0..table.rows() as u32).collect();
    let points = kernel.map(|kernel| (kernel, Points::new(&table, &all, kernel)));
    let (most_epochs, tolerance, patience, error_share, shuffle, seed) = settings;
    let settings = Settings {
        most_epochs,
        tolerance,
        patience,
        error_share,
        shuffle,
        seed,
    };
    if positives.len() != states.len() || factors.len() != states.len() {
        return Err(PyValueError::new_err("the states do not match the classes"));
    }
    rule_of(&rule, points.as_ref())?; // an unknown rule is an error before any work
    let mut shown = match interruptible(py, || Shown::new(&table, classes, weights, &settings))? {
        Ok(shown) => shown,
        Err(Unfit::Repeats) => return Ok(None),
        Err(Unfit::Numbers) => {
            return Err(PyValueError::new_err(
                "the rows hold a number that is not finite, or too large: leave them out, or scale the columns",
            ));
        }
    };
    if shown
        .weights
        .iter()
        .any(|weight| !(0.0..=HEAVIEST_ROW).contains(weight))
    {
        return Err(PyValueError::new_err("a row's weight must be from 0 to a million"));
    }
    let copied = match points {
        None => interruptible(py, || shown.copied(&table, classes, &settings))?,
        Some(_) => None, // its scores are those of the given rows
    };
    let (table, classes) = match &copied {
        Some(copied) => (copied.table(), &*copied.classes),
        None => (table, classes),
    };
    let mut learners = Vec::with_capacity(states.len());
    for ((state, &positive), &(negative_factor, positive_factor)) in states.iter().zip(&positives).zip(&factors) {
        let rows = Rows {
            table,
            shown: &shown.rows,
            weights: &shown.weights,
            classes,
            positive,
            factors: [negative_factor, positive_factor],
        };
        let rule = rule_of(&rule, points.as_ref())?;
        let state = state_of(state, &rule, &table)?;
        learners.push(Learner::new(rows, rule, settings, state));
    }
    let learners = step_to_end(py, learners, threads, |learner| learner.advance())?;
    let given = learners.into_iter().map(|learner| {
        let (state, outcome) = (learner.state, learner.outcome);
        let arrays = (
            state.weights.into_pyarray(py),
            state.bias,
            state.second.into_pyarray(py),
            state.second_bias,
            state.shown,
        );
        let counts = (
            outcome.promotions,
            outcome.demotions,
            outcome.epochs,
            outcome.error_share,
            outcome.converged,
        );
        (arrays, counts)
    });
    Ok(Some(given.collect()))
}

fn rule_of<'a>(
    (name, numbers): &RuleNumbers,
    points: Option<&'a (crate::learners::kernel::Kernel, Points)>,
) -> PyResult<Rule<'a>> {
    let unknown = || PyValueError::new_err(format!("unknown rule {name:?} of {} numbers", numbers.len()));
    Ok(match (name.as_str(), numbers.as_slice(), points) {
        ("perceptron", &[rate, bias_rate, average, decay, truncation], None) => Rule::Perceptron {
            rate,
            bias_rate,
            average: average != 0.0,
            decay,
            truncation,
        },
        ("kernel-perceptron", &[rate], Some((kernel, points))) => Rule::KernelPerceptron {
            rate,
            kernel: *kernel,
            points,
        },
        ("winnow", &[factor, threshold], None) => Rule::Winnow { factor, threshold },
        ("balanced-winnow", &[factor, threshold, fit_bias], None) => Rule::BalancedWinnow {
            factor,
            threshold,
            fit_bias: fit_bias != 0.0,
        },
        _ => return Err(unknown()),
    })
}

/// Take the state of a rule, checked: weights by column, or by row for a kernel.
fn state_of(arrays: &StateArrays<'_>, rule: &Rule<'_>, table: &Vectors<'_>) -> PyResult<State> {
    let state = State {
        weights: arrays.0.as_slice()?.to_vec(),
        bias: arrays.1,
        second: arrays.2.as_slice()?.to_vec(),
        second_bias: arrays.3,
        shown: arrays.4,
    };
    let n_columns = table.n_columns();
    let sizes = match rule {
        Rule::Perceptron { average: false, .. } | Rule::Winnow { .. } => (n_columns, 0),
        Rule::Perceptron { .. } | Rule::BalancedWinnow { .. } => (n_columns, n_columns),
        Rule::KernelPerceptron { .. } => (table.rows(), table.rows()),
    };
    if (state.weights.len(), state.second.len()) != sizes {
        return Err(PyValueError::new_err("the weights do not match the columns"));
    }
    Ok(state)
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(learn_online, module)?)?;
    Ok(())
}
