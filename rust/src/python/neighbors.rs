//! Nearest neighbors of batches of queries.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use super::work::{interruptible, share_out};
use crate::learners::neighbors::{Found, Index, Inverted, Measure, Scratch, Screen, Sparse, nearest_bits, tree};

/// Distances and rows of the neighbors, queries × neighbors.
type Neighbors<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i64>>);

/// Sparse queries that are answered together.
const TOGETHER: usize = 4;

/// Queries of a tree that a thread takes at a time.
const TREE_TOGETHER: usize = 64;

/// Answer queries on threads with a state each, `together` at a time; `find` returns exactly `count` neighbors of
/// each.
fn answer<'py, S: Send>(
    py: Python<'py>,
    (queries, together): (usize, usize),
    count: usize,
    states: &mut [S],
    find: impl Fn(&mut S, Range<usize>) -> Vec<Vec<Found>> + Sync,
) -> PyResult<Neighbors<'py>> {
    let mut distances = vec![0.0; queries * count];
    let mut rows = vec![0i64; queries * count];
    {
        let slots: Vec<_> = distances
            .chunks_mut((together * count).max(1))
            .zip(rows.chunks_mut((together * count).max(1)))
            .map(Mutex::new)
            .collect();
        share_out(py, states, slots.len(), queries <= 1, |state, group| {
            let first = group * together;
            let found = find(state, first..(first + together).min(queries));
            let mut slot = slots[group].lock().unwrap_or_else(PoisonError::into_inner);
            for (place, one) in found.iter().flatten().enumerate() {
                slot.0[place] = one.distance;
                slot.1[place] = one.row as i64;
            }
        })?;
    }
    let shape = [queries, count];
    Ok((
        distances.into_pyarray(py).reshape(shape)?,
        rows.into_pyarray(py).reshape(shape)?,
    ))
}

/// The row that each query leaves out, if any: its own, when the rows themselves are the queries.
fn left_out<'a>(without: &'a Option<PyReadonlyArray1<'_, i64>>, queries: usize) -> PyResult<Option<&'a [i64]>> {
    let without = without.as_ref().map(|without| without.as_slice()).transpose()?;
    match without {
        Some(without) if without.len() != queries => Err(PyValueError::new_err(
            "there must be one row to leave out for each query",
        )),
        _ => Ok(without),
    }
}

fn left_out_by(without: Option<&[i64]>, query: usize) -> Option<usize> {
    without.and_then(|without| usize::try_from(without[query]).ok())
}

fn check_count(count: usize, rows: usize, without: Option<&[i64]>) -> PyResult<()> {
    if count + usize::from(without.is_some()) > rows {
        return Err(PyValueError::new_err(format!(
            "cannot find {count} neighbors among {rows} rows"
        )));
    }
    Ok(())
}

/// An inverted index over the rows of a sparse matrix, which are not copied.
#[pyclass(frozen, module = "discern._native")]
pub(super) struct InvertedIndex {
    starts: Py<PyArray1<i64>>,
    terms: Py<PyArray1<i32>>,
    weights: Py<PyArray1<f64>>,
    n_columns: usize,
    index: Inverted,
}

#[pymethods]
impl InvertedIndex {
    #[new]
    fn new(
        py: Python<'_>,
        starts: Bound<'_, PyArray1<i64>>,
        terms: Bound<'_, PyArray1<i32>>,
        weights: Bound<'_, PyArray1<f64>>,
        n_columns: usize,
    ) -> PyResult<Self> {
        let (held_starts, held_terms, held_weights) = (starts.readonly(), terms.readonly(), weights.readonly());
        let rows = Sparse::new(
            held_starts.as_slice()?,
            held_terms.as_slice()?,
            held_weights.as_slice()?,
            n_columns,
        )
        .ok_or_else(|| PyValueError::new_err("the rows of the sparse matrix do not match each other"))?;
        let index = interruptible(py, || Inverted::new(rows, n_columns))?;
        drop((held_starts, held_terms, held_weights));
        Ok(InvertedIndex {
            starts: starts.unbind(),
            terms: terms.unbind(),
            weights: weights.unbind(),
            n_columns,
            index,
        })
    }

    /// The `count` nearest rows by cosine to each query; rows and queries must have unit length.
    #[pyo3(signature = (starts, terms, weights, count, without, threads))]
    #[allow(clippy::too_many_arguments)]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        starts: PyReadonlyArray1<'py, i64>,
        terms: PyReadonlyArray1<'py, i32>,
        weights: PyReadonlyArray1<'py, f64>,
        count: usize,
        without: Option<PyReadonlyArray1<'py, i64>>,
        threads: usize,
    ) -> PyResult<Neighbors<'py>> {
        let own = (
            self.starts.bind(py).readonly(),
            self.terms.bind(py).readonly(),
            self.weights.bind(py).readonly(),
        );
        let rows = Sparse::trusted(own.0.as_slice()?, own.1.as_slice()?, own.2.as_slice()?);
        let queries = Sparse::new(
            starts.as_slice()?,
            terms.as_slice()?,
            weights.as_slice()?,
            self.n_columns,
        )
        .ok_or_else(|| PyValueError::new_err("the queries do not match the index"))?;
        let without = left_out(&without, queries.rows())?;
        check_count(count, rows.rows(), without)?;
        let mut states: Vec<[Scratch; TOGETHER]> = Vec::new();
        states.resize_with(threads.clamp(1, queries.rows().max(1)), Default::default);
        let together = queries.rows().div_ceil(states.len()).clamp(1, TOGETHER);
        answer(
            py,
            (queries.rows(), together),
            count,
            &mut states,
            |scratches, range| {
                let asked: Vec<_> = range
                    .map(|query| (queries.row(query), left_out_by(without, query)))
                    .collect();
                self.index.nearest(rows, &asked, count, scratches)
            },
        )
    }
}

/// Candidates of queries among dense rows, from blocks of approximate values.
#[pyclass(frozen, name = "Screen", module = "discern._native")]
pub(super) struct PyScreen {
    screens: Mutex<Vec<Screen>>,
}

#[pymethods]
impl PyScreen {
    /// Start a search; `slack` bounds the error of the values of each query.
    #[new]
    #[pyo3(signature = (count, slack, without))]
    fn new(
        count: usize,
        slack: PyReadonlyArray1<'_, f32>,
        without: Option<PyReadonlyArray1<'_, i64>>,
    ) -> PyResult<Self> {
        let slack = slack.as_slice()?;
        let without = left_out(&without, slack.len())?;
        let screen = |(query, &slack): (usize, &f32)| Screen::new(count, slack, left_out_by(without, query));
        Ok(PyScreen {
            screens: Mutex::new(slack.iter().enumerate().map(screen).collect()),
        })
    }

    /// Take values of all queries for the rows from `first` on; smaller is nearer.
    fn add(&self, py: Python<'_>, values: PyReadonlyArray2<'_, f32>, first: usize) -> PyResult<()> {
        let (queries, n_columns) = values.as_array().dim();
        let values = values.as_slice()?;
        let mut screens = self
            .screens
            .lock_py_attached(py)
            .unwrap_or_else(PoisonError::into_inner);
        if screens.len() != queries || first + n_columns > u32::MAX as usize {
            return Err(PyValueError::new_err("the values do not match the queries"));
        }
        let screens = screens.as_mut_slice();
        share_out(py, &mut [screens], queries, false, |screens, query| {
            screens[query].add(&values[query * n_columns..(query + 1) * n_columns], first);
        })
    }

    /// The nearest rows to each query, now by exact distances, or cosines of rows of unit length; the screen is used up.
    #[pyo3(signature = (rows, queries, count, cosine, threads))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f64>,
        queries: PyReadonlyArray2<'py, f64>,
        count: usize,
        cosine: bool,
        threads: usize,
    ) -> PyResult<Neighbors<'py>> {
        let ((height, n_columns), asked) = (rows.as_array().dim(), queries.as_array().dim());
        let (rows, queries) = (rows.as_slice()?, queries.as_slice()?);
        let measure = if cosine { Measure::Cosine } else { Measure::Euclidean };
        let screens = std::mem::take(
            &mut *self
                .screens
                .lock_py_attached(py)
                .unwrap_or_else(PoisonError::into_inner),
        );
        if asked != (screens.len(), n_columns)
            || n_columns == 0
            || screens.iter().any(|screen| !screen.fits(count, height))
        {
            return Err(PyValueError::new_err("the screen does not match the rows and queries"));
        }
        let screens: Vec<Mutex<Option<Screen>>> = screens.into_iter().map(|screen| Mutex::new(Some(screen))).collect();
        let mut states = vec![(); threads.clamp(1, screens.len().max(1))];
        let find = |query: usize| {
            let screen = screens[query].lock().unwrap_or_else(PoisonError::into_inner).take();
            screen.map_or_else(Vec::new, |screen| {
                screen.nearest(rows, &queries[query * n_columns..(query + 1) * n_columns], measure)
            })
        };
        answer(py, (screens.len(), 1), count, &mut states, |(), range| {
            range.map(find).collect()
        })
    }
}

/// A k-d tree of dense rows of few columns, which are copied.
#[pyclass(frozen, name = "Tree", module = "discern._native")]
pub(super) struct PyTree {
    index: Box<dyn Index>,
    rows: usize,
    n_columns: usize,
}

#[pymethods]
impl PyTree {
    #[new]
    fn new(py: Python<'_>, rows: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let (height, n_columns) = rows.as_array().dim();
        let table = rows.as_slice()?;
        let index = interruptible(py, || tree(table, n_columns))?
            .ok_or_else(|| PyValueError::new_err("the rows have too many columns for a tree, or there are too many"))?;
        Ok(PyTree {
            index,
            rows: height,
            n_columns,
        })
    }

    /// The `count` nearest rows to each query by Euclidean distance.
    #[pyo3(signature = (queries, count, without, threads))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        queries: PyReadonlyArray2<'py, f64>,
        count: usize,
        without: Option<PyReadonlyArray1<'py, i64>>,
        threads: usize,
    ) -> PyResult<Neighbors<'py>> {
        let (asked, n_columns) = queries.as_array().dim();
        let (queries, without) = (queries.as_slice()?, left_out(&without, asked)?);
        if n_columns != self.n_columns {
            return Err(PyValueError::new_err("the queries do not match the rows"));
        }
        check_count(count, self.rows, without)?;
        let mut states = vec![(); threads.clamp(1, asked.div_ceil(TREE_TOGETHER).max(1))];
        let find = |query: usize| {
            let numbers = &queries[query * n_columns..(query + 1) * n_columns];
            self.index.nearest(numbers, count, left_out_by(without, query))
        };
        answer(py, (asked, TREE_TOGETHER), count, &mut states, |(), range| {
            range.map(find).collect()
        })
    }
}

/// The `count` nearest rows of packed bits to each query, by the share of `n_bits` bits that differ.
#[pyfunction]
#[pyo3(signature = (rows, queries, n_bits, count, without, threads))]
pub(super) fn hamming_neighbors<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, u64>,
    queries: PyReadonlyArray2<'py, u64>,
    n_bits: usize,
    count: usize,
    without: Option<PyReadonlyArray1<'py, i64>>,
    threads: usize,
) -> PyResult<Neighbors<'py>> {
    let ((height, words), (asked, same)) = (rows.as_array().dim(), queries.as_array().dim());
    let (rows, queries, without) = (rows.as_slice()?, queries.as_slice()?, left_out(&without, asked)?);
    if words != same || words == 0 || words < n_bits.div_ceil(64) {
        return Err(PyValueError::new_err("the queries do not match the rows"));
    }
    check_count(count, height, without)?;
    let mut states = vec![(); threads.clamp(1, asked.max(1))];
    let find = |query: usize| {
        let bits = &queries[query * words..(query + 1) * words];
        nearest_bits(rows, bits, n_bits, count, left_out_by(without, query))
    };
    answer(py, (asked, 1), count, &mut states, |(), range| {
        range.map(find).collect()
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<InvertedIndex>()?;
    module.add_class::<PyScreen>()?;
    module.add_class::<PyTree>()?;
    module.add_function(wrap_pyfunction!(hamming_neighbors, module)?)
}
