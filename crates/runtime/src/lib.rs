//! Runtime services for code with side effects: time and randomness, and panics as errors.

pub mod clock;
pub mod panics;
