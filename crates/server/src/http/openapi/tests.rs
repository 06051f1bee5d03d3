//! What every operation of the document must have.

use serde_json::{Value, json};

use super::complete::operations;
use super::openapi;

fn name(operation: &Value) -> &str {
    operation["operationId"].as_str().unwrap_or("an operation without operationId")
}

#[test]
fn every_operation_has_a_unique_name_a_summary_a_tag_and_described_parameters() {
    let document = openapi();
    let mut names = Vec::new();
    for operation in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("no operationId: {operation}"));
        assert!(!names.contains(&id), "two operations are called {id}");
        assert!(!["create", "list", "show", "update", "delete"].contains(&id), "{id} of what?");
        assert!(operation["summary"].as_str().is_some_and(|text| text.len() > 10), "{id} needs a summary");
        let known = document["tags"].as_array().expect("tags").iter().any(|tag| tag["name"] == operation["tags"][0]);
        assert!(known, "{id} has no tag, or one that is not described");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(parameter["description"].is_string(), "{id}: {} needs a description", parameter["name"]);
        }
        names.push(id);
    }
    assert!(names.len() > 30, "{}", names.len());
}

#[test]
fn every_operation_tells_of_every_status_and_every_status_of_its_headers() {
    let document = openapi();
    let paths = document["paths"].as_object().expect("paths");
    for (path, operations) in paths {
        for (method, operation) in operations.as_object().expect("operations") {
            let mut expected = vec!["401", "403", "422", "429", "500", "503"];
            if path.contains('{') {
                expected.push("404");
            }
            if operation.get("requestBody").is_some() {
                expected.push("413");
            }
            for status in expected {
                assert!(operation["responses"][status].is_object(), "{method} {path} does not tell of {status}");
            }
            for (status, response) in operation["responses"].as_object().expect("responses") {
                let has = |header: &str| response["headers"][header]["schema"].is_object();
                let at = format!("{method} {path} {status}");
                assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()), "{at}");
                assert!(response.get("content").is_none_or(Value::is_object), "{at}");
                assert!(has("X-Request-Id"), "{at}");
                assert_eq!(has("WWW-Authenticate"), status == "401", "{at}");
                assert_eq!(has("Retry-After"), matches!(status.as_str(), "429" | "503"), "{at}");
                assert!(has("RateLimit") || matches!(status.as_str(), "401" | "403" | "500" | "503"), "{at}");
                assert!(has("Location") || status != "201", "{at}");
                assert!(has("Content-Range") || !matches!(status.as_str(), "206" | "416"), "{at}");
            }
        }
    }
}

/// Every body of an operation: where it is, its media type's description.
fn bodies(operation: &Value) -> Vec<(String, &Value)> {
    let request = operation.get("requestBody").map(|body| (format!("{} request", name(operation)), body));
    let responses = operation["responses"].as_object().into_iter().flatten();
    let answers = responses.map(|(status, response)| (format!("{} {status}", name(operation)), response));
    let all = request.into_iter().chain(answers);
    all.filter_map(|(at, body)| Some((at, body["content"].get("application/json")?))).collect()
}

#[test]
fn every_body_has_an_example_that_fits_its_schema() {
    let document = openapi();
    let mut seen = 0;
    for operation in operations(&document) {
        for (at, content) in bodies(operation) {
            let example = content.get("example").unwrap_or_else(|| panic!("{at} has no example"));
            let mut schema = content["schema"].clone();
            schema["components"] = document["components"].clone();
            let validator = jsonschema::options().should_validate_formats(true).build(&schema).expect("a schema");
            let errors: Vec<_> =
                validator.iter_errors(example).map(|error| format!("{}: {error}", error.instance_path)).collect();
            assert!(errors.is_empty(), "{at}: {errors:?}\n{example}");
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn words_that_are_closed_sets_are_described_as_such() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    let ends = ["completed", "failed", "queued", "dialing", "in_progress"];
    let status = schemas["Status"]["enum"].as_array().expect("an enumeration");
    assert!(ends.iter().all(|word| status.contains(&json!(word))) && status.len() == ends.len());
    assert_eq!(schemas["ErrorCode"]["enum"].as_array().map(Vec::len), Some(11));
    assert_eq!(schemas["EventKind"]["enum"].as_array().map(Vec::len), Some(7));
    assert!(schemas["DeliveryEvent"]["enum"].as_array().is_some_and(|words| words.contains(&json!("webhook.test"))));
}

#[test]
fn what_was_created_links_to_what_can_be_done_with_it() {
    let document = openapi();
    let links = &document["paths"]["/v1/webhooks"]["post"]["responses"]["201"]["links"];
    assert_eq!(links["delete_webhook"]["parameters"], json!({ "id": "$response.body#/id" }));
    let deliveries = &document["paths"]["/v1/webhooks/{id}/deliveries"]["get"]["responses"]["200"]["links"];
    let parameters = json!({ "id": "$request.path.id", "delivery_id": "$response.body#/data/0/id" });
    assert_eq!(deliveries["redeliver"]["parameters"], parameters);
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(value: &Value, document: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(at) = fields.get("$ref").and_then(Value::as_str) {
                    let pointer = at.strip_prefix('#').expect("within the document");
                    assert!(document.pointer(pointer).is_some(), "{at}");
                }
                fields.values().for_each(|value| walk(value, document));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, document)),
            _ => {}
        }
    }
    let document = openapi();
    walk(&document, &document);
}

/// Fields that cannot change.
const FIXED: [(&str, &str); 1] = [("UpdateConnection", "provider")];

#[test]
fn an_update_takes_every_field_of_what_it_changes_requires_none_and_fills_in_nothing() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    for (update, create) in [
        ("UpdateAgent", "CreateAgent"),
        ("UpdateNumber", "CreateNumber"),
        ("UpdateWebhook", "CreateWebhook"),
        ("UpdateConnection", "CreateConnection"),
    ] {
        let (taken, required) = super::requests::fields(&schemas[create], schemas);
        assert!(taken.len() > 2, "{create}: {taken:?}");
        for name in taken.keys().filter(|name| !FIXED.contains(&(update, name))) {
            let schema = &schemas[update]["properties"][name];
            assert!(schema.is_object(), "{update} has no {name}");
            let nullable = schema.to_string().contains(r#""null""#);
            assert_eq!(nullable, !required.contains(name), "{update}.{name}: null restores a default, if there is one");
        }
        changes_nothing_by_itself(update, schemas);
    }
    assert_eq!(schemas["GreetingChanges"]["properties"]["text"]["type"], json!(["string", "null"]));
    assert_eq!(schemas["RealtimeChanges"]["properties"]["connection_id"]["type"], "string");
    let variables = &schemas["UpdateAgent"]["properties"]["variables"]["additionalProperties"];
    assert_eq!(variables["oneOf"][0]["$ref"], "#/components/schemas/VariableChanges", "{variables}");
}

/// Lists are replaced as a whole, so what is in them may have defaults.
fn changes_nothing_by_itself(name: &str, schemas: &Value) {
    let schema = &schemas[name];
    assert!(schema["required"].is_null(), "{name}: {schema}");
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        assert!(schema["default"].is_null(), "{name}.{field} would be reset to its default");
        let alternatives = schema["oneOf"].as_array().into_iter().flatten();
        for one in alternatives.chain([schema, &schema["additionalProperties"]]) {
            let referred = one["$ref"].as_str().and_then(|at| at.rsplit('/').next());
            referred.into_iter().for_each(|name| changes_nothing_by_itself(name, schemas));
        }
    }
}
