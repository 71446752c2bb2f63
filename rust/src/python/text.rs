//! Text settings: which terms a document has.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyUnicodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use regex::bytes::Regex;

use super::sources::{Held, Source, Texts};
use super::work::share_out;
use crate::text::characters::PythonTables;
use crate::text::documents::Documents;
use crate::text::key::Seeds;
use crate::text::lexicon::Lexicon;
use crate::text::reader::{Growing, Reader};
use crate::text::tokenizer::{Analyzer, Script, Text};

/// Bytes of text in one portion of work.
pub(super) const PORTION: usize = 1 << 18;
/// Texts of fewer bytes are processed at once, without other threads.
pub(super) const SMALL: usize = 1 << 18;

pub(super) fn token_pattern(pattern: &str) -> PyResult<Regex> {
    let built = Regex::new(pattern).map_err(|error| {
        PyValueError::new_err(format!(
            "the token pattern is not a regular expression we can run: {error}"
        ))
    })?;
    if built.captures_len() > 2 {
        return Err(PyValueError::new_err(
            "the token pattern has more than one group; write the others as (?:…)",
        ));
    }
    Ok(built)
}

/// Text settings: which terms a document has.
#[pyclass(frozen, name = "Text", module = "discern._native")]
pub(super) struct PyText(pub(super) Arc<Text>);

#[pymethods]
impl PyText {
    #[new]
    #[pyo3(signature = (analyzer, *, tables=None, lowercase=true, ngrams=(1, 1), stop_words=Vec::new(), stemmer=None, shortest=2, pattern=None, symbols=false))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        analyzer: &str,
        tables: Option<[Vec<(u32, u32)>; 4]>,
        lowercase: bool,
        ngrams: (usize, usize),
        stop_words: Vec<Vec<u8>>,
        stemmer: Option<&str>,
        shortest: usize,
        pattern: Option<&str>,
        symbols: bool,
    ) -> PyResult<Self> {
        let analyzer = match analyzer {
            "word" => Analyzer::Words { shortest },
            "pattern" => Analyzer::Pattern(token_pattern(pattern.unwrap_or(r"\w+"))?),
            "char" => Analyzer::Characters,
            "char_wb" => Analyzer::CharactersInWords,
            "given" => Analyzer::Given,
            other => return Err(PyValueError::new_err(format!("unknown analyzer {other:?}"))),
        };
        if ngrams.0 < 1 || ngrams.0 > ngrams.1 {
            return Err(PyValueError::new_err(format!(
                "n-gram lengths {ngrams:?} must rise from at least 1"
            )));
        }
        let stemmer = stemmer
            .map(|name| {
                waken_snowball::Algorithm::from_str(name)
                    .ok_or_else(|| PyValueError::new_err(format!("Snowball has no stemmer for {name:?}")))
            })
            .transpose()?;
        Ok(PyText(Arc::new(Text {
            analyzer,
            script: tables.map_or(Script::World, |[word, lower, cased, ignored]| {
                Script::Python(PythonTables::new(&word, &lower, &cased, &ignored))
            }),
            lowercase,
            shortest_gram: ngrams.0,
            longest_gram: ngrams.1,
            stop_words: HashSet::from_iter(stop_words),
            stemmer,
            symbols,
        })))
    }

    /// The terms of one document in order, as bytes.
    fn terms<'py>(&self, py: Python<'py>, document: Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let document = Held::new(document, 0)?;
        let mut lexicon = Lexicon::default();
        let mut reader = Reader::new(self.0.clone(), lexicon.seeds());
        let mut numbers = Vec::new();
        let mut terms = Growing(&mut lexicon);
        reader.read(document.bytes(), &mut terms, &mut |portion, _| {
            numbers.extend_from_slice(portion)
        });
        let name = |number: u32| {
            let mut name = Vec::new();
            lexicon.write_name(number, &mut name);
            PyBytes::new(py, &name)
        };
        Ok(numbers.into_iter().map(name).collect())
    }

    /// Return how many tokens each document has: words, before stop words are removed and n-grams formed.
    fn lengths<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let source = Source::new(documents)?;
        let documents = source.documents()?;
        let order: Vec<usize> = (0..documents.len()).collect();
        let portions = documents.portions(&order, PORTION);
        let mut workers: Vec<Vec<(usize, Vec<i64>)>> = vec![Vec::new(); threads.clamp(1, portions.len().max(1))];
        let small = documents.total_size() < SMALL;
        share_out(py, &mut workers, portions.len(), small, |done, portion| {
            let mut reader = Reader::new(self.0.clone(), Seeds::random());
            let count = |row| {
                let mut found = 0;
                for piece in documents.document(row) {
                    reader.tokenize(piece, &mut |tokens| found += tokens.len() as i64);
                }
                found
            };
            done.push((portion, portions[portion].clone().map(count).collect()));
        })?;
        let mut parts: Vec<_> = workers.into_iter().flatten().collect();
        parts.sort_unstable_by_key(|part| part.0);
        let lengths: Vec<i64> = parts.into_iter().flat_map(|part| part.1).collect();
        Ok(lengths.into_pyarray(py))
    }
}

/// Whether text that is not UTF-8 is rejected, and whether there was any.
pub(super) struct Strict {
    strict: bool,
    seen: AtomicBool,
}

impl Strict {
    /// Check the documents now, where tokenizing does not detect text that is not UTF-8.
    pub(super) fn new(strict: bool, text: &Text, documents: &Documents<'_>) -> PyResult<Self> {
        let seen = strict && !text.sees_invalid() && !documents.are_utf8();
        let made = Strict {
            strict,
            seen: AtomicBool::new(seen),
        };
        made.end().map(|()| made)
    }

    pub(super) fn look(&self, take_invalid: impl FnOnce() -> bool) {
        if self.strict && take_invalid() {
            self.seen.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn end(&self) -> PyResult<()> {
        match self.seen.load(Ordering::Relaxed) {
            true => Err(PyUnicodeError::new_err("a document is not UTF-8")),
            false => Ok(()),
        }
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyText>()?;
    module.add_class::<Texts>()?;
    Ok(())
}
