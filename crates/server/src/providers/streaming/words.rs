//! From what a provider tells to exactly one answer for every segment of the caller's speech.
//!
//! Providers cut speech as they like: in several final texts, in turns of several segments, or with an end before we noticed
//! one. A segment is answered when the provider says that everything before its end is told, when it judges the turn to
//! be over, or with what there is when neither comes in time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::protocol::{Heard, Style};
use crate::providers::SttEvent;

/// Words that come this soon after a segment was answered without them belong to it.
const LATE: Duration = Duration::from_secs(3);

/// The words of one call.
pub(super) struct Words {
    style: Style,
    /// Final, and not told for a segment.
    settled: String,
    /// What the provider may still change.
    partial: String,
    /// So many words at the beginning of the next text were told already, when time was up.
    told_early: usize,
    /// Whether words are to come again on a new connection.
    again: bool,
    speaking: bool,
    /// Segments without an answer, oldest first.
    open: VecDeque<Open>,
    /// The number of the segment that the next words belong to.
    next: u32,
    last: Option<Told>,
}

struct Open {
    segment: u32,
    since: Instant,
}

/// The last answer.
struct Told {
    segment: u32,
    text: String,
    at: Instant,
}

impl Words {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            settled: String::new(),
            partial: String::new(),
            told_early: 0,
            again: false,
            speaking: false,
            open: VecDeque::new(),
            next: 0,
            last: None,
        }
    }

    /// Before this segment all is told by others.
    pub(super) fn go_on_from(&mut self, segment: u32) {
        self.next = segment;
    }

    pub(super) fn started(&mut self) {
        self.speaking = true;
    }

    /// A segment ended. Returns the number that its words will have; none when the provider was faster than we, and it is answered.
    pub(super) fn stopped(&mut self, segment: u32, now: Instant) -> Option<u32> {
        self.speaking = false;
        if segment < self.next && self.is_empty() {
            return None;
        }
        let segment = segment.max(self.next);
        self.next = segment + 1;
        self.open.push_back(Open { segment, since: now });
        Some(segment)
    }

    pub(super) fn is_speaking(&self) -> bool {
        self.speaking
    }

    /// Whether there is speech without final words.
    pub(super) fn is_open(&self) -> bool {
        self.speaking || !self.open.is_empty() || !self.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.settled.trim().is_empty() && self.partial.trim().is_empty()
    }

    /// When time is up for the oldest segment.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let outstanding = self.again || !self.partial.is_empty();
        let patience = if outstanding { self.style.patience } else { self.style.patience_without_words };
        self.open.front().map(|open| open.since + patience)
    }

    pub(super) fn heard(&mut self, heard: Heard, now: Instant) -> Vec<SttEvent> {
        match heard {
            Heard::Partial(text) => {
                self.partial = self.without_told(text);
                self.so_far()
            }
            Heard::Words(text) => {
                let text = self.without_told(text);
                self.partial.clear();
                self.told_early = 0;
                self.settle(&text);
                if self.speaking || !self.open.is_empty() { self.so_far() } else { self.unexpected(now) }
            }
            Heard::Flushed => match self.open.pop_front() {
                Some(open) => vec![self.tell(open.segment, now)],
                None => Vec::new(),
            },
            Heard::TurnOver => self.turn_over(now),
            Heard::Ready | Heard::Answer(_) => Vec::new(),
        }
    }

    /// Answers the segments whose time is up with what there is.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<SttEvent> {
        let mut events = Vec::new();
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            if let Some(open) = self.open.pop_front() {
                events.push(self.tell(open.segment, now));
            }
        }
        events
    }

    /// There is a new connection. `everything` without final words is said again; otherwise what was heard of it stands.
    pub(super) fn again(&mut self, everything: bool, now: Instant) {
        self.again = self.is_open();
        let partial = std::mem::take(&mut self.partial);
        if everything {
            self.settled.clear();
        } else {
            self.settle(&partial);
        }
        self.told_early = 0;
        for open in &mut self.open {
            open.since = now;
        }
    }

    fn turn_over(&mut self, now: Instant) -> Vec<SttEvent> {
        let Some(last) = self.open.pop_back() else {
            if self.is_empty() {
                // Time was up before: the words are told, the judgement is new.
                let told = self.last.as_ref().is_some_and(|told| !told.text.is_empty() && now - told.at < LATE);
                return if told && !self.speaking { vec![SttEvent::TurnJudged] } else { Vec::new() };
            }
            return vec![self.tell_next(now), SttEvent::TurnJudged];
        };
        let earlier = self.open.drain(..).map(|open| SttEvent::Final { segment: open.segment, text: String::new() });
        let mut events: Vec<SttEvent> = earlier.collect();
        events.push(self.tell(last.segment, now));
        // Who speaks again already may be going on: that judgement would take the new words with it.
        if !self.speaking {
            events.push(SttEvent::TurnJudged);
        }
        events
    }

    /// Final words while nobody seems to speak: late ones, or of a speaker too quiet for our ears.
    fn unexpected(&mut self, now: Instant) -> Vec<SttEvent> {
        if self.is_empty() {
            return Vec::new();
        }
        match self.last.take_if(|told| now - told.at < LATE) {
            Some(told) => {
                let rest = std::mem::replace(&mut self.settled, told.text);
                self.settle(&rest);
                vec![self.tell(told.segment, now)]
            }
            None => vec![self.tell_next(now)],
        }
    }

    fn tell_next(&mut self, now: Instant) -> SttEvent {
        let segment = self.next;
        self.next += 1;
        self.tell(segment, now)
    }

    fn tell(&mut self, segment: u32, now: Instant) -> SttEvent {
        self.again = false;
        let partial = std::mem::take(&mut self.partial);
        self.told_early += partial.split_whitespace().count();
        self.settle(&partial);
        let text = std::mem::take(&mut self.settled).trim().to_owned();
        self.last = Some(Told { segment, text: text.clone(), at: now });
        SttEvent::Final { segment, text }
    }

    fn so_far(&self) -> Vec<SttEvent> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![SttEvent::Partial { text: join(&self.settled, &self.partial, self.style.joiner).trim().to_owned() }]
    }

    fn settle(&mut self, text: &str) {
        self.settled = join(&self.settled, text, self.style.joiner);
    }

    /// The text without the words that were told already.
    fn without_told(&self, text: String) -> String {
        if self.told_early == 0 {
            return text;
        }
        text.split_whitespace().skip(self.told_early).collect::<Vec<_>>().join(" ")
    }
}

fn join(before: &str, after: &str, joiner: &str) -> String {
    let joiner = if before.is_empty() || after.is_empty() { "" } else { joiner };
    [before, joiner, after].concat()
}

#[cfg(test)]
mod tests;
