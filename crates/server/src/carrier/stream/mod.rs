//! Sound over websockets, as several carriers bring it: JSON messages with base64 sound in both directions.
//!
//! A carrier's messages are a [`Wire`], which is pure. Here is what is the same for all: waiting for the beginning, coding of
//! sound ([`codec`]), order and gaps ([`order`]), and noticing that the other end is gone.

pub mod codec;
pub mod order;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use switchhook_media::frame::{CallerAudio, Framer};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use self::codec::{Decoder, Encoder, Format, UnknownFormat};
use self::order::{Order, Piece};
use super::media_queue::{MediaSender, media_queue};
use super::{FromCarrier, Media, ToCarrier};
use crate::panics::caught;

/// From the handshake to the message that says whose sound this is.
const BEGINNING: Duration = Duration::from_secs(10);
/// Carriers send silence too. After this long without a message the other end is asked whether it is still there, and after as
/// long again it is not.
const IDLE: Duration = Duration::from_secs(10);
/// Frames of the agent that may wait: four seconds.
const WAITING: usize = 200;
/// The longest message that is read, in bytes: many seconds of sound.
pub const MESSAGE_LIMIT: usize = 1 << 20;

/// Pieces of callers' sound that never came.
const PIECES_LOST: &str = "switchhook_media_pieces_lost_total";

/// Messages on media websockets that could not be read.
const UNREADABLE: &str = "switchhook_media_messages_unreadable_total";

/// The messages of one carrier's media websocket. Pure: text in, meaning out, and the other way round.
pub trait Wire: Send {
    /// Reads a text message.
    fn read(&mut self, text: &str) -> Heard;

    /// Writes a message that plays `payload`, which is coded as [`Started::spoken`] says.
    fn play(&mut self, payload: &[u8]) -> String;

    /// Writes a message that comes back once everything before it has been played or cleared.
    fn mark(&mut self, mark: u64) -> String;

    /// Writes a message that throws away what has not been played.
    fn clear(&mut self) -> String;
}

/// What a message says. `Debug` would print sound, so there is none.
#[derive(Clone, PartialEq, Eq)]
pub enum Heard {
    /// Nothing of interest.
    Nothing,
    /// Whose sound this is, and how it is coded.
    Started(Started),
    /// Sound of the caller.
    Sound {
        /// Its place in the stream where the carrier numbers it; each piece is one more than the one before.
        chunk: Option<u64>,
        /// As [`Started::heard`] says.
        payload: Vec<u8>,
    },
    /// A key was pressed.
    Key(char),
    /// Everything before this mark was played or cleared.
    Mark(u64),
    /// The carrier ends the stream.
    Stopped,
    /// The carrier complains about something we sent; its words.
    Complaint(String),
    /// It cannot be read; why.
    Malformed(String),
}

/// The beginning of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The carrier's id of the call.
    pub carrier_call_id: String,
    /// The token that the stream's parameters repeat, where there are such.
    pub token: Option<String>,
    /// How the caller's sound is coded.
    pub heard: Format,
    /// How the agent's sound is to be coded.
    pub spoken: Format,
}

/// Carries a call's sound until either side ends it. Nothing is carried before `attach` has taken the stream for a call.
pub async fn serve<F>(mut socket: WebSocket, mut wire: Box<dyn Wire>, attach: impl FnOnce(Started, Media) -> F)
where
    F: Future<Output = bool>,
{
    let Some(started) = beginning(&mut socket, &mut *wire).await else {
        return close(socket).await;
    };
    let Ok((decoder, encoder)) = coders(&started).inspect_err(|error| tracing::warn!(%error, "a stream is refused"))
    else {
        return close(socket).await;
    };
    let (to_us, incoming) = media_queue();
    let (outgoing, from_us) = mpsc::channel(WAITING);
    if !attach(started, Media { incoming, outgoing, buffered: true }).await {
        return close(socket).await;
    }
    let (sink, stream) = socket.split();
    let wire = Arc::new(std::sync::Mutex::new(wire));
    let (pings, asked) = mpsc::channel(1);
    let mut speaker = Speaker { wire: wire.clone(), encoder, sink };
    let listener = Listener {
        wire,
        order: Order::default(),
        decoder,
        framer: Framer::default(),
        to_us: to_us.clone(),
        said_unreadable: false,
        pings,
    };
    let carried = caught(async {
        tokio::select! {
            () = listener.run(stream) => {}
            () = speaker.run(from_us, asked) => {}
        }
    });
    if carried.await.is_err() {
        let _ = to_us.send(FromCarrier::Broken);
    }
    drop(to_us);
    // Whether the other end still listens makes no difference.
    let _ = timeout(IDLE, speaker.sink.close()).await;
}

fn coders(started: &Started) -> Result<(Decoder, Encoder), UnknownFormat> {
    Ok((Decoder::new(started.heard)?, Encoder::new(started.spoken)?))
}

async fn close(mut socket: WebSocket) {
    // As above.
    let _ = timeout(IDLE, socket.send(Message::Close(None))).await;
}

async fn beginning(socket: &mut WebSocket, wire: &mut dyn Wire) -> Option<Started> {
    let by = Instant::now() + BEGINNING;
    loop {
        match timeout_at(by, socket.recv()).await {
            Ok(Some(Ok(Message::Text(text)))) => match wire.read(&text) {
                Heard::Started(started) => return Some(started),
                Heard::Stopped => return None,
                Heard::Malformed(why) => tracing::warn!(why, "a carrier's message could not be read"),
                _ => {}
            },
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return None,
            Ok(Some(Ok(_))) => {}
            Err(_) => {
                tracing::warn!("a media websocket never said whose sound it carries");
                return None;
            }
        }
    }
}

/// A wire is used from both directions, for a moment each.
type SharedWire = Arc<std::sync::Mutex<Box<dyn Wire>>>;

fn with<T>(wire: &SharedWire, use_it: impl FnOnce(&mut dyn Wire) -> T) -> T {
    // It is whole at every step.
    use_it(&mut **wire.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// From the carrier to us.
struct Listener {
    wire: SharedWire,
    order: Order,
    decoder: Decoder,
    framer: Framer,
    to_us: MediaSender,
    said_unreadable: bool,
    pings: mpsc::Sender<()>,
}

impl Listener {
    /// Until the stream ends.
    async fn run(mut self, mut stream: SplitStream<WebSocket>) {
        let mut asked = false;
        loop {
            match timeout(IDLE, stream.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => {
                    let heard = with(&self.wire, |wire| wire.read(&text));
                    if !self.hear(heard) {
                        if self.to_us.is_closed() {
                            // What the agent said last is being sent. An end that does not take it is not waited for.
                            tokio::time::sleep(IDLE).await;
                        }
                        return;
                    }
                }
                Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return,
                Ok(Some(Ok(_))) => {}
                Err(_) if asked => {
                    tracing::warn!("nothing comes over a media websocket any more");
                    return;
                }
                Err(_) => {
                    asked = true;
                    // One that waits is as good as two.
                    let _ = self.pings.try_send(());
                    continue;
                }
            }
            asked = false;
        }
    }

    /// Whether the stream goes on.
    fn hear(&mut self, heard: Heard) -> bool {
        match heard {
            Heard::Sound { chunk, payload } => {
                return self.order.push(chunk, payload).iter().all(|piece| self.sound(piece));
            }
            Heard::Key(key) => return self.to_us.send(FromCarrier::Dtmf(key)),
            Heard::Mark(mark) => return self.to_us.send(FromCarrier::MarkPlayed(mark)),
            Heard::Stopped => return false,
            Heard::Complaint(words) => tracing::warn!(words, "the carrier complains about what it was sent"),
            Heard::Malformed(why) => self.unreadable(&why),
            Heard::Nothing | Heard::Started(_) => {}
        }
        true
    }

    /// One stream says it once: there may be 50 of them in a second.
    fn unreadable(&mut self, why: &str) {
        metrics::counter!(UNREADABLE).increment(1);
        if !std::mem::replace(&mut self.said_unreadable, true) {
            tracing::warn!(why, "a carrier's message could not be read");
        }
    }

    /// Whether the stream goes on: not when the conversation has ended, though the other end goes on.
    fn sound(&mut self, piece: &Piece) -> bool {
        let payload = match piece {
            Piece::Sound(payload) => payload,
            Piece::Lost(pieces) => {
                metrics::counter!(PIECES_LOST).increment(*pieces);
                return true;
            }
        };
        let frames = self.framer.push(&self.decoder.decode(payload));
        frames.into_iter().all(|frame| self.to_us.send(FromCarrier::Audio(CallerAudio(frame))))
    }
}

/// From us to the carrier.
struct Speaker {
    wire: SharedWire,
    encoder: Encoder,
    sink: SplitSink<WebSocket, Message>,
}

impl Speaker {
    /// Until our side ends the stream, or the other end is gone.
    async fn run(&mut self, mut from_us: mpsc::Receiver<ToCarrier>, mut asked: mpsc::Receiver<()>) {
        loop {
            let sent = tokio::select! {
                message = from_us.recv() => match message {
                    Some(message) => self.speak(message, &mut from_us).await,
                    None => return,
                },
                Some(()) = asked.recv() => self.sink.send(Message::Ping(Bytes::new())).await,
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// Sends `first` and whatever waits behind it; audio that waits together goes in one message.
    async fn speak(&mut self, first: ToCarrier, from_us: &mut mpsc::Receiver<ToCarrier>) -> Result<(), axum::Error> {
        let (mut next, mut payload) = (Some(first), Vec::new());
        while let Some(message) = next {
            match message {
                ToCarrier::Audio(audio) => payload.extend(self.encoder.encode(&audio.0)),
                ToCarrier::Mark(mark) => {
                    self.play(&mut payload).await?;
                    self.feed(|wire| wire.mark(mark)).await?;
                }
                ToCarrier::Clear => {
                    self.play(&mut payload).await?;
                    self.feed(|wire| wire.clear()).await?;
                }
            }
            next = from_us.try_recv().ok();
        }
        self.play(&mut payload).await?;
        self.sink.flush().await
    }

    async fn play(&mut self, payload: &mut Vec<u8>) -> Result<(), axum::Error> {
        let payload = std::mem::take(payload);
        if payload.is_empty() {
            return Ok(());
        }
        self.feed(|wire| wire.play(&payload)).await
    }

    async fn feed(&mut self, message: impl FnOnce(&mut dyn Wire) -> String) -> Result<(), axum::Error> {
        let text = with(&self.wire, message);
        self.sink.feed(Message::Text(text.into())).await
    }
}
