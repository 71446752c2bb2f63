//! The numbers of rows: with 64 bits, with 32, or all of them 1.

use crate::tables::vectors::Vectors;

const SQUARED: std::ops::RangeInclusive<f64> = 1e-60..=1e60;

/// A number of a row; 32 bits halve the memory traffic, and ones need not be read at all.
pub trait Value: Copy + Send + Sync {
    /// Whether all numbers are 1: see [`Rows`](super::rows::Rows).
    const ONE: bool = false;
    fn wide(self) -> f64;
    fn narrow(value: f64) -> Self;
}

impl Value for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn narrow(value: f64) -> Self {
        value as f32
    }
}

impl Value for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    fn narrow(value: f64) -> Self {
        value
    }
}

/// The only number of rows that have a column or not.
#[derive(Clone, Copy)]
pub struct One;

impl Value for One {
    const ONE: bool = true;
    #[inline(always)]
    fn wide(self) -> f64 {
        1.0
    }
    fn narrow(_: f64) -> Self {
        One
    }
}

/// Return whether sparse rows hold nothing but ones, and the scales of the columns can be squared and divided by.
pub fn is_one(table: &Vectors<'_>, scales: Option<&[f64]>) -> bool {
    let fits = |scale: &f64| *scale == 0.0 || SQUARED.contains(&scale.abs());
    matches!(table, Vectors::Sparse { .. })
        && scales.unwrap_or_default().iter().all(fits)
        && table.values().iter().all(|&value| value == 1.0)
}

/// Return whether the numbers of a table are the same as 32-bit floats.
pub fn is_narrow(table: &Vectors<'_>) -> bool {
    table.values().iter().all(|&value| f64::from(value as f32) == value)
}
