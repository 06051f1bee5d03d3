//! ElevenLabs Scribe realtime (`/v1/speech-to-text/realtime`): audio in JSON, final words when we commit or, with `stt_finalize` set
//! to false, when the provider detects silence.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use switchhook_net::outbound::ws::Message;

use crate::adapter_config::AdapterConfig;
use crate::stt::{
    Encoding, KeepAlive, KeytermLimits, SttAdapter, SttDefaults, SttMessage, SttProtocol, SttServer, SttStreamConfig,
    streaming_stt,
};
use crate::websocket::{Handshake, StreamError, field, json as parse};
use crate::{Stt, SttOptions};

const PROVIDER: &str = "elevenlabs";
const URL: &str = "https://api.elevenlabs.io";
/// The model when neither the agent nor the connection names one.
pub(crate) const DEFAULT_MODEL: &str = "scribe_v2_realtime";
const DEFAULTS: SttDefaults = SttDefaults {
    encodings: &[Encoding::Mulaw, Encoding::Linear16],
    chunk: 5,
    finalize_timeout_ms: 1_500,
    finalize_timeout_without_words_ms: None,
};
/// How long no audio is sent before silence is.
const SILENCE_AFTER: Duration = Duration::from_secs(5);
const KEYTERM_LIMITS: KeytermLimits = KeytermLimits { max_count: 50, max_chars: 20, max_total_chars: 1_000 };

/// Creates speech to text for a connection.
///
/// # Errors
/// A sentence that names the invalid setting.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Stt>, String> {
    Ok(streaming_stt(config, ElevenLabs { server: SttServer::read(config, URL, &DEFAULTS)? }))
}

struct ElevenLabs {
    server: SttServer,
}

impl ElevenLabs {
    /// Returns whether our VAD ends segments.
    fn finalize(&self) -> bool {
        self.server.settings.finalize.unwrap_or(true)
    }

    fn query(&self, options: &SttOptions) -> Vec<(&str, String)> {
        let format = match self.server.settings.encoding {
            Encoding::Mulaw => "ulaw_8000".to_owned(),
            _ => format!("pcm_{}", self.server.settings.sample_rate),
        };
        let mut query = vec![
            ("model_id", self.server.settings.model(options, DEFAULT_MODEL)),
            ("audio_format", format),
            ("commit_strategy", if self.finalize() { "manual" } else { "vad" }.to_owned()),
        ];
        let language = self.server.settings.short_language(options);
        if !language.is_empty() {
            query.push(("language_code", language));
        }
        query.extend(KEYTERM_LIMITS.of(options).into_iter().map(|term| ("keyterms", term.to_owned())));
        query
    }
}

impl SttAdapter for ElevenLabs {
    fn handshake(&self, options: &SttOptions) -> Result<Handshake, String> {
        self.server.handshake("/v1/speech-to-text/realtime", self.query(options), "xi-api-key", "")
    }

    fn protocol(&self, _: &SttOptions) -> Box<dyn SttProtocol> {
        let is =
            |name| self.server.settings.parameters.get(name).is_some_and(|value| *value == true || *value == "true");
        let timestamps = is("include_timestamps") || is("include_language_detection");
        Box::new(Scribe { rate: self.server.settings.sample_rate, finalize: self.finalize(), timestamps, ready: false })
    }

    fn stream_config(&self, _: &SttOptions) -> SttStreamConfig {
        SttStreamConfig::of(PROVIDER, &self.server.settings, self.finalize())
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        KEYTERM_LIMITS.omitted_keyterms(options).into_iter().collect()
    }
}

struct Scribe {
    rate: u32,
    /// Whether we commit; otherwise the provider commits when it detects silence.
    finalize: bool,
    /// Whether committed words arrive a second time, with timestamps.
    timestamps: bool,
    ready: bool,
}

impl Scribe {
    fn chunk(&self, audio: &[u8], commit: bool) -> Message {
        let chunk = json!({
            "message_type": "input_audio_chunk",
            "audio_base_64": STANDARD.encode(audio),
            "commit": commit,
            "sample_rate": self.rate,
        });
        Message::text(chunk.to_string())
    }

    fn error(&self, kind: &str, words: &str) -> StreamError {
        let words = if words.is_empty() { kind.to_owned() } else { format!("{words} ({kind})") };
        match kind {
            "auth_error" | "unaccepted_terms" | "quota_exceeded" => StreamError::Permanent(words),
            "invalid_request" | "input_error" if !self.ready => StreamError::Permanent(words),
            "rate_limited" | "queue_overflow" | "resource_exhausted" => {
                StreamError::Retryable(format!("provider rate limit: {words}"))
            }
            _ => StreamError::Retryable(words),
        }
    }
}

impl SttProtocol for Scribe {
    fn audio(&mut self, audio: Vec<u8>) -> Message {
        self.chunk(&audio, false)
    }

    fn finalize(&mut self) -> Option<Message> {
        self.finalize.then(|| self.chunk(&[], true))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Silence(SILENCE_AFTER)
    }

    fn close_message(&self) -> Option<Message> {
        None
    }

    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError> {
        let message = parse(message)?;
        let text = || field(&message, "text").to_owned();
        let committed = || vec![SttMessage::Final(text()), SttMessage::Finalized];
        Ok(match field(&message, "message_type") {
            "session_started" => {
                self.ready = true;
                vec![SttMessage::Ready]
            }
            "partial_transcript" => vec![SttMessage::Partial(text())],
            "committed_transcript" if !self.timestamps => committed(),
            "committed_transcript_with_timestamps" if self.timestamps => committed(),
            // There was too little audio to commit.
            "commit_throttled" => vec![SttMessage::Finalized],
            // A caller who stays silent is not an error.
            "insufficient_audio_activity" => Vec::new(),
            kind if message.get("error").is_some() => return Err(self.error(kind, field(&message, "error"))),
            _ => Vec::new(),
        })
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"message_type":"session_started","session_id":"s"}"##,
                r##"{"message_type":"partial_transcript","text":"book a"}"##,
                r##"{"message_type":"committed_transcript","text":"Book a table."}"##,
                r##"{"message_type":"committed_transcript_with_timestamps","text":"Book a table.","words":[]}"##,
            ],
            &[r##"{"message_type":"session_started"}"##, r##"{"message_type":"rate_limited","error":"No."}"##],
        ])
    },
    read: |messages| {
        let mut scribe = Scribe { rate: 8_000, finalize: true, timestamps: false, ready: false };
        crate::fuzz::stt(&mut scribe, messages)
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stt::testing::describe;

    #[test]
    fn committed_words_that_come_twice_count_once() {
        let messages = [
            r#"{"message_type":"session_started","session_id":"s"}"#,
            r#"{"message_type":"partial_transcript","text":"book a"}"#,
            r#"{"message_type":"committed_transcript","text":"Book a table."}"#,
            r#"{"message_type":"committed_transcript_with_timestamps","text":"Book a table.","words":[]}"#,
            r#"{"message_type":"something_new","text":"x"}"#,
        ];
        for timestamps in [false, true] {
            let mut scribe = Scribe { rate: 8_000, finalize: true, timestamps, ready: false };
            assert_eq!(describe(&mut scribe, &messages), ["ready", "~ book a", "= Book a table.", "flushed"]);
        }
    }

    #[test]
    fn an_error_is_a_wrong_setting_or_a_reason_to_try_again() {
        let read = |kind: &str, ready| {
            let message = json!({ "message_type": kind, "error": "No." }).to_string();
            Scribe { rate: 8_000, finalize: true, timestamps: false, ready }.read(&message).err().expect("an error")
        };
        let silent = r#"{"message_type":"insufficient_audio_activity","error":"No speech."}"#;
        let mut scribe = Scribe { rate: 8_000, finalize: true, timestamps: false, ready: true };
        assert!(scribe.read(silent).is_ok_and(|heard| heard.is_empty()), "no error at all");
        assert_eq!(read("auth_error", false), StreamError::Permanent("No. (auth_error)".to_owned()));
        assert_eq!(read("input_error", true), StreamError::Retryable("No. (input_error)".to_owned()));
        assert_eq!(
            read("rate_limited", true),
            StreamError::Retryable("provider rate limit: No. (rate_limited)".to_owned())
        );
    }

    #[test]
    fn a_commit_is_a_chunk_without_audio() {
        let mut scribe = Scribe { rate: 8_000, finalize: true, timestamps: false, ready: true };
        let commit = scribe.finalize().expect("a message").into_text().expect("text");
        let expected =
            json!({ "message_type": "input_audio_chunk", "audio_base_64": "", "commit": true, "sample_rate": 8_000 });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&commit).expect("JSON"), expected);
        assert_eq!(Scribe { finalize: false, ..scribe }.finalize(), None, "the provider commits");
    }
}
