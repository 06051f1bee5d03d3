//! The document for tools that read OpenAPI 3.0: what JSON Schema has that 3.0 has not is said in other words, or left out.

use serde_json::{Map, Value, json};

use super::document::SCHEMAS;

/// Keywords that hold one schema, lists of schemas, and schemas by name.
const ONE: [&str; 3] = ["additionalProperties", "items", "not"];
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords that 3.0 does not have.
const UNKNOWN: [&str; 2] = ["contentMediaType", "propertyNames"];

/// Rewrites a document of version 3.1. It loses its webhooks, whose bodies remain as schemas.
pub(super) fn downgrade(document: &mut Value) {
    document["openapi"] = "3.0.3".into();
    if let Some(document) = document.as_object_mut() {
        document.remove("webhooks");
    }
    document["info"]["license"].as_object_mut().map(|license| license.remove("identifier"));
    let schemas = document["components"]["schemas"].as_object_mut();
    schemas.into_iter().flat_map(Map::values_mut).for_each(schema);
    for part in ["paths", "components"] {
        described(&mut document[part]);
    }
}

/// Rewrites the schemas of parameters, headers and bodies.
fn described(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    "schema" => schema(value),
                    "schemas" | "example" => {}
                    _ => described(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(described),
        _ => {}
    }
}

fn schema(value: &mut Value) {
    let Some(fields) = value.as_object_mut() else { return };
    for (keyword, value) in fields.iter_mut() {
        match value {
            Value::Object(properties) if keyword == "properties" => properties.values_mut().for_each(schema),
            Value::Array(schemas) if LISTS.contains(&keyword.as_str()) => schemas.iter_mut().for_each(schema),
            value if ONE.contains(&keyword.as_str()) => schema(value),
            _ => {}
        }
    }
    fields.retain(|keyword, _| !UNKNOWN.contains(&keyword.as_str()));
    if let Some(only) = fields.remove("const") {
        fields.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::Number(above)) = fields.get("exclusiveMinimum").cloned() {
        fields.insert("minimum".to_owned(), Value::Number(above));
        fields.insert("exclusiveMinimum".to_owned(), true.into());
    }
    one_type(fields);
    without_null(fields);
    stand_alone(fields);
}

/// `["string", "null"]` is a string that may be null; `null` alone is a value that nothing else is.
fn one_type(fields: &mut Map<String, Value>) {
    let mut types = match fields.remove("type") {
        Some(Value::Array(types)) => types,
        Some(kind) => vec![kind],
        None => return,
    };
    let all = types.len();
    types.retain(|kind| kind != "null");
    if types.len() < all {
        fields.insert("nullable".to_owned(), true.into());
    }
    match types.as_slice() {
        [] => fields.extend([("type".to_owned(), "string".into()), ("enum".to_owned(), json!([null]))]),
        [kind] => drop(fields.insert("type".to_owned(), kind.clone())),
        several => {
            let either: Vec<_> = several.iter().map(|kind| json!({ "type": kind })).collect();
            fields.insert("anyOf".to_owned(), either.into());
        }
    }
}

/// `null` as one of several alternatives.
fn without_null(fields: &mut Map<String, Value>) {
    for word in ["anyOf", "oneOf"] {
        let Some(Value::Array(alternatives)) = fields.get_mut(word) else { continue };
        let all = alternatives.len();
        // This is what `one_type` makes of null.
        alternatives.retain(|one| one["enum"] != json!([null]));
        if alternatives.len() == all {
            continue;
        }
        let only = (alternatives.len() == 1).then(|| alternatives.remove(0));
        fields.insert("nullable".to_owned(), true.into());
        let Some(only) = only else { continue };
        fields.remove(word);
        match only {
            // A reference that is described. Generators that find it two levels deep take an enum for an object.
            Value::Object(only) if only.contains_key("allOf") => {
                for (keyword, value) in only {
                    fields.entry(keyword).or_insert(value);
                }
            }
            only => drop(fields.insert("allOf".to_owned(), json!([only]))),
        }
    }
}

/// A reference has nothing beside it.
fn stand_alone(fields: &mut Map<String, Value>) {
    let is_schema = fields.get("$ref").and_then(Value::as_str).is_some_and(|at| at.starts_with(SCHEMAS));
    if is_schema && fields.len() > 1 {
        let reference = fields.remove("$ref");
        fields.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_said_in_the_words_of_the_old_version() {
        for (new, old) in [
            (json!({ "type": ["string", "null"] }), json!({ "type": "string", "nullable": true })),
            (json!({ "type": "null" }), json!({ "type": "string", "enum": [null], "nullable": true })),
            (
                json!({ "oneOf": [{ "$ref": "#/components/schemas/A" }, { "type": "null" }], "description": "An A." }),
                json!({ "allOf": [{ "$ref": "#/components/schemas/A" }], "description": "An A.", "nullable": true }),
            ),
            (
                json!({ "oneOf": [{ "$ref": "#/components/schemas/A", "description": "An A." }, { "type": "null" }] }),
                json!({ "allOf": [{ "$ref": "#/components/schemas/A" }], "description": "An A.", "nullable": true }),
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "type": "boolean" }, { "type": "null" }] }),
                json!({ "anyOf": [{ "type": "string" }, { "type": "boolean" }], "nullable": true }),
            ),
            (json!({ "const": "a" }), json!({ "enum": ["a"] })),
            (json!({ "exclusiveMinimum": 0 }), json!({ "minimum": 0, "exclusiveMinimum": true })),
            (
                json!({ "$ref": "#/components/schemas/A", "description": "An A." }),
                json!({ "allOf": [{ "$ref": "#/components/schemas/A" }], "description": "An A." }),
            ),
            (
                json!({ "type": "object", "properties": { "type": { "type": ["integer", "null"] }, "const": { "type": "string" } } }),
                json!({ "type": "object", "properties": { "type": { "type": "integer", "nullable": true }, "const": { "type": "string" } } }),
            ),
        ] {
            let mut changed = new.clone();
            schema(&mut changed);
            assert_eq!(changed, old, "{new}");
        }
    }

    #[test]
    fn nothing_of_the_new_version_is_left() {
        let mut document = super::super::openapi();
        downgrade(&mut document);
        assert_eq!((document["openapi"].as_str(), document.get("webhooks")), (Some("3.0.3"), None));
        let text = document.to_string();
        for new in ["\"null\"]", "\"type\":\"null\"", "\"const\":", "\"propertyNames\":", "\"contentMediaType\":"] {
            assert!(!text.contains(new), "{new}");
        }
    }
}
