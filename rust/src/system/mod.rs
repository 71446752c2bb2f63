//! What the processor and the operating system offer: vector instructions, memory, threads, cancellation.
//!
//! This is the only folder with `unsafe` code.

pub mod cancel;
pub mod marks;
pub mod memory;
pub mod squares;
pub mod threads;
pub mod vector;
