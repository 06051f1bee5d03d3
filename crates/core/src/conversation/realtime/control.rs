//! What the API asks of a running conversation, and what the caller types.

use std::time::Duration;

use super::Realtime;
use super::messages::{Direction, Effect};
use super::responses::output;
use super::waiting::Owed;
use crate::Timestamp;
use crate::agent::is_key;
use crate::conversation::End;
use crate::conversation::mouth::Kind;

/// Added to the instructions when the caller could not be passed on.
const NOT_PASSED_ON: &str =
    "Putting the caller through to somebody else did not work. Tell them so in one short sentence.";

impl Realtime {
    /// The caller speaks over the agent, which falls silent at once; the provider has stopped the response by itself.
    pub(super) fn interrupted(&mut self) {
        self.cut();
        self.response_was_stopped();
        self.owed = None;
        if let Some((id, _)) = self.pass_on.take() {
            self.tools.retain(|call| call.id != id);
            self.tell_result(&id, "The caller spoke before they were passed on. Ask whether they still want to be.");
        }
        if let Some(closing) = self.closing.take_if(|closing| closing.reason == End::AgentHungUp) {
            self.rescued = true;
            let told = closing.by_tool.map(|id| output(&id, "The caller spoke before the call ended. It goes on."));
            self.effects.extend(told);
        }
    }

    /// Falls silent for a reason of our own.
    pub(super) fn fall_silent(&mut self) {
        self.cut();
        self.stop_response();
        (self.owed, self.missed) = (None, None);
    }

    /// Has a text said: next, or at once instead of what the agent is saying.
    pub(super) fn asked_to_say(&mut self, text: String, interrupt: bool) {
        if self.closing.is_some() || self.machine.is_some() || text.trim().is_empty() {
            return;
        }
        if interrupt {
            self.fall_silent();
            self.wishes.clear();
        }
        self.want(Kind::Said, Direction::Exactly(text));
    }

    pub(super) fn keys_sent(&mut self) {
        self.keys_on_line = false;
        self.progress = self.now;
        self.agent_fell_silent(Kind::Said, self.now);
    }

    pub(super) fn key_pressed(&mut self, key: char) {
        if !is_key(key) || !self.agent.dtmf.enabled || !self.listens() {
            return;
        }
        self.keys.press(key, &self.agent.dtmf);
        self.key_at = Some(self.now);
        self.greet_at = None;
        self.quiet.sign_of_life(self.now);
        if self.agent.dtmf.interrupt && self.agent.interruption.enabled && self.is_talking() {
            self.fall_silent();
        }
    }

    fn is_talking(&self) -> bool {
        !self.mouth.is_idle() || self.response.as_ref().is_some_and(|response| !response.dead)
    }

    pub(super) fn keys_due_at(&self) -> Option<Timestamp> {
        let waits = self.keys.is_empty() || self.is_talking() || self.closing.is_some() || self.passing_on.is_some();
        let at = self.key_at.filter(|_| !waits)?;
        let timeout = Duration::from_millis(self.agent.dtmf.digit_timeout_ms.into());
        Some(if self.keys.are_complete() { at } else { at + timeout })
    }

    /// Keys are a turn of the caller's like any other.
    pub(super) fn take_keys(&mut self) -> bool {
        if !self.is_due(self.keys_due_at()) {
            return false;
        }
        let pressed_at = self.key_at.take().unwrap_or(self.now);
        let text = format!("[keys] {}", std::mem::take(&mut self.keys).text());
        self.voice.turn_began.get_or_insert(pressed_at);
        self.voice.ended = Some(pressed_at);
        self.effects.push(Effect::Tell { text: text.clone() });
        self.caller_said("", text);
        self.owed = Some(Owed::an_answer(pressed_at, self.now));
        (self.missed, self.rounds) = (None, 0);
        self.want(Kind::Answer, Direction::Freely);
        true
    }

    /// Whoever is to be passed on hears first what they are told about it.
    pub(super) fn pass_on_when_silent(&mut self) -> bool {
        let silent = self.mouth.is_idle() && !self.is_responding() && self.speaking.is_none() && !self.keys_on_line;
        let Some((id, number)) = self.pass_on.take_if(|_| silent) else { return false };
        self.tools.retain(|call| call.id != id);
        self.owed = None;
        self.passing_on = Some(Some(id));
        self.effects.push(Effect::Transfer { number });
        true
    }

    /// Falls silent until the carrier has answered.
    pub(super) fn transfer_started(&mut self) {
        if self.closing.is_some() || self.passing_on.is_some() {
            return;
        }
        self.fall_silent();
        self.passing_on = Some(None);
    }

    pub(super) fn transfer_refused(&mut self) {
        let Some(by_tool) = self.passing_on.take() else { return };
        if self.closing.is_some() || self.machine.is_some() {
            return;
        }
        self.agent_fell_silent(Kind::Said, self.now);
        self.owed = Some(Owed::nothing_asked(self.now));
        match by_tool {
            Some(id) => {
                self.tell_result(&id, "The caller could not be passed on.");
                self.want(Kind::Answer, Direction::Freely);
            }
            None => self.want(Kind::Answer, Direction::Directed(NOT_PASSED_ON.to_owned())),
        }
    }
}
