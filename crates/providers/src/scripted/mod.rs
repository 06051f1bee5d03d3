//! Providers that need no model: for development, tests, and machines where no models are available.
//!
//! [`ScriptedLlm`] leads a dialogue by a [`flow`] of questions, and parses answers with the rules of [`extraction`]. [`ScriptedStt`]
//! knows only the recordings of the simulated caller; [`ScriptedTts`] plays a tone for every word. All three implement the same
//! traits as every other provider.

pub mod extraction;
pub mod flow;
mod llm;
mod stt;
mod tts;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::entry::{Build, Provider, ProviderEntry, ProviderKind};
use super::local::LocalSpeech;
use super::voices::{Voice, VoiceList};

pub use llm::{NeverResponds, ScriptedLlm};
pub use stt::ScriptedStt;
pub use tts::ScriptedTts;

/// Its only voice.
const VOICE: &str = "tones";
/// The name in errors.
const PROVIDER: &str = "scripted";

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "scripted",
    kinds: &[ProviderKind::Stt, ProviderKind::Llm, ProviderKind::Tts],
    build: Build::BuiltIn(build),
    settings: &[&["flow"]],
    unpriced: &[],
};

fn build(_: &Arc<LocalSpeech>, settings: &Map<String, Value>) -> Result<Provider, String> {
    let llm = ScriptedLlm::new(settings.get("flow")).map_err(|error| error.to_string())?;
    Ok(Provider {
        stt: Some(Arc::new(ScriptedStt)),
        llm: Some(Arc::new(llm)),
        tts: Some(Arc::new(ScriptedTts)),
        voices: Some(VoiceList::of([Voice::new(VOICE, "Tones", &[])], true, VOICE)),
        ..Provider::default()
    })
}
