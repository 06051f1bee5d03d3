//! How far ahead of time the agent's audio is sent to a carrier that buffers it.
//!
//! Such a carrier plays each frame when the one before it ends. A frame that arrives later than that leaves a gap at the phone, and
//! networks and busy nodes often delay frames. So a little audio is always at the carrier before it is needed: 60 ms on a calm line, up
//! to 100 ms where frames have been late.

use std::time::Duration;

use switchhook_media::format::FRAME_DURATION;
use tokio::time::Instant;

/// The lead on a calm line.
const MIN_LEAD: Duration = Duration::from_millis(60);
/// The longest lead. More would cover longer stalls, but would be discarded whenever the caller interrupts.
const MAX_LEAD: Duration = Duration::from_millis(100);
/// How much the lead exceeds the worst delay: the frame that is playing, and one in reserve.
const LEAD_RESERVE: Duration = Duration::from_millis(40);
/// After this long without being needed, the lead shrinks by one frame.
const SHRINK_AFTER: Duration = Duration::from_secs(10);

/// The lead of one line. Pure: time is an argument.
#[derive(Debug)]
pub(super) struct Lead {
    target: Duration,
    /// When everything sent so far will have been played.
    ends_at: Instant,
    /// When the whole lead was last needed, or changed.
    needed_at: Instant,
}

impl Lead {
    /// Starts with the longest lead, since the line's delays are not known yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { target: MAX_LEAD, ends_at: now, needed_at: now }
    }

    /// Records that something on this line was this late: a frame that we sent, or a reply of the carrier.
    pub(super) fn late(&mut self, now: Instant, by: Duration) {
        let needed = (by + LEAD_RESERVE).clamp(MIN_LEAD, MAX_LEAD);
        if needed >= self.target {
            (self.target, self.needed_at) = (needed, now);
        } else if now.duration_since(self.needed_at) >= SHRINK_AFTER {
            self.target = needed.max(self.target - FRAME_DURATION);
            self.needed_at = now;
        }
    }

    /// Returns whether to send another frame now.
    pub(super) fn wants_more(&self, now: Instant) -> bool {
        self.ahead(now) < self.target
    }

    /// Returns how much audio the carrier has not played yet.
    pub(super) fn ahead(&self, now: Instant) -> Duration {
        self.ends_at.saturating_duration_since(now)
    }

    /// Records that a frame is sent; returns when the carrier begins to play it.
    pub(super) fn send(&mut self, now: Instant) -> Instant {
        let plays_at = self.next(now);
        self.ends_at = plays_at + FRAME_DURATION;
        plays_at
    }

    /// Returns when a frame that is sent now begins to play.
    pub(super) fn next(&self, now: Instant) -> Instant {
        self.ends_at.max(now)
    }

    /// Records that the carrier has discarded its audio.
    pub(super) fn cleared(&mut self, now: Instant) {
        self.ends_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Sends frames until no more are wanted; returns their number.
    fn fill(lead: &mut Lead, now: Instant) -> usize {
        std::iter::from_fn(|| lead.wants_more(now).then(|| lead.send(now))).count()
    }

    #[test]
    fn a_lead_is_sent_at_once_and_then_a_frame_for_each_that_is_played() {
        let start = Instant::now();
        let mut lead = Lead::new(start);
        assert_eq!(fill(&mut lead, start), 5);
        let sent: Vec<usize> = (1..=100).map(|tick| fill(&mut lead, start + FRAME_DURATION * tick)).collect();
        assert_eq!(sent, [1; 100]);
        assert_eq!(lead.ahead(start + FRAME_DURATION * 100), ms(100));
    }

    #[test]
    fn frames_play_one_after_the_other_and_after_a_pause_at_once() {
        let start = Instant::now();
        let mut lead = Lead::new(start);
        let plays: Vec<Duration> = (0..3).map(|_| lead.send(start) - start).collect();
        assert_eq!(plays, [ms(0), ms(20), ms(40)]);
        assert_eq!(lead.send(start + ms(500)) - start, ms(500), "what was sent has been played long since");
        lead.cleared(start + ms(505));
        assert_eq!(lead.send(start + ms(505)) - start, ms(505), "or was thrown away");
    }

    #[test]
    fn a_stall_is_caught_up_with_and_not_more_than_that() {
        let start = Instant::now();
        let mut lead = Lead::new(start);
        fill(&mut lead, start);
        assert_eq!(fill(&mut lead, start + ms(80)), 4, "the frames that were due meanwhile");
        assert_eq!(fill(&mut lead, start + ms(80)), 0);
        assert_eq!(fill(&mut lead, start + ms(980)), 5, "of a longer stall a lead, and not everything that was missed");
    }

    #[test]
    fn a_calm_line_has_a_short_lead_and_a_late_frame_a_long_one() {
        let start = Instant::now();
        let mut lead = Lead::new(start);
        let after = |lead: &mut Lead, from: u64, seconds: u64, by: u64| {
            for tick in from * 50..(from + seconds) * 50 {
                lead.late(start + ms(tick * 20), ms(by));
            }
            lead.target
        };
        assert_eq!(after(&mut lead, 0, 11, 1), ms(80));
        assert_eq!(after(&mut lead, 11, 11, 1), ms(60));
        assert_eq!(after(&mut lead, 22, 60, 1), ms(60), "never less");
        lead.late(start + ms(90_000), ms(35));
        assert_eq!(lead.target, ms(75), "at once, and as much as was needed");
        lead.late(start + ms(90_020), ms(300));
        assert_eq!(lead.target, ms(100), "never more");
        assert_eq!(after(&mut lead, 91, 9, 1), ms(100), "the next one may be as late");
        lead.late(start + ms(100_000), ms(70));
        assert_eq!(after(&mut lead, 100, 9, 1), ms(100), "as it was");
    }
}
