//! Keys that the caller presses: gathered into inputs, which are part of the caller's turn.

use super::Conversation;
use crate::agent::{Dtmf, is_key};

/// Keys beyond this are dropped while nobody takes the turn.
const MOST: usize = 256;

/// The inputs of one turn. More than one comes about when the caller goes on while the agent cannot be interrupted.
#[derive(Default)]
pub(super) struct Keys {
    complete: Vec<String>,
    current: String,
    length: usize,
}

impl Keys {
    pub(super) fn press(&mut self, key: char, settings: &Dtmf) {
        self.length += 1;
        if self.length > MOST {
            return;
        }
        let finishes = settings.finish_key() == Some(key);
        // The finish key alone is what the caller had to say.
        if !finishes || self.current.is_empty() {
            self.current.push(key);
        }
        let most = usize::try_from(settings.max_digits).unwrap_or(usize::MAX);
        if finishes || self.current.len() >= most {
            self.complete.push(std::mem::take(&mut self.current));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether the input is complete without waiting for more.
    pub(super) fn are_complete(&self) -> bool {
        !self.complete.is_empty() && self.current.is_empty()
    }

    /// The inputs, one after the other.
    pub(super) fn text(&self) -> String {
        let all = self.complete.iter().chain([&self.current]).filter(|input| !input.is_empty());
        all.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

impl Conversation {
    pub(super) fn key_pressed(&mut self, key: char) {
        if !is_key(key) || !self.agent.dtmf.enabled {
            return;
        }
        self.caller.key(key, &self.agent.dtmf, self.now);
        self.heard_words(true);
        if self.agent.dtmf.interrupt && self.is_busy() && self.may_be_interrupted() {
            self.fall_silent();
        }
    }
}
