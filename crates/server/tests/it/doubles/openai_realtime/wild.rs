//! What servers of this API do that its documentation does not mention, determined by a seed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::crash::rng::Rng;

/// Messages that may come twice.
const DOUBLED: [&str; 7] = [
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.committed",
    "conversation.item.input_audio_transcription.completed",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.output_item.done",
    "response.done",
];
/// Messages that some servers do not send.
const LEFT_OUT: [&str; 2] = ["response.output_audio.done", "response.output_audio_transcript.done"];

/// The deviations of one server.
pub(super) struct WildRealtime {
    random: Rng,
    /// Whether it uses the names of the API's beta.
    beta: bool,
    /// Whether it repeats the metadata of requests.
    echoes: bool,
    /// Whether the last tool call was announced before its response was complete.
    announced: bool,
}

impl WildRealtime {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Rng::new(seed);
        let (beta, echoes) = (random.once_in(3), !random.once_in(4));
        Self { random, beta, echoes, announced: false }
    }

    /// Returns the messages that are sent in place of this one.
    pub(super) fn vary(&mut self, message: Value) -> Vec<Value> {
        let kind = message["type"].as_str().unwrap_or_default().to_owned();
        let mut sent = Vec::new();
        if self.random.once_in(5) {
            sent.push(self.odd(&message));
        }
        if LEFT_OUT.contains(&kind.as_str()) && self.random.once_in(4) {
            return sent;
        }
        match kind.as_str() {
            "response.output_audio.delta" => sent.extend(self.cut(message)),
            "response.output_item.done" => {
                self.announced = !self.random.once_in(4);
                sent.extend(self.announced.then_some(message));
            }
            _ => sent.push(self.changed(&kind, message)),
        }
        let doubled = DOUBLED.contains(&kind.as_str()) && self.random.once_in(5);
        let last = sent.last().filter(|last| doubled && last["type"] == kind.as_str()).cloned();
        sent.extend(last);
        if self.beta { sent.into_iter().map(beta).collect() } else { sent }
    }

    fn changed(&mut self, kind: &str, mut message: Value) -> Value {
        match kind {
            "response.created" if !self.echoes => message["response"]["metadata"] = Value::Null,
            "response.done" => {
                if self.announced && self.random.once_in(4) {
                    message["response"]["output"] = self.random.any(&[json!([]), Value::Null]);
                }
                if self.random.once_in(4) {
                    message["response"]["usage"] = self.random.any(&[Value::Null, json!({ "total_tokens": "12" })]);
                }
            }
            _ => {}
        }
        if self.random.once_in(4) {
            message["unheard_of"] = self.random.any(&[json!(null), json!([]), json!({ "a": [1, null] })]);
        }
        message
    }

    /// Cuts audio in two anywhere.
    fn cut(&mut self, message: Value) -> Vec<Value> {
        let audio = STANDARD.decode(message["delta"].as_str().unwrap_or_default()).unwrap_or_default();
        if audio.is_empty() || !self.random.once_in(3) {
            return vec![message];
        }
        let (first, rest) = audio.split_at(self.random.position(audio.len()));
        let piece = |audio: &[u8]| {
            let mut piece = message.clone();
            piece["delta"] = json!(STANDARD.encode(audio));
            piece
        };
        vec![piece(first), piece(rest)]
    }

    /// Returns a message that means nothing.
    fn odd(&mut self, beside: &Value) -> Value {
        let response = &beside["response_id"];
        self.random.any(&[
            json!({}),
            json!({ "type": null, "response": [] }),
            json!({ "type": "unheard_of", "delta": 7, "response_id": response }),
            json!({ "type": "rate_limits.updated", "rate_limits": [] }),
            json!({ "type": "response.output_item.added", "response_id": response, "item": null }),
            json!({ "type": "response.content_part.added", "response_id": response, "part": { "type": "audio" } }),
            json!({ "type": "response.output_audio.delta", "response_id": "resp_unknown", "item_id": "x", "delta": "" }),
            json!({ "type": "conversation.item.done", "item": { "type": "message", "status": null } }),
            json!({ "type": "conversation.item.retrieved", "item": null }),
            json!({ "type": "input_audio_buffer.timeout_triggered", "audio_start_ms": "0" }),
        ])
    }
}

/// Gives a message its name in the API's beta.
fn beta(mut message: Value) -> Value {
    if let Some(name) = message["type"].as_str().and_then(|name| name.strip_prefix("response.output_audio")) {
        message["type"] = json!(format!("response.audio{name}"));
    }
    message
}
