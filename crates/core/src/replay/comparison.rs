//! Compares the decisions of a rerun with the original ones.

use serde::Serialize;

use super::log::InputLog;

/// The relation of a rerun's decisions to the original ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are the same, as far as the log reaches.
    Same,
    /// They differ, because another version of the program held the conversation.
    Different,
    /// They differ for a reason that makes the comparison meaningless.
    NotComparable(NotComparable),
}

/// Why decisions are not comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotComparable {
    /// Texts in the log were redacted, and decisions depend on them.
    Redacted,
}

impl InputLog {
    /// Returns whether the log became too long, so that it has only the beginning of the conversation.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.ended.is_none()
    }

    /// Compares the decisions of a rerun of this log, `again`, with the original ones, `made`. Of a long conversation only the first `max_kept`
    /// original decisions are known.
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
