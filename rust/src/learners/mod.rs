//! Rows to the parameters of a model, by iterative solvers.

mod block;
pub mod descent;
pub mod kernel;
pub mod lasso;
pub mod linear;
pub mod logistic;
pub mod margin;
pub mod neighbors;
pub mod perceptron;
pub mod smo;
pub mod streaming;
