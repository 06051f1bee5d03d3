//! The caller's current turn: its voice activity and its text.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::Timestamp;

/// Signs that stand for a word, as in "press #".
const SPOKEN_SIGNS: &str = "#*+=&@%$€£¥";

/// The caller's turn so far. Segments are joined in order, in whichever order their text arrives.
#[derive(Default)]
pub(super) struct CallerTurn {
    /// Since when voice has been detected.
    speaking: Option<Timestamp>,
    /// Until when it is undecided whether the caller speaks; the turn is not over before that.
    speech_pending: Option<Timestamp>,
    /// When the first audio or key of the turn came.
    began: Option<Timestamp>,
    /// When the last audio or key came.
    ended: Option<Timestamp>,
    /// How much voice there was in this turn.
    voiced: Duration,
    finals: BTreeMap<u32, String>,
    /// Stopped segments whose text has not arrived.
    missing: BTreeSet<u32>,
    partial: String,
    judged: bool,
    /// The current or next segment.
    current: u32,
    /// Earlier segments belong to turns that are over.
    open_from: u32,
}

/// A turn that is over.
pub(super) struct FinishedTurn {
    pub(super) text: String,
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) voiced: Duration,
    /// Whether the STT has transcribed all of it.
    pub(super) transcribed: bool,
    /// Whether some of a response to it was heard.
    pub(super) answered: bool,
    finals: BTreeMap<u32, String>,
    /// Segments whose final text has not arrived. The last one of them has the text so far.
    missing: BTreeSet<u32>,
    open_from: u32,
}

impl FinishedTurn {
    /// Returns whether some of its final text has not arrived.
    pub(super) fn is_incomplete(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Sets the final text of a missing segment. Returns whether it was missing.
    pub(super) fn complete(&mut self, segment: u32, text: &str) -> bool {
        let missing = self.missing.remove(&segment);
        if missing && !text.trim().is_empty() {
            self.finals.insert(segment, text.trim().to_owned());
        }
        missing
    }

    /// Returns the text of its segments.
    pub(super) fn words(&self) -> String {
        joined(self.finals.values())
    }

    /// Clears the text of a segment that the STT has transcribed again as part of the next one.
    pub(super) fn withdraw(&mut self, segment: u32) {
        if let Some(text) = self.finals.get_mut(&segment) {
            text.clear();
        }
    }
}

impl CallerTurn {
    /// Records that speech may be starting, to be decided by `until`; `None` if it was not speech.
    pub(super) fn speech_pending(&mut self, until: Option<Timestamp>) {
        self.speech_pending = until;
    }

    pub(super) fn started(&mut self, onset: Timestamp) {
        self.speaking = Some(onset);
        self.speech_pending = None;
        self.began.get_or_insert(onset);
        self.judged = false;
    }

    pub(super) fn stopped(&mut self, segment: u32, end: Timestamp) {
        if let Some(onset) = self.speaking.take() {
            self.voiced += end.since(onset);
        }
        self.current = self.current.max(segment.saturating_add(1));
        if segment < self.open_from {
            return;
        }
        self.touched(end);
        if !self.finals.contains_key(&segment) {
            self.missing.insert(segment);
        }
    }

    /// Records a partial transcript. Returns whether it has text.
    pub(super) fn partial(&mut self, text: &str, now: Timestamp) -> bool {
        text.trim().clone_into(&mut self.partial);
        let words = !self.partial.is_empty();
        if words {
            self.found_words(now);
        }
        words
    }

    /// Records the final transcript of a segment. Returns whether it has text. Late text of a turn that is over is ignored, unless that turn had
    /// none.
    pub(super) fn settled(&mut self, segment: u32, text: &str, now: Timestamp) -> bool {
        let awaited = self.missing.remove(&segment) || self.finals.contains_key(&segment) || segment >= self.current;
        if segment < self.open_from || (text.trim().is_empty() && !awaited) {
            return false;
        }
        self.partial.clear();
        let text = text.trim().to_owned();
        let words = !text.is_empty();
        self.finals.insert(segment, text);
        if words {
            self.found_words(now);
        }
        words
    }

    /// Counts text without voice as speech: a quiet caller whom voice activity detection missed.
    fn found_words(&mut self, now: Timestamp) {
        self.began.get_or_insert(now);
        if self.speaking.is_none() {
            self.ended.get_or_insert(now);
        }
    }

    /// Records that the caller pressed a key.
    pub(super) fn key(&mut self, now: Timestamp) {
        self.began.get_or_insert(now);
        self.touched(now);
    }

    fn touched(&mut self, at: Timestamp) {
        self.ended = Some(self.ended.map_or(at, |before| before.max(at)));
    }

    pub(super) fn judged_over(&mut self) {
        self.judged = true;
    }

    /// Returns since when voice has been detected.
    pub(super) fn speaking(&self) -> Option<Timestamp> {
        self.speaking
    }

    /// Returns until when it is undecided whether the caller speaks.
    pub(super) fn pending_until(&self) -> Option<Timestamp> {
        self.speech_pending
    }

    /// Returns when the turn began.
    pub(super) fn began(&self) -> Option<Timestamp> {
        self.began
    }

    pub(super) fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// Returns how much voice there was in the turn.
    pub(super) fn voiced(&self) -> Duration {
        self.voiced
    }

    pub(super) fn is_judged_over(&self) -> bool {
        self.judged
    }

    /// Returns whether the text of every stopped segment has arrived.
    pub(super) fn is_settled(&self) -> bool {
        self.missing.is_empty()
    }

    /// Returns whether the STT's transcript is final.
    pub(super) fn is_final(&self) -> bool {
        self.is_settled() && self.partial.is_empty()
    }

    /// Returns whether there is text, or some is due.
    pub(super) fn has_words(&self) -> bool {
        !(self.missing.is_empty() && self.finals.is_empty() && self.partial.is_empty())
    }

    /// Returns the spoken text so far.
    pub(super) fn words(&self) -> String {
        joined(self.finals.values().chain([&self.partial]))
    }

    /// Continues a turn that was taken too early.
    pub(super) fn reopen(&mut self, past: FinishedTurn) {
        self.began = Some(self.began.map_or(past.began, |began| began.min(past.began)));
        self.touched(past.ended);
        self.voiced += past.voiced;
        self.finals.extend(past.finals);
        self.missing.extend(past.missing);
        self.open_from = past.open_from;
    }

    /// Ends the turn with this text. Its late text is for [`FinishedTurn::complete`], unless the turn had no text at all.
    pub(super) fn take(&mut self, text: String, now: Timestamp) -> FinishedTurn {
        let ended = self.ended.unwrap_or(now);
        if let Some(last) = self.missing.last().filter(|_| !self.partial.is_empty()) {
            self.finals.insert(*last, std::mem::take(&mut self.partial));
        }
        let said = FinishedTurn {
            began: self.began.unwrap_or(ended).min(ended),
            ended,
            voiced: self.voiced,
            transcribed: self.is_settled(),
            answered: false,
            text,
            finals: std::mem::take(&mut self.finals),
            missing: std::mem::take(&mut self.missing),
            open_from: self.open_from,
        };
        if !said.text.is_empty() {
            let last = said.finals.keys().next_back().map_or(0, |segment| segment.saturating_add(1));
            self.open_from = self.open_from.max(self.current).max(last);
            if self.speaking.is_some() && self.judged {
                self.open_from = self.open_from.max(self.current.saturating_add(1));
            }
        }
        *self = Self { speaking: self.speaking, current: self.current, open_from: self.open_from, ..Self::default() };
        said
    }
}

/// Returns the text of a transcript; empty if it has no words.
pub(super) fn spoken(text: &str) -> &str {
    if has_words(text) { text.trim() } else { "" }
}

/// Returns whether a transcript has words: for noise and silence STT writes a full stop, an ellipsis or a musical note.
#[must_use]
pub fn has_words(text: &str) -> bool {
    text.contains(|letter: char| letter.is_alphanumeric() || SPOKEN_SIGNS.contains(letter))
}

fn joined<'t>(texts: impl Iterator<Item = &'t String>) -> String {
    let all: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: i64) -> Timestamp {
        Timestamp::from_millis(at)
    }

    fn take(caller: &mut CallerTurn, now: Timestamp) -> FinishedTurn {
        let text = caller.words();
        caller.take(text, now)
    }

    #[test]
    fn segments_are_joined_in_order_and_late_words_of_a_past_turn_are_dropped() {
        let mut caller = CallerTurn::default();
        caller.started(ms(0));
        caller.stopped(0, ms(500));
        caller.started(ms(700));
        caller.stopped(1, ms(900));
        assert!(caller.settled(1, "for two", ms(1_000)));
        assert!(!caller.is_settled(), "segment 0 is missing");
        assert!(caller.settled(0, " a table ", ms(1_100)));
        let said = take(&mut caller, ms(1_500));
        assert_eq!((said.text.as_str(), said.began, said.ended), ("a table for two", ms(0), ms(900)));
        assert_eq!(said.voiced, Duration::from_millis(700));
        assert!(!caller.settled(1, "for three", ms(1_600)));
        assert!(!caller.has_words());
    }

    #[test]
    fn a_turn_given_up_without_words_still_takes_them_later() {
        let mut caller = CallerTurn::default();
        caller.started(ms(0));
        caller.stopped(0, ms(500));
        assert_eq!(take(&mut caller, ms(3_500)).text, "");
        assert!(caller.settled(0, "hello", ms(3_600)));
        assert_eq!(take(&mut caller, ms(3_700)).text, "hello");
    }

    #[test]
    fn so_does_a_turn_that_was_answered_without_words_and_no_silence_reopens_it() {
        let mut caller = CallerTurn::default();
        caller.started(ms(0));
        caller.stopped(0, ms(500));
        assert!(!caller.settled(0, "", ms(1_200)));
        assert_eq!(take(&mut caller, ms(1_200)).text, "");
        assert!(!caller.settled(0, " ", ms(1_250)) && !caller.has_words());
        assert!(caller.settled(0, "yes", ms(1_300)), "they were only late");
        assert_eq!(take(&mut caller, ms(1_400)).text, "yes");
        assert!(!caller.settled(0, "yes, please", ms(1_500)) && !caller.has_words());
    }
}
