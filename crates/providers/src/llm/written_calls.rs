//! Tool calls in a model's text, for servers that do not parse them: JSON, arguments after a name, or tags.

use serde_json::{Map, Value};
use switchhook_core::conversation::ToolCall;

use super::turns::arguments;

/// The keys of the name and of the arguments.
const NAMES: [&str; 3] = ["name", "tool_name", "function"];
const ARGUMENTS: [&str; 4] = ["arguments", "parameters", "args", "input"];
/// The texts that begin a parameter, end its name, and end the parameter.
const PARAMETERS: [(&str, &str, &str); 3] = [
    ("<parameter=", ">", "</parameter>"),
    ("<parameter name=\"", "\"", "</parameter>"),
    ("<arg_key>", "</arg_key>", "</arg_value>"),
];
/// The most brackets that begin nothing: some marks have one or two, and parsing each costs time in proportion to its depth.
const MAX_BARE_BRACKETS: usize = 200;
/// The tags that end a call.
const ENDS: [&str; 2] = ["</function>", "</invoke>"];

/// The calls in a text.
pub(super) struct WrittenCalls(Vec<(String, Value)>);

impl WrittenCalls {
    /// Parses the calls in a text; `tools` are the available tools.
    pub(super) fn read(text: &str, tools: &[String]) -> Self {
        let mut calls = in_json(text, tools);
        if calls.is_empty() {
            calls = in_tags(text, tools);
        }
        Self(calls)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether there are calls, all of available tools.
    pub(super) fn all_known(&self, tools: &[String]) -> bool {
        !self.0.is_empty() && self.0.iter().all(|(name, _)| tools.contains(name))
    }

    pub(super) fn into_calls(self) -> impl Iterator<Item = ToolCall> {
        self.0.into_iter().enumerate().map(|(position, (name, arguments))| ToolCall {
            id: format!("written_{position}"),
            name,
            arguments,
            signature: None,
        })
    }
}

/// Parses complete JSON values: calls, or arguments after the name of a tool. Stops at broken JSON.
fn in_json(text: &str, tools: &[String]) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let (mut at, mut before, mut bare) = (0, 0, 0);
    while let Some(next) = text[at..].find(['{', '[']).map(|next| at + next) {
        let mut values = serde_json::Deserializer::from_str(&text[next..]).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            // Brackets are part of some marks.
            bare += 1;
            if text[next..].starts_with('{') || bare > MAX_BARE_BRACKETS {
                return calls;
            }
            at = next + 1;
            continue;
        };
        at = next + values.byte_offset();
        let known = calls.len();
        collect(&value, &mut calls);
        if calls.len() == known
            && value.is_object()
            && let Some(name) = last_named(&text[before..next], tools)
        {
            calls.push((name, value));
        }
        before = at;
    }
    calls
}

/// Collects the calls in a value.
fn collect(value: &Value, calls: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, calls)),
        Value::Object(fields) => {
            if let Some(Value::Array(inner)) = fields.get("tool_calls") {
                inner.iter().for_each(|value| collect(value, calls));
                return;
            }
            let inner = fields.get("function").and_then(Value::as_object).unwrap_or(fields);
            let name = NAMES.iter().find_map(|name| inner.get(*name)?.as_str());
            let written = ARGUMENTS.iter().find_map(|name| inner.get(*name));
            let written = match written {
                Some(Value::String(text)) => arguments(text, false),
                Some(written) => written.clone(),
                None => return,
            };
            calls.extend(name.map(|name| (name.to_owned(), written)));
        }
        _ => {}
    }
}

/// Returns the tool whose name occurs last in a text, as a whole word.
fn last_named(text: &str, tools: &[String]) -> Option<String> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let whole = |at: usize, name: &str| {
        !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part) && !name.is_empty()
    };
    let last = |name: &String| text.rmatch_indices(name.as_str()).map(|(at, _)| at).find(|at| whole(*at, name));
    let named = tools.iter().filter_map(|name| Some((last(name)?, name)));
    named.max_by_key(|(at, name)| (*at, name.len())).map(|(_, name)| name.clone())
}

/// Parses calls whose parameters are tags.
fn in_tags(text: &str, tools: &[String]) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut rest = text;
    while !rest.trim().is_empty() {
        let end = first_end(rest).unwrap_or(rest.len());
        let (call, behind) = rest.split_at(end);
        rest = behind;
        let (head, parameters) = parameters(call);
        let tagged = !parameters.is_empty() || ENDS.iter().any(|end| call.ends_with(end));
        if let Some(name) = last_named(head, tools).filter(|_| tagged) {
            calls.push((name, Value::Object(parameters)));
        }
    }
    calls
}

/// Returns the end of the first call in tags.
fn first_end(text: &str) -> Option<usize> {
    let end_at = |at: usize| ENDS.iter().find(|end| text[at..].starts_with(**end)).map(|end| at + end.len());
    text.match_indices("</").find_map(|(at, _)| end_at(at))
}

/// Returns the text before the parameters, and the parameters.
fn parameters(call: &str) -> (&str, Map<String, Value>) {
    let mut parameters = Map::new();
    let mut head = call;
    for (begins, named, ends) in PARAMETERS {
        let mut rest = call;
        while let Some((before, behind)) = rest.split_once(begins) {
            if parameters.is_empty() {
                head = before;
            }
            let Some((name, behind)) = behind.split_once(named) else { break };
            let Some((value, behind)) = behind.split_once(ends) else { break };
            let value = value
                .split_once('>')
                .map_or(value, |(tag, value)| if tag.contains('<') || begins.ends_with('"') { value } else { tag });
            parameters.insert(name.trim().to_owned(), value_of(value));
            rest = behind;
        }
    }
    (head, parameters)
}

/// Parses a value as JSON, else as text.
fn value_of(text: &str) -> Value {
    let text = text.trim();
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
