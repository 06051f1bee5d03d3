//! How a conversation ends: with a goodbye that is heard, or at once.

use super::Conversation;
use super::barge_in::Words;
use super::effect::{Effect, End};
use super::mouth::Kind;
use super::{phrases, speech};
use crate::Timestamp;
use crate::agent::{MachineDetection, OnMachine};
use crate::language::Language;

/// The last words are being said.
pub(super) struct Closing {
    /// Why the call will have ended.
    pub(super) reason: End,
    since: Timestamp,
    /// Then it ends whatever was heard.
    limit: Timestamp,
    /// No phrase is cached that could cover the wait for a late goodbye.
    pub(super) uncovered: bool,
}

impl Closing {
    /// The phrase that stands in for a goodbye which cannot be spoken; empty in a language without a table.
    fn phrase(&self, language: &Language) -> &'static str {
        match self.reason {
            End::Failed(_) => phrases::usual(language.phrases.technical),
            _ => phrases::usual(language.phrases.goodbyes),
        }
    }
}

/// A machine has answered and is to hear the message.
pub(super) struct Machine {
    since: Timestamp,
    beeped: bool,
}

impl Conversation {
    /// Ends the call once what is being said was heard.
    pub(super) fn close_with(&mut self, reason: End) {
        let limit = self.now + self.timings.goodbye_limit;
        self.closing = Some(Closing { reason, since: self.now, limit, uncovered: false });
    }

    /// Says a short goodbye in place of the one that could not be spoken. If `cached_only`, the voice is not asked any more. Without
    /// words for it, the call ends at once.
    pub(super) fn say_short_goodbye(&mut self, cached_only: bool) {
        let Some(closing) = &self.closing else { return };
        let phrase = closing.phrase(self.language);
        if phrase.is_empty() {
            let reason = closing.reason.clone();
            return self.end(reason);
        }
        self.fall_silent();
        if cached_only {
            self.say_ready(Kind::Goodbye, phrase);
        } else {
            self.say(Kind::Goodbye, phrase);
        }
    }

    /// Ends the call at once.
    pub(super) fn end(&mut self, reason: End) {
        self.fall_silent();
        self.close_books();
        self.effects.push(Effect::HangUp { reason });
        self.ended = true;
    }

    /// Writes down what was said and is not yet written down.
    pub(super) fn close_books(&mut self) {
        for spoken in self.mouth.cut() {
            self.file(spoken);
        }
        let said = self.caller.take(self.now);
        if !said.text.is_empty() {
            self.write_down(&said);
            self.history.caller_said(&said.text);
        }
    }

    pub(super) fn reach_maximum(&mut self) -> bool {
        let due = self.is_due(self.maximum_at());
        if due && self.media.is_none() {
            self.end(End::MaxDuration);
        } else if due {
            self.fall_silent();
            self.say_one_of(Kind::Goodbye, self.language.phrases.time_is_up);
            self.close_with(End::MaxDuration);
        }
        due
    }

    /// When the goodbye is over. A caller who speaks meanwhile is heard out where that can change anything.
    pub(super) fn closing_at(&self) -> Option<Timestamp> {
        let closing = self.closing.as_ref()?;
        let heard_out = !self.may_be_rescued() || (self.caller.speaking().is_none() && self.caller.is_settled());
        if !self.mouth.is_idle() || !heard_out || self.keys_on_line {
            return Some(closing.limit);
        }
        let silent_since = self.quiet.anybody().max(closing.since);
        Some((silent_since + self.timings.goodbye_tail).min(closing.limit))
    }

    pub(super) fn finish_goodbye(&mut self) -> bool {
        if self.may_be_rescued() && self.wants_to_go_on() {
            self.closing = None;
            self.rescued = true;
            self.fall_silent();
            return true;
        }
        if !self.is_due(self.closing_at()) {
            return false;
        }
        if let Some(closing) = self.closing.take() {
            self.end(closing.reason);
        }
        true
    }

    /// Only the agent's own wish to end can be overruled, and once: nobody is kept on the line for ever.
    fn may_be_rescued(&self) -> bool {
        let by_agent = self.closing.as_ref().is_some_and(|closing| closing.reason == End::AgentHungUp);
        by_agent && !self.rescued && self.now < self.longest_at()
    }

    /// Whether the caller says more than a goodbye of their own.
    fn wants_to_go_on(&self) -> bool {
        let all = self.language.words(&self.caller.words());
        let content: Vec<&str> =
            all.iter().map(String::as_str).filter(|word| !self.language.farewells.contains(word)).collect();
        let text = content.join(" ");
        let words =
            Words { language: self.language, text: &text, settled: self.caller.is_final(), nothing_heard: false };
        words.interrupt(&self.agent.interruption)
    }

    pub(super) fn machine_detected(&mut self, beep: bool) {
        let settings = &self.agent.answering_machine;
        if settings.mode == MachineDetection::Off || self.closing.is_some() {
            return;
        }
        if let Some(machine) = &mut self.machine {
            machine.beeped |= beep;
            return;
        }
        if settings.on_machine == OnMachine::Hangup || self.voicemail().is_empty() {
            self.end(End::VoicemailHungUp);
            return;
        }
        self.fall_silent();
        self.to_say.clear(); // It was meant for a person.
        self.greet_at = None;
        self.machine = Some(Machine { since: self.now, beeped: beep });
    }

    /// The message for a machine, in pieces; none when there is nothing to say.
    fn voicemail(&self) -> Vec<String> {
        let message = self.agent.answering_machine.message.as_deref();
        message.map(|text| speech::pieces_of(text, self.language)).unwrap_or_default()
    }

    /// When the message is left at the latest.
    pub(super) fn beep_at(&self) -> Option<Timestamp> {
        let machine = self.machine.as_ref().filter(|_| self.closing.is_none())?;
        Some(if machine.beeped { machine.since } else { machine.since + self.timings.beep })
    }

    /// Leaves the message after the beep, or when none comes. It may take its time.
    pub(super) fn leave_message(&mut self) -> bool {
        if !self.is_due(self.beep_at()) {
            return false;
        }
        let pieces = self.voicemail();
        for (i, piece) in pieces.iter().enumerate() {
            self.utter(Kind::Voicemail, piece, i + 1 == pieces.len());
        }
        self.mouth.close();
        let limit = self.longest_at().max(self.now + self.timings.goodbye_limit);
        self.closing = Some(Closing { reason: End::VoicemailMessageLeft, since: self.now, limit, uncovered: false });
        true
    }
}
