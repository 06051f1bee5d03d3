//! Deepgram `/v1/listen`: final texts of pieces of speech, which are joined; `Finalize` when our VAD detects the end of speech.

use std::time::Duration;

use serde_json::Value;
use switchhook_net::outbound::ws::Message;

use super::KEYTERM_LIMITS;
use crate::SttOptions;
use crate::stt::{
    KeepAlive, SttMessage, SttProtocol, SttSettings, classify_close_code, classify_error, close_description,
};
use crate::websocket::{StreamError, field, json};

pub(super) const PATH: &str = "/v1/listen";
/// The server closes after 10 s without audio or this message.
const KEEP_ALIVE: Duration = Duration::from_secs(4);
/// Silence after which the server itself ends a piece, in milliseconds; its default of 10 cuts within words.
const ENDPOINTING: &str = "300";

pub(super) fn query<'a>(model: &str, options: &SttOptions, settings: &SttSettings) -> Vec<(&'a str, String)> {
    let mut query = vec![
        ("model", model.to_owned()),
        ("encoding", settings.encoding.word().to_owned()),
        ("sample_rate", settings.sample_rate.to_string()),
        ("channels", "1".to_owned()),
        ("interim_results", "true".to_owned()),
        ("endpointing", ENDPOINTING.to_owned()),
        ("smart_format", "true".to_owned()),
        // Formatting would otherwise delay the text.
        ("no_delay", "true".to_owned()),
    ];
    let language = settings.language(options);
    if !language.is_empty() {
        query.push(("language", language));
    }
    // Older models take weighted keywords, Nova-3 plain terms, and each refuses the other.
    let terms = if model.starts_with("nova-3") { "keyterm" } else { "keywords" };
    query.extend(KEYTERM_LIMITS.of(options).into_iter().map(|term| (terms, term.to_owned())));
    query
}

pub(super) struct Nova {
    /// Whether our VAD ends segments; otherwise the provider's endpointing does.
    finalize: bool,
}

impl Nova {
    pub(super) fn new(finalize: bool) -> Self {
        Self { finalize }
    }
}

impl SttProtocol for Nova {
    fn sends_ready(&self) -> bool {
        false
    }

    fn finalize(&mut self) -> Option<Message> {
        self.finalize.then(|| Message::text(r#"{"type":"Finalize"}"#))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Message(KEEP_ALIVE, r#"{"type":"KeepAlive"}"#)
    }

    fn close_message(&self) -> Option<Message> {
        Some(Message::text(r#"{"type":"CloseStream"}"#))
    }

    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError> {
        let message = json(message)?;
        match field(&message, "type") {
            "Results" => Ok(self.results(&message)),
            "Error" => {
                let words = [field(&message, "description"), field(&message, "message")];
                let words = words.into_iter().find(|words| !words.is_empty()).unwrap_or("it failed without saying why");
                Err(classify_error(&message, words.to_owned()))
            }
            _ => Ok(Vec::new()),
        }
    }

    fn classify_close(&self, code: u16, reason: &str) -> StreamError {
        // The audio cannot be decoded: the encoding or the rate is misconfigured.
        if reason.contains("DATA-0000") {
            return StreamError::Permanent(close_description(code, reason));
        }
        classify_close_code(code, reason)
    }
}

impl Nova {
    fn results(&self, message: &Value) -> Vec<SttMessage> {
        let is = |name: &str| message.get(name).and_then(Value::as_bool).unwrap_or(false);
        let text = message.pointer("/channel/alternatives/0/transcript").and_then(Value::as_str).unwrap_or_default();
        if !is("is_final") {
            return if text.is_empty() { Vec::new() } else { vec![SttMessage::Partial(text.to_owned())] };
        }
        let mut messages = vec![SttMessage::Final(text.to_owned())];
        if is("from_finalize") || (!self.finalize && is("speech_final")) {
            messages.push(SttMessage::Finalized);
        }
        messages
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[
            &[
                r##"{"type":"Results","channel":{"alternatives":[{"transcript":"book a"}]},"is_final":false}"##,
                r##"{"type":"Results","channel":{"alternatives":[{"transcript":"Book a table"}]},"is_final":true,"speech_final":true}"##,
                r##"{"type":"Results","channel":{"alternatives":[{"transcript":""}]},"is_final":true,"from_finalize":true}"##,
                r##"{"type":"UtteranceEnd","last_word_end":-1}"##,
            ],
            &[
                r##"{"type":"Error","variant":"SchemaError","description":"Could not parse","message":"{}"}"##,
                r##"{"type":"Results"}"##,
            ],
        ])
    },
    read: |messages| crate::fuzz::stt(&mut Nova::new(true), messages),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stt::testing::describe;

    fn results(text: &str, flags: &str) -> String {
        format!(r#"{{"type":"Results","channel":{{"alternatives":[{{"transcript":"{text}"}}]}}{flags}}}"#)
    }

    #[test]
    fn final_texts_are_words_and_the_answer_to_finalize_is_one_also_when_it_is_empty() {
        let messages = [
            results("", r#","is_final":false"#),
            results("book a", r#","is_final":false"#),
            results("Book a table", r#","is_final":true,"speech_final":true"#),
            results("", r#","is_final":true,"from_finalize":true"#),
            r#"{"type":"UtteranceEnd","last_word_end":-1}"#.to_owned(),
            r#"{"type":"SomethingNew"}"#.to_owned(),
        ];
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        assert_eq!(describe(&mut Nova::new(true), &messages), ["~ book a", "= Book a table", "= ", "flushed"]);
        let by_itself = describe(&mut Nova::new(false), &messages[..3]);
        assert_eq!(by_itself, ["~ book a", "= Book a table", "flushed"], "a server without Finalize");
        assert_eq!(Nova::new(false).finalize(), None);
    }

    #[test]
    fn audio_that_cannot_be_decoded_is_a_wrong_setting() {
        assert!(matches!(Nova::new(true).classify_close(1008, "DATA-0000"), StreamError::Permanent(_)));
        assert!(matches!(Nova::new(true).classify_close(1011, "NET-0001"), StreamError::Retryable(_)));
    }

    #[test]
    fn a_message_that_is_not_taken_is_a_refusal() {
        let schema = r#"{"type":"Error","variant":"SchemaError","description":"Could not parse","message":"{}"}"#;
        assert_eq!(Nova::new(true).read(schema).err(), Some(StreamError::Permanent("Could not parse".to_owned())));
        let own = r#"{"type":"Error","code":"NET-0000","description":"Nothing was sent"}"#;
        assert_eq!(Nova::new(true).read(own).err(), Some(StreamError::Retryable("Nothing was sent".to_owned())));
        assert!(matches!(Nova::new(true).classify_close(4400, ""), StreamError::Permanent(_)));
        assert!(matches!(Nova::new(true).classify_close(4500, ""), StreamError::Retryable(_)));
    }
}
