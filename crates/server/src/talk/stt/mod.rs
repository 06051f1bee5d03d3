//! Who hears the caller: the first STT of the agent's list that opens and, should it fail in mid-call, the next ones.
//!
//! A call that hears nothing must not fall silent for longer than 3 s. Three things hold that, each without knowing of the others:
//!
//! - An STT that is lost for good hands over at once. Whoever takes over gets the caller's last seconds as far as they have
//!   no final words, so that none is lost and none is doubled.
//! - One that is merely silent, because it connects again, is slow or hangs, hands over when speech has waited for its words for 2 s
//!   (`failover`). It goes on until the other one is open, and stays in use if it responds first. So an adapter repeats what it
//!   likes, and needs not know whether there is a fallback.
//! - Where nobody can take over, the conversation itself goes on without words 2.5 s after the end of speech, and asks the caller to say
//!   it again.
//!
//! When nobody is left the last error ends the call. Each STT is tried once in a call. What was heard is priced by who heard
//! it.

mod failover;
mod failover_task;
mod single;

use std::sync::Arc;
use std::time::Duration;

use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::CallerAudio;
use switchhook_providers::prices::Rates;
use switchhook_providers::replay_buffer::SttInput;
use switchhook_providers::{ProviderError, Spent, Stt, SttEvent, SttOptions, SttSession, Usage};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use self::failover_task::FailoverTask;
use self::single::SingleStt;

/// The name in errors.
pub(super) const STT: &str = "speech to text";
/// Until an STT has opened.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);

/// An STT that an agent may use.
#[derive(Clone)]
pub struct SttProvider {
    /// The provider.
    pub stt: Arc<dyn Stt>,
    /// How it is opened.
    pub options: SttOptions,
    /// What it charges; nothing where that is not known.
    pub rates: Option<Rates>,
    /// Where what it has cost is added when it is let go.
    pub spent: Spent,
}

impl SttProvider {
    async fn open(self, events: mpsc::Sender<SttEvent>) -> Result<SttConnection, ProviderError> {
        let opened = timeout(OPEN_TIMEOUT, self.stt.open(self.options, events)).await;
        let session = opened.unwrap_or_else(|_| Err(ProviderError::timeout(STT, OPEN_TIMEOUT)))?;
        Ok(SttConnection { session, given: Duration::ZERO, rates: self.rates, spent: self.spent })
    }
}

/// An STT that is open.
struct SttConnection {
    session: Box<dyn SttSession>,
    /// Of audio that it was given.
    given: Duration,
    rates: Option<Rates>,
    spent: Spent,
}

impl Drop for SttConnection {
    fn drop(&mut self) {
        self.spent.add(self.cost());
    }
}

impl SttConnection {
    fn tell(&mut self, input: &SttInput) {
        match input {
            SttInput::StartAt(segment) => self.session.takes_over(*segment),
            SttInput::Audio(frame) => {
                self.given += FRAME_DURATION;
                self.session.audio(&CallerAudio(frame.clone()));
            }
            SttInput::SpeechStarted => self.session.speech_started(),
            SttInput::SpeechStopped(segment) => self.session.speech_stopped(*segment),
        }
    }

    fn cost(&self) -> Usage {
        let sent = self.session.sent().unwrap_or(self.given);
        let stt_audio_ms = u64::try_from(sent.as_millis()).unwrap_or(u64::MAX);
        Rates::price(self.rates.as_ref(), Usage { stt_audio_ms, ..Usage::default() })
    }
}

/// One call's route. Dropping them ends the work.
pub struct SpeechToText {
    open: watch::Receiver<bool>,
    route: SttRoute,
}

/// A call with one STT, as most are, need not keep the caller's last seconds for another.
enum SttRoute {
    SingleStt(SingleStt),
    FailoverTask(FailoverTask),
}

impl SpeechToText {
    /// Begins to open the first STT that responds, and keeps what the caller says meanwhile. Words arrive in `events`, and
    /// [`SttEvent::Failed`] with the last one's error when none opens.
    #[must_use]
    pub fn begin(mut providers: Vec<SttProvider>, events: mpsc::Sender<SttEvent>) -> Self {
        let (ready, open) = watch::channel(false);
        let only = if providers.len() == 1 { providers.pop() } else { None };
        let route = match only {
            Some(only) => SttRoute::SingleStt(SingleStt::begin(only, events, ready)),
            None => SttRoute::FailoverTask(FailoverTask::begin(providers, events, ready)),
        };
        Self { open, route }
    }

    /// Waits until an STT is open; for ever, when none opens. May be dropped and called again.
    pub async fn opened(&mut self) {
        if self.open.wait_for(|open| *open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The next 20 ms of the caller.
    pub fn audio(&mut self, frame: &CallerAudio) {
        self.tell(SttInput::Audio(frame.0.clone()));
    }

    /// Voice activity began.
    pub fn speech_started(&mut self) {
        self.tell(SttInput::SpeechStarted);
    }

    /// It ended, and with it this segment.
    pub fn speech_stopped(&mut self, segment: u32) {
        self.tell(SttInput::SpeechStopped(segment));
    }

    fn tell(&mut self, input: SttInput) {
        match &mut self.route {
            SttRoute::SingleStt(alone) => alone.tell(input),
            SttRoute::FailoverTask(relayed) => relayed.tell(input),
        }
    }

    /// Ends it; what it has cost is added by then.
    pub async fn end(self) {
        match self.route {
            SttRoute::SingleStt(alone) => drop(alone),
            SttRoute::FailoverTask(relayed) => relayed.end().await,
        }
    }
}
