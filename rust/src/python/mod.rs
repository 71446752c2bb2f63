//! The face to Python: takes batches, gives arrays. Everything that knows Python is here, a file for each job.

mod adaptive;
mod files;
mod folds;
mod kernel;
mod logistic;
mod margin;
mod neighbours;
mod online;
mod sources;
mod tables;
mod text;
mod vectors;
mod weighting;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    adaptive::register(module)?;
    files::register(module)?;
    folds::register(module)?;
    logistic::register(module)?;
    kernel::register(module)?;
    online::register(module)?;
    neighbours::register(module)?;
    margin::register(module)?;
    tables::register(module)?;
    text::register(module)?;
    vectors::register(module)?;
    weighting::register(module)?;
    work::register(module)
}
