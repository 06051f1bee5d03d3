//! A simulated caller: speaks, listens until the agent has answered, speaks again.

use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::playout::{Heard, Playout};

/// The recording that callers play: µ-law at 8 kHz.
const LINE: &[u8] = include_bytes!("../../crates/caller-audio/assets/name.ulaw");
/// The carrier account that the calls belong to.
pub(crate) const ACCOUNT: &str = "AC00000000000000000000000000000001";
/// 20 ms.
const FRAME: usize = 160;
const FRAME_TIME: Duration = Duration::from_millis(20);
const SILENCE: [u8; FRAME] = [0xff; FRAME];
/// The agent has finished when it was silent for so long.
const PAUSE: Duration = Duration::from_millis(600);
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The observations of a caller.
#[derive(Default)]
pub(crate) struct Noticed {
    /// The response times, in milliseconds.
    pub(crate) responses: Vec<u64>,
    pub(crate) heard: Heard,
    /// The latest that a frame of the caller left after it was due: what the bench itself is late.
    pub(crate) late: Duration,
}

impl Noticed {
    pub(crate) fn add(&mut self, other: &Self) {
        self.responses.extend(&other.responses);
        self.heard.add(&other.heard);
        self.late = self.late.max(other.late);
    }
}

/// Holds a call of so many turns.
pub(crate) async fn talk(url: &str, signature: &str, sid: &str, token: &str, turns: u32) -> anyhow::Result<Noticed> {
    let mut request = url.into_client_request()?;
    request.headers_mut().insert("X-Twilio-Signature", signature.parse()?);
    let (mut socket, _) = connect_async(request).await.context("the media stream could not be opened")?;
    let stream = format!("MZ{:032x}", rand::random::<u128>());
    let mut line = Line { stream: stream.clone(), sequence: 1, chunk: 0 };
    for message in [json!({ "event": "connected", "protocol": "Call", "version": "1.0.0" }), line.start(sid, token)] {
        socket.send(Message::text(message.to_string())).await?;
    }
    let mut conversation = Conversation::new(turns);
    let (mut playout, mut late) = (Playout::new(PAUSE), Duration::ZERO);
    let mut ticks = tokio::time::interval(FRAME_TIME);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        tokio::select! {
            biased;
            due = ticks.tick() => {
                let now = Instant::now();
                late = late.max(now.duration_since(due));
                while let Some(name) = playout.returned(now) {
                    socket.send(Message::text(line.mark(&name).to_string())).await?;
                }
                let Some(frame) = conversation.next_frame(now) else { break };
                socket.send(Message::text(line.media(frame).to_string())).await?;
            }
            message = socket.next() => {
                let Some(Ok(Message::Text(text))) = message else { break };
                let message: Value = serde_json::from_str(&text)?;
                match message["event"].as_str() {
                    Some("media") => {
                        let (now, lasts) = (Instant::now(), duration(&message["media"]["payload"])?);
                        conversation.hear(now, playout.audio(now, lasts));
                    }
                    Some("mark") => {
                        let name = message["mark"]["name"].as_str().unwrap_or_default();
                        playout.mark(Instant::now(), name.to_owned());
                    }
                    Some("clear") => playout.clear(Instant::now()),
                    _ => {}
                }
            }
        }
    }
    let stop = line.stop(sid).to_string();
    // The service may have closed it already.
    let _ = socket.send(Message::text(stop)).await;
    let _ = socket.close(None).await;
    anyhow::ensure!(conversation.left == 0, "a conversation broke off {} turns before its end", conversation.left);
    Ok(Noticed { responses: conversation.responses, heard: playout.heard, late })
}

/// Returns the duration of the audio in a message.
fn duration(payload: &Value) -> anyhow::Result<Duration> {
    let bytes = STANDARD.decode(payload.as_str().context("a payload")?)?.len();
    Ok(Duration::from_micros(u64::try_from(bytes)? * 125))
}

/// Numbers messages as Twilio does.
struct Line {
    stream: String,
    sequence: u64,
    chunk: u64,
}

impl Line {
    fn next(&mut self) -> String {
        self.sequence += 1;
        self.sequence.to_string()
    }

    fn start(&self, sid: &str, token: &str) -> Value {
        json!({ "event": "start", "sequenceNumber": "1", "streamSid": self.stream, "start": {
            "accountSid": ACCOUNT, "streamSid": self.stream, "callSid": sid, "tracks": ["inbound"],
            "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 },
            "customParameters": { "token": token } } })
    }

    fn media(&mut self, frame: &[u8]) -> Value {
        self.chunk += 1;
        json!({ "event": "media", "sequenceNumber": self.next(), "streamSid": self.stream, "media": {
            "track": "inbound", "chunk": self.chunk.to_string(), "timestamp": (self.chunk * 20).to_string(),
            "payload": STANDARD.encode(frame) } })
    }

    fn mark(&mut self, name: &str) -> Value {
        json!({ "event": "mark", "sequenceNumber": self.next(), "streamSid": self.stream, "mark": { "name": name } })
    }

    fn stop(&mut self, sid: &str) -> Value {
        json!({ "event": "stop", "sequenceNumber": self.next(), "streamSid": self.stream,
            "stop": { "accountSid": ACCOUNT, "callSid": sid } })
    }
}

/// The state of the conversation.
struct Conversation {
    left: u32,
    /// The position in the recording; `None` while listening.
    speaking: Option<usize>,
    spoke_until: Instant,
    heard_at: Option<Instant>,
    responses: Vec<u64>,
}

impl Conversation {
    fn new(turns: u32) -> Self {
        Self { left: turns, speaking: None, spoke_until: Instant::now(), heard_at: None, responses: Vec::new() }
    }

    /// The agent is heard until then.
    fn hear(&mut self, now: Instant, until: Instant) {
        if self.heard_at.is_none() && self.speaking.is_none() {
            let waited = now.duration_since(self.spoke_until);
            self.responses.push(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
        }
        self.heard_at = Some(until);
    }

    /// 20 ms of us; nothing when we hang up.
    fn next_frame(&mut self, now: Instant) -> Option<&'static [u8]> {
        if let Some(position) = self.speaking {
            let frame = LINE.chunks_exact(FRAME).nth(position);
            self.speaking = frame.map(|_| position + 1);
            if frame.is_none() {
                self.left -= 1;
                self.spoke_until = now;
                self.heard_at = None;
            }
            return Some(frame.unwrap_or(&SILENCE));
        }
        match self.heard_at {
            Some(heard_at) if now.saturating_duration_since(heard_at) > PAUSE => {
                if self.left == 0 {
                    return None;
                }
                self.speaking = Some(0);
            }
            None if now.duration_since(self.spoke_until) > PATIENCE => {
                self.left = self.left.max(1); // An answer that never came is a failure.
                return None;
            }
            _ => {}
        }
        Some(&SILENCE)
    }
}
