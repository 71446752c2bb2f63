//! Columns of numbers: read from texts, hashed, summed, scored.

use std::hash::Hasher;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use siphasher::sip::SipHasher13;

use super::sources::{Source, each_string};
use super::tables::checked_classes;
use super::work::{interruptible, share_out};
use crate::system::cancel::{check_now, checkpoint};
use crate::tables::bins::Bins;
use crate::tables::densities::{Column, Densities, Scores};
use crate::tables::exact::{ExactSums, Infinite};
use crate::tables::shortest::widen;
use crate::tables::without::{Folds, Moments, without};
use crate::text::numbers::{decimal, is_plain, number};

/// Numbers in one portion of exact sums: many more than there are cells for their classes and exponents.
const EXACT_ROWS: usize = 1 << 17;
/// Numbers of 32 bits in one portion.
const WIDENED: usize = 1 << 16;
/// The longest text that has the size of a number.
const SHORT: usize = 32;
/// The longest text that may be a number, a truth value or a time.
const LONGEST: usize = 40;

/// Read texts as numbers, NaN where one is missing: (numbers, places of the texts that are rare or hold no number,
/// whether each text may be replaced by its number: it has the same hash and size).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn numbers<'py>(
    py: Python<'py>,
    strings: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>, bool)> {
    let (mut found, mut odd, mut all_plain) = (Vec::new(), Vec::new(), true);
    let read = |text: &[u8]| {
        let number = number(text);
        all_plain &= text.len() <= SHORT && is_plain(text);
        if number.is_none() {
            odd.push(found.len() as i64);
        }
        found.push(number.unwrap_or(f64::NAN));
    };
    each(py, strings, read)?;
    let all_plain = all_plain && odd.is_empty();
    Ok((found.into_pyarray(py), odd.into_pyarray(py), all_plain))
}

/// Return 32-bit floats as the doubles of their shortest decimal texts.
#[pyfunction]
fn widened<'py>(py: Python<'py>, values: PyReadonlyArray1<'py, f32>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let values = values.as_slice()?;
    let mut doubles = vec![0.0; values.len()];
    let portions = doubles.chunks_mut(WIDENED).zip(values.chunks(WIDENED));
    if values.len() <= WIDENED {
        portions.for_each(|(doubles, values)| widen(values, doubles));
    } else {
        interruptible(py, || {
            portions.for_each(|(doubles, values)| {
                check_now();
                widen(values, doubles);
            });
        })?;
    }
    Ok(doubles.into_pyarray(py))
}

/// Call `read` with each string of a column.
fn each(py: Python<'_>, strings: &Bound<'_, PyAny>, read: impl FnMut(&[u8]) + Send) -> PyResult<()> {
    match strings.cast::<PyList>() {
        Ok(list) => each_string(list, read),
        Err(_) => {
            let source = Source::new(strings)?;
            let strings = source.strings()?;
            interruptible(py, || strings.each(read))?
        }
    }
}

/// Return whether a text may be a number that is hashed by its value, a truth value or a time.
fn is_candidate(text: &[u8]) -> bool {
    text.len() <= LONGEST && matches!(text, [b'0'..=b'9' | b'-' | b'.' | b'T' | b'F', ..])
}

/// Hash each text of a column, a number by its value: (hashes, places of the texts that may be a truth value or a time).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn value_hashes<'py>(
    py: Python<'py>,
    strings: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<i64>>)> {
    let (mut hashes, mut odd) = (Vec::new(), Vec::new());
    let read = |text: &[u8]| {
        let candidate = is_candidate(text);
        let number = if candidate { decimal(text) } else { None };
        if candidate && number.is_none() {
            odd.push(hashes.len() as i64);
        }
        hashes.push(number.map_or_else(|| hash(text), hash_of_number));
    };
    each(py, strings, read)?;
    Ok((hashes.into_pyarray(py), odd.into_pyarray(py)))
}

/// Hash numbers by their value; a missing one (NaN) as an empty text.
#[pyfunction]
fn number_hashes<'py>(py: Python<'py>, numbers: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let numbers = numbers.as_slice()?;
    let hashes: Vec<u64> = interruptible(py, || {
        let each = |&number: &f64| {
            checkpoint();
            if number.is_nan() {
                hash(b"")
            } else {
                hash_of_number(number)
            }
        };
        numbers.iter().map(each).collect()
    })?;
    Ok(hashes.into_pyarray(py))
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(text);
    hasher.finish()
}

/// −0 is 0.
fn hash_of_number(number: f64) -> u64 {
    hash(&(number + 0.0).to_ne_bytes())
}

/// What sums are as arrays: how many numbers there are, the unit u, and the integers of Σ x in 2^u and of Σ x² in 4^u,
/// each a row of bytes in two's complement, the lowest first.
type SumArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    i64,
    Bound<'py, PyArray2<u8>>,
    Bound<'py, PyArray2<u8>>,
);

/// Adds up numbers and their squares by class exactly, batch by batch.
#[pyclass(module = "discern._native")]
struct ExactTotal(ExactSums);

#[pymethods]
impl ExactTotal {
    #[new]
    fn new(n_classes: usize) -> Self {
        ExactTotal(ExactSums::new(n_classes))
    }

    /// Add numbers, the class of each given as a number below `n_classes`, which may grow; NaN is missing.
    fn add(
        &mut self,
        py: Python<'_>,
        values: PyReadonlyArray1<'_, f64>,
        classes: PyReadonlyArray1<'_, i32>,
        n_classes: usize,
    ) -> PyResult<()> {
        let values = values.as_slice()?;
        let classes = checked_classes(&classes, values.len(), n_classes)?;
        self.0.grow(n_classes);
        let portions = values.len().div_ceil(EXACT_ROWS);
        let mut states = [(&mut self.0, Ok(()))];
        share_out(py, &mut states, portions, portions <= 1, |(sums, found), portion| {
            let range = portion * EXACT_ROWS..((portion + 1) * EXACT_ROWS).min(values.len());
            if found.is_ok() {
                *found = sums.add(&values[range.clone()], &classes[range]);
            }
        })?;
        let [(_, found)] = states;
        found.map_err(|Infinite| PyValueError::new_err("an infinite number has no sum"))
    }

    /// End the sum and return it; a new one begins.
    fn sums<'py>(&mut self, py: Python<'py>) -> PyResult<SumArrays<'py>> {
        let sums = std::mem::replace(&mut self.0, ExactSums::new(0));
        let (counts, unit) = (sums.counts.clone(), sums.unit());
        let (first, second) = sums.integers();
        let shaped = |bytes: Vec<u8>| {
            let digits = bytes.len() / counts.len().max(1);
            bytes.into_pyarray(py).reshape([counts.len(), digits])
        };
        let (first, second) = (shaped(first)?, shaped(second)?);
        Ok((counts.into_pyarray(py), unit, first, second))
    }
}

/// Return the mean and the standard deviation of numbers without each fold, as exact sums give them: the class and the
/// fold of each cell (class × fold that has rows), the means and deviations of the class without them, and those of all
/// classes without each fold. `None` if the numbers are too far apart.
#[pyfunction]
#[allow(clippy::type_complexity)]
fn moments_without<'py>(
    py: Python<'py>,
    values: PyReadonlyArray1<'py, f64>,
    classes: PyReadonlyArray1<'py, i32>,
    n_classes: usize,
    order: PyReadonlyArray1<'py, i64>,
    numbers: PyReadonlyArray1<'py, i64>,
    n_folds: usize,
) -> PyResult<
    Option<(
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<i64>>,
        [Bound<'py, PyArray1<f64>>; 2],
        [Bound<'py, PyArray1<f64>>; 2],
    )>,
> {
    let values = values.as_slice()?;
    let classes = checked_classes(&classes, values.len(), n_classes)?;
    let folds = Folds {
        order: order.as_slice()?,
        numbers: numbers.as_slice()?,
        count: n_folds,
    };
    let within = |list: &[i64], end: usize| {
        list.iter()
            .all(|&place| usize::try_from(place).is_ok_and(|place| place < end))
    };
    let matching = folds.order.len() == folds.numbers.len();
    if !matching || !within(folds.order, values.len()) || !within(folds.numbers, n_folds) {
        return Err(PyValueError::new_err("the folds do not match the rows"));
    }
    let found = interruptible(py, || without(values, classes, n_classes, &folds))?;
    let pair = |moments: &[Moments]| {
        let part = |of: fn(&Moments) -> f64| moments.iter().map(of).collect::<Vec<_>>().into_pyarray(py);
        [part(|one| one.mean), part(|one| one.deviation)]
    };
    Ok(found.map(|found| {
        let cells =
            |of: fn(&(usize, usize)) -> usize| -> Vec<i64> { found.cells.iter().map(|cell| of(cell) as i64).collect() };
        let (classes, folds) = (cells(|cell| cell.0), cells(|cell| cell.1));
        (
            classes.into_pyarray(py),
            folds.into_pyarray(py),
            pair(&found.of_cells),
            pair(&found.of_folds),
        )
    }))
}

/// Rows of a table in one portion of scores.
const SCORED_ROWS: usize = 1 << 13;

/// Scores columns of numbers at once, each by normal densities or by bins.
#[pyclass(frozen, module = "discern._native")]
struct NumberScorer(Densities);

/// A column with normal densities (means, deviations, their logarithms), or with bins (inner edges, weights of bins ×
/// classes, and which bins are known).
#[derive(FromPyObject)]
enum Given<'py> {
    Normal(
        PyReadonlyArray1<'py, f64>,
        PyReadonlyArray1<'py, f64>,
        PyReadonlyArray1<'py, f64>,
    ),
    Binned(Vec<f64>, PyReadonlyArray2<'py, f64>, Vec<bool>),
}

impl Given<'_> {
    fn column(self, classes: usize) -> PyResult<Column> {
        let (column, fits) = match self {
            Given::Normal(means, deviations, logs) => {
                let [means, deviations, logs] =
                    [means, deviations, logs].map(|one| one.as_slice().map(<[f64]>::to_vec));
                let (means, deviations, logs) = (means?, deviations?, logs?);
                let fits = [&means, &deviations, &logs].into_iter().all(|one| one.len() == classes);
                let column = Column::Normal {
                    means,
                    deviations,
                    logs,
                };
                (column, fits)
            }
            Given::Binned(edges, weights, known) => {
                let fits = weights.as_array().dim() == (edges.len() + 1, classes) && known.len() == edges.len() + 1;
                let column = Column::Binned {
                    bins: Bins::new(vec![edges]),
                    weights: [weights.as_slice()?, &vec![0.0; classes]].concat(),
                    known,
                };
                (column, fits)
            }
        };
        fits.then_some(column)
            .ok_or_else(|| PyValueError::new_err("the columns do not match the labels"))
    }
}

#[pymethods]
impl NumberScorer {
    #[new]
    fn new(columns: Vec<Given<'_>>, n_classes: usize, farthest: f64) -> PyResult<Self> {
        let columns = columns.into_iter().map(|column| column.column(n_classes));
        Ok(NumberScorer(Densities {
            columns: columns.collect::<PyResult<_>>()?,
            classes: n_classes,
            farthest,
        }))
    }

    /// Add the scores of rows to `scores`, in place; return how many numbers of each row are known and unknown.
    #[allow(clippy::type_complexity)]
    fn add<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<PyReadonlyArray1<'py, f64>>,
        mut scores: PyReadwriteArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>)> {
        let (rows, classes) = scores.as_array().dim();
        let columns = columns.iter().map(|column| column.as_slice());
        let columns: Vec<&[f64]> = columns.collect::<Result<_, _>>()?;
        let fits = columns.iter().all(|column| column.len() == rows) && columns.len() == self.0.columns.len();
        if !fits || classes != self.0.classes || classes == 0 {
            return Err(PyValueError::new_err("the numbers do not match the columns"));
        }
        let scores = scores.as_slice_mut()?;
        let (mut known, mut unknown) = (vec![0; rows], vec![0; rows]);
        let parts: Vec<std::sync::Mutex<Scores<'_>>> = scores
            .chunks_mut(SCORED_ROWS * classes)
            .zip(known.chunks_mut(SCORED_ROWS).zip(unknown.chunks_mut(SCORED_ROWS)))
            .map(|(scores, (known, unknown))| std::sync::Mutex::new(Scores { scores, known, unknown }))
            .collect();
        let mut workers = vec![(); threads.clamp(1, parts.len().max(1))];
        let small = rows * columns.len() * classes < SCORED_ROWS;
        share_out(py, &mut workers, parts.len(), small, |(), portion| {
            let range = portion * SCORED_ROWS..((portion + 1) * SCORED_ROWS).min(rows);
            let values: Vec<&[f64]> = columns.iter().map(|column| &column[range.clone()]).collect();
            let mut part = parts[portion].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let Scores { scores, known, unknown } = &mut *part;
            self.0.add(&values, Scores { scores, known, unknown });
        })?;
        drop(parts);
        Ok((known.into_pyarray(py), unknown.into_pyarray(py)))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(numbers, module)?)?;
    module.add_function(wrap_pyfunction!(widened, module)?)?;
    module.add_function(wrap_pyfunction!(value_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(number_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(moments_without, module)?)?;
    module.add_class::<ExactTotal>()?;
    module.add_class::<NumberScorer>()?;
    Ok(())
}
