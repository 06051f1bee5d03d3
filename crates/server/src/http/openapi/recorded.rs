//! Examples of what the service takes and returns: one story, recorded from it by `tests/it/http/examples.rs`.

use serde_json::{Map, Value};

use super::document::SCHEMAS;
use super::requests::INPUT;

const RECORDED: &str = include_str!("examples.json");

/// The recorded examples, by the names of schemas.
pub(super) fn recorded() -> Map<String, Value> {
    serde_json::from_str(RECORDED).expect("examples.json has an object")
}

/// Gives the recorded schemas their examples.
pub(super) fn add_recorded(schemas: &mut Value) {
    let recorded = recorded();
    for (name, example) in &recorded {
        add(&mut schemas[name], example, &recorded);
    }
}

/// A schema that adds fields to a recorded one takes only its own, if the others are the same.
fn add(schema: &mut Value, example: &Value, recorded: &Map<String, Value>) {
    let extended = schema["allOf"][0]["$ref"].as_str().and_then(|at| recorded.get(at.strip_prefix(SCHEMAS)?));
    let own = schema.pointer_mut("/allOf/1").filter(|own| own["properties"].is_object());
    if let (Some(extended), Some(own)) = (extended, own) {
        let all = example.as_object().cloned().unwrap_or_default().into_iter();
        let (mine, others): (Map<_, _>, Map<_, _>) = all.partition(|(name, _)| own["properties"].get(name).is_some());
        if extended.as_object() == Some(&others) {
            own["example"] = mine.into();
            return;
        }
    }
    schema["example"] = example.clone();
}

/// Takes the examples from the fields of schemas that have one themselves, and of what responses share with requests: those have them.
pub(super) fn drop_examples_of_fields(schemas: &mut Value) {
    let Some(schemas) = schemas.as_object_mut() else { return };
    let shared: Vec<_> = schemas.keys().filter_map(|name| name.strip_suffix(INPUT)).map(str::to_owned).collect();
    for (name, schema) in schemas {
        if schema.get("example").is_some() || shared.contains(name) {
            drop_within(schema);
        }
    }
}

fn drop_within(schema: &mut Value) {
    for (word, part) in schema.as_object_mut().into_iter().flatten() {
        match part {
            Value::Object(properties) if word == "properties" => {
                for field in properties.values_mut() {
                    field.as_object_mut().map(|field| field.remove("example"));
                    drop_within(field);
                }
            }
            Value::Array(parts) => parts.iter_mut().for_each(drop_within),
            part if word != "example" => drop_within(part),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::document::operations;
    use super::*;

    /// Needs a provider with voices.
    const NOT_RECORDED: &str = "CreateVoiceSample";

    #[test]
    fn the_example_of_every_request_is_recorded() {
        let document = super::super::openapi();
        let (recorded, mut found) = (recorded(), 0);
        for operation in operations(&document) {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
            let Some(name) = schema.as_str().and_then(|at| at.strip_prefix(SCHEMAS)) else { continue };
            found += 1;
            assert!(recorded.contains_key(name) || name == NOT_RECORDED, "the example of {name} is not recorded");
        }
        assert!(found > 15, "only {found} operations with a body");
    }

    #[test]
    fn every_recorded_example_is_one_of_a_schema() {
        let document = super::super::openapi();
        let schemas = &document["components"]["schemas"];
        for (name, example) in recorded() {
            assert!(schemas[&name].is_object(), "there is no {name}");
            let own = &schemas[&name]["allOf"][1]["example"];
            assert!(schemas[&name]["example"] == example || own.is_object(), "{name} has no example");
        }
    }

    #[test]
    fn what_another_example_shows_is_not_said_again() {
        let recorded = json!({ "A": { "a": 1 }, "B": { "a": 1, "b": 2 }, "C": { "a": 3, "b": 4 } });
        let more = json!({ "allOf": [{ "$ref": "#/components/schemas/A" }, { "properties": { "b": {} } }] });
        let mut schemas = json!({ "A": {}, "B": more, "C": more });
        for (name, example) in recorded.as_object().expect("an object") {
            add(&mut schemas[name], example, recorded.as_object().expect("an object"));
        }
        assert_eq!(schemas["A"]["example"], json!({ "a": 1 }));
        assert_eq!((schemas["B"].get("example"), &schemas["B"]["allOf"][1]["example"]), (None, &json!({ "b": 2 })));
        assert_eq!(schemas["C"]["example"], json!({ "a": 3, "b": 4 }), "other values of the same fields");
    }
}
