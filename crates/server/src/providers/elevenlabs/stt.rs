//! ElevenLabs Scribe realtime (`/v1/speech-to-text/realtime`): sound in JSON, final words when we commit or, with `stt_finalize` set to
//! false, when the provider hears silence.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::outbound::ws::Message;
use crate::providers::connect::Connect;
use crate::providers::streaming::{
    Broken, Defaults, Dialect, Encoding, Heard, KeepAlive, Protocol, Server, Style, Target, Terms, field,
    json as parse, recogniser,
};
use crate::providers::{Stt, SttOptions};

const PROVIDER: &str = "elevenlabs";
const URL: &str = "https://api.elevenlabs.io";
/// When neither the agent nor the connection names a model.
pub(crate) const USUAL_MODEL: &str = "scribe_v2_realtime";
const DEFAULTS: Defaults = Defaults {
    encodings: &[Encoding::Mulaw, Encoding::Linear16],
    chunk: 5,
    patience_ms: 1_500,
    without_words_ms: None,
};
/// While no sound comes.
const SILENCE_AFTER: Duration = Duration::from_secs(5);
const TERMS: Terms = Terms { most: 50, longest: 20, together: 1_000 };

/// The recogniser of a connection.
///
/// # Errors
/// A sentence that names the setting that is of no use.
pub fn connect(connect: &Connect<'_>) -> Result<Arc<dyn Stt>, String> {
    Ok(recogniser(connect, ElevenLabs { server: Server::read(connect, URL, &DEFAULTS)? }))
}

struct ElevenLabs {
    server: Server,
}

impl ElevenLabs {
    /// Whether our ears say where a segment ends.
    fn finalize(&self) -> bool {
        self.server.tuning.finalize.unwrap_or(true)
    }

    fn query(&self, options: &SttOptions) -> Vec<(&str, String)> {
        let format = match self.server.tuning.encoding {
            Encoding::Mulaw => "ulaw_8000".to_owned(),
            _ => format!("pcm_{}", self.server.tuning.sample_rate),
        };
        let mut query = vec![
            ("model_id", self.server.tuning.model(options, USUAL_MODEL)),
            ("audio_format", format),
            ("commit_strategy", if self.finalize() { "manual" } else { "vad" }.to_owned()),
        ];
        let language = self.server.tuning.short_language(options);
        if !language.is_empty() {
            query.push(("language_code", language));
        }
        query.extend(TERMS.of(options).into_iter().map(|term| ("keyterms", term.to_owned())));
        query
    }
}

impl Dialect for ElevenLabs {
    fn target(&self, options: &SttOptions) -> Result<Target, String> {
        self.server.target("/v1/speech-to-text/realtime", self.query(options), "xi-api-key", "")
    }

    fn protocol(&self, _: &SttOptions) -> Box<dyn Protocol> {
        let is = |name| self.server.tuning.parameters.get(name).is_some_and(|value| *value == true || *value == "true");
        let timestamps = is("include_timestamps") || is("include_language_detection");
        Box::new(Scribe { rate: self.server.tuning.sample_rate, finalize: self.finalize(), timestamps, ready: false })
    }

    fn style(&self, _: &SttOptions) -> Style {
        Style::of(PROVIDER, &self.server.tuning, self.finalize())
    }

    fn not_taken(&self, options: &SttOptions) -> Vec<String> {
        TERMS.left_out(options).into_iter().collect()
    }
}

struct Scribe {
    rate: u32,
    /// Whether we commit; otherwise the provider does when it hears silence.
    finalize: bool,
    /// Whether committed words come a second time, with times.
    timestamps: bool,
    ready: bool,
}

impl Scribe {
    fn chunk(&self, sound: &[u8], commit: bool) -> Message {
        let chunk = json!({
            "message_type": "input_audio_chunk",
            "audio_base_64": STANDARD.encode(sound),
            "commit": commit,
            "sample_rate": self.rate,
        });
        Message::text(chunk.to_string())
    }

    fn error(&self, kind: &str, words: &str) -> Broken {
        let words = if words.is_empty() { kind.to_owned() } else { format!("{words} ({kind})") };
        match kind {
            "auth_error" | "unaccepted_terms" | "quota_exceeded" => Broken::Refused(words),
            "invalid_request" | "input_error" if !self.ready => Broken::Refused(words),
            "rate_limited" | "queue_overflow" | "resource_exhausted" => {
                Broken::Lost(format!("provider rate limit: {words}"))
            }
            _ => Broken::Lost(words),
        }
    }
}

impl Protocol for Scribe {
    fn audio(&mut self, sound: Vec<u8>) -> Message {
        self.chunk(&sound, false)
    }

    fn finalize(&mut self) -> Option<Message> {
        self.finalize.then(|| self.chunk(&[], true))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Silence(SILENCE_AFTER)
    }

    fn goodbye(&self) -> Option<Message> {
        None
    }

    fn read(&mut self, message: &str) -> Result<Vec<Heard>, Broken> {
        let message = parse(message)?;
        let text = || field(&message, "text").to_owned();
        let committed = || vec![Heard::Words(text()), Heard::Flushed];
        Ok(match field(&message, "message_type") {
            "session_started" => {
                self.ready = true;
                vec![Heard::Ready]
            }
            "partial_transcript" => vec![Heard::Partial(text())],
            "committed_transcript" if !self.timestamps => committed(),
            "committed_transcript_with_timestamps" if self.timestamps => committed(),
            // There was too little to commit.
            "commit_throttled" => vec![Heard::Flushed],
            // A caller who is silent for long is nobody's mistake.
            "insufficient_audio_activity" => Vec::new(),
            kind if message.get("error").is_some() => return Err(self.error(kind, field(&message, "error"))),
            _ => Vec::new(),
        })
    }
}

#[cfg(test)]
pub(crate) const FUZZED: crate::fuzz::Target = crate::fuzz::Target {
    file: file!(),
    seeds: || {
        crate::fuzz::texts(&[
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
        crate::fuzz::through::recogniser(&mut scribe, messages)
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::streaming::testing::heard;

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
            assert_eq!(heard(&mut scribe, &messages), ["ready", "~ book a", "= Book a table.", "flushed"]);
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
        assert_eq!(read("auth_error", false), Broken::Refused("No. (auth_error)".to_owned()));
        assert_eq!(read("input_error", true), Broken::Lost("No. (input_error)".to_owned()));
        assert_eq!(read("rate_limited", true), Broken::Lost("provider rate limit: No. (rate_limited)".to_owned()));
    }

    #[test]
    fn a_commit_is_a_chunk_without_sound() {
        let mut scribe = Scribe { rate: 8_000, finalize: true, timestamps: false, ready: true };
        let commit = scribe.finalize().expect("a message").into_text().expect("text");
        let expected =
            json!({ "message_type": "input_audio_chunk", "audio_base_64": "", "commit": true, "sample_rate": 8_000 });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&commit).expect("JSON"), expected);
        assert_eq!(Scribe { finalize: false, ..scribe }.finalize(), None, "the provider commits");
    }
}
