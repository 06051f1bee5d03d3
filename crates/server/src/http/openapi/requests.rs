//! Schemas of what requests send: what is optional may be `null` and has no default that a client would fill in, and what requests share
//! with responses has a schema for each.

use serde_json::{Map, Value, json};

use super::document::{SCHEMAS, collect, operations};
use super::values::describe_words;

/// Completes the schemas that requests refer to.
pub(super) fn complete_requests(document: &mut Value) {
    flatten(&mut document["components"]["schemas"], "CreateAgent");
    separate(document);
    let sent = sent(document);
    let schemas = &mut document["components"]["schemas"];
    describe_words(schemas);
    for name in sent.iter().filter(|name| !name.starts_with("Update")) {
        make_optional(&mut schemas[name]);
    }
    describe_changes(schemas, "UpdateAgent", "CreateAgent");
}

/// The names of all schemas that requests refer to, directly or indirectly.
pub(super) fn sent(document: &Value) -> Vec<String> {
    let mut names = Vec::new();
    operations(document).for_each(|operation| collect(&operation["requestBody"], document, &mut names));
    names
}

/// Makes one object of what `allOf` combines.
fn flatten(schemas: &mut Value, name: &str) {
    let (properties, required) = fields(&schemas[name], schemas);
    let schema = &mut schemas[name];
    schema.as_object_mut().map(|schema| schema.remove("allOf"));
    schema["type"] = "object".into();
    schema["properties"] = properties.into();
    schema["required"] = required.into();
}

/// Gives requests their own copies of the objects that responses have too: a response has every field.
fn separate(document: &mut Value) {
    let mut answered = Vec::new();
    operations(document).for_each(|operation| collect(&operation["responses"], document, &mut answered));
    let sent = sent(document);
    let schemas = &mut document["components"]["schemas"];
    let is_object = |name: &str| schemas[name]["properties"].is_object() || schemas[name]["discriminator"].is_object();
    let shared: Vec<_> = sent.iter().filter(|name| answered.contains(name) && is_object(name)).collect();
    for name in &shared {
        schemas[input(name)] = schemas[name].clone();
    }
    for name in &sent {
        let name = if shared.contains(&name) { input(name) } else { name.clone() };
        refer_to_inputs(&mut schemas[name], &shared);
    }
}

/// The end of the names of what requests have of their own.
pub(super) const INPUT: &str = "Input";

fn input(name: &str) -> String {
    format!("{name}{INPUT}")
}

fn refer_to_inputs(schema: &mut Value, shared: &[&String]) {
    match schema {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix(SCHEMAS));
            if let Some(name) = name.filter(|name| shared.iter().any(|shared| shared == name)) {
                let input = format!("{SCHEMAS}{}", input(name));
                fields.insert("$ref".to_owned(), input.into());
            }
            if let Some(mapping) = fields.get_mut("mapping").and_then(Value::as_object_mut) {
                // A discriminator's kinds are all objects, which are shared like the union.
                for schema in mapping.values_mut() {
                    *schema = schema.as_str().map(input).into();
                }
            }
            fields.values_mut().for_each(|value| refer_to_inputs(value, shared));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer_to_inputs(item, shared)),
        _ => {}
    }
}

/// Allows `null` for every field that can be absent, and tells its default in words: a client that sends all defaults would reset what an
/// update does not name.
fn make_optional(schema: &mut Value) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, field) in properties.into_iter().flatten().filter(|(name, _)| !required.contains(&json!(name))) {
        allow_null_in_map(field);
        let default = field.as_object_mut().and_then(|field| field.remove("default"));
        if let (Some(default), Some(words)) =
            (default.filter(|default| !default.is_null()), field["description"].as_str())
        {
            field["description"] = format!("{words} Default: `{default}`.").into();
        }
        *field = nullable(field.take());
    }
    allow_null_in_map(schema);
}

fn allow_null_in_map(schema: &mut Value) {
    if let Some(value) = schema.get_mut("additionalProperties").filter(|value| value.is_object()) {
        *value = nullable(value.take());
    }
}

/// Gives the schema `update` every field that `create` has and describes. Each can be absent; `null` stands for the default, where there is
/// one. Objects are merged, so what they require is optional too; lists are replaced.
fn describe_changes(schemas: &mut Value, update: &str, create: &str) {
    let properties = changed_properties(schemas, create);
    schemas[update]["type"] = "object".into();
    schemas[update]["properties"] = properties.into();
}

/// The properties of an object as changes to it, described where it is created.
fn changed_properties(schemas: &mut Value, of: &str) -> Map<String, Value> {
    let (properties, required) = fields(&schemas[of], schemas);
    let change = |(name, mut schema): (String, Value)| {
        refer_to_changes(&mut schema, schemas);
        schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten().for_each(undescribe);
        undescribe(&mut schema);
        let schema = if required.contains(&name) { schema } else { nullable(schema) };
        (name, schema)
    };
    properties.into_iter().map(change).collect()
}

fn undescribe(schema: &mut Value) {
    schema.as_object_mut().map(|schema| schema.remove("description"));
}

/// The properties of an object and the names of those that are required, also those from the parts of an `allOf`.
pub(super) fn fields(schema: &Value, schemas: &Value) -> (Map<String, Value>, Vec<String>) {
    let schema = schema["$ref"].as_str().and_then(|at| at.strip_prefix(SCHEMAS)).map_or(schema, |name| &schemas[name]);
    let mut properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let names = schema["required"].as_array().into_iter().flatten();
    let mut required: Vec<_> = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let (more, more_required) = fields(part, schemas);
        properties.extend(more);
        required.extend(more_required);
    }
    (properties, required)
}

/// Replaces references to objects by references to their changes.
fn refer_to_changes(schema: &mut Value, schemas: &mut Value) {
    if let Some(alternatives) = schema.get_mut("oneOf").and_then(Value::as_array_mut) {
        alternatives.iter_mut().for_each(|one| refer_to_changes(one, schemas));
    }
    if schema["additionalProperties"].is_object() {
        refer_to_changes(&mut schema["additionalProperties"], schemas);
        allow_null_in_map(schema);
    }
    let Some(name) = schema["$ref"].as_str().and_then(|at| at.strip_prefix(SCHEMAS)).map(str::to_owned) else { return };
    if schemas[&name]["properties"].is_object() {
        let changes = changes_of(&name, schemas);
        schema["$ref"] = format!("{SCHEMAS}{changes}").into();
    }
}

/// Returns the name of the schema of changes to `name`: its own if it requires nothing, else one that is added.
fn changes_of(name: &str, schemas: &mut Value) -> String {
    if fields(&schemas[name], schemas).1.is_empty() {
        return name.to_owned();
    }
    let part = name.strip_suffix(INPUT).unwrap_or(name);
    let part = part.strip_suffix("Choice").or_else(|| part.strip_suffix("Settings")).unwrap_or(part);
    let changes = format!("{part}Changes");
    if schemas[&changes].is_null() {
        let description = schemas[name]["description"].clone();
        let properties = changed_properties(schemas, name);
        schemas[&changes] = json!({ "type": "object", "description": description, "properties": properties });
    }
    changes
}

/// The same schema, or `null`.
fn nullable(mut schema: Value) -> Value {
    let is_null = |kind: &Value| *kind == "null";
    match &schema["type"] {
        Value::String(kind) if kind == "null" => return schema,
        Value::String(kind) => {
            schema["type"] = json!([kind, "null"]);
            return schema;
        }
        Value::Array(_) => return schema,
        _ => {}
    }
    for word in ["oneOf", "anyOf"] {
        if let Some(alternatives) = schema.get_mut(word).and_then(Value::as_array_mut) {
            if !alternatives.iter().any(|one| is_null(&one["type"])) {
                alternatives.push(json!({ "type": "null" }));
            }
            return schema;
        }
    }
    let mut around = Map::new();
    for word in ["description", "example"] {
        if let Some(said) = schema.as_object_mut().and_then(|schema| schema.remove(word)) {
            around.insert(word.to_owned(), said);
        }
    }
    around.insert("oneOf".to_owned(), json!([schema, { "type": "null" }]));
    around.into()
}
