//! One connection to a streaming STT provider.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use switchhook_core::private::Private;
use switchhook_media::frame::Frame;
use tokio::time::{Instant, timeout, timeout_at};

use super::encoder::Encoder;
use super::keepalive::Keepalive;
use super::protocol::{KeepAlive, StreamError, SttAdapter, SttMessage, SttProtocol, SttStreamConfig};
use crate::outbound::ws::{Message, WebSocket, WebSockets, unreadable};
use crate::providers::failure::{AttemptError, without_key};
use crate::providers::{ProviderError, SttOptions};

/// Until a session is ready, retries included. Failover starts after 4 s.
const OPEN: Duration = Duration::from_millis(3_500);
/// Before the second and the third try to open one.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// Until a message is taken.
const SEND: Duration = Duration::from_secs(3);
/// Until the server has closed a connection that we are done with.
const CLOSE: Duration = Duration::from_secs(2);

/// How a call's connections are made.
pub(super) struct Connector {
    pub(super) websockets: WebSockets,
    pub(super) dialect: Arc<dyn SttAdapter>,
    pub(super) options: SttOptions,
    pub(super) key: Option<Private<String>>,
}

impl Connector {
    pub(super) fn stream_config(&self) -> SttStreamConfig {
        self.dialect.stream_config(&self.options)
    }

    /// The first connection of a call, tried up to three times in all.
    pub(super) async fn open(&self) -> Result<Connection, ProviderError> {
        let deadline = Instant::now() + OPEN;
        let mut pauses = PAUSES.iter();
        loop {
            let failure = match timeout_at(deadline, self.connect()).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(failure)) => failure,
                Err(_) => return Err(AttemptError::timeout(self.stream_config().name, OPEN).error),
            };
            let pause = failure.retry_after.zip(pauses.next()).map(|(asked, least)| asked.max(*least));
            let Some(pause) = pause.filter(|pause| Instant::now() + *pause < deadline) else {
                return Err(failure.error);
            };
            tracing::warn!(error = %failure.error, "STT connection failed; retrying");
            tokio::time::sleep(pause).await;
        }
    }

    /// Makes one connection and waits until it is ready.
    pub(super) async fn connect(&self) -> Result<Connection, AttemptError> {
        let stream_config = self.stream_config();
        let target =
            self.dialect.target(&self.options).map_err(|words| AttemptError::config(stream_config.name, words))?;
        let opened = self.websockets.connect(&target.url, target.headers, OPEN).await;
        let socket = opened.map_err(|error| {
            AttemptError::connecting(stream_config.name, error, &target.url, self.key.as_ref(), OPEN)
        })?;
        let encoder = Encoder::new(stream_config.encoding, stream_config.sample_rate, stream_config.chunk)
            .map_err(|error| AttemptError::config(stream_config.name, error.to_string()))?;
        let now = Instant::now();
        let protocol = self.dialect.protocol(&self.options);
        let (stream_config, key) = (stream_config, self.key.clone());
        let keepalive = Keepalive::new(now);
        let mut connection =
            Connection { socket, protocol, encoder, stream_config, key, made: now, spoke: now, sent: now, keepalive };
        if connection.protocol.sends_ready() {
            let ready = timeout(OPEN, connection.ready()).await;
            ready.unwrap_or_else(|_| Err(AttemptError::timeout(stream_config.name, OPEN)))?;
        }
        // A keep-alive alone does not keep a stream on which no audio was ever heard.
        if matches!(connection.protocol.keep_alive(), KeepAlive::Message(..))
            && let Some(silence) = connection.encoder.silence()
        {
            connection.send_audio(silence).await?;
        }
        Ok(connection)
    }
}

/// A connection.
pub(super) struct Connection {
    socket: WebSocket,
    protocol: Box<dyn SttProtocol>,
    encoder: Encoder,
    stream_config: SttStreamConfig,
    key: Option<Private<String>>,
    pub(super) made: Instant,
    /// When the provider said something last, whatever it was; a pong is nothing.
    pub(super) spoke: Instant,
    /// When audio was sent last, or something in its place.
    sent: Instant,
    keepalive: Keepalive,
}

impl Connection {
    async fn ready(&mut self) -> Result<(), AttemptError> {
        loop {
            for heard in self.next().await? {
                match heard {
                    SttMessage::Ready => return Ok(()),
                    SttMessage::Reply(message) => self.send(message).await?,
                    _ => {}
                }
            }
        }
    }

    /// What the next message says. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Result<Vec<SttMessage>, AttemptError> {
        let message = match self.socket.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Err(self.lost(format!("the connection broke: {}", unreadable(&error)))),
            None => return Err(self.lost("the connection broke".to_owned())),
        };
        self.keepalive.received();
        if matches!(message, Message::Text(_) | Message::Binary(_)) {
            self.spoke = Instant::now();
        }
        let read = match &message {
            Message::Text(text) => self.protocol.read(text.as_str()),
            Message::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.protocol.read(text),
                Err(_) => Err(StreamError::Retryable("it sent a message that is not text".to_owned())),
            },
            Message::Close(frame) => {
                let (code, reason) =
                    frame.as_ref().map_or((1005, ""), |frame| (frame.code.into(), frame.reason.as_str()));
                Err(self.protocol.classify_close(code, reason))
            }
            _ => Ok(Vec::new()),
        };
        read.map_err(|broken| self.broken(broken))
    }

    pub(super) fn broken(&self, broken: StreamError) -> AttemptError {
        match broken {
            StreamError::Permanent(words) => {
                AttemptError::config(self.stream_config.name, without_key(words, self.key.as_ref()))
            }
            StreamError::Retryable(words) => self.lost(words),
        }
    }

    pub(super) fn lost(&self, words: String) -> AttemptError {
        AttemptError::failed(self.stream_config.name, without_key(words, self.key.as_ref()))
    }

    pub(super) async fn send(&mut self, message: Message) -> Result<(), AttemptError> {
        match timeout(SEND, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.lost(format!("the connection broke: {error}"))),
            Err(_) => Err(AttemptError::timeout(self.stream_config.name, SEND)),
        }
    }

    /// Sends 20 ms, in messages of the agreed length.
    pub(super) async fn audio(&mut self, frame: &Frame) -> Result<(), AttemptError> {
        match self.encoder.push(frame) {
            Some(audio) => self.send_audio(audio).await,
            None => Ok(()),
        }
    }

    async fn send_audio(&mut self, audio: Vec<u8>) -> Result<(), AttemptError> {
        self.sent = Instant::now();
        let message = self.protocol.audio(audio);
        self.send(message).await
    }

    /// Asks for the final words of everything so far, and liveness.
    pub(super) async fn finalize(&mut self) -> Result<(), AttemptError> {
        if let Some(audio) = self.encoder.flush(self.stream_config.full_chunks_only) {
            self.send_audio(audio).await?;
        }
        if let Some(message) = self.protocol.finalize() {
            self.send(message).await?;
        }
        self.ping().await
    }

    async fn ping(&mut self) -> Result<(), AttemptError> {
        self.keepalive.ping_sent(Instant::now());
        self.send(Message::Ping(Vec::new().into())).await
    }

    /// When it can be told whether words that did not come by `deadline` are those of a dead connection.
    pub(super) fn decided_at(&self, deadline: Instant) -> Instant {
        self.keepalive.decided_at(deadline)
    }

    /// Fails when nothing at all has come since a ping.
    pub(super) fn check_alive(&self) -> Result<(), AttemptError> {
        let dead = self.keepalive.unresponsive_for(Instant::now());
        dead.map_or(Ok(()), |dead| Err(AttemptError::timeout(self.stream_config.name, dead)))
    }

    /// When [`Connection::upkeep`] has something to do.
    pub(super) fn upkeep_due(&self) -> Instant {
        let ping = self.keepalive.due();
        match self.protocol.keep_alive() {
            KeepAlive::Pings => ping,
            KeepAlive::Message(after, _) | KeepAlive::Silence(after) => ping.min(self.sent + after),
        }
    }

    /// Does what keeps the connection.
    pub(super) async fn upkeep(&mut self, now: Instant) -> Result<(), AttemptError> {
        if self.keepalive.is_dead(now) {
            return self.check_alive();
        }
        match self.protocol.keep_alive() {
            KeepAlive::Message(after, message) if now >= self.sent + after => {
                self.sent = now;
                self.send(message).await?;
            }
            KeepAlive::Silence(after) if now >= self.sent + after => {
                if let Some(silence) = self.encoder.silence() {
                    self.send_audio(silence).await?;
                }
            }
            _ => {}
        }
        if self.keepalive.wants_ping(now) { self.ping().await } else { Ok(()) }
    }

    /// Sends the close message, so that the provider stops billing, and waits until it has closed.
    pub(super) async fn close(mut self) {
        let closing = async {
            match self.protocol.close_message() {
                Some(close_message) => {
                    let _ = self.socket.send(close_message).await;
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
