//! Warnings about schemas of tools that models get in another form.

use serde_json::Value;
use switchhook_core::agent::AgentConfig;
use switchhook_providers::model_schema;

/// How many places of a schema are named.
const NAMED: usize = 5;

/// Returns warnings about schemas that are changed for models.
pub(super) fn changed(config: &AgentConfig) -> impl Iterator<Item = String> {
    let schemas = config.tools.iter().enumerate().filter_map(|(at, tool)| Some((at, tool.parameters.as_ref()?)));
    schemas.flat_map(|(at, schema)| {
        let field = format!("tools.{at}.parameters");
        [merged(&field, schema), completed(&field, schema)].into_iter().flatten()
    })
}

fn merged(field: &str, schema: &Value) -> Option<String> {
    let keywords: Vec<_> = model_schema::simplified(schema).collect();
    let keywords = (!keywords.is_empty()).then(|| keywords.join(", "))?;
    Some(format!(
        "{field}: models do not see {keywords} at the top, which their APIs refuse there: what these combine is merged into properties, \
         and arguments are validated against the schema as you wrote it."
    ))
}

fn completed(field: &str, schema: &Value) -> Option<String> {
    let changes = model_schema::completed(schema);
    if changes.is_empty() {
        return None;
    }
    let named = changes.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = changes.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "{field}: models see another schema where their APIs refuse it as it is: {named}{more}. Describe items and properties, so that \
         models know what belongs there; arguments are validated against the schema as you wrote it."
    ))
}
