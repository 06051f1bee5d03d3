//! One connection to a recogniser.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use switchhook_core::private::Private;
use switchhook_media::frame::Frame;
use tokio::time::{Instant, timeout, timeout_at};

use super::protocol::{Broken, Dialect, Heard, KeepAlive, Protocol, Style};
use super::pulse::Pulse;
use super::sound::Encoder;
use crate::outbound::ws::{Message, WebSocket, WebSockets, unreadable};
use crate::providers::refusal::{Trouble, without_key};
use crate::providers::{ProviderError, SttOptions};

/// Until a connection is made and the provider has said that it is ready. A fallback is asked after 4 s.
const OPEN: Duration = Duration::from_millis(3_500);
/// Before the second and the third try to open one.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// Until a message is taken.
const SEND: Duration = Duration::from_secs(3);
/// Until the server has closed a connection that we are done with.
const CLOSE: Duration = Duration::from_secs(2);

/// How a call's connections are made.
pub(super) struct Dial {
    pub(super) websockets: WebSockets,
    pub(super) dialect: Arc<dyn Dialect>,
    pub(super) options: SttOptions,
    pub(super) key: Option<Private<String>>,
}

impl Dial {
    pub(super) fn style(&self) -> Style {
        self.dialect.style(&self.options)
    }

    /// The first connection of a call, tried up to three times in all.
    pub(super) async fn open(&self) -> Result<Line, ProviderError> {
        let deadline = Instant::now() + OPEN;
        let mut pauses = PAUSES.iter();
        loop {
            let trouble = match timeout_at(deadline, self.connect()).await {
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(trouble)) => trouble,
                Err(_) => return Err(Trouble::timeout(self.style().name, OPEN).error),
            };
            let pause = trouble.again.zip(pauses.next()).map(|(asked, least)| asked.max(*least));
            let Some(pause) = pause.filter(|pause| Instant::now() + *pause < deadline) else {
                return Err(trouble.error);
            };
            tracing::warn!(error = %trouble.error, "a recogniser cannot be opened; trying again");
            tokio::time::sleep(pause).await;
        }
    }

    /// Makes one connection and waits until it is ready.
    pub(super) async fn connect(&self) -> Result<Line, Trouble> {
        let style = self.style();
        let target = self.dialect.target(&self.options).map_err(|words| Trouble::config(style.name, words))?;
        let opened = self.websockets.connect(&target.url, target.headers, OPEN).await;
        let socket =
            opened.map_err(|error| Trouble::opening(style.name, error, &target.url, self.key.as_ref(), OPEN))?;
        let encoder = Encoder::new(style.encoding, style.sample_rate, style.chunk)
            .map_err(|error| Trouble::config(style.name, error.to_string()))?;
        let now = Instant::now();
        let protocol = self.dialect.protocol(&self.options);
        let (style, key) = (style, self.key.clone());
        let pulse = Pulse::new(now);
        let mut line = Line { socket, protocol, encoder, style, key, made: now, spoke: now, sent: now, pulse };
        if line.protocol.greets() {
            let ready = timeout(OPEN, line.ready()).await;
            ready.unwrap_or_else(|_| Err(Trouble::timeout(style.name, OPEN)))?;
        }
        // A keep-alive alone does not keep a stream on which no sound was ever heard.
        if matches!(line.protocol.keep_alive(), KeepAlive::Message(..))
            && let Some(silence) = line.encoder.silence()
        {
            line.send_sound(silence).await?;
        }
        Ok(line)
    }
}

/// A connection.
pub(super) struct Line {
    socket: WebSocket,
    protocol: Box<dyn Protocol>,
    encoder: Encoder,
    style: Style,
    key: Option<Private<String>>,
    pub(super) made: Instant,
    /// When the provider said something last, whatever it was; a pong is nothing.
    pub(super) spoke: Instant,
    /// When sound was sent last, or something in its place.
    sent: Instant,
    pulse: Pulse,
}

impl Line {
    async fn ready(&mut self) -> Result<(), Trouble> {
        loop {
            for heard in self.next().await? {
                match heard {
                    Heard::Ready => return Ok(()),
                    Heard::Answer(message) => self.send(message).await?,
                    _ => {}
                }
            }
        }
    }

    /// What the next message says. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Result<Vec<Heard>, Trouble> {
        let message = match self.socket.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Err(self.lost(format!("the connection broke: {}", unreadable(&error)))),
            None => return Err(self.lost("the connection broke".to_owned())),
        };
        self.pulse.beats();
        if matches!(message, Message::Text(_) | Message::Binary(_)) {
            self.spoke = Instant::now();
        }
        let read = match &message {
            Message::Text(text) => self.protocol.read(text.as_str()),
            Message::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.protocol.read(text),
                Err(_) => Err(Broken::Lost("it sent a message that is not text".to_owned())),
            },
            Message::Close(frame) => {
                let (code, reason) =
                    frame.as_ref().map_or((1005, ""), |frame| (frame.code.into(), frame.reason.as_str()));
                Err(self.protocol.closed(code, reason))
            }
            _ => Ok(Vec::new()),
        };
        read.map_err(|broken| self.broken(broken))
    }

    pub(super) fn broken(&self, broken: Broken) -> Trouble {
        match broken {
            Broken::Refused(words) => Trouble::config(self.style.name, without_key(words, self.key.as_ref())),
            Broken::Lost(words) => self.lost(words),
        }
    }

    pub(super) fn lost(&self, words: String) -> Trouble {
        Trouble::failed(self.style.name, without_key(words, self.key.as_ref()))
    }

    pub(super) async fn send(&mut self, message: Message) -> Result<(), Trouble> {
        match timeout(SEND, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.lost(format!("the connection broke: {error}"))),
            Err(_) => Err(Trouble::timeout(self.style.name, SEND)),
        }
    }

    /// Sends 20 ms, in messages of the agreed length.
    pub(super) async fn sound(&mut self, frame: &Frame) -> Result<(), Trouble> {
        match self.encoder.push(frame) {
            Some(sound) => self.send_sound(sound).await,
            None => Ok(()),
        }
    }

    async fn send_sound(&mut self, sound: Vec<u8>) -> Result<(), Trouble> {
        self.sent = Instant::now();
        let message = self.protocol.audio(sound);
        self.send(message).await
    }

    /// Asks for the final words of everything so far, and whether anybody is there.
    pub(super) async fn finalize(&mut self) -> Result<(), Trouble> {
        if let Some(sound) = self.encoder.flush(self.style.only_whole_chunks) {
            self.send_sound(sound).await?;
        }
        if let Some(message) = self.protocol.finalize() {
            self.send(message).await?;
        }
        self.ping().await
    }

    async fn ping(&mut self) -> Result<(), Trouble> {
        self.pulse.asks(Instant::now());
        self.send(Message::Ping(Vec::new().into())).await
    }

    /// When it can be told whether words that did not come by `deadline` are those of a dead line.
    pub(super) fn known_at(&self, deadline: Instant) -> Instant {
        self.pulse.known_at(deadline)
    }

    /// Fails when nothing at all has come since a ping.
    pub(super) fn check_alive(&self) -> Result<(), Trouble> {
        let dead = self.pulse.dead_for(Instant::now());
        dead.map_or(Ok(()), |dead| Err(Trouble::timeout(self.style.name, dead)))
    }

    /// When [`Line::upkeep`] has something to do.
    pub(super) fn upkeep_due(&self) -> Instant {
        let ping = self.pulse.due();
        match self.protocol.keep_alive() {
            KeepAlive::Pings => ping,
            KeepAlive::Message(after, _) | KeepAlive::Silence(after) => ping.min(self.sent + after),
        }
    }

    /// Does what keeps the connection.
    pub(super) async fn upkeep(&mut self, now: Instant) -> Result<(), Trouble> {
        if self.pulse.is_lost(now) {
            return self.check_alive();
        }
        match self.protocol.keep_alive() {
            KeepAlive::Message(after, message) if now >= self.sent + after => {
                self.sent = now;
                self.send(message).await?;
            }
            KeepAlive::Silence(after) if now >= self.sent + after => {
                if let Some(silence) = self.encoder.silence() {
                    self.send_sound(silence).await?;
                }
            }
            _ => {}
        }
        if self.pulse.wants_ping(now) { self.ping().await } else { Ok(()) }
    }

    /// Says goodbye, so that the provider stops counting, and waits until it has closed.
    pub(super) async fn close(mut self) {
        let closing = async {
            match self.protocol.goodbye() {
                Some(goodbye) => {
                    let _ = self.socket.send(goodbye).await;
                }
                None => {
                    let _ = self.socket.close(None).await;
                }
            }
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        if timeout(CLOSE, closing).await.is_err() {
            let _ = timeout(CLOSE, self.socket.close(None)).await;
        }
    }
}
