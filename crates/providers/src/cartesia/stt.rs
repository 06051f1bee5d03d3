//! Cartesia Ink. `/stt/websocket` sends final words when our VAD detects the end of speech; with `stt_finalize` set to false,
//! `/stt/turns/websocket` uses its own endpointing.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use serde_json::Value;
use switchhook_net::outbound::ws::Message;

use super::VERSION;
use crate::adapter_config::AdapterConfig;
use crate::stt::{
    Encoding, KeepAlive, KeytermLimits, SttAdapter, SttDefaults, SttMessage, SttProtocol, SttServer, SttStreamConfig,
    streaming_stt,
};
use crate::websocket::{Handshake, StreamError, field, json};
use crate::{Stt, SttOptions, is_english};

const PROVIDER: &str = "cartesia";
const URL: &str = "https://api.cartesia.ai";
/// The models when neither the agent nor the connection names one. The second is for connections with another language, which the
/// published protocol does not support.
const ENGLISH: &str = "ink-2";
const OTHER: &str = "ink-whisper";
/// The only language of the first.
const LANGUAGE: &str = "en";
const DEFAULTS: SttDefaults = SttDefaults {
    encodings: &[Encoding::Mulaw, Encoding::Alaw, Encoding::Linear16],
    chunk: 4,
    finalize_timeout_ms: 2_000,
    finalize_timeout_without_words_ms: None,
};
const KEYTERM_LIMITS: KeytermLimits = KeytermLimits { max_count: 100, max_chars: 200, max_total_chars: 1_200 };
/// How long no audio is sent before silence is: the server closes after three minutes, and turns end only in silence.
const SILENCE_AFTER: Duration = Duration::from_secs(30);
const SILENCE_IN_TURNS_AFTER: Duration = Duration::from_millis(500);

/// Creates speech to text for a connection.
///
/// # Errors
/// A sentence that names the invalid setting.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Stt>, String> {
    Ok(streaming_stt(config, Cartesia { server: SttServer::read(config, URL, &DEFAULTS)? }))
}

struct Cartesia {
    server: SttServer,
}

impl Cartesia {
    /// Returns whether our VAD ends segments.
    fn manual(&self) -> bool {
        self.server.settings.finalize.unwrap_or(true)
    }

    fn query(&self, options: &SttOptions) -> Vec<(&str, String)> {
        let language = self.server.settings.own_language().unwrap_or(LANGUAGE);
        let encoding = match self.server.settings.encoding {
            Encoding::Mulaw => "pcm_mulaw",
            Encoding::Alaw => "pcm_alaw",
            Encoding::Linear16 => "pcm_s16le",
        };
        let default = if is_english(language) { ENGLISH } else { OTHER };
        let mut query = vec![
            ("model", self.server.settings.model(options, default)),
            ("encoding", encoding.to_owned()),
            ("sample_rate", self.server.settings.sample_rate.to_string()),
        ];
        if self.manual() {
            query.push(("language", language.to_owned()));
        }
        query.extend(KEYTERM_LIMITS.of(options).into_iter().map(|term| ("keyterm", term.to_owned())));
        query
    }
}

impl SttAdapter for Cartesia {
    fn handshake(&self, options: &SttOptions) -> Result<Handshake, String> {
        let path = if self.manual() { "/stt/websocket" } else { "/stt/turns/websocket" };
        let mut handshake = self.server.handshake(path, self.query(options), "authorization", "Bearer ")?;
        handshake.headers.insert("cartesia-version", HeaderValue::from_static(VERSION));
        Ok(handshake)
    }

    fn protocol(&self, _: &SttOptions) -> Box<dyn SttProtocol> {
        if self.manual() { Box::new(Manual) } else { Box::new(CartesiaTurns) }
    }

    fn stream_config(&self, _: &SttOptions) -> SttStreamConfig {
        // Its texts contain their own spaces.
        let separator = if self.manual() { "" } else { " " };
        SttStreamConfig { separator, ..SttStreamConfig::of(PROVIDER, &self.server.settings, self.manual()) }
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        let foreign = self.server.settings.own_language().is_none() && !is_english(&options.language);
        let language = foreign.then(|| format!("understands English only, not {:?}", options.language));
        language.into_iter().chain(KEYTERM_LIMITS.omitted_keyterms(options)).collect()
    }
}

/// Converts an `error` message, whose status is an HTTP status.
fn error(message: &Value) -> StreamError {
    let status =
        ["status_code", "code"].iter().find_map(|name| message.get(*name).and_then(Value::as_u64)).unwrap_or(500);
    let words = ["message", "title", "error"].iter().map(|name| field(message, name)).find(|words| !words.is_empty());
    let words = format!("{} (status {status})", words.unwrap_or("it failed without saying why"));
    match status {
        429 => StreamError::Retryable(format!("provider rate limit: {words}")),
        400..=499 if status != 408 => StreamError::Permanent(words),
        _ => StreamError::Retryable(words),
    }
}

/// `/stt/websocket`. Its commands are plain text, not JSON.
struct Manual;

impl SttProtocol for Manual {
    fn sends_ready(&self) -> bool {
        false
    }

    fn finalize(&mut self) -> Option<Message> {
        Some(Message::text("finalize"))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Silence(SILENCE_AFTER)
    }

    fn close_message(&self) -> Option<Message> {
        Some(Message::text("close"))
    }

    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError> {
        let message = json(message)?;
        let text = || field(&message, "text").to_owned();
        match field(&message, "type") {
            "transcript" if message.get("is_final").and_then(Value::as_bool) == Some(true) => {
                Ok(vec![SttMessage::Final(text())])
            }
            "transcript" => Ok(vec![SttMessage::Partial(text())]),
            "flush_done" => Ok(vec![SttMessage::Finalized]),
            "error" => Err(error(&message)),
            _ => Ok(Vec::new()),
        }
    }
}

/// `/stt/turns/websocket`.
struct CartesiaTurns;

impl SttProtocol for CartesiaTurns {
    fn finalize(&mut self) -> Option<Message> {
        None
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Silence(SILENCE_IN_TURNS_AFTER)
    }

    fn close_message(&self) -> Option<Message> {
        Some(Message::text(r#"{"type":"close"}"#))
    }

    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError> {
        let message = json(message)?;
        let text = || field(&message, "transcript").to_owned();
        match field(&message, "type") {
            "connected" => Ok(vec![SttMessage::Ready]),
            "turn.update" | "turn.eager_end" => Ok(vec![SttMessage::Partial(text())]),
            "turn.end" => Ok(vec![SttMessage::Final(text()), SttMessage::EndOfTurn]),
            "error" => Err(error(&message)),
            _ => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"transcript","text":"Book","is_final":false,"request_id":"r"}"##,
                r##"{"type":"transcript","text":"Book a ","is_final":true}"##,
                r##"{"type":"flush_done"}"##,
            ],
            &[
                r##"{"type":"connected","request_id":"r"}"##,
                r##"{"type":"turn.update","transcript":"yes"}"##,
                r##"{"type":"turn.end","transcript":"Yes, please."}"##,
            ],
            &[
                r##"{"type":"flush_done"}"##,
                r##"{"type":"error","title":"Invalid model","message":"No such model","status_code":400}"##,
            ],
        ])
    },
    read: |messages| {
        let manual = crate::fuzz::stt(&mut Manual, messages);
        let turns = crate::fuzz::stt(&mut CartesiaTurns, messages);
        switchhook_fuzz::Read { taken: manual.taken.max(turns.taken), given: manual.given + turns.given }
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stt::testing::describe;

    #[test]
    fn spaces_of_final_texts_are_left_as_they_are() {
        let messages = [
            r#"{"type":"transcript","text":"Book","is_final":false,"request_id":"r"}"#,
            r#"{"type":"transcript","text":"Book a ","is_final":true}"#,
            r#"{"type":"transcript","text":"table.","is_final":true}"#,
            r#"{"type":"flush_done"}"#,
            r#"{"type":"done"}"#,
        ];
        assert_eq!(describe(&mut Manual, &messages), ["~ Book", "= Book a ", "= table.", "flushed"]);
    }

    #[test]
    fn turns_are_judged_once() {
        let messages = [
            r#"{"type":"connected","request_id":"r"}"#,
            r#"{"type":"turn.start"}"#,
            r#"{"type":"turn.update","transcript":"yes"}"#,
            r#"{"type":"turn.eager_end","transcript":"yes"}"#,
            r#"{"type":"turn.resume"}"#,
            r#"{"type":"turn.end","transcript":"Yes, please."}"#,
        ];
        assert_eq!(describe(&mut CartesiaTurns, &messages), ["ready", "~ yes", "~ yes", "= Yes, please.", "over"]);
    }

    #[test]
    fn errors_have_a_status() {
        let broken = |message: &str| Manual.read(message).err().expect("an error");
        let model = r#"{"type":"error","title":"Invalid model","message":"No such model","status_code":400}"#;
        assert_eq!(broken(model), StreamError::Permanent("No such model (status 400)".to_owned()));
        assert!(
            matches!(broken(r#"{"type":"error","message":"busy","code":429}"#), StreamError::Retryable(words) if words.contains("rate limit"))
        );
        assert!(matches!(broken(r#"{"type":"error"}"#), StreamError::Retryable(_)));
    }
}
