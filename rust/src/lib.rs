//! The core of discern: bytes to terms to counts and scores, and numbers to sums and models.
//!
//! | folder | job | uses |
//! | --- | --- | --- |
//! | `system` | vector code, memory, cancellation; the only `unsafe` code | |
//! | `text` | bytes to terms | `system` |
//! | `counting` | terms to counts and scores | `system`, `text` |
//! | `tables` | numbers to sums and scores | `system` |
//! | `learners` | rows to the parameters of a model | `system`, `text`, `tables` |
//! | `python` | the extension module; the only folder that knows Python | all |
//!
//! `rust/tests/layers.rs` checks this table.

pub mod counting;
pub mod learners;
#[cfg(feature = "python")]
mod python;
pub mod system;
pub mod tables;
pub mod text;
