//! What everything that acts needs of its process: time and randomness, and panics as outcomes.

pub mod clock;
pub mod panics;
