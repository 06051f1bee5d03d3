//! One leg: plays the far end's side of a call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchhook_core::call::{CarrierCause, EndedBy, Hangup};
use switchhook_core::id::CallId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::audio::FarEndAudio;
use super::fault_rng::FaultRng;
use super::faults::FaultInjector;
use super::scenario::Scenario;
use super::settings::SimulatorSettings;
use crate::media_queue::media_queue;
use crate::{CarrierEvent, LegEvent, LegEvents, Media};

/// The times from the dial to the first ring, and from there to the answer, before `time_scale`.
const UNTIL_RING: Duration = Duration::from_millis(400);
const UNTIL_ANSWER: Duration = Duration::from_millis(1_200);
/// The time from the answer to the first audio.
const UNTIL_MEDIA: Duration = Duration::from_millis(60);
/// Frames of the agent that may be queued: four seconds.
const FRAME_CAPACITY: usize = 200;

/// The far end of a leg.
pub(super) struct FarEnd {
    pub(super) call: CallId,
    pub(super) events: LegEvents,
    pub(super) scenario: Scenario,
    pub(super) settings: SimulatorSettings,
    /// Cancelled when our own side hangs up.
    pub(super) end: CancellationToken,
    /// Set before `end` is cancelled if the leg was transferred instead.
    pub(super) transferred: Arc<AtomicBool>,
    /// The detected DTMF digits.
    pub(super) dtmf_received: Arc<Mutex<String>>,
}

impl FarEnd {
    /// Plays a far end that we dial, ringing for at most `ring`.
    pub(super) async fn rung(self, ring: Duration) {
        let faults = self.faults();
        let live = async {
            match self.rings(ring, &faults).await {
                Ok(()) => self.talks(&faults).await,
                Err(hangup) => hangup,
            }
        };
        self.until_hangup(live, &faults).await;
    }

    /// Plays a far end that called us and was answered.
    pub(super) async fn answered_by_us(self) {
        let faults = self.faults();
        self.until_hangup(self.talks(&faults), &faults).await;
    }

    fn faults(&self) -> FaultInjector {
        FaultInjector::new(self.events.clone(), &self.settings.faults, self.rng())
    }

    fn rng(&self) -> FaultRng {
        FaultRng::new(self.settings.faults.seed, self.call)
    }

    /// Rings until they pick up. Returns the hangup if they do not.
    async fn rings(&self, ring: Duration, faults: &FaultInjector) -> Result<(), Hangup> {
        let scaled = |time: Duration| time.mul_f64(self.settings.time_scale);
        let unanswered = |cause, sip_code| Err(Hangup { sip_code: Some(sip_code), ..Hangup::new(cause) });
        tokio::time::sleep(scaled(UNTIL_RING)).await;
        match self.scenario {
            Scenario::Busy => return unanswered(CarrierCause::Busy, 486),
            Scenario::InvalidNumber => return unanswered(CarrierCause::InvalidNumber, 404),
            _ => faults.send(LegEvent::Carrier(CarrierEvent::Ringing)).await,
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

    /// Talks until they hang up.
    async fn talks(&self, faults: &FaultInjector) -> Hangup {
        faults.send(LegEvent::Carrier(CarrierEvent::Answered)).await;
        if self.scenario == Scenario::NoMedia {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(UNTIL_MEDIA).await;
        let (to_us, from_agent) = mpsc::channel(FRAME_CAPACITY);
        let (to_agent, incoming) = media_queue();
        faults
            .send(LegEvent::Media(Media {
                incoming,
                outgoing: to_us,
                buffered: false,
                gaps_are_silence: true,
                shows_conversation: false,
            }))
            .await;
        let audio = Box::new(FarEndAudio::new(self.scenario, &self.settings, self.rng(), self.dtmf_received.clone()));
        audio.talk(from_agent, to_agent).await;
        Hangup { hung_up_by: Some(EndedBy::Caller), ..Hangup::new(CarrierCause::Normal) }
    }

    async fn until_hangup(&self, live: impl Future<Output = Hangup>, faults: &FaultInjector) {
        let mut hangup = tokio::select! {
            hangup = live => hangup,
            () = self.end.cancelled() => {
                let cause = if faults.answered() { CarrierCause::Normal } else { CarrierCause::Canceled };
                Hangup::new(cause)
            }
        };
        if self.transferred.load(Ordering::Relaxed) {
            return; // A transferred leg reports nothing more.
        }
        let keys = std::mem::take(&mut *self.dtmf_received.lock().unwrap_or_else(PoisonError::into_inner));
        if !keys.is_empty() {
            hangup.carrier_code = Some(format!("DTMF {keys}"));
        }
        faults.send(LegEvent::Carrier(CarrierEvent::Hangup(hangup))).await;
        faults.flush();
    }
}
