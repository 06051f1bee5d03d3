//! Cartesia's voices over its websocket with contexts (`/tts/websocket`, API version 2026-08-14): one context per utterance, µ-law
//! at 8 kHz or linear samples at 16 kHz, and word timings from the start of the context.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use switchhook_core::conversation::SpokenWord;
use switchhook_core::private::Private;
use switchhook_net::lenient_json;
use switchhook_net::outbound::ws::{Message, below};

use super::VERSION;
use crate::adapter_config::AdapterConfig;
use crate::failure::{AttemptError, classify_response};
use crate::parameters::Parameters;
use crate::tts::pool::TtsPool;
use crate::tts::protocol::{
    AudioChunk, CancelConfirmation, SocketLimits, TtsEncoding, TtsEvent, TtsMessage, TtsProtocol,
};
use crate::tts::timing::WordTiming;
use crate::tts::{TtsDefaults, TtsTimeouts, primary_language};
use crate::websocket::{Handshake, text_of};
use crate::{Tts, TtsRequest};

const PROVIDER: &str = "cartesia";
pub(super) const URL: &str = "https://api.cartesia.ai";
/// Defaults when neither the agent nor the connection names one. The voice is from Cartesia's own examples.
pub(super) const VOICE: &str = "6ccbfb76-1fc6-48f7-b71d-91ac6298247b";
pub(crate) const DEFAULT_MODEL: &str = "sonic-3";
/// The supported speaking rates.
const SPEEDS: (f32, f32) = (0.6, 1.5);

struct CartesiaTts {
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
    let protocol = CartesiaTts {
        base: config.base_url(URL)?,
        key: config.key.clone(),
        defaults: TtsDefaults::read(config, VOICE, DEFAULT_MODEL)?,
        parameters: Parameters::of_voices(config)?,
    };
    Ok(Arc::new(TtsPool::new(config, protocol, timeouts)))
}

impl TtsProtocol for CartesiaTts {
    fn provider(&self) -> &'static str {
        PROVIDER
    }

    fn key(&self) -> Option<&Private<String>> {
        self.key.as_ref()
    }

    fn limits(&self) -> SocketLimits {
        // Cartesia says "dozens" fit on a socket; the account limits how many may speak at a time.
        SocketLimits { contexts: 16, begun_per_minute: usize::MAX, cancel_confirmation: CancelConfirmation::None }
    }

    fn handshake(&self, _request: &TtsRequest) -> Result<Handshake, String> {
        let url = below(&self.base, "/tts/websocket", &[]).map_err(|error| format!("settings.base_url {error}."))?;
        let mut handshake = Handshake::new(url, self.key(), AUTHORIZATION, "Bearer ")?;
        handshake.headers.insert("cartesia-version", HeaderValue::from_static(VERSION));
        Ok(handshake)
    }

    fn begin(&self, context: &str, request: &TtsRequest) -> Vec<String> {
        let (encoding, rate) = match TtsEncoding::of(request) {
            TtsEncoding::Mulaw8k => ("pcm_mulaw", 8_000),
            TtsEncoding::Linear16k => ("pcm_s16le", 16_000),
        };
        let mut message = self.parameters.in_body(json!({
            "context_id": context,
            "model_id": self.defaults.model(request),
            "transcript": request.text,
            "continue": false,
            "voice": { "id": self.defaults.voice(request) },
            "language": primary_language(&request.language),
            "output_format": { "container": "raw", "encoding": encoding, "sample_rate": rate },
            "add_timestamps": true,
        }));
        if (request.speed - 1.0).abs() > f32::EPSILON {
            message["generation_config"]["speed"] = json!(request.speed.clamp(SPEEDS.0, SPEEDS.1));
        }
        vec![message.to_string()]
    }

    fn stop(&self, context: &str) -> Vec<String> {
        vec![json!({ "context_id": context, "cancel": true }).to_string()]
    }

    fn read(&self, message: &Message) -> Result<Vec<TtsMessage>, String> {
        let Some(text) = text_of(message) else { return Ok(Vec::new()) };
        let message: Value = lenient_json::from_str(text).map_err(|_| "it sent a message that is not JSON")?;
        let context = message.get("context_id").and_then(Value::as_str).map(str::to_owned);
        let event = match message.get("type").and_then(Value::as_str) {
            Some("chunk") => TtsEvent::Audio(AudioChunk { audio: audio(&message)?, timing: WordTiming::None }),
            Some("timestamps") => {
                TtsEvent::Audio(AudioChunk { audio: Vec::new(), timing: WordTiming::Words(words(&message)) })
            }
            Some("done") => TtsEvent::Done,
            Some("error") => TtsEvent::Failed(self.refusal(&message)),
            _ => return Ok(Vec::new()),
        };
        Ok(vec![TtsMessage { context, event }])
    }
}

impl CartesiaTts {
    /// Converts an error on the socket, which has the fields and the status of an HTTP error response.
    fn refusal(&self, message: &Value) -> AttemptError {
        let status = message.get("status_code").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        let (status, body) = (status.unwrap_or(500), message.to_string());
        AttemptError::from_classified(
            PROVIDER,
            classify_response(status, &HeaderMap::new(), &body),
            self.key(),
            Duration::ZERO,
        )
    }
}

fn audio(message: &Value) -> Result<Vec<u8>, String> {
    let data = message.get("data").and_then(Value::as_str).unwrap_or_default();
    STANDARD.decode(data).map_err(|_| "it sent audio that is not base64".to_owned())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a negative or endless time becomes a limit"
)]
fn words(message: &Value) -> Vec<SpokenWord> {
    let list = |name: &str| message.pointer(&format!("/word_timestamps/{name}")).and_then(Value::as_array);
    let (Some(words), Some(starts), Some(ends)) = (list("words"), list("start"), list("end")) else {
        return Vec::new();
    };
    let ms = |seconds: &Value| seconds.as_f64().map(|seconds| (seconds * 1_000.0) as u64);
    let timed = words.iter().zip(starts).zip(ends);
    timed
        .filter_map(|((word, start), end)| {
            Some(SpokenWord { text: word.as_str()?.to_owned(), start_ms: ms(start)?, end_ms: ms(end)? })
        })
        .collect()
}

#[cfg(test)]
fn plain() -> CartesiaTts {
    CartesiaTts { base: URL.to_owned(), key: None, defaults: TtsDefaults::default(), parameters: Parameters::default() }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"chunk","context_id":"c","data":"/38A/38A","done":false,"status_code":206,"step_time":12.3}"##,
                r##"{"type":"timestamps","context_id":"c","word_timestamps":{"words":["Hello","there"],"start":[0.1,0.5],"end":[0.4,0.9]}}"##,
                r##"{"type":"done","context_id":"c","done":true,"status_code":200}"##,
            ],
            &[
                r##"{"type":"done"}"##,
                r##"{"type":"error","context_id":"c","title":"No","message":"No.","status_code":429,"done":true}"##,
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
        let done = r#"{"type":"done","context_id":"c"}"#;
        for message in [Message::text(done), Message::binary(done)] {
            let read = plain().read(&message).expect("it is taken");
            assert!(matches!(&read[..], [TtsMessage { event: TtsEvent::Done, .. }]));
        }
        for ignored in [Message::text(""), Message::binary(vec![0xff, 0x7f])] {
            assert!(plain().read(&ignored).expect("it is taken").is_empty());
        }
    }
}
