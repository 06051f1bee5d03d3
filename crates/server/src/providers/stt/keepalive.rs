//! Keepalive: a half-open connection looks like a silent one.

use std::time::Duration;

use tokio::time::Instant;

/// Between two pings.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Until something comes after a ping.
const PONG_TIMEOUT: Duration = Duration::from_secs(5);
/// The same while a caller waits for words: longer than a message takes around the world.
const PONG_TIMEOUT_WHILE_WAITING: Duration = Duration::from_secs(1);

/// Pings that were sent, and whether anything came after them.
pub(super) struct Keepalive {
    /// The first ping that nothing came after, or the last one of all.
    asked: Instant,
    waiting: bool,
}

impl Keepalive {
    pub(super) fn new(now: Instant) -> Self {
        Self { asked: now, waiting: false }
    }

    /// A ping is sent.
    pub(super) fn ping_sent(&mut self, now: Instant) {
        if !self.waiting {
            (self.asked, self.waiting) = (now, true);
        }
    }

    /// Something came.
    pub(super) fn received(&mut self) {
        self.waiting = false;
    }

    /// When there is something to do: a ping is to be sent, or is without an answer for too long.
    pub(super) fn due(&self) -> Instant {
        self.asked + if self.waiting { PONG_TIMEOUT } else { PING_INTERVAL }
    }

    pub(super) fn wants_ping(&self, now: Instant) -> bool {
        !self.waiting && now >= self.due()
    }

    pub(super) fn is_dead(&self, now: Instant) -> bool {
        self.waiting && now >= self.due()
    }

    /// When it can be told whether silence at `deadline` is that of a dead connection.
    pub(super) fn decided_at(&self, deadline: Instant) -> Instant {
        if self.waiting { deadline.max(self.asked + PONG_TIMEOUT_WHILE_WAITING) } else { deadline }
    }

    /// For how long nobody has been there, where somebody is waited for.
    pub(super) fn unresponsive_for(&self, now: Instant) -> Option<Duration> {
        Some(now - self.asked).filter(|dead| self.waiting && *dead >= PONG_TIMEOUT_WHILE_WAITING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_that_was_just_sent_proves_nothing() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut keepalive = Keepalive::new(start);
        assert_eq!((keepalive.decided_at(at(1_500)), keepalive.unresponsive_for(at(1_500))), (at(1_500), None));
        keepalive.ping_sent(at(1_490));
        assert_eq!((keepalive.decided_at(at(1_500)), keepalive.unresponsive_for(at(1_500))), (at(2_490), None));
        keepalive.ping_sent(at(2_000));
        let dead = keepalive.unresponsive_for(at(2_490));
        assert_eq!(dead, Some(PONG_TIMEOUT_WHILE_WAITING), "another ping does not make the first one younger");
        keepalive.received();
        assert_eq!((keepalive.decided_at(at(1_500)), keepalive.unresponsive_for(at(9_000))), (at(1_500), None));
    }

    #[test]
    fn a_quiet_line_is_asked_and_given_up() {
        let start = Instant::now();
        let mut keepalive = Keepalive::new(start);
        assert!(!keepalive.wants_ping(start + PING_INTERVAL / 2) && keepalive.wants_ping(start + PING_INTERVAL));
        keepalive.ping_sent(start + PING_INTERVAL);
        assert!(!keepalive.wants_ping(start + 3 * PING_INTERVAL) && !keepalive.is_dead(start + PING_INTERVAL));
        assert!(keepalive.is_dead(start + PING_INTERVAL + PONG_TIMEOUT));
    }
}
