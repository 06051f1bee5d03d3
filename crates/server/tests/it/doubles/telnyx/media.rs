//! The media websocket that Telnyx opens to the service.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::Law;
use tokio::net::TcpStream;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};
use url::Url;

use super::far_end::{Does, Person};
use super::playout::Playout;
use super::{Double, FarEnd, Leg};

const FRAME: Duration = Duration::from_millis(20);
/// One in this many chunks of audio is overtaken by the next.
const OVERTAKEN: u64 = 10;

/// The stream requested with the dial or the answer.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    url: String,
    token: Option<String>,
    /// The codec of the audio that Telnyx sends.
    heard: String,
    /// The codec of the audio that Telnyx receives.
    spoken: String,
    rate: u64,
}

impl Stream {
    /// Parses the request; returns `None` if no stream is requested.
    pub(super) fn asked_for(body: &Value) -> Option<Self> {
        let text = |field: &str| body[field].as_str().map(ToOwned::to_owned);
        Some(Self {
            url: text("stream_url")?,
            token: text("stream_auth_token"),
            heard: text("stream_codec").unwrap_or_else(|| "PCMU".to_owned()),
            spoken: text("stream_bidirectional_codec").unwrap_or_else(|| "PCMU".to_owned()),
            rate: body["stream_bidirectional_sampling_rate"].as_u64().unwrap_or(8_000),
        })
    }
}

/// An event of a stream.
pub(super) enum Happened {
    /// 20 ms have passed.
    Tick,
    /// The service sent a message.
    Said(Message),
    /// The service has closed it.
    Closed,
}

/// Whether a stream continues.
pub(super) enum Next {
    /// It continues.
    On,
    /// The person hung up.
    HungUp,
    /// It broke, or was closed.
    Gone,
}

/// An open stream.
pub(super) struct Session {
    socket: WebSocketStream<TcpStream>,
    stream: Stream,
    id: String,
    person: Person,
    playout: Playout,
    ticks: Interval,
    sequence: u64,
    chunk: u64,
    /// A chunk of audio that is being overtaken.
    held: Option<Value>,
}

impl Session {
    /// Opens the stream of a leg. Returns why it cannot.
    pub(super) async fn open(double: &Double, leg: &Leg, mut stream: Stream, person: FarEnd) -> Result<Self, String> {
        match double.with(|account| account.format) {
            Some((codec, rate)) if codec == stream.heard && codec == stream.spoken => stream.rate = rate,
            Some((codec, _)) => codec.clone_into(&mut stream.heard),
            None => {}
        }
        let why = |error: &dyn std::fmt::Display| error.to_string();
        let url = Url::parse(&stream.url).map_err(|error| why(&error))?;
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
        let tcp = TcpStream::connect((host, port)).await.map_err(|error| why(&error))?;
        let mut request = stream.url.as_str().into_client_request().map_err(|error| why(&error))?;
        if let Some(token) = &stream.token {
            let value = format!("Bearer {token}").parse().map_err(|_| "the token is no header".to_owned())?;
            request.headers_mut().insert("authorization", value);
        }
        let (socket, _) = client_async(request, tcp).await.map_err(|error| why(&error))?;
        let mut ticks = tokio::time::interval(FRAME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut session = Self {
            socket,
            id: double.uuid().to_string(),
            person: Person::new(person),
            playout: Playout::default(),
            ticks,
            sequence: 0,
            chunk: 0,
            held: None,
            stream,
        };
        let rate = if session.stream.heard == "L16" { session.stream.rate } else { 8_000 };
        let start = json!({
            "user_id": double.uuid(), "call_control_id": leg.id, "call_session_id": leg.session, "from": leg.from,
            "to": leg.to, "tags": [], "client_state": leg.client_state, "custom_parameters": {},
            "media_format": { "encoding": session.stream.heard, "sample_rate": rate, "channels": 1 },
        });
        let _ = session.send(&json!({ "event": "connected", "version": "1.0.0" })).await;
        let _ = session.send_numbered(json!({ "event": "start", "start": start })).await;
        Ok(session)
    }

    /// Returns the next event. Cancel safe.
    pub(super) async fn happens(&mut self) -> Happened {
        tokio::select! {
            _ = self.ticks.tick() => Happened::Tick,
            message = self.socket.next() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => Happened::Closed,
                Some(Ok(message)) => Happened::Said(message),
            },
        }
    }

    pub(super) async fn handle(&mut self, double: &Double, leg: &Leg, happened: Happened) -> Next {
        let went = match happened {
            Happened::Closed => return Next::Gone,
            Happened::Said(Message::Text(text)) => self.told(double, &text).await,
            Happened::Said(Message::Binary(_)) => {
                double.complain("the media websocket takes text");
                Ok(())
            }
            Happened::Said(_) => self.socket.flush().await.map_err(drop),
            Happened::Tick => match self.tick(leg).await {
                Ok(next) => return next,
                Err(()) => Err(()),
            },
        };
        went.map_or(Next::Gone, |()| Next::On)
    }

    /// Ends the stream as Telnyx does.
    pub(super) async fn stop(&mut self, leg: &Leg) {
        let stop = json!({ "user_id": "u", "call_control_id": leg.id });
        let _ = self.send_numbered(json!({ "event": "stop", "stop": stop })).await;
        let _ = self.socket.close(None).await;
    }

    async fn tick(&mut self, leg: &Leg) -> Result<Next, ()> {
        let (frame, marks) = self.playout.next();
        self.give_back(marks).await?;
        if self.person.hear(&frame) {
            leg.with(|progress| progress.seen.voiced += 1);
        }
        match self.person.act() {
            Does::Sounds(frame) => self.audio(&frame).await?,
            Does::Presses(key) => {
                let message = json!({ "event": "dtmf", "occurred_at": "2026-11-21T09:00:00.000000Z", "dtmf": { "digit": key.to_string() } });
                self.send_numbered(message).await?;
                self.audio(&Frame::silence(AudioFormat::Narrowband)).await?;
            }
            Does::HangsUp => return Ok(Next::HungUp),
            Does::BreaksStream => return Ok(Next::Gone),
        }
        Ok(Next::On)
    }

    async fn audio(&mut self, frame: &Frame) -> Result<(), ()> {
        self.chunk += 1;
        let payload = BASE64_STANDARD.encode(encoded(&self.stream.heard, self.stream.rate, frame));
        let media = json!({
            "track": "inbound", "chunk": self.chunk.to_string(), "timestamp": (self.chunk * 20).to_string(),
            "payload": payload,
        });
        let message = json!({ "event": "media", "media": media });
        if self.chunk % OVERTAKEN == 5 {
            self.held = Some(message);
            return Ok(());
        }
        self.send_numbered(message).await?;
        if let Some(held) = self.held.take() {
            self.send_numbered(held).await?;
        }
        Ok(())
    }

    /// Handles a message of the service, accepting exactly what Telnyx does.
    async fn told(&mut self, double: &Double, text: &str) -> Result<(), ()> {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        match message["event"].as_str() {
            Some("media") if has_only(&message, "media", "payload") => self.play(double, &message),
            Some("mark") if has_only(&message, "mark", "name") => {
                self.playout.mark(message["mark"]["name"].as_str().unwrap_or_default().to_owned());
            }
            Some("clear") if message.as_object().is_some_and(|fields| fields.len() == 1) => {
                let marks = self.playout.clear();
                self.give_back(marks).await?;
            }
            _ => double.complain(format!("malformed_frame: {text}")),
        }
        Ok(())
    }

    fn play(&mut self, double: &Double, message: &Value) {
        let payload = message["media"]["payload"].as_str().unwrap_or_default();
        let Ok(payload) = BASE64_STANDARD.decode(payload) else {
            return double.complain("invalid_media: it is no base64");
        };
        let bytes_per_ms = if self.stream.spoken == "L16" { self.stream.rate * 2 / 1_000 } else { 8 };
        let ms = u64::try_from(payload.len()).unwrap_or(u64::MAX) / bytes_per_ms;
        if !(20..=30_000).contains(&ms) {
            double.complain(format!("a message with {ms} ms of audio, from 20 ms to 30 s are allowed"));
        }
        self.playout.audio(decoded(&self.stream.spoken, self.stream.rate, &payload));
    }

    async fn give_back(&mut self, marks: Vec<String>) -> Result<(), ()> {
        for name in marks {
            self.send_numbered(json!({ "event": "mark", "mark": { "name": name } })).await?;
        }
        Ok(())
    }

    async fn send_numbered(&mut self, mut message: Value) -> Result<(), ()> {
        self.sequence += 1;
        message["sequence_number"] = json!(self.sequence.to_string());
        message["stream_id"] = json!(self.id);
        self.send(&message).await
    }

    async fn send(&mut self, message: &Value) -> Result<(), ()> {
        self.socket.send(Message::Text(message.to_string().into())).await.map_err(drop)
    }
}

fn has_only(message: &Value, object: &str, field: &str) -> bool {
    let only_two = message.as_object().is_some_and(|fields| fields.len() == 2);
    only_two
        && message[object].as_object().is_some_and(|fields| fields.len() == 1)
        && message[object][field].is_string()
}

fn law(codec: &str) -> Option<Law> {
    match codec {
        "PCMU" => Some(Law::Mu),
        "PCMA" => Some(Law::A),
        _ => None,
    }
}

/// Encodes 20 ms; L16 is little-endian, at a multiple of 8 kHz.
fn encoded(codec: &str, rate: u64, frame: &Frame) -> Vec<u8> {
    match law(codec) {
        Some(law) => frame.samples().iter().map(|sample| law.encode(*sample)).collect(),
        None => frame.samples().iter().flat_map(|sample| sample.to_le_bytes().repeat(times(rate))).collect(),
    }
}

/// Decodes a payload to 8 kHz.
fn decoded(codec: &str, rate: u64, payload: &[u8]) -> Vec<i16> {
    match law(codec) {
        Some(law) => payload.iter().map(|byte| law.decode(*byte)).collect(),
        None => payload.chunks_exact(2 * times(rate)).map(|group| i16::from_le_bytes([group[0], group[1]])).collect(),
    }
}

fn times(rate: u64) -> usize {
    usize::try_from(rate / 8_000).expect("a small number")
}
