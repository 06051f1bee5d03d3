//! Speech on this machine, without network or account: Moonshine hears, hibari speaks, both on `rten`, all in Rust.

mod error;
mod job;
pub mod moonshine;

pub use error::SpeechError;
pub use job::Job;
pub use moonshine::Moonshine;
