//! The task of one call's session: it owns the socket, and ends when the session is dropped.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{SinkExt as _, StreamExt as _};
use switchhook_core::private::Private;
use switchhook_media::frame::{CallerAudio, Frame};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::output_limit::OutputLimit;
use super::protocol::{RealtimeAdapter, RealtimeMessage, RealtimeProtocol};
use super::{Order, Realtime, RealtimeEvent, RealtimeOptions, RealtimeSession};
use crate::outbound::ws::{Message, WebSocket, WebSockets, unreadable};
use crate::providers::ProviderError;
use crate::providers::adapter_config::AdapterConfig;
use crate::providers::failure::{AttemptError, without_key};
use crate::providers::stt::StreamError;
use crate::queues::Queue;

/// Until a session is as it was asked for.
const OPEN: Duration = Duration::from_secs(5);
/// Before the second try to open one.
const PAUSE: Duration = Duration::from_millis(200);
/// Until a message is taken.
const SEND: Duration = Duration::from_secs(3);
/// Between two pings, which show that somebody is there: a half-open connection looks like a model with nothing to say.
const PING_EVERY: Duration = Duration::from_secs(10);
/// Until something comes after a ping, and while somebody waits for it.
const PONG: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_secs(2);
/// Until the server has closed a connection that we are done with.
const CLOSE: Duration = Duration::from_secs(2);
/// Frames and orders that may wait for the socket: some 20 s, since a session may begin with 10 s at once.
const WAITING: usize = 1_024;

/// Speech to speech over websockets.
pub(crate) struct RealtimeClient {
    websockets: WebSockets,
    key: Option<Private<String>>,
    dialect: Arc<dyn RealtimeAdapter>,
}

impl RealtimeClient {
    pub(crate) fn new(config: &AdapterConfig<'_>, dialect: impl RealtimeAdapter + 'static) -> Self {
        Self { websockets: config.websockets.clone(), key: config.key.clone(), dialect: Arc::new(dialect) }
    }

    async fn connect(&self, options: &RealtimeOptions) -> Result<RealtimeConnection, AttemptError> {
        let name = self.dialect.name();
        let target = self.dialect.target(options).map_err(|words| AttemptError::config(name, words))?;
        let opened = self.websockets.connect(&target.url, target.headers, OPEN).await;
        let socket =
            opened.map_err(|error| AttemptError::connecting(name, error, &target.url, self.key.as_ref(), OPEN))?;
        let protocol = self.dialect.protocol(options);
        let mut line = RealtimeConnection { socket, protocol, name, key: self.key.clone() };
        line.ready().await?;
        Ok(line)
    }

    /// A connection that could not be made is tried once more: the phone rings meanwhile.
    async fn dial(&self, options: &RealtimeOptions) -> Result<RealtimeConnection, ProviderError> {
        let deadline = Instant::now() + OPEN;
        let late = || AttemptError::timeout(self.dialect.name(), OPEN);
        let first = timeout_at(deadline, self.connect(options)).await.unwrap_or_else(|_| Err(late()));
        let failure = match first {
            Ok(line) => return Ok(line),
            Err(failure) => failure,
        };
        let Some(pause) =
            failure.retry_after.map(|asked| asked.max(PAUSE)).filter(|pause| Instant::now() + *pause < deadline)
        else {
            return Err(failure.error);
        };
        let code = failure.error.code().as_str();
        tracing::warn!(code, "speech-to-speech connection failed; retrying");
        tokio::time::sleep(pause).await;
        let second = timeout_at(deadline, self.connect(options)).await.unwrap_or_else(|_| Err(late()));
        second.map_err(|failure| failure.error)
    }
}

#[async_trait]
impl Realtime for RealtimeClient {
    fn can_use_pcm(&self) -> bool {
        self.dialect.can_use_pcm()
    }

    async fn open(
        &self,
        options: RealtimeOptions,
        events: mpsc::Sender<RealtimeEvent>,
    ) -> Result<Box<dyn RealtimeSession>, ProviderError> {
        let line = self.dial(&options).await?;
        let (told, waiting) = mpsc::channel(WAITING);
        tokio::spawn(line.serve(waiting, events));
        Ok(Box::new(SessionHandle { told }))
    }
}

/// The call's end of the task.
struct SessionHandle {
    told: mpsc::Sender<SessionInput>,
}

/// Input of the session task.
#[expect(clippy::large_enum_variant, reason = "nearly every one is audio")]
enum SessionInput {
    Audio(Frame),
    Order(Order),
    Probe,
}

impl SessionHandle {
    /// A full channel belongs to a socket that takes nothing: the task will say so.
    fn tell(&self, told: SessionInput) {
        let _ = self.told.try_send(told);
    }
}

impl RealtimeSession for SessionHandle {
    fn audio(&mut self, frame: &CallerAudio) {
        self.tell(SessionInput::Audio(frame.0));
    }

    fn order(&mut self, order: Order) {
        self.tell(SessionInput::Order(order));
    }

    fn probe(&mut self) {
        self.tell(SessionInput::Probe);
    }
}

/// Whether somebody is there.
struct Ping {
    /// How long the answer to a ping may take that is under way.
    pinged: Option<Duration>,
    /// When that is over, or the next ping is due.
    due: Instant,
}

impl Ping {
    /// Something has just come.
    fn felt() -> Self {
        Self { pinged: None, due: Instant::now() + PING_EVERY }
    }
}

/// A connection.
struct RealtimeConnection {
    socket: WebSocket,
    protocol: Box<dyn RealtimeProtocol>,
    name: &'static str,
    key: Option<Private<String>>,
}

impl RealtimeConnection {
    async fn ready(&mut self) -> Result<(), AttemptError> {
        let mut ready = false;
        while !ready {
            for heard in self.next().await? {
                match heard {
                    RealtimeMessage::Ready => ready = true,
                    RealtimeMessage::Reply(message) => self.send(Message::text(message)).await?,
                    RealtimeMessage::Event(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Until the session is dropped or lost.
    async fn serve(mut self, mut waiting: mpsc::Receiver<SessionInput>, events: mpsc::Sender<RealtimeEvent>) {
        if let Err(failure) = self.exchange(&mut waiting, &events).await {
            let _ = events.send(RealtimeEvent::Lost(failure.error)).await;
        }
        self.close().await;
    }

    async fn exchange(
        &mut self,
        waiting: &mut mpsc::Receiver<SessionInput>,
        events: &mpsc::Sender<RealtimeEvent>,
    ) -> Result<(), AttemptError> {
        let (mut pulse, mut output_limit) = (Ping::felt(), OutputLimit::new(Instant::now()));
        loop {
            tokio::select! {
                told = waiting.recv() => match told {
                    Some(SessionInput::Audio(frame)) => {
                        if let Some(message) = self.protocol.audio(&frame) {
                            self.send(Message::text(message)).await?;
                        }
                    }
                    Some(SessionInput::Order(order)) => {
                        if matches!(order, Order::Respond { .. }) {
                            self.ping(&mut pulse, SOON).await?;
                        }
                        for message in self.protocol.order(order) {
                            self.send(Message::text(message)).await?;
                        }
                    }
                    Some(SessionInput::Probe) => self.ping(&mut pulse, SOON).await?,
                    None => return Ok(()),
                },
                heard = self.next() => {
                    pulse = Ping::felt();
                    for heard in heard? {
                        match heard {
                            RealtimeMessage::Ready => {}
                            RealtimeMessage::Reply(message) => self.send(Message::text(message)).await?,
                            RealtimeMessage::Event(event) if !output_limit.takes(&event, Instant::now()) => {
                                Queue::Realtime.full();
                                return Err(self.lost("it sends more than can be heard".to_owned()));
                            }
                            RealtimeMessage::Event(event) => if events.send(event).await.is_err() {
                                return Ok(());
                            },
                        }
                    }
                }
                () = sleep_until(pulse.due) => match pulse.pinged {
                    Some(limit) => return Err(AttemptError::timeout(self.name, limit)),
                    None => self.ping(&mut pulse, PONG).await?,
                },
            }
        }
    }

    /// Asks whether somebody is there, unless that is already asked; the answer has to come within `limit`.
    async fn ping(&mut self, pulse: &mut Ping, limit: Duration) -> Result<(), AttemptError> {
        let due = Instant::now() + limit;
        match pulse.pinged {
            Some(_) if pulse.due <= due => return Ok(()),
            Some(_) => {}
            None => self.send(Message::Ping(Vec::new().into())).await?,
        }
        *pulse = Ping { pinged: Some(limit), due };
        Ok(())
    }

    /// What the next message says. May be dropped and called again.
    async fn next(&mut self) -> Result<Vec<RealtimeMessage>, AttemptError> {
        let message = match self.socket.next().await {
            Some(Ok(message)) => message,
            Some(Err(error)) => return Err(self.lost(format!("the connection broke: {}", unreadable(&error)))),
            None => return Err(self.lost("the connection broke".to_owned())),
        };
        let read = match &message {
            Message::Text(text) => self.protocol.read(text.as_str()),
            // Some servers send JSON in binary frames.
            Message::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.protocol.read(text),
                Err(_) => Err(StreamError::Retryable("it sent a message that is not text".to_owned())),
            },
            Message::Close(frame) => return Err(AttemptError::closed(self.name, frame.as_ref(), self.key.as_ref())),
            _ => Ok(Vec::new()),
        };
        read.map_err(|broken| match broken {
            StreamError::Permanent(words) => AttemptError::config(self.name, without_key(words, self.key.as_ref())),
            StreamError::Retryable(words) => self.lost(words),
        })
    }

    fn lost(&self, words: String) -> AttemptError {
        AttemptError::failed(self.name, without_key(words, self.key.as_ref()))
    }

    async fn send(&mut self, message: Message) -> Result<(), AttemptError> {
        match timeout(SEND, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.lost(format!("the connection broke: {error}"))),
            Err(_) => Err(AttemptError::timeout(self.name, SEND)),
        }
    }

    /// Sessions are charged while they are open.
    async fn close(mut self) {
        let closing = async {
            let _ = self.socket.close(None).await;
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        let _ = timeout(CLOSE, closing).await;
    }
}
