//! Tables of numbers as learners take them: a dense array, or the arrays of compressed sparse rows with their number of columns.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::work::interruptible;
use crate::tables::vectors::Vectors;

#[derive(FromPyObject)]
pub(super) enum Table<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse(
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, i32>,
        PyReadonlyArray1<'py, f64>,
        usize,
    ),
}

impl Table<'_> {
    /// Return the rows, checked; the columns of sparse rows are sorted.
    pub(super) fn vectors(&self) -> PyResult<Vectors<'_>> {
        self.checked(Vectors::sparse)
    }

    /// Return the rows, checked; the columns of sparse rows are in any order; the caller guarantees that none occurs
    /// twice.
    pub(super) fn unsorted(&self) -> PyResult<Vectors<'_>> {
        self.checked(Vectors::unsorted)
    }

    fn checked<'a>(&'a self, sparse: Sparse<'a>) -> PyResult<Vectors<'a>> {
        let vectors = match self {
            Table::Dense(table) => {
                let (rows, n_columns) = table.as_array().dim();
                Vectors::dense(table.as_slice()?, rows, n_columns)
            }
            Table::Sparse(starts, columns, values, n_columns) => {
                sparse(starts.as_slice()?, columns.as_slice()?, values.as_slice()?, *n_columns)
            }
        };
        let vectors = vectors.filter(|vectors| vectors.rows() < u32::MAX as usize);
        vectors.ok_or_else(|| PyValueError::new_err("the rows of the table do not match each other"))
    }
}

type Sparse<'a> = fn(&'a [i64], &'a [i32], &'a [f64], usize) -> Option<Vectors<'a>>;

/// Return whether a column occurs twice in some row.
#[pyfunction]
fn repeats_columns(
    py: Python<'_>,
    starts: PyReadonlyArray1<'_, i64>,
    columns: PyReadonlyArray1<'_, i32>,
    n_columns: usize,
) -> PyResult<bool> {
    let (starts, columns) = (starts.as_slice()?, columns.as_slice()?);
    let fits = starts.first() == Some(&0) && starts.last() == Some(&(columns.len() as i64)) && starts.is_sorted();
    // Without branches: as an unsigned number, a negative one is large.
    let largest = columns.iter().fold(0, |most, &column| most.max(column as u32));
    if !fits || !columns.is_empty() && largest as usize >= n_columns.min(1 << 31) {
        return Err(PyValueError::new_err("the rows of the table do not match each other"));
    }
    interruptible(py, || crate::tables::vectors::repeats(starts, columns, n_columns))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(repeats_columns, module)?)
}

pub(super) fn check_row_numbers(numbers: &[i64], rows: usize) -> PyResult<Vec<u32>> {
    let checked = numbers
        .iter()
        .map(|&number| u32::try_from(number).ok().filter(|&row| (row as usize) < rows));
    checked
        .collect::<Option<Vec<u32>>>()
        .ok_or_else(|| PyValueError::new_err("a row number is outside the table"))
}
