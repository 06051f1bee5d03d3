//! The transcript and the history, in the order in which things were said. A caller's words may become known late.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use super::history::History;
use super::playback::Played;
use crate::Timestamp;

/// How long the missing words of a caller's turn hold up the lines after it.
const MISSING_WORDS: Duration = Duration::from_secs(5);

/// One line of the transcript.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// Speaker of the line.
    pub speaker: Speaker,
    /// The text: the caller's as recognised, the agent's as far as it was heard.
    pub text: String,
    /// When the first of it was heard.
    pub start: Timestamp,
    /// When the last of it was heard.
    pub end: Timestamp,
    /// Whether the agent was interrupted.
    pub interrupted: bool,
}

/// The speaker of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The person (or machine) at the other end.
    Caller,
    /// The agent.
    Agent,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({:?}, {} to {}, interrupted {})", self.speaker, self.start, self.end, self.interrupted)
    }
}

/// A turn of the caller, with its full text.
pub(super) struct CallerWords {
    pub(super) text: String,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    /// Whether it belongs in the history that the model sees.
    pub(super) remembered: bool,
    /// The item that it is in the session of a speech-to-speech model.
    pub(super) item: Option<String>,
}

enum UnwrittenLine {
    Caller(CallerWords),
    /// A turn that was taken and is in the history; the caller may still continue it.
    Held(CallerWords),
    /// A turn that the caller continues, with its text so far.
    Reopened(CallerWords),
    /// The part that the caller heard of the response to half a turn; the model does not see it.
    Obsolete(Played),
    /// A turn whose text follows, as this item; without an item while the session that heard it is gone.
    Pending {
        item: Option<String>,
        start: Timestamp,
        end: Timestamp,
        since: Timestamp,
    },
    Agent(Played),
}

impl CallerWords {
    /// Moves the text out of a line that is replaced by another one.
    fn take(&mut self, remembered: bool) -> Self {
        let (text, item) = (std::mem::take(&mut self.text), self.item.take());
        Self { text, start: self.start, end: self.end, remembered, item }
    }
}

/// The transcript so far, with the lines that wait for missing words before them.
pub(super) struct Transcript {
    pub(super) history: History,
    lines: VecDeque<UnwrittenLine>,
    /// Whether to keep waiting for missing words, because no session could send them.
    pub(super) on_hold: bool,
    /// The items that a content filter refused: no later session may see or hear them.
    refused: Vec<String>,
}

impl Transcript {
    pub(super) fn new(history: History) -> Self {
        Self { history, lines: VecDeque::new(), on_hold: false, refused: Vec::new() }
    }

    /// Leaves these items of the caller out of what later sessions get.
    pub(super) fn refuse(&mut self, items: Vec<String>) {
        self.refused.extend(items);
    }

    /// Returns the history for another session.
    pub(super) fn history_for_session(&self) -> History {
        self.history.without(&self.refused)
    }

    pub(super) fn add_agent(&mut self, played: Played) {
        self.lines.push_back(UnwrittenLine::Agent(played));
    }

    pub(super) fn add_caller(&mut self, words: CallerWords) {
        self.add_turn(UnwrittenLine::Caller(words));
    }

    /// Adds a turn to the history, and holds back its line until [`Transcript::release`].
    pub(super) fn hold_caller(&mut self, words: CallerWords) {
        self.history.caller_said(&words.text);
        self.add_turn(UnwrittenLine::Held(words));
    }

    /// Adds a turn. One that was reopened keeps its place, and the response to its first part becomes obsolete.
    fn add_turn(&mut self, turn: UnwrittenLine) {
        let reopened = |line: &UnwrittenLine| matches!(line, UnwrittenLine::Reopened(_));
        let Some(place) = self.lines.iter().position(reopened) else { return self.lines.push_back(turn) };
        let behind = self.lines.split_off(place + 1);
        self.lines[place] = turn;
        self.lines.extend(behind.into_iter().map(|line| match line {
            UnwrittenLine::Agent(played) => UnwrittenLine::Obsolete(played),
            other => other,
        }));
    }

    /// Releases the held turn: it is over.
    pub(super) fn release(&mut self) {
        for line in &mut self.lines {
            if let UnwrittenLine::Held(words) = line {
                *line = UnwrittenLine::Caller(words.take(false));
            }
        }
    }

    /// Removes the held turn from the history: the caller continues it.
    pub(super) fn reopen(&mut self) {
        for line in &mut self.lines {
            if let UnwrittenLine::Held(words) = line {
                self.history.remove_caller_text(&words.text);
                *line = UnwrittenLine::Reopened(words.take(true));
            }
        }
    }

    /// Restores the text of a reopened turn whose continuation had none.
    pub(super) fn restore(&mut self) {
        for line in &mut self.lines {
            if let UnwrittenLine::Reopened(words) = line {
                *line = UnwrittenLine::Caller(words.take(true));
            }
        }
    }

    /// Keeps the place of a turn whose text follows.
    pub(super) fn add_pending(&mut self, item: String, start: Timestamp, end: Timestamp, now: Timestamp) {
        self.lines.push_back(UnwrittenLine::Pending { item: Some(item), start, end, since: now });
    }

    /// Assigns an item to a turn that an earlier, lost session heard. Returns whether there was one.
    pub(super) fn adopt(&mut self, item: &str, now: Timestamp) -> bool {
        let orphan = |line: &&mut UnwrittenLine| matches!(line, UnwrittenLine::Pending { item: None, .. });
        let Some(UnwrittenLine::Pending { item: id, since, .. }) = self.lines.iter_mut().find(orphan) else {
            return false;
        };
        (*id, *since) = (Some(item.to_owned()), now);
        true
    }

    /// Returns when a turn began whose text is not known yet.
    pub(super) fn began(&self, item: &str) -> Option<Timestamp> {
        self.lines.iter().find_map(|line| match line {
            UnwrittenLine::Pending { item: Some(id), start, .. } if id == item => Some(*start),
            _ => None,
        })
    }

    /// Sets the text of a turn. Returns whether the turn has a place.
    pub(super) fn set_words(&mut self, item: &str, text: &str) -> bool {
        let pending =
            |line: &&mut UnwrittenLine| matches!(line, UnwrittenLine::Pending { item: Some(id), .. } if id == item);
        let Some(line) = self.lines.iter_mut().find(pending) else { return false };
        if let UnwrittenLine::Pending { start, end, .. } = *line {
            let (text, item) = (text.to_owned(), Some(item.to_owned()));
            *line = UnwrittenLine::Caller(CallerWords { text, start, end, remembered: true, item });
        }
        true
    }

    /// Marks turns with missing text for another session to hear, except those that were refused and those before them, whose audio would bring
    /// these back. Returns when the first of them began.
    pub(super) fn disown(&mut self, now: Timestamp) -> Option<Timestamp> {
        let refused = &self.refused;
        let is_refused = |line: &UnwrittenLine| match line {
            UnwrittenLine::Pending { item: Some(item), .. } => refused.contains(item),
            _ => false,
        };
        let first = self.lines.iter().rposition(is_refused).map_or(0, |at| at + 1);
        let mut began = None;
        for line in self.lines.iter_mut().skip(first) {
            if let UnwrittenLine::Pending { item, start, since, .. } = line {
                (*item, *since) = (None, now);
                began.get_or_insert(*start);
            }
        }
        began
    }

    /// Returns when to stop waiting for missing words.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        match self.lines.front().filter(|_| !self.on_hold)? {
            UnwrittenLine::Pending { since, .. } => Some(*since + MISSING_WORDS),
            _ => None,
        }
    }

    /// Writes the next lines in order. A turn with missing words holds up the rest until it is overdue.
    pub(super) fn write(&mut self, now: Timestamp) -> Vec<Entry> {
        let mut entries = Vec::new();
        loop {
            let late = self.due_at().is_some_and(|at| at <= now);
            let known = |line: &mut UnwrittenLine| match line {
                UnwrittenLine::Pending { .. } => late,
                UnwrittenLine::Held(_) | UnwrittenLine::Reopened(_) => false,
                UnwrittenLine::Caller(_) | UnwrittenLine::Agent(_) | UnwrittenLine::Obsolete(_) => true,
            };
            let Some(line) = self.lines.pop_front_if(known) else { return entries };
            entries.extend(self.write_line(line));
        }
    }

    /// Writes all lines that have text.
    pub(super) fn write_all(&mut self) -> Vec<Entry> {
        let lines = std::mem::take(&mut self.lines);
        lines.into_iter().filter_map(|line| self.write_line(line)).collect()
    }

    fn write_line(&mut self, line: UnwrittenLine) -> Option<Entry> {
        match line {
            UnwrittenLine::Held(CallerWords { text, start, end, .. }) => {
                Some(Entry { speaker: Speaker::Caller, text, start, end, interrupted: false })
            }
            UnwrittenLine::Obsolete(Played { text, began, ended, interrupted, .. }) if !text.is_empty() => {
                Some(Entry { speaker: Speaker::Agent, text, start: began, end: ended, interrupted })
            }
            UnwrittenLine::Caller(CallerWords { text, start, end, remembered, item })
            | UnwrittenLine::Reopened(CallerWords { text, start, end, remembered, item })
                if !text.trim().is_empty() =>
            {
                match item {
                    Some(item) if remembered => self.history.caller_said_as(item, &text),
                    None if remembered => self.history.caller_said(&text),
                    _ => {}
                }
                Some(Entry { speaker: Speaker::Caller, text, start, end, interrupted: false })
            }
            UnwrittenLine::Agent(Played { kind, text, began, ended, interrupted }) if !text.is_empty() => {
                if kind.is_remembered() {
                    self.history.agent_was_heard(&text, interrupted);
                }
                Some(Entry { speaker: Speaker::Agent, text, start: began, end: ended, interrupted })
            }
            _ => None,
        }
    }
}
