//! ElevenLabs' voices over its multi-context websocket (`/v1/text-to-speech/{voice}/multi-stream-input`): voice and model are fixed
//! per socket, each utterance is a context, audio is µ-law at 8 kHz or linear at
//! 16 kHz, with character timings.
//!
//! At most five contexts may be open on a socket, and closing one takes effect only when `isFinal` arrives, so one slot always stays
//! free. Models of the third version are not available over this websocket.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderName;
use serde_json::{Value, json};
use switchhook_core::private::Private;
use switchhook_net::lenient_json;
use switchhook_net::outbound::ws::{Message, below};

use crate::adapter_config::AdapterConfig;
use crate::failure::AttemptError;
use crate::parameters::Parameters;
use crate::tts::pool::TtsPool;
use crate::tts::protocol::{
    AudioChunk, CancelConfirmation, SocketLimits, TtsEncoding, TtsEvent, TtsMessage, TtsProtocol,
};
use crate::tts::timing::{Character, WordTiming};
use crate::tts::{TtsDefaults, TtsTimeouts, primary_language};
use crate::websocket::{Handshake, text_of};
use crate::{Tts, TtsRequest};

const PROVIDER: &str = "elevenlabs";
pub(super) const URL: &str = "https://api.elevenlabs.io";
/// Defaults when neither the agent nor the connection names one. The voice is that of ElevenLabs' own first example.
pub(super) const VOICE: &str = "JBFqnCBsd6RMkjVDRZzb";
pub(crate) const DEFAULT_MODEL: &str = "eleven_flash_v2_5";
/// The supported speaking rates.
const SPEEDS: (f32, f32) = (0.7, 1.2);
/// The longest timeout allowed, in seconds; by default a silent socket is closed after 20.
const INACTIVITY_TIMEOUT: &str = "180";

struct ElevenLabsTts {
    base: String,
    key: Option<Private<String>>,
    defaults: TtsDefaults,
    parameters: Parameters,
}

/// Creates text to speech for a connection. `settings.tts_voice` (an id) and `settings.tts_model` are for agents that name none;
/// `settings.tts_parameters` are added to requests.
///
/// # Errors
/// A sentence when a setting is invalid.
pub fn connect(config: &AdapterConfig<'_>, timeouts: TtsTimeouts) -> Result<Arc<dyn Tts>, String> {
    let protocol = ElevenLabsTts {
        base: config.base_url(URL)?,
        key: config.key.clone(),
        defaults: TtsDefaults::read(config, VOICE, DEFAULT_MODEL)?,
        parameters: Parameters::of_voices(config)?,
    };
    Ok(Arc::new(TtsPool::new(config, protocol, timeouts)))
}

impl TtsProtocol for ElevenLabsTts {
    fn provider(&self) -> &'static str {
        PROVIDER
    }

    fn key(&self) -> Option<&Private<String>> {
        self.key.as_ref()
    }

    fn limits(&self) -> SocketLimits {
        SocketLimits { contexts: 4, begun_per_minute: usize::MAX, cancel_confirmation: CancelConfirmation::Done }
    }

    fn handshake(&self, request: &TtsRequest) -> Result<Handshake, String> {
        let (voice, model) = (self.defaults.voice(request), self.defaults.model(request));
        if voice.is_empty() || !voice.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
            return Err("the voice must be the id of a voice, which has letters and digits only".to_owned());
        }
        let format = match TtsEncoding::of(request) {
            TtsEncoding::Mulaw8k => "ulaw_8000",
            TtsEncoding::Linear16k => "pcm_16000",
        };
        let mut query = vec![
            ("model_id", model.to_owned()),
            ("output_format", format.to_owned()),
            ("inactivity_timeout", INACTIVITY_TIMEOUT.to_owned()),
            ("sync_alignment", "true".to_owned()),
            // Whole sentences are sent, so the server need not wait for more.
            ("auto_mode", "true".to_owned()),
        ];
        // Other models reject the parameter.
        if model.ends_with("_v2_5") && !request.language.is_empty() {
            query.push(("language_code", primary_language(&request.language).to_owned()));
        }
        let path = format!("/v1/text-to-speech/{voice}/multi-stream-input");
        let (plain, _) = self.parameters.apart();
        let url = below(&self.base, &path, &plain.in_query(query));
        let url = url.map_err(|error| format!("settings.base_url {error}."))?;
        Handshake::new(url, self.key(), HeaderName::from_static("xi-api-key"), "")
    }

    fn begin(&self, context: &str, request: &TtsRequest) -> Vec<String> {
        let (_, structures) = self.parameters.apart();
        let mut connecting = structures.in_body(json!({ "text": " ", "context_id": context }));
        if (request.speed - 1.0).abs() > f32::EPSILON {
            connecting["voice_settings"]["speed"] = json!(request.speed.clamp(SPEEDS.0, SPEEDS.1));
        }
        // The text must end with a space, or its last word may be held back.
        let text = json!({ "text": format!("{} ", request.text.trim_end()), "context_id": context, "flush": true });
        // Text sent before it is still spoken.
        let end = json!({ "context_id": context, "close_context": true });
        [connecting, text, end].iter().map(Value::to_string).collect()
    }

    fn stop(&self, _context: &str) -> Vec<String> {
        // It was closed after its text was sent, and nothing else stops it.
        Vec::new()
    }

    fn close_message(&self) -> Option<String> {
        Some(json!({ "close_socket": true }).to_string())
    }

    fn read(&self, message: &Message) -> Result<Vec<TtsMessage>, String> {
        let Some(text) = text_of(message) else { return Ok(Vec::new()) };
        let message: Value = lenient_json::from_str(text).map_err(|_| "it sent a message that is not JSON")?;
        // Names differ between versions of the API.
        let either = |one: &str, other: &str| message.get(one).or_else(|| message.get(other));
        let context = either("contextId", "context_id").and_then(Value::as_str).map(str::to_owned);
        let mut heard = Vec::new();
        if message.get("error").is_some_and(|error| !error.is_null()) {
            heard.push(TtsEvent::Failed(AttemptError::from_message(PROVIDER, &message, self.key())));
        }
        if let Some(data) = message.get("audio").and_then(Value::as_str) {
            let audio = STANDARD.decode(data).map_err(|_| "it sent audio that is not base64")?;
            heard.push(TtsEvent::Audio(AudioChunk { audio, timing: characters(message.get("alignment")) }));
        }
        if either("isFinal", "is_final").and_then(Value::as_bool) == Some(true) {
            heard.push(TtsEvent::Done);
        }
        Ok(heard.into_iter().map(|event| TtsMessage { context: context.clone(), event }).collect())
    }
}

/// Returns the characters of `alignment`, which follow the written text; `normalizedAlignment` spells numbers out.
fn characters(alignment: Option<&Value>) -> WordTiming {
    let list = |names: [&str; 2]| names.iter().find_map(|name| alignment?.get(*name)?.as_array());
    let (Some(characters), Some(starts), Some(lengths)) = (
        list(["chars", "characters"]),
        list(["charStartTimesMs", "charsStartTimesMs"]),
        list(["charDurationsMs", "charsDurationsMs"]),
    ) else {
        return WordTiming::None;
    };
    let timed = characters.iter().zip(starts).zip(lengths);
    WordTiming::Characters(
        timed
            .filter_map(|((text, start), length)| {
                let start_ms = start.as_f64()?.max(0.0).round() as u64;
                let end_ms = start_ms.saturating_add(length.as_f64()?.max(0.0).round() as u64);
                Some(Character { text: text.as_str()?.to_owned(), start_ms, end_ms })
            })
            .collect(),
    )
}

#[cfg(test)]
fn plain() -> ElevenLabsTts {
    ElevenLabsTts {
        base: URL.to_owned(),
        key: None,
        defaults: TtsDefaults::default(),
        parameters: Parameters::default(),
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"audio":"/38A/38A","contextId":"c","isFinal":null,"alignment":{"chars":["H","i"],"charStartTimesMs":[0,120],"charDurationsMs":[120,100]},"normalizedAlignment":null}"##,
                r##"{"contextId":"c","isFinal":true}"##,
            ],
            &[
                r##"{"is_final":true}"##,
                r##"{"context_id":"c","message":"No.","error":"input_timeout_exceeded","code":1008}"##,
            ],
        ])
    },
    read: |messages| crate::fuzz::tts(&plain(), messages),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_relay_forwards_in_binary_frames_is_read_like_text() {
        let done = r#"{"contextId":"c","isFinal":true}"#;
        for message in [Message::text(done), Message::binary(done)] {
            let read = plain().read(&message).expect("it is taken");
            assert!(matches!(&read[..], [TtsMessage { event: TtsEvent::Done, .. }]));
        }
        for ignored in [Message::text(""), Message::binary(vec![0xff, 0x7f])] {
            assert!(plain().read(&ignored).expect("it is taken").is_empty());
        }
    }
}
