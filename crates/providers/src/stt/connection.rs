//! One connection to a streaming STT provider.

use std::sync::Arc;
use std::time::Duration;

use switchhook_media::frame::CallerAudio;
use switchhook_net::outbound::ws::Message;
use tokio::time::{Instant, timeout};

use super::encoder::Encoder;
use super::protocol::{KeepAlive, SttAdapter, SttMessage, SttProtocol, SttStreamConfig};
use crate::failure::AttemptError;
use crate::websocket::{self, Session, Timeouts};
use crate::{ProviderError, SttOptions};

/// Connecting must finish before failover starts, after 4 s.
pub(super) const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_millis(3_500),
    send: Duration::from_secs(3),
    ping: Duration::from_secs(20),
    pong: Duration::from_secs(5),
    close: Duration::from_secs(2),
};
/// Pauses before the second and the third attempt to open the first connection of a call.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];

/// Opens a call's connections.
pub(super) struct Connector {
    websocket: websocket::Connector,
    adapter: Arc<dyn SttAdapter>,
    options: SttOptions,
    /// The adapter's configuration of a stream with these options.
    pub(super) stream_config: SttStreamConfig,
}

impl Connector {
    pub(super) fn new(websocket: websocket::Connector, adapter: Arc<dyn SttAdapter>, options: SttOptions) -> Self {
        let stream_config = adapter.stream_config(&options);
        Self { websocket, adapter, options, stream_config }
    }

    /// Opens the first connection of a call.
    pub(super) async fn open(&self) -> Result<Connection, ProviderError> {
        self.websocket.with_retries(&RETRY_PAUSES, || self.connect()).await
    }

    /// Opens one connection and waits until it is ready.
    pub(super) async fn connect(&self) -> Result<Connection, AttemptError> {
        let stream_config = self.stream_config;
        let invalid = |words| AttemptError::config(stream_config.name, words);
        let SttStreamConfig { encoding, sample_rate, chunk, .. } = stream_config;
        let encoder = Encoder::new(self.options.format, encoding, sample_rate, chunk)
            .map_err(|error| invalid(error.to_string()))?;
        let handshake = self.adapter.handshake(&self.options).map_err(invalid)?;
        let session = self.websocket.connect(handshake).await?;
        let protocol = self.adapter.protocol(&self.options);
        let last_audio_at = session.opened_at;
        let mut connection = Connection { session, protocol, encoder, stream_config, last_audio_at };
        if connection.protocol.sends_ready() {
            let ready = timeout(TIMEOUTS.connect, connection.ready()).await;
            ready.unwrap_or_else(|_| Err(AttemptError::timeout(stream_config.name, TIMEOUTS.connect)))?;
        }
        // A keepalive message alone does not keep a stream alive before any audio.
        if matches!(connection.protocol.keep_alive(), KeepAlive::Message(..))
            && let Some(silence) = connection.encoder.silence()
        {
            connection.send_audio(silence).await?;
        }
        Ok(connection)
    }
}

/// A session with its provider's protocol.
pub(super) struct Connection {
    pub(super) session: Session,
    protocol: Box<dyn SttProtocol>,
    encoder: Encoder,
    stream_config: SttStreamConfig,
    /// When audio, or a keepalive message in its place, was last sent.
    last_audio_at: Instant,
}

impl Connection {
    async fn ready(&mut self) -> Result<(), AttemptError> {
        loop {
            for message in self.next().await? {
                match message {
                    SttMessage::Ready => return Ok(()),
                    SttMessage::Reply(reply) => self.session.send(reply).await?,
                    _ => {}
                }
            }
        }
    }

    /// Returns the contents of the next message. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Vec<SttMessage>, AttemptError> {
        let message = self.session.next().await?;
        if let Message::Close(frame) = &message {
            let (code, reason) = frame.as_ref().map_or((1005, ""), |frame| (frame.code.into(), frame.reason.as_str()));
            return Err(self.session.failed(self.protocol.classify_close(code, reason)));
        }
        self.session.parse(&message, |text| self.protocol.read(text))
    }

    /// Sends a frame, batched into messages of the configured length.
    pub(super) async fn audio(&mut self, frame: &CallerAudio) -> Result<(), AttemptError> {
        match self.encoder.push(&frame.0) {
            Some(audio) => self.send_audio(audio).await,
            None => Ok(()),
        }
    }

    async fn send_audio(&mut self, audio: Vec<u8>) -> Result<(), AttemptError> {
        self.last_audio_at = Instant::now();
        let message = self.protocol.audio(audio);
        self.session.send(message).await
    }

    /// Requests the final words of all audio so far, and a sign of life.
    pub(super) async fn finalize(&mut self) -> Result<(), AttemptError> {
        if let Some(audio) = self.encoder.flush(self.stream_config.full_chunks_only) {
            self.send_audio(audio).await?;
        }
        if let Some(message) = self.protocol.finalize() {
            self.session.send(message).await?;
        }
        self.session.ping(TIMEOUTS.pong).await
    }

    /// Returns when [`Connection::keepalive`] must be called.
    pub(super) fn keepalive_due(&self) -> Instant {
        let ping = self.session.keepalive_due();
        match self.protocol.keep_alive() {
            KeepAlive::Pings => ping,
            KeepAlive::Message(after, _) | KeepAlive::Silence(after) => ping.min(self.last_audio_at + after),
        }
    }

    pub(super) async fn keepalive(&mut self, now: Instant) -> Result<(), AttemptError> {
        self.session.keepalive(now).await?;
        match self.protocol.keep_alive() {
            KeepAlive::Message(after, message) if now >= self.last_audio_at + after => {
                self.last_audio_at = now;
                self.session.send(Message::text(message)).await
            }
            KeepAlive::Silence(after) if now >= self.last_audio_at + after => match self.encoder.silence() {
                Some(silence) => self.send_audio(silence).await,
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    pub(super) async fn close(self) {
        self.session.close(self.protocol.close_message()).await;
    }
}
