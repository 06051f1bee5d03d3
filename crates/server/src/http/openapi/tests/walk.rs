//! Walks through a document: what it refers to, its bodies, its schemas.

use serde_json::{Map, Value};

use crate::http::openapi::document::{collect, operations};

/// What a value refers to, or the value.
pub(super) fn resolved<'a>(value: &'a Value, document: &'a Value) -> &'a Value {
    let pointer = value["$ref"].as_str().and_then(|at| at.strip_prefix('#'));
    pointer.map_or(value, |pointer| document.pointer(pointer).unwrap_or_else(|| panic!("{pointer} leads nowhere")))
}

pub(super) fn name(operation: &Value) -> &str {
    operation["operationId"].as_str().unwrap_or("an operation without operationId")
}

/// Every body of an operation: where it is, its media type's description.
pub(super) fn bodies<'a>(operation: &'a Value, document: &'a Value) -> Vec<(String, &'a Value)> {
    let request = operation.get("requestBody").map(|body| (format!("{} request", name(operation)), body));
    let responses = operation["responses"].as_object().into_iter().flatten();
    let answers = responses.map(|(status, response)| (format!("{} {status}", name(operation)), response));
    let all = request.into_iter().chain(answers);
    all.filter_map(|(at, body)| Some((at, resolved(body, document)["content"].get("application/json")?))).collect()
}

/// Returns what is wrong with an example of a schema.
pub(super) fn misfits(example: &Value, schema: &Value, document: &Value) -> Vec<String> {
    let schema = with_what_it_names(schema, document);
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
    validator.iter_errors(example).map(|error| format!("{}: {error}", error.instance_path)).collect()
}

/// Returns a schema with the schemas that it refers to, directly or not. With all of them, compiling it would take too long.
fn with_what_it_names(schema: &Value, document: &Value) -> Value {
    let mut names = Vec::new();
    collect(schema, document, &mut names);
    let all = &document["components"]["schemas"];
    let named: Map<_, _> = names.into_iter().map(|name| (name.clone(), all[name].clone())).collect();
    let mut schema = schema.clone();
    schema["components"]["schemas"] = named.into();
    schema
}

/// Calls `each` with every schema, and whether it has a name.
pub(super) fn each_schema(document: &Value, each: &mut dyn FnMut(&str, &Value, bool)) {
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        walk_schema(name, schema, true, each);
    }
    for operation in operations(document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(parameter, document);
            walk_schema(&format!("{} {}", name(operation), parameter["name"]), &parameter["schema"], false, each);
        }
        for (at, content) in bodies(operation, document) {
            walk_schema(&at, &content["schema"], false, each);
        }
    }
}

pub(super) fn walk_schema(at: &str, schema: &Value, named: bool, each: &mut dyn FnMut(&str, &Value, bool)) {
    each(at, schema, named);
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        walk_schema(&format!("{at}.{field}"), schema, false, each);
    }
    for word in ["items", "additionalProperties"] {
        if schema[word].is_object() {
            walk_schema(&format!("{at}.*"), &schema[word], false, each);
        }
    }
    for word in ["oneOf", "anyOf", "allOf"] {
        schema[word].as_array().into_iter().flatten().for_each(|part| walk_schema(at, part, false, each));
    }
}

/// The types of a schema but `null`.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    let one = schema["type"].as_str().into_iter();
    let several = schema["type"].as_array().into_iter().flatten().filter_map(Value::as_str);
    one.chain(several).filter(|kind| *kind != "null").collect()
}
