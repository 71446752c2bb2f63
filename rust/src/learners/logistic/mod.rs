//! Logistic regression: dense rows of two classes by their sums, sparse ones in the dual, and residuals from scores.

pub mod dense;
pub mod dual;
pub mod residuals;
