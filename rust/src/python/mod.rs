//! The face to Python: takes batches, gives arrays. Everything that knows Python is here, a file for each job.

mod files;
mod margin;
mod sources;
mod tables;
mod text;
mod work;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    files::register(module)?;
    margin::register(module)?;
    tables::register(module)?;
    text::register(module)?;
    work::register(module)
}
