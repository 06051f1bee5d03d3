//! What the API does to a running conversation: words to say, keys to press, somebody to pass the caller on to.

use super::Conversation;
use super::mouth::Kind;
use super::speech;

impl Conversation {
    /// Has a text said: next, or at once instead of what the agent is saying or thinking about. The caller is never talked
    /// over, and neither a goodbye nor a message for a machine is disturbed.
    pub(super) fn asked_to_say(&mut self, text: String, interrupt: bool) {
        if self.closing.is_some() || self.machine.is_some() {
            return;
        }
        if interrupt {
            self.fall_silent();
            self.to_say.clear(); // It is said instead of everything before it.
        }
        self.to_say.push_back(text);
    }

    /// What the API wanted said is said when no answer is under way and the caller is not waiting for one.
    pub(super) fn say_what_waits(&mut self) -> bool {
        let waits = self.is_answering() || self.caller.is_open() || self.passing_on;
        if self.to_say.is_empty() || waits || self.closing.is_some() || self.machine.is_some() {
            return false;
        }
        self.cancel_model();
        let text = self.to_say.pop_front().unwrap_or_default();
        let pieces = speech::pieces_of(&text, self.language);
        for (i, piece) in pieces.iter().enumerate() {
            self.utter(Kind::Said, piece, i + 1 == pieces.len());
        }
        if !pieces.is_empty() {
            self.mouth.close();
        }
        true
    }

    /// The tones are over: what the agent was saying goes on, and the silence counts from now.
    pub(super) fn keys_sent(&mut self) {
        self.keys_on_line = false;
        self.mouth.go_on(self.now);
        self.excuse_silence(self.now);
        self.quiet.agent_fell_silent(Kind::Said, self.now);
    }

    /// Falls silent until the carrier has answered. What the caller says meanwhile is kept.
    pub(super) fn transfer_started(&mut self) {
        if self.closing.is_some() {
            return;
        }
        // An answer that stopped for the transfer was not cut short by it.
        self.mouth.close();
        self.fall_silent();
        self.passing_on = true;
    }

    /// The carrier would not: the caller is told, and the conversation goes on.
    pub(super) fn transfer_refused(&mut self) {
        if !std::mem::take(&mut self.passing_on) || self.closing.is_some() || self.machine.is_some() {
            return;
        }
        // The caller has waited, also where nothing is said about it.
        self.quiet.agent_fell_silent(Kind::Said, self.now);
        self.say_one_of(Kind::Said, self.language.phrases.not_put_through);
    }
}
