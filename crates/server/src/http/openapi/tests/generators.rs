//! What generators of clients stumble over.

use serde_json::Value;

use super::walk::each_schema;
use crate::http::openapi::document::operations;
use crate::http::openapi::openapi;
use crate::http::openapi::requests::sent;

/// Generators write a class for each tag; one for the operations of a tag and its webhooks would be written twice.
#[test]
fn webhooks_have_tags_of_their_own() {
    let document = openapi();
    let of_webhooks = &document["webhooks"]["event"]["post"]["tags"];
    assert!(document["tags"].as_array().is_some_and(|tags| tags.iter().any(|tag| tag["name"] == of_webhooks[0])));
    for operation in operations(&document) {
        assert_ne!(&operation["tags"], of_webhooks, "{}", operation["operationId"]);
    }
}

/// Several generators end at a field that is always null.
#[test]
fn no_field_is_null_only() {
    each_schema(&openapi(), &mut |at, schema, _| {
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            assert_ne!(schema["type"], "null", "{at}.{field}");
        }
    });
}

/// What a later version allows would be refused by clients that check responses by the limits of this one.
#[test]
fn responses_have_no_limits_of_text_and_lists() {
    let document = openapi();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["GreetingInput"]["properties"]["text"]["maxLength"], 100_000, "{}", schemas["GreetingInput"]);
    assert!(schemas["Greeting"]["properties"]["text"].get("maxLength").is_none());
    assert!(schemas["CallAddress"]["pattern"].is_string(), "of a parameter");
}

/// What every response has needs no default, and generators that fill defaults in would invent it.
#[test]
fn responses_have_no_defaults() {
    let document = openapi();
    let sent = sent(&document);
    let schemas = document["components"]["schemas"].as_object().expect("schemas").keys();
    let answered: Vec<_> = schemas.filter(|name| !sent.contains(name)).collect();
    assert!(answered.len() > 50);
    each_schema(&document, &mut |at, schema, _: bool| {
        let of = at.split('.').next().unwrap_or(at);
        assert!(schema["default"] == Value::Null || !answered.iter().any(|name| *name == of), "{at}: {schema}");
    });
}
