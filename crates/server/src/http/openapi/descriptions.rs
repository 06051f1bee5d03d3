//! Leaves out descriptions of fields that say no more than the field's name, or than the schema that it refers to.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::document::SCHEMAS;

/// What resources have in common, and what needs no more words than its name.
const KNOWN: [(&str, &str); 5] = [
    ("created_at", "Creation time."),
    ("id", "Unique id."),
    ("model", "Model name."),
    ("updated_at", "Time of the last change."),
    ("voice", "Voice name."),
];

/// Drops what is said twice from the fields of all schemas.
pub(super) fn drop_repeated(schemas: &mut Value) {
    let all = schemas.as_object().into_iter().flatten();
    let said = all.filter_map(|(name, schema)| Some((name.clone(), schema["description"].as_str()?.to_owned())));
    let described: BTreeMap<_, _> = said.collect();
    walk(schemas, &described);
}

fn walk(schema: &mut Value, described: &BTreeMap<String, String>) {
    match schema {
        Value::Object(words) => {
            for (word, part) in words.iter_mut().filter(|(word, _)| *word != "example") {
                match part {
                    Value::Object(fields) if word == "properties" => shorten_all(fields, described),
                    part => walk(part, described),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, described)),
        _ => {}
    }
}

fn shorten_all(fields: &mut Map<String, Value>, described: &BTreeMap<String, String>) {
    for (name, field) in fields {
        shorten(name, field, described);
        walk(field, described);
    }
}

/// The description of a field that may be `null` stands beside its alternatives or in one of them.
fn shorten(name: &str, field: &mut Value, described: &BTreeMap<String, String>) {
    let alternatives = field["oneOf"].as_array().into_iter().flatten();
    let schema = std::iter::once(&*field)
        .chain(alternatives)
        .find_map(|one| described.get(one["$ref"].as_str()?.strip_prefix(SCHEMAS)?));
    let is_repeated = |text: &str| {
        repeats_name(text, name) || schema.is_some_and(|schema| schema.starts_with(text.trim_end_matches('.')))
    };
    let alternatives = field.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten();
    alternatives.for_each(|one| undescribe(one, is_repeated));
    undescribe(field, is_repeated);
}

fn undescribe(schema: &mut Value, is_repeated: impl Fn(&str) -> bool) {
    if schema["description"].as_str().is_some_and(is_repeated) {
        schema.as_object_mut().map(|schema| schema.remove("description"));
    }
}

/// Whether a description says no more than a name: `The limit.` of `limit`.
fn repeats_name(text: &str, name: &str) -> bool {
    let words = text.trim_start_matches("The ").trim_end_matches('.');
    words.eq_ignore_ascii_case(&name.replace('_', " ")) || KNOWN.contains(&(name, text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_is_left_out_where_it_only_repeats_the_name_or_the_schema() {
        let of_schema = |words: &str| json!({ "$ref": "#/components/schemas/Status", "description": words });
        for (name, field, is_kept) in [
            ("id", json!({ "type": "string", "description": "Unique id." }), false),
            ("max_limit", json!({ "type": "integer", "description": "The max limit." }), false),
            ("limit", json!({ "type": "integer", "description": "The limit; `null` for none." }), true),
            ("other", json!({ "type": "string", "description": "Unique id." }), true),
            ("state", of_schema("Status of a call."), false),
            ("state", of_schema("Status."), false),
            ("state", of_schema("Status of a call after the event."), true),
            ("state", json!({ "oneOf": [of_schema("Status of a call."), { "type": "null" }] }), false),
            ("state", json!({ "oneOf": [of_schema("Where it is."), { "type": "null" }] }), true),
        ] {
            let status = json!({ "type": "string", "description": "Status of a call. It is one word." });
            let mut schemas = json!({ "Status": status, "Call": { "properties": { name: field.clone() } } });
            drop_repeated(&mut schemas);
            assert_eq!(schemas["Status"], status);
            let left = schemas["Call"]["properties"][name].to_string();
            assert_eq!(left.contains("description"), is_kept, "{field} became {left}");
        }
    }

    #[test]
    fn fields_within_fields_are_shortened_and_examples_stay() {
        let example = json!({ "properties": { "id": { "description": "Unique id." } } });
        let inner = json!({ "properties": { "id": { "type": "string", "description": "Unique id." } } });
        let mut schemas = json!({ "Call": { "allOf": [{ "properties": { "inner": inner } }], "example": example } });
        drop_repeated(&mut schemas);
        let inner = &schemas["Call"]["allOf"][0]["properties"]["inner"];
        assert_eq!(inner["properties"]["id"], json!({ "type": "string" }));
        assert_eq!(schemas["Call"]["example"], example);
    }
}
