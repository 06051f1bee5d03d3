//! Tools that a model's API refuses: every request with an unsupported schema would fail.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchhook_core::private::Private;

use super::LlmFailure;
use crate::{RefusedTool, ToolSpec};

/// The most refused tools remembered; more agents than that rarely share a connection between two restarts.
const MOST: usize = 1_000;
/// Texts in refusals that concern a tool.
const ABOUT_TOOLS: [&str; 5] = ["schema", "function", "tools.", "tools[", "parameters"];
/// Texts before the position of a tool, the most precise first.
const POSITIONS: [&str; 4] = ["function_declarations[", "functiondeclarations[", "tools[", "tools."];

/// The tools that a connection's server has refused, in the form they were sent in, with its message.
#[derive(Default)]
pub(super) struct RefusedTools(Mutex<HashMap<String, String>>);

impl RefusedTools {
    /// Removes the tools that are known to be refused.
    pub(super) fn leave_out(&self, tools: &mut Vec<ToolSpec>) {
        let refused = self.refused();
        if !refused.is_empty() {
            tools.retain(|tool| !refused.contains_key(&written(tool)));
        }
    }

    /// Returns those of `tools` that were refused.
    pub(super) fn among(&self, tools: &[ToolSpec]) -> Vec<RefusedTool> {
        let refused = self.refused();
        let of = |tool: &ToolSpec| {
            Some(RefusedTool { name: tool.name.clone(), words: refused.get(&written(tool))?.clone() })
        };
        tools.iter().filter_map(of).collect()
    }

    /// Forgets all refusals, so that the tools are sent again: the server may accept them now.
    pub(super) fn forget(&self) {
        self.refused().clear();
    }

    fn refused(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the tool that a refusal names, if any. Returns its name. The refusal is kept without the connection's key.
    pub(super) fn learn(
        &self,
        failure: &LlmFailure,
        key: Option<&Private<String>>,
        tools: &mut Vec<ToolSpec>,
    ) -> Option<String> {
        if !failure.blames_settings() || !failure.mentions(&ABOUT_TOOLS) {
            return None;
        }
        let tool = tools.remove(named(failure.reason(), tools)?);
        let mut refused = self.refused();
        if refused.len() < MOST {
            refused.insert(written(&tool), failure.message(key));
        }
        Some(tool.name)
    }
}

fn written(tool: &ToolSpec) -> String {
    serde_json::to_string(tool).unwrap_or_default()
}

/// Returns the position of the tool that a refusal identifies by its quoted name or by its position.
fn named(words: &str, tools: &[ToolSpec]) -> Option<usize> {
    let quoted = |name: &str| ["'", "\"", "`"].iter().any(|mark| words.contains(&format!("{mark}{name}{mark}")));
    if let Some(at) = tools.iter().position(|tool| quoted(&tool.name)) {
        return Some(at);
    }
    let words = words.to_lowercase();
    let position = POSITIONS.iter().find_map(|before| {
        let behind = words.split_once(before)?.1;
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        behind[..digits].parse::<usize>().ok()
    });
    position.filter(|at| *at < tools.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_named_by_its_name_or_its_position() {
        let tool = |name: &str| ToolSpec { name: name.to_owned(), description: String::new(), parameters: json!({}) };
        let tools = ["end_call", "book", "tables"].map(tool);
        for (words, at) in [
            ("Invalid schema for function 'book': In context=(), object schema missing properties.", Some(1)),
            ("tools.2.custom.input_schema: input_schema does not support oneOf at the top level", Some(2)),
            ("tools.2.input_schema: JSON schema is invalid", Some(2)),
            ("* GenerateContentRequest.tools[0].function_declarations[1].parameters.items: missing field.", Some(1)),
            ("Invalid 'tools[2].function.parameters': bad", Some(2)),
            ("tools.9.input_schema: bad", None),
            ("this model takes no tools", None),
        ] {
            assert_eq!(named(words, &tools), at, "{words}");
        }
    }
}
