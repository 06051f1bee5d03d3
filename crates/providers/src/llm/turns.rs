//! A conversation as alternating turns of the caller and the model, for APIs that accept nothing else: the caller's turn first and
//! last, and tool results in the turn after their calls.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Value, json};
use switchhook_core::conversation::{Message, Role, ToolCall};

use super::tool_names::fitting_name;

/// Stands for the caller's turn before the model's first one.
const CONNECTED: &str = "(The call is connected.)";
/// Stands for the caller's turn after the model's last text.
const SILENT: &str = "(The caller is silent.)";
/// Stands for a result that never arrived.
pub(crate) const CANCELLED: &str = "cancelled";
/// The longest tool call id that every server accepts.
const LONGEST_ID: usize = 64;

/// One side's turn.
pub(crate) struct Turn<'m> {
    /// Whether it is the model's turn.
    pub(crate) by_model: bool,
    /// Its parts; never empty.
    pub(crate) parts: Vec<Part<'m>>,
}

/// A part of a turn.
pub(crate) enum Part<'m> {
    /// Text; never blank.
    Text(&'m str),
    /// A tool call of the model.
    Call {
        /// The id used here, unique within the conversation.
        id: String,
        /// The name of the tool as servers accept it: models make names up.
        name: String,
        /// The call.
        call: &'m ToolCall,
    },
    /// The result of a call.
    Result {
        /// The id of the call.
        id: String,
        /// The name in the call.
        name: String,
        /// The result, as JSON if the tool returned JSON.
        text: Cow<'m, str>,
    },
}

/// Returns the instructions and the turns.
pub(crate) fn turns(messages: &[Message]) -> (String, Vec<Turn<'_>>) {
    let system: Vec<&str> =
        messages.iter().filter(|message| message.role == Role::System).map(|message| message.text.as_str()).collect();
    let mut turns = Turns::default();
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::User => turns.say(false, &message.text),
            Role::Assistant => {
                turns.say(true, &message.text);
                turns.call(message, &messages[at + 1..]);
            }
            // Results are added with their calls.
            Role::System | Role::Tool => {}
        }
    }
    match turns.turns.last() {
        None => turns.say(false, CONNECTED),
        Some(last) if last.by_model => turns.say(false, SILENT),
        Some(_) => {}
    }
    (system.join("\n\n"), turns.turns)
}

/// Parses the arguments of a call as a model wrote them. Text that is not JSON stays text: the tool refuses it with a message that the
/// model can act on. `cut` means that the response was cut off, so that an empty text does not mean "no arguments".
pub(crate) fn arguments(text: &str, cut: bool) -> Value {
    if text.trim().is_empty() && !cut {
        return json!({});
    }
    match serde_json::from_str(text) {
        Ok(Value::Null) => json!({}),
        // Encoded twice.
        Ok(Value::String(inner)) => {
            serde_json::from_str(&inner).ok().filter(Value::is_object).unwrap_or(Value::String(inner))
        }
        Ok(arguments) => arguments,
        Err(_) => json!(text),
    }
}

/// Parses the arguments of a complete call, which some servers send as an object in place of its text.
pub(crate) fn whole_arguments(given: Option<&Value>) -> Value {
    match given {
        None | Some(Value::Null) => json!({}),
        Some(Value::String(text)) => arguments(text, false),
        // The tool refuses anything but an object, with a message for the model.
        Some(given) => given.clone(),
    }
}

/// Returns the arguments if they are an object, else an empty object.
pub(crate) fn object(arguments: &Value) -> Value {
    if arguments.is_object() { arguments.clone() } else { json!({}) }
}

#[derive(Default)]
struct Turns<'m> {
    turns: Vec<Turn<'m>>,
    /// The ids of the calls so far.
    ids: HashSet<String>,
}

impl<'m> Turns<'m> {
    fn say(&mut self, by_model: bool, text: &'m str) {
        if !text.trim().is_empty() {
            self.add(by_model, Part::Text(text));
        }
    }

    fn call(&mut self, message: &'m Message, after: &'m [Message]) {
        let named = |call: &'m ToolCall| (self.unused_id(&call.id), fitting_name(&call.name), call);
        let calls: Vec<(String, String, &ToolCall)> = message.tool_calls.iter().map(named).collect();
        for (id, name, call) in &calls {
            self.add(true, Part::Call { id: id.clone(), name: name.clone(), call });
        }
        for (id, name, call) in calls {
            let mut results = after.iter().take_while(|next| next.role == Role::Tool);
            let result = results.find(|result| result.tool_call_id.as_ref() == Some(&call.id));
            let text = result.map_or(Cow::Borrowed(CANCELLED), |result| Cow::Borrowed(result.text.as_str()));
            self.add(false, Part::Result { id, name, text });
        }
    }

    /// Returns the given id of a call, or another one if it is missing, repeated, or in a form that some servers refuse. A conversation
    /// that grows keeps its ids.
    fn unused_id(&mut self, given: &str) -> String {
        let audio = (1..=LONGEST_ID).contains(&given.len())
            && given.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        let own = Some(given.to_owned()).filter(|own| audio && !self.ids.contains(own));
        let mut numbered = (self.ids.len()..).map(|number| format!("call_{number:05}"));
        let id = own.or_else(|| numbered.find(|id| !self.ids.contains(id))).expect("numbers do not run out");
        self.ids.insert(id.clone());
        id
    }

    fn add(&mut self, by_model: bool, part: Part<'m>) {
        if self.turns.is_empty() && by_model {
            self.turns.push(Turn { by_model: false, parts: vec![Part::Text(CONNECTED)] });
        }
        match self.turns.last_mut().filter(|turn| turn.by_model == by_model) {
            Some(turn) => turn.parts.push(part),
            None => self.turns.push(Turn { by_model, parts: vec![part] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_objects_or_what_the_model_wrote() {
        for (text, cut, expected) in [
            ("", false, json!({})),
            ("", true, json!("")),
            (" null", false, json!({})),
            ("{\"day\":\"Friday\"}", true, json!({ "day": "Friday" })),
            ("\"{\\\"day\\\":1}\"", false, json!({ "day": 1 })),
            ("{\"day\":\"Fri", true, json!("{\"day\":\"Fri")),
            ("{\"a\":1}{\"a\":1}", false, json!("{\"a\":1}{\"a\":1}")),
            ("Friday", false, json!("Friday")),
        ] {
            assert_eq!(arguments(text, cut), expected, "{text}");
        }
    }

    #[test]
    fn arguments_of_a_complete_call_may_be_an_object_or_missing() {
        for (given, expected) in [
            (None, json!({})),
            (Some(json!(null)), json!({})),
            (Some(json!({ "day": 1 })), json!({ "day": 1 })),
            (Some(json!("{\"day\":1}")), json!({ "day": 1 })),
            (Some(json!([1])), json!([1])),
        ] {
            assert_eq!(whole_arguments(given.as_ref()), expected, "{given:?}");
        }
    }

    #[test]
    fn turns_alternate_and_every_call_has_its_result() {
        let call =
            |id: &str| ToolCall { id: id.to_owned(), name: "t".to_owned(), arguments: json!({}), signature: None };
        let called = Message { tool_calls: vec![call("a"), call("b")], ..Message::new(Role::Assistant, "") };
        let result = Message { tool_call_id: Some("b".to_owned()), ..Message::new(Role::Tool, "7") };
        let again = Message { tool_calls: vec![call("a"), call("x.y")], ..Message::new(Role::Assistant, "") };
        let messages = [
            Message::new(Role::System, "Be brief."),
            Message::new(Role::Assistant, "Hello?"),
            Message::new(Role::User, "A table."),
            called,
            result,
            Message::new(Role::Assistant, "Seven."),
            again,
            Message { tool_call_id: Some("a".to_owned()), ..Message::new(Role::Tool, "8") },
            Message::new(Role::Assistant, "Eight."),
        ];
        let (system, turns) = turns(&messages);
        let shown = |part: &Part<'_>| match part {
            Part::Text(text) => (*text).to_owned(),
            Part::Call { id, .. } => format!("call {id}"),
            Part::Result { id, text, .. } => format!("{id} = {text}"),
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
            (true, "Seven., call call_00002, call call_00003"),
            (false, "call_00002 = 8, call_00003 = cancelled"),
            (true, "Eight."),
            (false, SILENT),
        ];
        assert_eq!(shown, expected.map(|(by_model, text)| (by_model, text.to_owned())));
        assert_eq!(system, "Be brief.");
        let opening = super::turns(&messages[..1]).1;
        assert!(matches!(opening[0].parts[..], [Part::Text(CONNECTED)]), "a warmup is requested");
    }

    #[test]
    fn a_name_that_a_model_made_up_fits_in_the_call_and_in_its_result() {
        for (made_up, fitting) in
            [("tables", "tables"), ("crm.book", "crm_book"), ("book table", "book_table"), ("", "unknown")]
        {
            let call = ToolCall { id: "a".to_owned(), name: made_up.to_owned(), arguments: json!({}), signature: None };
            let called = Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") };
            let messages = [Message::new(Role::User, "A table."), called];
            let (_, turns) = turns(&messages);
            let names = turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match part {
                Part::Call { name, .. } | Part::Result { name, .. } => Some(name.as_str()),
                Part::Text(_) => None,
            });
            assert_eq!(names.collect::<Vec<_>>(), [fitting, fitting], "{made_up}");
        }
    }
}
