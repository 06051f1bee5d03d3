//! Local speech (`switchhook-speech`) as a provider.
//!
//! STT: `stt` → `segment` → Moonshine. TTS: `tts` → hibari. `shared` holds the models.

mod phrase_cache;
pub(crate) mod shared;
mod stt;
mod tts;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::entry::{Build, Provider, ProviderEntry, ProviderKind};
use super::voices::{Voice, VoiceList};

pub use shared::{LocalModel, LocalSpeech};
pub use stt::{LocalStt, transcribe_call};
pub use tts::LocalTts;

/// Its only voice.
const VOICE: &str = "hibari";

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "local",
    kinds: &[ProviderKind::Stt, ProviderKind::Tts],
    build: Build::BuiltIn(build),
    settings: &[],
    unpriced: &[],
};

#[expect(clippy::unnecessary_wraps, reason = "other providers refuse settings")]
fn build(speech: &Arc<LocalSpeech>, _: &Map<String, Value>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(Arc::new(LocalStt::new(speech.clone()))),
        tts: Some(Arc::new(LocalTts::new(speech.clone()))),
        voices: Some(VoiceList::of([Voice::new(VOICE, "Hibari", &["en"])], true, VOICE)),
        ..Provider::default()
    })
}

#[cfg(test)]
mod tests;
