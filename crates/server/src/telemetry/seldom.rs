//! Our own log lines that untrusted clients can cause.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// A line that is logged at most once a second, however often it is caused.
#[derive(Debug)]
pub(crate) struct Seldom(Mutex<State>);

#[derive(Debug)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl Seldom {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(State { last: None, left_out: 0 }))
    }

    /// Returns how many lines were left out since the last one, if there may be another one now.
    pub(crate) fn line(&self, now: Instant) -> Option<u64> {
        // Whole at every step.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now.saturating_duration_since(last) < LINE_INTERVAL) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_once_a_second_and_says_how_many_did_not() {
        let (line, start) = (Seldom::new(), Instant::now());
        let at = |ms| line.line(start + Duration::from_millis(ms));
        assert_eq!(at(0), Some(0));
        assert!((1..1_000).all(|ms| at(ms).is_none()));
        assert_eq!(at(1_000), Some(999));
        assert_eq!((at(1_500), at(5_000)), (None, Some(1)));
    }
}
