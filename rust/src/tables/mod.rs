//! Numbers and levels to sums and scores.

pub mod moments;
pub mod posterior;
pub mod vectors;
pub mod weighting;
