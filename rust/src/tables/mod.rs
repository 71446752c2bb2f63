//! Numbers and levels to sums and scores.

pub mod bins;
pub mod by_class;
pub mod densities;
pub mod edges;
pub mod entropy;
pub mod exact;
pub mod expectations;
pub mod grid;
pub mod labels;
pub mod levels;
pub mod moments;
pub mod posterior;
pub mod products;
pub mod quadratic;
pub mod sets;
pub mod shortest;
pub mod vectors;
pub mod weighting;
pub mod without;
