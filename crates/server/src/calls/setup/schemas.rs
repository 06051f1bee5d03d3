//! The schemas of an agent, compiled once for each call.

use std::collections::HashMap;

use switchhook_core::agent::AgentConfig;
use switchhook_providers::json_schema::{CompileError, Schema};

use super::SetupError;

/// The schemas that the output of models must match.
pub(super) struct Schemas {
    /// The schemas of tools' arguments, by tool name.
    pub(super) parameters: HashMap<String, Schema>,
    /// The schema of the call's outcome.
    pub(super) outcome: Option<Schema>,
}

/// Compiles an agent's schemas.
///
/// # Errors
/// If one is unusable, as it was stored when larger ones were accepted, or this node is too busy to compile them.
pub(super) async fn compile(agent: &AgentConfig) -> Result<Schemas, SetupError> {
    let (paths, schemas): (Vec<_>, Vec<_>) = agent.schemas().into_iter().map(|(path, s)| (path, s.clone())).unzip();
    let refused = |error| match error {
        CompileError::Unusable { position, reason } => {
            SetupError::config(format!("The agent's {} {reason}. Change it and save the agent again.", paths[position]))
        }
        CompileError::Late => SetupError::Late,
    };
    let mut compiled = Schema::compile(schemas).await.map_err(refused)?;
    let outcome = if agent.analysis.schema.is_some() { compiled.pop() } else { None };
    let names = agent.tools.iter().filter(|tool| tool.parameters.is_some()).map(|tool| tool.name().to_owned());
    Ok(Schemas { parameters: names.zip(compiled).collect(), outcome })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchhook_core::agent::{Tool, ToolKind};

    use super::*;

    fn tool(name: &str, parameters: Value) -> Tool {
        Tool { name: Some(name.to_owned()), parameters: Some(parameters), ..Tool::new(ToolKind::Http) }
    }

    #[tokio::test]
    async fn each_schema_finds_its_place_and_one_that_is_too_large_is_named() {
        let mut agent = AgentConfig::new("x");
        let day = json!({ "type": "object", "required": ["day"] });
        agent.tools = vec![Tool::new(ToolKind::EndCall), tool("tables", day.clone())];
        agent.analysis.schema = Some(json!({ "type": "object" }));
        let schemas = compile(&agent).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(schemas.parameters["tables"].source(), &day);
        assert_eq!(schemas.outcome.map(|schema| schema.source().clone()), agent.analysis.schema);

        agent.tools.push(tool("tree", json!({ "type": "object", "properties": { "a": { "$ref": "#" } } })));
        let refused = compile(&agent).await.err().expect("it refers to itself").to_string();
        assert!(refused.starts_with("The agent's tools.2.parameters must not refer to itself"), "{refused}");
    }
}
