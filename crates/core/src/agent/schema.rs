//! Checks whether a language model can fill in a JSON Schema.

use serde_json::{Map, Value};

use super::FieldError;
use crate::schema_limits::{MAX_DEPTH, SchemaRefusal, written_out};

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// Validates the schema at `path`. Reports only what is an error in every draft of JSON Schema.
pub(super) fn check(path: &str, schema: &Value) -> Vec<FieldError> {
    if let Err(refusal) = written_out(schema) {
        return vec![FieldError::new(path, refusal.to_string())];
    }
    let mut errors = Vec::new();
    check_below(path, schema, 0, &mut errors);
    errors
}

fn check_below(path: &str, schema: &Value, depth: usize, errors: &mut Vec<FieldError>) {
    // Unreferenced definitions have not been checked yet.
    if depth > MAX_DEPTH {
        return errors.push(FieldError::new(path, SchemaRefusal::TooDeep.to_string()));
    }
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Bool(_) if depth > 0 => return,
        _ => return errors.push(FieldError::new(path, "must be a JSON Schema object")),
    };
    let at = |name: &str| format!("{path}.{name}");
    check_type(&at("type"), fields.get("type"), errors);
    for name in ["properties", "$defs", "definitions", "patternProperties"] {
        match fields.get(name) {
            None => {}
            Some(Value::Object(inner)) => {
                for (field, schema) in inner {
                    check_below(&at(&format!("{name}.{field}")), schema, depth + 1, errors);
                }
            }
            Some(_) => errors.push(FieldError::new(at(name), "must be an object of schemas")),
        }
    }
    for name in ["items", "additionalProperties", "not"] {
        match fields.get(name) {
            None => {}
            // Before draft 2020-12, `items` could be a list.
            Some(Value::Array(list)) if name == "items" => check_all(&at(name), list, depth, errors),
            Some(schema) => check_below(&at(name), schema, depth + 1, errors),
        }
    }
    for name in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        match fields.get(name) {
            None => {}
            Some(Value::Array(list)) => check_all(&at(name), list, depth, errors),
            Some(_) => errors.push(FieldError::new(at(name), "must be a list of schemas")),
        }
    }
    check_lists(path, fields, errors);
}

fn check_all(path: &str, schemas: &[Value], depth: usize, errors: &mut Vec<FieldError>) {
    for (i, schema) in schemas.iter().enumerate() {
        check_below(&format!("{path}.{i}"), schema, depth + 1, errors);
    }
}

fn check_type(path: &str, kind: Option<&Value>, errors: &mut Vec<FieldError>) {
    let known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    let fits = match kind {
        None => true,
        Some(Value::Array(kinds)) => !kinds.is_empty() && kinds.iter().all(known),
        Some(kind) => known(kind),
    };
    if !fits {
        errors.push(FieldError::new(path, format!("must be one of: {}", TYPES.join(", "))));
    }
}

fn check_lists(path: &str, fields: &Map<String, Value>, errors: &mut Vec<FieldError>) {
    let strings = |list: &Vec<Value>| list.iter().all(Value::is_string);
    if fields.get("required").is_some_and(|required| !required.as_array().is_some_and(strings)) {
        errors.push(FieldError::new(format!("{path}.required"), "must be a list of names"));
    }
    if fields.get("enum").is_some_and(|values| values.as_array().is_none_or(Vec::is_empty)) {
        errors.push(FieldError::new(format!("{path}.enum"), "must be a list of values"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn mistakes_are_named_by_their_path_and_schemas_of_any_draft_pass() {
        let passes = json!({
            "type": "object", "required": ["day"], "additionalProperties": false,
            "properties": {
                "day": { "type": ["string", "null"], "enum": ["Friday", null] },
                "people": { "type": "array", "items": { "type": "integer" } },
                "any": true,
                "x-unknown": { "anyOf": [{ "$ref": "#/$defs/a" }], "format": "anything" },
            },
            "$defs": { "a": {} },
        });
        assert_eq!(check("s", &passes), []);
        for (schema, path) in [
            (json!("object"), "s"),
            (json!(true), "s"),
            (json!({ "type": "text" }), "s.type"),
            (json!({ "properties": ["day"] }), "s.properties"),
            (json!({ "properties": { "day": "string" } }), "s.properties.day"),
            (json!({ "properties": { "day": { "items": { "type": 1 } } } }), "s.properties.day.items.type"),
            (json!({ "anyOf": [{}, { "required": "day" }] }), "s.anyOf.1.required"),
            (json!({ "enum": [] }), "s.enum"),
        ] {
            let errors = check("s", &schema);
            assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), [path], "{schema}");
        }
        let deep = (0..40).fold(json!({}), |inner, _| json!({ "items": inner }));
        assert_eq!(check("s", &deep), [FieldError::new("s", SchemaRefusal::TooDeep.to_string())]);
        assert_eq!(check("s", &json!({ "$defs": { "unused": deep } })).len(), 1);
    }
}
