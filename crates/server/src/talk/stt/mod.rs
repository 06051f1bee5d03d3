//! Speech to text of a call: the first STT of the agent's list that opens and, if it fails during the call, the next ones.
//!
//! If the caller is not understood, the agent must not be silent for longer than 3 s. Three independent mechanisms ensure that:
//!
//! - An STT that is lost for good is replaced at once. Its successor gets the caller's last seconds as far as they have no final
//!   transcript, so that no words are lost or doubled.
//! - An STT that is merely silent, because it reconnects, is slow or hangs, is replaced when speech has waited for its transcript for 2 s
//!   (`failover`). It keeps running until the other one is open, and stays in use if it responds first. So an adapter may retry as it
//!   likes, and need not know whether there is a fallback.
//! - Without a fallback, the conversation continues without a transcript 2.5 s after the end of speech, and asks the caller to repeat.
//!
//! When no STT is left, the last error ends the call. Each STT is tried once per call. Audio is priced by the STT that received it.

mod failover;
mod failover_task;
mod single;

use std::sync::Arc;
use std::time::Duration;

use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::CallerAudio;
use switchhook_providers::prices::Rates;
use switchhook_providers::{ProviderError, Stt, SttEvent, SttInput, SttOptions, SttSession, Usage, UsageMeter};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use self::failover_task::FailoverTask;
use self::single::SingleStt;

/// The name of the stage in errors.
pub(super) const STT: &str = "speech to text";
/// The timeout for opening an STT.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);

/// An STT that an agent may use.
#[derive(Clone)]
pub struct SttProvider {
    /// The provider.
    pub stt: Arc<dyn Stt>,
    /// The options to open it with.
    pub options: SttOptions,
    /// Its prices; `None` if unknown.
    pub rates: Option<Rates>,
    /// Receives its cost when it is dropped.
    pub meter: UsageMeter,
}

impl SttProvider {
    async fn open(self, events: mpsc::Sender<SttEvent>) -> Result<SttConnection, ProviderError> {
        let opened = timeout(OPEN_TIMEOUT, self.stt.open(self.options, events)).await;
        let session = opened.unwrap_or_else(|_| Err(ProviderError::timeout(STT, OPEN_TIMEOUT)))?;
        Ok(SttConnection { session, given: Duration::ZERO, rates: self.rates, meter: self.meter })
    }
}

/// An STT that is open.
struct SttConnection {
    session: Box<dyn SttSession>,
    /// The duration of the audio that it was sent.
    given: Duration,
    rates: Option<Rates>,
    meter: UsageMeter,
}

impl Drop for SttConnection {
    fn drop(&mut self) {
        self.meter.add(self.cost());
    }
}

impl SttConnection {
    fn send(&mut self, input: &SttInput) {
        match input {
            SttInput::StartAt(segment) => self.session.takes_over(*segment),
            SttInput::Audio(frame) => {
                self.given += FRAME_DURATION;
                self.session.audio(frame);
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

/// The STT of one call. Dropping it ends the work.
pub struct SpeechToText {
    open: watch::Receiver<bool>,
    route: SttRoute,
}

/// A call with one STT, as most are, does not buffer the caller's last seconds for another.
enum SttRoute {
    SingleStt(SingleStt),
    FailoverTask(FailoverTask),
}

impl SpeechToText {
    /// Begins to open the first STT that responds, and buffers the caller's audio meanwhile. Transcripts arrive in `events`, and
    /// [`SttEvent::Failed`] with the last error if none opens.
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

    /// Waits until an STT is open; pends forever if none opens. Cancel safe.
    pub async fn opened(&mut self) {
        if self.open.wait_for(|open| *open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Sends the next 20 ms of the caller.
    pub fn audio(&mut self, frame: &CallerAudio) {
        self.send(SttInput::Audio(frame.clone()));
    }

    /// Reports that voice activity began.
    pub fn speech_started(&mut self) {
        self.send(SttInput::SpeechStarted);
    }

    /// Reports that voice activity, and with it this segment, ended.
    pub fn speech_stopped(&mut self, segment: u32) {
        self.send(SttInput::SpeechStopped(segment));
    }

    fn send(&mut self, input: SttInput) {
        match &mut self.route {
            SttRoute::SingleStt(alone) => alone.send(input),
            SttRoute::FailoverTask(relayed) => relayed.send(input),
        }
    }

    /// Ends it, and adds its cost.
    pub async fn end(self) {
        match self.route {
            SttRoute::SingleStt(alone) => drop(alone),
            SttRoute::FailoverTask(relayed) => relayed.end().await,
        }
    }
}
