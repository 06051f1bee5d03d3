//! How a conversation ends: after silence, at the maximum duration, and with a goodbye that the caller hears.

use std::time::Duration;

use super::Conversation;
use super::effect::End;
use super::phase::Closing;
use super::strategy::Prompt;
use crate::Timestamp;

/// The longest goodbye. One that repeats everything that was agreed on takes less.
const LONGEST_GOODBYE: Duration = Duration::from_secs(120);

impl Conversation {
    /// Ends the call at once.
    pub(super) fn end(&mut self, reason: End) {
        self.strategy.finish(&mut self.dialogue);
        self.dialogue.end(reason);
    }

    /// Returns when the maximum duration is reached; `None` during the goodbye.
    pub(super) fn maximum_at(&self) -> Option<Timestamp> {
        Some(self.dialogue.longest_at()).filter(|_| !self.dialogue.phase.is_closing())
    }

    pub(super) fn reach_maximum(&mut self) -> bool {
        let due = self.dialogue.is_due(self.maximum_at());
        if due && self.dialogue.media.is_none() {
            self.end(End::MaxDuration);
        } else if due {
            self.strategy.stop(&mut self.dialogue, true);
            self.dialogue.close_with(End::MaxDuration, None);
            self.strategy.prompt(&mut self.dialogue, Prompt::TimeIsUp);
        }
        due
    }

    /// Returns when the goodbye is over.
    pub(super) fn closing_at(&self) -> Option<Timestamp> {
        let d = &self.dialogue;
        let closing = d.phase.closing()?;
        let Some(silence) = self.strategy.goodbye_silence(d).filter(|_| !d.dtmf_sending) else {
            return Some(self.goodbye_limit(closing));
        };
        let silent_since = d.silence.anybody().max(closing.since).max(d.playback.progress().unwrap_or(closing.since));
        Some((silent_since + silence).min(self.goodbye_limit(closing)))
    }

    /// Returns when the goodbye is over, heard or not. One that is being said may take longer, but not long past the maximum duration.
    fn goodbye_limit(&self, closing: &Closing) -> Timestamp {
        let d = &self.dialogue;
        if closing.reason != End::AgentHungUp {
            return closing.limit;
        }
        let patience = d.timings.goodbye_limit;
        let stalls_after = if d.playback.is_idle() { d.timings.goodbye_tail } else { patience };
        let moved = d.playback.progress().map_or(closing.limit, |progress| progress + stalls_after);
        let latest = (closing.since + LONGEST_GOODBYE).min(d.longest_at() + patience);
        closing.limit.max(moved.min(latest))
    }

    pub(super) fn finish_closing(&mut self) -> bool {
        if self.dialogue.may_cancel_goodbye() && self.strategy.caller_continues(&self.dialogue) {
            self.dialogue.cancel_goodbye();
            self.strategy.stop(&mut self.dialogue, false);
            return true;
        }
        if !self.dialogue.is_due(self.closing_at()) {
            return false;
        }
        if let Some(closing) = self.dialogue.phase.closing() {
            let (reason, late) = (closing.reason.clone(), self.dialogue.now >= self.goodbye_limit(closing));
            if late || !self.strategy.replace_goodbye(&mut self.dialogue) {
                self.end(reason);
            }
        }
        true
    }

    /// Returns whether the line is silent: neither side speaks or is about to, and nothing is awaited.
    pub(super) fn is_idle(&self) -> bool {
        self.dialogue.is_idle() && self.strategy.is_idle(&self.dialogue)
    }

    pub(super) fn hang_up_on_silence_at(&self) -> Option<Timestamp> {
        let d = &self.dialogue;
        let after = d.agent.silence.hangup_after_seconds?;
        self.is_idle().then(|| d.silence.caller() + Duration::from_secs(after.into()))
    }

    pub(super) fn hang_up_on_silence(&mut self) -> bool {
        let due = self.dialogue.is_due(self.hang_up_on_silence_at());
        if due {
            self.end(End::Silence);
        }
        due
    }

    pub(super) fn reprompt_at(&self) -> Option<Timestamp> {
        let d = &self.dialogue;
        let settings = &d.agent.silence;
        let again = self.greet_at().is_none() && d.silence.reprompts() < settings.max_reprompts;
        let again = again && self.strategy.may_reprompt(d) && self.is_idle();
        again.then(|| d.silence.anybody() + Duration::from_secs(settings.reprompt_after_seconds.into()))
    }

    pub(super) fn reprompt(&mut self) -> bool {
        let due = self.dialogue.is_due(self.reprompt_at());
        if due {
            self.dialogue.silence.reprompted();
            self.strategy.prompt(&mut self.dialogue, Prompt::Reprompt);
        }
        due
    }
}
