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

use std::sync::Arc;

use serde_json::{Map, Value};

use super::registry::{Build, Kind, Provider, ProviderEntry};

pub use error::SpeechError;
pub use hibari::{Hibari, Speech};
pub use job::{Cancel, Job};
pub use moonshine::Moonshine;
pub use shared::LocalSpeech;
pub use stt::{LocalStt, transcribe_call};
pub use tts::LocalTts;

/// This provider in the registry.
pub const ENTRY: ProviderEntry =
    ProviderEntry { name: "local", kinds: &[Kind::Stt, Kind::Tts], build: Build::BuiltIn(build), unpriced: &[] };

#[expect(clippy::unnecessary_wraps, reason = "other providers refuse settings")]
fn build(speech: &Arc<LocalSpeech>, _: &Map<String, Value>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(Arc::new(LocalStt::new(speech.clone()))),
        tts: Some(Arc::new(LocalTts::new(speech.clone()))),
        ..Provider::default()
    })
}

#[cfg(test)]
mod tests;
