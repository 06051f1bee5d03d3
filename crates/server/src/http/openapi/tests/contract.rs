//! What clients of the last release rely on, and what would break them.

mod facts;

use std::path::Path;

use serde_json::{Value, json};

use self::facts::{Contract, Fact, contract};
use crate::http::openapi::openapi;

/// The contract of the last release. To write that of a new one: `just released`.
const RELEASED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.released.json");

#[test]
fn nothing_breaks_a_client_of_the_last_release() {
    let now = contract(&openapi());
    if std::env::var_os("SWITCHHOOK_WRITE_RELEASED").is_some() {
        std::fs::write(RELEASED, text(&now)).expect("docs can be written");
    }
    let released = std::fs::read(Path::new(RELEASED)).expect("docs/openapi.released.json");
    let released: Contract = serde_json::from_slice(&released).expect("a contract");
    assert!(released.len() > 500, "{}", released.len());
    let broken = broken(&released, &now);
    assert!(broken.is_empty(), "This breaks clients of the last release:\n{}", broken.join("\n"));
}

/// One fact a line, so that differences can be read.
fn text(contract: &Contract) -> String {
    let lines: Vec<_> = contract.iter().map(|(place, fact)| format!("{}: {}", json!(place), json!(fact))).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Says what of `now` breaks a client that was written for `released`.
fn broken(released: &Contract, now: &Contract) -> Vec<String> {
    let mut all = Vec::new();
    for (place, was) in released {
        match now.get(place) {
            Some(is) => all.extend(changes(place, was, is).into_iter().map(|change| format!("{place} {change}"))),
            // What was within is gone, too.
            None if parent(place).is_none_or(|parent| now.contains_key(&parent)) => {
                all.push(format!("{place} is gone"));
            }
            None => {}
        }
    }
    for (place, is) in now.iter().filter(|(place, is)| is_sent(place) && is.required && !released.contains_key(*place))
    {
        if parent(place).is_some_and(|parent| released.contains_key(&parent)) {
            all.push(format!("{place} is new and required: {}", json!(is)));
        }
    }
    all
}

fn is_sent(place: &str) -> bool {
    place.starts_with("in ")
}

fn changes(place: &str, was: &Fact, is: &Fact) -> Vec<String> {
    let sent = is_sent(place);
    // A client sends what was allowed, and takes what was promised.
    let (strict, lax) = if sent { (is, was) } else { (was, is) };
    let mut changes = Vec::new();
    if was.kind != is.kind {
        changes.push(format!("was {} and is {}", was.kind, is.kind));
    }
    if is.required != was.required && is.required == sent {
        changes.push(if sent { "is required" } else { "can be absent" }.to_owned());
    }
    if lax.null && !strict.null {
        changes.push(if sent { "cannot be null" } else { "can be null" }.to_owned());
    }
    let lacks = |all: &[Value], of: &[Value]| of.iter().find(|value| !all.contains(value)).map(Value::to_string);
    changes.extend(lacks(&is.values, &was.values).map(|value| format!("lost {value}")));
    if !sent && !was.values.is_empty() && !was.open {
        changes.extend(lacks(&was.values, &is.values).map(|value| format!("is closed and has {value}")));
    }
    changes.extend(lacks(&is.one_of, &was.one_of).map(|value| format!("lost {value}")));
    if sent && was.values.is_empty() && !is.values.is_empty() {
        changes.push(format!("takes only {}", json!(is.values)));
    }
    for (word, limit) in &strict.limits {
        let other = lax.limits.get(word);
        if other.is_none_or(|other| narrower(word, limit, other)) {
            let (was, is) = if sent { (other, Some(limit)) } else { (Some(limit), other) };
            changes.push(format!("had {word} {} and has {}", json!(was), json!(is)));
        }
    }
    changes
}

/// Whether fewer values meet a limit than another.
fn narrower(word: &str, limit: &Value, other: &Value) -> bool {
    match (limit.as_f64(), other.as_f64()) {
        (Some(limit), Some(other)) if word.to_lowercase().contains("max") => limit < other,
        (Some(limit), Some(other)) => limit > other,
        _ => limit != other,
    }
}

/// The place that a place is within.
fn parent(place: &str) -> Option<String> {
    if let Some(of) = place.strip_suffix("[]").or_else(|| place.strip_suffix("{}")) {
        return Some(of.to_owned());
    }
    let words: Vec<_> = place.split(' ').collect();
    match words.as_slice() {
        [_, method, path, ..] if path.starts_with('/') => Some(format!("{method} {path}")),
        [towards, schema] => schema.rsplit_once('.').map(|(of, _)| format!("{towards} {of}")),
        _ => None,
    }
}

#[test]
fn what_would_break_a_client_is_refused() {
    let released = contract(&openapi());
    for (at, value, found) in [
        ("/paths", without("/paths", "/v1/calls/{id}/decisions"), "GET /v1/calls/{id}/decisions is gone"),
        ("/paths/~1v1~1agents~1{id}/delete", Value::Null, "DELETE /v1/agents/{id} is gone"),
        (
            "/paths/~1v1~1agents/get/operationId",
            json!("all_agents"),
            "GET /v1/agents was list_agents and is all_agents",
        ),
        ("/paths/~1v1~1agents/get/parameters", json!([]), "in GET /v1/agents query.cursor is gone"),
        ("/paths/~1v1~1calls/get/parameters/0/required", json!(true), "in GET /v1/calls query.status is required"),
        ("/paths/~1v1~1agents/post/responses/201", Value::Null, "out POST /v1/agents 201 application/json is gone"),
        ("/webhooks/event", Value::Null, "out webhook event application/json is gone"),
        ("UnplacedCall", without("UnplacedCall", "properties/turns"), "out UnplacedCall.turns is gone"),
        (
            "UnplacedCall/properties/turns/type",
            json!("string"),
            "out UnplacedCall.turns was integer int64 and is string int64",
        ),
        ("UnplacedCall/properties/turns/type", json!(["integer", "null"]), "out UnplacedCall.turns can be null"),
        ("UnplacedCall/properties/turns/minimum", json!(-1), "out UnplacedCall.turns had minimum 0 and has -1"),
        ("UnplacedCall/required", json!(["to"]), "out UnplacedCall.turns can be absent"),
        ("CallEndedBy/enum/0", json!("somebody"), "out CallEndedBy lost"),
        ("CallEndedBy", with_value("CallEndedBy", "more"), "out CallEndedBy is closed and has \"more\""),
        ("ProblemCode/x-extensible-enum/0", json!("a_code"), "out ProblemCode lost"),
        ("WebhookEvent/oneOf/0", json!({ "$ref": "#/components/schemas/Call" }), "out WebhookEvent lost"),
        ("CreateCall", with_field("CreateCall", "reason"), "in CreateCall.reason is new and required"),
        ("CreateCall/required", json!(["agent_id", "to", "from"]), "in CreateCall.from is required"),
        ("CreateCall/properties/from/type", json!("string"), "in CreateCall.from cannot be null"),
        ("CreateCall/properties/to/maxLength", json!(100), "in CreateCall.to had maxLength 255 and has 100"),
        ("CreateCall/properties/to/pattern", json!("^web$"), "in CreateCall.to had pattern"),
        ("CreateCall/properties/to/enum", json!(["web"]), "in CreateCall.to takes only [\"web\"]"),
        (
            "CreateCall/properties/ring_timeout_seconds/minimum",
            json!(6),
            "ring_timeout_seconds had minimum 5 and has 6",
        ),
        ("CreateCall/additionalProperties", json!(false), "in CreateCall had additionalProperties null and has false"),
    ] {
        let broken = broken(&released, &contract(&changed(at, value)));
        assert!(broken.iter().any(|broken| broken.contains(found)), "{at}: {broken:?}");
    }
}

#[test]
fn what_breaks_no_client_is_allowed() {
    let released = contract(&openapi());
    for (at, value) in [
        ("/paths/~1v1~1more", openapi()["paths"]["/v1/agents"].clone()),
        ("UnplacedCall/properties/more", json!({ "type": "string" })),
        ("CreateCall/properties/more", json!({ "type": "string", "maxLength": 3 })),
        ("CreateCall/properties/to/maxLength", json!(300)),
        ("CreateCall/properties/agent_id/type", json!(["string", "null"])),
        ("CreateCall/required", json!(["to"])),
        ("CallEndReason", with_value("CallEndReason", "more")),
        ("UnplacedCall/properties/turns/minimum", json!(1)),
        ("UnplacedCall/properties/turns/description", json!("Other words.")),
    ] {
        let broken = broken(&released, &contract(&changed(at, value)));
        assert_eq!(broken, [""; 0], "{at}");
    }
}

/// A pointer to a place, or to a part of a schema.
fn pointer(at: &str) -> String {
    if at.starts_with('/') { at.to_owned() } else { format!("/components/schemas/{at}") }
}

/// The document with something else in one place, or nothing if the value is null.
fn changed(at: &str, value: Value) -> Value {
    let mut document = openapi();
    let at = pointer(at);
    let (around, name) = at.rsplit_once('/').expect("a pointer");
    let around = document.pointer_mut(around).unwrap_or_else(|| panic!("there is no {around}"));
    let name = name.replace("~1", "/");
    match (around, value) {
        (Value::Object(fields), Value::Null) => {
            drop(fields.remove(&name).unwrap_or_else(|| panic!("there is no {at}")));
        }
        (Value::Array(items), value) => items[name.parse::<usize>().expect("an index")] = value,
        (around, value) => around[name] = value,
    }
    document
}

/// What is in one place, without a part of it.
fn without(at: &str, part: &str) -> Value {
    let part = if part.starts_with('/') { part.replace('/', "~1") } else { part.to_owned() };
    changed(&format!("{at}/{part}"), Value::Null).pointer(&pointer(at)).cloned().unwrap_or_default()
}

/// A schema with one more required field.
fn with_field(of: &str, name: &str) -> Value {
    let mut schema = openapi().pointer(&pointer(of)).cloned().unwrap_or_default();
    schema["properties"][name] = json!({ "type": "string" });
    schema["required"].as_array_mut().expect("required").push(json!(name));
    schema
}

/// A schema with one more value.
fn with_value(of: &str, value: &str) -> Value {
    let mut schema = openapi().pointer(&pointer(of)).cloned().unwrap_or_default();
    schema["enum"].as_array_mut().expect("values").push(json!(value));
    schema
}
