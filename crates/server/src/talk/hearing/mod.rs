//! Who hears the caller: the first recogniser of the agent's list that opens and, should it fail in mid-call, the next ones.
//!
//! A call that hears nothing must not fall silent for longer than 3 s. Three things hold that, each without knowing of the others:
//!
//! - A recogniser that is lost for good hands over at once. Whoever takes over is told the caller's last seconds as far as they have
//!   no final words, so that none is lost and none is doubled.
//! - One that is merely silent, because it connects again, is slow or hangs, hands over when speech has waited for its words for 2 s
//!   ([`relay`]). It goes on until the other one is open, and keeps its place should it answer first. So an adapter repeats what it
//!   likes, and needs not know whether there is a fallback.
//! - Where nobody can take over, the conversation itself goes on without words 2.5 s after the end of speech, and asks the caller to say
//!   it again.
//!
//! When nobody is left the last error ends the call. Each recogniser is asked once in a call. What was heard is priced by who heard
//! it.

mod relay;

use std::sync::Arc;
use std::time::Duration;

use switchhook_core::call::ErrorCode;
use switchhook_media::frame::{CallerAudio, FRAME_DURATION};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

use self::relay::{Relay, Step};
use crate::providers::prices::Rates;
use crate::providers::ring::Told;
use crate::providers::{ProviderError, Stt, SttEvent, SttOptions, SttSession, Usage};

/// The name in errors.
const RECOGNISER: &str = "speech to text";
/// Until a recogniser has opened.
const PATIENCE: Duration = Duration::from_secs(4);
/// Frames and marks that may wait: some 20 s.
const WAITING: usize = 1024;

/// A recogniser that an agent may use.
#[derive(Clone)]
pub struct Recogniser {
    /// The provider.
    pub stt: Arc<dyn Stt>,
    /// How it is opened.
    pub options: SttOptions,
    /// What it charges; nothing where that is not known.
    pub rates: Option<Rates>,
}

/// One call's ears. Dropping them ends the work.
pub struct Hearing {
    told: mpsc::Sender<Told>,
    open: watch::Receiver<bool>,
    task: AbortOnDropHandle<Usage>,
}

impl Hearing {
    /// Begins to open the first recogniser that answers, and keeps the caller's last seconds for it. Words arrive in `events`, and
    /// [`SttEvent::Failed`] with the last one's error when none opens.
    #[must_use]
    pub fn begin(recognisers: Vec<Recogniser>, events: mpsc::Sender<SttEvent>) -> Self {
        let (told, waiting) = mpsc::channel(WAITING);
        let (opened, open) = watch::channel(false);
        let task = Task {
            relay: Relay::new(recognisers.len()),
            ready: opened,
            recognisers,
            running: None,
            opening: None,
            opened: None,
            waiting,
            events,
            usage: Usage::default(),
        };
        Self { told, open, task: AbortOnDropHandle::new(tokio::spawn(task.run())) }
    }

    /// Waits until a recogniser is open; for ever, when none opens. May be dropped and called again.
    pub async fn opened(&mut self) {
        if self.open.wait_for(|open| *open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The next 20 ms of the caller.
    pub fn audio(&self, frame: &CallerAudio) {
        self.tell(Told::Sound(frame.0));
    }

    /// Voice activity began.
    pub fn speech_started(&self) {
        self.tell(Told::Started);
    }

    /// It ended, and with it this segment.
    pub fn speech_stopped(&self, segment: u32) {
        self.tell(Told::Stopped(segment));
    }

    /// The task never waits for long, and what does not fit belongs to a call whose driver has stopped reading.
    fn tell(&self, told: Told) {
        let _ = self.told.try_send(told);
    }

    /// Ends it, and says what was used and what that costs.
    pub async fn end(self) -> Usage {
        drop(self.told);
        // A task that broke has counted nothing.
        self.task.await.unwrap_or_default()
    }
}

/// An open recogniser.
struct Running {
    position: usize,
    session: Box<dyn SttSession>,
    heard: mpsc::Receiver<SttEvent>,
    /// Of sound that it was given.
    given: Duration,
}

async fn open(recogniser: Recogniser, position: usize) -> Result<Running, ProviderError> {
    let (events, heard) = mpsc::channel(64);
    let opened = timeout(PATIENCE, recogniser.stt.open(recogniser.options, events)).await;
    let session = opened.unwrap_or_else(|_| Err(ProviderError::timeout(RECOGNISER, PATIENCE)))?;
    Ok(Running { position, session, heard, given: Duration::ZERO })
}

impl Running {
    fn tell(&mut self, told: &Told) {
        match told {
            Told::From(segment) => self.session.takes_over(*segment),
            Told::Sound(frame) => {
                self.given += FRAME_DURATION;
                self.session.audio(&CallerAudio(*frame));
            }
            Told::Started => self.session.speech_started(),
            Told::Stopped(segment) => self.session.speech_stopped(*segment),
        }
    }

    fn usage(&self) -> Usage {
        let sent = self.session.sent().unwrap_or(self.given);
        Usage { stt_audio_ms: u64::try_from(sent.as_millis()).unwrap_or(u64::MAX), ..Usage::default() }
    }
}

/// A recogniser that is being opened.
type Opening = AbortOnDropHandle<Result<Running, ProviderError>>;

struct Task {
    relay: Relay,
    /// Told when the first one is open.
    ready: watch::Sender<bool>,
    recognisers: Vec<Recogniser>,
    running: Option<Running>,
    opening: Option<Opening>,
    /// Open, and neither wanted nor refused yet.
    opened: Option<Running>,
    waiting: mpsc::Receiver<Told>,
    events: mpsc::Sender<SttEvent>,
    usage: Usage,
}

impl Task {
    async fn run(mut self) -> Usage {
        if let Some(step) = self.relay.begin() {
            self.take(step).await;
        }
        loop {
            let deadline = self.relay.next_deadline();
            let steps = tokio::select! {
                told = self.waiting.recv() => match told {
                    Some(told) => self.relay.told(told, Instant::now()),
                    None => break,
                },
                event = heard(&mut self.running) => {
                    if let SttEvent::Failed { words, .. } = &event {
                        tracing::warn!(error = words, "a recogniser failed in mid-call");
                    }
                    self.relay.heard(event, Instant::now())
                }
                opened = done(&mut self.opening) => self.opened(opened),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    self.relay.tick(Instant::now())
                }
            };
            for step in steps {
                self.take(step).await;
            }
        }
        self.let_go();
        self.usage
    }

    fn opened(&mut self, opened: Result<Running, ProviderError>) -> Vec<Step> {
        self.opening = None;
        match opened {
            Ok(opened) => {
                self.opened = Some(opened);
                self.relay.opened(Instant::now())
            }
            Err(error) => {
                tracing::warn!(%error, "a recogniser cannot be opened");
                self.relay.not_opened(&error)
            }
        }
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Pass(told) => {
                if let Some(running) = &mut self.running {
                    running.tell(&told);
                }
            }
            Step::Open { position } => {
                let opening = open(self.recognisers[position].clone(), position);
                self.opening = Some(AbortOnDropHandle::new(tokio::spawn(opening)));
            }
            Step::Adopt => {
                self.let_go();
                self.running = self.opened.take();
                self.ready.send_replace(true);
                let position = self.running.as_ref().map(|running| running.position);
                if self.relay.has_taken_over() {
                    tracing::warn!(position, "another recogniser has taken over in mid-call");
                }
            }
            Step::Discard => self.opened = None,
            Step::LetGo => self.let_go(),
            // A driver that has gone wants to know nothing.
            Step::Tell(event) => drop(self.events.send(event).await),
        }
    }

    fn let_go(&mut self) {
        if let Some(running) = self.running.take() {
            let rates = self.recognisers[running.position].rates;
            self.usage = self.usage + Rates::price(rates.as_ref(), running.usage());
        }
    }
}

/// What the recogniser that runs says; never anything when none does. May be dropped and called again.
async fn heard(running: &mut Option<Running>) -> SttEvent {
    let Some(running) = running else { return std::future::pending().await };
    let stopped =
        || SttEvent::Failed { code: ErrorCode::PipelineError, words: format!("{RECOGNISER} stopped unexpectedly") };
    running.heard.recv().await.unwrap_or_else(stopped)
}

/// What comes of the opening; never anything when there is none. May be dropped and called again.
async fn done(opening: &mut Option<Opening>) -> Result<Running, ProviderError> {
    let Some(opening) = opening else { return std::future::pending().await };
    let stopped = || ProviderError::Failed { provider: RECOGNISER, words: "it stopped unexpectedly".to_owned() };
    opening.await.unwrap_or_else(|_| Err(stopped()))
}
