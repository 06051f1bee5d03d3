//! Cartesia Ink. `/stt/websocket` gives final words when our ears hear the end; with `stt_finalize` set to false,
//! `/stt/turns/websocket` judges turns itself.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderValue;
use serde_json::Value;

use super::VERSION;
use crate::outbound::ws::Message;
use crate::providers::connect::Connect;
use crate::providers::streaming::{
    Broken, Defaults, Dialect, Encoding, Heard, KeepAlive, Protocol, Server, Style, Target, Terms, field, json,
    recogniser,
};
use crate::providers::{Stt, SttOptions, is_english};

const PROVIDER: &str = "cartesia";
const URL: &str = "https://api.cartesia.ai";
/// When neither the agent nor the connection names a model: the second where the connection names another language, which the
/// published protocol does not know.
const ENGLISH: &str = "ink-2";
const OTHER: &str = "ink-whisper";
/// Its only language.
const LANGUAGE: &str = "en";
const DEFAULTS: Defaults = Defaults {
    encodings: &[Encoding::Mulaw, Encoding::Alaw, Encoding::Linear16],
    chunk: 4,
    patience_ms: 2_000,
    without_words_ms: None,
};
const TERMS: Terms = Terms { most: 100, longest: 200, together: 1_200 };
/// While no sound comes: the server closes after three minutes, and turns end in silence only.
const SILENCE_AFTER: Duration = Duration::from_secs(30);
const SILENCE_IN_TURNS_AFTER: Duration = Duration::from_millis(500);

/// The recogniser of a connection.
///
/// # Errors
/// A sentence that names the setting that is of no use.
pub fn connect(connect: &Connect<'_>) -> Result<Arc<dyn Stt>, String> {
    Ok(recogniser(connect, Cartesia { server: Server::read(connect, URL, &DEFAULTS)? }))
}

struct Cartesia {
    server: Server,
}

impl Cartesia {
    /// Whether our ears say where a segment ends.
    fn manual(&self) -> bool {
        self.server.tuning.finalize.unwrap_or(true)
    }

    fn query(&self, options: &SttOptions) -> Vec<(&str, String)> {
        let language = self.server.tuning.own_language().unwrap_or(LANGUAGE);
        let encoding = match self.server.tuning.encoding {
            Encoding::Mulaw => "pcm_mulaw",
            Encoding::Alaw => "pcm_alaw",
            Encoding::Linear16 => "pcm_s16le",
        };
        let default = if is_english(language) { ENGLISH } else { OTHER };
        let mut query = vec![
            ("model", self.server.tuning.model(options, default)),
            ("encoding", encoding.to_owned()),
            ("sample_rate", self.server.tuning.sample_rate.to_string()),
        ];
        if self.manual() {
            query.push(("language", language.to_owned()));
        }
        query.extend(TERMS.of(options).into_iter().map(|term| ("keyterm", term.to_owned())));
        query
    }
}

impl Dialect for Cartesia {
    fn target(&self, options: &SttOptions) -> Result<Target, String> {
        let path = if self.manual() { "/stt/websocket" } else { "/stt/turns/websocket" };
        let mut target = self.server.target(path, self.query(options), "authorization", "Bearer ")?;
        target.headers.insert("cartesia-version", HeaderValue::from_static(VERSION));
        Ok(target)
    }

    fn protocol(&self, _: &SttOptions) -> Box<dyn Protocol> {
        if self.manual() { Box::new(Manual) } else { Box::new(Turns) }
    }

    fn style(&self, _: &SttOptions) -> Style {
        // Its texts carry their own spaces.
        let joiner = if self.manual() { "" } else { " " };
        Style { joiner, ..Style::of(PROVIDER, &self.server.tuning, self.manual()) }
    }

    fn not_taken(&self, options: &SttOptions) -> Vec<String> {
        let foreign = self.server.tuning.own_language().is_none() && !is_english(&options.language);
        let language = foreign.then(|| format!("understands English only, not {:?}", options.language));
        language.into_iter().chain(TERMS.left_out(options)).collect()
    }
}

/// An `error` message: its status is that of HTTP.
fn error(message: &Value) -> Broken {
    let status =
        ["status_code", "code"].iter().find_map(|name| message.get(*name).and_then(Value::as_u64)).unwrap_or(500);
    let words = ["message", "title", "error"].iter().map(|name| field(message, name)).find(|words| !words.is_empty());
    let words = format!("{} (status {status})", words.unwrap_or("it failed without saying why"));
    match status {
        429 => Broken::Lost(format!("provider rate limit: {words}")),
        400..=499 if status != 408 => Broken::Refused(words),
        _ => Broken::Lost(words),
    }
}

/// `/stt/websocket`. Its commands are words, not JSON.
struct Manual;

impl Protocol for Manual {
    fn greets(&self) -> bool {
        false
    }

    fn finalize(&mut self) -> Option<Message> {
        Some(Message::text("finalize"))
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Silence(SILENCE_AFTER)
    }

    fn goodbye(&self) -> Option<Message> {
        Some(Message::text("close"))
    }

    fn read(&mut self, message: &str) -> Result<Vec<Heard>, Broken> {
        let message = json(message)?;
        let text = || field(&message, "text").to_owned();
        match field(&message, "type") {
            "transcript" if message.get("is_final").and_then(Value::as_bool) == Some(true) => {
                Ok(vec![Heard::Words(text())])
            }
            "transcript" => Ok(vec![Heard::Partial(text())]),
            "flush_done" => Ok(vec![Heard::Flushed]),
            "error" => Err(error(&message)),
            _ => Ok(Vec::new()),
        }
    }
}

/// `/stt/turns/websocket`.
struct Turns;

impl Protocol for Turns {
    fn finalize(&mut self) -> Option<Message> {
        None
    }

    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::Silence(SILENCE_IN_TURNS_AFTER)
    }

    fn goodbye(&self) -> Option<Message> {
        Some(Message::text(r#"{"type":"close"}"#))
    }

    fn read(&mut self, message: &str) -> Result<Vec<Heard>, Broken> {
        let message = json(message)?;
        let text = || field(&message, "transcript").to_owned();
        match field(&message, "type") {
            "connected" => Ok(vec![Heard::Ready]),
            "turn.update" | "turn.eager_end" => Ok(vec![Heard::Partial(text())]),
            "turn.end" => Ok(vec![Heard::Words(text()), Heard::TurnOver]),
            "error" => Err(error(&message)),
            _ => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
pub(crate) const FUZZED: crate::fuzz::Target = crate::fuzz::Target {
    file: file!(),
    seeds: || {
        crate::fuzz::texts(&[
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
        let manual = crate::fuzz::through::recogniser(&mut Manual, messages);
        let turns = crate::fuzz::through::recogniser(&mut Turns, messages);
        crate::fuzz::Read { taken: manual.taken.max(turns.taken), given: manual.given + turns.given }
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::streaming::testing::heard;

    #[test]
    fn spaces_of_final_texts_are_left_as_they_are() {
        let messages = [
            r#"{"type":"transcript","text":"Book","is_final":false,"request_id":"r"}"#,
            r#"{"type":"transcript","text":"Book a ","is_final":true}"#,
            r#"{"type":"transcript","text":"table.","is_final":true}"#,
            r#"{"type":"flush_done"}"#,
            r#"{"type":"done"}"#,
        ];
        assert_eq!(heard(&mut Manual, &messages), ["~ Book", "= Book a ", "= table.", "flushed"]);
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
        assert_eq!(heard(&mut Turns, &messages), ["ready", "~ yes", "~ yes", "= Yes, please.", "over"]);
    }

    #[test]
    fn errors_have_a_status() {
        let broken = |message: &str| Manual.read(message).err().expect("an error");
        let model = r#"{"type":"error","title":"Invalid model","message":"No such model","status_code":400}"#;
        assert_eq!(broken(model), Broken::Refused("No such model (status 400)".to_owned()));
        assert!(
            matches!(broken(r#"{"type":"error","message":"busy","code":429}"#), Broken::Lost(words) if words.contains("rate limit"))
        );
        assert!(matches!(broken(r#"{"type":"error"}"#), Broken::Lost(_)));
    }
}
