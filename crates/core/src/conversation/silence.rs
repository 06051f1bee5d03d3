//! Measures silence. A caller who says nothing is reprompted, and eventually hung up on.

use super::playback::Kind;
use crate::Timestamp;

/// Since when nothing was said.
#[derive(Clone, Copy, Debug)]
pub(super) struct SilenceTimer {
    /// Since the caller last spoke or pressed a key, or last had to listen to something.
    caller: Timestamp,
    /// Since either side last said something.
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

    /// Records that the caller spoke or pressed a key.
    pub(super) fn caller_active(&mut self, at: Timestamp) {
        *self = Self::since(self.caller.max(at));
    }

    /// Records that the agent has said something. A reprompt or a filler does not restart the wait for the caller.
    pub(super) fn agent_finished(&mut self, kind: Kind, now: Timestamp) {
        self.anybody = now;
        if !matches!(kind, Kind::Reprompt | Kind::Filler) {
            self.caller = now;
        }
    }
}
