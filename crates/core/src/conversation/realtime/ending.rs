//! How a conversation ends: with a goodbye that is heard, or at once.

use std::time::Duration;

use super::Realtime;
use super::messages::{Direction, Effect};
use crate::Timestamp;
use crate::agent::{MachineDetection, OnMachine};
use crate::conversation::effect::End;
use crate::conversation::input::Failure;
use crate::conversation::mouth::Kind;
use crate::conversation::phrases;

/// A goodbye that does not go on, or a message of which nothing is heard by then, is not waited for.
const UNHEARD: Duration = Duration::from_secs(5);
/// After a phrase that covers the wait for a goodbye; then a short one stands in for it.
const COVERED: Duration = Duration::from_millis(2_400);
/// Added to the instructions when the longest duration is reached.
const TIME_IS_UP: &str = "The time for this call is over. Say so, with an apology and goodbye, in one short sentence.";

/// The last words are being said.
pub(super) struct Closing {
    pub(super) reason: End,
    /// The tool call that wants it.
    pub(super) by_tool: Option<String>,
    since: Timestamp,
    limit: Timestamp,
    /// Whether the wait for the goodbye was covered.
    covered: bool,
}

/// A machine has answered and is to hear the message.
pub(super) struct Machine {
    since: Timestamp,
    beeped: bool,
}

impl Realtime {
    /// Ends the call once what is being said was heard.
    pub(super) fn close_with(&mut self, reason: End, by_tool: Option<String>) {
        self.owed = None;
        let limit = self.now + self.timings.goodbye_limit;
        self.closing = Some(Closing { reason, by_tool, since: self.now, limit, covered: false });
    }

    /// Ends the call at once.
    pub(super) fn end(&mut self, reason: End) {
        self.close_books();
        self.effects.push(Effect::HangUp { reason });
        self.ended = true;
    }

    pub(super) fn reach_maximum(&mut self) -> bool {
        let due = self.is_due(self.maximum_at());
        if due && !self.media {
            self.end(End::MaxDuration);
        } else if due {
            self.fall_silent();
            self.wishes.clear();
            self.close_with(End::MaxDuration, None);
            self.want(Kind::Goodbye, Direction::Directed(TIME_IS_UP.to_owned()));
        }
        due
    }

    /// Only the model's own wish to end can be overruled, and once.
    pub(super) fn may_be_rescued(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.reason == End::AgentHungUp) && !self.rescued
    }

    pub(super) fn closing_at(&self) -> Option<Timestamp> {
        let closing = self.closing.as_ref()?;
        if !self.mouth.is_silent() || self.keys_on_line {
            return Some(closing.limit);
        }
        let silent_since = self.quiet.anybody().max(self.progress).max(closing.since);
        let awaited = self.is_responding() || !self.mouth.is_idle();
        let wait = match (self.lacks_goodbye(), awaited) {
            (true, _) if closing.covered => COVERED,
            (true, _) => self.timings.filler,
            (false, true) => UNHEARD,
            (false, false) => self.timings.goodbye_tail,
        };
        Some((silent_since + wait).min(closing.limit))
    }

    /// Whether a goodbye is to come of which nothing has.
    fn lacks_goodbye(&self) -> bool {
        let begun = self.response.as_ref().is_some_and(|response| response.sounded);
        self.is_responding() && !begun && self.mouth.is_idle() && self.machine.is_none()
    }

    pub(super) fn finish_goodbye(&mut self) -> bool {
        if !self.is_due(self.closing_at()) {
            return false;
        }
        let lacks_goodbye = self.lacks_goodbye();
        let Some(closing) = self.closing.take_if(|closing| !lacks_goodbye || self.now >= closing.limit) else {
            self.cover_goodbye();
            return true;
        };
        self.end(closing.reason);
        true
    }

    /// Says something while a goodbye does not come, and in the end says goodbye in its place.
    fn cover_goodbye(&mut self) {
        let Some(closing) = &mut self.closing else { return };
        if !std::mem::replace(&mut closing.covered, true) {
            return self.cover(Kind::Filler, phrases::usual(self.language.phrases.fillers));
        }
        self.fall_silent();
        (self.response, self.asked) = (None, None);
        self.wishes.clear();
        self.cover(Kind::Goodbye, phrases::usual(self.language.phrases.goodbyes));
    }

    /// Apologises in the other voice and ends the call. A phrase that covers the wait is heard to its end before.
    pub(super) fn give_up(&mut self, failure: Failure) {
        if let Some(closing) = self.closing.take() {
            self.end(closing.reason);
            return;
        }
        if !self.media || self.machine.is_some() {
            self.end(End::Failed(failure));
            return;
        }
        if self.mouth.says_only_a_bridge() {
            self.stop_response();
            self.missed = None;
        } else {
            self.fall_silent();
        }
        (self.response, self.asked) = (None, None);
        self.wishes.clear();
        self.close_with(End::Failed(failure), None);
        self.cover(Kind::Goodbye, phrases::usual(self.language.phrases.technical));
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
        self.wishes.clear();
        (self.speaking, self.greet_at) = (None, None);
        self.machine = Some(Machine { since: self.now, beeped: beep });
    }

    fn voicemail(&self) -> &str {
        self.agent.answering_machine.message.as_deref().unwrap_or_default().trim()
    }

    /// When the message is left at the latest.
    pub(super) fn beep_at(&self) -> Option<Timestamp> {
        let machine = self.machine.as_ref().filter(|_| self.closing.is_none())?;
        Some(if machine.beeped { machine.since } else { machine.since + self.timings.beep })
    }

    /// Leaves the message after the beep, or when none comes.
    pub(super) fn leave_message(&mut self) -> bool {
        let due = self.is_due(self.beep_at());
        if due {
            self.close_with(End::VoicemailMessageLeft, None);
            let longest = self.began + Duration::from_secs(self.agent.limits.max_duration_seconds.into());
            if let Some(closing) = &mut self.closing {
                closing.limit = closing.limit.max(longest);
            }
            let message = self.voicemail().to_owned();
            self.want(Kind::Voicemail, Direction::Exactly(message));
        }
        due
    }
}
