//! A document as facts that clients rely on, each under the place that it is about: `in CreateCall.to` is a field that clients send,
//! `out Call.to` one that they receive.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::http::openapi::document::{METHODS, SCHEMAS};
use crate::http::openapi::tests::walk::resolved;

pub(super) type Contract = BTreeMap<String, Fact>;

/// What a client knows of an operation, a body, a parameter or a field.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Fact {
    /// Its type, the name of its schema, or of the operation.
    #[serde(rename = "is")]
    pub(super) kind: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) required: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) null: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) values: Vec<Value>,
    /// Whether later versions can add values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) open: bool,
    /// The parts of a union, or of an object that is put together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) one_of: Vec<Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) limits: Map<String, Value>,
}

const LIMITS: [&str; 12] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "multipleOf",
];

/// Reads the facts of a document.
pub(super) fn contract(document: &Value) -> Contract {
    let mut reader = Reader { document, facts: Contract::new() };
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        for method in METHODS {
            if let Some(operation) = operations.get(method) {
                reader.operation(&format!("{} {path}", method.to_uppercase()), operation);
            }
        }
    }
    for (name, operations) in document["webhooks"].as_object().into_iter().flatten() {
        reader.bodies("out", &format!("out webhook {name}"), &operations["post"]["requestBody"]);
    }
    reader.facts
}

struct Reader<'a> {
    document: &'a Value,
    facts: Contract,
}

impl<'a> Reader<'a> {
    fn operation(&mut self, at: &str, operation: &'a Value) {
        let kind = operation["operationId"].as_str().unwrap_or_default().to_owned();
        self.facts.insert(at.to_owned(), Fact { kind, ..Fact::default() });
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = resolved(parameter, self.document);
            let text = |word: &str| parameter[word].as_str().unwrap_or_default();
            let place = format!("in {at} {}.{}", text("in"), text("name"));
            self.read("in", &place, &parameter["schema"]);
            self.require(&place, parameter["required"] == true);
        }
        let place = format!("in {at} body");
        self.bodies("in", &place, &operation["requestBody"]);
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            let response = resolved(response, self.document);
            let place = format!("out {at} {status}");
            if status.as_str() < "400" && response["content"].is_null() {
                self.facts.insert(place, Fact { kind: "nothing".to_owned(), ..Fact::default() });
            } else if status.as_str() < "400" {
                self.bodies("out", &place, response);
            } else {
                // Which errors there are may change; what they look like may not.
                self.bodies("out", "out error", response);
            }
        }
    }

    fn bodies(&mut self, towards: &str, place: &str, body: &'a Value) {
        for (media, content) in body["content"].as_object().into_iter().flatten() {
            let place = format!("{place} {media}");
            self.read(towards, &place, &content["schema"]);
            self.require(&place, towards == "in" && body["required"] == true);
        }
    }

    fn require(&mut self, place: &str, required: bool) {
        if let Some(fact) = self.facts.get_mut(place) {
            fact.required = required;
        }
    }

    /// Reads a schema and what it refers to.
    fn read(&mut self, towards: &str, place: &str, schema: &'a Value) {
        if self.facts.contains_key(place) {
            return;
        }
        let mut fact = Fact::default();
        let alternatives = |word: &str| schema[word].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut either: Vec<&'a Value> = alternatives("oneOf").iter().chain(alternatives("anyOf")).collect();
        let all = either.len();
        either.retain(|one| one["type"] != "null");
        fact.null = either.len() < all || schema["type"].as_array().is_some_and(|types| types.contains(&json!("null")));
        let schema = if let [only] = either.as_slice() { *only } else { schema };
        if let Some(name) = referred(schema) {
            fact.kind = name.to_owned();
            self.facts.insert(place.to_owned(), fact);
            self.named(towards, name);
            return;
        }
        fact.kind = kind(schema);
        let extensible = schema["x-extensible-enum"].as_array();
        let values = schema["enum"].as_array().or(extensible).into_iter().flatten();
        fact.values = values.chain(schema.get("const")).filter(|value| !value.is_null()).cloned().collect();
        fact.open = !schema["x-extensible-enum"].is_null();
        let limits = LIMITS.iter().filter_map(|word| Some(((*word).to_owned(), schema.get(*word)?.clone())));
        let closed = schema.get("additionalProperties").filter(|more| **more == false);
        fact.limits = limits.chain(closed.map(|no| ("additionalProperties".to_owned(), no.clone()))).collect();
        let parts: Vec<_> = if either.len() > 1 { either } else { alternatives("allOf").iter().collect() };
        fact.one_of =
            parts.iter().map(|part| referred(part).map_or_else(|| json!(kind(part)), |name| json!(name))).collect();
        self.facts.insert(place.to_owned(), fact);
        for part in parts {
            match referred(part) {
                Some(name) => self.named(towards, name),
                None => self.within(towards, place, part),
            }
        }
        self.within(towards, place, schema);
    }

    fn named(&mut self, towards: &str, name: &str) {
        self.read(towards, &format!("{towards} {name}"), &self.document["components"]["schemas"][name]);
    }

    /// Reads the fields and items of a schema.
    fn within(&mut self, towards: &str, place: &str, schema: &'a Value) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            self.read(towards, &place, field);
            self.require(&place, schema["required"].as_array().is_some_and(|names| names.contains(&json!(name))));
        }
        for (word, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
            if schema[word].is_object() {
                self.read(towards, &format!("{place}{mark}"), &schema[word]);
            }
        }
    }
}

/// The name of the schema that a schema refers to.
fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|at| at.strip_prefix(SCHEMAS))
}

/// The type and format of a schema, without null.
fn kind(schema: &Value) -> String {
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        one => vec![one.clone()],
    };
    let words = types.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
    let kind = words.chain(schema["format"].as_str()).collect::<Vec<_>>().join(" ");
    if kind.is_empty() { "any".to_owned() } else { kind }
}
