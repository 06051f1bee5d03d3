//! A realtime transcription session (`GET {base}/realtime?intent=transcription`). It gets the caller's speech only: what is
//! committed is charged, silence too, and models invent words in it. With `stt_finalize` set to false it gets everything, and cuts for
//! itself.

use std::collections::{HashMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::server::SpeechServer;
use super::stt::PROVIDER;
use crate::outbound::ws::Message;
use crate::providers::SttOptions;
use crate::providers::connect::Connect;
use crate::providers::streaming::{
    Broken, Defaults, Dialect, Encoding, Heard, KeepAlive, Protocol, Style, Target, Tuning, field, json as parse,
};

/// When neither the agent nor the connection names a model.
pub(super) const USUAL_MODEL: &str = "gpt-live-transcribe";
/// The models that take `keywords`.
const KEYWORDS: [&str; 2] = ["gpt-transcribe", "gpt-live-transcribe"];
const DEFAULTS: Defaults =
    Defaults { encodings: &[Encoding::Mulaw, Encoding::Alaw, Encoding::Linear16], chunk: 5, patience_ms: 3_000 };

pub(super) struct Realtime {
    server: SpeechServer,
    tuning: Tuning,
}

impl Realtime {
    pub(super) fn new(connect: &Connect<'_>, server: SpeechServer) -> Result<Self, String> {
        Ok(Self { server, tuning: Tuning::read(connect, &DEFAULTS)? })
    }

    /// Whether our ears say where a segment ends.
    fn finalize(&self) -> bool {
        self.tuning.finalize.unwrap_or(true)
    }

    /// What is transcribed and how; `stt_parameters` are part of `transcription`.
    fn session(&self, options: &SttOptions) -> Value {
        let format = match self.tuning.encoding {
            Encoding::Mulaw => json!({ "type": "audio/pcmu" }),
            Encoding::Alaw => json!({ "type": "audio/pcma" }),
            Encoding::Linear16 => json!({ "type": "audio/pcm", "rate": self.tuning.sample_rate }),
        };
        let model = self.tuning.model(options, USUAL_MODEL);
        let mut transcription = json!({ "model": model });
        let language = self.tuning.short_language(options);
        if !language.is_empty() {
            transcription["language"] = json!(language);
        }
        if let Some((name, terms)) = terms(&model, &options.keyterms) {
            transcription[name] = terms;
        }
        let input = json!({
            "format": format, "transcription": self.tuning.parameters.in_body(transcription),
            "turn_detection": if self.finalize() { Value::Null } else { json!({ "type": "server_vad" }) },
        });
        json!({ "type": "session.update", "session": { "type": "transcription", "audio": { "input": input } } })
    }
}

/// Words to expect: newer models take them one by one, older ones in a text, and one of them not at all.
fn terms(model: &str, terms: &[String]) -> Option<(&'static str, Value)> {
    if terms.is_empty() || model.starts_with("gpt-realtime-whisper") {
        return None;
    }
    let one_by_one = KEYWORDS.iter().any(|name| model.starts_with(name));
    Some(if one_by_one { ("keywords", json!(terms)) } else { ("prompt", json!(terms.join(", "))) })
}

impl Dialect for Realtime {
    fn target(&self, _: &SttOptions) -> Result<Target, String> {
        self.server.websocket("/realtime", &[("intent", "transcription".to_owned())])
    }

    fn protocol(&self, options: &SttOptions) -> Box<dyn Protocol> {
        Box::new(Session::new(self.session(options), self.finalize()))
    }

    fn style(&self) -> Style {
        let finalize = self.finalize();
        Style { only_whole_chunks: true, only_speech: finalize, ..Style::of(PROVIDER, &self.tuning) }
    }
}

struct Session {
    setup: Value,
    /// Whether we commit; otherwise the server does when it hears silence.
    finalize: bool,
    ready: bool,
    /// Committed items without final words, in the order of their speech: their words may finish in another.
    items: VecDeque<String>,
    /// What came for items so far.
    texts: HashMap<String, Text>,
}

#[derive(Default)]
struct Text {
    words: String,
    complete: bool,
}

impl Session {
    fn new(setup: Value, finalize: bool) -> Self {
        Self { setup, finalize, ready: false, items: VecDeque::new(), texts: HashMap::new() }
    }

    fn delta(&mut self, message: &Value) -> Vec<Heard> {
        let item = field(message, "item_id");
        let text = self.texts.entry(item.to_owned()).or_default();
        text.words.push_str(field(message, "delta"));
        let first = self.items.front().is_none_or(|first| first == item);
        if first { vec![Heard::Partial(text.words.clone())] } else { Vec::new() }
    }

    /// The words of an item are complete, or as complete as they will get.
    fn completed(&mut self, item: &str, words: Option<&str>) -> Vec<Heard> {
        let text = self.texts.entry(item.to_owned()).or_default();
        text.complete = true;
        if let Some(words) = words {
            words.clone_into(&mut text.words);
        }
        if !self.items.iter().any(|known| known == item) {
            self.items.push_back(item.to_owned());
        }
        let mut heard = Vec::new();
        while let Some(text) = self.items.front().and_then(|item| self.texts.remove(item).filter(|text| text.complete))
        {
            self.items.pop_front();
            heard.extend([Heard::Words(text.words), Heard::Flushed]);
        }
        heard
    }

    fn error(&self, message: &Value) -> Result<Vec<Heard>, Broken> {
        let error = message.get("error").unwrap_or(&Value::Null);
        let code = [field(error, "code"), field(error, "type")].into_iter().find(|code| !code.is_empty());
        let code = code.unwrap_or("error");
        let words = format!("{} ({code})", field(error, "message"));
        match code {
            // There was too little to commit.
            "input_audio_buffer_commit_empty" => Ok(vec![Heard::Flushed]),
            "rate_limit_exceeded" => Err(Broken::Lost(format!("provider rate limit: {words}"))),
            "session_expired" | "server_error" => Err(Broken::Lost(words)),
            _ if !self.ready => Err(Broken::Refused(words)),
            // Others do not end the session.
            _ => Ok(Vec::new()),
        }
    }
}

impl Protocol for Session {
    fn audio(&mut self, sound: Vec<u8>) -> Message {
        let append = json!({ "type": "input_audio_buffer.append", "audio": STANDARD.encode(sound) });
        Message::text(append.to_string())
    }

    fn finalize(&mut self) -> Option<Message> {
        self.finalize.then(|| Message::text(r#"{"type":"input_audio_buffer.commit"}"#))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Pings
    }

    fn goodbye(&self) -> Option<Message> {
        None
    }

    fn read(&mut self, message: &str) -> Result<Vec<Heard>, Broken> {
        const TRANSCRIPTION: &str = "conversation.item.input_audio_transcription.";
        let message = parse(message)?;
        let kind = field(&message, "type");
        if let Some(kind) = kind.strip_prefix(TRANSCRIPTION) {
            let item = field(&message, "item_id");
            return Ok(match kind {
                "delta" => self.delta(&message),
                "completed" => self.completed(item, Some(field(&message, "transcript"))),
                "failed" => {
                    tracing::warn!(provider = PROVIDER, "a segment could not be transcribed");
                    self.completed(item, None)
                }
                _ => Vec::new(),
            });
        }
        match kind {
            "session.created" | "transcription_session.created" => {
                Ok(vec![Heard::Answer(Message::text(self.setup.to_string()))])
            }
            "session.updated" | "transcription_session.updated" => {
                self.ready = true;
                Ok(vec![Heard::Ready])
            }
            "input_audio_buffer.committed" => {
                self.items.push_back(field(&message, "item_id").to_owned());
                Ok(Vec::new())
            }
            "error" => self.error(&message),
            _ => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::streaming::testing::heard;

    fn item(kind: &str, item: &str, rest: &str) -> String {
        format!(r#"{{"type":"conversation.item.input_audio_transcription.{kind}","item_id":"{item}"{rest}}}"#)
    }

    #[test]
    fn each_model_is_given_words_to_expect_as_it_takes_them() {
        let words = ["Harbor Table".to_owned(), "Ava".to_owned()];
        assert_eq!(terms("gpt-live-transcribe-2027", &words), Some(("keywords", json!(words))));
        assert_eq!(terms("gpt-4o-transcribe", &words), Some(("prompt", json!("Harbor Table, Ava"))));
        assert_eq!((terms("gpt-realtime-whisper", &words), terms("gpt-transcribe", &[])), (None, None));
    }

    #[test]
    fn items_that_finish_in_another_order_are_told_in_the_order_of_speech() {
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
            item("failed", "c", r#","error":{"message":"x"}"#),
        ];
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        let mut session = Session::new(json!("setup"), true);
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
            "flushed",
        ];
        assert_eq!(heard(&mut session, &messages), expected);
    }

    #[test]
    fn an_error_ends_the_session_only_when_it_must() {
        let error = |code: &str, ready| {
            let message = json!({ "type": "error", "error": { "type": "invalid_request_error", "code": code, "message": "No." } });
            let mut session = Session::new(Value::Null, true);
            session.ready = ready;
            session.read(&message.to_string()).map(|heard| heard.len())
        };
        assert_eq!(error("invalid_api_key", false), Err(Broken::Refused("No. (invalid_api_key)".to_owned())));
        assert_eq!(error("session_expired", true), Err(Broken::Lost("No. (session_expired)".to_owned())));
        assert_eq!((error("invalid_value", true), error("input_audio_buffer_commit_empty", true)), (Ok(0), Ok(1)));
    }
}
