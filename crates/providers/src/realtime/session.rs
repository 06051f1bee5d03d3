//! The task of one call's session. It owns the socket, and ends when the session is dropped.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_net::outbound::ws::Message;
use switchhook_net::queues::Queue;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tracing::Instrument as _;

use super::output_limit::OutputLimit;
use super::protocol::{RealtimeAdapter, RealtimeMessage, RealtimeProtocol};
use super::{Realtime, RealtimeCommand, RealtimeEvent, RealtimeOptions, RealtimeSession};
use crate::ProviderError;
use crate::adapter_config::AdapterConfig;
use crate::failure::AttemptError;
use crate::websocket::{Connector, Session, Timeouts};

/// A half-open connection looks like a model with nothing to say, so pings are frequent.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    send: Duration::from_secs(3),
    ping: Duration::from_secs(10),
    pong: Duration::from_secs(5),
    close: Duration::from_secs(2),
};
/// Pauses before retries. A failed connection is retried once: the phone rings meanwhile.
const RETRY_PAUSES: [Duration; 1] = [Duration::from_millis(200)];
/// How long a message may take to arrive after a ping while the caller waits for a response.
const PONG_WHILE_WAITING: Duration = Duration::from_secs(2);
/// Frames and commands that may be queued for the socket: some 20 s, since a session may begin with 10 s at once.
const EVENT_CAPACITY: usize = 1_024;

/// Speech to speech over websockets.
pub(crate) struct RealtimeClient {
    connector: Connector,
    adapter: Arc<dyn RealtimeAdapter>,
}

impl RealtimeClient {
    pub(crate) fn new(config: &AdapterConfig<'_>, adapter: impl RealtimeAdapter + 'static) -> Self {
        Self { connector: Connector::new(config, adapter.name(), TIMEOUTS), adapter: Arc::new(adapter) }
    }

    async fn connect(&self, options: &RealtimeOptions) -> Result<RealtimeConnection, AttemptError> {
        let invalid = |words| AttemptError::config(self.connector.provider, words);
        let handshake = self.adapter.handshake(options).map_err(invalid)?;
        let session = self.connector.connect(handshake).await?;
        let mut connection =
            RealtimeConnection { session, protocol: self.adapter.protocol(options), format: options.format };
        connection.ready().await?;
        Ok(connection)
    }
}

#[async_trait]
impl Realtime for RealtimeClient {
    fn can_use_pcm(&self) -> bool {
        self.adapter.can_use_pcm()
    }

    async fn open(
        &self,
        options: RealtimeOptions,
        events: mpsc::Sender<RealtimeEvent>,
    ) -> Result<Box<dyn RealtimeSession>, ProviderError> {
        let connection = self.connector.with_retries(&RETRY_PAUSES, || self.connect(&options)).await?;
        let (inputs, waiting) = mpsc::channel(EVENT_CAPACITY);
        tokio::spawn(connection.serve(waiting, events).in_current_span());
        Ok(Box::new(SessionHandle { inputs }))
    }
}

/// The call's end of the task.
struct SessionHandle {
    inputs: mpsc::Sender<SessionInput>,
}

/// Input of the session task.
enum SessionInput {
    Audio(Frame),
    Command(RealtimeCommand),
    Probe,
}

impl SessionHandle {
    /// Ignores a full channel: the socket is stuck, and the task reports that.
    fn enqueue(&self, input: SessionInput) {
        let _ = self.inputs.try_send(input);
    }
}

impl RealtimeSession for SessionHandle {
    fn audio(&mut self, frame: &CallerAudio) {
        self.enqueue(SessionInput::Audio(frame.0.clone()));
    }

    fn send(&mut self, command: RealtimeCommand) {
        self.enqueue(SessionInput::Command(command));
    }

    fn probe(&mut self) {
        self.enqueue(SessionInput::Probe);
    }
}

/// A session with its provider's protocol.
struct RealtimeConnection {
    session: Session,
    protocol: Box<dyn RealtimeProtocol>,
    format: AudioFormat,
}

impl RealtimeConnection {
    async fn ready(&mut self) -> Result<(), AttemptError> {
        let mut ready = false;
        while !ready {
            for message in self.next().await? {
                match message {
                    RealtimeMessage::Ready => ready = true,
                    RealtimeMessage::Reply(reply) => self.session.send(Message::text(reply)).await?,
                    RealtimeMessage::Event(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the contents of the next message. Cancel-safe.
    async fn next(&mut self) -> Result<Vec<RealtimeMessage>, AttemptError> {
        let message = self.session.next().await?;
        self.session.parse(&message, |text| self.protocol.read(text))
    }

    /// Serves the session until it is dropped or lost.
    async fn serve(mut self, mut inputs: mpsc::Receiver<SessionInput>, events: mpsc::Sender<RealtimeEvent>) {
        if let Err(failure) = self.exchange(&mut inputs, &events).await {
            let _ = events.send(RealtimeEvent::Lost(failure.error)).await;
        }
        self.session.close(None).await;
    }

    async fn exchange(
        &mut self,
        inputs: &mut mpsc::Receiver<SessionInput>,
        events: &mpsc::Sender<RealtimeEvent>,
    ) -> Result<(), AttemptError> {
        let mut output_limit = OutputLimit::new(self.format, Instant::now());
        loop {
            let keepalive = self.session.keepalive_due();
            tokio::select! {
                input = inputs.recv() => match input {
                    Some(input) => self.input(input).await?,
                    None => return Ok(()),
                },
                messages = self.next() => {
                    for message in messages? {
                        match message {
                            RealtimeMessage::Ready => {}
                            RealtimeMessage::Reply(reply) => self.session.send(Message::text(reply)).await?,
                            RealtimeMessage::Event(event) if !output_limit.takes(&event, Instant::now()) => {
                                Queue::Realtime.full();
                                return Err(self.session.lost("it sends more than can be heard".to_owned()));
                            }
                            RealtimeMessage::Event(event) => if events.send(event).await.is_err() {
                                return Ok(());
                            },
                        }
                    }
                }
                () = sleep_until(keepalive) => self.session.keepalive(Instant::now()).await?,
            }
        }
    }

    async fn input(&mut self, input: SessionInput) -> Result<(), AttemptError> {
        match input {
            SessionInput::Audio(frame) => match self.protocol.audio(&frame) {
                Some(message) => self.session.send(Message::text(message)).await,
                None => Ok(()),
            },
            SessionInput::Command(command) => {
                if matches!(command, RealtimeCommand::Respond { .. }) {
                    self.session.ping(PONG_WHILE_WAITING).await?;
                }
                self.session.send_all(self.protocol.send(command).into_iter().map(Message::text)).await
            }
            SessionInput::Probe => self.session.ping(PONG_WHILE_WAITING).await,
        }
    }
}
