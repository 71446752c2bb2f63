//! JSON lines: the columns of a block.

use numpy::{IntoPyArray, PyArray1, PyReadwriteArray1};
use pyo3::prelude::*;

use super::work::interruptible;
use crate::text::json::{Column, Kind, parse};

/// Where each value starts and ends.
type Spans<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// A column of a block of JSON lines.
#[pyclass(frozen, module = "discern._native")]
struct JsonColumn {
    column: Column,
    rows: usize,
    is_text: bool,
}

/// What the values of a column are, as bits.
const TEXTS: u8 = Kind::Text as u8 | Kind::Null as u8;

#[pymethods]
impl JsonColumn {
    #[getter]
    fn name(&self) -> &str {
        &self.column.name
    }

    /// The kinds of all values, as bits; a value that is not there is null.
    #[getter]
    fn kinds(&self) -> u8 {
        let missing = self.column.values.len() < self.rows;
        self.column.kinds() | if missing { Kind::Null as u8 } else { 0 }
    }

    /// The kind of each value; 0 if it is not there.
    fn row_kinds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        let mut kinds = vec![0; self.rows];
        self.column
            .values
            .iter()
            .for_each(|value| kinds[value.row] = value.kind as u8);
        kinds.into_pyarray(py)
    }

    /// The numbers and truth values; NaN for other values.
    fn numbers<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut numbers = vec![f64::NAN; self.rows];
        let wanted = Kind::Integer as u8 | Kind::Float as u8 | Kind::Truth as u8;
        let values = self.column.values.iter().filter(|value| value.kind as u8 & wanted != 0);
        values.for_each(|value| numbers[value.row] = value.number);
        numbers.into_pyarray(py)
    }

    /// Where the value of each row is in the block: the text of a string if all are strings, else what is written. A
    /// value that is not there is empty, as is a missing text.
    fn spans<'py>(&self, py: Python<'py>) -> Spans<'py> {
        let (mut starts, mut ends) = (vec![0; self.rows], vec![0; self.rows]);
        for value in &self.column.values {
            let quotes = i64::from(value.kind == Kind::Text && !self.is_text);
            if !self.is_text || value.kind == Kind::Text {
                starts[value.row] = value.start as i64 - quotes;
                ends[value.row] = value.end as i64 + quotes;
            }
        }
        (starts.into_pyarray(py), ends.into_pyarray(py))
    }

    /// The numbers of all arrays of numbers, one after the other, and where those of each array end.
    fn arrays<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i64>>) {
        let ends: Vec<i64> = self.column.ends.iter().map(|&end| end as i64).collect();
        (self.column.numbers.clone().into_pyarray(py), ends.into_pyarray(py))
    }
}

/// Read a block with a JSON object on each line: how many rows there are, and their columns in the order in which they
/// first appear. `None` if a line is anything else, or is rare. Escapes in columns of strings are replaced in the block.
#[pyfunction]
fn parse_json_lines(
    py: Python<'_>,
    mut block: PyReadwriteArray1<'_, u8>,
) -> PyResult<Option<(usize, Vec<JsonColumn>)>> {
    let block = block.as_slice_mut()?;
    interruptible(py, || {
        let parsed = parse(block)?;
        let rows = parsed.rows;
        let columns = parsed.columns.into_iter().map(|mut column| {
            let is_text = column.kinds() & !TEXTS == 0;
            if is_text {
                column.unescape(block);
            }
            JsonColumn { column, rows, is_text }
        });
        Some((rows, columns.collect()))
    })
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<JsonColumn>()?;
    module.add_function(wrap_pyfunction!(parse_json_lines, module)?)
}
