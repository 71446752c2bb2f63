//! Linear models with an L1 penalty: newGLMNET, on working sets of columns.
//!
//! Paper: Yuan, Ho and Lin, "An improved GLMNET for L1-regularized logistic regression", JMLR 2012.

pub mod columns;
pub mod loss;
pub mod newton;
pub mod quadratic;
mod working;

/// How far the least subgradient of slope·w + lasso·|w| is from 0.
#[inline(always)]
fn violation(slope: f64, weight: f64, lasso: f64) -> f64 {
    if weight > 0.0 {
        (slope + lasso).abs()
    } else if weight < 0.0 {
        (slope - lasso).abs()
    } else {
        (slope.abs() - lasso).max(0.0)
    }
}

/// A number drawn towards 0 by an amount, and not beyond.
#[inline(always)]
fn shrunk(number: f64, amount: f64) -> f64 {
    let size = number.abs() - amount;
    if size > 0.0 { size.copysign(number) } else { 0.0 }
}
