//! OpenAI's voices, which no API lists. Self-hosted servers have others.

use std::sync::Arc;

use super::speech::VOICE;
use crate::adapter_config::AdapterConfig;
use crate::voices::{Voice, VoiceList, Voices};

/// The voices of `POST /v1/audio/speech`; they speak every language of their model.
const VOICES: [&str; 13] =
    ["alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse"];

/// Lists the voices of a connection.
pub(super) fn list(config: &AdapterConfig<'_>) -> Result<Arc<dyn Voices>, String> {
    let default = config.text("tts_voice")?.unwrap_or(VOICE);
    let voices = VOICES.iter().map(|name| Voice::new(name, &(name[..1].to_uppercase() + &name[1..]), &[]));
    let openai = config.text("base_url")?.is_none();
    Ok(VoiceList::of(voices.filter(|_| openai), false, default))
}
