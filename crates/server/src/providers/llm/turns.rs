//! A conversation as those interfaces want it that know only turns: the caller's and the model's, one after the other, the
//! caller's first and last, and the results of tools in the turn after their calls.

use std::borrow::Cow;

use switchhook_core::conversation::{Message, Role, ToolCall};

/// What the caller's side says where nobody has said anything.
const CONNECTED: &str = "(The call is connected.)";
/// What it says behind the model's last words.
const SILENT: &str = "(The caller is silent.)";
/// What a tool answered whose result never came.
pub(crate) const CANCELLED: &str = "cancelled";

/// One side's turn.
pub(crate) struct Turn<'m> {
    /// Whether it is the model's.
    pub(crate) by_model: bool,
    /// What it consists of; never empty.
    pub(crate) parts: Vec<Part<'m>>,
}

/// A part of a turn.
pub(crate) enum Part<'m> {
    /// Words; never blank.
    Text(&'m str),
    /// A tool that the model called.
    Call(&'m ToolCall),
    /// What it answered.
    Result {
        /// The call.
        call: &'m ToolCall,
        /// The answer, as JSON where the tool gave some.
        text: Cow<'m, str>,
    },
}

/// The instructions, and the turns.
pub(crate) fn turns(messages: &[Message]) -> (String, Vec<Turn<'_>>) {
    let system: Vec<&str> =
        messages.iter().filter(|message| message.role == Role::System).map(|message| message.text.as_str()).collect();
    let mut turns = Turns(Vec::new());
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::User => turns.say(false, &message.text),
            Role::Assistant => {
                turns.say(true, &message.text);
                turns.call(message, &messages[at + 1..]);
            }
            // Results stand with their calls.
            Role::System | Role::Tool => {}
        }
    }
    match turns.0.last() {
        None => turns.say(false, CONNECTED),
        Some(last) if last.by_model => turns.say(false, SILENT),
        Some(_) => {}
    }
    (system.join("\n\n"), turns.0)
}

struct Turns<'m>(Vec<Turn<'m>>);

impl<'m> Turns<'m> {
    fn say(&mut self, by_model: bool, text: &'m str) {
        if !text.trim().is_empty() {
            self.add(by_model, Part::Text(text));
        }
    }

    fn call(&mut self, message: &'m Message, after: &'m [Message]) {
        for call in &message.tool_calls {
            self.add(true, Part::Call(call));
        }
        for call in &message.tool_calls {
            let mut answers = after.iter().take_while(|next| next.role == Role::Tool);
            let answer = answers.find(|answer| answer.tool_call_id.as_ref() == Some(&call.id));
            let text = answer.map_or(Cow::Borrowed(CANCELLED), |answer| Cow::Borrowed(answer.text.as_str()));
            self.add(false, Part::Result { call, text });
        }
    }

    fn add(&mut self, by_model: bool, part: Part<'m>) {
        if self.0.is_empty() && by_model {
            self.0.push(Turn { by_model: false, parts: vec![Part::Text(CONNECTED)] });
        }
        match self.0.last_mut().filter(|turn| turn.by_model == by_model) {
            Some(turn) => turn.parts.push(part),
            None => self.0.push(Turn { by_model, parts: vec![part] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn turns_alternate_and_every_call_has_its_result() {
        let call =
            |id: &str| ToolCall { id: id.to_owned(), name: "t".to_owned(), arguments: json!({}), signature: None };
        let called = Message { tool_calls: vec![call("a"), call("b")], ..Message::new(Role::Assistant, "") };
        let result = Message { tool_call_id: Some("b".to_owned()), ..Message::new(Role::Tool, "7") };
        let messages = [
            Message::new(Role::System, "Be brief."),
            Message::new(Role::Assistant, "Hello?"),
            Message::new(Role::User, "A table."),
            called,
            result,
            Message::new(Role::Assistant, "Seven."),
        ];
        let (system, turns) = turns(&messages);
        let shown = |part: &Part<'_>| match part {
            Part::Text(text) => (*text).to_owned(),
            Part::Call(call) => format!("call {}", call.id),
            Part::Result { call, text } => format!("{} = {text}", call.id),
        };
        let shown: Vec<(bool, String)> = turns
            .iter()
            .map(|turn| (turn.by_model, turn.parts.iter().map(shown).collect::<Vec<_>>().join(", ")))
            .collect();
        let expected = [
            (false, CONNECTED),
            (true, "Hello?"),
            (false, "A table."),
            (true, "call a, call b"),
            (false, "a = cancelled, b = 7"),
            (true, "Seven."),
            (false, SILENT),
        ];
        assert_eq!(shown, expected.map(|(by_model, text)| (by_model, text.to_owned())));
        assert_eq!(system, "Be brief.");
        let opening = super::turns(&messages[..1]).1;
        assert!(matches!(opening[0].parts[..], [Part::Text(CONNECTED)]), "a greeting is asked for");
    }
}
