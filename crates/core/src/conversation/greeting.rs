//! The greeting: who speaks first.

use std::time::Duration;

use super::Conversation;
use super::phase::Phase;
use crate::Timestamp;
use crate::agent::GreetingMode;

/// How much later the agent greets if something is heard that may not be speech.
const GREETING_DELAY: Duration = Duration::from_millis(200);

impl Conversation {
    pub(super) fn greet(&mut self) {
        let d = &mut self.dialogue;
        if d.agent.greeting.mode == GreetingMode::Wait {
            d.phase = Phase::Greeting { at: Some(d.now + d.timings.greeting_wait) };
        } else {
            d.phase = Phase::Greeting { at: None };
            self.strategy.greet(d);
        }
    }

    /// Returns when the agent greets a caller who says nothing.
    pub(super) fn greet_at(&self) -> Option<Timestamp> {
        if let Phase::Greeting { at } = self.dialogue.phase { at } else { None }
    }

    pub(super) fn greet_late(&mut self) -> bool {
        let due = self.dialogue.is_due(self.greet_at());
        if due {
            // It may be noise: recognised words end the wait for the greeting on their own.
            let is_heard = self.dialogue.is_idle() && !self.strategy.is_idle(&self.dialogue);
            let at = is_heard.then(|| self.dialogue.now + GREETING_DELAY);
            self.dialogue.phase = Phase::Greeting { at };
            if !is_heard {
                self.strategy.greet_late(&mut self.dialogue);
            }
        }
        due
    }
}
