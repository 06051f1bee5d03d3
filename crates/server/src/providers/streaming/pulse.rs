//! Whether anybody is there: a half-open connection looks like a silent one.

use std::time::Duration;

use tokio::time::Instant;

/// Between two pings.
const EVERY: Duration = Duration::from_secs(20);
/// Until something comes after a ping.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same while a caller waits for words: longer than a message takes around the world.
const HURRY: Duration = Duration::from_secs(1);

/// Pings that were sent, and whether anything came after them.
pub(super) struct Pulse {
    /// The first ping that nothing came after, or the last one of all.
    asked: Instant,
    waiting: bool,
}

impl Pulse {
    pub(super) fn new(now: Instant) -> Self {
        Self { asked: now, waiting: false }
    }

    /// A ping is sent.
    pub(super) fn asks(&mut self, now: Instant) {
        if !self.waiting {
            (self.asked, self.waiting) = (now, true);
        }
    }

    /// Something came.
    pub(super) fn beats(&mut self) {
        self.waiting = false;
    }

    /// When there is something to do: a ping is to be sent, or is without an answer for too long.
    pub(super) fn due(&self) -> Instant {
        self.asked + if self.waiting { PATIENCE } else { EVERY }
    }

    pub(super) fn wants_ping(&self, now: Instant) -> bool {
        !self.waiting && now >= self.due()
    }

    pub(super) fn is_lost(&self, now: Instant) -> bool {
        self.waiting && now >= self.due()
    }

    /// When it can be told whether silence at `deadline` is that of a dead line.
    pub(super) fn known_at(&self, deadline: Instant) -> Instant {
        if self.waiting { deadline.max(self.asked + HURRY) } else { deadline }
    }

    /// For how long nobody has been there, where somebody is waited for.
    pub(super) fn dead_for(&self, now: Instant) -> Option<Duration> {
        Some(now - self.asked).filter(|dead| self.waiting && *dead >= HURRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_that_was_just_sent_proves_nothing() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pulse = Pulse::new(start);
        assert_eq!((pulse.known_at(at(1_500)), pulse.dead_for(at(1_500))), (at(1_500), None));
        pulse.asks(at(1_490));
        assert_eq!((pulse.known_at(at(1_500)), pulse.dead_for(at(1_500))), (at(2_490), None));
        pulse.asks(at(2_000));
        let dead = pulse.dead_for(at(2_490));
        assert_eq!(dead, Some(HURRY), "another ping does not make the first one younger");
        pulse.beats();
        assert_eq!((pulse.known_at(at(1_500)), pulse.dead_for(at(9_000))), (at(1_500), None));
    }

    #[test]
    fn a_quiet_line_is_asked_and_given_up() {
        let start = Instant::now();
        let mut pulse = Pulse::new(start);
        assert!(!pulse.wants_ping(start + EVERY / 2) && pulse.wants_ping(start + EVERY));
        pulse.asks(start + EVERY);
        assert!(!pulse.wants_ping(start + 3 * EVERY) && !pulse.is_lost(start + EVERY));
        assert!(pulse.is_lost(start + EVERY + PATIENCE));
    }
}
