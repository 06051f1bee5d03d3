//! OpenAI's APIs, as OpenAI and many compatible servers offer them.

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
use super::llm::LLM_SETTINGS;
use super::stt::{KeytermLimits, STT_SETTINGS};
use super::tts::{TTS_SETTINGS, TtsTimeouts};

/// OpenAI's own server.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";

/// The name in errors.
const PROVIDER: &str = "openai";

/// More than this exceeds the prompt of Whisper (224 tokens), and slows other models down.
const KEYTERM_LIMITS: KeytermLimits = KeytermLimits { max_count: 100, max_chars: 200, max_total_chars: 800 };

/// Settings that only this provider has.
const OWN_SETTINGS: &[&str] = &[
    "key_header",
    "max_tokens_field",
    "stt_api",
    "stt_min_speech_ms",
    "tts_format",
    "tts_sample_rate",
    "realtime_model",
    "realtime_voice",
    "realtime_turn_detection",
    "realtime_format",
    "realtime_transcription_model",
    "realtime_parameters",
];

/// This provider in the registry.
pub const ENTRY: ProviderEntry = ProviderEntry {
    name: "openai",
    kinds: &[ProviderKind::Stt, ProviderKind::Llm, ProviderKind::Tts, ProviderKind::Realtime],
    build: Build::Adapter(build),
    settings: &[LLM_SETTINGS, STT_SETTINGS, TTS_SETTINGS, OWN_SETTINGS],
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
