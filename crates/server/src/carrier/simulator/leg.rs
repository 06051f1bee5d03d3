//! One leg: the far end's side of a call, as it happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchhook_core::call::{CarrierCause, EndedBy, Hangup};
use switchhook_core::id::CallId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::dice::Dice;
use super::scenario::Scenario;
use super::settings::SimulatorSettings;
use super::sound::Sound;
use super::teller::Teller;
use crate::carrier::media_queue::media_queue;
use crate::carrier::{CarrierEvent, Line, Media, Told};

/// From the dial to the first ring, and from there to the answer, before `time_scale`.
const UNTIL_RING: Duration = Duration::from_millis(400);
const UNTIL_ANSWER: Duration = Duration::from_millis(1_200);
/// From the answer to the sound.
const UNTIL_MEDIA: Duration = Duration::from_millis(60);
/// Frames of the agent that may wait: four seconds.
const WAITING: usize = 200;

/// Whoever is at the other end.
pub(super) struct FarEnd {
    pub(super) call: CallId,
    pub(super) line: Line,
    pub(super) scenario: Scenario,
    pub(super) settings: SimulatorSettings,
    /// Cancelled when our own side hangs up.
    pub(super) end: CancellationToken,
    /// Set before that when the leg was passed on instead.
    pub(super) passed_on: Arc<AtomicBool>,
    /// The keys that were heard.
    pub(super) heard_keys: Arc<Mutex<String>>,
}

impl FarEnd {
    /// Is rung for at most `ring`.
    pub(super) async fn rung(self, ring: Duration) {
        let teller = self.teller();
        let live = async {
            match self.rings(ring, &teller).await {
                Ok(()) => self.talks(&teller).await,
                Err(hangup) => hangup,
            }
        };
        self.until_hangup(live, &teller).await;
    }

    /// Has called us and is answered.
    pub(super) async fn answered_by_us(self) {
        let teller = self.teller();
        self.until_hangup(self.talks(&teller), &teller).await;
    }

    fn teller(&self) -> Teller {
        Teller::new(self.line.clone(), &self.settings.faults, self.dice())
    }

    fn dice(&self) -> Dice {
        Dice::new(self.settings.faults.seed, self.call)
    }

    /// Until they pick up, or do not.
    async fn rings(&self, ring: Duration, teller: &Teller) -> Result<(), Hangup> {
        let scaled = |time: Duration| time.mul_f64(self.settings.time_scale);
        let unanswered = |cause, sip_code| Err(Hangup { sip_code: Some(sip_code), ..Hangup::new(cause) });
        tokio::time::sleep(scaled(UNTIL_RING)).await;
        match self.scenario {
            Scenario::Busy => return unanswered(CarrierCause::Busy, 486),
            Scenario::InvalidNumber => return unanswered(CarrierCause::InvalidNumber, 404),
            _ => teller.tell(CarrierEvent::Told(Told::Ringing)).await,
        }
        match self.scenario {
            Scenario::NoAnswer => {
                tokio::time::sleep(scaled(ring)).await;
                unanswered(CarrierCause::NoAnswer, 480)
            }
            Scenario::Rejects => {
                tokio::time::sleep(scaled(UNTIL_ANSWER)).await;
                unanswered(CarrierCause::Rejected, 603)
            }
            _ => {
                tokio::time::sleep(scaled(UNTIL_ANSWER)).await;
                Ok(())
            }
        }
    }

    /// Until they hang up.
    async fn talks(&self, teller: &Teller) -> Hangup {
        teller.tell(CarrierEvent::Told(Told::Answered)).await;
        if self.scenario == Scenario::NoMedia {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(UNTIL_MEDIA).await;
        let (to_us, from_agent) = mpsc::channel(WAITING);
        let (to_agent, incoming) = media_queue();
        teller.tell(CarrierEvent::Media(Media { incoming, outgoing: to_us, buffered: false })).await;
        let sound = Sound::new(self.scenario, &self.settings, self.dice(), self.heard_keys.clone());
        sound.talk(from_agent, to_agent).await;
        Hangup { hung_up_by: Some(EndedBy::Caller), ..Hangup::new(CarrierCause::Normal) }
    }

    async fn until_hangup(&self, live: impl Future<Output = Hangup>, teller: &Teller) {
        let mut hangup = tokio::select! {
            hangup = live => hangup,
            () = self.end.cancelled() => {
                let cause = if teller.answered() { CarrierCause::Normal } else { CarrierCause::Canceled };
                Hangup::new(cause)
            }
        };
        if self.passed_on.load(Ordering::Relaxed) {
            return; // What happens on the line from now on is no longer our business.
        }
        let keys = std::mem::take(&mut *self.heard_keys.lock().unwrap_or_else(PoisonError::into_inner));
        if !keys.is_empty() {
            hangup.carrier_code = Some(format!("DTMF {keys}"));
        }
        teller.tell(CarrierEvent::Told(Told::Hangup(hangup))).await;
        teller.flush();
    }
}
