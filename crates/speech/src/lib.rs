//! Local speech, without network or account: Moonshine for STT, hibari for TTS, both on `rten`, all in Rust.
//!
//! STT: `moonshine`. TTS: `hibari`, which goes through `normalise` → `phonemes` → network → `dsp`. `models` installs the files of both, `cores`
//! limits concurrent runs. Nothing here depends on calls: the server turns these models into providers.

mod cores;
mod dsp;
mod error;
pub mod hibari;
mod job;
pub mod models;
pub mod moonshine;
mod normalise;
mod phonemes;
pub mod wer;

pub use cores::{Core, Cores};
pub use error::SpeechError;
pub use hibari::{Hibari, Speech};
pub use job::{Cancel, CancelOnDrop, Job};
pub use moonshine::Moonshine;

#[cfg(test)]
mod tests;
