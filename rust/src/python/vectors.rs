//! Tables of numbers as learners take them: a dense array, or the arrays of compressed sparse rows with their width.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::vectors::Vectors;

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
    /// Gives the rows, checked.
    pub(super) fn vectors(&self) -> PyResult<Vectors<'_>> {
        let vectors = match self {
            Table::Dense(table) => {
                let (rows, width) = table.as_array().dim();
                Vectors::dense(table.as_slice()?, rows, width)
            }
            Table::Sparse(starts, columns, values, width) => {
                Vectors::sparse(starts.as_slice()?, columns.as_slice()?, values.as_slice()?, *width)
            }
        };
        vectors.ok_or_else(|| PyValueError::new_err("the rows of the table do not fit together"))
    }
}

pub(super) fn check_row_numbers(numbers: &[i64], rows: usize) -> PyResult<Vec<u32>> {
    let checked = numbers
        .iter()
        .map(|&number| u32::try_from(number).ok().filter(|&row| (row as usize) < rows));
    checked
        .collect::<Option<Vec<u32>>>()
        .ok_or_else(|| PyValueError::new_err("a row number is outside the table"))
}
