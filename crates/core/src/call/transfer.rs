//! Watches the leg to the number of a transfer whose reports may be lost, late or out of order, by looking it up.

use std::time::Duration;

use crate::Timestamp;

/// The pause before the leg is looked up for the first time, and between two lookups.
const FIRST_LOOK: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How long a carrier may take to report that it has connected a leg that was answered: it connects it at once.
const CONNECTED_AFTER: Duration = Duration::from_secs(3);
/// After this long, an answer that nothing contradicts counts as a connection.
const ANSWER_STANDS: Duration = Duration::from_secs(10);
/// The number rings for 30 s. Afterwards its leg has either been answered or has ended.
const LONGEST_RING: Duration = Duration::from_secs(35);

/// The leg to the number of a transfer, as the carrier shows it when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferLegState {
    /// The carrier does not know the leg, or could not be asked.
    Unknown,
    /// It rings.
    Ringing,
    /// It is up; the carrier may say so of a leg that rings.
    Up,
    /// It is connected.
    Connected,
    /// It has ended.
    Ended,
}

/// What follows from a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferStep {
    /// Look again after this time.
    LookAgain(Duration),
    /// The far end is connected to the number.
    Bridged,
    /// It is not, and will not be.
    Failed {
        /// Whether the leg may still exist, and must be hung up.
        hang_up: bool,
    },
}

/// The progress of a transfer during which the call's own leg stays ours.
#[derive(Clone, Copy, Debug)]
pub struct TransferWatch {
    began: Timestamp,
    answered: Option<Timestamp>,
    /// Whether a lookup has shown that the leg rings: then one that is up was answered.
    rang: bool,
}

impl TransferWatch {
    /// Creates the watch of a transfer that the carrier was asked for.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { began: now, answered: None, rang: false }
    }

    /// Records that the carrier has taken the request. Returns when to look the leg up.
    pub fn accepted(&mut self, now: Timestamp) -> Duration {
        self.began = now;
        if self.answered.is_some() { CONNECTED_AFTER } else { FIRST_LOOK }
    }

    /// Records the report that the leg was answered. Returns when to look it up, unless its connection is reported before.
    pub fn answered(&mut self, now: Timestamp) -> Duration {
        self.answered.get_or_insert(now);
        CONNECTED_AFTER
    }

    /// Returns whether the report that the leg was answered has come.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.answered.is_some()
    }

    /// Decides what follows from the result of a lookup. Ends within a bounded time, even if no report arrives.
    pub fn looked_up(&mut self, now: Timestamp, leg: TransferLegState) -> TransferStep {
        let over = now.since(self.began) >= LONGEST_RING;
        self.rang |= leg == TransferLegState::Ringing;
        match leg {
            TransferLegState::Connected => TransferStep::Bridged,
            TransferLegState::Up if self.answered.is_some() || self.rang || over => TransferStep::Bridged,
            TransferLegState::Unknown if self.answered.is_some_and(|at| now.since(at) >= ANSWER_STANDS) => {
                TransferStep::Bridged
            }
            TransferLegState::Ended => TransferStep::Failed { hang_up: false },
            // While an answer is undecided there is a little more time.
            _ if over && (leg == TransferLegState::Ringing || self.answered.is_none()) => {
                TransferStep::Failed { hang_up: true }
            }
            _ => TransferStep::LookAgain(if self.answered.is_some() { CONNECTED_AFTER } else { LOOK_AGAIN }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TransferLegState::{Connected, Ended, Ringing, Unknown, Up};
    use super::*;

    const FAILED: TransferStep = TransferStep::Failed { hang_up: false };
    const GIVEN_UP: TransferStep = TransferStep::Failed { hang_up: true };

    /// A title, the second of the reported answer, the leg that a lookup shows, and the end with its second.
    type Story = (&'static str, Option<i64>, fn(i64) -> TransferLegState, TransferStep, i64);

    /// Plays lookups in virtual time, with the report of an answer after so many seconds. Returns the end and its second.
    fn play(answered: Option<i64>, shown: impl Fn(i64) -> TransferLegState) -> (TransferStep, i64) {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1_000);
        let mut watch = TransferWatch::new(at(0));
        let mut next = i64::try_from(watch.accepted(at(0)).as_secs()).expect("short");
        let mut reported = answered;
        for _ in 0..100 {
            if let Some(second) = reported.take_if(|second| *second <= next) {
                next = second + i64::try_from(watch.answered(at(second)).as_secs()).expect("short");
            }
            match watch.looked_up(at(next), shown(next)) {
                TransferStep::LookAgain(pause) => next += i64::try_from(pause.as_secs()).expect("short"),
                end => return (end, next),
            }
        }
        panic!("the end is never known");
    }

    #[test]
    fn every_transfer_ends_within_a_bounded_time() {
        let table: [Story; 10] = [
            ("its connection is not reported", Some(6), |_| Up, TransferStep::Bridged, 9),
            (
                "nothing is reported; it rang before",
                None,
                |at| if at < 4 { Ringing } else { Up },
                TransferStep::Bridged,
                7,
            ),
            ("nothing is reported; it may ring", None, |_| Up, TransferStep::Bridged, 37),
            ("its end is not reported", None, |at| if at < 6 { Ringing } else { Ended }, FAILED, 7),
            ("it hangs up at once", Some(1), |at| if at < 3 { Up } else { Ended }, FAILED, 4),
            ("it rings for too long", None, |_| Ringing, GIVEN_UP, 37),
            ("answered, they say, but it rings", Some(1), |_| Ringing, GIVEN_UP, 37),
            ("nothing is known", None, |_| Unknown, GIVEN_UP, 37),
            ("only its answer is known", Some(1), |_| Unknown, TransferStep::Bridged, 13),
            ("the carrier says so", None, |_| Connected, TransferStep::Bridged, 2),
        ];
        for (story, answered, shown, end, second) in table {
            assert_eq!(play(answered, shown), (end, second), "{story}");
        }
    }
}
