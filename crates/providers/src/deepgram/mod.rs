//! Deepgram, and servers with the same protocols.

pub(crate) mod flux;
pub(crate) mod nova;
pub mod stt;
pub mod tts;
mod voices;

use super::adapter_config::AdapterConfig;
use super::entry::{Build, DefaultModels, Provider, ProviderEntry, ProviderKind};
use super::stt::{KeytermLimits, STT_SETTINGS};
use super::tts::{TTS_SETTINGS, TtsTimeouts};

/// The name in errors.
const PROVIDER: &str = "deepgram";

/// The limit is 500 tokens in total.
const KEYTERM_LIMITS: KeytermLimits = KeytermLimits { max_count: 100, max_chars: 200, max_total_chars: 1_500 };

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "deepgram",
    kinds: &[ProviderKind::Stt, ProviderKind::Tts],
    build: Build::Adapter(build),
    settings: &[STT_SETTINGS, TTS_SETTINGS],
    unpriced: &[],
};

fn build(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(stt::connect(config)?),
        tts: Some(tts::connect(config, TtsTimeouts::default())?),
        voices: Some(voices::list(config)?),
        default_models: DefaultModels::of(config, stt::DEFAULT_MODEL, "", tts::DEFAULT_VOICE)?,
        ..Provider::default()
    })
}
