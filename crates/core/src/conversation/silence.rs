//! A caller who says nothing is asked again, and in the end let go.

use std::time::Duration;

use super::Conversation;
use super::effect::End;
use super::mouth::Kind;
use crate::Timestamp;

/// Since when nothing was said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quiet {
    /// Since the caller's last sign of life, or since something that they had to listen to.
    caller: Timestamp,
    /// Since anybody said anything.
    anybody: Timestamp,
    reprompts: u32,
}

impl Quiet {
    pub(super) fn since(now: Timestamp) -> Self {
        Self { caller: now, anybody: now, reprompts: 0 }
    }

    pub(super) fn anybody(&self) -> Timestamp {
        self.anybody
    }

    pub(super) fn caller(&self) -> Timestamp {
        self.caller
    }

    pub(super) fn reprompts(&self) -> u32 {
        self.reprompts
    }

    pub(super) fn reprompted(&mut self) {
        self.reprompts += 1;
    }

    /// The caller spoke or pressed a key.
    pub(super) fn sign_of_life(&mut self, at: Timestamp) {
        *self = Self::since(self.caller.max(at));
    }

    /// The agent has said something. Asking whether the caller is there is no reason to wait for them any longer.
    pub(super) fn agent_fell_silent(&mut self, kind: Kind, now: Timestamp) {
        self.anybody = now;
        if !matches!(kind, Kind::Reprompt | Kind::Filler) {
            self.caller = now;
        }
    }
}

impl Conversation {
    pub(super) fn silence_at(&self) -> Option<Timestamp> {
        let patience = self.agent.silence.hangup_after_seconds?;
        self.is_calm().then(|| self.quiet.caller + Duration::from_secs(patience.into()))
    }

    pub(super) fn hang_up_on_silence(&mut self) -> bool {
        let due = self.is_due(self.silence_at());
        if due {
            self.end(End::Silence);
        }
        due
    }

    pub(super) fn reprompt_at(&self) -> Option<Timestamp> {
        let settings = &self.agent.silence;
        let may = self.quiet.reprompts < settings.max_reprompts && !self.language.phrases.reprompts.is_empty();
        (self.is_calm() && may)
            .then(|| self.quiet.anybody + Duration::from_secs(settings.reprompt_after_seconds.into()))
    }

    pub(super) fn reprompt(&mut self) -> bool {
        let due = self.is_due(self.reprompt_at());
        if due {
            self.quiet.reprompts += 1;
            self.say_one_of(Kind::Reprompt, self.language.phrases.reprompts);
        }
        due
    }
}
