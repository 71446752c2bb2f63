//! Terms to counts and scores.

pub mod folds;
pub mod matrix;
pub mod scores;
pub mod tally;
