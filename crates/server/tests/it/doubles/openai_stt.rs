//! OpenAI's realtime transcription session.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::stt::{FromClient, Peer, SttHandshake, TestStt, halves, json as parse};

#[derive(Default)]
pub(crate) struct Realtime {
    format: Option<String>,
    /// Whether it commits when it detects silence.
    commits: bool,
    items: u32,
}

fn text(message: &Value) -> Message {
    Message::text(message.to_string())
}

impl Realtime {
    fn commit(&mut self, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        if stt.heard_ms() < 100 {
            return Err("input_audio_buffer_commit_empty".to_owned());
        }
        let words = stt.words();
        let item = format!("item_{}", self.items);
        let before = self.items.checked_sub(1).map(|number| format!("item_{number}"));
        self.items += 1;
        let transcription = |kind: &str, rest: Value| {
            let mut message = json!({
                "type": format!("conversation.item.input_audio_transcription.{kind}"), "item_id": item, "content_index": 0,
            });
            for (name, value) in rest.as_object().expect("fields") {
                message[name] = value.clone();
            }
            text(&message)
        };
        let (first, rest) = halves(&words);
        Ok(vec![
            text(&json!({ "type": "input_audio_buffer.committed", "item_id": item, "previous_item_id": before })),
            text(&json!({ "type": "conversation.item.added", "item": { "id": item } })),
            transcription("delta", json!({ "delta": first })),
            transcription("delta", json!({ "delta": format!(" {rest}") })),
            transcription("completed", json!({ "transcript": words, "usage": { "type": "duration", "seconds": 1 } })),
        ])
    }
}

impl Peer for Realtime {
    fn opens(&mut self, asked: &SttHandshake) -> Result<(), (u16, String)> {
        if asked.header("authorization") != "Bearer sk-key" {
            let error = json!({ "error": { "message": "Incorrect API key provided.", "code": "invalid_api_key" } });
            return Err((401, error.to_string()));
        }
        if !asked.header("openai-beta").is_empty() {
            return Err((400, "the beta interface is gone".to_owned()));
        }
        if asked.path != "/v1/realtime" || asked.one("intent") != "transcription" {
            return Err((404, format!("there is no {}", asked.path)));
        }
        Ok(())
    }

    fn greeting(&mut self) -> Vec<Message> {
        vec![text(&json!({ "type": "session.created", "session": { "type": "transcription" } }))]
    }

    fn oddities(&self) -> Vec<Value> {
        vec![
            json!({ "type": "rate_limits.updated", "rate_limits": [] }),
            json!({ "type": "conversation.item.created", "item": null }),
            json!({ "type": "input_audio_buffer.speech_started", "item_id": "item_unknown" }),
            json!({ "type": "conversation.item.input_audio_transcription.delta", "item_id": "item_unknown", "delta": "" }),
        ]
    }

    fn answer(&mut self, message: FromClient, stt: &mut TestStt) -> Result<Vec<Message>, String> {
        let FromClient::Text(message) = message else { return Err("binary messages are not taken".to_owned()) };
        let message = parse(&message)?;
        match message["type"].as_str() {
            Some("session.update") => {
                let input = &message["session"]["audio"]["input"];
                let model = input["transcription"]["model"].as_str().unwrap_or_default();
                let transcription = &input["transcription"];
                let takes_keywords =
                    ["gpt-transcribe", "gpt-live-transcribe"].iter().any(|name| model.starts_with(name));
                let format = &input["format"];
                let known = match format["type"].as_str() {
                    Some("audio/pcmu" | "audio/pcma") => format["rate"].is_null(),
                    Some("audio/pcm") => format["rate"] == 24_000,
                    _ => false,
                };
                if message["session"]["type"] != "transcription"
                    || model.is_empty()
                    || !known
                    || !(takes_keywords || transcription["keywords"].is_null())
                    || !(input["turn_detection"].is_null() || input["turn_detection"]["type"] == "server_vad")
                {
                    return Err(format!("this session cannot be: {message}"));
                }
                self.commits = !input["turn_detection"].is_null();
                self.format = input["format"]["type"].as_str().map(str::to_owned);
                Ok(vec![text(&json!({ "type": "session.updated", "session": message["session"] }))])
            }
            Some("input_audio_buffer.append") => {
                let format = self.format.as_deref().ok_or("audio came before the session was set up")?;
                let sound = message["audio"].as_str().and_then(|audio| STANDARD.decode(audio).ok());
                stt.hear(format, &sound.ok_or("the sound is not base64")?);
                if self.commits && stt.has_stopped() { self.commit(stt) } else { Ok(Vec::new()) }
            }
            Some("input_audio_buffer.commit") if !self.commits => self.commit(stt),
            other => Err(format!("there is no message {other:?}")),
        }
    }
}
