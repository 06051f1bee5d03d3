//! How long nothing was said. A caller who says nothing is reprompted, and in the end hung up on.

use super::playback::Kind;
use crate::Timestamp;

/// Since when nothing was said.
#[derive(Clone, Copy, Debug)]
pub(super) struct SilenceTimer {
    /// Since the caller's last sign of life, or since something that they had to listen to.
    caller: Timestamp,
    /// Since anybody said anything.
    anybody: Timestamp,
    reprompts: u32,
}

impl SilenceTimer {
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
    pub(super) fn caller_active(&mut self, at: Timestamp) {
        *self = Self::since(self.caller.max(at));
    }

    /// The agent has said something. Asking whether the caller is there is no reason to wait for them any longer.
    pub(super) fn agent_finished(&mut self, kind: Kind, now: Timestamp) {
        self.anybody = now;
        if !matches!(kind, Kind::Reprompt | Kind::Filler) {
            self.caller = now;
        }
    }
}
