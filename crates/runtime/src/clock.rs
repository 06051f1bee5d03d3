//! The only module that reads the time and generates randomness.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::SystemTime;

use rand::Rng as _;
use switchhook_core::Timestamp;

/// The time of day. Clones share one clock.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Returns the machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// Creates a manual clock for tests, moved by [`Clock::advance`].
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(start.as_micros()))))
    }

    /// Moves a manual clock; has no effect on a system clock.
    pub fn advance(&self, by: std::time::Duration) {
        if let Source::Manual(micros) = &self.0 {
            micros.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// Returns the time of a manual clock, else `None`.
    #[must_use]
    pub fn manual_now(&self) -> Option<Timestamp> {
        matches!(self.0, Source::Manual(_)).then(|| self.now())
    }

    /// Returns the current time.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => {
                let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
            }
            Source::Manual(micros) => Timestamp::from_micros(micros.load(Ordering::SeqCst)),
        }
    }
}

/// Shortens `pause` by up to half, so that waiters do not all return at once.
#[must_use]
pub fn jittered(pause: std::time::Duration) -> std::time::Duration {
    pause.mul_f64(1.0 - rand::random::<f64>() / 2.0)
}

/// Returns `N` cryptographically random bytes.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}
