//! One session: the messages it receives, and which of them the real server would refuse.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use switchhook_media::g711::Law;
use switchhook_media::resample::Resampler;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::super::stt::TestStt;
use super::{Shared, locked};

/// Why a session ends.
pub(super) enum Over {
    /// The client closed it.
    Closed,
    /// The test broke it.
    Broken,
    /// The real server would have refused a message.
    Refused(String),
}

pub(super) struct Session {
    pub(super) shared: Arc<Shared>,
    socket: WebSocketStream<TcpStream>,
    pub(super) ready: bool,
    /// The encoding of audio in both directions: G.711, or PCM at 24 kHz.
    pub(super) law: Option<Law>,
    pub(super) resampler: Resampler,
    /// Whether audio arrived that is not part of a turn.
    pub(super) uncommitted: bool,
    /// Whether it no longer sends anything.
    pub(super) ignores: bool,
    pub(super) interrupts: bool,
    /// Messages to send, and whether each belongs to the current response.
    pub(super) pending: VecDeque<(Instant, Value, bool)>,
    pub(super) active: Option<String>,
    /// The number of this session: names are never reused.
    number: usize,
    count: u32,
    /// Items and the milliseconds produced of them; `None` once they were truncated.
    pub(super) items: HashMap<String, Option<usize>>,
    pub(super) calls: HashSet<String>,
    pub(super) stt: TestStt,
    /// Frames since the caller stopped, while that may be the end of their turn.
    pub(super) stopped: Option<u32>,
    pub(super) speaking: bool,
    /// Milliseconds received since the last scripted turn.
    pub(super) heard_ms: u32,
}

impl Session {
    pub(super) async fn new(shared: Arc<Shared>, socket: WebSocketStream<TcpStream>) -> Self {
        let number = *shared.made.borrow();
        Self {
            shared,
            socket,
            ready: false,
            law: Some(Law::Mu),
            resampler: Resampler::new(24_000, 8_000).expect("supported"),
            uncommitted: false,
            ignores: false,
            number,
            interrupts: true,
            pending: VecDeque::new(),
            active: None,
            count: 0,
            items: HashMap::new(),
            calls: HashSet::new(),
            stt: TestStt::new().await,
            stopped: None,
            speaking: false,
            heard_ms: 0,
        }
    }

    pub(super) async fn run(mut self) {
        let _ = self.say(json!({ "type": "session.created", "session": { "type": "realtime" } })).await;
        let (mut frozen, number) = (self.shared.frozen.subscribe(), self.number);
        loop {
            let due = self.pending.front().map(|(at, ..)| *at);
            let done = tokio::select! {
                biased;
                true = is_frozen(&mut frozen, number) => return std::future::pending().await,
                message = self.socket.next() => match message {
                    Some(Ok(Message::Text(text))) => self.take(text.as_str()).await,
                    Some(Ok(Message::Close(_))) | None => Err(Over::Closed),
                    Some(Ok(Message::Binary(_))) => Err(Over::Refused("binary messages are not taken".to_owned())),
                    Some(Ok(_)) => Ok(()),
                    Some(Err(_)) => Err(Over::Refused("the connection was dropped without a goodbye".to_owned())),
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.next().await,
            };
            match done {
                Ok(()) => {}
                Err(Over::Closed | Over::Broken) => return,
                Err(Over::Refused(words)) => return self.shared.complaints.add(words),
            }
        }
    }

    /// Sends a message. A client that is gone is detected when reading ends.
    pub(super) async fn say(&mut self, message: Value) -> Result<(), Over> {
        let messages = locked(&self.shared.wild, |wild| match wild {
            Some(wild) => wild.vary(message),
            None => vec![message],
        });
        for message in messages {
            let _ = self.socket.send(Message::text(message.to_string())).await;
        }
        Ok(())
    }

    pub(super) fn name(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}_{}_{}", self.number, self.count)
    }

    /// Sends the messages that are due.
    async fn next(&mut self) -> Result<(), Over> {
        let Some((_, message, _)) = self.pending.pop_front() else { return Ok(()) };
        match message["type"].as_str() {
            Some("die") => return Err(Over::Broken),
            Some("garbage") => {
                let _ = self.socket.send(Message::text("{\"type\":")).await;
                return Ok(());
            }
            Some("response.done") => self.active = None,
            Some("response.output_audio.delta") => {
                let made =
                    self.items.entry(message["item_id"].as_str().unwrap_or_default().to_owned()).or_insert(Some(0));
                let bytes_per_ms = if self.law.is_some() { 8 } else { 48 };
                *made = made.map(|ms| {
                    ms + STANDARD
                        .decode(message["delta"].as_str().unwrap_or_default())
                        .map_or(0, |audio| audio.len() / bytes_per_ms)
                });
            }
            _ => {}
        }
        self.say(message).await
    }

    async fn take(&mut self, text: &str) -> Result<(), Over> {
        let refused = |words: String| Err(Over::Refused(words));
        let Ok(message) = serde_json::from_str::<Value>(text) else { return refused(format!("not JSON: {text}")) };
        let kind = message["type"].as_str().unwrap_or_default().to_owned();
        if kind == "input_audio_buffer.append" {
            return self.hear(&message).await;
        }
        locked(&self.shared.told, |told| told.push(message.clone()));
        if kind != "session.update" && !self.ready {
            return refused(format!("{kind} before the session is set up"));
        }
        match kind.as_str() {
            "session.update" => self.set_up(&message["session"]).await,
            "response.create" => self.asked(&message).await,
            "input_audio_buffer.commit" => self.commit(&message).await,
            "response.cancel" if self.active.as_deref() == message["response_id"].as_str() => {
                self.cancel("client_cancelled").await
            }
            "response.cancel" => self.error(&message, "response_cancel_not_active").await,
            "conversation.item.truncate" => self.truncate(&message).await,
            "conversation.item.create" => self.create(&message["item"]).await,
            other => refused(format!("there is no message {other}")),
        }
    }

    pub(super) async fn error(&mut self, about: &Value, code: &str) -> Result<(), Over> {
        let error =
            json!({ "type": "invalid_request_error", "code": code, "message": code, "event_id": about["event_id"] });
        self.say(json!({ "type": "error", "event_id": "e", "error": error })).await
    }

    async fn set_up(&mut self, session: &Value) -> Result<(), Over> {
        let (input, output) = (&session["audio"]["input"], &session["audio"]["output"]);
        let detection = &input["turn_detection"];
        let mut formats = [
            (json!({ "type": "audio/pcmu" }), Some(Law::Mu)),
            (json!({ "type": "audio/pcma" }), Some(Law::A)),
            (json!({ "type": "audio/pcm", "rate": 24_000 }), None),
        ]
        .into_iter();
        let law = formats.find(|(format, _)| input["format"] == *format).map(|(_, law)| law);
        let formats = input["format"] == output["format"];
        let words = [&session["model"], &session["instructions"], &output["voice"], &input["transcription"]["model"]];
        let tools = session["tools"].as_array().cloned().unwrap_or_default();
        let tools_fit = tools.iter().all(|tool| {
            tool["type"] == "function" && tool["parameters"]["type"] == "object" && tool["name"].is_string()
        });
        let known = ["type", "model", "instructions", "output_modalities", "audio", "tools", "tool_choice"];
        let fields = session.as_object().is_some_and(|fields| fields.keys().all(|name| known.contains(&name.as_str())));
        let fits = session["type"] == "realtime"
            && session["output_modalities"] == json!(["audio"])
            && formats
            && words.iter().all(|word| word.as_str().is_some_and(|word| !word.is_empty()))
            && matches!(detection["type"].as_str(), Some("semantic_vad" | "server_vad"))
            && detection["create_response"] == true
            && (detection["type"] == "server_vad" || detection["silence_duration_ms"].is_null());
        let Some(law) = law.filter(|_| fits && tools_fit && fields && !self.ready) else {
            return Err(Over::Refused(format!("this session cannot be: {session}")));
        };
        self.law = law;
        self.interrupts = detection["interrupt_response"] == true;
        self.ready = true;
        self.say(json!({ "type": "session.updated", "session": session })).await
    }

    async fn truncate(&mut self, message: &Value) -> Result<(), Over> {
        let item = message["item_id"].as_str().unwrap_or_default().to_owned();
        let ms = message["audio_end_ms"].as_u64().and_then(|ms| usize::try_from(ms).ok());
        match (self.items.get_mut(&item), ms) {
            (Some(made @ Some(_)), Some(ms))
                if message["content_index"] == 0 && made.is_some_and(|made| ms <= made) =>
            {
                *made = None;
                self.say(json!({ "type": "conversation.item.truncated", "item_id": item, "audio_end_ms": ms })).await
            }
            (made, _) => {
                Err(Over::Refused(format!("this cannot be truncated: {message}, of which {made:?} ms were made")))
            }
        }
    }

    async fn create(&mut self, item: &Value) -> Result<(), Over> {
        let fits = match item["type"].as_str() {
            Some("function_call_output") => {
                self.calls.remove(item["call_id"].as_str().unwrap_or_default()) && item["output"].is_string()
            }
            Some("function_call") => {
                self.calls.insert(item["call_id"].as_str().unwrap_or_default().to_owned())
                    && item["arguments"].is_string()
            }
            Some("message") => {
                let kind = if item["role"] == "assistant" { "output_text" } else { "input_text" };
                item["content"][0]["type"] == kind && item["content"][0]["text"].is_string()
            }
            _ => false,
        };
        if !fits {
            return Err(Over::Refused(format!("this item cannot be: {item}")));
        }
        self.say(json!({ "type": "conversation.item.added", "item": item })).await
    }
}

async fn is_frozen(frozen: &mut watch::Receiver<usize>, number: usize) -> bool {
    frozen.wait_for(|frozen| *frozen >= number).await.is_ok()
}
