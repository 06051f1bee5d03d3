//! The caller of one item: waits until it is their turn, or until the agent is in mid-sentence, and plays the item. The room is
//! heard all the time.

use std::sync::Arc;
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

use super::carrier::{ACCOUNT, Leg};
use super::corpus::{Class, Clip};
use super::phone::{PhoneBuffer, Sound};
use super::world::Desk;

/// 20 ms.
const FRAME: usize = 160;
const FRAME_TIME: Duration = Duration::from_millis(20);
/// People answer a question after half a second.
const THINKS: Duration = Duration::from_millis(500);
/// The agent has spoken for so long when the caller talks over it, and a little longer for every other item.
const INTO_SENTENCE: Duration = Duration::from_millis(1_800);
const LATER: Duration = Duration::from_millis(370);
/// No agent greets later.
const GREETING_LIMIT: Duration = Duration::from_secs(20);
/// After the item: a response that has begun is one; an agent that is silent for so long has finished.
const RESPONSE_SEEN: Duration = Duration::from_millis(300);
const FINISHED: Duration = Duration::from_millis(1_300);
/// The wait after a backchannel or noise until it counts as ignored, once the agent is silent.
const NOTHING_COMES: Duration = Duration::from_millis(2_500);
const PATIENCE: Duration = Duration::from_secs(9);

/// The observations of a caller.
pub(crate) struct Noticed {
    /// When the first sample of the item was sent.
    pub(crate) began: Instant,
    pub(crate) phone: PhoneBuffer,
    /// The latest that a frame left after it was due: what the bench itself is late.
    pub(crate) late: Duration,
}

enum Phase {
    Listening,
    Speaking(usize),
    Waiting,
}

struct Caller {
    clip: Arc<Clip>,
    room: Arc<Vec<u8>>,
    phase: Phase,
    opened: Instant,
    began: Option<Instant>,
    frames: usize,
    phone: PhoneBuffer,
}

/// Plays an item in a call that was answered.
pub(crate) async fn talk(leg: &Leg, clip: Arc<Clip>, room: Arc<Vec<u8>>, desk: &Desk) -> anyhow::Result<Noticed> {
    let mut request = leg.media.as_str().into_client_request()?;
    request.headers_mut().insert("X-Twilio-Signature", leg.signature().parse()?);
    let (mut socket, _) = connect_async(request).await.context("the media stream could not be opened")?;
    let mut line = Line { stream: format!("MZ{:032x}", rand::random::<u128>()), sequence: 1, chunk: 0 };
    for message in [json!({ "event": "connected", "protocol": "Call", "version": "1.0.0" }), line.start(leg)] {
        socket.send(Message::text(message.to_string())).await?;
    }
    let mut caller = Caller::new(clip, room);
    let mut late = Duration::ZERO;
    let mut ticks = tokio::time::interval(FRAME_TIME);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        tokio::select! {
            biased;
            due = ticks.tick() => {
                let now = Instant::now();
                late = late.max(now.duration_since(due));
                while let Some(name) = caller.phone.returned(now) {
                    socket.send(Message::text(line.mark(&name).to_string())).await?;
                }
                let Some(frame) = caller.next_frame(now) else { break };
                socket.send(Message::text(line.media(&frame).to_string())).await?;
                if let Some(began) = caller.began {
                    desk.speaks(began);
                }
            }
            message = socket.next() => {
                let Some(Ok(Message::Text(text))) = message else { break };
                caller.take(&serde_json::from_str(&text)?)?;
            }
        }
    }
    // The service may have closed it already.
    let _ = socket.send(Message::text(line.stop(leg).to_string())).await;
    let _ = socket.close(None).await;
    let began = caller.began.context("the agent never spoke, or the service hung up before the item was played")?;
    Ok(Noticed { began, phone: caller.phone, late })
}

impl Caller {
    fn new(clip: Arc<Clip>, room: Arc<Vec<u8>>) -> Self {
        let opened = Instant::now();
        Self { clip, room, phase: Phase::Listening, opened, began: None, frames: 0, phone: PhoneBuffer::default() }
    }

    fn take(&mut self, message: &Value) -> anyhow::Result<()> {
        let now = Instant::now();
        match message["event"].as_str() {
            Some("media") => {
                let payload = message["media"]["payload"].as_str().context("a payload")?;
                self.phone.audio(now, &STANDARD.decode(payload)?);
            }
            Some("mark") => self.phone.mark(now, message["mark"]["name"].as_str().unwrap_or_default().to_owned()),
            Some("clear") => self.phone.clear(now),
            _ => {}
        }
        Ok(())
    }

    /// 20 ms of the caller; nothing when they hang up.
    fn next_frame(&mut self, now: Instant) -> Option<Vec<u8>> {
        match self.phase {
            Phase::Listening if self.is_time(now) => {
                self.phase = Phase::Speaking(0);
                self.began = Some(now);
            }
            Phase::Listening if now.duration_since(self.opened) > GREETING_LIMIT => return None,
            Phase::Waiting if self.is_over(now) => return None,
            _ => {}
        }
        self.frames += 1;
        let room = self.room.chunks_exact(FRAME).cycle();
        let noise = || room.clone().nth(self.frames % (self.room.len() / FRAME)).map(<[u8]>::to_vec);
        let Phase::Speaking(position) = self.phase else { return noise() };
        match self.clip.audio.chunks_exact(FRAME).nth(position) {
            Some(frame) => {
                self.phase = Phase::Speaking(position + 1);
                Some(frame.to_vec())
            }
            None => {
                self.phase = Phase::Waiting;
                noise()
            }
        }
    }

    /// Returns whether the item begins now.
    fn is_time(&self, now: Instant) -> bool {
        let item = &self.clip.item;
        if !item.class.is_overlap() {
            return self.phone.silent_for(now).is_some_and(|silence| silence >= THINKS);
        }
        let later = if item.id.len().is_multiple_of(2) { LATER } else { Duration::ZERO };
        let first = self.phone.heard.first();
        first.is_some_and(|first| now.saturating_duration_since(first.start) >= INTO_SENTENCE + later)
    }

    fn is_over(&self, now: Instant) -> bool {
        let (Some(began), item) = (self.began, &self.clip.item) else { return false };
        let at = |ms: u32| began + Duration::from_millis(ms.into());
        let (onset, end) = (at(item.onset_ms()), at(item.end_ms()));
        let silent = self.phone.silent_for(now).unwrap_or_default();
        let response = self.phone.heard.iter().any(|heard| heard.sound == Sound::Response && heard.start >= end);
        match item.class {
            Class::Interruption if response => silent >= FINISHED,
            Class::Interruption => now > end + PATIENCE,
            Class::Backchannel | Class::Noise => now > end + NOTHING_COMES && silent >= NOTHING_COMES,
            Class::Complete | Class::Paused => {
                let spoke_early = self.phone.heard.iter().any(|heard| heard.end > onset && heard.start < end);
                let first = self.phone.first_from(end);
                let seen = first.is_some_and(|first| now.saturating_duration_since(first) >= RESPONSE_SEEN);
                (if spoke_early { first.is_some() && silent >= FINISHED } else { seen }) || now > end + PATIENCE
            }
        }
    }
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

    fn start(&self, leg: &Leg) -> Value {
        json!({ "event": "start", "sequenceNumber": "1", "streamSid": self.stream, "start": {
            "accountSid": ACCOUNT, "streamSid": self.stream, "callSid": leg.sid, "tracks": ["inbound"],
            "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 },
            "customParameters": { "token": leg.token } } })
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

    fn stop(&mut self, leg: &Leg) -> Value {
        json!({ "event": "stop", "sequenceNumber": self.next(), "streamSid": self.stream,
            "stop": { "accountSid": ACCOUNT, "callSid": leg.sid } })
    }
}
