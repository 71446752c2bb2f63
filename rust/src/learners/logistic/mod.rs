//! Logistic regression with two classes: dense rows by their sums, sparse rows in the dual.

mod block;
pub mod dense;
pub mod dual;
