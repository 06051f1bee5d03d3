//! The only place that asks what time it is and that rolls dice.

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
    /// The machine's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock for tests: it stands still until [`Clock::advance`].
    #[must_use]
    pub fn manual(start: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(start.as_micros()))))
    }

    /// Moves a manual clock on; a system clock does not listen.
    pub fn advance(&self, by: std::time::Duration) {
        if let Source::Manual(micros) = &self.0 {
            micros.fetch_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX), Ordering::SeqCst);
        }
    }

    /// The time of a clock that tests move; nothing of the machine's.
    #[must_use]
    pub fn manual_now(&self) -> Option<Timestamp> {
        matches!(self.0, Source::Manual(_)).then(|| self.now())
    }

    /// Now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks the time")]
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

/// `pause` less up to half of it, so that those who wait for the same thing do not all come back at once.
#[must_use]
pub fn jittered(pause: std::time::Duration) -> std::time::Duration {
    pause.mul_f64(1.0 - rand::random::<f64>() / 2.0)
}

/// `N` unpredictable bytes from the thread's cryptographic generator.
#[must_use]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}
