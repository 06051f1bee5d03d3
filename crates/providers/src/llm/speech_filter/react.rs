//! Lines of the ReAct format, in which models without another one write their calls: `Thought: …`, `Action: tables`, `Action Input: {…}`,
//! `Final Answer: …`.

use serde_json::{Map, Value};

use super::marks::{Kind, Mark};
use super::unmarked::{self, Unmarked, knows};
use crate::llm::written_calls::WrittenCalls;
use crate::llm::written_calls::python;

const THOUGHT_LABEL: &str = "thought:";
const ACTION: &str = "action:";
const INPUT: &str = "action input:";
const FINAL: &str = "final answer:";
/// A line of reasoning.
const THOUGHT: &Mark = &Mark(THOUGHT_LABEL, &["\n"], Kind::Reasoning);

/// What a line begins with.
pub(super) enum Line {
    /// Something else.
    None,
    /// It may become one of the following.
    Cut,
    /// A label of this length, and what it opens.
    Label(usize, Option<&'static Mark>),
    /// A call, or the beginning of one.
    Call(Unmarked),
}

/// Finds the label or the call at the start of a line.
pub(super) fn line(text: &str, tools: &[String]) -> Line {
    match [THOUGHT_LABEL, FINAL, ACTION].map(|label| begins_with(text, label)) {
        [Begins::Whole, ..] => Line::Label(THOUGHT_LABEL.len(), Some(THOUGHT)),
        [_, Begins::Whole, _] => Line::Label(FINAL.len(), None),
        [.., Begins::Whole] => action(text, tools),
        found if found.contains(&Begins::Cut) => Line::Cut,
        _ => Line::None,
    }
}

/// Returns the call without arguments that a response ends with.
pub(super) fn at_end(text: &str, tools: &[String]) -> Option<WrittenCalls> {
    let name = text.get(ACTION.len()..).filter(|_| begins_with(text, ACTION) == Begins::Whole)?.trim();
    knows(name, tools).then(|| without_arguments(name))
}

/// A call behind its label: a name and its input on the next line, or any other form.
fn action(text: &str, tools: &[String]) -> Line {
    let rest = text[ACTION.len()..].trim_start();
    let begins = text.len() - rest.len();
    if rest.is_empty() {
        return Line::Cut;
    }
    if rest.starts_with(['{', '`', '[']) {
        return Line::Label(begins, None);
    }
    let name = python::name(rest);
    let behind = &rest[name.len()..];
    if behind.is_empty() && !name.is_empty() {
        return Line::Cut;
    }
    if !knows(name, tools) {
        // A tool that does not exist refuses the call by its name.
        return match begins_with(behind.trim_start(), INPUT) {
            Begins::Whole if !name.is_empty() => Line::Call(input(text, name, begins + name.len())),
            Begins::Cut if behind.contains('\n') && !name.is_empty() => Line::Cut,
            _ => Line::None,
        };
    }
    if behind.starts_with(['(', '[']) || behind.trim_start_matches(' ').starts_with('{') {
        return Line::Label(begins, None);
    }
    Line::Call(input(text, name, begins + name.len()))
}

/// The input of a tool, behind its name.
fn input(text: &str, name: &str, at: usize) -> Unmarked {
    let behind = text[at..].trim_start();
    let certain = text[at..].contains('\n');
    match begins_with(behind, INPUT) {
        Begins::Whole => unmarked::arguments(name, text, text.len() - behind.len() + INPUT.len()),
        Begins::Cut => Unmarked::Open { certain },
        Begins::Other if certain => Unmarked::Calls(without_arguments(name), at),
        Begins::Other => Unmarked::None,
    }
}

fn without_arguments(name: &str) -> WrittenCalls {
    WrittenCalls::one(name, Value::Object(Map::new()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    Other,
    /// The text ends within the label.
    Cut,
    Whole,
}

fn begins_with(text: &str, label: &str) -> Begins {
    let length = text.len().min(label.len());
    match text.get(..length).is_some_and(|text| text.eq_ignore_ascii_case(&label[..length])) {
        true if length == label.len() => Begins::Whole,
        true => Begins::Cut,
        false => Begins::Other,
    }
}
