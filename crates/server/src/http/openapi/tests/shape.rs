//! What every schema and example of the document must be, and that a document which lacks it is refused.

use serde_json::{Map, Value, json};

use super::walk::{bodies, each_schema, misfits, name, resolved, types};
use crate::http::openapi::document::{SCHEMAS, operations};
use crate::http::openapi::example::example;
use crate::http::openapi::openapi;
use crate::http::openapi::values::FREE;

/// Objects that say neither what they hold nor that they hold anything.
fn bare_objects(document: &Value) -> Vec<String> {
    let mut bare = Vec::new();
    each_schema(document, &mut |at, schema, _| {
        let filled = schema["properties"].as_object().is_some_and(|fields| !fields.is_empty());
        if types(schema).contains(&"object") && !filled && schema["additionalProperties"].is_null() {
            bare.push(format!("{at} is a bare object: {schema}"));
        }
    });
    bare
}

/// Unions that are no schema of their own, so that generated types have no name for them.
fn unnamed_unions(document: &Value) -> Vec<String> {
    let mut unnamed = Vec::new();
    each_schema(document, &mut |at, schema, named| {
        let mut alternatives = types(schema).len();
        for word in ["oneOf", "anyOf"] {
            let kinds = schema[word].as_array().into_iter().flatten();
            alternatives = alternatives.max(kinds.filter(|kind| kind["type"] != "null").count());
        }
        if !named && alternatives > 1 {
            unnamed.push(format!("{at} is a union without a name: {schema}"));
        }
    });
    unnamed
}

/// Examples and defaults that do not fit their schemas, and bodies without an example. Also returns how many there were.
fn wrong_examples(document: &Value) -> (Vec<String>, usize) {
    let (mut wrong, mut missing, mut seen) = (Vec::new(), Vec::new(), 0);
    let mut check = |at: &str, example: Option<&Value>, schema: &Value| {
        let Some(example) = example else { return };
        seen += 1;
        wrong.extend(misfits(example, schema, document).iter().map(|misfit| format!("{at}: {misfit}")));
    };
    each_schema(document, &mut |at, schema, _| {
        check(at, schema.get("example"), schema);
        check(at, schema.get("default"), schema);
    });
    for operation in operations(document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(parameter, document);
            check(name(operation), parameter.get("example"), &parameter["schema"]);
        }
        for response in operation["responses"].as_object().into_iter().flat_map(|responses| responses.values()) {
            let headers = resolved(response, document)["headers"].as_object().into_iter().flat_map(|all| all.values());
            for header in headers.map(|header| resolved(header, document)) {
                check(name(operation), header.get("example"), &header["schema"]);
            }
        }
        for (at, content) in bodies(operation, document) {
            let schema = &content["schema"];
            let made = || example(schema, &document["components"]["schemas"]);
            let example = content.get("example").cloned().unwrap_or_else(made);
            if example.as_object().is_none_or(Map::is_empty) {
                missing.push(format!("{at} has no example"));
            }
            check(&at, Some(&example), schema);
        }
    }
    wrong.extend(missing);
    (wrong, seen)
}

#[test]
fn an_object_says_what_it_holds_or_that_it_holds_anything() {
    let document = openapi();
    assert_eq!(bare_objects(&document), [""; 0]);
    let schemas = &document["components"]["schemas"];
    for (of, field) in FREE {
        let free = &schemas[of]["properties"][field];
        assert!(types(free) == ["object"], "{of}.{field} is no object any more: {free}");
    }
    let latency = &schemas["UnplacedCall"]["properties"]["latency"]["oneOf"][0]["$ref"];
    assert_eq!(latency, &json!(format!("{SCHEMAS}CallLatency")));
}

#[test]
fn a_union_has_a_name_so_that_generated_types_have() {
    assert_eq!(unnamed_unions(&openapi()), [""; 0]);
}

#[test]
fn every_example_fits_its_schema() {
    let (wrong, seen) = wrong_examples(&openapi());
    assert_eq!(wrong, [""; 0]);
    assert!(seen > 300, "{seen}");
}

#[test]
fn bare_objects_unnamed_unions_and_wrong_examples_are_refused() {
    type Check = fn(&Value) -> Vec<String>;
    let bare: Check = bare_objects;
    let unnamed: Check = unnamed_unions;
    let wrong: Check = |document| wrong_examples(document).0;
    let either =
        json!({ "oneOf": [{ "type": "string" }, { "type": "object", "properties": { "a": { "type": "string" } } }] });
    for (check, at, value, found) in [
        (
            bare,
            "/components/schemas/UnplacedCall/properties/carrier",
            json!({ "type": "object" }),
            "UnplacedCall.carrier is a bare object",
        ),
        (bare, "/components/schemas/Metadata", json!({ "type": ["object", "null"] }), "Metadata is a bare object"),
        (
            unnamed,
            "/components/schemas/UnplacedCall/properties/to",
            json!({ "type": ["string", "integer"] }),
            "UnplacedCall.to is a union",
        ),
        (unnamed, "/components/schemas/CallList/properties/data/items", either, "CallList.data.* is a union"),
        (wrong, "/components/schemas/Call/example/turns", json!("five"), "Call: /turns"),
        (wrong, "/components/schemas/CreateCall/example", json!({ "to": "+12025550100" }), "CreateCall: "),
        (wrong, "/components/parameters/limit/schema/default", json!(0), "list_calls \"limit\": "),
        (wrong, "/components/headers/RetryAfter/example", json!("soon"), "\"soon\""),
        (wrong, "/components/responses/Unauthorized/content/application~1json/example/status", json!("401"), "/status"),
    ] {
        let mut document = openapi();
        *document.pointer_mut(at).unwrap_or_else(|| panic!("there is no {at}")) = value;
        let refused = check(&document);
        assert!(refused.iter().any(|refusal| refusal.contains(found)), "{at}: {refused:?}");
    }
}
