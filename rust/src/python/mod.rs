//! The extension module `discern._native`: takes batches, returns arrays. Only this folder knows Python.
//!
//! `work` runs the core's loops on threads and answers Ctrl-C; `sources` takes documents; `vectors` takes tables. Each
//! of the others exports a part of the core.

mod counter;
mod descent;
mod files;
mod folds;
mod grid;
mod json;
mod kernel;
mod lasso;
mod linear;
mod logistic;
mod margin;
mod matrices;
mod neighbors;
mod numbers;
mod perceptron;
mod scorer;
mod sets;
mod sources;
mod streaming;
mod strings;
mod tables;
mod text;
mod text_scorer;
mod vectors;
mod vocabulary;
mod weighting;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    text::register(module)?;
    files::register(module)?;
    strings::register(module)?;
    counter::register(module)?;
    vocabulary::register(module)?;
    scorer::register(module)?;
    text_scorer::register(module)?;
    folds::register(module)?;
    tables::register(module)?;
    grid::register(module)?;
    numbers::register(module)?;
    json::register(module)?;
    vectors::register(module)?;
    weighting::register(module)?;
    lasso::register(module)?;
    linear::register(module)?;
    logistic::register(module)?;
    streaming::register(module)?;
    perceptron::register(module)?;
    descent::register(module)?;
    kernel::register(module)?;
    neighbors::register(module)?;
    margin::register(module)?;
    matrices::register(module)?;
    sets::register(module)?;
    work::register(module)
}
