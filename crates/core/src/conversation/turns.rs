//! When the caller's turn is over, and what is done about it.

use std::time::Duration;

use super::Conversation;
use super::barge_in::Words;
use super::caller::Said;
use super::effect::Effect;
use super::endpointing::{Spoken, is_likely_end, is_yes_no_question, silence_needed};
use super::mouth::Kind;
use super::transcript::{Entry, Speaker};
use crate::Timestamp;

/// How often the model is asked early in one turn: each time that the caller goes on is money thrown away.
pub(super) const MAX_SPECULATIONS: u32 = 3;
/// How often in a row a caller is asked to say it again. After that there is noise on the line rather than speech.
const MAX_UNCLEAR: u32 = 2;

impl Conversation {
    /// When the turn is over unless something is said; nothing while there is none or it cannot be taken.
    pub(super) fn turn_over_at(&self) -> Option<Timestamp> {
        let waits = self.is_busy() || self.overlap.is_some() || self.closing.is_some() || self.passing_on;
        if waits || !self.caller.has_turn() {
            return None;
        }
        let ended = self.caller.ended().unwrap_or(self.now);
        let words = self.caller.words();
        if self.caller.keys_are_closed() || (self.caller.is_judged_over() && !words.is_empty()) {
            return Some(ended);
        }
        if self.caller.speaking().is_some() {
            return None;
        }
        let silence = if self.caller.has_keys() {
            Duration::from_millis(self.agent.dtmf.digit_timeout_ms.into())
        } else {
            silence_needed(self.spoken(&words), &self.agent.turn_taking)
        };
        // A recogniser that takes long has not forgotten what was said.
        let recognised = if self.caller.is_settled() { silence } else { silence.max(self.timings.recogniser) };
        Some(ended + recognised)
    }

    fn spoken<'a>(&self, words: &'a str) -> Spoken<'a> {
        let yes_no = is_yes_no_question(&self.last_said, self.language);
        Spoken { language: self.language, text: words, settled: self.caller.is_final(), yes_no }
    }

    pub(super) fn take_turn(&mut self) -> bool {
        if !self.is_due(self.turn_over_at()) {
            return false;
        }
        let said = self.caller.take(self.now);
        self.speculations = 0;
        if said.text.is_empty() {
            self.ask_to_repeat(&said);
            return true;
        }
        self.write_down(&said);
        self.history.caller_said(&said.text);
        self.unclear = 0;
        // Nobody answers a machine.
        if self.machine.is_none() {
            self.answer(&said);
        }
        true
    }

    pub(super) fn write_down(&mut self, said: &Said) {
        self.effects.push(Effect::Transcript(Entry {
            speaker: Speaker::Caller,
            text: said.text.clone(),
            start: said.began,
            end: said.ended,
            interrupted: false,
        }));
    }

    /// Somebody spoke, and no words came of it. A recogniser that does not answer at all says nothing about the caller, who is not to
    /// be left in silence.
    fn ask_to_repeat(&mut self, said: &Said) {
        self.cancel_model();
        let unclear = said.voiced >= self.timings.unclear_speech && self.unclear < MAX_UNCLEAR;
        if (unclear || !said.answered) && self.machine.is_none() {
            self.unclear += u32::from(said.answered);
            self.owe(said.ended);
            self.say_one_of(Kind::Unclear, self.language.phrases.unclear);
        }
    }

    /// Asks the model although the turn is not over, when it probably is.
    pub(super) fn speculate(&mut self) -> bool {
        let may = self.agent.turn_taking.speculative && self.speculations < MAX_SPECULATIONS;
        let silent = self.caller.speaking().is_none() && !self.caller.has_keys();
        if !may || !silent || self.thinking.is_some() || self.machine.is_some() || self.turn_over_at().is_none() {
            return false;
        }
        let words = self.caller.words();
        if words.is_empty() || !is_likely_end(self.spoken(&words)) {
            return false;
        }
        self.speculations += 1;
        let messages = self.history.with_caller(&words);
        self.ask(Kind::Answer, messages, Some(words));
        true
    }

    /// The caller has said more than what the model was asked about.
    pub(super) fn drop_speculation(&mut self) -> bool {
        let early = self.thinking.as_ref().and_then(|thinking| thinking.early.as_ref());
        let outdated = early.is_some_and(|words| *words != self.caller.text());
        if outdated {
            self.cancel_model();
        }
        outdated
    }

    /// "Mm-hmm" while the agent speaks wants no answer, unless the agent is about to finish: then it is one.
    pub(super) fn drop_backchannel(&mut self) -> bool {
        let listening_to = self.is_busy() && self.overlap.is_none() && self.closing.is_none();
        let complete = self.caller.has_turn() && self.caller.speaking().is_none() && self.caller.is_final();
        if !listening_to || !complete || self.caller.has_keys() {
            return false;
        }
        let text = self.caller.words();
        let about_to_finish = self.mouth.remaining().is_some_and(|rest| rest <= self.timings.backchannel_boundary);
        let answers = about_to_finish && !self.is_thinking() && !text.is_empty();
        let words = Words { language: self.language, text: &text, settled: true, nothing_heard: false };
        if answers || !words.are_backchannel(&self.agent.interruption) {
            return false;
        }
        let said = self.caller.take(self.now);
        if !said.text.is_empty() {
            self.write_down(&said);
        }
        true
    }

    /// When the wait for an answer is to be covered: soon after the turn, though not in two turns in a row, which would be a
    /// habit; and whenever it lasts so long that callers wonder whether anybody is there, also in the middle of an answer.
    pub(super) fn filler_at(&self) -> Option<Timestamp> {
        let listening = self.overlap.is_some() || self.caller.speaking().is_some();
        let engaged = self.closing.is_some() || self.machine.is_some() || self.keys_on_line || self.passing_on;
        let wordless = self.language.phrases.fillers.is_empty();
        if wordless || !self.is_thinking() || !self.mouth.is_silent() || listening || engaged {
            return None;
        }
        let answering = self.answering.as_ref();
        let first = answering.filter(|answering| answering.may_fill && self.mouth.is_idle());
        let first = first.map(|answering| answering.turn_ended + self.timings.filler);
        [first, self.silence_too_long_at()].into_iter().flatten().min()
    }

    pub(super) fn fill(&mut self) -> bool {
        let due = self.is_due(self.filler_at());
        if due {
            let first = !std::mem::replace(&mut self.filled, true);
            if let Some(answering) = &mut self.answering {
                answering.may_fill = false;
            }
            // The rest of an answer that stands still comes after the filler.
            self.mouth.close();
            let retries = self.thinking.as_mut().is_some_and(|thinking| std::mem::take(&mut thinking.is_retry));
            self.say_one_of(
                Kind::Filler,
                match (retries, first) {
                    (true, _) => self.language.phrases.retrying,
                    (false, true) => self.language.phrases.fillers,
                    (false, false) => self.language.phrases.still_here,
                },
            );
        }
        due
    }
}
