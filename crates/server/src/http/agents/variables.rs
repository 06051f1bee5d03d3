//! Variables that an agent's texts name and its `variables` do not.

use std::collections::BTreeSet;

use switchhook_core::agent::{AgentConfig, variable_names};

use crate::http::unknown_query::alike;

/// The most names that are warned of.
const MAX_WARNINGS: usize = 10;
/// The longest name of a variable, in characters.
const MAX_NAME: usize = 64;

/// Warnings about variables that are empty in every call that does not set them, each once.
pub(super) fn undeclared(config: &AgentConfig) -> Vec<String> {
    let own = [("greeting.text", config.greeting.text.as_str()), ("instructions", config.instructions.as_str())];
    let message = config.answering_machine.message.as_deref().map(|text| ("answering_machine.message", text));
    let texts = own.into_iter().chain(message).map(|(field, text)| (field.to_owned(), text));
    let tools = config.tools.iter().enumerate().flat_map(|(position, tool)| {
        let headers = tool.headers.values().map(move |value| (format!("tools.{position}.headers"), value.as_str()));
        tool.url.as_deref().map(|url| (format!("tools.{position}.url"), url)).into_iter().chain(headers)
    });
    let mut seen = BTreeSet::new();
    let named =
        texts.chain(tools).flat_map(|(field, text)| variable_names(text).map(move |name| (field.clone(), name)));
    let undeclared = named.filter(|(_, name)| !config.variables.contains_key(*name) && seen.insert(*name));
    let warning = |(field, name): (String, &str)| {
        let meant = alike(name, config.variables.keys().map(String::as_str));
        let meant = meant.map(|meant| format!(" Did you mean {{{{{meant}}}}}?")).unwrap_or_default();
        let name: String = name.chars().take(MAX_NAME).collect();
        format!(
            "{field}: {{{{{name}}}}} is not one of the agent's variables; a call that does not set it leaves it out.{meant}"
        )
    };
    undeclared.take(MAX_WARNINGS).map(warning).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_variable_that_is_not_declared_is_named_once_with_the_one_that_was_meant() {
        let agent: AgentConfig = serde_json::from_value(json!({
            "instructions": "Call {{ guest }} {{gest}}, never {{gest}}. {{#if vip}}Be kind.{{/if}} {{open",
            "greeting": { "text": "Hello {{guest}}." },
            "tools": [{ "type": "http", "name": "book", "url": "https://example.com/{{branch}}" }],
            "variables": { "guest": {} },
        }))
        .expect("an agent");
        let warnings = undeclared(&agent);
        let named: Vec<_> = warnings.iter().map(|words| words.split(" is not").next().unwrap_or_default()).collect();
        let expected =
            ["instructions: {{gest}}", "instructions: {{#if vip}}", "instructions: {{/if}}", "tools.0.url: {{branch}}"];
        assert_eq!(named, expected);
        assert!(warnings[0].ends_with("Did you mean {{guest}}?"), "{}", warnings[0]);
    }
}
