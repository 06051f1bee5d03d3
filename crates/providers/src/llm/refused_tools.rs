//! Tools that a model's API refuses: every request with an unsupported schema would fail.

mod search;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use switchhook_core::private::Private;

use self::search::{Found, Search};
use super::LlmFailure;
use crate::{RefusedTool, ToolSpec};

/// The most refused tools remembered; more agents than that rarely share a connection between two restarts.
const MOST: usize = 1_000;
/// How often one request may be refused for the sake of finding a tool.
const MOST_TRIALS: u8 = 4;
/// From then on a request is not sent again.
const LAST_TRIAL: u8 = MOST_TRIALS + 4;
/// Texts in refusals that concern a tool.
const ABOUT_TOOLS: [&str; 5] = ["schema", "function", "tools.", "tools[", "parameters"];
/// Texts in refusals that may concern a tool, although they name none.
const MAY_BE_ABOUT_TOOLS: [&str; 7] =
    ["tool", "propert", "grammar", "invalid argument", "invalid_argument", "invalid request", "bad request"];
/// Texts before the position of a tool, the most precise first.
const POSITIONS: [&str; 4] = ["function_declarations", "functiondeclarations", "tools", "functions"];
/// How many characters may stand between such a text and the position.
const BETWEEN: usize = 5;
/// Texts in refusals of Gemini's API, where `tools[0]` contains all functions.
const OF_GEMINI: [&str; 3] = ["generatecontentrequest", "function_declaration", "functiondeclaration"];

/// The tools that a connection's server has refused, in the form they were sent in, with its message.
#[derive(Default)]
pub(super) struct RefusedTools(Mutex<State>);

#[derive(Default)]
struct State {
    refused: HashMap<String, String>,
    search: Search,
    /// Messages that the server has for requests without tools too.
    unrelated: HashSet<String>,
}

/// The tools of one request.
#[derive(Default)]
pub(super) struct RequestedTools {
    all: Vec<(String, ToolSpec)>,
    /// How often the request was refused without a tool being named.
    trials: u8,
}

impl RefusedTools {
    /// Removes the tools that are known to be refused, and those among which one is searched for. Returns all of them.
    pub(super) fn leave_out(&self, tools: &mut Vec<ToolSpec>) -> RequestedTools {
        let all = std::mem::take(tools).into_iter().map(|tool| (written(&tool), tool)).collect();
        let requested = RequestedTools { all, trials: 0 };
        *tools = self.offered(&requested);
        requested
    }

    /// Returns the tools to send.
    fn offered(&self, requested: &RequestedTools) -> Vec<ToolSpec> {
        let state = self.state();
        let left = requested.all.iter().filter(|(tool, _)| !state.refused.contains_key(tool));
        state.search.offered(&left.cloned().collect::<Vec<_>>(), requested.trials < MOST_TRIALS)
    }

    /// Returns those of `tools` that were refused.
    pub(super) fn among(&self, tools: &[ToolSpec]) -> Vec<RefusedTool> {
        let state = self.state();
        let of = |tool: &ToolSpec| {
            Some(RefusedTool { name: tool.name.clone(), message: state.refused.get(&written(tool))?.clone() })
        };
        tools.iter().filter_map(of).collect()
    }

    /// Returns whether one of `tools` is refused, and it is not known yet which.
    pub(super) fn is_searching(&self, tools: &[ToolSpec]) -> bool {
        self.state().search.suspects(&tools.iter().map(written).collect::<Vec<_>>())
    }

    /// Forgets all refusals, so that the tools are sent again: the server may accept them now.
    pub(super) fn forget(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note that the server accepted a request with these tools. Returns the names of those that it turns out to refuse.
    pub(super) fn accepted(&self, tools: &[ToolSpec]) -> Vec<String> {
        let found = self.state().search.accepted(&tools.iter().map(written).collect::<Vec<_>>());
        found.into_iter().map(|found| self.remember(found)).collect()
    }

    /// Learns from a refusal which tool to leave out; changes `tools` for another attempt. The message is kept without the connection's
    /// key.
    pub(super) fn learn(
        &self,
        failure: &LlmFailure,
        key: Option<&Private<String>>,
        tools: &mut Vec<ToolSpec>,
        requested: &mut RequestedTools,
    ) -> Option<Learnt> {
        if !failure.blames_settings() {
            return None;
        }
        if tools.is_empty() {
            self.acquit(failure, requested);
            return None;
        }
        let about_tools = failure.mentions(&ABOUT_TOOLS);
        let found = if let Some(at) = named(failure.reason(), tools).filter(|_| about_tools) {
            let tool = written(&tools[at]);
            self.state().search.clear(std::slice::from_ref(&tool));
            Some((tool, failure.message(key)))
        } else if about_tools || failure.mentions(&MAY_BE_ABOUT_TOOLS) {
            let sent: Vec<String> = tools.iter().map(written).collect();
            let mut state = self.state();
            if state.unrelated.contains(&without_digits(failure.reason())) || requested.trials > LAST_TRIAL {
                return None;
            }
            // One request without tools shows whether they are to blame.
            let unclear = !about_tools && !state.search.suspects(&sent);
            requested.trials = if unclear { MOST_TRIALS } else { requested.trials + 1 };
            state.search.refused(sent, hinted(failure.reason(), tools), &failure.message(key))
        } else {
            return None;
        };
        let name = found.map(|found| {
            requested.all.retain(|(tool, _)| *tool != found.0);
            self.remember(found)
        });
        *tools = self.offered(requested);
        Some(name.map_or(Learnt::Nothing, Learnt::Refused))
    }

    /// Takes note that a request is refused without tools too: they are not to blame.
    fn acquit(&self, failure: &LlmFailure, requested: &RequestedTools) {
        let all: Vec<String> = requested.all.iter().map(|(tool, _)| tool.clone()).collect();
        let mut state = self.state();
        if state.search.suspects(&all) && state.unrelated.len() < MOST {
            state.unrelated.insert(without_digits(failure.reason()));
        }
        state.search.clear(&all);
    }

    /// Keeps a refusal. Returns the name of the tool.
    fn remember(&self, (tool, words): Found) -> String {
        let name = serde_json::from_str(&tool).ok().and_then(|tool: Value| Some(tool["name"].as_str()?.to_owned()));
        let mut state = self.state();
        if state.refused.len() < MOST {
            state.refused.insert(tool, words);
        }
        name.unwrap_or_default()
    }
}

/// Returns a message without its digits, which often are of one request only.
fn without_digits(words: &str) -> String {
    words.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The conclusion from a refusal.
pub(super) enum Learnt {
    /// The tool of this name is refused.
    Refused(String),
    /// One of the tools is; some of them are left out.
    Nothing,
}

fn written(tool: &ToolSpec) -> String {
    serde_json::to_string(tool).unwrap_or_default()
}

/// Returns the position of the tool that a refusal identifies by its name or by its position.
fn named(words: &str, tools: &[ToolSpec]) -> Option<usize> {
    let quoted = |name: &str| ["'", "\"", "`"].iter().any(|mark| words.contains(&format!("{mark}{name}{mark}")));
    let lower = words.to_lowercase();
    let introduced = |name: &str| {
        let name = name.to_lowercase();
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'));
        let follows = |before: &str| {
            let text = format!("{before} {name}");
            lower.match_indices(&text).any(|(at, found)| ends(&lower[at + found.len()..]))
        };
        ["function", "tool", "name:"].into_iter().any(follows)
    };
    if let Some(at) = tools.iter().position(|tool| quoted(&tool.name)) {
        return Some(at);
    }
    position(&lower).filter(|at| *at < tools.len()).or_else(|| tools.iter().position(|tool| introduced(&tool.name)))
}

/// Returns the position of a tool in a refusal in lower case: `tools[2]`, `tools.2.custom`, `"tools", 2`, `#/tools/2`.
fn position(words: &str) -> Option<usize> {
    let of_gemini = OF_GEMINI.iter().any(|sign| words.contains(sign));
    let mut names = POSITIONS.iter().filter(|name| !of_gemini || !matches!(**name, "tools"));
    names.find_map(|name| {
        words.match_indices(name).find_map(|(at, name)| {
            let behind = &words[at + name.len()..];
            let digits = behind.trim_start_matches(['[', ']', '.', '/', '\'', '"', ',', ' ', '-', '>']);
            let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if (1..=BETWEEN).contains(&(behind.len() - digits.len())) { digits[..length].parse().ok() } else { None }
        })
    })
}

/// Returns the position of the only tool that has the parameters which a refusal mentions, in quotation marks or in a path.
fn hinted(words: &str, tools: &[ToolSpec]) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let in_path = |c: char| matches!(c, '\'' | '"' | '`' | '.' | '/' | '[' | ']');
    let mentioned = |name: &&String| {
        words.match_indices(name.as_str()).any(|(at, name)| {
            let (before, behind) = (&words[..at], &words[at + name.len()..]);
            !before.ends_with(part)
                && !behind.starts_with(part)
                && (before.ends_with(in_path) || behind.starts_with(in_path))
        })
    };
    let count = |tool: &ToolSpec| {
        let mut names = HashSet::new();
        properties(&tool.parameters, &mut names);
        names.into_iter().filter(mentioned).count()
    };
    let counts: Vec<usize> = tools.iter().map(count).collect();
    let most = counts.iter().copied().max().filter(|most| *most > 0)?;
    let mut those = counts.iter().enumerate().filter(|(_, count)| **count == most).map(|(at, _)| at);
    those.next().filter(|_| those.next().is_none())
}

/// Collects the names of the parameters in a schema.
fn properties<'s>(schema: &'s Value, names: &mut HashSet<&'s String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                names.extend(properties.keys());
            }
            fields.values().for_each(|value| properties(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| properties(value, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, parameters: &[&str]) -> ToolSpec {
        let fields: serde_json::Map<String, Value> =
            parameters.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let parameters = json!({ "type": "object", "properties": { "of": { "properties": fields } } });
        ToolSpec { name: name.to_owned(), description: String::new(), parameters }
    }

    #[test]
    fn a_tool_is_named_by_its_name_or_its_position() {
        let tools = ["end_call", "book", "tables"].map(|name| tool(name, &[]));
        for (words, at) in [
            ("Invalid schema for function 'book': In context=(), object schema missing properties.", Some(1)),
            ("Invalid schema for function tables: object schema missing properties.", Some(2)),
            ("Tool book has an invalid schema", Some(1)),
            ("tools.2.custom.input_schema: input_schema does not support oneOf at the top level", Some(2)),
            ("tools.2.input_schema: JSON schema is invalid", Some(2)),
            ("* GenerateContentRequest.tools[0].function_declarations[1].parameters.items: missing field.", Some(1)),
            ("Invalid JSON payload at 'tools[0].functionDeclarations[2].parameters'", Some(2)),
            ("GenerateContentRequest.tools[0]: bad schema", None),
            ("Invalid 'tools[2].function.parameters': bad", Some(2)),
            ("Invalid 'functions[1].parameters': bad", Some(1)),
            ("[{'loc': ('body', 'tools', 1, 'function', 'parameters'), 'msg': 'bad'}]", Some(1)),
            ("body -> tools -> 2 -> function -> parameters: bad schema", Some(2)),
            ("#/tools/1/function/parameters is no schema", Some(1)),
            ("tools.9.input_schema: bad", None),
            ("The function booking has a bad schema", None),
            ("this model takes no tools", None),
        ] {
            assert_eq!(named(words, &tools), at, "{words}");
        }
    }

    #[test]
    fn a_tool_is_hinted_at_by_parameters_that_it_alone_has() {
        let tools = [tool("book", &["day", "guests"]), tool("tables", &["day", "room"]), tool("hours", &[])];
        for (words, at) in [
            ("In context=('properties', 'guests'), array schema missing items", Some(0)),
            ("properties.of.properties.room: unknown format", Some(1)),
            ("#/properties/of/properties/day/format is unknown", None),
            ("the schema has no room for guests", None),
            ("day.guests: bad", Some(0)),
            ("bad schema", None),
        ] {
            assert_eq!(hinted(words, &tools), at, "{words}");
        }
    }
}
