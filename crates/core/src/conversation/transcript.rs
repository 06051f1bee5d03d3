//! What was said on the line, by whom and when.

use std::fmt;

use crate::Timestamp;

/// One line of the transcript.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// Who spoke.
    pub speaker: Speaker,
    /// The words: the caller's as recognised, the agent's as far as they were heard.
    pub text: String,
    /// When the first of it was heard.
    pub start: Timestamp,
    /// When the last of it was heard.
    pub end: Timestamp,
    /// Whether the agent was cut off.
    pub interrupted: bool,
}

/// Who spoke.
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
