//! Tells the call's runner what happens on a leg, with the faults that were asked for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::dice::Dice;
use super::settings::Faults;
use crate::carrier::{self, CarrierEvent, Line};

/// How late a late message comes.
const LATE: Duration = Duration::from_secs(1);

pub(super) struct Teller {
    line: Line,
    faults: Faults,
    told: Mutex<Told>,
}

struct Told {
    dice: Dice,
    held_back: Option<CarrierEvent>,
    answered: bool,
}

impl Teller {
    pub(super) fn new(line: Line, faults: &Faults, dice: Dice) -> Self {
        Self { line, faults: faults.clone(), told: Mutex::new(Told { dice, held_back: None, answered: false }) }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // It is whole at every step.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody has picked up.
    pub(super) fn answered(&self) -> bool {
        self.told().answered
    }

    pub(super) async fn tell(&self, event: CarrierEvent) {
        let (late, twice, hold) = {
            let mut told = self.told();
            told.answered |= matches!(event, CarrierEvent::Told(carrier::Told::Answered));
            let late = told.dice.happens(self.faults.late_callbacks);
            let twice = told.dice.happens(self.faults.duplicate_callbacks);
            let hold = told.dice.happens(self.faults.reordered_callbacks);
            // Sound is no callback: nothing would follow it but the end.
            let callback = !matches!(event, CarrierEvent::Media(_));
            (late, twice, hold && callback && told.held_back.is_none())
        };
        if late {
            tokio::time::sleep(LATE).await;
        }
        if hold {
            self.told().held_back = Some(event);
            return;
        }
        if twice && let Some(again) = repeated(&event) {
            self.line.tell(again);
        }
        self.line.tell(event);
        self.flush();
    }

    /// Tells what was held back.
    pub(super) fn flush(&self) {
        let held_back = self.told().held_back.take();
        if let Some(event) = held_back {
            self.line.tell(event);
        }
    }
}

fn repeated(event: &CarrierEvent) -> Option<CarrierEvent> {
    match event {
        CarrierEvent::Told(told) => Some(CarrierEvent::Told(told.clone())),
        CarrierEvent::Media(_) => None,
    }
}
