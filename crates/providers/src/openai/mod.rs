//! OpenAI's interfaces, OpenAI's own and the many servers that offer the same.

pub mod chat;
pub(crate) mod realtime_stt;
mod server;
pub mod speech;
pub mod speech_to_speech;
pub mod stt;
pub(crate) mod transcriptions;
mod voices;
pub(crate) mod wire;

use super::adapter_config::AdapterConfig;
use super::entry::{Build, DefaultModels, Provider, ProviderEntry, ProviderKind};
use super::stt::KeytermLimits;
use super::tts::TtsTimeouts;

/// Where OpenAI itself listens.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// The name in errors.
const PROVIDER: &str = "openai";

/// More than this is beyond what a prompt for Whisper holds (224 tokens), and slows others down.
const KEYTERM_LIMITS: KeytermLimits = KeytermLimits { max_count: 100, max_chars: 200, max_total_chars: 800 };

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "openai",
    kinds: &[ProviderKind::Stt, ProviderKind::Llm, ProviderKind::Tts, ProviderKind::Realtime],
    build: Build::Adapter(build),
    unpriced: &[ProviderKind::Tts],
};

fn build(config: &AdapterConfig<'_>) -> Result<Provider, String> {
    let (stt, llm, tts) = (stt::default_model(config)?, chat::DEFAULT_MODEL, speech::DEFAULT_MODEL);
    let realtime = config.text("realtime_model")?.unwrap_or(speech_to_speech::DEFAULT_MODEL);
    Ok(Provider {
        stt: Some(stt::connect(config)?),
        llm: Some(chat::connect(config)?),
        tts: Some(speech::connect(config, TtsTimeouts::default())?),
        voices: Some(voices::list(config)?),
        realtime: Some(speech_to_speech::connect(config)?),
        default_models: DefaultModels {
            realtime: Some(realtime.to_owned()),
            ..DefaultModels::of(config, stt, llm, tts)?
        },
        ..Provider::default()
    })
}
