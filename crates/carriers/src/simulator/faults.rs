//! Sends a leg's events to the call's runner, with the configured faults injected.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::fault_rng::FaultRng;
use super::settings::Faults;
use crate::{CarrierEvent, LegEvent, LegEvents};

/// The delay of a late event.
const LATE_EVENT_DELAY: Duration = Duration::from_secs(1);

pub(super) struct FaultInjector {
    events: LegEvents,
    faults: Faults,
    state: Mutex<FaultState>,
}

struct FaultState {
    rng: FaultRng,
    held_back: Option<LegEvent>,
    answered: bool,
}

impl FaultInjector {
    pub(super) fn new(events: LegEvents, faults: &Faults, rng: FaultRng) -> Self {
        Self { events, faults: faults.clone(), state: Mutex::new(FaultState { rng, held_back: None, answered: false }) }
    }

    fn state(&self) -> MutexGuard<'_, FaultState> {
        // Consistent at every step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the far end has answered.
    pub(super) fn answered(&self) -> bool {
        self.state().answered
    }

    pub(super) async fn send(&self, event: LegEvent) {
        let (late, twice, hold) = {
            let mut state = self.state();
            state.answered |= matches!(event, LegEvent::Carrier(CarrierEvent::Answered));
            let late = state.rng.happens(self.faults.late_callbacks);
            let twice = state.rng.happens(self.faults.duplicate_callbacks);
            let hold = state.rng.happens(self.faults.reordered_callbacks);
            // Media is not a callback: only the hangup would follow it.
            let callback = !matches!(event, LegEvent::Media(_));
            (late, twice, hold && callback && state.held_back.is_none())
        };
        if late {
            tokio::time::sleep(LATE_EVENT_DELAY).await;
        }
        if hold {
            self.state().held_back = Some(event);
            return;
        }
        if twice && let Some(again) = repeated(&event) {
            self.events.send(again);
        }
        self.events.send(event);
        self.flush();
    }

    /// Sends the event that was held back.
    pub(super) fn flush(&self) {
        let held_back = self.state().held_back.take();
        if let Some(event) = held_back {
            self.events.send(event);
        }
    }
}

fn repeated(event: &LegEvent) -> Option<LegEvent> {
    match event {
        LegEvent::Carrier(event) => Some(LegEvent::Carrier(event.clone())),
        LegEvent::Media(_) => None,
    }
}
