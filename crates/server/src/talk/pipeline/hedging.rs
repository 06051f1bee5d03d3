//! When to use which provider: one after the other if they fail, two at once if the first is late.
//!
//! Call [`Hedging::begin`], take each step that is returned, report what happens, and call [`Hedging::tick`] at
//! [`Hedging::next_deadline`]. Times are durations since the beginning. This does no I/O.

use std::time::Duration;

/// The next action of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send the request to the provider at this position, as the attempt with this number.
    Start { attempt: usize, position: usize },
    /// Cancel an attempt because another was faster.
    Cancel { attempt: usize },
    /// Cancel an attempt because its first output takes too long.
    TimeOut { attempt: usize },
    /// No provider is left.
    GiveUp,
}

/// One request to several providers, until the first of them responds.
pub(super) struct Hedging {
    /// For each provider, when it is late and a second one should be used too, if ever.
    late_after: Vec<Option<Duration>>,
    /// How long a provider may take until its first output if there is another.
    timeout_after: Duration,
    /// The first provider that has not been used yet.
    next: usize,
    attempts: usize,
    running: Vec<HedgedAttempt>,
    /// Whether a request was hedged since the last time only one was running.
    hedged: bool,
}

struct HedgedAttempt {
    number: usize,
    position: usize,
    since: Duration,
}

impl Hedging {
    pub(super) fn new(timeout_after: Duration, late_after: Vec<Option<Duration>>) -> Self {
        Self { late_after, timeout_after, next: 0, attempts: 0, running: Vec::new(), hedged: false }
    }

    pub(super) fn begin(&mut self, now: Duration) -> Step {
        self.hedged = false;
        match self.take_next() {
            Some(position) => self.start(now, position),
            None => Step::GiveUp,
        }
    }

    /// Handles that an attempt failed before its first output.
    pub(super) fn failed(&mut self, now: Duration, attempt: usize) -> Option<Step> {
        self.running.retain(|running| running.number != attempt);
        self.running.is_empty().then(|| self.begin(now))
    }

    /// Handles the first output of an attempt: the others are cancelled.
    pub(super) fn spoke(&mut self, attempt: usize) -> Vec<Step> {
        let running = std::mem::take(&mut self.running);
        let others = running.into_iter().filter(|running| running.number != attempt);
        others.map(|running| Step::Cancel { attempt: running.number }).collect()
    }

    /// Handles deadlines that have passed.
    pub(super) fn tick(&mut self, now: Duration) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.hedge_at().is_some_and(|at| at <= now) {
            self.hedged = true;
            let position = self.take_next().unwrap_or(self.running[0].position);
            steps.push(self.start(now, position));
        }
        while let Some(timed_out_attempt) =
            self.timed_out_attempt().filter(|timed_out_attempt| timed_out_attempt.since + self.timeout_after <= now)
        {
            let attempt = timed_out_attempt.number;
            steps.push(Step::TimeOut { attempt });
            steps.extend(self.failed(now, attempt));
        }
        steps
    }

    pub(super) fn next_deadline(&self) -> Option<Duration> {
        let hope_ends = self.timed_out_attempt().map(|timed_out_attempt| timed_out_attempt.since + self.timeout_after);
        self.hedge_at().into_iter().chain(hope_ends).min()
    }

    /// Returns when to hedge the only running attempt.
    fn hedge_at(&self) -> Option<Duration> {
        match self.running.as_slice() {
            [alone] if !self.hedged => Some(alone.since + self.late_after[alone.position]?),
            _ => None,
        }
    }

    /// Returns the attempt that has run longest, if there is an alternative to it.
    fn timed_out_attempt(&self) -> Option<&HedgedAttempt> {
        let another = self.running.len() > 1 || self.next < self.late_after.len();
        self.running.first().filter(|_| another)
    }

    fn take_next(&mut self) -> Option<usize> {
        let position = self.next;
        self.next += usize::from(position < self.late_after.len());
        (position < self.late_after.len()).then_some(position)
    }

    fn start(&mut self, now: Duration, position: usize) -> Step {
        let number = self.attempts;
        self.attempts += 1;
        self.running.push(HedgedAttempt { number, position, since: now });
        Step::Start { attempt: number, position }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn hedging(late_after: &[Option<u64>]) -> Hedging {
        Hedging::new(ms(4_000), late_after.iter().map(|after| after.map(ms)).collect())
    }

    fn start(attempt: usize, position: usize) -> Step {
        Step::Start { attempt, position }
    }

    #[test]
    fn without_hedging_the_next_is_asked_after_a_failure_or_timeout() {
        let mut hedging = hedging(&[None, None, None]);
        assert_eq!(hedging.begin(ms(0)), start(0, 0));
        assert_eq!(hedging.failed(ms(100), 0), Some(start(1, 1)));
        assert_eq!((hedging.next_deadline(), hedging.tick(ms(4_099))), (Some(ms(4_100)), vec![]));
        assert_eq!(hedging.tick(ms(4_100)), [Step::TimeOut { attempt: 1 }, start(2, 2)]);
        assert_eq!(hedging.next_deadline(), None, "the last one has all the time it wants");
        assert_eq!(hedging.failed(ms(9_000), 2), Some(Step::GiveUp));
    }

    #[test]
    fn a_second_is_asked_when_the_first_is_late_and_the_first_to_speak_is_heard() {
        for winner in [0, 1] {
            let mut hedging = hedging(&[Some(700), Some(700)]);
            hedging.begin(ms(0));
            assert_eq!((hedging.next_deadline(), hedging.tick(ms(699))), (Some(ms(700)), vec![]));
            assert_eq!(hedging.tick(ms(700)), [start(1, 1)]);
            assert_eq!(hedging.tick(ms(2_000)), [], "a second, and no third");
            assert_eq!(hedging.spoke(winner), [Step::Cancel { attempt: 1 - winner }]);
            assert_eq!((hedging.next_deadline(), hedging.tick(ms(60_000))), (None, vec![]));
        }
    }

    #[test]
    fn the_only_one_is_asked_twice() {
        let mut hedging = hedging(&[Some(400)]);
        hedging.begin(ms(0));
        assert_eq!(hedging.tick(ms(400)), [start(1, 0)]);
        assert_eq!(hedging.failed(ms(600), 0), None, "the other one runs");
        assert_eq!(hedging.failed(ms(700), 1), Some(Step::GiveUp));
    }

    #[test]
    fn hope_is_lost_in_the_first_before_the_second_and_the_third_may_be_late_again() {
        let mut hedging = hedging(&[Some(500), None, Some(500), None]);
        hedging.begin(ms(0));
        assert_eq!(hedging.tick(ms(500)), [start(1, 1)]);
        assert_eq!(hedging.tick(ms(4_000)), [Step::TimeOut { attempt: 0 }]);
        assert_eq!(hedging.tick(ms(4_500)), [Step::TimeOut { attempt: 1 }, start(2, 2)]);
        assert_eq!(hedging.tick(ms(5_000)), [start(3, 3)]);
        assert_eq!(hedging.failed(ms(5_100), 3), None);
        assert_eq!(hedging.spoke(2), []);
    }

    proptest! {
        /// Under any sequence of events, at most two run, providers are started in order, and one runs until none is left.
        #[test]
        fn an_attempt_is_running_until_the_last_has_failed(
            late in prop::collection::vec(prop::option::of(400_u64..2_000), 0..5),
            happenings in prop::collection::vec((0_u64..3_000, 0_usize..3), 0..40),
        ) {
            let mut hedging = hedging(&late);
            let (mut running, mut highest, mut over) = (Vec::new(), None, false);
            let mut now = ms(0);
            let mut steps = vec![hedging.begin(now)];
            for (after, what) in happenings {
                for step in steps.drain(..) {
                    match step {
                        Step::Start { attempt, position } => {
                            prop_assert!(position < late.len() && highest.is_none_or(|highest| position <= highest + 1));
                            highest = highest.max(Some(position));
                            running.push(attempt);
                        }
                        Step::Cancel { attempt } | Step::TimeOut { attempt } => {
                            let before = running.len();
                            running.retain(|known| *known != attempt);
                            prop_assert_eq!(running.len() + 1, before);
                        }
                        Step::GiveUp => over = true,
                    }
                }
                prop_assert!(running.len() <= 2 && running.is_empty() == over);
                if over {
                    prop_assert_eq!(highest.map_or(0, |highest| highest + 1), late.len());
                    break;
                }
                now += ms(after);
                steps = hedging.tick(now);
                if steps.is_empty() && what < running.len() {
                    let attempt = running.remove(what);
                    steps.extend(hedging.failed(now, attempt));
                }
            }
        }
    }
}
