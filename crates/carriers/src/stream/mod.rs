//! Audio over websockets as several carriers implement it: JSON messages with base64 audio in both directions.
//!
//! Each carrier's messages are a [`StreamProtocol`], which is pure. The rest is shared: waiting for the start, encoding ([`codec`]),
//! order and gaps ([`reorder`]), and detecting a dead peer.

pub mod codec;
pub mod media_message;
pub mod reorder;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_runtime::panics::caught;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use self::codec::{StreamDecoder, StreamEncoder, StreamFormat, UnsupportedSampleRate};
use self::reorder::{Chunk, ReorderBuffer};
use super::closing::await_close;
use super::media_queue::{MediaSender, media_queue};
use super::{FromCarrier, Media, ToCarrier, text};

/// How long the start message may take after the handshake.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Carriers send silence too. After this long without a message the peer is pinged; after as long again it is considered gone.
const PING_AFTER: Duration = Duration::from_secs(10);
/// How long audio is held back for a missing chunk: at a phrase's end the next one may be far.
const HOLD_FOR: Duration = Duration::from_millis(200);
/// Frames of the agent that may be queued: four seconds.
const EVENT_CAPACITY: usize = 200;
/// The longest message that is read, in bytes: many seconds of audio.
pub const MESSAGE_LIMIT: usize = 1 << 20;

/// Chunks of callers' audio that never arrived.
const CHUNKS_LOST: &str = "switchhook_media_chunks_lost_total";

/// Messages on media websockets that could not be read.
const UNREADABLE: &str = "switchhook_media_messages_unreadable_total";

/// The messages of one carrier's media websocket. Pure: converts messages to events and the other way round.
pub trait StreamProtocol: Send {
    /// Parses a text message. Audio is decoded from base64 into `payload`, replacing its contents.
    fn read<'p>(&mut self, text: &str, payload: &'p mut Vec<u8>) -> StreamEvent<'p>;

    /// Parses a binary message, with its audio in `payload`. Unless the protocol has such messages, it is text that the peer sends as
    /// bytes.
    fn read_binary<'p>(&mut self, message: &[u8], payload: &'p mut Vec<u8>) -> StreamEvent<'p> {
        match std::str::from_utf8(message) {
            Ok(text) => self.read(without_mark(text), payload),
            Err(_) => StreamEvent::Malformed("a binary message".to_owned()),
        }
    }

    /// Appends a message to `out` that plays `payload`, which is in the format of [`StreamStart::outbound`].
    fn play(&mut self, payload: &[u8], out: &mut BytesMut);

    /// Returns whether [`StreamProtocol::play`] writes binary messages.
    fn plays_binary(&self) -> bool {
        false
    }

    /// Returns a message that the carrier sends back once everything before it has been played or cleared.
    fn mark(&mut self, mark: u64) -> String;

    /// Returns a message that discards audio that has not been played.
    fn clear(&mut self) -> String;
}

/// A parsed message. Not `Debug`, which would print audio.
#[derive(Clone, PartialEq, Eq)]
pub enum StreamEvent<'p> {
    /// Nothing of interest.
    Ignored,
    /// The call, and the audio formats.
    Start(StreamStart),
    /// The caller's audio.
    Audio {
        /// Its sequence number, where the carrier numbers chunks.
        chunk: Option<u64>,
        /// In the format of [`StreamStart::inbound`].
        payload: &'p [u8],
    },
    /// A DTMF digit.
    Dtmf(char),
    /// Everything before this mark was played or cleared.
    Mark(u64),
    /// The carrier ends the stream.
    Stop,
    /// The carrier rejected something we sent; its message.
    Error(String),
    /// The message cannot be parsed; the reason.
    Malformed(String),
}

/// The beginning of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamStart {
    /// The carrier's id of the call.
    pub carrier_call_id: String,
    /// The token in the stream's parameters, if there is one.
    pub token: Option<String>,
    /// The format of the caller's audio.
    pub inbound: StreamFormat,
    /// The format of the agent's audio.
    pub outbound: StreamFormat,
}

/// Carries a call's audio, which has this `format` inside, until either side ends it. Nothing is carried before `attach` has accepted the stream for a call.
pub async fn serve<F>(
    mut socket: WebSocket,
    mut protocol: Box<dyn StreamProtocol>,
    format: AudioFormat,
    attach: impl FnOnce(StreamStart, Media) -> F,
) where
    F: Future<Output = bool>,
{
    let Some(started) = await_start(&mut socket, &mut *protocol).await else {
        return close(socket).await;
    };
    let Ok((decoder, encoder)) =
        coders(&started, format).inspect_err(|error| tracing::warn!(%error, "a stream is refused"))
    else {
        return close(socket).await;
    };
    let (to_us, incoming) = media_queue();
    let (outgoing, from_us) = mpsc::channel(EVENT_CAPACITY);
    if !attach(started, Media { incoming, outgoing, buffered: true, gaps_are_silence: true, shows_conversation: false })
        .await
    {
        return close(socket).await;
    }
    let (sink, mut stream) = socket.split();
    let protocol = Arc::new(std::sync::Mutex::new(protocol));
    let (pings, ping_requests) = mpsc::channel(1);
    let mut writer =
        StreamWriter { protocol: protocol.clone(), encoder, payload: Vec::new(), message: BytesMut::new(), sink };
    let received = ReceivedAudio { format, decoder, samples: Vec::new(), to_us: to_us.clone() };
    let reader = StreamReader {
        protocol,
        payload: Vec::new(),
        reorder: ReorderBuffer::default(),
        received,
        said_unreadable: false,
        said_rejected: false,
        pings,
    };
    let carried = caught(async {
        tokio::select! {
            () = reader.run(&mut stream) => {}
            () = writer.run(from_us, ping_requests) => {}
        }
    });
    if carried.await.is_err() {
        let _ = to_us.send(FromCarrier::Broken);
    }
    drop(to_us);
    // Whether the other end still reads makes no difference.
    if let Ok(Ok(())) = timeout(PING_AFTER, writer.sink.close()).await {
        await_close(&mut stream).await;
    }
}

fn coders(started: &StreamStart, format: AudioFormat) -> Result<(StreamDecoder, StreamEncoder), UnsupportedSampleRate> {
    Ok((StreamDecoder::new(started.inbound, format)?, StreamEncoder::new(started.outbound, format)?))
}

async fn close(mut socket: WebSocket) {
    // As above.
    if let Ok(Ok(())) = timeout(PING_AFTER, socket.send(Message::Close(None))).await {
        await_close(&mut socket).await;
    }
}

/// Returns the text without the byte order mark that some peers put before JSON.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

async fn await_start(socket: &mut WebSocket, protocol: &mut dyn StreamProtocol) -> Option<StreamStart> {
    let (by, mut payload) = (Instant::now() + START_TIMEOUT, Vec::new());
    let mut said_unreadable = false;
    loop {
        let event = match timeout_at(by, socket.recv()).await {
            Ok(Some(Ok(Message::Text(text)))) => protocol.read(without_mark(&text), &mut payload),
            Ok(Some(Ok(Message::Binary(bytes)))) => protocol.read_binary(&bytes, &mut payload),
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return None,
            Ok(Some(Ok(_))) => continue,
            Err(_) => {
                tracing::warn!("a media websocket never sent its start message");
                return None;
            }
        };
        match event {
            StreamEvent::Start(started) if text::is_id(&started.carrier_call_id) => return Some(started),
            StreamEvent::Start(_) => unreadable("a start with an id that is none of a call", &mut said_unreadable),
            StreamEvent::Stop => return None,
            StreamEvent::Malformed(why) => unreadable(&why, &mut said_unreadable),
            _ => {}
        }
    }
}

/// The protocol, used by both directions for a moment at a time.
type SharedProtocol = Arc<std::sync::Mutex<Box<dyn StreamProtocol>>>;

fn with<T>(protocol: &SharedProtocol, use_it: impl FnOnce(&mut dyn StreamProtocol) -> T) -> T {
    // Consistent at every step.
    use_it(&mut **protocol.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// The direction from the carrier to us.
struct StreamReader {
    protocol: SharedProtocol,
    /// Reused for each message.
    payload: Vec<u8>,
    reorder: ReorderBuffer,
    received: ReceivedAudio,
    said_unreadable: bool,
    said_rejected: bool,
    pings: mpsc::Sender<()>,
}

impl StreamReader {
    /// Reads until the stream ends.
    async fn run(mut self, stream: &mut SplitStream<WebSocket>) {
        self.read_all(stream).await;
        // The last that the caller said. Nothing follows if the conversation has ended.
        self.release(true);
    }

    async fn read_all(&mut self, stream: &mut SplitStream<WebSocket>) {
        let (mut pinged, mut last_message) = (false, Instant::now());
        // The missing chunk, and until when it is waited for.
        let mut hold: Option<(u64, Instant)> = None;
        loop {
            let now = Instant::now();
            let begun = |missing| hold.filter(|(known, _)| *known == missing).unwrap_or((missing, now + HOLD_FOR));
            hold = self.reorder.missing().map(begun);
            // After a phrase nothing is waited for: with several gaps the waits would add up.
            let quiet_at = last_message + HOLD_FOR;
            let until = hold.map_or(now + PING_AFTER, |(_, until)| until.min(quiet_at));
            let received = timeout_at(until, stream.next()).await;
            if received.is_ok() {
                last_message = Instant::now();
            }
            let continues = match received {
                Ok(Some(Ok(Message::Text(text)))) => {
                    self.read(|protocol, payload| protocol.read(without_mark(&text), payload))
                }
                Ok(Some(Ok(Message::Binary(bytes)))) => {
                    self.read(|protocol, payload| protocol.read_binary(&bytes, payload))
                }
                Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return,
                Ok(Some(Ok(_))) => true,
                Err(_) if hold.is_some() => self.release(until == quiet_at),
                Err(_) if pinged => {
                    tracing::warn!("a media websocket went silent");
                    return;
                }
                Err(_) => {
                    pinged = true;
                    // One pending request is enough.
                    let _ = self.pings.try_send(());
                    continue;
                }
            };
            if !continues {
                if self.received.to_us.is_closed() {
                    // The agent's last audio is being sent. Do not wait longer for a peer that does not read it.
                    tokio::time::sleep(PING_AFTER).await;
                }
                return;
            }
            pinged = false;
        }
    }

    /// Forwards what is held back for missing chunks: all of it, or up to the next that is missing. Returns whether the stream continues.
    fn release(&mut self, all: bool) -> bool {
        let mut continues = true;
        let forward = |chunk: Chunk<'_>| continues = continues && self.received.push(&chunk);
        if all {
            self.reorder.release_held(forward);
        } else {
            self.reorder.release_next(forward);
        }
        continues
    }

    /// Reads and handles a message. Returns whether the stream continues.
    fn read(&mut self, read: impl for<'p> FnOnce(&mut dyn StreamProtocol, &'p mut Vec<u8>) -> StreamEvent<'p>) -> bool {
        let mut payload = std::mem::take(&mut self.payload);
        let event = with(&self.protocol, |protocol| read(protocol, &mut payload));
        let continues = self.handle(event);
        self.payload = payload;
        continues
    }

    fn handle(&mut self, event: StreamEvent<'_>) -> bool {
        match event {
            StreamEvent::Audio { chunk, payload } => {
                let mut continues = true;
                self.reorder.push(chunk, payload, |chunk| continues = continues && self.received.push(&chunk));
                return continues;
            }
            StreamEvent::Dtmf(key) => return self.received.to_us.send(FromCarrier::Dtmf(key)),
            StreamEvent::Mark(mark) => return self.received.to_us.send(FromCarrier::MarkPlayed(mark)),
            StreamEvent::Stop => return false,
            StreamEvent::Error(words) => self.rejected(&words),
            StreamEvent::Malformed(why) => unreadable(&why, &mut self.said_unreadable),
            StreamEvent::Ignored | StreamEvent::Start(_) => {}
        }
        true
    }

    /// Logs a rejected message, once per stream, as for unreadable ones.
    fn rejected(&mut self, words: &str) {
        if !std::mem::replace(&mut self.said_rejected, true) {
            tracing::warn!(words = text::message(words), "the carrier rejected a message");
        }
    }
}

/// Counts an unreadable message. Logged once per stream: there may be 50 per second.
fn unreadable(why: &str, said: &mut bool) {
    metrics::counter!(UNREADABLE).increment(1);
    if !std::mem::replace(said, true) {
        tracing::warn!(why = text::message(why), "could not read a carrier's message");
    }
}

/// The caller's audio in order, for the conversation.
struct ReceivedAudio {
    format: AudioFormat,
    decoder: StreamDecoder,
    /// Less than a frame, between two chunks.
    samples: Vec<i16>,
    to_us: MediaSender,
}

impl ReceivedAudio {
    /// Forwards a chunk. Returns whether the stream continues, which it does until the conversation ends.
    fn push(&mut self, chunk: &Chunk<'_>) -> bool {
        let payload = match chunk {
            Chunk::Audio(payload) => payload,
            Chunk::Lost(chunks) => {
                metrics::counter!(CHUNKS_LOST).increment(*chunks);
                return true;
            }
        };
        self.decoder.decode(payload, &mut self.samples);
        let size = self.format.frame_samples();
        let whole = self.samples.len() / size * size;
        let mut frames = self.samples[..whole].chunks_exact(size).map(|chunk| Frame::from_slice(self.format, chunk));
        let continues = frames.all(|frame| self.to_us.send(FromCarrier::Audio(CallerAudio(frame))));
        self.samples.drain(..whole);
        continues
    }
}

/// The direction from us to the carrier.
struct StreamWriter {
    protocol: SharedProtocol,
    encoder: StreamEncoder,
    /// Audio to be sent in one message.
    payload: Vec<u8>,
    /// Buffer for messages; its memory is reused once a message has been sent.
    message: BytesMut,
    sink: SplitSink<WebSocket, Message>,
}

impl StreamWriter {
    /// Writes until our side ends the stream, or the peer is gone.
    async fn run(&mut self, mut from_us: mpsc::Receiver<ToCarrier>, mut ping_requests: mpsc::Receiver<()>) {
        loop {
            let sent = tokio::select! {
                message = from_us.recv() => match message {
                    Some(message) => self.send(message, &mut from_us).await,
                    None => return,
                },
                Some(()) = ping_requests.recv() => self.sink.send(Message::Ping(Bytes::new())).await,
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// Sends `first` and everything queued after it; audio that is queued together is sent in one message.
    async fn send(&mut self, first: ToCarrier, from_us: &mut mpsc::Receiver<ToCarrier>) -> Result<(), axum::Error> {
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                ToCarrier::Audio(audio) => self.encoder.encode(&audio.0, &mut self.payload),
                ToCarrier::Mark(mark) => {
                    self.play().await?;
                    self.feed(|protocol| protocol.mark(mark)).await?;
                }
                ToCarrier::Clear => {
                    self.play().await?;
                    self.feed(|protocol| protocol.clear()).await?;
                }
                // Carriers display nothing.
                ToCarrier::Info(_) => {}
            }
            next = from_us.try_recv().ok();
        }
        self.play().await?;
        self.sink.flush().await
    }

    /// Sends the pending audio as one message.
    async fn play(&mut self) -> Result<(), axum::Error> {
        if self.payload.is_empty() {
            return Ok(());
        }
        let binary = with(&self.protocol, |protocol| {
            protocol.play(&self.payload, &mut self.message);
            protocol.plays_binary()
        });
        self.payload.clear();
        let message = self.message.split().freeze();
        let message = if binary {
            Message::Binary(message)
        } else {
            Message::Text(Utf8Bytes::try_from(message).expect("protocols of text write text"))
        };
        self.sink.feed(message).await
    }

    async fn feed(&mut self, message: impl FnOnce(&mut dyn StreamProtocol) -> String) -> Result<(), axum::Error> {
        let text = with(&self.protocol, message);
        self.sink.feed(Message::Text(text.into())).await
    }
}
