//! Cartesia.

pub mod stt;
pub mod tts;
pub(crate) mod voices;

use super::adapter_config::AdapterConfig;
use super::entry::{Build, DefaultModels, Provider, ProviderEntry, ProviderKind};
use super::stt::STT_SETTINGS;
use super::tts::{TTS_SETTINGS, TtsTimeouts};

/// The API version, a date.
const VERSION: &str = "2026-08-14";

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "cartesia",
    kinds: &[ProviderKind::Stt, ProviderKind::Tts],
    build: Build::Adapter(build),
    settings: &[STT_SETTINGS, TTS_SETTINGS],
    unpriced: &[ProviderKind::Stt, ProviderKind::Tts],
};

fn build(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(stt::connect(config)?),
        tts: Some(tts::connect(config, TtsTimeouts::default())?),
        voices: Some(voices::connect(config)?),
        default_models: DefaultModels::of(config, "", "", tts::DEFAULT_MODEL)?,
        ..Provider::default()
    })
}
