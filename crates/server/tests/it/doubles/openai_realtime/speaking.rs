//! The model's responses: tones, four times as fast as real time.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchhook_media::tone::sine;
use tokio::time::Instant;

use super::session::{Over, Session};
use super::{Reply, locked};

/// The duration of a character.
const CHARACTER_MS: usize = 60;
/// The length of the audio in one message.
const DELTA_MS: usize = 200;
const MAKING: Duration = Duration::from_millis(50);

impl Session {
    /// Handles a request for a response.
    pub(super) async fn asked(&mut self, message: &Value) -> Result<(), Over> {
        if self.active.is_some() {
            return self.error(message, "conversation_already_has_active_response").await;
        }
        if let Some(call) = self.calls.iter().next() {
            return Err(Over::Refused(format!("the model is to speak before {call} was answered")));
        }
        if self.ignores {
            return Ok(());
        }
        let response = &message["response"];
        let instructions = response["instructions"].as_str().unwrap_or_default();
        let exactly = response["tool_choice"] == "none";
        let reply = match instructions.split_once("\n\n").filter(|_| exactly) {
            Some((_, words)) => Reply::Says(words.to_owned().leak()),
            None => self.reply(),
        };
        self.respond(reply, &response["metadata"]);
        Ok(())
    }

    pub(super) fn reply(&self) -> Reply {
        locked(&self.shared.replies, VecDeque::pop_front).unwrap_or(Reply::Says("All right."))
    }

    pub(super) fn respond(&mut self, reply: Reply, metadata: &Value) {
        if matches!(reply, Reply::Ignores) {
            self.ignores = true;
            return;
        }
        let id = self.name("resp");
        self.active = Some(id.clone());
        let mut at = Instant::now();
        let mut say = |pending: &mut VecDeque<_>, message: Value, takes: Duration| {
            at += takes;
            pending.push_back((at, message, true));
        };
        let now = Duration::ZERO;
        let pending = &mut VecDeque::new();
        say(pending, json!({ "type": "response.created", "response": { "id": id, "metadata": metadata } }), now);
        let mut output = Vec::new();
        let mut failed = Value::Null;
        let breaks = matches!(reply, Reply::Breaks(_));
        let stops = matches!(reply, Reply::Stops(_));
        let (words, call) = match reply {
            Reply::Says(words) | Reply::Breaks(words) | Reply::Stops(words) => (Some(words), None),
            Reply::Calls(words, call, name, arguments) => (words, Some((call, name, arguments))),
            Reply::Stumbles(code, words) => {
                say(pending, error(code), now);
                (Some(words), None)
            }
            Reply::Expires => {
                say(pending, error("session_expired"), now);
                say(pending, json!({ "type": "die" }), now);
                (None, None)
            }
            Reply::Nothing | Reply::Ignores => {
                self.pending.append(pending);
                return;
            }
            Reply::Fails(words) => {
                failed = json!({ "type": "failed", "error": { "code": "server_error", "message": words } });
                (None, None)
            }
            Reply::Dies => {
                say(pending, json!({ "type": "die" }), MAKING);
                (None, None)
            }
            Reply::Garbage => {
                say(pending, json!({ "type": "garbage" }), MAKING);
                (None, None)
            }
        };
        if let Some(words) = words {
            let item = self.name("item");
            let part = |kind: &str, name: &str, value: Value| {
                json!({
                    "type": format!("response.{kind}"), "response_id": id, "item_id": item, "output_index": 0, "content_index": 0,
                    name: value,
                })
            };
            let ms = words.chars().count() * CHARACTER_MS;
            let mut written = 0;
            for from in (0..ms).step_by(DELTA_MS) {
                if breaks && from * 2 > ms {
                    say(pending, json!({ "type": "die" }), now);
                    break;
                }
                if stops && from * 2 > ms {
                    break;
                }
                let until = (from + DELTA_MS).min(ms);
                let text: String = words.chars().take(until / CHARACTER_MS).skip(written).collect();
                written = until / CHARACTER_MS;
                say(pending, part("output_audio_transcript.delta", "delta", json!(text)), now);
                let audio = self.tone(until - from);
                say(pending, part("output_audio.delta", "delta", json!(STANDARD.encode(audio))), MAKING);
            }
            say(pending, part("output_audio.done", "none", Value::Null), now);
            say(pending, part("output_audio_transcript.done", "transcript", json!(words)), now);
            output.push(json!({ "type": "message", "id": item, "role": "assistant" }));
        }
        if let Some((call, name, arguments)) = call {
            self.calls.insert(call.to_owned());
            let item =
                json!({ "type": "function_call", "call_id": call, "name": name, "arguments": arguments.to_string() });
            say(pending, json!({ "type": "response.output_item.done", "response_id": id, "item": item }), now);
            output.push(item);
        }
        let (status, details) = match (stops, failed.is_null()) {
            (true, _) => ("incomplete", json!({ "type": "incomplete", "reason": "max_output_tokens" })),
            (false, true) => ("completed", failed),
            (false, false) => ("failed", failed),
        };
        say(pending, done(&id, status, details, output), now);
        self.pending.append(pending);
    }

    /// Returns this many milliseconds of a tone.
    fn tone(&self, ms: usize) -> Vec<u8> {
        match self.law {
            Some(law) => sine(300.0, 8_000, 0.3, ms * 8).into_iter().map(|sample| law.encode(sample)).collect(),
            None => sine(300.0, 24_000, 0.3, ms * 24).into_iter().flat_map(i16::to_le_bytes).collect(),
        }
    }

    /// Stops the current response.
    pub(super) async fn cancel(&mut self, reason: &str) -> Result<(), Over> {
        let Some(id) = self.active.take() else { return Ok(()) };
        self.pending.retain(|(_, _, of_response)| !of_response);
        self.say(done(&id, "cancelled", json!({ "type": "cancelled", "reason": reason }), Vec::new())).await
    }
}

fn error(code: &str) -> Value {
    let error = json!({ "type": "invalid_request_error", "code": code, "message": code, "event_id": null });
    json!({ "type": "error", "event_id": "e", "error": error })
}

fn done(id: &str, status: &str, details: Value, output: Vec<Value>) -> Value {
    let usage = json!({
        "input_token_details": {
            "text_tokens": 100, "audio_tokens": 200, "cached_tokens": 90,
            "cached_tokens_details": { "text_tokens": 40, "audio_tokens": 50 },
        },
        "output_token_details": { "text_tokens": 10, "audio_tokens": 30 },
    });
    let response = json!({ "id": id, "status": status, "status_details": details, "output": output, "usage": usage });
    json!({ "type": "response.done", "response": response })
}
