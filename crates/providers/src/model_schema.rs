//! Converts JSON Schemas of tools to the subset that LLM APIs accept. Arguments are validated against the original.

use serde_json::{Map, Value, json};
use switchhook_core::schema_limits::{SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, written_out};

/// Keywords that no API accepts at the top level of a tool's schema. The arguments that they describe are merged into `properties`.
const NOT_AT_TOP: [&str; 12] =
    ["$id", "$schema", "allOf", "anyOf", "const", "dependentSchemas", "else", "enum", "if", "not", "oneOf", "then"];
/// Keywords that list alternatives, or parts of the whole.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value is an object of schemas.
const MAPS: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// Keywords that may be `true` or `false`; elsewhere some APIs require an object.
const MAY_BE_FLAGS: [&str; 4] =
    ["additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"];

/// Converts a tool's schema to what every LLM API accepts: an object with `properties` and no other keywords that combine schemas, and
/// arrays that describe their items.
#[must_use]
pub fn for_model(schema: &Value) -> Value {
    convert(schema).0
}

/// Returns where a schema is changed for models, beside the keywords at its top, because their APIs refuse it as it is: the paths, and
/// what is wrong there.
#[must_use]
pub fn completed(schema: &Value) -> Vec<String> {
    convert(schema).1
}

fn convert(schema: &Value) -> (Value, Vec<String>) {
    let combines = COMBINED.iter().chain(&["$ref"]).any(|keyword| schema.get(*keyword).is_some());
    // Combined schemas may be references.
    let expanded = combines.then(|| written_out(schema).ok()).flatten();
    let mut top = match expanded.as_ref().unwrap_or(schema) {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    for keyword in COMBINED {
        let Some(Value::Array(parts)) = top.remove(keyword) else { continue };
        merge(&mut top, &parts, keyword == "allOf");
    }
    top.retain(|keyword, _| !NOT_AT_TOP.contains(&keyword.as_str()));
    if top.insert("type".to_owned(), json!("object")).is_none() {
        // Without a type it describes no object that lacks them.
        top.entry("properties").or_insert_with(|| json!({}));
    }
    let (mut schema, mut changes) = (Value::Object(top), Vec::new());
    complete(&mut schema, "", &mut changes);
    (schema, changes)
}

/// Returns the keywords at the top level of a tool's schema that are changed for models, because their APIs refuse them there.
pub fn simplified(schema: &Value) -> impl Iterator<Item = &'static str> {
    let present = |keyword: &&str| schema.get(*keyword).is_some();
    NOT_AT_TOP.into_iter().filter(|keyword| !keyword.starts_with('$')).filter(present)
}

/// Merges the properties of all parts. Properties are required if all parts require them, or any part does where `all` apply.
fn merge(top: &mut Map<String, Value>, parts: &[Value], all: bool) {
    let mut flat = Vec::new();
    for part in parts {
        let mut part = part.as_object().cloned().unwrap_or_default();
        for keyword in COMBINED {
            if let Some(Value::Array(inner)) = part.remove(keyword) {
                merge(&mut part, &inner, keyword == "allOf");
            }
        }
        flat.push(part);
    }
    let properties = top.entry("properties").or_insert_with(|| json!({}));
    for (name, schema) in flat.iter().filter_map(|part| part.get("properties")?.as_object()).flatten() {
        let Some(properties) = properties.as_object_mut() else { return };
        match properties.get_mut(name) {
            None => drop(properties.insert(name.clone(), schema.clone())),
            Some(known) if known == schema => {}
            Some(known) if all => *known = json!({ "allOf": [known.take(), schema] }),
            Some(known) => *known = either(known.take(), schema.clone()),
        }
    }
    let of = |part: &Map<String, Value>| names(part.get("required"));
    let mut required = names(top.get("required"));
    let added: Vec<String> = match flat.split_first() {
        Some((first, rest)) if !all => {
            of(first).into_iter().filter(|name| rest.iter().all(|part| of(part).contains(name))).collect()
        }
        _ => flat.iter().flat_map(of).collect(),
    };
    required.extend(added);
    required.sort();
    required.dedup();
    if !required.is_empty() {
        top.insert("required".to_owned(), json!(required));
    }
}

/// Returns a schema that accepts either.
fn either(known: Value, other: Value) -> Value {
    match known {
        Value::Object(mut fields) if fields.len() == 1 && fields.get("anyOf").is_some_and(Value::is_array) => {
            if let Some(Value::Array(alternatives)) = fields.get_mut("anyOf")
                && !alternatives.contains(&other)
            {
                alternatives.push(other);
            }
            Value::Object(fields)
        }
        known => json!({ "anyOf": [known, other] }),
    }
}

fn names(list: Option<&Value>) -> Vec<String> {
    let names = list.and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Adds what APIs require to a schema and its subschemas, and notes where.
fn complete(schema: &mut Value, path: &str, changes: &mut Vec<String>) {
    let Some(fields) = schema.as_object_mut() else {
        *schema = json!({});
        return;
    };
    let wrong = complete_fields(fields);
    let place = if path.is_empty() { "the top" } else { path };
    changes.extend(wrong.into_iter().map(|wrong| format!("{place} ({wrong})")));
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (keyword, value) in fields {
        match value {
            Value::Object(schemas) if MAPS.contains(&keyword.as_str()) => {
                for (name, schema) in schemas {
                    complete(schema, &below(&format!("{keyword}.{name}")), changes);
                }
            }
            Value::Array(schemas) if SCHEMA_LIST_KEYWORDS.contains(&keyword.as_str()) => {
                for (position, schema) in schemas.iter_mut().enumerate() {
                    complete(schema, &below(&format!("{keyword}.{position}")), changes);
                }
            }
            Value::Bool(_) if MAY_BE_FLAGS.contains(&keyword.as_str()) => {}
            value if SCHEMA_KEYWORDS.contains(&keyword.as_str()) => complete(value, &below(keyword), changes),
            _ => {}
        }
    }
}

/// Adds what APIs require to the fields of one schema, and returns what was wrong.
fn complete_fields(fields: &mut Map<String, Value>) -> Vec<&'static str> {
    let is = |kind: &str| match fields.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => false,
    };
    let (is_list, is_object) = (is("array"), is("object"));
    let mut wrong = Vec::new();
    if is_list && !fields.contains_key("items") {
        fields.insert("items".to_owned(), json!({}));
        wrong.push("an array without items");
    }
    if let Some(Value::Array(places)) = fields.get_mut("items") {
        let places = std::mem::take(places);
        fields.insert("items".to_owned(), if places.is_empty() { json!({}) } else { json!({ "anyOf": places }) });
        wrong.push("items as a list");
    }
    if is_object && !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".to_owned(), json!({}));
        wrong.push("an object without properties");
    }
    if fields.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        fields.remove("enum");
        wrong.push("an empty enum");
    }
    if !only_known_are_required(fields) {
        wrong.push("required names what properties does not describe");
    }
    wrong
}

/// Removes requirements of undescribed properties, which some APIs refuse. Returns whether all were described.
fn only_known_are_required(fields: &mut Map<String, Value>) -> bool {
    let Some(Value::Object(properties)) = fields.get("properties") else { return true };
    let Some(Value::Array(required)) = fields.get("required") else { return true };
    let known = |name: &&Value| name.as_str().is_some_and(|name| properties.contains_key(name));
    let all = required.len();
    let required: Vec<Value> = required.iter().filter(known).cloned().collect();
    let are_known = required.len() == all;
    if required.is_empty() {
        fields.remove("required");
    } else {
        fields.insert("required".to_owned(), Value::Array(required));
    }
    are_known
}

/// Schemas from MCP servers and customers.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}],"$defs":{"c":{"enum":[1,null]}},"properties":{"d":{"$ref":"#/$defs/c"},"e":{"type":"array"},"f":true}}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |schema| {
            let schema: Value = serde_json::from_slice(schema)?;
            let shown = for_model(&schema);
            assert!(shown["type"] == "object" && shown["properties"].is_object(), "{shown}");
            let combines = COMBINED.iter().any(|keyword| shown.get(*keyword).is_some());
            assert!(!combines, "{shown}");
            Ok::<_, serde_json::Error>(shown.to_string().len())
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_added_at_every_depth() {
        assert_eq!(for_model(&json!({ "type": "object" })), json!({ "type": "object", "properties": {} }));
        assert_eq!(for_model(&json!({})), json!({ "type": "object", "properties": {} }));
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": false,
            "required": ["tags", "gone"],
            "properties": {
                "tags": { "type": "array" },
                "rows": { "type": ["array", "null"], "items": { "type": "array" } },
                "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "object" }] },
                "guest": { "type": "object" },
                "any": true,
                "kind": { "type": "string", "enum": [] },
                "items": { "anyOf": [{ "type": "array" }, { "type": "string" }] },
            },
        });
        let expected = json!({
            "type": "object", "additionalProperties": false, "required": ["tags"],
            "properties": {
                "tags": { "type": "array", "items": {} },
                "rows": { "type": ["array", "null"], "items": { "type": "array", "items": {} } },
                "pair": { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "type": "object", "properties": {} }] } },
                "guest": { "type": "object", "properties": {} },
                "any": {},
                "kind": { "type": "string" },
                "items": { "anyOf": [{ "type": "array", "items": {} }, { "type": "string" }] },
            },
        });
        assert_eq!(for_model(&schema), expected);
        let changes = [
            "the top (required names what properties does not describe)",
            "properties.guest (an object without properties)",
            "properties.items.anyOf.0 (an array without items)",
            "properties.kind (an empty enum)",
            "properties.pair (items as a list)",
            "properties.pair.items.anyOf.1 (an object without properties)",
            "properties.rows.items (an array without items)",
            "properties.tags (an array without items)",
        ];
        let mut found = completed(&schema);
        found[1..].sort();
        assert_eq!(found, changes);
        assert_eq!(completed(&json!({ "type": "object" })), ["the top (an object without properties)"]);
        let by = |name: &str| json!({ "required": ["day", name], "properties": { name: {} } });
        let merged = json!({ "type": "object", "anyOf": [by("phone"), by("day")] });
        for complete in [expected, json!({}), json!({ "properties": {} }), merged] {
            assert_eq!(completed(&complete), [""; 0], "{complete}");
        }
    }

    #[test]
    fn alternatives_at_the_top_become_arguments() {
        let by = |name: &str| json!({ "properties": { name: { "type": "string" } }, "required": [name, "day"] });
        let schema = json!({
            "type": "object", "properties": { "day": { "type": "string" } }, "anyOf": [by("phone"), by("email")],
        });
        let properties =
            json!({ "day": { "type": "string" }, "email": { "type": "string" }, "phone": { "type": "string" } });
        assert_eq!(for_model(&schema), json!({ "type": "object", "properties": properties, "required": ["day"] }));

        let kind =
            |kind: &str| json!({ "type": "object", "properties": { "kind": { "const": kind } }, "required": ["kind"] });
        let one = for_model(&json!({ "oneOf": [kind("a"), kind("b"), kind("a")] }));
        let kinds = json!({ "anyOf": [{ "const": "a" }, { "const": "b" }] });
        assert_eq!(one["properties"]["kind"], kinds);
        assert_eq!((&one["required"], one.get("oneOf")), (&json!(["kind"]), None));

        let all = json!({
            "$defs": { "guest": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] } },
            "allOf": [{ "$ref": "#/$defs/guest" }, { "properties": { "day": { "type": "string" } }, "required": ["day"] }],
        });
        let all = for_model(&all);
        assert_eq!(all["required"], json!(["day", "name"]));
        assert_eq!(all["properties"], json!({ "day": { "type": "string" }, "name": { "type": "string" } }));
        assert!(all.get("allOf").is_none() && all.to_string().find("$ref").is_none(), "{all}");

        for keyword in ["not", "if", "then", "else", "enum"] {
            let schema = json!({ "type": "object", "properties": {}, keyword: {}, "$schema": "x" });
            assert!(for_model(&schema).get(keyword).is_none(), "{keyword}");
            assert_eq!(simplified(&schema).collect::<Vec<_>>(), [keyword]);
        }
    }
}
