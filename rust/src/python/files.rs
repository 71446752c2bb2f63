//! Files: CSV blocks, checksums, the layout of a model file.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::work::interruptible;
use crate::system::cancel::checkpoint;
use crate::text::csv::{Column, Dialect, Parsed};

/// Bytes of a file hashed between two checkpoints.
const HASHED_AT_ONCE: usize = 1 << 16;

/// Starts and ends of the values of a column.
pub(super) type ColumnArrays = (Py<PyArray1<i64>>, Py<PyArray1<i64>>);

/// Rows of a block of a CSV file.
#[pyclass(frozen, get_all, name = "Parsed", module = "discern._native")]
pub(super) struct PyParsed {
    /// (starts, ends) in the block of each wanted column, in their order.
    columns: Vec<ColumnArrays>,
    rows: usize,
    consumed: usize,
    /// (row in the block, number of fields, start, end) of rows that do not fit.
    ragged: Vec<(usize, usize, usize, usize)>,
    /// (place among the wanted columns, row) of the first value that is not UTF-8.
    invalid: Option<(usize, usize)>,
    /// The row whose last field has a quote that is never closed.
    unclosed: Option<usize>,
}

/// Split a block of a CSV file; `follows`: more of the file comes after it. Doubled quotes are removed in the
/// block itself.
#[pyfunction]
#[pyo3(signature = (block, wanted, *, delimiter=b',', quote=Some(b'"'), follows=false))]
pub(super) fn parse_csv(
    py: Python<'_>,
    mut block: PyReadwriteArray1<'_, u8>,
    wanted: Vec<bool>,
    delimiter: u8,
    quote: Option<u8>,
    follows: bool,
) -> PyResult<PyParsed> {
    let block = block.as_slice_mut()?;
    let (parsed, invalid) = interruptible(py, || {
        // Fields end at ASCII characters: if the block is UTF-8, all of them are.
        let valid = std::str::from_utf8(block).map_or_else(|error| error.valid_up_to(), str::len);
        let parsed = Dialect { delimiter, quote }.parse(block, &wanted, follows);
        let invalid = if parsed.consumed <= valid {
            None
        } else {
            first_invalid(&parsed, &wanted, block)
        };
        (parsed, invalid)
    })?;
    let chosen = parsed.columns.into_iter().zip(&wanted).filter(|(_, wanted)| **wanted);
    let arrays = |(column, _): (Column, _)| {
        (
            column.starts.into_pyarray(py).unbind(),
            column.ends.into_pyarray(py).unbind(),
        )
    };
    let ragged = parsed.ragged.iter();
    Ok(PyParsed {
        columns: chosen.map(arrays).collect(),
        rows: parsed.rows,
        consumed: parsed.consumed,
        ragged: ragged
            .map(|ragged| (ragged.row, ragged.fields, ragged.start, ragged.end))
            .collect(),
        invalid,
        unclosed: parsed.unclosed,
    })
}

/// The place among the wanted columns, and the row, of the first value that is not UTF-8.
fn first_invalid(parsed: &Parsed, wanted: &[bool], block: &[u8]) -> Option<(usize, usize)> {
    let chosen = parsed.columns.iter().zip(wanted).filter(|(_, wanted)| **wanted);
    chosen
        .enumerate()
        .find_map(|(place, (column, _))| column.first_invalid(block).map(|row| (place, row)))
}

/// BLAKE3 of a file, with the bytes from `start` to `end` read as zeros.
#[pyfunction]
pub(super) fn checksum(py: Python<'_>, file: PyReadonlyArray1<'_, u8>, start: usize, end: usize) -> PyResult<String> {
    let file = file.as_slice()?;
    let (Some(before), Some(hole), Some(after)) = (file.get(..start), file.get(start..end), file.get(end..)) else {
        return Err(PyValueError::new_err("the place of the checksum is outside the file"));
    };
    interruptible(py, || {
        let mut hasher = blake3::Hasher::new();
        hasher.update(before).update(&vec![0; hole.len()]);
        for piece in after.chunks(HASHED_AT_ONCE) {
            checkpoint();
            hasher.update(piece);
        }
        hasher.finalize().to_hex().to_string()
    })
}

/// Check a safetensors file and return its contents: (metadata, [(name, type, shape, start, end)]).
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(super) fn layout(
    file: PyReadonlyArray1<'_, u8>,
) -> PyResult<(
    std::collections::BTreeMap<String, String>,
    Vec<(String, String, Vec<usize>, usize, usize)>,
)> {
    let file = file.as_slice()?;
    let (header, metadata) =
        safetensors::SafeTensors::read_metadata(file).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let base = header + 8;
    let tensors = metadata.tensors().into_iter().map(|(name, info)| {
        let (start, end) = info.data_offsets;
        (
            name,
            info.dtype.to_string(),
            info.shape.clone(),
            base + start,
            base + end,
        )
    });
    let texts = metadata.metadata().iter().flatten();
    Ok((
        texts.map(|(key, text)| (key.clone(), text.clone())).collect(),
        tensors.collect(),
    ))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyParsed>()?;
    module.add_function(wrap_pyfunction!(parse_csv, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    module.add_function(wrap_pyfunction!(layout, module)?)?;
    Ok(())
}
