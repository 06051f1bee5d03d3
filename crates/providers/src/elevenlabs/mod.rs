//! ElevenLabs.

pub mod stt;
pub mod tts;
pub(crate) mod voices;

use super::adapter_config::AdapterConfig;
use super::entry::{Build, DefaultModels, Provider, ProviderEntry, ProviderKind};
use super::stt::STT_SETTINGS;
use super::tts::{TTS_SETTINGS, TtsTimeouts};

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "elevenlabs",
    kinds: &[ProviderKind::Stt, ProviderKind::Tts],
    build: Build::Adapter(build),
    settings: &[STT_SETTINGS, TTS_SETTINGS],
    unpriced: &[],
};

fn build(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    Ok(Provider {
        stt: Some(stt::connect(config)?),
        tts: Some(tts::connect(config, TtsTimeouts::default())?),
        voices: Some(voices::connect(config)?),
        default_models: DefaultModels::of(config, stt::DEFAULT_MODEL, "", tts::DEFAULT_MODEL)?,
        ..Provider::default()
    })
}
