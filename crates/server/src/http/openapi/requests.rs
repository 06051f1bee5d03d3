//! Schemas of what requests send.

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Gives the schema `update` every field that `create` has. Each can be absent, so none has a default: a client that fills in defaults would
/// reset what it does not name. `null` stands for the default, where there is one. Objects are merged, so theirs are changes too; lists are
/// replaced.
pub(super) fn describe_changes(schemas: &mut Value, update: &str, create: &str) {
    let properties = changed_properties(schemas, create);
    schemas[update]["type"] = "object".into();
    schemas[update]["properties"] = properties.into();
}

fn changed_properties(schemas: &mut Value, of: &str) -> Map<String, Value> {
    let (properties, required) = fields(&schemas[of], schemas);
    let change = |(name, mut schema): (String, Value)| {
        refer_to_changes(&mut schema, schemas);
        without_default(&mut schema);
        let schema = if required.contains(&name) { schema } else { nullable(schema) };
        (name, schema)
    };
    properties.into_iter().map(change).collect()
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
        let value = schema["additionalProperties"].take();
        schema["additionalProperties"] = nullable(value);
    }
    let Some(name) = schema["$ref"].as_str().and_then(|at| at.strip_prefix(SCHEMAS)).map(str::to_owned) else { return };
    if schemas[&name]["properties"].is_object() {
        let changes = changes_of(&name, schemas);
        schema["$ref"] = format!("{SCHEMAS}{changes}").into();
    }
}

/// Adds the schema of changes to `name`, if it is not there, and returns its name.
fn changes_of(name: &str, schemas: &mut Value) -> String {
    let part = name.strip_suffix("Choice").or_else(|| name.strip_suffix("Settings")).unwrap_or(name);
    let changes = format!("{part}Changes");
    if schemas[&changes].is_null() {
        let description = schemas[name]["description"].clone();
        let properties = changed_properties(schemas, name);
        schemas[&changes] = json!({ "type": "object", "description": description, "properties": properties });
    }
    changes
}

fn without_default(schema: &mut Value) {
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("default");
    }
}

/// The same schema, or `null`.
pub(super) fn nullable(mut schema: Value) -> Value {
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
    for word in ["description", "example", "default"] {
        if let Some(said) = schema.as_object_mut().and_then(|schema| schema.remove(word)) {
            around.insert(word.to_owned(), said);
        }
    }
    around.insert("oneOf".to_owned(), json!([schema, { "type": "null" }]));
    around.into()
}
