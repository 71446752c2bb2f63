//! The counting core of discern: bytes to tokens to counts, and tokens to scores.
//!
//! `python` is the only module that knows Python; `simd` the only one with unsafe code.

pub mod adaptive;
pub mod bag;
pub mod counts;
pub mod csv;
pub mod documents;
pub mod folds;
pub mod kernel;
pub mod lexicon;
pub mod logistic;
pub mod margin;
pub mod matrix;
pub mod narrow;
pub mod neighbours;
pub mod online;
pub mod patience;
pub mod posterior;
#[cfg(feature = "python")]
mod python;
pub mod reader;
pub mod scores;
pub mod simd;
pub mod smo;
pub mod tables;
pub mod text;
pub mod vectors;
pub mod weighting;
