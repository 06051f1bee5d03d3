//! What STT servers do that their documentation does not mention, determined by a seed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::crash::rng::Rng;

/// Codes of a websocket's end that do not blame the request.
const CLOSE_CODES: [u16; 5] = [1000, 1001, 1011, 1012, 1013];
/// The messages from the service after which a connection breaks: 20 to 100 ms of audio each.
const LIFETIME: std::ops::Range<u64> = 60..400;

/// The deviations of one connection.
pub(super) struct WildStt {
    random: Rng,
    /// Messages that say nothing.
    oddities: Vec<Message>,
    /// After how many more messages it breaks, if ever.
    left: Option<u64>,
}

impl WildStt {
    /// Creates the deviations of the connection with this number; odd ones break.
    pub(super) fn new(seed: u64, connection: usize, own: Vec<Value>) -> Self {
        let mut random = Rng::new(seed ^ ((connection as u64) << 32));
        let left = (connection % 2 == 1).then(|| LIFETIME.start + random.below(LIFETIME.end - LIFETIME.start));
        let common = [
            json!({}),
            json!({ "type": "unheard_of", "message_type": "unheard_of", "data": [1, null] }),
            json!({ "type": null, "message_type": [], "transcript": null, "text": 7 }),
        ];
        let texts = common.into_iter().chain(own).map(|message| Message::text(message.to_string()));
        Self { random, oddities: texts.chain([Message::Ping(vec![7].into())]).collect(), left }
    }

    /// Returns what is sent in place of the answers to a message, and with which code the connection is closed then, if it ends: without
    /// one it breaks.
    pub(super) fn answers(&mut self, answers: Vec<Message>) -> (Vec<Message>, Option<Option<u16>>) {
        let over = self.left == Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        let mut sent = Vec::new();
        for answer in answers {
            if self.random.once_in(3) {
                sent.push(self.random.any(&self.oddities));
            }
            sent.push(self.with_more_fields(answer));
        }
        if self.random.once_in(40) {
            sent.push(self.random.any(&self.oddities));
        }
        // It may also break in the middle of an answer, and waits for one.
        if !over || (sent.is_empty() && !self.random.once_in(50)) {
            return (sent, None);
        }
        sent.truncate(self.random.position(sent.len() + 1));
        let code = self.random.once_in(2).then(|| self.random.any(&CLOSE_CODES));
        (sent, Some(code))
    }

    /// Returns how long to wait before an answer.
    pub(super) fn pause(&mut self) -> Duration {
        Duration::from_millis(if self.random.once_in(50) { self.random.below(200) } else { 0 })
    }

    fn with_more_fields(&mut self, message: Message) -> Message {
        let parsed = message.to_text().ok().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let (Some(mut parsed), true) = (parsed.filter(Value::is_object), self.random.once_in(3)) else {
            return message;
        };
        parsed["unheard_of"] = self.random.any(&[json!(null), json!([]), json!({ "a": [1, null] }), json!(-1.5e300)]);
        Message::text(parsed.to_string())
    }
}
