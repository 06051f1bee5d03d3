//! The lifetime of a sign-in and of a session.

use std::time::Duration;

use crate::Timestamp;

/// How long a person may take at the identity provider.
pub const STATE_MAX_AGE: Duration = Duration::from_secs(600);
/// A session ends this long after it was last used.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(12 * 3600);
/// A session ends this long after the sign-in, regardless of use.
pub const ABSOLUTE_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// When a session began and was last used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionTimes {
    /// The sign-in.
    pub created_at: Timestamp,
    /// The last request.
    pub used_at: Timestamp,
}

impl SessionTimes {
    /// Returns when it ends unless it is used again.
    #[must_use]
    pub fn ends_at(self) -> Timestamp {
        (self.used_at + IDLE_TIMEOUT).min(self.created_at + ABSOLUTE_LIFETIME)
    }

    /// Returns whether it has not ended at `now`.
    #[must_use]
    pub fn is_open(self, now: Timestamp) -> bool {
        now < self.ends_at()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_when_it_is_idle_and_at_the_latest_after_a_week() {
        let hours = |hours: u32| Timestamp::from_millis(1_700_000_000_000) + Duration::from_secs(3600) * hours;
        let open = |used, now| SessionTimes { created_at: hours(0), used_at: used }.is_open(now);
        let instant = Duration::from_millis(1);
        assert!(open(hours(0), hours(12) - instant) && !open(hours(0), hours(12)));
        assert!(open(hours(11), hours(23) - instant) && !open(hours(11), hours(23)));
        assert!(open(hours(167), hours(168) - instant) && !open(hours(167), hours(168)));
    }
}
