//! The history: what the model sees, that is its instructions, what the caller said, and what the caller heard of its own responses.

use std::fmt;
use std::ops::Range;

use serde_json::Value;

use super::tool_call::ToolCall;
use crate::agent::SEND_DTMF;

/// Follows the agent's instructions in every request, so that the model writes for speech.
const SPOKEN_STYLE: &str = "You are talking on the phone. Answer in one or two short spoken sentences, without lists, \
     markdown or emoji. A message ending in \u{2026} was cut off by the caller there; the rest of it was not heard. \
     What stands after \"[keys]\" was typed on the phone's keys.";

/// Marks the end of a message that was interrupted.
const CUT_MARK: char = '\u{2026}';

/// One message to the model. `Debug` does not show its text.
#[derive(Clone, PartialEq)]
pub struct Message {
    /// Who says the message.
    pub role: Role,
    /// The text; may be empty beside tool calls.
    pub text: String,
    /// Tools that the assistant called with this message.
    pub tool_calls: Vec<ToolCall>,
    /// For a tool's message: the [`ToolCall::id`] of the call it responds to.
    pub tool_call_id: Option<String>,
    /// Whether the caller interrupted this message; its text then ends in an ellipsis.
    pub interrupted: bool,
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions.
    System,
    /// The caller.
    User,
    /// The agent.
    Assistant,
    /// A tool's result.
    Tool,
}

impl Message {
    /// Creates a message of plain text.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into(), tool_calls: Vec::new(), tool_call_id: None, interrupted: false }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Message({:?}, tool calls {}, interrupted {})", self.role, self.tool_calls.len(), self.interrupted)
    }
}

/// The text that a model sees in place of what the caller said, where a content filter refused that.
pub const WITHHELD_WORDS: &str = "(What the caller said here cannot be shown.)";

/// The messages so far: only what the caller said or heard.
#[derive(Clone, Debug)]
pub(super) struct History {
    messages: Vec<Message>,
    /// Where the turns that are items of a speech-to-speech session are, in order.
    turns: Vec<RecordedTurn>,
}

/// A turn of the caller in a message.
#[derive(Clone, Debug)]
struct RecordedTurn {
    item: String,
    message: usize,
    text: Range<usize>,
}

impl History {
    pub(super) fn new(instructions: &str) -> Self {
        let system = Message::new(Role::System, format!("{instructions}\n\n{SPOKEN_STYLE}"));
        Self { messages: vec![system], turns: Vec::new() }
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }

    /// Returns whether the caller's last message has no response yet.
    pub(super) fn is_unanswered(&self) -> bool {
        self.messages.last().is_some_and(|last| last.role == Role::User)
    }

    /// Returns whether the model pressed keys and nothing has followed, so that it may wait in silence.
    pub(super) fn has_pressed_keys(&self) -> bool {
        let last = self.messages.iter().rfind(|message| message.role != Role::Tool);
        last.is_some_and(|last| {
            !last.tool_calls.is_empty() && last.tool_calls.iter().all(|call| call.name == SEND_DTMF)
        })
    }

    /// Returns the messages as they will be once the caller has said `text`.
    pub(super) fn with_caller(&self, text: &str) -> Vec<Message> {
        let mut ahead = self.clone();
        ahead.caller_said(text);
        ahead.messages
    }

    /// Adds what the caller said. Text with nothing from the agent in between is joined into one message.
    pub(super) fn caller_said(&mut self, text: &str) {
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => self.messages.push(Message::new(Role::User, text)),
        }
    }

    /// Adds what the caller said as this item of a session.
    pub(super) fn caller_said_as(&mut self, item: String, text: &str) {
        self.caller_said(text);
        if let (Some(message), Some(last)) = (self.messages.len().checked_sub(1), self.messages.last()) {
            let end = last.text.len();
            self.turns.push(RecordedTurn { item, message, text: end - text.len()..end });
        }
    }

    /// Returns the history without what the caller said as these items.
    pub(super) fn without(&self, items: &[String]) -> Self {
        let mut messages = self.messages.clone();
        // From the last one on: what is replaced moves what follows it.
        for turn in self.turns.iter().rev().filter(|turn| items.contains(&turn.item)) {
            if let Some(message) = messages.get_mut(turn.message) {
                message.text.replace_range(turn.text.clone(), WITHHELD_WORDS);
            }
        }
        Self { messages, turns: Vec::new() }
    }

    /// Removes the caller's last text, because the turn continues.
    pub(super) fn remove_caller_text(&mut self, text: &str) {
        let Some(last) = self.messages.last_mut().filter(|last| last.role == Role::User) else { return };
        match last.text.strip_suffix(text).map(|before| before.trim_end().to_owned()) {
            Some(before) if before.is_empty() => drop(self.messages.pop()),
            Some(before) => last.text = before,
            None => {}
        }
    }

    /// Adds what was heard of the agent. Does nothing if nothing was heard.
    pub(super) fn agent_was_heard(&mut self, heard: &str, interrupted: bool) {
        if heard.is_empty() {
            return;
        }
        let mut message = Message::new(Role::Assistant, heard);
        if interrupted {
            message.text.push(CUT_MARK);
            message.interrupted = true;
        }
        self.messages.push(message);
    }

    /// Adds a round of tool calls and their results, and returns the index of the first result.
    pub(super) fn tools_ran(&mut self, calls: Vec<ToolCall>, results: Vec<(String, Value)>) -> usize {
        self.messages.push(Message { tool_calls: calls, ..Message::new(Role::Assistant, "") });
        let first = self.messages.len();
        for (id, result) in results {
            self.messages.push(Message { tool_call_id: Some(id), ..Message::new(Role::Tool, result.to_string()) });
        }
        first
    }

    /// Replaces the placeholder of a late result.
    pub(super) fn tool_returned(&mut self, place: usize, result: &Value) {
        if let Some(message) = self.messages.get_mut(place) {
            message.text = result.to_string();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_of_a_session_stays_out_of_the_history_of_the_next_one() {
        let mut history = History::new("Book tables.");
        history.caller_said_as("a".to_owned(), "Yes.");
        history.caller_said("[keys] 12");
        history.caller_said_as("b".to_owned(), "Yes.");
        history.agent_was_heard("For how many?", false);
        history.caller_said_as("c".to_owned(), "Four.");
        let texts = |items: &[&str]| {
            let items: Vec<String> = items.iter().map(|&item| item.to_owned()).collect();
            history.without(&items).messages().into_iter().skip(1).map(|message| message.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(&[]), ["Yes. [keys] 12 Yes.", "For how many?", "Four."]);
        assert_eq!(texts(&["b"])[0], format!("Yes. [keys] 12 {WITHHELD_WORDS}"));
        let all = texts(&["a", "b", "c"]);
        assert_eq!(all[0], format!("{WITHHELD_WORDS} [keys] 12 {WITHHELD_WORDS}"));
        assert_eq!(all[1..], ["For how many?", WITHHELD_WORDS]);
    }

    #[test]
    fn words_in_a_row_are_one_message_and_cut_answers_say_so() {
        let mut history = History::new("Book tables.");
        history.caller_said("A table");
        history.agent_was_heard("", true);
        history.caller_said("for two.");
        history.agent_was_heard("Which", true);
        let texts: Vec<_> = history.messages().into_iter().skip(1).map(|m| (m.role, m.text, m.interrupted)).collect();
        assert_eq!(
            texts,
            [(Role::User, "A table for two.".to_owned(), false), (Role::Assistant, "Which\u{2026}".to_owned(), true)]
        );
        assert_eq!(history.with_caller("Today.").len(), history.messages().len() + 1);
    }
}
