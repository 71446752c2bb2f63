//! What the processor and the operating system offer: vector instructions, memory, cancellation.
//!
//! This is the only folder with `unsafe` code.

pub mod cancel;
pub mod vector;
