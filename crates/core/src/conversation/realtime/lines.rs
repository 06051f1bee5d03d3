//! The transcript and the history, in the order in which things were said: what callers said is known late.

use std::collections::VecDeque;
use std::time::Duration;

use super::Realtime;
use super::messages::Effect;
use crate::Timestamp;
use crate::conversation::mouth::Kind;
use crate::conversation::transcript::{Entry, Speaker};

/// How long the words of a caller's turn hold up what was said after it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that the agent said and the caller heard.
pub(super) struct Spoken {
    pub(super) text: String,
    pub(super) kind: Kind,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) interrupted: bool,
}

enum Line {
    /// Without an item while the session that heard it is lost, and the next one has not.
    Caller {
        item: Option<String>,
        text: Option<String>,
        start: Timestamp,
        end: Timestamp,
        since: Timestamp,
    },
    Agent(Spoken),
}

/// What is not yet written down.
#[derive(Default)]
pub(super) struct Lines(VecDeque<Line>);

impl Lines {
    /// When the first line is given up.
    pub(super) fn due(&self) -> Option<Timestamp> {
        match self.0.front()? {
            Line::Caller { since, .. } => Some(*since + PATIENCE),
            Line::Agent(_) => None,
        }
    }

    /// Turns whose words are not known are to be heard by another session. Gives when the first of them began.
    pub(super) fn disown(&mut self, now: Timestamp) -> Option<Timestamp> {
        let mut began = None;
        for line in &mut self.0 {
            if let Line::Caller { item, text: None, start, since, .. } = line {
                (*item, *since) = (None, now);
                began.get_or_insert(*start);
            }
        }
        began
    }

    /// Whether an item is such a turn, heard again.
    fn adopt(&mut self, item: &str, now: Timestamp) -> bool {
        let orphan = |line: &&mut Line| matches!(line, Line::Caller { item: None, .. });
        let Some(Line::Caller { item: name, since, .. }) = self.0.iter_mut().find(orphan) else { return false };
        (*name, *since) = (Some(item.to_owned()), now);
        true
    }
}

impl Realtime {
    pub(super) fn file(&mut self, spoken: Spoken) {
        self.lines.0.push_back(Line::Agent(spoken));
    }

    /// When the first line is given up. Words come from a session only.
    pub(super) fn line_due_at(&self) -> Option<Timestamp> {
        self.lines.due().filter(|_| !self.lost)
    }

    pub(super) fn turn_taken(&mut self, item: String) {
        if self.lines.adopt(&item, self.now) {
            return;
        }
        let end = self.voice.ended.unwrap_or(self.now);
        let start = self.voice.turn_began.take().unwrap_or(end).min(end);
        self.lines.0.push_back(Line::Caller { item: Some(item), text: None, start, end, since: self.now });
    }

    pub(super) fn caller_said(&mut self, item: &str, words: String) {
        if !item.is_empty() && !words.trim().is_empty() {
            self.understood();
        }
        let known = |line: &&mut Line| matches!(line, Line::Caller { item: Some(other), .. } if other == item);
        match self.lines.0.iter_mut().find(known) {
            Some(Line::Caller { text, .. }) => *text = Some(words),
            _ => {
                self.turn_taken(item.to_owned());
                if let Some(Line::Caller { text, .. }) = self.lines.0.back_mut() {
                    *text = Some(words);
                }
            }
        }
    }

    /// Writes down what is next in the order of the conversation.
    pub(super) fn write_down(&mut self) -> bool {
        let late = self.is_due(self.line_due_at());
        let known = |line: &mut Line| late || !matches!(line, Line::Caller { text: None, .. });
        let Some(line) = self.lines.0.pop_front_if(known) else { return false };
        let (entry, remembered) = match line {
            Line::Caller { text, start, end, .. } => {
                let text = text.unwrap_or_default();
                (Entry { speaker: Speaker::Caller, text, start, end, interrupted: false }, true)
            }
            Line::Agent(Spoken { text, kind, start, end, interrupted }) => {
                (Entry { speaker: Speaker::Agent, text, start, end, interrupted }, kind.is_remembered())
            }
        };
        if entry.text.trim().is_empty() {
            return true;
        }
        match entry.speaker {
            Speaker::Caller => self.history.caller_said(&entry.text),
            Speaker::Agent if remembered => self.history.agent_was_heard(&entry.text, entry.interrupted),
            Speaker::Agent => {}
        }
        self.effects.push(Effect::Transcript(entry));
        true
    }

    /// Nothing more will be known.
    pub(super) fn close_books(&mut self) {
        self.cut();
        while !self.lines.0.is_empty() {
            if !self.write_down() {
                self.lines.0.pop_front();
            }
        }
    }
}
