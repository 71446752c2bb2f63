//! Documents from Python: lists, Arrow's layouts, finished terms.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::system::cancel::checkpoint;
use crate::system::memory::{fetch_address, roomy};
use crate::text::documents::Documents;

/// The length of the longest document: positions in it are 32-bit numbers.
pub(super) const LONGEST: usize = u32::MAX as usize / 2;
/// Rows of a list that are read between two looks for Ctrl-C.
const LOOK_FOR_SIGNALS: usize = 1 << 16;
/// Strings of a list taken at a time; a divisor of [`LOOK_FOR_SIGNALS`].
const TAKEN_AT_ONCE: usize = 1 << 11;
/// How many strings ahead to prefetch when they are released.
const LET_GO_AHEAD: usize = 1 << 5;
/// The offset of the state in a string object, often on another cache line than its beginning.
const STATE: usize = 40;

/// A Python string that cannot be UTF-8 (a lone surrogate) is kept as its generalized UTF-8.
pub(super) enum Held {
    Text(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl Held {
    pub(super) fn new(item: Bound<'_, PyAny>, row: usize) -> PyResult<Self> {
        let text = item.cast_into::<PyString>().map_err(|error| {
            let found = error.into_inner().get_type().to_string();
            PyTypeError::new_err(format!(
                "row {row}: expected a string, found {found}; convert it with str() first"
            ))
        })?;
        if text.to_str().is_ok() {
            return Ok(Held::Text(text.try_into()?));
        }
        let encoded = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
        Ok(Held::Bytes(encoded.cast_into::<PyBytes>().map_err(PyErr::from)?.into()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Held::Text(text) => text.as_bytes(),
            Held::Bytes(bytes) => bytes,
        }
    }

    fn fetch(&self) {
        if let Held::Text(text) = self {
            fetch_address(text.as_py_str().as_ptr().addr());
        }
    }
}

/// Strings that are kept alive.
pub(super) struct Strings(Vec<Held>);

impl Strings {
    fn bytes(&self) -> Vec<&[u8]> {
        let mut all = roomy(self.0.len());
        all.extend(self.0.iter().map(Held::bytes));
        all
    }
}

impl Drop for Strings {
    /// Release the strings. That writes to each of them: the next ones are fetched meanwhile.
    fn drop(&mut self) {
        let mut rest = self.0.drain(..);
        while let Some(held) = rest.next() {
            if let Some(ahead) = rest.as_slice().get(LET_GO_AHEAD) {
                ahead.fetch();
            }
            drop(held);
        }
    }
}

/// The strings of a list, read once and kept alive: strings may be anywhere in memory, which makes reading them
/// expensive.
#[pyclass(frozen, module = "discern._native")]
pub(super) struct Texts(Strings);

#[pymethods]
impl Texts {
    #[new]
    fn new(list: &Bound<'_, PyList>) -> PyResult<Self> {
        Ok(Texts(hold(list)?))
    }

    fn __len__(&self) -> usize {
        self.0.0.len()
    }
}

/// Documents from Python, kept alive while the core reads them.
pub(super) enum Source<'py> {
    /// A list of strings.
    List(Strings),
    /// A list that was read before.
    Texts(Bound<'py, Texts>),
    /// Lists of terms, one after the other, and where each ends.
    Terms(Strings, Vec<usize>),
    /// Where each text starts and ends, and the bytes.
    Spans(
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, u8>,
    ),
    /// Arrow's view layout: 16 bytes a value, pointing into buffers.
    Views(PyReadonlyArray1<'py, u8>, Vec<PyReadonlyArray1<'py, u8>>),
}

/// Call `each` with the strings of a list; only those that cannot be UTF-8 have to be held.
pub(super) fn each_string(list: &Bound<'_, PyList>, mut each: impl FnMut(&[u8])) -> PyResult<()> {
    for (row, item) in list.iter().enumerate() {
        if row % LOOK_FOR_SIGNALS == 0 {
            list.py().check_signals()?;
        }
        match item.cast::<PyString>().map(|text| text.to_str()) {
            Ok(Ok(text)) => each(text.as_bytes()),
            _ => each(Held::new(item, row)?.bytes()),
        }
    }
    Ok(())
}

/// Hold the strings of a list. Each is anywhere in memory, and taking one writes to it. The interpreter makes a slice
/// in a loop that waits for many at once; the rest of each string is fetched meanwhile.
fn hold(list: &Bound<'_, PyList>) -> PyResult<Strings> {
    let (mut held, mut taken) = (roomy(list.len()), Vec::with_capacity(TAKEN_AT_ONCE));
    loop {
        if held.len() % LOOK_FOR_SIGNALS == 0 {
            list.py().check_signals()?;
        }
        let slice = list.get_slice(held.len(), held.len() + TAKEN_AT_ONCE);
        if slice.is_empty() {
            return Ok(Strings(held));
        }
        taken.extend(slice.iter().inspect(fetch_state));
        for item in taken.drain(..) {
            held.push(Held::new(item, held.len())?);
        }
    }
}

fn fetch_state(string: &Bound<'_, PyAny>) {
    fetch_address(string.as_ptr().addr() + STATE);
}

impl<'py> Source<'py> {
    pub(super) fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            return Ok(Source::List(hold(list)?));
        }
        if let Ok(texts) = object.cast::<Texts>() {
            return Ok(Source::Texts(texts.clone()));
        }
        let parts = object
            .cast::<PyTuple>()
            .map_err(|_| PyTypeError::new_err("expected a list of strings"))?;
        let kind: String = parts.get_item(0)?.extract()?;
        let (first, second) = (parts.get_item(1)?, parts.get_item(2)?);
        match kind.as_str() {
            "spans" => Ok(Source::Spans(
                first.extract()?,
                second.extract()?,
                parts.get_item(3)?.extract()?,
            )),
            "views" => Ok(Source::Views(first.extract()?, second.extract()?)),
            "terms" => Ok(Source::Terms(hold(first.cast()?)?, second.extract()?)),
            _ => Err(PyTypeError::new_err("expected spans, views or terms")),
        }
    }

    /// Borrow the strings of a column. Unlike [`Source::documents`] this needs no memory for strings in spans.
    pub(super) fn strings(&self) -> PyResult<Borrowed<'_>> {
        Ok(match self {
            Source::Spans(starts, ends, bytes) => {
                Borrowed::Spans(starts.as_slice()?, ends.as_slice()?, bytes.as_slice()?)
            }
            _ => Borrowed::Documents(self.documents()?),
        })
    }

    pub(super) fn documents(&self) -> PyResult<Documents<'_>> {
        let documents = match self {
            Source::List(texts) => Documents::texts(texts.bytes()),
            Source::Texts(texts) => Documents::texts(texts.get().0.bytes()),
            Source::Terms(terms, ends) => Documents::terms(terms.bytes(), ends.clone())
                .ok_or_else(|| PyValueError::new_err("ends are not in order"))?,
            Source::Spans(starts, ends, bytes) => {
                Documents::texts(spans(starts.as_slice()?, ends.as_slice()?, bytes.as_slice()?)?)
            }
            Source::Views(views, buffers) => {
                let buffers = buffers
                    .iter()
                    .map(|buffer| Ok(buffer.as_slice()?))
                    .collect::<PyResult<Vec<_>>>()?;
                Documents::texts(viewed(views.as_slice()?, &buffers)?)
            }
        };
        match (0..documents.len()).find(|&row| documents.document(row).iter().any(|piece| piece.len() > LONGEST)) {
            Some(row) => Err(PyValueError::new_err(format!(
                "row {row} is longer than 2 GiB; split it"
            ))),
            None => Ok(documents),
        }
    }
}

/// The strings of a column, to be read one after the other.
pub(super) enum Borrowed<'a> {
    /// Where each starts and ends, and the bytes.
    Spans(&'a [i64], &'a [i64], &'a [u8]),
    Documents(Documents<'a>),
}

impl Borrowed<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Borrowed::Spans(starts, ends, _) => starts.len().min(ends.len()),
            Borrowed::Documents(documents) => documents.len(),
        }
    }

    pub(super) fn each(&self, mut each: impl FnMut(&[u8])) -> PyResult<()> {
        match self {
            Borrowed::Spans(starts, ends, bytes) => {
                for (&start, &end) in starts.iter().zip(*ends) {
                    checkpoint();
                    let found = bytes.get(start as usize..end as usize);
                    each(found.ok_or_else(mismatched)?);
                }
            }
            Borrowed::Documents(documents) => {
                for row in 0..documents.len() {
                    checkpoint();
                    each(documents.document(row).first().copied().unwrap_or_default());
                }
            }
        }
        Ok(())
    }
}

/// Strings one after the other: value i is `bytes[offsets[i]..offsets[i + 1]]`.
pub(super) fn slices<'a>(offsets: &[i64], bytes: &'a [u8]) -> PyResult<Vec<&'a [u8]>> {
    spans(offsets, offsets.get(1..).unwrap_or_default(), bytes)
}

/// Strings anywhere: value i is `bytes[starts[i]..ends[i]]`.
fn spans<'a>(starts: &[i64], ends: &[i64], bytes: &'a [u8]) -> PyResult<Vec<&'a [u8]>> {
    let slice = |(&start, &end): (&i64, &i64)| {
        let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
        bytes.get(range)
    };
    let mut all = roomy(starts.len().min(ends.len()));
    for span in starts.iter().zip(ends) {
        all.push(slice(span).ok_or_else(mismatched)?);
    }
    Ok(all)
}

fn mismatched() -> PyErr {
    PyValueError::new_err("the offsets of a string column do not match its bytes")
}

pub(super) fn viewed<'a>(views: &'a [u8], buffers: &[&'a [u8]]) -> PyResult<Vec<&'a [u8]>> {
    let number = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    let (views, _) = views.as_chunks::<16>();
    let slice = |view: &'a [u8; 16]| {
        let length = number(&view[..4]);
        if length <= 12 {
            return view.get(4..4 + length);
        }
        let start = number(&view[12..]);
        buffers.get(number(&view[8..12]))?.get(start..start + length)
    };
    let all: Option<Vec<&[u8]>> = views.iter().map(slice).collect();
    all.ok_or_else(|| PyValueError::new_err("the views of a string column do not match its buffers"))
}
