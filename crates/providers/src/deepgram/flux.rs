//! Deepgram Flux, `/v2/listen`: turns with all their words so far, and an end of each turn.

use std::time::Duration;

use serde_json::Value;
use switchhook_net::outbound::ws::Message;

use super::KEYTERM_LIMITS;
use crate::SttOptions;
use crate::stt::{KeepAlive, SttMessage, SttProtocol, SttSettings, classify_error};
use crate::websocket::{StreamError, field, json};

pub(super) const PATH: &str = "/v2/listen";
/// The model that takes no language parameter.
pub(super) const ENGLISH: &str = "flux-general-en";
/// When to send silence: there is no keepalive message, and the end of a turn is detected in audio only.
const SILENCE_AFTER: Duration = Duration::from_millis(500);

pub(super) fn query<'a>(model: &str, options: &SttOptions, settings: &SttSettings) -> Vec<(&'a str, String)> {
    let mut query = vec![
        ("model", model.to_owned()),
        ("encoding", settings.encoding.word().to_owned()),
        ("sample_rate", settings.sample_rate.to_string()),
    ];
    let language = settings.short_language(options);
    if model.contains("multi") && !language.is_empty() {
        query.push(("language_hint", language));
    }
    query.extend(KEYTERM_LIMITS.of(options).into_iter().map(|term| ("keyterm", term.to_owned())));
    query
}

pub(super) struct Flux {
    /// Whether our VAD ends turns.
    finalize: bool,
    /// The last turn that has ended.
    over: Option<u64>,
}

impl Flux {
    pub(super) fn new(finalize: bool) -> Self {
        Self { finalize, over: None }
    }
}

impl SttProtocol for Flux {
    fn finalize(&mut self) -> Option<Message> {
        self.finalize.then(|| Message::text(r#"{"type":"ForceEndTurn"}"#))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Silence(SILENCE_AFTER)
    }

    fn close_message(&self) -> Option<Message> {
        Some(Message::text(r#"{"type":"CloseStream"}"#))
    }

    fn read(&mut self, message: &str) -> Result<Vec<SttMessage>, StreamError> {
        let message = json(message)?;
        let text = || field(&message, "transcript").to_owned();
        let turn = message.get("turn_index").and_then(Value::as_u64);
        if turn.is_some() && turn <= self.over && field(&message, "type") == "TurnInfo" {
            return Ok(Vec::new());
        }
        Ok(match (field(&message, "type"), field(&message, "event")) {
            ("Connected", _) => vec![SttMessage::Ready],
            ("TurnInfo", "StartOfTurn" | "Update" | "EagerEndOfTurn" | "TurnResumed") => {
                vec![SttMessage::Partial(text())]
            }
            ("TurnInfo", "EndOfTurn") => {
                self.over = turn;
                vec![SttMessage::Final(text()), SttMessage::EndOfTurn]
            }
            ("Error", _) => {
                let words = format!("{} ({})", field(&message, "description"), field(&message, "code"));
                return Err(classify_error(&message, words));
            }
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
                r##"{"type":"Connected","request_id":"r","sequence_id":0}"##,
                r##"{"type":"TurnInfo","event":"StartOfTurn","turn_index":0,"transcript":"book"}"##,
                r##"{"type":"TurnInfo","event":"EndOfTurn","transcript":"Book a table","trigger":"x"}"##,
                r##"{"type":"Warning","code":"w"}"##,
            ],
            &[
                r##"{"type":"Connected"}"##,
                r##"{"type":"Error","sequence_id":3,"code":"INTERNAL_SERVER_ERROR","description":"Oh no"}"##,
            ],
        ])
    },
    read: |messages| crate::fuzz::stt(&mut Flux::new(true), messages),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stt::testing::describe;

    #[test]
    fn a_turn_is_replaced_until_it_is_over() {
        let messages = [
            r#"{"type":"Connected","request_id":"r","sequence_id":0}"#,
            r#"{"type":"TurnInfo","event":"StartOfTurn","turn_index":0,"transcript":"book"}"#,
            r#"{"type":"TurnInfo","event":"Update","transcript":"book a table"}"#,
            r#"{"type":"TurnInfo","event":"EagerEndOfTurn","transcript":"book a table"}"#,
            r#"{"type":"TurnInfo","event":"TurnResumed","transcript":"book a table"}"#,
            r#"{"type":"TurnInfo","event":"EndOfTurn","transcript":"Book a table for two","trigger":"something new"}"#,
            r#"{"type":"TurnInfo","event":"SomethingNew","transcript":"x"}"#,
            r#"{"type":"Warning","code":"w"}"#,
        ];
        let expected =
            ["ready", "~ book", "~ book a table", "~ book a table", "~ book a table", "= Book a table for two", "over"];
        assert_eq!(describe(&mut Flux::new(false), &messages), expected);
    }

    #[test]
    fn a_turn_ends_once() {
        let end = r#"{"type":"TurnInfo","event":"EndOfTurn","turn_index":0,"transcript":"Book a table"}"#;
        let late = r#"{"type":"TurnInfo","event":"Update","turn_index":0,"transcript":"book a"}"#;
        let next = r#"{"type":"TurnInfo","event":"EndOfTurn","turn_index":1,"transcript":"For two"}"#;
        let expected = ["= Book a table", "over", "= For two", "over"];
        assert_eq!(describe(&mut Flux::new(false), &[end, end, late, next]), expected);
    }

    #[test]
    fn an_error_ends_the_stream_in_its_own_words() {
        let error = r#"{"type":"Error","sequence_id":3,"code":"INTERNAL_SERVER_ERROR","description":"Oh no"}"#;
        let lost = StreamError::Retryable("Oh no (INTERNAL_SERVER_ERROR)".to_owned());
        assert_eq!(Flux::new(false).read(error).err(), Some(lost));
        let error = r#"{"type":"Error","sequence_id":0,"code":"UNSUPPORTED_MODEL","description":"No such model"}"#;
        let refused = StreamError::Permanent("No such model (UNSUPPORTED_MODEL)".to_owned());
        assert_eq!(Flux::new(false).read(error).err(), Some(refused));
    }
}
