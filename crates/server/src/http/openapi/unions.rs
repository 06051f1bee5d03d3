//! Unions by a tag: each kind is an object with a name and the tag as a constant, which is the discriminator.

use serde_json::{Map, Value, json};

use super::document::SCHEMAS;

/// Moves the tag of every internally tagged enum into the schemas of its kinds.
pub(super) fn discriminate(schemas: &mut Value) {
    let names: Vec<String> = schemas.as_object().into_iter().flat_map(Map::keys).cloned().collect();
    for name in names {
        let Some(kinds) = kinds(&schemas[&name]) else { continue };
        let Some(tag) = kinds.first().map(|kind| kind.tag.clone()) else { continue };
        for Kind { tag, word, schema } in &kinds {
            let kind = &mut schemas[schema];
            let required = kind["required"].as_array().cloned().unwrap_or_default();
            kind["required"] = std::iter::once(json!(tag)).chain(required).collect();
            kind["properties"][tag] = json!({ "type": "string", "const": word });
        }
        let description = schemas[&name]["description"].take();
        schemas[&name] = union(&tag, kinds.iter().map(|kind| (kind.word.as_str(), kind.schema.as_str())));
        schemas[&name]["description"] = description;
    }
}

/// A union of objects by the value of a field.
pub(super) fn union<'a>(tag: &str, kinds: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    let mapping: Map<_, _> =
        kinds.map(|(word, schema)| (word.to_owned(), format!("{SCHEMAS}{schema}").into())).collect();
    let schemas: Vec<_> = mapping.values().map(|schema| json!({ "$ref": schema })).collect();
    json!({ "oneOf": schemas, "discriminator": { "propertyName": tag, "mapping": mapping } })
}

struct Kind {
    tag: String,
    word: String,
    schema: String,
}

/// The kinds of an enum that serde tags internally; `None` of other schemas.
fn kinds(schema: &Value) -> Option<Vec<Kind>> {
    schema["oneOf"].as_array()?.iter().map(kind).collect()
}

fn kind(schema: &Value) -> Option<Kind> {
    let [content, tagged] = schema["allOf"].as_array()?.as_slice() else { return None };
    let (tag, word) = tagged["properties"].as_object()?.iter().next()?;
    let word = word["enum"][0].as_str()?;
    let schema = content["$ref"].as_str()?.strip_prefix(SCHEMAS)?;
    Some(Kind { tag: tag.clone(), word: word.to_owned(), schema: schema.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_field_of_each_kind_and_other_unions_stay() {
        let tagged = |name: &str, word: &str| {
            let tag = json!({ "type": "object", "required": ["type"], "properties": { "type": { "type": "string", "enum": [word] } } });
            json!({ "allOf": [{ "$ref": format!("{SCHEMAS}{name}") }, tag] })
        };
        let a = json!({ "properties": { "a": {} }, "required": ["a"] });
        let either = json!({ "oneOf": [{ "$ref": format!("{SCHEMAS}A") }, { "type": "null" }] });
        let mut schemas = json!({
            "A": a, "B": {}, "Either": either,
            "Union": { "description": "Some.", "oneOf": [tagged("A", "a"), tagged("B", "b")] },
        });
        discriminate(&mut schemas);
        assert_eq!(schemas["A"]["properties"]["type"], json!({ "type": "string", "const": "a" }));
        assert_eq!((&schemas["A"]["required"], &schemas["B"]["required"]), (&json!(["type", "a"]), &json!(["type"])));
        assert_eq!(schemas["Either"], either);
        let expected = json!({
            "description": "Some.", "oneOf": [{ "$ref": "#/components/schemas/A" }, { "$ref": "#/components/schemas/B" }],
            "discriminator": {
                "propertyName": "type",
                "mapping": { "a": "#/components/schemas/A", "b": "#/components/schemas/B" },
            },
        });
        assert_eq!(schemas["Union"], expected);
    }

    #[test]
    fn a_tool_is_one_of_its_types_in_requests_and_responses() {
        let document = crate::http::openapi::openapi();
        let schemas = &document["components"]["schemas"];
        for (of, end) in [("Tool", ""), ("ToolInput", "Input")] {
            let mapping = schemas[of]["discriminator"]["mapping"].as_object().expect("a mapping");
            assert_eq!(mapping.keys().collect::<Vec<_>>(), ["end_call", "http", "mcp", "send_dtmf", "transfer"]);
            assert_eq!(mapping["http"], format!("{SCHEMAS}HttpTool{end}"));
            assert_eq!(schemas[of]["oneOf"].as_array().map(Vec::len), Some(5));
        }
        assert_eq!(schemas["HttpToolInput"]["required"], json!(["type", "name", "url"]));
        assert_eq!(schemas["HttpTool"]["required"].as_array().map(Vec::len), Some(10), "{}", schemas["HttpTool"]);
        assert!(schemas["EndCallTool"]["properties"].get("url").is_none());
    }
}
