//! Who hears the caller: the first recogniser of the agent's list that opens and, should it fail in mid-call, the next ones.
//!
//! A call that hears nothing must not fall silent for longer than 3 s. Three things hold that, each without knowing of the others:
//!
//! - A recogniser that is lost for good hands over at once. Whoever takes over is told the caller's last seconds as far as they have
//!   no final words, so that none is lost and none is doubled.
//! - One that is merely silent, because it connects again, is slow or hangs, hands over when speech has waited for its words for 2 s
//!   (`relay`). It goes on until the other one is open, and keeps its place should it answer first. So an adapter repeats what it
//!   likes, and needs not know whether there is a fallback.
//! - Where nobody can take over, the conversation itself goes on without words 2.5 s after the end of speech, and asks the caller to say
//!   it again.
//!
//! When nobody is left the last error ends the call. Each recogniser is asked once in a call. What was heard is priced by who heard
//! it.

mod alone;
mod relay;
mod relayed;

use std::sync::Arc;
use std::time::Duration;

use switchhook_media::frame::{CallerAudio, FRAME_DURATION};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use self::alone::Alone;
use self::relayed::Relayed;
use crate::providers::prices::Rates;
use crate::providers::replay_buffer::SttInput;
use crate::providers::{ProviderError, Spent, Stt, SttEvent, SttOptions, SttSession, Usage};

/// The name in errors.
pub(super) const RECOGNISER: &str = "speech to text";
/// Until a recogniser has opened.
const PATIENCE: Duration = Duration::from_secs(4);

/// A recogniser that an agent may use.
#[derive(Clone)]
pub struct Recogniser {
    /// The provider.
    pub stt: Arc<dyn Stt>,
    /// How it is opened.
    pub options: SttOptions,
    /// What it charges; nothing where that is not known.
    pub rates: Option<Rates>,
    /// Where what it has cost is added when it is let go.
    pub spent: Spent,
}

impl Recogniser {
    async fn open(self, events: mpsc::Sender<SttEvent>) -> Result<Listener, ProviderError> {
        let opened = timeout(PATIENCE, self.stt.open(self.options, events)).await;
        let session = opened.unwrap_or_else(|_| Err(ProviderError::timeout(RECOGNISER, PATIENCE)))?;
        Ok(Listener { session, given: Duration::ZERO, rates: self.rates, spent: self.spent })
    }
}

/// A recogniser that is open.
struct Listener {
    session: Box<dyn SttSession>,
    /// Of sound that it was given.
    given: Duration,
    rates: Option<Rates>,
    spent: Spent,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.spent.add(self.cost());
    }
}

impl Listener {
    fn tell(&mut self, told: &SttInput) {
        match told {
            SttInput::StartAt(segment) => self.session.takes_over(*segment),
            SttInput::Audio(frame) => {
                self.given += FRAME_DURATION;
                self.session.audio(&CallerAudio(*frame));
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

/// One call's ears. Dropping them ends the work.
pub struct Hearing {
    open: watch::Receiver<bool>,
    ears: Ears,
}

/// A call with one recogniser, as most are, need not keep the caller's last seconds for another.
enum Ears {
    Alone(Alone),
    Relayed(Relayed),
}

impl Hearing {
    /// Begins to open the first recogniser that answers, and keeps what the caller says meanwhile. Words arrive in `events`, and
    /// [`SttEvent::Failed`] with the last one's error when none opens.
    #[must_use]
    pub fn begin(mut recognisers: Vec<Recogniser>, events: mpsc::Sender<SttEvent>) -> Self {
        let (ready, open) = watch::channel(false);
        let only = if recognisers.len() == 1 { recognisers.pop() } else { None };
        let ears = match only {
            Some(only) => Ears::Alone(Alone::begin(only, events, ready)),
            None => Ears::Relayed(Relayed::begin(recognisers, events, ready)),
        };
        Self { open, ears }
    }

    /// Waits until a recogniser is open; for ever, when none opens. May be dropped and called again.
    pub async fn opened(&mut self) {
        if self.open.wait_for(|open| *open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The next 20 ms of the caller.
    pub fn audio(&mut self, frame: &CallerAudio) {
        self.tell(SttInput::Audio(frame.0));
    }

    /// Voice activity began.
    pub fn speech_started(&mut self) {
        self.tell(SttInput::SpeechStarted);
    }

    /// It ended, and with it this segment.
    pub fn speech_stopped(&mut self, segment: u32) {
        self.tell(SttInput::SpeechStopped(segment));
    }

    fn tell(&mut self, told: SttInput) {
        match &mut self.ears {
            Ears::Alone(alone) => alone.tell(told),
            Ears::Relayed(relayed) => relayed.tell(told),
        }
    }

    /// Ends it; what it has cost is added by then.
    pub async fn end(self) {
        match self.ears {
            Ears::Alone(alone) => drop(alone),
            Ears::Relayed(relayed) => relayed.end().await,
        }
    }
}
