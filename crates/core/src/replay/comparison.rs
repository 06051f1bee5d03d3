//! Whether another run came to the decisions that were made.

use serde::Serialize;

use super::log::InputLog;

/// How the decisions of another run relate to those that were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are the same, as far as the log goes.
    Same,
    /// They are others: another version of the program held the conversation.
    Different,
    /// They are others, which says nothing.
    NotComparable(NotComparable),
}

/// Why other decisions say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotComparable {
    /// Words of the log were redacted, and decisions depend on words.
    Redacted,
}

impl InputLog {
    /// Whether the log became too long, and has no more than the beginning of the conversation.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.ended.is_none()
    }

    /// Compares the decisions of another run of this log, `again`, with those that were `made`. Of a long conversation only the first
    /// `max_kept` of these are known.
    #[must_use]
    pub fn compare<D: PartialEq>(&self, again: &[D], made: &[D], max_kept: usize) -> Comparison {
        let known = if made.len() >= max_kept { again.len().min(made.len()) } else { again.len() };
        let again = &again[..known];
        let same = if self.is_cut() { made.starts_with(again) } else { made == again };
        match (same, self.header.redacted) {
            (true, _) => Comparison::Same,
            (false, false) => Comparison::Different,
            (false, true) => Comparison::NotComparable(NotComparable::Redacted),
        }
    }
}
