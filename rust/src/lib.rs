//! The counting core of discern: bytes to tokens to counts, and tokens to scores.
//!
//! `python` is the only module that knows Python; `simd` the only one with unsafe code.

pub mod bag;
pub mod counts;
pub mod csv;
pub mod documents;
pub mod lexicon;
pub mod margin;
#[cfg(feature = "python")]
mod python;
pub mod reader;
pub mod scores;
pub mod simd;
pub mod tables;
pub mod text;
