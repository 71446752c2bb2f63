//! Columns of strings: numbered, packed, hashed, merged.

use std::hash::Hasher;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyList;
use siphasher::sip::SipHasher13;

use super::sources::{Source, each_string, slices};
use super::work::interruptible;
use crate::counting::merge;
use crate::system::cancel::checkpoint;
use crate::text::documents::Documents;
use crate::text::lexicon::Lexicon;
use crate::text::tokens::Tokens;

/// Number the distinct strings of a column in order of appearance: (number of each row, offsets, bytes).
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(super) fn distinct<'py>(
    py: Python<'py>,
    strings: &Bound<'py, PyAny>,
) -> PyResult<(
    Bound<'py, PyArray1<i32>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
)> {
    let numbering = match strings.cast::<PyList>() {
        Ok(list) => numbered_list(list)?,
        Err(_) => {
            let source = Source::new(strings)?;
            let documents = source.documents()?;
            interruptible(py, || numbered(&documents))?
        }
    };
    let (offsets, bytes) = interruptible(py, || numbering.names())?;
    Ok((
        numbering.numbers.into_pyarray(py),
        offsets.into_pyarray(py),
        bytes.into_pyarray(py),
    ))
}

/// Numbers strings in the order of their first appearance.
struct Numbering {
    lexicon: Lexicon,
    tokens: Tokens,
    numbers: Vec<i32>,
    /// The last string: equal labels often follow each other.
    last: Vec<u8>,
}

impl Numbering {
    fn of(rows: usize) -> Self {
        let lexicon = Lexicon::default();
        Numbering {
            tokens: Tokens::new(lexicon.seeds()),
            lexicon,
            numbers: Vec::with_capacity(rows),
            last: Vec::new(),
        }
    }

    fn push(&mut self, string: &[u8]) {
        if let Some(&number) = self.numbers.last()
            && string == self.last
        {
            return self.numbers.push(number);
        }
        self.tokens.clear();
        self.tokens.push(string);
        let number = self.lexicon.intern(self.tokens.list()[0], &self.tokens);
        self.numbers.push(number as i32);
        self.last.clear();
        self.last.extend_from_slice(string);
    }

    /// The distinct strings: offsets and bytes.
    fn names(&self) -> (Vec<i64>, Vec<u8>) {
        let (mut offsets, mut bytes) = (vec![0i64], Vec::new());
        for number in 0..self.lexicon.len() as u32 {
            checkpoint();
            self.lexicon.write_name(number, &mut bytes);
            offsets.push(bytes.len() as i64);
        }
        (offsets, bytes)
    }
}

fn numbered(documents: &Documents<'_>) -> Numbering {
    let mut numbering = Numbering::of(documents.len());
    for row in 0..documents.len() {
        checkpoint();
        numbering.push(documents.document(row)[0]);
    }
    numbering
}

/// Number the strings of a list in place, which is faster than holding all of them first.
fn numbered_list(list: &Bound<'_, PyList>) -> PyResult<Numbering> {
    let mut numbering = Numbering::of(list.len());
    each_string(list, |string| numbering.push(string))?;
    Ok(numbering)
}

/// Concatenate the strings of a column: (offsets, bytes).
#[pyfunction]
#[allow(clippy::type_complexity)]
fn packed<'py>(
    py: Python<'py>,
    strings: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>)> {
    let source = Source::new(strings)?;
    let strings = source.strings()?;
    let (offsets, bytes) = interruptible(py, || -> PyResult<_> {
        let (mut offsets, mut bytes) = (Vec::with_capacity(strings.len() + 1), Vec::new());
        offsets.push(0i64);
        strings.each(|string| {
            bytes.extend_from_slice(string);
            offsets.push(bytes.len() as i64);
        })?;
        Ok((offsets, bytes))
    })??;
    Ok((offsets.into_pyarray(py), bytes.into_pyarray(py)))
}

/// Hash each string of a column; equal strings have equal hashes.
#[pyfunction]
fn row_hashes<'py>(py: Python<'py>, strings: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let source = Source::new(strings)?;
    let documents = source.documents()?;
    let hashes: Vec<u64> = interruptible(py, || {
        let hash = |row| {
            checkpoint();
            let mut hasher = SipHasher13::new();
            documents.document(row).iter().for_each(|piece| hasher.write(piece));
            hasher.finish()
        };
        (0..documents.len()).map(hash).collect()
    })?;
    Ok(hashes.into_pyarray(py))
}

/// Merge sorted lists of terms, each given as (offsets, bytes): (offsets, bytes, new number of each old term).
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(super) fn merge_terms<'py>(
    py: Python<'py>,
    lists: Vec<(PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>)>,
) -> PyResult<(
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u8>>,
    Vec<Bound<'py, PyArray1<i64>>>,
)> {
    let borrowed = lists
        .iter()
        .map(|(offsets, bytes)| slices(offsets.as_slice()?, bytes.as_slice()?))
        .collect::<PyResult<Vec<_>>>()?;
    let (bytes, offsets, numbers) = interruptible(py, || merge::merge_terms(&borrowed))?;
    let numbers = numbers.into_iter().map(|list| list.into_pyarray(py)).collect();
    Ok((offsets.into_pyarray(py), bytes.into_pyarray(py), numbers))
}

/// Return whether terms, given as offsets and bytes, are strictly increasing.
#[pyfunction]
pub(super) fn is_sorted(offsets: PyReadonlyArray1<'_, i64>, bytes: PyReadonlyArray1<'_, u8>) -> PyResult<bool> {
    Ok(slices(offsets.as_slice()?, bytes.as_slice()?)?.is_sorted_by(|left, right| left < right))
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(distinct, module)?)?;
    module.add_function(wrap_pyfunction!(merge_terms, module)?)?;
    module.add_function(wrap_pyfunction!(packed, module)?)?;
    module.add_function(wrap_pyfunction!(row_hashes, module)?)?;
    module.add_function(wrap_pyfunction!(is_sorted, module)?)?;
    Ok(())
}
