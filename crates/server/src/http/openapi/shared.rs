//! Puts what many operations have in common into one place: headers, responses, parameters.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::document::METHODS;

/// The names of shared responses, by status.
const RESPONSES: [(&str, &str); 10] = [
    ("204", "Deleted"),
    ("401", "Unauthorized"),
    ("403", "Forbidden"),
    ("404", "NotFound"),
    ("408", "Timeout"),
    ("413", "TooLarge"),
    ("422", "Invalid"),
    ("429", "Limited"),
    ("500", "Failure"),
    ("503", "Unavailable"),
];

/// Replaces what occurs more than once by references to `components`.
pub(super) fn share(document: &mut Value) {
    share_kind(document, "headers", |operation, found| {
        for response in operation["responses"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            let headers = response.get_mut("headers").and_then(Value::as_object_mut).into_iter().flatten();
            for (name, header) in headers {
                found(name.replace('-', ""), header);
            }
        }
    });
    share_kind(document, "responses", |operation, found| {
        for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
            if let Some(name) = response_name(status, response) {
                found(name, response);
            }
        }
    });
    share_kind(document, "parameters", |operation, found| {
        for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
            found(parameter_name(parameter), parameter);
        }
    });
}

/// `Unauthorized`, `NameTaken`: what a response is called; there is a 409 for each of its codes.
fn response_name(status: &str, response: &Value) -> Option<String> {
    if status == "409" {
        let code = response["content"]["application/json"]["example"]["code"].as_str()?;
        return Some(code.split('_').map(capitalised).collect());
    }
    RESPONSES.iter().find(|(known, _)| *known == status).map(|(_, name)| (*name).to_owned())
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or_default();
    format!("{}{rest}", first.to_uppercase())
}

/// `limit`, `CallId`: what a parameter is called among those of all operations.
fn parameter_name(parameter: &Value) -> String {
    let name = parameter["name"].as_str().unwrap_or_default();
    if name != "id" {
        return name.replace('-', "");
    }
    let description = parameter["description"].as_str().unwrap_or_default();
    let of = description.trim_start_matches("The ").split(|letter: char| !letter.is_alphanumeric()).next();
    format!("{}Id", capitalised(of.unwrap_or_default()))
}

/// Calls `each` with every operation and a function that takes what is found there, under its name.
fn share_kind(document: &mut Value, kind: &str, each: impl Fn(&mut Value, &mut dyn FnMut(String, &mut Value))) {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for_operations(document, |operation| {
        each(operation, &mut |name, value| *counts.entry((name, value.to_string())).or_default() += 1);
    });
    let mut shared: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for ((name, text), count) in counts.into_iter().filter(|(_, count)| *count > 1) {
        let most = shared.entry(name).or_default();
        if count > most.1 {
            *most = (text, count);
        }
    }
    let mut components = Map::new();
    for_operations(document, |operation| {
        each(operation, &mut |name, value| {
            let text = value.to_string();
            if shared.get(&name).is_some_and(|(most, _)| *most == text) {
                let reference = json!({ "$ref": format!("#/components/{kind}/{name}") });
                components.insert(name, std::mem::replace(value, reference));
            }
        });
    });
    document["components"][kind] = components.into();
}

fn for_operations(document: &mut Value, mut each: impl FnMut(&mut Value)) {
    for operations in document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        METHODS.iter().for_each(|method| {
            if let Some(operation) = operations.get_mut(method) {
                each(operation);
            }
        });
    }
}
