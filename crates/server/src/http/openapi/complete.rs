//! Adds what all operations of the document share: headers, examples, links.

use serde_json::{Map, Value, json};

use super::example::{error_example, example};
use super::requests::{complete_requests, sent};

const JSON: &str = "application/json";
const UUID: &str = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
/// RFC 3339, section 5.6.
const DATE_TIME: &str = "^[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))\
    T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";
const METHODS: [&str; 4] = ["get", "post", "patch", "delete"];

/// Completes a document with paths and schemas.
pub(super) fn complete(document: &mut Value) {
    refer_to_generic_parts(document);
    spell_out_formats(&mut document["components"]["schemas"]);
    describe_values(&mut document["components"]["schemas"]);
    complete_requests(document);
    require_what_answers_always_hold(document);
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

/// Adds constraints that the types of fields cannot express.
fn describe_values(schemas: &mut Value) {
    let fields = &mut schemas["AgentConfig"]["properties"];
    fields["variables"]["propertyNames"] = json!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$" });
    fields["variables"]["maxProperties"] = json!(50);
    schemas["Variables"]["additionalProperties"] = json!({ "anyOf": [
        { "type": "string" },
        { "type": "integer", "format": "int64" },
        { "type": "number", "exclusiveMinimum": i64::MIN, "maximum": u64::MAX },
        { "type": "boolean" },
    ] });
    for of in ["SttChoice", "LlmChoice", "TtsChoice", "RealtimeChoice", "Fallback"] {
        for word in ["model", "voice"] {
            schemas[of]["properties"].get_mut(word).map(describe_word);
        }
    }
    for (of, words) in [("SttChoice", "keyterms"), ("Interruption", "backchannels"), ("Tool", "tools")] {
        describe_word(&mut schemas[of]["properties"][words]["items"]);
    }
    for (of, name) in [
        ("Destination", "name"),
        ("CreateConnection", "name"),
        ("UpdateConnection", "name"),
        ("CreateNumber", "label"),
        ("UpdateNumber", "label"),
    ] {
        describe_word(&mut schemas[of]["properties"][name]);
    }
}

/// Text on one line, not only whitespace.
fn describe_word(schema: &mut Value) {
    schema["minLength"] = json!(1);
    schema["maxLength"] = json!(200);
    schema["pattern"] = json!(r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$");
}

/// Replaces the copy of `T`'s schema in `List<T>` and `WithWarnings<T>` by a reference.
fn refer_to_generic_parts(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    for (name, schema) in schemas {
        if let Some(inner) = name.strip_prefix("List_") {
            schema["properties"]["data"]["items"] = reference(inner);
        } else if let Some(inner) = name.strip_prefix("WithWarnings_") {
            schema["allOf"][0] = reference(inner);
        }
    }
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// Adds patterns, because many tools ignore formats.
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

/// Fields that a response can lack: `*` stands for any schema.
const SOMETIMES: [(&str, &[&str]); 2] = [("*", &["warnings", "web"]), ("Tool", &["headers", "tools", "destinations"])];

/// Marks all fields of responses as required: they can be `null`, but hardly any can be absent.
fn require_what_answers_always_hold(document: &mut Value) {
    let sent = sent(document);
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    for (name, schema) in schemas.iter_mut().filter(|(name, _)| !sent.contains(name)) {
        require_all(name, schema);
        schema
            .get_mut("allOf")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
            .for_each(|part| require_all(name, part));
    }
}

fn require_all(of: &str, schema: &mut Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let sometimes =
        |name: &str| SOMETIMES.iter().any(|(schema, names)| ["*", of].contains(schema) && names.contains(&name));
    let names: Vec<_> = properties.keys().filter(|name| !sometimes(name)).cloned().collect();
    if !names.is_empty() {
        schema["required"] = names.into();
    }
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
                let name = value.as_str().and_then(|at| at.strip_prefix("#/components/schemas/"));
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

fn complete_operation(operation: &mut Value, schemas: &Value) {
    if let Some(body) = operation.get_mut("requestBody") {
        let content = &mut body["content"][JSON];
        // A body without required fields is optional.
        let required = requires_something(&content["schema"], schemas);
        if content.get("example").is_none() {
            content["example"] = example(&content["schema"], schemas);
        }
        body["required"] = required.into();
    }
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for (status, response) in responses {
        let named = headers(status);
        let headers = response["headers"].as_object().cloned().unwrap_or_default();
        response["headers"] = named.into_iter().chain(headers).collect::<Map<_, _>>().into();
        let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) else { continue };
        for (kind, content) in content.iter_mut().filter(|(_, content)| content.get("example").is_none()) {
            match kind.as_str() {
                JSON if status.as_str() >= "400" => content["example"] = error_example(status),
                JSON => content["example"] = example(&content["schema"], schemas),
                _ => {}
            }
        }
        for (kind, content) in content.iter_mut().filter(|(kind, _)| kind.starts_with("audio/")) {
            content["schema"] = json!({ "type": "string", "contentMediaType": kind });
        }
    }
}

fn requires_something(schema: &Value, schemas: &Value) -> bool {
    let schema = resolved(schema, schemas);
    let parts = schema["allOf"].as_array().into_iter().flatten();
    schema["required"].as_array().is_some_and(|names| !names.is_empty())
        || parts.into_iter().any(|part| requires_something(part, schemas))
}

fn resolved<'a>(schema: &'a Value, schemas: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|at| at.strip_prefix("#/components/schemas/"));
    name.map_or(schema, |name| &schemas[name])
}

/// Returns the headers of every response with this status.
fn headers(status: &str) -> Map<String, Value> {
    let text = |description: &str, schema: Value, example: Value| json!({ "description": description, "schema": schema, "example": example });
    let id = json!({ "type": "string", "format": "uuid" });
    let string = json!({ "type": "string" });
    let mut headers = Map::new();
    headers.insert(
        "X-Request-Id".to_owned(),
        text("The id of this request, as in the service's logs", id, "0198c6a0-0000-7000-8000-000000000000".into()),
    );
    if status == "401" {
        let challenge = json!({ "type": "string", "enum": ["Bearer"] });
        headers.insert("WWW-Authenticate".to_owned(), text("How to authenticate", challenge, "Bearer".into()));
    }
    if !matches!(status, "401" | "403" | "500" | "503") {
        let policy = "The request limit and its window, in seconds";
        let left = "Remaining requests; after a refusal also `t`, the seconds until there is one";
        headers.insert("RateLimit-Policy".to_owned(), text(policy, string.clone(), "\"requests\";q=120;w=60".into()));
        headers.insert("RateLimit".to_owned(), text(left, string, "\"requests\";r=119".into()));
    }
    if matches!(status, "429" | "503") {
        let seconds = json!({ "type": "integer", "minimum": 1 });
        headers.insert("Retry-After".to_owned(), text("Seconds to wait", seconds, 1.into()));
    }
    headers
}

/// Adds links from a response to follow-up operations.
struct Links {
    from: (String, &'static str),
    status: &'static str,
    links: Map<String, Value>,
}

/// Links a created resource, and the first row of a list, to the operations on it.
fn links(document: &Value) -> Vec<Links> {
    let Some(paths) = document["paths"].as_object() else { return Vec::new() };
    let mut all = Vec::new();
    for (path, operations) in paths {
        for (method, status, id) in [("post", "201", "$response.body#/id"), ("get", "200", "$response.body#/data/0/id")]
        {
            if operations[method]["responses"][status].is_null() {
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
