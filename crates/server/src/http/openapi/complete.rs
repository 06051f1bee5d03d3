//! Adds what all operations of the document share: headers, examples, links.

use serde_json::{Map, Value, json};

use super::descriptions::drop_repeated;
use super::document::{METHODS, SCHEMAS, collect, operations, reference};
use super::events::describe_events;
use super::example::{conflict, error_example, example};
use super::recorded::{add_recorded, drop_examples_of_fields};
use super::requests::{complete_requests, sent};
use super::values::{describe_metadata_filter, describe_values};
use super::{names, shared, unions};
use crate::http::error::by_operation;

const JSON: &str = "application/json";
const UUID: &str = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$";
/// What the service ignored of a request.
const WARNINGS: &str = "RequestWarnings";
/// RFC 3339, section 5.6.
const DATE_TIME: &str = "^[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))\
    T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";

/// Completes a document with paths and schemas.
pub(super) fn complete(document: &mut Value) {
    refer_to_generic_parts(document);
    names::rename(document);
    unions::discriminate(&mut document["components"]["schemas"]);
    describe_values(&mut document["components"]["schemas"]);
    drop_what_says_nothing(&mut document["components"]["schemas"]);
    describe_events(document);
    describe_metadata_filter(document);
    complete_requests(document);
    spell_out_formats_of_requests(document);
    require_what_answers_always_hold(document);
    drop_repeated(&mut document["components"]["schemas"]);
    add_recorded(&mut document["components"]["schemas"]);
    add_examples(document);
    drop_examples_of_fields(&mut document["components"]["schemas"]);
    document["servers"] = json!([{ "url": "/", "description": "The service that serves this document" }]);
    complete_operations(document);
    shared::share(document);
}

/// Gives an example to each schema of a request's body.
fn add_examples(document: &mut Value) {
    let bodies = operations(document).filter_map(|operation| {
        let body = operation["requestBody"]["content"][JSON]["schema"]["$ref"].as_str();
        body.and_then(|at| at.strip_prefix(SCHEMAS)).map(str::to_owned)
    });
    for name in bodies.collect::<Vec<_>>() {
        let schemas = &mut document["components"]["schemas"];
        if schemas[&name].get("example").is_none() {
            schemas[&name]["example"] = example(&reference(&name), schemas);
        }
    }
}

fn complete_operations(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    let links = links(document);
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, operations) in paths {
        for method in METHODS {
            let Some(operation) = operations.get_mut(method) else { continue };
            complete_operation(operation, &schemas);
            if let Some(links) = links.iter().find(|links| links.from == (path.clone(), method)) {
                operation["responses"][links.status]["links"] = links.links.clone().into();
            }
        }
    }
}

/// Replaces the copy of `T`'s schema in `List<T>` and `WithWarnings<T>`, and that of the warnings, by references.
fn refer_to_generic_parts(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    let mut warnings = None;
    for (name, schema) in schemas.iter_mut() {
        if let Some(inner) = name.strip_prefix("List_") {
            schema["properties"]["data"]["items"] = reference(inner);
            // The document says it of all lists, and the fields' names say the rest.
            schema.as_object_mut().map(|schema| schema.remove("description"));
            for field in ["data", "has_more", "next_cursor"] {
                schema["properties"][field].as_object_mut().map(|field| field.remove("description"));
            }
        } else if let Some(inner) = name.strip_prefix("WithWarnings_") {
            schema["allOf"][0] = reference(inner);
            schema.as_object_mut().map(|schema| schema.remove("description"));
            warnings = Some(std::mem::replace(&mut schema["allOf"][1], reference(WARNINGS)));
        }
    }
    schemas.extend(warnings.map(|warnings| (WARNINGS.to_owned(), warnings)));
}

/// Where there is a limit, the size in bits says nothing more; names of fields are strings in any case.
fn drop_what_says_nothing(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(drop_what_says_nothing);
            if fields.contains_key("maximum") && fields.get("format").is_some_and(|format| format == "int32") {
                fields.remove("format");
            }
            fields.retain(|word, value| word != "propertyNames" || *value != json!({ "type": "string" }));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_what_says_nothing),
        _ => {}
    }
}

/// Adds patterns to what is sent, because many tools ignore formats.
fn spell_out_formats_of_requests(document: &mut Value) {
    for name in sent(document) {
        spell_out_formats(&mut document["components"]["schemas"][name]);
    }
}

fn spell_out_formats(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(spell_out_formats);
            let pattern = match fields.get("format").and_then(Value::as_str) {
                Some("uuid") => UUID,
                Some("date-time") => DATE_TIME,
                _ => return,
            };
            fields.insert("pattern".to_owned(), pattern.into());
        }
        Value::Array(items) => items.iter_mut().for_each(spell_out_formats),
        _ => {}
    }
}

/// Fields that a response can lack.
const SOMETIMES: [&str; 2] = ["warnings", "web"];

/// What only requests need: a client that checks responses by it would refuse what a later version allows.
const LIMITS: [&str; 7] = ["maximum", "pattern", "minLength", "maxLength", "minItems", "maxItems", "maxProperties"];

/// Marks all fields of responses as required: they can be `null`, but hardly any can be absent. So none needs a default.
fn require_what_answers_always_hold(document: &mut Value) {
    let sent = sent(document);
    let mut asked = Vec::new();
    operations(document).for_each(|operation| collect(&operation["parameters"], document, &mut asked));
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    for (name, schema) in schemas.iter_mut().filter(|(name, _)| !sent.contains(name)) {
        without(&["default"], schema);
        if !asked.contains(name) {
            without(&LIMITS, schema);
        }
        require_all(schema);
        schema.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten().for_each(require_all);
    }
}

fn without(words: &[&str], schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.retain(|word, _| !words.contains(&word.as_str()));
    for (word, part) in fields.iter_mut().filter(|(word, _)| *word != "example") {
        match part {
            Value::Object(properties) if word == "properties" => {
                properties.values_mut().for_each(|property| without(words, property));
            }
            Value::Array(schemas) => schemas.iter_mut().for_each(|schema| without(words, schema)),
            part => without(words, part),
        }
    }
}

fn require_all(schema: &mut Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let names: Vec<_> = properties.keys().filter(|name| !SOMETIMES.contains(&name.as_str())).cloned().collect();
    if !names.is_empty() {
        schema["required"] = names.into();
    }
}

fn complete_operation(operation: &mut Value, schemas: &Value) {
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(parameter) = parameter.as_object_mut() {
            // It is so without a word.
            let is_default = |word: &str, value: &Value| match word {
                "required" => *value == false,
                "style" => *value == "form",
                _ => false,
            };
            parameter.retain(|word, value| !is_default(word, value));
        }
    }
    if let Some(body) = operation.get_mut("requestBody") {
        // A body without required fields is optional.
        body["required"] = requires_something(&body["content"][JSON]["schema"], schemas).into();
    }
    // The first line of a function's documentation; as a title it has no full stop.
    let summary = operation["summary"].as_str().map(|words| words.trim_end_matches('.').to_owned());
    operation["summary"] = summary.into();
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    let own = own_codes(operation, &id);
    if !own.is_empty() {
        operation["x-error-codes"] = own.into();
    }
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for (status, response) in responses {
        let common: Vec<_> = status.parse().into_iter().flat_map(by_operation::common).collect();
        if !common.is_empty() {
            response["x-error-codes"] = common.into();
        }
        if status == "409" {
            let conflict = conflict(&id);
            response["description"] = conflict["detail"].clone();
            response["content"][JSON]["example"] = conflict;
        }
        let named = headers(&id, status);
        let headers = response["headers"].as_object().cloned().unwrap_or_default();
        let all: Map<_, _> = named.into_iter().chain(headers).collect();
        if !all.is_empty() {
            response["headers"] = all.into();
        }
        let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) else { continue };
        for (kind, content) in content.iter_mut().filter(|(_, content)| content.get("example").is_none()) {
            match kind.as_str() {
                JSON if status.as_str() >= "400" => content["example"] = error_example(status),
                _ => {}
            }
        }
        for (kind, content) in content.iter_mut().filter(|(kind, _)| kind.starts_with("audio/")) {
            content["schema"] = json!({ "type": "string", "format": "binary", "contentMediaType": kind });
        }
    }
}

/// The codes of an operation's errors besides those that its responses name, by status.
fn own_codes(operation: &Value, id: &str) -> Map<String, Value> {
    let statuses = operation["responses"].as_object().into_iter().flat_map(Map::keys);
    let own = |status: &String| {
        let codes: Vec<_> = by_operation::own(id, status.parse().ok()?).collect();
        (!codes.is_empty()).then(|| (status.clone(), codes.into()))
    };
    statuses.filter_map(own).collect()
}

fn requires_something(schema: &Value, schemas: &Value) -> bool {
    let schema = resolved(schema, schemas);
    let parts = schema["allOf"].as_array().into_iter().flatten();
    schema["required"].as_array().is_some_and(|names| !names.is_empty())
        || parts.into_iter().any(|part| requires_something(part, schemas))
}

fn resolved<'a>(schema: &'a Value, schemas: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|at| at.strip_prefix(SCHEMAS));
    name.map_or(schema, |name| &schemas[name])
}

/// Returns the headers of an operation's errors with this status. Successes have the same, and all responses the limits, as the document's
/// description says; at each operation they would make a tenth of the document.
fn headers(operation: &str, status: &str) -> Map<String, Value> {
    if status < "400" {
        return Map::new();
    }
    let text = |description: &str, schema: Value, example: Value| json!({ "description": description, "schema": schema, "example": example });
    let id = json!({ "type": "string", "format": "uuid" });
    let string = json!({ "type": "string" });
    let mut headers = Map::new();
    headers.insert(
        "X-Request-Id".to_owned(),
        text("Request id, as in the service's logs", id, "0198c6a0-0000-7000-8000-000000000000".into()),
    );
    if status == "401" {
        let challenge = json!({ "type": "string", "enum": ["Bearer"] });
        headers.insert("WWW-Authenticate".to_owned(), text("How to authenticate", challenge, "Bearer".into()));
    }
    if status == "429" {
        let policy = "The request limit and its window, in seconds";
        let left = "Remaining requests; after a refusal also `t`, seconds until the next one";
        headers.insert("RateLimit-Policy".to_owned(), text(policy, string.clone(), "\"requests\";q=120;w=60".into()));
        headers.insert("RateLimit".to_owned(), text(left, string, "\"requests\";r=0;t=9".into()));
    }
    // A call can be asked for again once the first request with its key has ended.
    if matches!(status, "429" | "503") || (operation, status) == ("create_call", "409") {
        let seconds = json!({ "type": "integer", "minimum": 1 });
        headers.insert(
            "Retry-After".to_owned(),
            text("Seconds to wait", seconds, if status == "429" { 9 } else { 1 }.into()),
        );
    }
    headers
}

/// Adds links from a response to follow-up operations.
struct Links {
    from: (String, &'static str),
    status: &'static str,
    links: Map<String, Value>,
}

/// Links a created resource, and the first row of a list of what is not created there, to the operations on it.
fn links(document: &Value) -> Vec<Links> {
    let Some(paths) = document["paths"].as_object() else { return Vec::new() };
    let mut all = Vec::new();
    for (path, operations) in paths {
        for (method, status, id) in [("post", "201", "$response.body#/id"), ("get", "200", "$response.body#/data/0/id")]
        {
            let is_created_here = !operations["post"]["responses"]["201"].is_null();
            if operations[method]["responses"][status].is_null() || method == "get" && is_created_here {
                continue;
            }
            let below = format!("{path}/{{");
            let mut links = Map::new();
            for (target, operations) in paths.iter().filter(|(target, _)| target.starts_with(&below)) {
                let mut parameters = Map::new();
                for name in placeholders(target) {
                    let value = if path.contains(&format!("{{{name}}}")) {
                        format!("$request.path.{name}")
                    } else {
                        id.to_owned()
                    };
                    parameters.insert(name.to_owned(), value.into());
                }
                if parameters.values().filter(|value| *value == id).count() != 1 {
                    continue;
                }
                for operation in METHODS.iter().filter_map(|method| operations[method]["operationId"].as_str()) {
                    links.insert(operation.to_owned(), json!({ "operationId": operation, "parameters": parameters }));
                }
            }
            if !links.is_empty() {
                all.push(Links { from: (path.clone(), method), status, links });
            }
        }
    }
    all
}

fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}
