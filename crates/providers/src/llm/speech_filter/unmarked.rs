//! Tool calls without a mark of any model family: JSON, Python, arguments after a name, in a fence, or in a tag named after the tool.

use serde_json::Value;

use crate::llm::tool_names::NAMESPACES;
use crate::llm::written_calls::python::{self, Stop};
use crate::llm::written_calls::tags::{self, Tag};
use crate::llm::written_calls::{NAMES, WrittenCalls, bare_name};

/// The longest text that is held back because it may become a call, in bytes.
const LONGEST: usize = 16 * 1024;
/// The longest word that is held back, in bytes.
const LONGEST_WORD: usize = 80;
/// The words after a fence that mean a call.
const FENCES: [&str; 6] = ["tool_code", "tool_call", "tool_calls", "tool_use", "function_call", "tool"];
/// The marks between a name and its arguments, as Mistral's models write them, and before the id of a call.
const ARGS: &str = "[args]";
const CALL_ID: &str = "[call_id]";

/// What a text begins with.
#[derive(Debug, PartialEq)]
pub(super) enum Unmarked {
    /// Speech.
    None,
    /// It may become a call; whether it cannot be speech.
    Open { certain: bool },
    /// Calls in so many bytes; without any if they cannot be read.
    Calls(WrittenCalls, usize),
}

use Unmarked::Calls;

/// Finds the calls at the start of a text.
pub(super) fn read(text: &str, tools: &[String]) -> Unmarked {
    let found = match text.chars().next() {
        Some('{') => json(text, tools),
        Some('[') => list(text, tools),
        Some('`') => fence(text, tools),
        Some('<') => tag(text, tools),
        Some(_) => word(text, tools),
        None => Unmarked::None,
    };
    if found == (Unmarked::Open { certain: false }) && text.len() > LONGEST { Unmarked::None } else { found }
}

const MAYBE: Unmarked = Unmarked::Open { certain: false };

/// An object, or a list of objects.
fn json(text: &str, tools: &[String]) -> Unmarked {
    let object = text.trim_start_matches('[').trim_start();
    if !may_have_fields(object) {
        return Unmarked::None;
    }
    let (value, length) = match value(text) {
        Ok(read) => read,
        Err(Stop::Ended) => return Unmarked::Open { certain: names_a_tool(text, tools) },
        Err(Stop::Other) => return unreadable(text, names_a_tool(text, tools)),
    };
    let calls = WrittenCalls::of_value(&value, tools);
    if calls.is_empty() { Unmarked::None } else { Calls(calls, length) }
}

/// Reads a value as JSON, else as Python. Returns it with its length.
fn value(text: &str) -> Result<(Value, usize), Stop> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok((value, values.byte_offset())),
        Some(Err(error)) if !error.is_eof() => python::literal(text),
        _ => Err(Stop::Ended),
    }
}

/// Returns whether a text is the beginning of an object with fields.
fn may_have_fields(object: &str) -> bool {
    let Some(fields) = object.strip_prefix('{') else { return object.is_empty() };
    fields.trim_start().chars().next().is_none_or(|c| matches!(c, '"' | '\''))
}

/// Returns whether a text in JSON names a tool as that of a call.
fn names_a_tool(text: &str, tools: &[String]) -> bool {
    let named = |key: &str| {
        text.match_indices(key).any(|(at, _)| {
            let behind = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
            let value = behind.strip_prefix(':').map(str::trim_start);
            let value = value.and_then(|value| value.strip_prefix(['"', '\'']));
            value.and_then(|value| value.split_once(['"', '\''])).is_some_and(|(name, _)| knows(name, tools))
        })
    };
    NAMES.iter().any(|key| named(key))
}

/// Returns whether a tool has this name, with its namespace or without.
pub(super) fn knows(name: &str, tools: &[String]) -> bool {
    tools.iter().any(|tool| tool == name || tool == bare_name(name))
}

/// Returns how much of a text is a call that cannot be read, if it is certain to be one: up to the bracket that closes its first one.
fn unreadable(text: &str, certain: bool) -> Unmarked {
    if !certain {
        return Unmarked::None;
    }
    match closed(text) {
        Some(length) => Calls(WrittenCalls::none(), length),
        None => Unmarked::Open { certain: true },
    }
}

/// Returns the length up to the bracket that closes the first one, outside quotation marks.
fn closed(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// A list of objects, or of calls in Python.
fn list(text: &str, tools: &[String]) -> Unmarked {
    let inner = text[1..].trim_start();
    if inner.is_empty() || inner.starts_with('{') {
        return json(text, tools);
    }
    let name = python::name(inner);
    if name.is_empty() || name.len() > LONGEST_WORD {
        return Unmarked::None;
    }
    let Some(arguments) = inner[name.len()..].strip_prefix('(') else {
        return if name.len() == inner.len() { MAYBE } else { Unmarked::None };
    };
    let certain = knows(name, tools) && has_named_arguments(arguments);
    match python::calls(text) {
        Ok((calls, length)) => {
            let meant = |call: &python::PythonCall| {
                call.named && (knows(&call.name, tools) || call.name.contains('_') || has_fields(&call.arguments))
            };
            if calls.iter().all(meant) { Calls(WrittenCalls::of_python(calls), length) } else { Unmarked::None }
        }
        Err(Stop::Ended) => Unmarked::Open { certain },
        Err(Stop::Other) => unreadable(text, certain),
    }
}

fn has_fields(arguments: &Value) -> bool {
    arguments.as_object().is_some_and(|fields| !fields.is_empty())
}

/// Returns whether the text behind an opening parenthesis begins with `day=`.
fn has_named_arguments(text: &str) -> bool {
    let text = text.trim_start();
    let key = python::name(text);
    !key.is_empty() && text[key.len()..].trim_start().starts_with('=')
}

/// A fenced block. It is held back until it is closed.
fn fence(text: &str, tools: &[String]) -> Unmarked {
    let Some(block) = text.strip_prefix("```") else {
        return if "```".starts_with(text) { MAYBE } else { Unmarked::None };
    };
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
    let info = &block[..block.find(|c| !part(c)).unwrap_or(block.len())];
    let certain = FENCES.contains(&info.to_ascii_lowercase().as_str());
    let block = &block[info.len()..];
    let Some(inner) = block.find("```").map(|ends| &block[..ends]) else {
        return Unmarked::Open { certain: certain && !block.is_empty() };
    };
    let calls = WrittenCalls::read(inner, tools);
    let length = "```".len() * 2 + info.len() + inner.len();
    if certain || calls.all_known(tools) { Calls(calls, length) } else { Unmarked::None }
}

/// Reads a fenced block that the response ends in.
pub(super) fn unclosed_fence(text: &str, tools: &[String]) -> Option<WrittenCalls> {
    let block = text.strip_prefix("```")?;
    Some(WrittenCalls::read(block, tools)).filter(|calls| calls.all_known(tools))
}

/// A tag with the name of a tool.
fn tag(text: &str, tools: &[String]) -> Unmarked {
    let mut found = Unmarked::None;
    for tool in tools {
        match tags::tag(text, tool) {
            Tag::None => {}
            Tag::Cut => found = MAYBE,
            Tag::Unclosed => return Unmarked::Open { certain: true },
            Tag::Whole(arguments, length) => return Calls(WrittenCalls::one(tool, arguments), length),
        }
    }
    found
}

/// A name with its arguments.
fn word(text: &str, tools: &[String]) -> Unmarked {
    let name = python::name(text);
    let name = name.trim_end_matches(['.', '-']);
    if name.is_empty() || name.len() > LONGEST_WORD {
        return Unmarked::None;
    }
    let behind = &text[name.len()..];
    if behind.is_empty() {
        return MAYBE;
    }
    // A name may have more parts.
    if matches!(behind, "." | "-") && NAMESPACES.iter().any(|space| space.starts_with(&text[..name.len() + 1])) {
        return MAYBE;
    }
    if behind.starts_with('[') {
        return mistral(text, name.len());
    }
    let namespace = NAMESPACES.iter().any(|space| name.starts_with(space));
    let known = knows(name, tools);
    if let Some(arguments) = behind.strip_prefix('(') {
        if !(known || namespace || name.contains('_') || name == "print") {
            return Unmarked::None;
        }
        return python_call(text, name, arguments, known, namespace, tools);
    }
    if is_mark(name) && behind.starts_with('\n') {
        return Calls(WrittenCalls::none(), name.len() + 1);
    }
    if known || namespace { object_behind(text, name) } else { Unmarked::None }
}

/// Returns whether a text is the first word of a fence, which models write without the fence too.
pub(super) fn is_mark(text: &str) -> bool {
    text.starts_with("tool_") && FENCES.contains(&text.trim_end())
}

/// `book[ARGS]{…}`, `book[CALL_ID]1[ARGS]{…}`.
fn mistral(text: &str, name: usize) -> Unmarked {
    let behind = text[name..].to_ascii_lowercase();
    let id = if let Some(id) = behind.strip_prefix(CALL_ID) {
        let id = &id[..id.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(id.len())];
        CALL_ID.len() + id.len()
    } else {
        0
    };
    let behind = &behind[id..];
    if !behind.starts_with(ARGS) {
        let cut = ARGS.starts_with(behind) || CALL_ID.starts_with(behind);
        return if cut { Unmarked::Open { certain: id > 0 } } else { Unmarked::None };
    }
    arguments(&text[..name], text, name + id + ARGS.len())
}

/// Reads the object at `at`, which cannot be anything but the arguments of a call.
pub(super) fn arguments(name: &str, text: &str, at: usize) -> Unmarked {
    let rest = text[at..].trim_start();
    if rest.is_empty() {
        return Unmarked::Open { certain: true };
    }
    let at = text.len() - rest.len();
    match value(rest) {
        Ok((value, length)) if value.is_object() => Calls(WrittenCalls::one(name, value), at + length),
        Ok((_, length)) => Calls(WrittenCalls::none(), at + length),
        Err(Stop::Ended) => Unmarked::Open { certain: true },
        Err(Stop::Other) => Calls(WrittenCalls::none(), closed(rest).map_or(text.len(), |length| at + length)),
    }
}

/// `book(day="Friday")`, `print(book(day="Friday"))`.
fn python_call(text: &str, name: &str, behind: &str, known: bool, namespace: bool, tools: &[String]) -> Unmarked {
    if name == "print" {
        let Calls(calls, length) = word(behind, tools) else { return cut_print(behind, tools) };
        let inner = text.len() - behind.len() + length;
        let closes = usize::from(text[inner..].starts_with(')'));
        return if calls.is_empty() || text.len() == inner {
            Unmarked::Open { certain: true }
        } else {
            Calls(calls, inner + closes)
        };
    }
    let certain = (known || namespace) && has_named_arguments(behind);
    match python::call(text) {
        Ok((call, length)) => {
            let meant = known || namespace || (call.name.contains('_') && has_fields(&call.arguments));
            if call.named && meant { Calls(WrittenCalls::of_python(vec![call]), length) } else { Unmarked::None }
        }
        Err(Stop::Ended) => Unmarked::Open { certain },
        Err(Stop::Other) => unreadable(text, certain),
    }
}

fn cut_print(behind: &str, tools: &[String]) -> Unmarked {
    if behind.is_empty() {
        MAYBE
    } else if let open @ Unmarked::Open { .. } = word(behind, tools) {
        open
    } else {
        Unmarked::None
    }
}

/// `book {"day": "Friday"}`, `functions.book:0{"day": "Friday"}`.
fn object_behind(text: &str, name: &str) -> Unmarked {
    let behind = &text[name.len()..];
    let numbered =
        behind.strip_prefix(':').map_or(behind, |number| number.trim_start_matches(|c: char| c.is_ascii_digit()));
    let object = numbered.trim_start_matches([' ', '\n', '\t']);
    if object.is_empty() {
        return MAYBE;
    }
    if !object.starts_with('{') {
        return Unmarked::None;
    }
    let certain = has_a_field(object);
    match value(object) {
        Ok((value, length)) => Calls(WrittenCalls::one(name, value), text.len() - object.len() + length),
        Err(Stop::Ended) => Unmarked::Open { certain },
        Err(Stop::Other) => unreadable(text, certain),
    }
}

/// Returns whether an object begins with `{"day":`.
fn has_a_field(object: &str) -> bool {
    let fields = object[1..].trim_start();
    let Some(quote) = fields.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return false };
    fields[1..].split_once(quote).is_some_and(|(_, behind)| behind.trim_start().starts_with(':'))
}
