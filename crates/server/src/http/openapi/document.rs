//! Finds things in a document.

use serde_json::{Value, json};

/// Where references to schemas begin.
pub(super) const SCHEMAS: &str = "#/components/schemas/";
/// The methods of operations.
pub(super) const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

/// Returns a reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{SCHEMAS}{name}") })
}

/// Returns the operations of a document.
pub(super) fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    let paths = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    paths.flat_map(|operations| METHODS.iter().filter_map(|method| operations.get(method)))
}

/// Returns the names of all schemas that `part` refers to, directly or indirectly.
pub(super) fn collect(part: &Value, document: &Value, names: &mut Vec<String>) {
    match part {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = value.as_str().and_then(|at| at.strip_prefix(SCHEMAS));
                match name {
                    Some(name) if key == "$ref" && !names.iter().any(|known| known == name) => {
                        names.push(name.to_owned());
                        collect(&document["components"]["schemas"][name], document, names);
                    }
                    _ => collect(value, document, names),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, document, names)),
        _ => {}
    }
}
