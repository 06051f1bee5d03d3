//! The task that runs several STT providers as [`SttFailover`] decides.

use std::time::Duration;

use switchhook_core::call::ErrorCode;
use switchhook_providers::{ProviderError, SttEvent, SttInput};
use switchhook_runtime::panics::caught_now;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::failover::{Step, SttFailover};
use super::{STT, SttConnection, SttProvider};

/// Frames and marks that may be queued: some 20 s.
const EVENT_CAPACITY: usize = 1024;
/// How long the task may take to end, which the end of the call waits for.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// Several providers, one of which transcribes the caller.
pub(super) struct FailoverTask {
    input: mpsc::Sender<SttInput>,
    task: AbortOnDropHandle<()>,
}

impl FailoverTask {
    pub(super) fn begin(
        providers: Vec<SttProvider>,
        events: mpsc::Sender<SttEvent>,
        ready: watch::Sender<bool>,
    ) -> Self {
        let (input, waiting) = mpsc::channel(EVENT_CAPACITY);
        let task = FailoverLoop {
            failover: SttFailover::new(providers.len()),
            ready,
            providers,
            running: None,
            opening: None,
            opened: None,
            waiting,
            events,
        };
        Self { input, task: AbortOnDropHandle::new(tokio::spawn(task.run().in_current_span())) }
    }

    /// Sends input. The task never blocks for long: if the queue is full, the call's driver has stopped reading.
    pub(super) fn send(&self, input: SttInput) {
        let _ = self.input.try_send(input);
    }

    /// Ends the task. One that panicked has already ended and closed the events.
    pub(super) async fn end(self) {
        drop(self.input);
        let _ = timeout(END_TIMEOUT, self.task).await;
    }
}

/// An open STT.
struct Running {
    position: usize,
    connection: SttConnection,
    events: mpsc::Receiver<SttEvent>,
}

async fn open(provider: SttProvider, position: usize) -> Result<Running, ProviderError> {
    let (sender, events) = mpsc::channel(64);
    Ok(Running { position, connection: provider.open(sender).await?, events })
}

/// An STT that is being opened.
type Opening = AbortOnDropHandle<Result<Running, ProviderError>>;

struct FailoverLoop {
    failover: SttFailover,
    /// Becomes true when the first one is open.
    ready: watch::Sender<bool>,
    providers: Vec<SttProvider>,
    running: Option<Running>,
    opening: Option<Opening>,
    /// An open STT that is neither adopted nor discarded yet.
    opened: Option<Running>,
    waiting: mpsc::Receiver<SttInput>,
    events: mpsc::Sender<SttEvent>,
}

impl FailoverLoop {
    async fn run(mut self) {
        if let Some(step) = self.failover.begin() {
            self.take(step).await;
        }
        loop {
            let deadline = self.failover.next_deadline();
            let steps = tokio::select! {
                input = self.waiting.recv() => match input {
                    Some(input) => self.failover.handle_input(input, Instant::now()),
                    None => break,
                },
                event = next_event(&mut self.running) => {
                    if let SttEvent::Failed { message, .. } = &event {
                        tracing::warn!(error = message, "an STT provider failed in mid-call");
                    }
                    self.failover.handle_event(event, Instant::now())
                }
                opened = done(&mut self.opening) => self.opened(opened),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    self.failover.tick(Instant::now())
                }
            };
            for step in steps {
                self.take(step).await;
            }
        }
    }

    fn opened(&mut self, opened: Result<Running, ProviderError>) -> Vec<Step> {
        self.opening = None;
        match opened {
            Ok(opened) => {
                self.opened = Some(opened);
                self.failover.opened(Instant::now())
            }
            Err(error) => {
                tracing::warn!(%error, "an STT provider cannot be opened");
                self.failover.not_opened(&error)
            }
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Pass(input) => {
                if let Some(running) = &mut self.running
                    && caught_now(|| running.connection.send(&input)).is_err()
                {
                    running.events.close();
                }
            }
            Step::Open { position } => {
                let opening = open(self.providers[position].clone(), position);
                self.opening = Some(AbortOnDropHandle::new(tokio::spawn(opening.in_current_span())));
            }
            Step::Adopt => {
                self.running = self.opened.take();
                self.ready.send_replace(true);
                let position = self.running.as_ref().map(|running| running.position);
                if self.failover.has_taken_over() {
                    tracing::warn!(position, "another STT provider has taken over in mid-call");
                }
            }
            Step::Discard => self.opened = None,
            Step::LetGo => self.running = None,
            // A driver that is gone needs no event.
            Step::Report(event) => drop(self.events.send(event).await),
        }
    }
}

/// Returns the next event of the running STT; pends forever if none runs. Cancel safe.
async fn next_event(running: &mut Option<Running>) -> SttEvent {
    let Some(running) = running else { return std::future::pending().await };
    let stopped =
        || SttEvent::Failed { code: ErrorCode::PipelineError, message: format!("{STT} stopped unexpectedly") };
    running.events.recv().await.unwrap_or_else(stopped)
}

/// Waits for the STT that is being opened; pends forever if none is. Cancel safe.
async fn done(opening: &mut Option<Opening>) -> Result<Running, ProviderError> {
    let Some(opening) = opening else { return std::future::pending().await };
    let stopped = || ProviderError::Failed { provider: STT, message: "it stopped unexpectedly".to_owned() };
    opening.await.unwrap_or_else(|_| Err(stopped()))
}
