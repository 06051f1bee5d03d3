//! The retry schedule of deliveries.

use std::time::Duration;

use crate::Timestamp;

/// Maximum attempts of a delivery.
pub const MAX_ATTEMPTS: u32 = 8;

/// The delays between a delivery's attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    delays: [Duration; MAX_ATTEMPTS as usize - 1],
}

impl Schedule {
    /// Creates a schedule of seven delays between eight attempts.
    ///
    /// # Errors
    /// If there are not seven delays.
    pub fn new(delays: &[Duration]) -> Result<Self, WrongNumberOfDelays> {
        delays.try_into().map(|delays| Self { delays }).map_err(|_| WrongNumberOfDelays { given: delays.len() })
    }

    /// Returns when a delivery is due again after attempt number `attempts` (from 1) failed at `now`; `None` if that was the
    /// last.
    ///
    /// Each delay varies by up to a fifth, so that deliveries that failed together are not retried together; `random` is any
    /// uniform number. The receiver's [`retry_after`] can postpone an attempt, up to the largest delay, but not bring it forward.
    #[must_use]
    pub fn next_attempt(
        &self,
        attempts: u32,
        now: Timestamp,
        retry_after: Option<Duration>,
        random: u32,
    ) -> Option<Timestamp> {
        let made = usize::try_from(attempts.max(1)).ok()?;
        let delay = self.delays.get(made - 1)?;
        let largest = self.delays.iter().max().copied().unwrap_or_default();
        let factor = 0.8 + 0.4 * f64::from(random) / f64::from(u32::MAX);
        let requested = retry_after.unwrap_or_default().min(largest);
        Some(now + delay.mul_f64(factor).max(requested))
    }
}

/// There are not seven delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {} delays between {MAX_ATTEMPTS} attempts, not {given}", MAX_ATTEMPTS - 1)]
pub struct WrongNumberOfDelays {
    given: usize,
}

/// Returns whether this HTTP status accepts a delivery: any 2xx, and nothing else.
#[must_use]
pub const fn is_success(status: u16) -> bool {
    matches!(status, 200..=299)
}

/// Returns the delay of a `Retry-After` header (RFC 9110 section 10.2.3) on a 429 or 503;
/// `None` for other statuses and malformed headers.
#[must_use]
pub fn retry_after(status: u16, header: &str, now: Timestamp) -> Option<Duration> {
    if !matches!(status, 429 | 503) {
        return None;
    }
    crate::retry_after::retry_after(header, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIDDLE: u32 = u32::MAX / 2;

    /// Returns the delays of `config.default.toml`.
    fn about_a_day() -> Schedule {
        let delays = [5, 30, 5 * 60, 30 * 60, 2 * 3600, 6 * 3600, 16 * 3600].map(Duration::from_secs);
        Schedule::new(&delays).expect("seven delays")
    }

    fn now() -> Timestamp {
        Timestamp::parse("1994-11-06T08:49:30Z").expect("a date")
    }

    #[test]
    fn eight_attempts_are_spread_over_a_day() {
        let schedule = about_a_day();
        let delays: Vec<u64> = (1..)
            .map_while(|attempts| schedule.next_attempt(attempts, now(), None, MIDDLE))
            .map(|at| at.since(now() - Duration::from_millis(500)).as_secs())
            .collect();
        assert_eq!(delays, [5, 30, 300, 1_800, 7_200, 21_600, 57_600], "seven delays: eight attempts");
    }

    #[test]
    fn a_receiver_can_postpone_but_neither_hasten_nor_stall() {
        let schedule = about_a_day();
        let wait = |seconds| {
            let requested = Some(Duration::from_secs(seconds));
            schedule.next_attempt(1, now(), requested, 0).expect("not the last").since(now()).as_secs()
        };
        assert_eq!(wait(1), 4, "5 s less a fifth");
        assert_eq!(wait(600), 600);
        assert_eq!(wait(u64::MAX), 57_600, "the largest delay");
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_of_a_429_or_503() {
        let seconds = |status, header| retry_after(status, header, now()).map(|wait| wait.as_secs());
        assert_eq!(seconds(429, " 120 "), Some(120));
        assert_eq!(seconds(503, "Sun, 06 Nov 1994 08:49:37 GMT"), Some(7));
        assert_eq!(seconds(503, "Sunday, 06-Nov-94 08:49:37 GMT"), Some(7), "in an obsolete form");
        assert_eq!(seconds(503, "Sat, 05 Nov 1994 08:49:37 GMT"), Some(0), "a date in the past is no delay");
        assert_eq!(seconds(500, "120"), None);
        for unreadable in ["", "-5", "1.5", "soon", "99999999999999999999999"] {
            assert_eq!(seconds(429, unreadable), None, "{unreadable}");
        }
    }

    #[test]
    fn only_2xx_is_success() {
        let successes: Vec<u16> = (100..600).filter(|status| is_success(*status)).collect();
        assert_eq!((successes.first(), successes.last(), successes.len()), (Some(&200), Some(&299), 100));
    }

    #[test]
    fn there_are_seven_delays() {
        assert!(Schedule::new(&[Duration::ZERO; 7]).is_ok());
        let refusal = Schedule::new(&[Duration::ZERO; 3]).expect_err("three");
        assert_eq!(refusal.to_string(), "must be 7 delays between 8 attempts, not 3");
    }

    proptest! {
        #[test]
        fn jitter_stays_within_a_fifth(attempts in 1_u32..8, random in any::<u32>()) {
            let schedule = about_a_day();
            let delay = schedule.delays[attempts as usize - 1];
            let at = schedule.next_attempt(attempts, now(), None, random).expect("not the last");
            let slack = Duration::from_micros(1);
            prop_assert!(at.since(now()) + slack >= delay.mul_f64(0.8));
            prop_assert!(at.since(now()) <= delay.mul_f64(1.2) + slack);
        }
    }
}
