//! The caller's phone: a carrier's buffer, whose frames follow each other, and the speech that each contains.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The agent's speech, identified by its tone: see [`Sound::tone`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sound {
    /// The question of the agent at the beginning of the call.
    Question,
    /// A response of the language model.
    Response,
    /// A phrase of the service's own, such as "Could you say that again?"
    Phrase,
}

impl Sound {
    const ALL: [Self; 3] = [Self::Question, Self::Response, Self::Phrase];

    /// A µ-law code and its negative, between which the audio alternates.
    pub(crate) fn tone(self) -> u8 {
        match self {
            Self::Question => 0x20,
            Self::Response => 0x24,
            Self::Phrase => 0x28,
        }
    }

    /// Returns the speech that most samples of a frame belong to; `None` if they are softer than any of it.
    fn of(frame: &[u8]) -> Option<Self> {
        let count = |sound: &Self| frame.iter().filter(|byte| **byte & 0x7f == sound.tone()).count();
        let most = Self::ALL.into_iter().max_by_key(count)?;
        (count(&most) * 4 >= frame.len()).then_some(most)
    }
}

/// Audio of the agent without a break.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) sound: Sound,
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// The buffer of one call. Pure: time is an argument.
#[derive(Default)]
pub(crate) struct PhoneBuffer {
    pub(crate) heard: Vec<Heard>,
    /// When everything that has arrived will have been played.
    ends_at: Option<Instant>,
    /// Marks, and when what came before them will have been played.
    marks: VecDeque<(Instant, String)>,
}

impl PhoneBuffer {
    pub(crate) fn audio(&mut self, now: Instant, bytes: &[u8]) {
        let start = self.ends_at.map_or(now, |ends_at| ends_at.max(now));
        let end = start + Duration::from_micros(bytes.len() as u64 * 125);
        self.ends_at = Some(end);
        let Some(sound) = Sound::of(bytes) else { return };
        match self.heard.last_mut() {
            Some(last) if last.end == start && last.sound == sound => last.end = end,
            _ => self.heard.push(Heard { sound, start, end }),
        }
    }

    pub(crate) fn mark(&mut self, now: Instant, name: String) {
        self.marks.push_back((self.ends_at.unwrap_or(now), name));
    }

    /// Throws away what has not been played.
    pub(crate) fn clear(&mut self, now: Instant) {
        self.ends_at = self.ends_at.map(|ends_at| ends_at.min(now));
        self.heard.retain(|heard| heard.start < now);
        if let Some(last) = self.heard.last_mut() {
            last.end = last.end.min(now);
        }
        self.marks.iter_mut().for_each(|(due, _)| *due = now);
    }

    /// The next mark before which everything has been played.
    pub(crate) fn returned(&mut self, now: Instant) -> Option<String> {
        self.marks.pop_front_if(|(due, _)| *due <= now).map(|(_, name)| name)
    }

    /// Returns how long the agent has been silent; `None` if it has never spoken.
    pub(crate) fn silent_for(&self, now: Instant) -> Option<Duration> {
        self.heard.last().map(|last| now.saturating_duration_since(last.end))
    }

    /// Returns when the agent was first heard from `from` on.
    pub(crate) fn first_from(&self, from: Instant) -> Option<Instant> {
        self.heard.iter().map(|heard| heard.start).find(|start| *start >= from)
    }
}
