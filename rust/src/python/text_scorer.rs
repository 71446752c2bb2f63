//! One text to its scores and its label, without a batch around it.
//!
//! A model may count several views of a text, and its length. Their evidence is added, scaled as a calibration has it.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::scorer::PyScorer;
use super::sources::{Held, LONGEST};
use super::text::PyText;
use crate::text::key::Seeds;
use crate::text::reader::Reader;
use crate::text::tokenizer::Text;

/// Classes whose scores need no allocation.
const FEW_CLASSES: usize = 16;

/// How a calibrated model weighs the evidence of `n` known terms, and how much less the log prior counts beside them.
struct Scale {
    temperature: f64,
    power: f64,
    fading: f64,
}

impl Scale {
    fn factor(&self, known: i64) -> f64 {
        1.0 / (self.temperature * (known as f64).max(1.0).powf(self.power))
    }
}

type Given = (f64, f64, f64);

/// The number of words of a text as evidence: the weights of each bin of lengths, and whether the bin is known.
struct Length {
    text: Arc<Text>,
    bounds: Vec<i64>,
    weights: Vec<f64>,
    known: Vec<bool>,
}

impl Length {
    /// The weights of the length of a text; none for a text without words or of a length that was never seen.
    fn of(&self, document: &[&[u8]], classes: usize) -> Option<&[f64]> {
        let mut words = 0;
        let mut reader = Reader::new(self.text.clone(), Seeds::random());
        for piece in document {
            reader.tokenize(piece, &mut |tokens| words += tokens.len() as i64);
        }
        let bin = self.bounds.partition_point(|&bound| bound <= words).checked_sub(1)?;
        self.known[bin].then(|| &self.weights[bin * classes..(bin + 1) * classes])
    }
}

/// The sum of the views of one text: label = the highest score.
#[pyclass(frozen, name = "TextScorer", module = "discern._native")]
pub(super) struct PyTextScorer {
    start: Vec<f64>,
    views: Vec<Py<PyScorer>>,
    length: Option<Length>,
    scales: Vec<Scale>,
    labels: Vec<Py<PyAny>>,
}

impl PyTextScorer {
    /// Write the scores of a text, and return how many terms of its first view are known.
    fn write(&self, py: Python<'_>, text: &Bound<'_, PyAny>, scores: &mut [f64]) -> PyResult<i64> {
        let text = Held::new(text.clone(), 0)?;
        let document = [text.bytes()];
        if document[0].len() > LONGEST {
            return Err(PyValueError::new_err("the text is longer than 2 GiB; split it"));
        }
        if let ([view], [], None) = (self.views.as_slice(), self.scales.as_slice(), &self.length) {
            let known = view.get().write(py, &document, scores)?;
            scores
                .iter_mut()
                .zip(&self.start)
                .for_each(|(score, start)| *score += start);
            return Ok(known);
        }
        self.write_sum(py, &document, scores)
    }

    fn write_sum(&self, py: Python<'_>, document: &[&[u8]; 1], scores: &mut [f64]) -> PyResult<i64> {
        let (mut few, mut many) = ([0.0; FEW_CLASSES], Vec::new());
        let own = room(&mut few, &mut many, scores.len());
        let (mut faded, mut of_words) = (1.0, 0);
        scores.fill(0.0);
        for (place, view) in self.views.iter().enumerate() {
            let known = view.get().write(py, document, own)?;
            of_words = if place == 0 { known } else { of_words };
            faded += self.add(place, known, own, scores);
        }
        if let Some(weights) = self
            .length
            .as_ref()
            .and_then(|length| length.of(document, scores.len()))
        {
            faded += self.add(self.views.len(), 1, weights, scores);
        }
        for (score, start) in scores.iter_mut().zip(&self.start) {
            *score += start / faded;
        }
        Ok(of_words)
    }

    /// Add the evidence of a part, and return how much more the log prior is divided by.
    fn add(&self, place: usize, known: i64, own: &[f64], scores: &mut [f64]) -> f64 {
        let scale = self.scales.get(place);
        let factor = scale.map_or(1.0, |scale| scale.factor(known));
        for (score, own) in scores.iter_mut().zip(own) {
            *score += own * factor;
        }
        scale.map_or(0.0, |scale| scale.fading * known as f64)
    }
}

fn room<'a>(few: &'a mut [f64; FEW_CLASSES], many: &'a mut Vec<f64>, classes: usize) -> &'a mut [f64] {
    if classes <= FEW_CLASSES {
        return &mut few[..classes];
    }
    many.resize(classes, 0.0);
    many
}

#[pymethods]
impl PyTextScorer {
    /// Take the scorers of views of the same text. `start` is what scores begin with; with `scales`, one for each view
    /// and one for the length, it is the log prior.
    #[new]
    #[pyo3(signature = (start, views, labels, length=None, scales=None))]
    #[allow(clippy::type_complexity)]
    fn new(
        start: Vec<f64>,
        views: Vec<Py<PyScorer>>,
        labels: Vec<Py<PyAny>>,
        length: Option<(PyRef<'_, PyText>, Vec<i64>, Vec<f64>, Vec<bool>)>,
        scales: Option<Vec<Given>>,
    ) -> PyResult<Self> {
        let classes = labels.len();
        let length = length.map(|(text, bounds, weights, known)| Length {
            text: text.0.clone(),
            bounds,
            weights,
            known,
        });
        let parts = views.len() + usize::from(length.is_some());
        let fits = length.as_ref().is_none_or(|length| {
            length.bounds.len() == length.known.len()
                && length.weights.len() == length.known.len().saturating_mul(classes)
                && length.bounds.is_sorted()
        });
        let scaled = scales.as_ref().is_none_or(|scales| scales.len() == parts);
        let same = views.iter().all(|view| view.get().classes() == classes);
        if classes == 0 || start.len() != classes || views.is_empty() || !fits || !scaled || !same {
            return Err(PyValueError::new_err(
                "labels, views and scales do not match each other",
            ));
        }
        let scale = |(temperature, power, fading)| Scale {
            temperature,
            power,
            fading,
        };
        let scales = scales.unwrap_or_default().into_iter().map(scale).collect();
        Ok(PyTextScorer {
            start,
            views,
            length,
            scales,
            labels,
        })
    }

    /// Return the scores of a text, and how many terms of its first view are known.
    fn scores<'py>(&self, py: Python<'py>, text: Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyArray1<f64>>, i64)> {
        let mut scores = vec![0.0; self.labels.len()];
        let known = self.write(py, &text, &mut scores)?;
        Ok((scores.into_pyarray(py), known))
    }

    /// Return the first label with the highest score, in well under a microsecond for a short message of one view.
    fn __call__<'py>(&self, py: Python<'py>, text: Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let (mut few, mut many) = ([0.0; FEW_CLASSES], Vec::new());
        let scores = room(&mut few, &mut many, self.labels.len());
        self.write(py, &text, scores)?;
        let mut best = 0;
        for (class, score) in scores.iter().enumerate() {
            if *score > scores[best] {
                best = class;
            }
        }
        Ok(self.labels[best].clone_ref(py))
    }
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTextScorer>()
}
