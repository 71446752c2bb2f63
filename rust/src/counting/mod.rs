//! Terms to counts and scores.

pub mod drain;
pub mod folds;
pub mod matrix;
pub mod merge;
pub mod scores;
pub mod shard;
pub mod tally;
