//! The audio heard at the phone: a carrier's buffer, which plays frame after frame without a pause.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// A silence of this length within an answer is heard as a gap.
const GAP: Duration = Duration::from_millis(40);

/// The buffer of one call. Pure: time is an argument.
pub(crate) struct Playout {
    /// A silence of this length is the end of an answer, not a gap in it.
    pause: Duration,
    /// When everything that has arrived will have been played.
    ends_at: Option<Instant>,
    /// Marks, and when what came before them will have been played.
    marks: VecDeque<(Instant, String)>,
    /// Whether this answer has had a gap.
    gap_in_answer: bool,
    pub(crate) heard: Heard,
}

/// The agent's audio as heard by the caller.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    pub(crate) answers: u32,
    pub(crate) answers_with_gaps: u32,
    /// Silences within answers, in milliseconds, however short.
    pub(crate) underruns: Vec<u64>,
    /// Those of more than [`GAP`].
    pub(crate) gaps: u32,
}

impl Playout {
    pub(crate) fn new(pause: Duration) -> Self {
        Self { pause, ends_at: None, marks: VecDeque::new(), gap_in_answer: false, heard: Heard::default() }
    }

    /// Audio has come; gives when all of it will have been played.
    pub(crate) fn audio(&mut self, now: Instant, lasts: Duration) -> Instant {
        let idle = self.ends_at.map(|ends_at| now.saturating_duration_since(ends_at));
        match idle {
            Some(Duration::ZERO) => {}
            Some(idle) if idle < self.pause => self.underrun(idle),
            _ => {
                self.heard.answers += 1;
                self.gap_in_answer = false;
            }
        }
        let ends_at = self.ends_at.map_or(now, |ends_at| ends_at.max(now)) + lasts;
        *self.ends_at.insert(ends_at)
    }

    fn underrun(&mut self, silence: Duration) {
        self.heard.underruns.push(u64::try_from(silence.as_millis()).unwrap_or(u64::MAX));
        if silence > GAP {
            self.heard.gaps += 1;
            self.heard.answers_with_gaps += u32::from(!std::mem::replace(&mut self.gap_in_answer, true));
        }
    }

    pub(crate) fn mark(&mut self, now: Instant, name: String) {
        self.marks.push_back((self.ends_at.unwrap_or(now), name));
    }

    /// Throws away what has not been played.
    pub(crate) fn clear(&mut self, now: Instant) {
        self.ends_at = self.ends_at.map(|ends_at| ends_at.min(now));
        self.marks.iter_mut().for_each(|(due, _)| *due = now);
    }

    /// The next mark before which everything has been played.
    pub(crate) fn returned(&mut self, now: Instant) -> Option<String> {
        self.marks.pop_front_if(|(due, _)| *due <= now).map(|(_, name)| name)
    }
}

impl Heard {
    pub(crate) fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.answers_with_gaps += other.answers_with_gaps;
        self.underruns.extend(&other.underruns);
        self.gaps += other.gaps;
    }
}
