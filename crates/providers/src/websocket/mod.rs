//! The websocket session shared by STT, TTS and speech to speech: handshake with the key, retries, keepalive, timeouts, close.
//! Adapters add only their protocol.

mod keepalive;
mod message;

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use switchhook_core::private::Private;
use switchhook_net::outbound::ws::{Message, WebSocket, WebSockets, unreadable};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

use self::keepalive::Keepalive;
pub(crate) use self::message::{StreamError, field, json, text_of};
use super::ProviderError;
use super::adapter_config::AdapterConfig;
use super::failure::{AttemptError, without_key};

/// While a caller waits, a server that has not reacted to a ping within this time is unreachable: longer than a message takes around
/// the world.
const UNREACHABLE: Duration = Duration::from_secs(1);

/// Bytes that a server may still send while its session is being closed.
const MAX_DISCARDED_BYTES: usize = 1 << 20;

/// The request that opens a session.
pub(crate) struct Handshake {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

impl Handshake {
    /// Creates a handshake with the key, if there is one, after `scheme` in `header`.
    ///
    /// # Errors
    /// A sentence when the key is not a valid header value.
    pub(crate) fn new(
        url: Url,
        key: Option<&Private<String>>,
        header: impl Into<HeaderName>,
        scheme: &str,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let value = HeaderValue::try_from(format!("{scheme}{}", key.reveal()));
            let mut value = value.map_err(|_| "credentials.api_key is not a valid header value.")?;
            value.set_sensitive(true);
            headers.insert(header.into(), value);
        }
        Ok(Self { url, headers })
    }
}

/// Timeouts and intervals of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// For a session to become ready, including retries.
    pub(crate) connect: Duration,
    /// For writing a message.
    pub(crate) send: Duration,
    /// Time without a message after which the server is pinged.
    pub(crate) ping: Duration,
    /// For any message to follow a ping.
    pub(crate) pong: Duration,
    /// For the server to close the connection.
    pub(crate) close: Duration,
}

/// Opens the sessions of one connection.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) provider: &'static str,
    pub(crate) key: Option<Private<String>>,
    pub(crate) timeouts: Timeouts,
    websockets: WebSockets,
}

impl Connector {
    pub(crate) fn new(config: &AdapterConfig<'_>, provider: &'static str, timeouts: Timeouts) -> Self {
        Self { provider, key: config.key.clone(), timeouts, websockets: config.websockets.clone() }
    }

    /// Opens a session.
    pub(crate) async fn connect(&self, handshake: Handshake) -> Result<Session, AttemptError> {
        let Handshake { url, headers } = handshake;
        let waited = self.timeouts.connect;
        let opened = self.websockets.connect(&url, headers, waited).await;
        let failed = |error| AttemptError::connecting(self.provider, error, &url, self.key.as_ref(), waited);
        let socket = opened.map_err(failed)?;
        let now = Instant::now();
        let keepalive = Keepalive::new(now, self.timeouts.ping);
        Ok(Session { connector: self.clone(), socket, keepalive, opened_at: now, last_message_at: now })
    }

    /// Repeats `attempt` as long as that may help and the connect timeout allows it; `pauses` are the minimum pauses before each retry.
    pub(crate) async fn with_retries<T, F: Future<Output = Result<T, AttemptError>>>(
        &self,
        pauses: &[Duration],
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, ProviderError> {
        let limit = self.timeouts.connect;
        let deadline = Instant::now() + limit;
        let mut pauses = pauses.iter();
        loop {
            let failure = match timeout_at(deadline, attempt()).await {
                Ok(Ok(ready)) => return Ok(ready),
                Ok(Err(failure)) => failure,
                Err(_) => return Err(ProviderError::timeout(self.provider, limit)),
            };
            let pause = failure.retry_after.zip(pauses.next()).map(|(requested, least)| requested.max(*least));
            let Some(pause) = pause.filter(|pause| Instant::now() + *pause < deadline) else {
                return Err(failure.error);
            };
            // The provider's message may quote the session's instructions.
            tracing::warn!(
                provider = self.provider,
                code = failure.error.code().as_str(),
                "websocket connection failed; retrying"
            );
            sleep(pause).await;
        }
    }
}

/// An open websocket.
pub(crate) struct Session {
    connector: Connector,
    socket: WebSocket,
    keepalive: Keepalive,
    pub(crate) opened_at: Instant,
    /// The time of the last text or binary message; pongs do not count.
    pub(crate) last_message_at: Instant,
}

impl Session {
    /// Returns the next message. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Message, AttemptError> {
        let message = match self.socket.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Err(self.lost(format!("the connection broke: {}", unreadable(&error)))),
            None => return Err(self.lost("it closed the connection".to_owned())),
        };
        let now = Instant::now();
        self.keepalive.received(now);
        if message.is_text() || message.is_binary() {
            self.last_message_at = now;
        }
        Ok(message)
    }

    /// Parses a message of a text protocol.
    pub(crate) fn parse<T>(
        &self,
        message: &Message,
        mut read: impl FnMut(&str) -> Result<Vec<T>, StreamError>,
    ) -> Result<Vec<T>, AttemptError> {
        let text = match message {
            Message::Text(text) => Ok(text.as_str()),
            // Some servers send JSON in binary frames.
            Message::Binary(bytes) => std::str::from_utf8(bytes)
                .map_err(|_| StreamError::Retryable("it sent a message that is not text".to_owned())),
            Message::Close(frame) => {
                let Connector { provider, key, .. } = &self.connector;
                return Err(AttemptError::closed(provider, frame.as_ref(), key.as_ref()));
            }
            _ => Ok(""),
        };
        // Empty messages keep a connection open.
        let parsed = text.and_then(|text| if text.trim().is_empty() { Ok(Vec::new()) } else { read(text) });
        parsed.map_err(|error| self.failed(error))
    }

    /// Converts the error that ended the stream to the failure of an attempt.
    pub(crate) fn failed(&self, error: StreamError) -> AttemptError {
        match error {
            StreamError::Permanent(words) => {
                AttemptError::config(self.connector.provider, without_key(words, self.connector.key.as_ref()))
            }
            StreamError::Retryable(words) => self.lost(words),
        }
    }

    /// Creates a retryable failure.
    pub(crate) fn lost(&self, words: String) -> AttemptError {
        AttemptError::failed(self.connector.provider, without_key(words, self.connector.key.as_ref()))
    }

    pub(crate) async fn send(&mut self, message: Message) -> Result<(), AttemptError> {
        self.send_all([message]).await
    }

    /// Sends messages in one write.
    pub(crate) async fn send_all(&mut self, messages: impl IntoIterator<Item = Message>) -> Result<(), AttemptError> {
        let sending = async {
            for message in messages {
                self.socket.feed(message).await?;
            }
            self.socket.flush().await
        };
        match timeout(self.connector.timeouts.send, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.lost(format!("the connection broke: {error}"))),
            Err(_) => Err(AttemptError::timeout(self.connector.provider, self.connector.timeouts.send)),
        }
    }

    /// Pings the server unless a ping is pending; any message must arrive within `limit`.
    pub(crate) async fn ping(&mut self, limit: Duration) -> Result<(), AttemptError> {
        if self.keepalive.ping(Instant::now(), limit) {
            self.send(Message::Ping(Vec::new().into())).await?;
        }
        Ok(())
    }

    /// Returns when [`Session::keepalive`] must be called.
    pub(crate) fn keepalive_due(&self) -> Instant {
        self.keepalive.due()
    }

    /// Pings the server when that is due.
    ///
    /// # Errors
    /// When nothing arrived in time after a ping.
    pub(crate) async fn keepalive(&mut self, now: Instant) -> Result<(), AttemptError> {
        match self.keepalive.limit() {
            _ if now < self.keepalive.due() => Ok(()),
            Some(limit) => Err(AttemptError::timeout(self.connector.provider, limit)),
            None => self.ping(self.connector.timeouts.pong).await,
        }
    }

    /// Returns when it is certain whether silence until `deadline` means a dead connection.
    pub(crate) fn liveness_known_at(&self, deadline: Instant) -> Instant {
        self.keepalive.pinged_at().map_or(deadline, |pinged| deadline.max(pinged + UNREACHABLE))
    }

    /// Fails when nothing has arrived since a ping for longer than a caller can wait.
    pub(crate) fn check_liveness(&self) -> Result<(), AttemptError> {
        let waited = self.keepalive.pinged_at().map(|pinged| pinged.elapsed()).filter(|waited| *waited >= UNREACHABLE);
        waited.map_or(Ok(()), |waited| Err(AttemptError::timeout(self.connector.provider, waited)))
    }

    /// Sends the protocol's last message, if it has one, and waits until the server closes: sessions are billed while open.
    pub(crate) async fn close(mut self, close_message: Option<Message>) {
        let limit = self.connector.timeouts.close;
        let closing = async {
            let _ = match close_message {
                Some(message) => self.socket.send(message).await,
                None => self.socket.close(None).await,
            };
            let mut discarded = 0;
            while let Some(Ok(message)) = self.socket.next().await {
                discarded += message.len();
                if discarded > MAX_DISCARDED_BYTES {
                    return; // Dropping the socket ends what the server will not.
                }
            }
        };
        if timeout(limit, closing).await.is_err() {
            let _ = timeout(limit, self.socket.close(None)).await;
        }
    }
}
