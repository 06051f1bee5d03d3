//! Keepalive without a socket: a half-open connection looks like a silent one.

use std::time::Duration;

use tokio::time::Instant;

/// Tracks pings and whether anything arrived after them.
pub(super) struct Keepalive {
    interval: Duration,
    /// The first ping after which nothing has arrived.
    pinged_at: Option<Instant>,
    /// The next ping; after a ping, the deadline for a reaction to it.
    due: Instant,
}

impl Keepalive {
    pub(super) fn new(now: Instant, interval: Duration) -> Self {
        Self { interval, pinged_at: None, due: now + interval }
    }

    /// Records that a message arrived.
    pub(super) fn received(&mut self, now: Instant) {
        *self = Self::new(now, self.interval);
    }

    /// Requires a message within `limit`. Returns whether a ping must be sent: one is enough.
    pub(super) fn ping(&mut self, now: Instant, limit: Duration) -> bool {
        let due = now + limit;
        self.due = if self.pinged_at.is_some() { self.due.min(due) } else { due };
        self.pinged_at.replace(self.pinged_at.unwrap_or(now)).is_none()
    }

    pub(super) fn due(&self) -> Instant {
        self.due
    }

    pub(super) fn pinged_at(&self) -> Option<Instant> {
        self.pinged_at
    }

    /// Returns how long the server has to react to the current ping.
    pub(super) fn limit(&self) -> Option<Duration> {
        self.pinged_at.map(|pinged| self.due - pinged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(20);
    const LIMIT: Duration = Duration::from_secs(5);

    #[test]
    fn a_second_ping_may_shorten_the_wait_and_does_not_begin_it_again() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut keepalive = Keepalive::new(start, INTERVAL);
        assert!(keepalive.ping(at(1_000), LIMIT), "the first one is sent");
        assert!(!keepalive.ping(at(3_000), LIMIT), "another one is not");
        assert_eq!((keepalive.due(), keepalive.pinged_at()), (at(6_000), Some(at(1_000))));
        assert!(!keepalive.ping(at(3_000), LIMIT / 5));
        assert_eq!((keepalive.due(), keepalive.limit()), (at(4_000), Some(Duration::from_secs(3))));
    }

    #[test]
    fn a_silent_connection_is_pinged_and_any_message_ends_the_wait() {
        let start = Instant::now();
        let mut keepalive = Keepalive::new(start, INTERVAL);
        assert_eq!((keepalive.due(), keepalive.limit()), (start + INTERVAL, None));
        assert!(keepalive.ping(keepalive.due(), LIMIT));
        assert_eq!((keepalive.due(), keepalive.limit()), (start + INTERVAL + LIMIT, Some(LIMIT)));
        keepalive.received(start + INTERVAL + LIMIT / 2);
        assert_eq!((keepalive.due(), keepalive.limit()), (start + 2 * INTERVAL + LIMIT / 2, None));
    }
}
