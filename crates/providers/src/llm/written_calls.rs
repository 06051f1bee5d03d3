//! Tool calls in a model's text, for servers that do not parse them: JSON, Python, arguments after a name, or tags.

pub(super) mod python;
pub(super) mod tags;

use serde_json::{Map, Value};
use switchhook_core::conversation::ToolCall;

use self::tags::Tag;
use super::tool_names::{fits, fitting_name, without_namespace};
use super::turns::arguments;

/// The keys of the name and of the arguments.
pub(super) const NAMES: [&str; 6] = ["name", "tool_name", "function", "tool", "action", "recipient_name"];
const ARGUMENTS: [&str; 8] =
    ["arguments", "parameters", "args", "input", "params", "tool_input", "action_input", "kwargs"];
/// The keys of an object around the name and the arguments.
const INNER: [&str; 3] = ["function", "function_call", "tool_call"];
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
/// Words of the marks around calls, which are no names of tools.
const WORDS_OF_MARKS: [&str; 20] = [
    "arguments",
    "assistant",
    "begin",
    "call",
    "commentary",
    "constrain",
    "dsml",
    "function",
    "function_call",
    "functions",
    "id",
    "invoke",
    "json",
    "message",
    "name",
    "parameters",
    "sep",
    "to",
    "tool",
    "type",
];

/// The calls in a text.
#[derive(Debug, PartialEq)]
pub(super) struct WrittenCalls(Vec<(String, Value)>);

impl WrittenCalls {
    /// Parses the calls in a text that is known to contain some; `tools` are the available tools.
    pub(super) fn read(text: &str, tools: &[String]) -> Self {
        let known_python = || {
            let mut calls = in_python(text);
            calls.retain(|(name, _)| tools.contains(name));
            calls
        };
        // Python may contain JSON, and the other way round.
        let python_first = text.find('(').is_some_and(|call| text.find('{').is_none_or(|brace| call < brace));
        let mut calls = if python_first { known_python() } else { Vec::new() };
        let readers: [&dyn Fn() -> Vec<(String, Value)>; 5] =
            [&|| in_json(text, tools), &|| in_tags(text, tools), &|| in_tool_tags(text, tools), &known_python, &|| {
                in_python(text)
            }];
        for read in readers {
            if calls.is_empty() {
                calls = read();
            }
        }
        Self(calls)
    }

    /// Returns the calls in a value, if it is nothing else; empty otherwise.
    pub(super) fn of_value(value: &Value, tools: &[String]) -> Self {
        let value = value.get("tool_calls").unwrap_or(value);
        let parts = if let Value::Array(parts) = value { parts.as_slice() } else { std::slice::from_ref(value) };
        let mut calls = Vec::new();
        for part in parts {
            let known = calls.len();
            collect(part, tools, &mut calls);
            if calls.len() == known || !calls[known..].iter().all(|(name, _)| tools.contains(name) || is_strict(part)) {
                return Self::none();
            }
        }
        Self(calls)
    }

    /// Returns one call of the tool with this name, with its namespace or without.
    pub(super) fn one(name: &str, arguments: Value) -> Self {
        Self(vec![(bare_name(name).to_owned(), arguments)])
    }

    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns the calls of Python code.
    pub(super) fn of_python(calls: Vec<python::PythonCall>) -> Self {
        Self(calls.into_iter().map(|call| (bare_name(&call.name).to_owned(), call.arguments)).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether there are calls, all of available tools.
    pub(super) fn all_known(&self, tools: &[String]) -> bool {
        !self.0.is_empty() && self.0.iter().all(|(name, _)| tools.contains(name))
    }

    pub(super) fn into_calls(self) -> impl Iterator<Item = ToolCall> {
        self.0.into_iter().enumerate().map(|(position, (name, arguments))| tool_call(position, &name, arguments))
    }
}

/// Returns the call for a text that is one but cannot be read. Its arguments are the text, which the tool refuses with a message that the
/// model can act on.
pub(super) fn unreadable(text: &str, tools: &[String]) -> ToolCall {
    let name = last_named(text, tools).or_else(|| first_name(text)).unwrap_or_default();
    tool_call(0, &name, Value::String(text.to_owned()))
}

/// Returns the name of a tool without its namespace and number, as in `functions.book:0`.
pub(super) fn bare_name(name: &str) -> &str {
    let bare = without_namespace(name);
    let bare = bare.split(':').next().unwrap_or(bare);
    // Llama's built-in tools are methods.
    bare.strip_suffix(".call").unwrap_or(bare)
}

fn tool_call(position: usize, name: &str, arguments: Value) -> ToolCall {
    // Marks and blanks around a name do not belong to it.
    let name = fitting_name(name.trim_matches(|c| !fits(c)));
    ToolCall { id: format!("written_{position}"), name, arguments, signature: None }
}

/// Parses complete JSON values: calls, or arguments after the name of a tool. Stops at broken JSON.
fn in_json(text: &str, tools: &[String]) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let (mut at, mut before, mut bare) = (0, 0, 0);
    while let Some(next) = text[at..].find(['{', '[']).map(|next| at + next) {
        let Some((value, length)) = value_at(&text[next..]) else {
            // Brackets are part of some marks.
            bare += 1;
            if text[next..].starts_with('{') || bare > MAX_BARE_BRACKETS {
                return calls;
            }
            at = next + 1;
            continue;
        };
        at = next + length;
        let known = calls.len();
        collect(&value, tools, &mut calls);
        let head = &text[before..next];
        if calls.len() == known
            && value.is_object()
            && let Some(name) = last_named(head, tools).or_else(|| first_name(head))
        {
            calls.push((name, value));
        }
        before = at;
    }
    calls
}

/// Parses the value at the start of a text as JSON, else an object as Python writes it. Returns it with its length.
fn value_at(text: &str) -> Option<(Value, usize)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next()? {
        Ok(value) => Some((value, values.byte_offset())),
        Err(_) if text.starts_with('{') => python::literal(text).ok(),
        Err(_) => None,
    }
}

/// Collects the calls in a value.
fn collect(value: &Value, tools: &[String], calls: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, tools, calls)),
        Value::Object(fields) => {
            if let Some(Value::Array(inner)) = fields.get("tool_calls") {
                inner.iter().for_each(|value| collect(value, tools, calls));
                return;
            }
            calls.extend(in_fields(fields, tools));
        }
        _ => {}
    }
}

/// Returns the call that an object is.
fn in_fields(fields: &Map<String, Value>, tools: &[String]) -> Option<(String, Value)> {
    let inner = INNER.iter().find_map(|key| fields.get(*key)?.as_object()).unwrap_or(fields);
    let name = NAMES.iter().find_map(|name| inner.get(*name)?.as_str()).map(bare_name);
    let written = ARGUMENTS.iter().find_map(|name| inner.get(*name));
    match (name, written) {
        (Some(name), Some(Value::String(text))) => Some((name.to_owned(), arguments(text, false))),
        (Some(name), Some(written)) => Some((name.to_owned(), written.clone())),
        (Some(name), None) => {
            let alone = inner.keys().all(|key| NAMES.contains(&key.as_str()) || matches!(key.as_str(), "type" | "id"));
            (alone && tools.iter().any(|tool| tool == name)).then(|| (name.to_owned(), Value::Object(Map::new())))
        }
        (None, _) => {
            let (name, written) = inner.iter().next().filter(|_| inner.len() == 1)?;
            (tools.contains(name) && written.is_object()).then(|| (name.clone(), written.clone()))
        }
    }
}

/// Returns whether an object can be nothing but a call, whichever tool it names.
fn is_strict(value: &Value) -> bool {
    let Some(fields) = value.as_object() else { return false };
    let inner = INNER.iter().find_map(|key| fields.get(*key)?.as_object()).unwrap_or(fields);
    let name = inner.get("name").and_then(Value::as_str);
    let named = name.is_some_and(|name| !name.is_empty() && python::name(name).len() == name.len());
    let key = |key: &String| matches!(key.as_str(), "name" | "arguments" | "parameters" | "type" | "id" | "index");
    let is_object = |value: &Value| value.is_object() || value.as_str().is_some_and(|text| text.starts_with('{'));
    let has_arguments = || ["arguments", "parameters"].iter().any(|key| inner.get(*key).is_some_and(is_object));
    named && inner.keys().all(key) && has_arguments()
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

/// Returns the first word in a text that may be the name of a tool, for tools that are not available.
fn first_name(text: &str) -> Option<String> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let names = text.split(|c| !part(c)).filter(|word| python::name(word).len() == word.len() && !word.is_empty());
    let of_a_mark = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.starts_with("tool_call") || WORDS_OF_MARKS.contains(&word.as_str())
    };
    names.map(bare_name).find(|word| !word.is_empty() && !of_a_mark(word)).map(str::to_owned)
}

/// Parses calls in Python code.
fn in_python(text: &str) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find('(').map(|open| at + open) {
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let begins = at
            + text[at..open]
                .rfind(|c| !part(c))
                .map_or(0, |last| last + text[at + last..].chars().next().map_or(1, char::len_utf8));
        match python::call(&text[begins..]) {
            Ok((call, length)) => {
                calls.push((bare_name(&call.name).to_owned(), call.arguments));
                at = begins + length;
            }
            Err(python::Stop::Ended) => return calls,
            Err(python::Stop::Other) => at = open + 1,
        }
    }
    calls
}

/// Parses tags with the names of tools.
fn in_tool_tags(text: &str, tools: &[String]) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find('<').map(|next| at + next) {
        let whole = tools.iter().find_map(|tool| match tags::tag(&text[next..], tool) {
            Tag::Whole(arguments, length) => Some(((tool.clone(), arguments), length)),
            _ => None,
        });
        at = next + whole.as_ref().map_or(1, |(_, length)| *length);
        calls.extend(whole.map(|(call, _)| call));
    }
    calls
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
        let name = || last_named(head, tools).or_else(|| first_name(head));
        if let Some(name) = tagged.then(name).flatten() {
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
