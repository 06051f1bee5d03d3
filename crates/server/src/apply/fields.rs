//! Which fields there are, as the description of the API says.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::document::{Kind, unknown};
use crate::http::openapi;
use crate::http::unknown_query::alike;

/// Fields of files that the API does not have.
const OF_FILES: &str = "instructions_file";

static DESCRIPTION: LazyLock<Value> = LazyLock::new(openapi);

/// Returns the message about an unknown field at `path` in an entry, with the one that was probably meant.
pub(super) fn unknown_field(kind: Kind, path: &str) -> String {
    let (above, name) = path.rsplit_once('.').unwrap_or(("", path));
    let document = &*DESCRIPTION;
    let mut schemas = vec![&document["components"]["schemas"][request(kind)]];
    for part in above.split('.').filter(|part| !part.is_empty()) {
        schemas = schemas.into_iter().flat_map(|schema| inside(document, schema, part)).collect();
    }
    let mut known: BTreeSet<String> = schemas.into_iter().flat_map(|schema| names(document, schema)).collect();
    if kind == Kind::Agent && above.is_empty() {
        known.insert(OF_FILES.to_owned());
    }
    unknown(alike(name, known.iter().map(String::as_str)))
}

fn request(kind: Kind) -> &'static str {
    match kind {
        Kind::Connection => "CreateConnection",
        Kind::Agent => "CreateAgent",
        Kind::Number => "CreateNumber",
        Kind::Webhook => "CreateWebhook",
    }
}

/// The schemas that a schema stands for.
fn written_out<'d>(document: &'d Value, schema: &'d Value) -> Vec<&'d Value> {
    let named = schema["$ref"].as_str().and_then(|name| document.pointer(name.strip_prefix('#')?));
    let choices = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten();
    let others: Vec<_> = named.into_iter().chain(choices).flat_map(|schema| written_out(document, schema)).collect();
    [schema].into_iter().chain(others).collect()
}

fn inside<'d>(document: &'d Value, schema: &'d Value, part: &str) -> Vec<&'d Value> {
    let step = |schema: &'d Value| {
        let item = part.parse::<usize>().ok().and_then(|_| schema.get("items"));
        let field = schema.get("properties").and_then(|fields| fields.get(part));
        item.or(field).or_else(|| schema.get("additionalProperties").filter(|schema| schema.is_object()))
    };
    written_out(document, schema).into_iter().filter_map(step).collect()
}

fn names(document: &Value, schema: &Value) -> Vec<String> {
    let fields = written_out(document, schema).into_iter().filter_map(|schema| schema["properties"].as_object());
    let name = |name: &String| match name.as_str() {
        "connection_id" => "connection".to_owned(),
        "inbound_agent_id" => "agent".to_owned(),
        name => name.to_owned(),
    };
    fields.flat_map(|fields| fields.keys().map(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_field_of_the_same_object_is_named() {
        for (kind, path, near) in [
            (Kind::Agent, "instruction", "instructions"),
            (Kind::Agent, "greting", "greeting"),
            (Kind::Agent, "instructions_fil", "instructions_file"),
            (Kind::Agent, "llm.conection", "connection"),
            (Kind::Agent, "llm.fallbacks.0.modle", "model"),
            (Kind::Agent, "tools.3.destinations.0.nubmer", "number"),
            (Kind::Agent, "variables.city.requird", "required"),
            (Kind::Connection, "limits.max_concurent", "max_concurrent"),
            (Kind::Connection, "credential", "credentials"),
            (Kind::Number, "agnet", "agent"),
            (Kind::Webhook, "event", "events"),
        ] {
            assert_eq!(unknown_field(kind, path), format!("is unknown; did you mean {near}?"), "{path}");
        }
        assert_eq!(unknown_field(Kind::Agent, "colour"), "is unknown");
        assert_eq!(unknown_field(Kind::Agent, "no.such.path"), "is unknown");
    }
}
