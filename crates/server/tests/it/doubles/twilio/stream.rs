//! Audio over a websocket of ours: what is sent there is what the carrier sends, and what comes back is checked to the letter.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::MissedTickBehavior;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::far_end::{Does, Person};
use super::flavour::{Flavour, Prefix};
use super::leg::{Leg, Order};
use super::playout::Playout;
use super::script::MediaBehaviour;
use super::signature;
use super::twiml::Stream;

const FRAME: Duration = Duration::from_millis(20);
/// Our handshake takes no longer.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Why something that is done with a call is over.
pub(crate) enum Over {
    /// Continue with the next verb of the document.
    Next,
    /// The far end hung up.
    FarEnd,
    Ordered(Order),
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Carries the audio of a call until either side ends it.
pub(crate) async fn run(leg: &mut Leg, wanted: &Stream) -> Over {
    let Some(socket) = open(leg, wanted).await else { return Over::Next };
    leg.network.change(&leg.sid, |record| record.streams += 1);
    let flavour = leg.network.flavour;
    let mut talk = Talk {
        socket,
        flavour,
        sid: flavour.id(Prefix::Stream),
        sequence: 0,
        chunk: 0,
        playout: Playout::default(),
        person: Person::new(leg.script.far_end),
        gone: false,
    };
    talk.begin(leg, wanted).await;
    talk.run(leg).await
}

/// The handshake; nothing when it is refused. The URL that is signed is the one in the document.
async fn open(leg: &Leg, wanted: &Stream) -> Option<Socket> {
    let flavour = leg.network.flavour;
    let mut request = match wanted.url.as_str().into_client_request() {
        Ok(request) => request,
        Err(error) => {
            leg.network.complaints.add(format!("31923: {error}"));
            return None;
        }
    };
    let headers = request.headers_mut();
    match (flavour, &wanted.bearer) {
        (Flavour::SignalWire, Some(token)) => {
            headers.insert("Authorization", format!("Bearer {token}").parse().expect("a token is text"));
        }
        (Flavour::Twilio, _) if leg.script.media != MediaBehaviour::Unsigned => {
            let wrong = leg.script.media == MediaBehaviour::SignedWrongly;
            let key = if wrong { "another key" } else { flavour.signing_key() };
            let signed = signature::of(key, &wanted.url, &[]);
            headers.insert(flavour.signature_header(), signed.parse().expect("base64 is text"));
        }
        _ => {}
    }
    match tokio::time::timeout(HANDSHAKE, connect_async(request)).await {
        Ok(Ok((socket, _))) => Some(socket),
        Ok(Err(Error::Http(refused))) => {
            let expected = matches!(leg.script.media, MediaBehaviour::SignedWrongly | MediaBehaviour::Unsigned);
            if !expected || refused.status() != 403 {
                leg.network.complaints.add(format!("31920: the handshake was answered with {}", refused.status()));
            }
            None
        }
        // A service that is gone, which tests cause on purpose; otherwise the call is without audio, which they see.
        Ok(Err(_)) | Err(_) => None,
    }
}

/// A stream that is open.
struct Talk {
    socket: Socket,
    flavour: Flavour,
    sid: String,
    sequence: u64,
    chunk: u64,
    playout: Playout,
    person: Person,
    /// We have closed the websocket.
    gone: bool,
}

impl Talk {
    async fn begin(&mut self, leg: &Leg, wanted: &Stream) {
        let version = if self.flavour == Flavour::Twilio { "1.0.0" } else { "0.2.0" };
        self.send(json!({ "event": "connected", "protocol": "Call", "version": version })).await;
        if leg.script.media == MediaBehaviour::NeverStarts {
            return;
        }
        let call =
            if leg.script.media == MediaBehaviour::OtherCall { self.flavour.id(Prefix::Call) } else { leg.sid.clone() };
        let mut parameters: Vec<_> = wanted.parameters.clone();
        if leg.script.media == MediaBehaviour::OtherToken {
            parameters.iter_mut().for_each(|(_, value)| *value = "0".repeat(value.len()));
        }
        let given: serde_json::Map<String, Value> =
            parameters.into_iter().map(|(name, value)| (name, json!(value))).collect();
        let mut start = json!({
            "accountSid": self.flavour.account(), "streamSid": self.sid, "callSid": call, "tracks": ["inbound"],
            "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 },
        });
        if self.flavour == Flavour::Twilio || !given.is_empty() {
            start["customParameters"] = json!(given);
        }
        self.numbered(json!({ "event": "start", "start": start })).await;
    }

    async fn run(&mut self, leg: &mut Leg) -> Over {
        let mut ticks = tokio::time::interval(FRAME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut frames = 0_u32;
        loop {
            let over = tokio::select! {
                _ = ticks.tick(), if !self.gone => {
                    frames += 1;
                    match leg.script.media {
                        // The connection is cut, and the call continues with nothing.
                        MediaBehaviour::BreaksOff(after) if frames > after => return Over::Next,
                        MediaBehaviour::NeverStarts => None,
                        _ => self.tick(leg).await,
                    }
                }
                message = self.socket.next() => self.take(leg, message).await,
                order = leg.orders.recv() => order.map(Over::Ordered),
            };
            if let Some(over) = over {
                self.stop(leg).await;
                return over;
            }
        }
    }

    /// 20 ms in both directions.
    async fn tick(&mut self, leg: &Leg) -> Option<Over> {
        let (played, marks) = self.playout.next();
        for name in marks {
            self.returned(leg, name).await;
        }
        let key = self.person.hear(played.as_deref());
        if played.is_some() || key.is_some() {
            leg.network.change(&leg.sid, |record| {
                record.played += u32::from(played.is_some());
                record.keys.extend(key);
            });
        }
        let audio = match self.person.act() {
            Does::HangsUp => return Some(Over::FarEnd),
            Does::Presses(digit) => {
                let dtmf = match self.flavour {
                    Flavour::Twilio => json!({ "track": "inbound_track", "digit": digit.to_string() }),
                    Flavour::SignalWire => json!({ "digit": digit.to_string(), "duration": 2000 }),
                };
                self.numbered(json!({ "event": "dtmf", "dtmf": dtmf })).await;
                [0xff; 160]
            }
            Does::Sounds(frame) => frame,
        };
        if let MediaBehaviour::Intruded(after) = leg.script.media {
            self.intrude(leg, after).await;
        }
        self.chunk += 1;
        let media = json!({
            "track": "inbound", "chunk": self.chunk.to_string(), "timestamp": (self.chunk * 20).to_string(),
            "payload": STANDARD.encode(audio),
        });
        self.numbered(json!({ "event": "media", "media": media })).await;
        None
    }

    /// Another stream, which was not requested: its start, and then recorded speech.
    async fn intrude(&mut self, leg: &Leg, after: u64) {
        let Some(position) = self.chunk.checked_sub(after) else { return };
        let stream = format!("MZ{}", "f".repeat(32));
        if position == 0 {
            let start = json!({
                "accountSid": self.flavour.account(), "streamSid": stream, "callSid": leg.sid, "tracks": ["inbound"],
                "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 },
            });
            self.send(json!({ "event": "start", "sequenceNumber": "1", "start": start, "streamSid": stream })).await;
        }
        let line = switchhook_caller_audio::recording("name").expect("a shipped recording");
        let Some(frame) = usize::try_from(position).ok().and_then(|position| line.frame(position)) else { return };
        let media = json!({ "track": "inbound", "payload": STANDARD.encode(frame) });
        self.send(json!({ "event": "media", "media": media, "streamSid": stream })).await;
    }

    /// A message of the service.
    async fn take(&mut self, leg: &Leg, message: Option<Result<Message, Error>>) -> Option<Over> {
        let complain = |words: String| leg.network.complaints.add(words);
        match message {
            Some(Ok(Message::Text(text))) => {
                if let Err(words) = self.read(leg, &text).await {
                    complain(format!("31951: {words}: {}", shortened(&text)));
                }
                None
            }
            Some(Ok(Message::Binary(_))) => {
                complain("31950: a binary message".to_owned());
                None
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => None,
            Some(Ok(Message::Close(frame))) => {
                let code = frame.map(|frame| u16::from(frame.code));
                if let Some(code) = code.filter(|code| *code != 1000) {
                    complain(format!("31921: closed with {code}"));
                }
                self.gone = true;
                Some(Over::Next)
            }
            Some(Err(_)) | None => {
                self.gone = true;
                Some(Over::Next)
            }
        }
    }

    /// Exactly these messages, with exactly these fields, are taken.
    async fn read(&mut self, leg: &Leg, text: &str) -> Result<(), String> {
        let message: Value = serde_json::from_str(text).map_err(|error| format!("no JSON ({error})"))?;
        match message["event"].as_str() {
            Some("media") => {
                fields(&message, &["event", "streamSid", "media"])?;
                fields(&message["media"], &["payload"])?;
                let payload = message["media"]["payload"].as_str().ok_or("the payload is no text")?;
                let bytes = STANDARD.decode(payload).map_err(|error| format!("no base64 ({error})"))?;
                if bytes.is_empty() {
                    return Err("an empty payload".to_owned());
                }
                if !self.playout.audio(bytes) {
                    leg.network.complaints.add("31931: more than ten minutes of audio wait");
                }
            }
            Some("mark") => {
                fields(&message, &["event", "streamSid", "mark"])?;
                fields(&message["mark"], &["name"])?;
                let name =
                    message["mark"]["name"].as_str().filter(|name| !name.is_empty()).ok_or("a mark without name")?;
                self.playout.mark(name.to_owned());
            }
            Some("clear") => {
                fields(&message, &["event", "streamSid"])?;
                leg.network.change(&leg.sid, |record| record.clears += 1);
                for name in self.playout.clear() {
                    self.returned(leg, name).await;
                }
            }
            Some("dtmf") if self.flavour == Flavour::SignalWire => {
                fields(&message, &["event", "streamSid", "dtmf"])?;
                fields(&message["dtmf"], &["digit"])?;
                let digit = message["dtmf"]["digit"].as_str().unwrap_or_default().to_owned();
                leg.network.change(&leg.sid, |record| record.keys.push_str(&digit));
            }
            _ => return Err("no such event".to_owned()),
        }
        if message["streamSid"] != json!(self.sid) { Err("another stream's id".to_owned()) } else { Ok(()) }
    }

    async fn returned(&mut self, leg: &Leg, name: String) {
        leg.network.change(&leg.sid, |record| record.marks += 1);
        self.numbered(json!({ "event": "mark", "mark": { "name": name } })).await;
    }

    /// Says goodbye, unless we have.
    async fn stop(&mut self, leg: &Leg) {
        if !self.gone {
            let stop = json!({ "accountSid": self.flavour.account(), "callSid": leg.sid });
            match self.flavour {
                Flavour::Twilio => self.numbered(json!({ "event": "stop", "stop": stop })).await,
                Flavour::SignalWire => self.numbered(json!({ "event": "stop" })).await,
            }
        }
        // The reader has gone.
        let _ = self.socket.close(None).await;
    }

    /// With its number and the stream's id, which the other carrier leaves out.
    async fn numbered(&mut self, mut message: Value) {
        self.sequence += 1;
        message["sequenceNumber"] = json!(self.sequence.to_string());
        if self.flavour == Flavour::Twilio {
            message["streamSid"] = json!(self.sid);
        }
        self.send(message).await;
    }

    async fn send(&mut self, message: Value) {
        // A websocket that we have closed shows when it is read.
        let _ = self.socket.send(Message::Text(message.to_string().into())).await;
    }
}

/// These fields and no others.
fn fields(object: &Value, names: &[&str]) -> Result<(), String> {
    let object = object.as_object().ok_or("no object where one must be")?;
    if let Some(unknown) = object.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("an extra field {unknown}"));
    }
    match names.iter().find(|name| !object.contains_key(**name)) {
        Some(missing) => Err(format!("without {missing}")),
        None => Ok(()),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(120).collect()
}
