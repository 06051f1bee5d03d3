//! A realtime transcription session (`GET {base}/realtime?intent=transcription`). It gets the caller's speech only: committed audio
//! is charged, including silence, in which models also invent words. With `stt_finalize` set to false it gets all audio, and segments
//! it itself.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchhook_net::outbound::ws::Message;
use switchhook_net::queues::Queue;

use super::server::SpeechServer;
use super::{KEYTERM_LIMITS, PROVIDER};
use crate::SttOptions;
use crate::adapter_config::AdapterConfig;
use crate::failure;
use crate::stt::{
    Encoding, KeepAlive, SttAdapter, SttDefaults, SttMessage, SttProtocol, SttSettings, SttStreamConfig, spoken_text,
};
use crate::websocket::{Handshake, StreamError, field, json as parse};

/// The model when neither the agent nor the connection names one.
pub(super) const DEFAULT_MODEL: &str = "gpt-live-transcribe";
/// The models that accept `keywords`.
const KEYWORDS: [&str; 2] = ["gpt-transcribe", "gpt-live-transcribe"];
const DEFAULTS: SttDefaults = SttDefaults {
    encodings: &[Encoding::Mulaw, Encoding::Alaw, Encoding::Linear16],
    chunk: 5,
    finalize_timeout_ms: 3_000,
    finalize_timeout_without_words_ms: None,
};

/// The only rate of linear audio that OpenAI itself accepts.
const LINEAR_RATE: u32 = 24_000;
/// The most items in progress at a time, and the most text of one, in bytes. More than that is not speech.
const MOST_ITEMS: usize = 64;
const LONGEST: usize = 40_000;
/// The longest item name, in bytes.
const LONGEST_ID: usize = 256;

pub(super) struct Realtime {
    server: SpeechServer,
    settings: SttSettings,
}

impl Realtime {
    pub(super) fn new(config: &AdapterConfig<'_>, server: SpeechServer) -> Result<Self, String> {
        let mut settings = SttSettings::read(config, &DEFAULTS)?;
        if settings.encoding == Encoding::Linear16 && !config.settings.contains_key("stt_sample_rate") {
            settings.sample_rate = LINEAR_RATE;
        }
        Ok(Self { server, settings })
    }

    /// Returns whether our VAD ends segments.
    fn finalize(&self) -> bool {
        self.settings.finalize.unwrap_or(true)
    }

    /// Returns the session's configuration; `stt_parameters` become part of `transcription`.
    fn session(&self, options: &SttOptions) -> Value {
        let format = match self.settings.encoding {
            Encoding::Mulaw => json!({ "type": "audio/pcmu" }),
            Encoding::Alaw => json!({ "type": "audio/pcma" }),
            Encoding::Linear16 => json!({ "type": "audio/pcm", "rate": self.settings.sample_rate }),
        };
        let model = self.settings.model(options, DEFAULT_MODEL);
        let mut transcription = json!({ "model": model });
        let language = self.settings.short_language(options);
        if !language.is_empty() {
            transcription["language"] = json!(language);
        }
        if let Some((name, terms)) = terms(&model, &KEYTERM_LIMITS.of(options)) {
            transcription[name] = terms;
        }
        let input = json!({
            "format": format, "transcription": self.settings.parameters.in_body(transcription),
            "turn_detection": if self.finalize() { Value::Null } else { json!({ "type": "server_vad" }) },
        });
        json!({ "type": "session.update", "session": { "type": "transcription", "audio": { "input": input } } })
    }
}

/// Returns the field for expected words: a list for newer models, a text for older ones, and none for one model.
fn terms(model: &str, terms: &[&str]) -> Option<(&'static str, Value)> {
    if terms.is_empty() || model.starts_with("gpt-realtime-whisper") {
        return None;
    }
    let one_by_one = KEYWORDS.iter().any(|name| model.starts_with(name));
    Some(if one_by_one { ("keywords", json!(terms)) } else { ("prompt", json!(terms.join(", "))) })
}

impl SttAdapter for Realtime {
    fn handshake(&self, _: &SttOptions) -> Result<Handshake, String> {
        self.server.websocket("/realtime", &[("intent", "transcription".to_owned())])
    }

    fn protocol(&self, options: &SttOptions) -> Box<dyn SttProtocol> {
        let terms = KEYTERM_LIMITS.of(options).into_iter().map(str::to_owned).collect();
        let audio = UnansweredAudio::of(&self.settings);
        Box::new(TranscriptionSession {
            terms,
            ..TranscriptionSession::new(self.session(options), self.finalize(), audio)
        })
    }

    fn stream_config(&self, _: &SttOptions) -> SttStreamConfig {
        let finalize = self.finalize();
        SttStreamConfig {
            full_chunks_only: true,
            speech_only: finalize,
            ..SttStreamConfig::of(PROVIDER, &self.settings, finalize)
        }
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        let model = self.settings.model(options, DEFAULT_MODEL);
        if !options.keyterms.is_empty() && terms(&model, &["x"]).is_none() {
            return vec![format!("takes no keyterms with the model {model}: they are left out")];
        }
        KEYTERM_LIMITS.omitted_keyterms(options).into_iter().collect()
    }
}

struct TranscriptionSession {
    setup: Value,
    /// The terms that the model was asked to expect.
    terms: Vec<String>,
    audio: UnansweredAudio,
    /// Whether we commit; otherwise the server commits when it detects silence.
    finalize: bool,
    ready: bool,
    /// Committed items without final words, in the order of their speech; they may finish in a different order.
    items: VecDeque<String>,
    /// The text received for items so far.
    texts: HashMap<String, TranscriptText>,
    /// The latest items that were reported, so that what is repeated about them changes nothing.
    reported: VecDeque<String>,
}

/// The audio that no final words have come for, in bytes.
struct UnansweredAudio {
    bytes_per_second: u32,
    buffered: usize,
    committed: usize,
}

impl UnansweredAudio {
    fn of(settings: &SttSettings) -> Self {
        let bytes = if settings.encoding == Encoding::Linear16 { 2 } else { 1 };
        Self { bytes_per_second: settings.sample_rate * bytes, buffered: 0, committed: 0 }
    }

    fn commit(&mut self) {
        self.committed += std::mem::take(&mut self.buffered);
    }

    /// Returns the length of the committed audio, the most that an item can have.
    fn length(&self) -> Duration {
        Duration::from_secs_f64(self.committed as f64 / f64::from(self.bytes_per_second))
    }
}

#[derive(Default)]
struct TranscriptText {
    words: String,
    complete: bool,
    /// Why no further words will come.
    failed: Option<StreamError>,
}

impl TranscriptionSession {
    fn new(setup: Value, finalize: bool, audio: UnansweredAudio) -> Self {
        Self {
            setup,
            terms: Vec::new(),
            audio,
            finalize,
            ready: false,
            items: VecDeque::new(),
            texts: HashMap::new(),
            reported: VecDeque::new(),
        }
    }

    fn delta(&mut self, message: &Value) -> Result<Vec<SttMessage>, StreamError> {
        let item = field(message, "item_id");
        if item.len() > LONGEST_ID {
            return Err(too_much());
        }
        if self.is_reported(item) {
            return Ok(Vec::new());
        }
        let text = self.texts.entry(item.to_owned()).or_default();
        text.words.push_str(field(message, "delta"));
        if text.words.len() > LONGEST || self.texts.len() > MOST_ITEMS {
            return Err(too_much());
        }
        let first = self.items.front().is_none_or(|first| first == item);
        let words = || self.texts[item].words.clone();
        Ok(if first { vec![SttMessage::Partial(words())] } else { Vec::new() })
    }

    /// Handles an item that is complete, or will never be.
    fn completed(&mut self, item: &str, words: Result<&str, StreamError>) -> Result<Vec<SttMessage>, StreamError> {
        if words.as_ref().is_ok_and(|words| words.len() > LONGEST) || item.len() > LONGEST_ID {
            return Err(too_much());
        }
        if self.is_reported(item) {
            return Ok(Vec::new());
        }
        let text = self.texts.entry(item.to_owned()).or_default();
        text.complete = true;
        match words {
            Ok(words) => text.words = spoken_text(words, &self.terms, self.audio.length()),
            Err(broken) => text.failed = Some(broken),
        }
        self.expect(item);
        if self.items.len() > MOST_ITEMS || self.texts.len() > MOST_ITEMS {
            return Err(too_much());
        }
        let mut messages = Vec::new();
        while let Some(item) = self.items.pop_front_if(|item| self.texts.get(&*item).is_some_and(|text| text.complete))
        {
            let text = self.texts.remove(&item).unwrap_or_default();
            messages
                .extend([SttMessage::Final(text.words), text.failed.map_or(SttMessage::Finalized, SttMessage::Failed)]);
            self.reported.push_back(item);
            if self.reported.len() > MOST_ITEMS {
                self.reported.pop_front();
            }
        }
        if self.items.is_empty() {
            self.audio.committed = 0;
        }
        Ok(messages)
    }

    /// Adds an item whose transcript is due, unless it is known.
    fn expect(&mut self, item: &str) {
        if !self.items.iter().any(|known| known == item) && !self.is_reported(item) {
            self.items.push_back(item.to_owned());
        }
    }

    fn is_reported(&self, item: &str) -> bool {
        self.reported.iter().any(|known| known == item)
    }

    fn error(&self, message: &Value) -> Result<Vec<SttMessage>, StreamError> {
        let error = message.get("error").unwrap_or(&Value::Null);
        // There was too little audio to commit.
        if field(error, "code") == "input_audio_buffer_commit_empty" {
            return Ok(vec![SttMessage::Finalized]);
        }
        match classify(error) {
            ErrorKind::Permanent(words) => Err(StreamError::Permanent(words)),
            ErrorKind::Retryable(words) => Err(StreamError::Retryable(words)),
            ErrorKind::Harmless(words) if !self.ready => Err(StreamError::Permanent(words)),
            ErrorKind::Harmless(words) => {
                tracing::warn!(provider = PROVIDER, error = words, "STT session reported an error and continues");
                Ok(Vec::new())
            }
        }
    }
}

/// An error of the session or of an item, with its message.
enum ErrorKind {
    Permanent(String),
    Retryable(String),
    /// Has no consequences.
    Harmless(String),
}

fn classify(error: &Value) -> ErrorKind {
    let (code, kind) = (field(error, "code"), field(error, "type"));
    let shown = [code, kind].into_iter().find(|code| !code.is_empty()).unwrap_or("error");
    let words = format!("{} ({shown})", field(error, "message"));
    // Every error in one of our messages has this type, even when the session continues.
    let telling = if kind == "invalid_request_error" { "" } else { kind };
    let class =
        failure::classify_message(&json!({ "message": field(error, "message"), "code": code, "type": telling })).class;
    match class {
        failure::FailureClass::Configuration => ErrorKind::Permanent(words),
        _ if [code, kind].contains(&"rate_limit_exceeded") => {
            ErrorKind::Retryable(format!("provider rate limit: {words}"))
        }
        _ if code == "session_expired" || [code, kind].contains(&"server_error") => ErrorKind::Retryable(words),
        _ => ErrorKind::Harmless(words),
    }
}

fn too_much() -> StreamError {
    Queue::SttWords.full();
    StreamError::Retryable("it sent more words than anybody can have said".to_owned())
}

impl SttProtocol for TranscriptionSession {
    fn audio(&mut self, audio: Vec<u8>) -> Message {
        self.audio.buffered += audio.len();
        let append = json!({ "type": "input_audio_buffer.append", "audio": STANDARD.encode(audio) });
        Message::text(append.to_string())
    }

    fn finalize(&mut self) -> Option<Message> {
        if !self.finalize {
            return None;
        }
        self.audio.commit();
        Some(Message::text(r#"{"type":"input_audio_buffer.commit"}"#))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Pings
    }

    fn close_message(&self) -> Option<Message> {
        None
    }

    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError> {
        const TRANSCRIPTION: &str = "conversation.item.input_audio_transcription.";
        let message = parse(message)?;
        let kind = field(&message, "type");
        if let Some(kind) = kind.strip_prefix(TRANSCRIPTION) {
            let item = field(&message, "item_id");
            return match kind {
                "delta" => self.delta(&message),
                "completed" => self.completed(item, Ok(field(&message, "transcript"))),
                "failed" => {
                    let broken = match classify(message.get("error").unwrap_or(&Value::Null)) {
                        ErrorKind::Permanent(words) => StreamError::Permanent(words),
                        ErrorKind::Retryable(words) | ErrorKind::Harmless(words) => StreamError::Retryable(words),
                    };
                    tracing::warn!(provider = PROVIDER, error = ?broken, "could not transcribe a segment");
                    self.completed(item, Err(broken))
                }
                _ => Ok(Vec::new()),
            };
        }
        match kind {
            "session.created" | "transcription_session.created" => {
                Ok(vec![SttMessage::Reply(Message::text(self.setup.to_string()))])
            }
            "session.updated" | "transcription_session.updated" => {
                self.ready = true;
                Ok(vec![SttMessage::Ready])
            }
            "input_audio_buffer.committed" => {
                if !self.finalize {
                    self.audio.commit();
                }
                self.expect(field(&message, "item_id"));
                let too_much = self.items.len() > MOST_ITEMS || field(&message, "item_id").len() > LONGEST_ID;
                if too_much { Err(self::too_much()) } else { Ok(Vec::new()) }
            }
            "error" => self.error(&message),
            _ => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
impl TranscriptionSession {
    fn of_telephone(setup: Value) -> Self {
        Self::new(setup, true, UnansweredAudio { bytes_per_second: 8_000, buffered: 0, committed: 0 })
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"session.created","session":{}}"##,
                r##"{"type":"session.updated","session":{}}"##,
                r##"{"type":"input_audio_buffer.committed","item_id":"i1"}"##,
                r##"{"type":"conversation.item.input_audio_transcription.delta","item_id":"i1","delta":"Book a"}"##,
                r##"{"type":"conversation.item.input_audio_transcription.completed","item_id":"i1","transcript":"Book a table.","usage":{"type":"duration","seconds":2}}"##,
                r##"{"type":"conversation.item.input_audio_transcription.failed","item_id":"i2","error":{"type":"server_error","code":"x","message":"No."}}"##,
            ],
            &[
                r##"{"type":"session.updated"}"##,
                r##"{"type":"error","error":{"type":"invalid_request_error","code":"input_audio_buffer_commit_empty","message":"Too small."}}"##,
            ],
        ])
    },
    read: |messages| crate::fuzz::stt(&mut TranscriptionSession::of_telephone(json!({})), messages),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stt::testing::describe;

    fn item(kind: &str, item: &str, rest: &str) -> String {
        format!(r#"{{"type":"conversation.item.input_audio_transcription.{kind}","item_id":"{item}"{rest}}}"#)
    }

    #[test]
    fn each_model_is_given_words_to_expect_as_it_takes_them() {
        let words = ["Harbor Table", "Ava"];
        assert_eq!(terms("gpt-live-transcribe-2027", &words), Some(("keywords", json!(words))));
        assert_eq!(terms("gpt-4o-transcribe", &words), Some(("prompt", json!("Harbor Table, Ava"))));
        assert_eq!((terms("gpt-realtime-whisper", &words), terms("gpt-transcribe", &[])), (None, None));
    }

    #[test]
    fn items_that_finish_in_another_order_are_reported_in_the_order_of_speech() {
        let committed = |id: &str| format!(r#"{{"type":"input_audio_buffer.committed","item_id":"{id}"}}"#);
        let messages = [
            r#"{"type":"session.created"}"#.to_owned(),
            r#"{"type":"session.updated"}"#.to_owned(),
            committed("a"),
            item("delta", "a", r#","delta":"Book""#),
            item("delta", "a", r#","delta":" a""#),
            committed("b"),
            item("delta", "b", r#","delta":"Please""#),
            item("completed", "b", r#","transcript":"Please.""#),
            item("completed", "a", r#","transcript":"Book a table.""#),
            item("failed", "c", r#","error":{"message":"x","code":"audio_unintelligible"}"#),
            item("failed", "d", r#","error":{"message":"Pay.","code":"insufficient_quota"}"#),
        ];
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        let mut session = TranscriptionSession::of_telephone(json!("setup"));
        let expected = [
            "> \"setup\"",
            "ready",
            "~ Book",
            "~ Book a",
            "= Book a table.",
            "flushed",
            "= Please.",
            "flushed",
            "= ",
            "failed Retryable(\"x (audio_unintelligible)\")",
            "= ",
            "failed Permanent(\"Pay. (insufficient_quota)\")",
        ];
        assert_eq!(describe(&mut session, &messages), expected);
    }

    #[test]
    fn what_is_sent_twice_is_said_once_and_holds_up_nothing() {
        let committed = |id: &str| format!(r#"{{"type":"input_audio_buffer.committed","item_id":"{id}"}}"#);
        let completed = |id: &str| item("completed", id, &format!(r#","transcript":"{id}""#));
        let messages = [
            committed("a"),
            committed("a"),
            completed("a"),
            completed("a"),
            committed("a"),
            item("delta", "a", r#","delta":"late""#),
            committed("b"),
            completed("b"),
        ];
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        let mut session = TranscriptionSession::of_telephone(Value::Null);
        assert_eq!(describe(&mut session, &messages), ["= a", "flushed", "= b", "flushed"]);
    }

    #[test]
    fn expected_words_that_come_back_from_noise_are_not_the_callers() {
        let completed = |id: &str, text: &str| item("completed", id, &format!(r#","transcript":"{text}""#));
        let messages = [completed("a", "Harbor Table, Ava, Sarah."), completed("b", "[noise]"), completed("c", "Ava.")];
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        let terms = ["Harbor Table", "Ava", "Sarah"].map(str::to_owned).to_vec();
        let mut session = TranscriptionSession { terms, ..TranscriptionSession::of_telephone(Value::Null) };
        let _append = session.audio(vec![0xff; 6_000]);
        let _commit = session.finalize();
        let _append = session.audio(vec![0xff; 16_000]);
        assert_eq!(describe(&mut session, &messages), ["= ", "flushed", "= ", "flushed", "= Ava.", "flushed"]);
        let _commit = session.finalize();
        let said = completed("d", "Harbor Table, Ava, Sarah.");
        assert_eq!(describe(&mut session, &[&said]), ["= Harbor Table, Ava, Sarah.", "flushed"], "in two seconds");
    }

    #[test]
    fn no_text_and_no_list_of_items_grows_without_end() {
        let mut session = TranscriptionSession::of_telephone(Value::Null);
        let long = item("delta", "a", &format!(r#","delta":"{}""#, "word ".repeat(2_000)));
        let broken = std::iter::repeat_with(|| session.read(&long).is_err()).take(9).position(|broken| broken);
        assert_eq!(broken, Some(4));
        let mut session = TranscriptionSession::of_telephone(Value::Null);
        let broken = (0..100).position(|number| session.read(&item("delta", &number.to_string(), "")).is_err());
        assert_eq!(broken, Some(MOST_ITEMS));
    }

    #[test]
    fn an_error_ends_the_session_only_when_it_must() {
        let error = |code: &str, ready| {
            let message = json!({ "type": "error", "error": { "type": "invalid_request_error", "code": code, "message": "No." } });
            let mut session = TranscriptionSession::of_telephone(Value::Null);
            session.ready = ready;
            session.read(&message.to_string()).map(|messages| messages.len())
        };
        assert_eq!(error("invalid_api_key", false), Err(StreamError::Permanent("No. (invalid_api_key)".to_owned())));
        assert_eq!(error("session_expired", true), Err(StreamError::Retryable("No. (session_expired)".to_owned())));
        for code in ["invalid_api_key", "insufficient_quota", "model_not_found"] {
            assert_eq!(error(code, true), Err(StreamError::Permanent(format!("No. ({code})"))), "also in mid-call");
        }
        assert_eq!((error("invalid_value", true), error("input_audio_buffer_commit_empty", true)), (Ok(0), Ok(1)));
    }
}
