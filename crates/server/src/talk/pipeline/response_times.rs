//! How long models take until they begin to respond, and so when one is late.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchhook_core::id::ConnectionId;

/// The number of response times kept: those of an hour ago say little.
const REMEMBERED: usize = 200;
/// Response times needed before any is called late.
const LEAST: usize = 20;
/// The percentage of responses that are not late.
const USUAL: usize = 95;
/// The earliest hedge: an earlier one would cost more than it saves.
const MIN_HEDGE_DELAY: Duration = Duration::from_millis(400);
/// The latest hedge: the caller is waiting.
const MAX_HEDGE_DELAY: Duration = Duration::from_secs(2);

/// The times until the first output of one model of one connection, in this process.
#[derive(Debug, Default)]
pub struct ResponseTimes(Mutex<VecDeque<Duration>>);

impl ResponseTimes {
    /// Records how long a response took, or how long the wait was until it timed out.
    pub fn note(&self, took: Duration) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.truncate(REMEMBERED - 1);
        times.push_front(took);
    }

    /// Records the wait for a request that was cancelled because another was faster. Only an unusually long wait counts: it says nothing
    /// about the speed of a second request that began a moment ago.
    pub fn note_taken_back(&self, waited: Duration) {
        if self.late_after().is_some_and(|late| waited > late) {
            self.note(waited);
        }
    }

    /// Returns when a response is late: 95 of 100 took no longer. `None` until there were enough of them.
    #[must_use]
    pub fn late_after(&self) -> Option<Duration> {
        let mut times: Vec<Duration> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        times.sort_unstable();
        let rank = (times.len() * USUAL).div_ceil(100);
        (times.len() >= LEAST).then(|| times[rank - 1].clamp(MIN_HEDGE_DELAY, MAX_HEDGE_DELAY))
    }
}

/// A model of a connection; `None` stands for the default model and for the built-in connection.
type Which = (Option<ConnectionId>, Option<String>);

/// The response times of all models used so far.
#[derive(Default)]
pub struct AllResponseTimes(Mutex<HashMap<Which, Arc<ResponseTimes>>>);

impl AllResponseTimes {
    /// Returns the response times of a connection's model; without a connection, of the built-in one.
    #[must_use]
    pub fn of(&self, connection: Option<ConnectionId>, model: Option<&str>) -> Arc<ResponseTimes> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry((connection, model.map(str::to_owned))).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn an_answer_is_late_when_nearly_all_were_quicker() {
        let response_times = ResponseTimes::default();
        (1..20).for_each(|n| response_times.note(ms(n * 50)));
        assert_eq!(response_times.late_after(), None, "nineteen are too few");
        response_times.note(ms(1_000));
        assert_eq!(response_times.late_after(), Some(ms(950)), "the nineteenth of twenty");
        (0..REMEMBERED).for_each(|_| response_times.note(ms(30)));
        assert_eq!(response_times.late_after(), Some(MIN_HEDGE_DELAY), "what was long ago is forgotten");
        (0..REMEMBERED).for_each(|_| response_times.note(ms(9_000)));
        assert_eq!(response_times.late_after(), Some(MAX_HEDGE_DELAY));
    }

    #[test]
    fn one_that_was_never_waited_for_is_not_known_to_be_quick() {
        let response_times = ResponseTimes::default();
        (0..LEAST).for_each(|_| response_times.note_taken_back(ms(20)));
        assert_eq!(response_times.late_after(), None);
        (0..LEAST).for_each(|_| response_times.note(ms(1_500)));
        (0..REMEMBERED).for_each(|_| response_times.note_taken_back(ms(20)));
        assert_eq!(response_times.late_after(), Some(ms(1_500)), "it is as slow as it was");
        (0..LEAST).for_each(|_| response_times.note_taken_back(ms(1_800)));
        assert_eq!(response_times.late_after(), Some(ms(1_800)), "it is slower than it was");
    }

    #[test]
    fn every_model_has_a_pace_of_its_own() {
        let all = AllResponseTimes::default();
        let connection = Some(ConnectionId::from_uuid(uuid::Uuid::nil()));
        let same = Arc::ptr_eq(&all.of(connection, Some("a")), &all.of(connection, Some("a")));
        assert!(same && !Arc::ptr_eq(&all.of(connection, Some("a")), &all.of(connection, Some("b"))));
        assert!(!Arc::ptr_eq(&all.of(connection, None), &all.of(None, None)));
    }
}
