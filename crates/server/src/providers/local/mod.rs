//! Speech on this machine, without network or account: Moonshine hears, hibari speaks, both on `rten`, all in Rust.

mod dsp;
mod error;
pub mod hibari;
mod job;
pub mod moonshine;
mod normalise;
mod phonemes;

pub use error::SpeechError;
pub use hibari::{Hibari, Speech};
pub use job::Job;
pub use moonshine::Moonshine;
