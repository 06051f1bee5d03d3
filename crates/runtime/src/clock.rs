//! The only module that reads the time and generates randomness.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rand::Rng as _;
use switchhook_core::Timestamp;

/// The time of day, for what is stored, shown or compared with other machines. It can be set, forwards or backwards: measure how long
/// something takes with a [`SteadyClock`]. Clones share one clock.
#[derive(Clone, Debug)]
pub struct Clock(Option<Arc<TestClock>>);

/// A clock of tests, in microseconds.
#[derive(Debug, Default)]
struct TestClock {
    /// The time that a test lets pass; `None` if it passes as on the machine's clock.
    manual: Option<AtomicI64>,
    /// How far the clock was set.
    set_by: AtomicI64,
}

impl Clock {
    /// Returns the machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// Creates a clock for tests that runs like the machine's and can be set by [`Clock::set`].
    #[must_use]
    pub fn settable() -> Self {
        Self(Some(Arc::default()))
    }

    /// Creates a manual clock for tests: time passes by [`Clock::advance`], and [`Clock::set`] sets it.
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        let manual = Some(AtomicI64::new(start.as_micros()));
        Self(Some(Arc::new(TestClock { manual, ..TestClock::default() })))
    }

    /// Lets time pass on a manual clock; has no effect on others.
    pub fn advance(&self, by: Duration) {
        if let Some(passed) = self.manual_time() {
            passed.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// Sets a clock of a test, as an operator sets the machine's: no time passes. Has no effect on the machine's clock.
    pub fn set(&self, to: Timestamp) {
        if let Some(test) = &self.0 {
            test.set_by.store(to.as_micros().saturating_sub(self.unset().as_micros()), Ordering::SeqCst);
        }
    }

    /// Returns the time of a manual clock, else `None`.
    #[must_use]
    pub fn manual_now(&self) -> Option<Timestamp> {
        self.manual_time().map(|_| self.now())
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let set_by = self.0.as_ref().map_or(0, |test| test.set_by.load(Ordering::SeqCst));
        Timestamp::from_micros(self.unset().as_micros().saturating_add(set_by))
    }

    /// Returns a clock that starts at the current time and is not set afterwards.
    #[must_use]
    pub fn steady(&self) -> SteadyClock {
        let (at, unset, began) = (self.now(), self.unset(), Instant::now());
        SteadyClock(Arc::new(Start { at, clock: self.clone(), unset, began }))
    }

    fn manual_time(&self) -> Option<&AtomicI64> {
        self.0.as_ref()?.manual.as_ref()
    }

    /// Returns the time as if no test had set the clock.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
    fn unset(&self) -> Timestamp {
        if let Some(passed) = self.manual_time() {
            return Timestamp::from_micros(passed.load(Ordering::SeqCst));
        }
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The time of day at one moment and the time that has passed since: for deadlines and durations within one process. It never steps, but
/// differs from a [`Clock`] that was set meanwhile. Clones share their start.
#[derive(Clone, Debug)]
pub struct SteadyClock(Arc<Start>);

/// The start of a steady clock.
#[derive(Debug)]
struct Start {
    at: Timestamp,
    began: Instant,
    /// A manual clock says itself how long it has run: since it showed `unset`.
    clock: Clock,
    unset: Timestamp,
}

impl SteadyClock {
    /// Returns the current time, which is never earlier than an earlier one.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let start = &self.0;
        let passed = match start.clock.manual_time() {
            Some(_) => start.clock.unset().since(start.unset),
            None => start.began.elapsed(),
        };
        start.at + passed
    }
}

/// Shortens `pause` by up to half, so that waiters do not all return at once.
#[must_use]
pub fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(1.0 - rand::random::<f64>() / 2.0)
}

/// Returns `N` cryptographically random bytes.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_steady_clock_counts_passed_time_while_the_time_of_day_is_set() {
        let start = Timestamp::from_millis(1_700_000_000_000);
        let clock = Clock::manual(start);
        let steady = clock.steady();
        clock.advance(SECOND);
        clock.set(clock.now() + HOUR);
        clock.advance(SECOND);
        assert_eq!((clock.now(), steady.now()), (start + HOUR + SECOND * 2, start + SECOND * 2), "set forwards");
        clock.set(clock.now() - HOUR * 2);
        clock.advance(SECOND);
        assert_eq!((clock.now(), steady.now()), (start + SECOND * 3 - HOUR, start + SECOND * 3), "set backwards");
    }

    #[test]
    fn a_steady_clock_starts_at_the_time_of_day_that_was_set() {
        let clock = Clock::manual(Timestamp::from_millis(0));
        clock.set(Timestamp::from_millis(0) + HOUR);
        let steady = clock.steady();
        clock.advance(SECOND);
        assert_eq!(steady.now(), clock.now());
    }

    #[test]
    fn a_steady_clock_of_a_running_one_does_not_step_with_it() {
        let clock = Clock::settable();
        let (steady, start) = (clock.steady(), clock.now());
        clock.set(start + HOUR);
        assert!(clock.now() >= start + HOUR, "it is set forwards");
        assert!(steady.now().since(start) < HOUR / 2, "the steady clock is not");
        let before = steady.now();
        clock.set(start - HOUR);
        assert!(clock.now().since(start - HOUR) < HOUR / 2, "it is set backwards");
        assert!(steady.now() >= before, "the steady clock is not");
    }

    #[test]
    fn the_clock_of_the_machine_cannot_be_set() {
        let clock = Clock::system();
        let before = clock.now();
        clock.set(before + HOUR);
        assert!(clock.now().since(before) < HOUR / 2);
    }
}
