//! The task of one call's STT stream. It owns the connection, and reconnects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use switchhook_core::call::ErrorCode;
use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::CallerAudio;
use switchhook_net::queues::Queue;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::connection::{Connection, Connector};
use super::protocol::SttMessage;
use super::transcripts::Transcripts;
use crate::failure::AttemptError;
use crate::replay_buffer::ReplayBuffer;
use crate::websocket::StreamError;
use crate::{SttEvent, SttInput};

/// Pauses before reconnecting.
const RECONNECT_PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(1)];
/// A connection that lasts this long resets the count of failed ones.
const STABLE_AFTER: Duration = Duration::from_secs(5);

/// Audio sent, in frames of 20 ms; replayed audio counts again, as providers bill it.
#[derive(Clone, Default)]
pub(super) struct SentAudio(Arc<AtomicU64>);

impl SentAudio {
    fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn total(&self) -> Duration {
        let frames = u32::try_from(self.0.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        FRAME_DURATION * frames
    }
}

/// Why the stream ended.
enum StreamEnd {
    /// The session was dropped.
    Done,
    /// The connection failed.
    Failed(AttemptError),
}

impl From<AttemptError> for StreamEnd {
    fn from(failure: AttemptError) -> Self {
        Self::Failed(failure)
    }
}

pub(super) struct Task {
    connector: Connector,
    events: mpsc::Sender<SttEvent>,
    waiting: mpsc::Receiver<SttInput>,
    sent: SentAudio,
    transcripts: Transcripts,
    replay: ReplayBuffer,
    /// Whether the provider has transcribed anything yet, which proves the settings.
    proven: bool,
    /// Consecutive failed connections.
    failed_connections: usize,
    /// Consecutive segments with speech and no transcript.
    unanswered: u32,
}

impl Task {
    pub(super) fn new(
        connector: Connector,
        events: mpsc::Sender<SttEvent>,
        waiting: mpsc::Receiver<SttInput>,
        sent: SentAudio,
    ) -> Self {
        let transcripts = Transcripts::new(connector.stream_config);
        Self {
            connector,
            events,
            waiting,
            sent,
            transcripts,
            replay: ReplayBuffer::default(),
            proven: false,
            failed_connections: 0,
            unanswered: 0,
        }
    }

    /// Runs until the session is dropped or the provider fails permanently.
    pub(super) async fn run(mut self, mut connection: Connection) {
        loop {
            let failure = match self.listen(&mut connection).await {
                StreamEnd::Done => return connection.close().await,
                StreamEnd::Failed(failure) => failure,
            };
            if connection.session.opened_at.elapsed() >= STABLE_AFTER {
                self.failed_connections = 0;
            }
            // Boxed: it is rare, and would make the task several times as large.
            match Box::pin(self.again(failure)).await {
                Ok(new) => connection = new,
                Err(StreamEnd::Done) => return,
                Err(StreamEnd::Failed(failure)) => return self.fail(failure).await,
            }
        }
    }

    async fn listen(&mut self, connection: &mut Connection) -> StreamEnd {
        loop {
            if let Err(over) = self.step(connection).await {
                return over;
            }
        }
    }

    async fn step(&mut self, connection: &mut Connection) -> Result<(), StreamEnd> {
        let deadline = self.transcripts.deadline().map(|deadline| connection.session.liveness_known_at(deadline));
        let due = deadline.unwrap_or(connection.session.opened_at);
        let keepalive = connection.keepalive_due();
        tokio::select! {
            input = self.waiting.recv() => self.input(connection, input.ok_or(StreamEnd::Done)?).await?,
            messages = connection.next() => self.handle(connection, messages?).await?,
            () = sleep_until(due), if deadline.is_some() => {
                connection.session.check_liveness()?;
                if self.transcripts.is_unanswered(connection.session.last_message_at, Instant::now()) {
                    let stream_config = self.connector.stream_config;
                    self.unanswered(AttemptError::timeout(stream_config.name, stream_config.finalize_timeout_without_words))?;
                }
                let events = self.transcripts.expire(Instant::now());
                self.send(events).await?;
            }
            () = sleep_until(keepalive) => connection.keepalive(Instant::now()).await?,
        }
        Ok(())
    }

    /// Stores input before sending it: input lost on the way is replayed.
    async fn input(&mut self, connection: &mut Connection, input: SttInput) -> Result<(), AttemptError> {
        let speech_only = self.connector.stream_config.speech_only;
        let speaking = self.transcripts.is_speaking();
        keep(&mut self.transcripts, &mut self.replay, &input);
        match input {
            SttInput::Audio(frame) if !speech_only || speaking => self.audio(connection, &frame).await,
            SttInput::SpeechStarted if speech_only && !speaking => {
                for frame in self.replay.pre_roll() {
                    self.audio(connection, &frame).await?;
                }
                Ok(())
            }
            SttInput::SpeechStopped(_) => connection.finalize().await,
            SttInput::StartAt(_) | SttInput::Audio(_) | SttInput::SpeechStarted => Ok(()),
        }
    }

    async fn handle(&mut self, connection: &mut Connection, messages: Vec<SttMessage>) -> Result<(), StreamEnd> {
        for message in messages {
            match message {
                SttMessage::Reply(reply) => connection.session.send(reply).await?,
                message => {
                    self.note(connection, &message)?;
                    let events = self.transcripts.handle(message, Instant::now());
                    if self.transcripts.exceeds_limit() {
                        Queue::SttWords.full();
                        let words = "it sent more words than anybody can have said".to_owned();
                        return Err(AttemptError { retry_after: None, ..connection.session.lost(words) }.into());
                    }
                    self.send(events).await?;
                }
            }
        }
        Ok(())
    }

    /// Updates the provider's health.
    fn note(&mut self, connection: &Connection, message: &SttMessage) -> Result<(), AttemptError> {
        match message {
            SttMessage::Partial(text) | SttMessage::Final(text) => {
                self.proven = true;
                self.replay.words();
                if !text.trim().is_empty() {
                    self.unanswered = 0;
                }
            }
            SttMessage::Finalized | SttMessage::EndOfTurn => self.unanswered = 0,
            SttMessage::Failed(error @ StreamError::Permanent(_)) => {
                return Err(connection.session.failed(error.clone()));
            }
            SttMessage::Failed(error) => return self.unanswered(connection.session.failed(error.clone())),
            SttMessage::Ready | SttMessage::Reply(_) => {}
        }
        Ok(())
    }

    /// Handles speech without a transcript. The first time may be chance, the second reconnects, the third fails over.
    fn unanswered(&mut self, failure: AttemptError) -> Result<(), AttemptError> {
        self.unanswered += 1;
        match self.unanswered {
            1 => Ok(()),
            2 => Err(failure),
            _ => Err(AttemptError { retry_after: None, ..failure }),
        }
    }

    async fn send(&mut self, events: Vec<SttEvent>) -> Result<(), StreamEnd> {
        for event in events {
            if let SttEvent::Final { segment, .. } = &event {
                self.replay.settled(*segment);
            }
            self.events.send(event).await.map_err(|_| StreamEnd::Done)?;
        }
        Ok(())
    }

    /// Reconnects and replays the audio that has no final transcript yet.
    async fn again(&mut self, mut failure: AttemptError) -> Result<Connection, StreamEnd> {
        loop {
            let pause = failure
                .retry_after
                .zip(RECONNECT_PAUSES.get(self.failed_connections))
                .map(|(requested, least)| requested.max(*least));
            let Some(pause) = pause else { return Err(StreamEnd::Failed(failure)) };
            self.failed_connections += 1;
            self.proven = true;
            tracing::warn!(error = %failure.error, "STT connection lost; reconnecting");
            failure = match self.reconnect(pause).await? {
                Ok(connection) => return Ok(connection),
                Err(failure) => failure,
            };
        }
    }

    async fn reconnect(&mut self, pause: Duration) -> Result<Result<Connection, AttemptError>, StreamEnd> {
        let mut connection = match self.connect_after(pause).await? {
            Ok(connection) => connection,
            Err(failure) => return Ok(Err(failure)),
        };
        self.transcripts.reconnected(self.replay.is_whole(), Instant::now());
        // Without speech, a provider that gets speech only has nothing to transcribe.
        if self.connector.stream_config.speech_only && !self.transcripts.is_open() {
            return Ok(Ok(connection));
        }
        Ok(self.replay(&mut connection).await.map(|()| connection))
    }

    /// Connects, and stores the input that arrives meanwhile.
    async fn connect_after(&mut self, pause: Duration) -> Result<Result<Connection, AttemptError>, StreamEnd> {
        let Self { connector, events, waiting, transcripts, replay, .. } = self;
        let connecting = async {
            sleep(pause).await;
            connector.connect().await
        };
        let mut connecting = std::pin::pin!(connecting);
        loop {
            tokio::select! {
                connected = &mut connecting => return Ok(connected),
                input = waiting.recv() => keep(transcripts, replay, &input.ok_or(StreamEnd::Done)?),
                () = events.closed() => return Err(StreamEnd::Done),
            }
        }
    }

    async fn replay(&self, connection: &mut Connection) -> Result<(), AttemptError> {
        for item in self.replay.replay() {
            match item {
                SttInput::Audio(frame) => self.audio(connection, &frame).await?,
                SttInput::StartAt(_) | SttInput::SpeechStarted => {}
                SttInput::SpeechStopped(_) => connection.finalize().await?,
            }
        }
        Ok(())
    }

    async fn audio(&self, connection: &mut Connection, frame: &CallerAudio) -> Result<(), AttemptError> {
        self.sent.one_more();
        connection.audio(frame).await
    }

    /// Reports the failure. An early refusal is a configuration error; a later one is a failure of the pipeline.
    async fn fail(&self, failure: AttemptError) {
        let code = match failure.error.code() {
            ErrorCode::ConfigError if self.proven => ErrorCode::PipelineError,
            code => code,
        };
        let _ = self.events.send(SttEvent::Failed { code, message: failure.error.to_string() }).await;
    }
}

fn keep(transcripts: &mut Transcripts, replay: &mut ReplayBuffer, input: &SttInput) {
    let kept = match input {
        SttInput::Audio(_) => {
            transcripts.audio_frame();
            Some(input.clone())
        }
        SttInput::StartAt(segment) => {
            transcripts.start_at(*segment);
            None
        }
        SttInput::SpeechStarted => {
            transcripts.speech_started(Instant::now());
            None
        }
        SttInput::SpeechStopped(segment) => {
            transcripts.speech_stopped(*segment, Instant::now()).map(SttInput::SpeechStopped)
        }
    };
    if let Some(kept) = kept {
        replay.keep(kept, transcripts.is_open());
    }
}
