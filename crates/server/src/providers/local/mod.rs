//! Local speech, without network or account: Moonshine for STT, hibari for TTS, both on `rten`, all in Rust.
//!
//! STT: `stt` → `segment` → `moonshine`. TTS: `tts` → `hibari`, which goes through
//! `normalise` → `phonemes` → network → `dsp`. `shared` holds the models, `cores` keeps runs from crowding each other.

mod cores;
mod dsp;
mod error;
pub mod hibari;
mod job;
pub mod moonshine;
mod normalise;
mod phonemes;
mod shared;
mod stt;
mod tts;
pub mod wer;

pub use error::SpeechError;
pub use hibari::{Hibari, Speech};
pub use job::{Cancel, Job};
pub use moonshine::Moonshine;
pub use shared::LocalSpeech;
pub use stt::{LocalStt, transcribe_telephone};
pub use tts::LocalTts;

#[cfg(test)]
mod tests;
