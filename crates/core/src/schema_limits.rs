//! Limits the cost of customers' JSON Schemas.
//!
//! A reference costs as much as its target, so a schema of a few hundred bytes can expand to millions of nodes. Schemas are
//! checked and compiled with every reference expanded; a schema that exceeds the limits is rejected, which includes every
//! recursive one.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Maximum size of a schema, in bytes of JSON.
pub const MAX_BYTES: usize = 64 * 1024;
/// Maximum nesting depth, references expanded.
pub const MAX_DEPTH: usize = 32;
/// Maximum subschemas, references expanded.
pub const MAX_NODES: usize = 1_000;
/// Maximum size with references expanded, in bytes of JSON.
const MAX_WRITTEN_OUT: usize = 4 * MAX_BYTES;
/// Maximum nesting of schemas with `unevaluatedProperties` or `unevaluatedItems`: each of them evaluates its content twice.
const MAX_UNEVALUATED: usize = 3;
/// Maximum characters of a reference in an error.
const QUOTED: usize = 100;

/// Keywords whose value is a schema. Before draft 2020-12, `items` can be a list of them.
pub const SCHEMA_KEYWORDS: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
pub const SCHEMA_LIST_KEYWORDS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is an object of schemas; in `dependencies` there can be lists of names among them.
const MAPS: [&str; 4] = ["dependencies", "dependentSchemas", "patternProperties", "properties"];
/// Keywords whose value is not a schema. Validators ignore all others.
const PLAIN: [&str; 23] = [
    "const",
    "contentEncoding",
    "contentMediaType",
    "dependentRequired",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "type",
    "uniqueItems",
];
/// Drafts that ignore keywords beside a reference.
const REFERENCE_STANDS_ALONE: [&str; 4] = ["draft-03", "draft-04", "draft-06", "draft-07"];

/// Why a schema is rejected, as part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaRefusal {
    /// It is too large.
    #[error("must be at most {MAX_BYTES} bytes of JSON")]
    TooLong,
    /// It is nested too deep.
    #[error("must not be nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// It has too many subschemas.
    #[error("must have at most {MAX_NODES} nodes once its references are expanded")]
    TooManyNodes,
    /// It is too large with references expanded.
    #[error("must be at most {MAX_WRITTEN_OUT} bytes of JSON once its references are expanded")]
    TooLongWrittenOut,
    /// It is recursive.
    #[error("must not refer to itself, as {0:?} does: write out the levels you need")]
    Recursive(String),
    /// A reference points outside.
    #[error("may only refer to parts of itself, such as \"#/$defs/address\", not to {0:?}")]
    Elsewhere(String),
    /// A reference has no target.
    #[error("refers to {0:?}, which does not exist")]
    Nowhere(String),
    /// It uses a keyword whose target depends on the referring schema.
    #[error("must not use {0}; use $ref")]
    Dynamic(&'static str),
    /// Too many nested keywords that depend on the result of others.
    #[error("must not nest unevaluatedProperties and unevaluatedItems more than {MAX_UNEVALUATED} deep")]
    Unevaluated,
    /// The validator matches such patterns with a backtracking engine, whose time is unbounded.
    #[error("must not use patternProperties together with unevaluatedProperties; use additionalProperties")]
    UnevaluatedPatterns,
}

/// Returns an equivalent schema with every reference expanded.
///
/// # Errors
/// If it exceeds a limit, is recursive, or refers to anything but its own parts.
pub fn written_out(schema: &Value) -> Result<Value, SchemaRefusal> {
    if schema.to_string().len() > MAX_BYTES {
        return Err(SchemaRefusal::TooLong);
    }
    let draft = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let alone = REFERENCE_STANDS_ALONE.iter().any(|name| draft.contains(name));
    let mut writer = Writer::new(schema, alone);
    let mut written = writer.schema(schema)?;
    if writer.has_unevaluated_properties && writer.has_pattern_properties {
        return Err(SchemaRefusal::UnevaluatedPatterns);
    }
    if let (Some(fields), Some(draft)) = (written.as_object_mut(), schema.get("$schema")) {
        fields.insert("$schema".to_owned(), draft.clone());
    }
    Ok(written)
}

struct Writer<'s> {
    root: &'s Value,
    /// Whether keywords beside a reference are ignored.
    alone: bool,
    /// The schemas that contain the current one, including itself.
    within: Vec<&'s Value>,
    /// How many of them have such keywords.
    unevaluated: usize,
    has_unevaluated_properties: bool,
    has_pattern_properties: bool,
    nodes: usize,
    bytes: usize,
}

impl<'s> Writer<'s> {
    fn new(root: &'s Value, alone: bool) -> Self {
        Self {
            root,
            alone,
            within: Vec::new(),
            unevaluated: 0,
            has_unevaluated_properties: false,
            has_pattern_properties: false,
            nodes: 0,
            bytes: 0,
        }
    }

    fn schema(&mut self, schema: &'s Value) -> Result<Value, SchemaRefusal> {
        let schema = self.followed(schema)?;
        if self.within.len() > MAX_DEPTH {
            return Err(SchemaRefusal::TooDeep);
        }
        // The validation of their form reports values that are not schemas.
        let Value::Object(fields) = schema else { return self.plain(schema) };
        let unevaluated = usize::from(fields.keys().any(|keyword| keyword.starts_with("unevaluated")));
        self.unevaluated += unevaluated;
        if self.unevaluated > MAX_UNEVALUATED {
            return Err(SchemaRefusal::Unevaluated);
        }
        self.has_unevaluated_properties |= fields.contains_key("unevaluatedProperties");
        self.has_pattern_properties |= fields.contains_key("patternProperties");
        self.within.push(schema);
        let written = self.object(fields);
        self.within.pop();
        self.unevaluated -= unevaluated;
        written
    }

    /// Expands a schema that is only a reference.
    fn followed(&self, schema: &'s Value) -> Result<&'s Value, SchemaRefusal> {
        let (mut schema, mut seen) = (schema, Vec::new());
        while let Value::Object(fields) = schema
            && (self.alone || fields.len() == 1)
            && let Some(reference) = reference(fields)?
        {
            seen.push(schema);
            schema = self.target(reference)?;
            if seen.iter().any(|earlier| std::ptr::eq(*earlier, schema)) {
                return Err(SchemaRefusal::Recursive(quoted(reference)));
            }
            if seen.len() > MAX_DEPTH {
                return Err(SchemaRefusal::TooDeep);
            }
        }
        Ok(schema)
    }

    /// Returns the target of a reference, which must not contain the reference.
    fn target(&self, reference: &str) -> Result<&'s Value, SchemaRefusal> {
        let pointer = match reference.strip_prefix('#') {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => decoded(pointer),
            _ => return Err(SchemaRefusal::Elsewhere(quoted(reference))),
        };
        let target = self.root.pointer(&pointer).ok_or_else(|| SchemaRefusal::Nowhere(quoted(reference)))?;
        if self.within.iter().any(|open| std::ptr::eq(*open, target)) {
            return Err(SchemaRefusal::Recursive(quoted(reference)));
        }
        Ok(target)
    }

    fn object(&mut self, fields: &'s Map<String, Value>) -> Result<Value, SchemaRefusal> {
        if let Some(keyword) = ["$dynamicRef", "$recursiveRef"].into_iter().find(|name| fields.contains_key(*name)) {
            return Err(SchemaRefusal::Dynamic(keyword));
        }
        self.count(1, 0)?;
        let mut written = Map::new();
        for (keyword, value) in fields {
            if let Some(value) = self.keyword(keyword, value)? {
                self.count(0, keyword.len())?;
                written.insert(keyword.clone(), value);
            }
        }
        // A reference applies together with the keywords beside it.
        if let Some(reference) = reference(fields)? {
            let target = self.target(reference)?;
            let referred = self.schema(target)?;
            let all = written.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(all) = all {
                all.push(referred);
            }
        }
        Ok(Value::Object(written))
    }

    /// Expands a keyword; `None` if validators ignore it.
    fn keyword(&mut self, keyword: &str, value: &'s Value) -> Result<Option<Value>, SchemaRefusal> {
        let written = match (keyword, value) {
            (keyword, Value::Object(fields)) if MAPS.contains(&keyword) => {
                let mut written = Map::new();
                for (name, value) in fields {
                    self.count(0, name.len())?;
                    let value = if value.is_array() { self.plain(value)? } else { self.schema(value)? };
                    written.insert(name.clone(), value);
                }
                Value::Object(written)
            }
            (keyword, Value::Array(list)) if SCHEMA_LIST_KEYWORDS.contains(&keyword) || keyword == "items" => {
                Value::Array(list.iter().map(|schema| self.schema(schema)).collect::<Result<_, _>>()?)
            }
            (keyword, value) if SCHEMA_KEYWORDS.contains(&keyword) => self.schema(value)?,
            (keyword, value)
                if MAPS.contains(&keyword) || SCHEMA_LIST_KEYWORDS.contains(&keyword) || PLAIN.contains(&keyword) =>
            {
                self.plain(value)?
            }
            _ => return Ok(None),
        };
        Ok(Some(written))
    }

    fn plain(&mut self, value: &Value) -> Result<Value, SchemaRefusal> {
        self.count(usize::from(value.is_boolean()), value.to_string().len())?;
        Ok(value.clone())
    }

    fn count(&mut self, nodes: usize, bytes: usize) -> Result<(), SchemaRefusal> {
        self.nodes += nodes;
        self.bytes += bytes;
        if self.nodes > MAX_NODES {
            return Err(SchemaRefusal::TooManyNodes);
        }
        if self.bytes > MAX_WRITTEN_OUT {
            return Err(SchemaRefusal::TooLongWrittenOut);
        }
        Ok(())
    }
}

fn reference(fields: &Map<String, Value>) -> Result<Option<&str>, SchemaRefusal> {
    match fields.get("$ref") {
        None => Ok(None),
        Some(Value::String(reference)) => Ok(Some(reference)),
        Some(other) => Err(SchemaRefusal::Elsewhere(quoted(&other.to_string()))),
    }
}

fn quoted(reference: &str) -> String {
    reference.chars().take(QUOTED).collect()
}

/// Decodes the percent-encoding of a URI fragment (RFC 3986 section 2.1).
fn decoded(fragment: &str) -> Cow<'_, str> {
    percent_decode_str(fragment).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a schema with `levels` definitions, each of which refers to the next one twice.
    fn doubling(levels: usize) -> Value {
        let definition = |level: usize| {
            let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
            (format!("d{level}"), json!({ "allOf": [next, next] }))
        };
        let mut definitions: Map<String, Value> = (0..levels).map(definition).collect();
        definitions.insert(format!("d{levels}"), json!({ "type": "string" }));
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/d0" } }, "$defs": definitions })
    }

    #[test]
    fn a_schema_is_as_large_as_it_is_with_its_references_written_out() {
        // 2^9 - 1 nodes of definitions and the object itself.
        assert!(written_out(&doubling(8)).is_ok());
        assert_eq!(written_out(&doubling(18)), Err(SchemaRefusal::TooManyNodes));

        let properties = |count: usize| {
            let properties: Map<String, Value> = (0..count).map(|n| (format!("p{n}"), json!({}))).collect();
            written_out(&json!({ "properties": properties }))
        };
        assert!(properties(MAX_NODES - 1).is_ok());
        assert_eq!(properties(MAX_NODES), Err(SchemaRefusal::TooManyNodes));

        let large = json!({ "enum": ["x".repeat(30_000)] });
        let often = json!({ "allOf": vec![json!({ "$ref": "#/$defs/large" }); 100], "$defs": { "large": large } });
        assert_eq!(written_out(&often), Err(SchemaRefusal::TooLongWrittenOut));
        assert_eq!(written_out(&json!({ "description": "x".repeat(MAX_BYTES) })), Err(SchemaRefusal::TooLong));
    }

    #[test]
    fn nesting_ends_whether_it_is_literal_or_by_reference() {
        let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "items": inner }));
        assert!(written_out(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(written_out(&nested(MAX_DEPTH + 1)), Err(SchemaRefusal::TooDeep));
        let chain: Map<String, Value> = (0..2_000)
            .map(|n| (format!("{n}"), json!({ "$ref": format!("#/$defs/{}", n + 1) })))
            .chain([("2000".to_owned(), json!({}))])
            .collect();
        assert_eq!(written_out(&json!({ "$ref": "#/$defs/0", "$defs": chain })), Err(SchemaRefusal::TooDeep));
        let inside = |inner: Value| json!({ "unevaluatedProperties": { "allOf": [inner] } });
        let beside = |inner: Value| json!({ "unevaluatedProperties": false, "allOf": [{ "anyOf": [inner] }] });
        for around in [inside as fn(Value) -> Value, beside] {
            let unevaluated = |levels: usize| (0..levels).fold(json!({}), |inner, _| around(inner));
            assert!(written_out(&unevaluated(MAX_UNEVALUATED)).is_ok());
            assert_eq!(written_out(&unevaluated(MAX_UNEVALUATED + 1)), Err(SchemaRefusal::Unevaluated));
        }
    }

    #[test]
    fn patterns_are_not_matched_by_a_backtracking_engine() {
        let closed = json!({ "allOf": [{ "patternProperties": { "^(a+)+$": {} } }], "unevaluatedProperties": false });
        assert_eq!(written_out(&closed), Err(SchemaRefusal::UnevaluatedPatterns));
        let open = json!({ "patternProperties": { "^a": {} }, "additionalProperties": false });
        assert!(written_out(&open).is_ok());
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_refused_in_every_notation() {
        for reference in ["#", "#/$defs/tree", "#/$defs/tr%65e", "#/properties/a"] {
            let tree = json!({ "properties": { "children": { "items": { "$ref": reference } } } });
            let schema = json!({ "properties": { "a": { "$ref": "#/$defs/tree" } }, "$defs": { "tree": tree } });
            assert!(matches!(written_out(&schema), Err(SchemaRefusal::Recursive(_))), "{reference}");
        }
        let circle = json!({ "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } });
        let circle = written_out(&json!({ "not": { "$ref": "#/$defs/a" }, "$defs": circle }));
        assert_eq!(circle, Err(SchemaRefusal::Recursive("#/$defs/a".to_owned())));
    }

    #[test]
    fn references_lead_to_parts_of_the_schema_and_nowhere_else() {
        for elsewhere in ["https://example.com/a.json", "file:///etc/passwd", "other.json#/a", "#anchor", ""] {
            let refused = written_out(&json!({ "$ref": elsewhere }));
            assert_eq!(refused, Err(SchemaRefusal::Elsewhere(elsewhere.to_owned())));
        }
        assert!(matches!(written_out(&json!({ "$ref": "#/$defs/a" })), Err(SchemaRefusal::Nowhere(_))));
        assert_eq!(written_out(&json!({ "not": { "$dynamicRef": "#a" } })), Err(SchemaRefusal::Dynamic("$dynamicRef")));
        // An id of its own would make its references refer to its own parts.
        let own = json!({ "$id": "https://a.example/b", "allOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "minimum": 9 } } });
        let schema = json!({ "properties": { "x": own }, "$defs": { "a": { "minimum": 1 } } });
        assert_eq!(
            written_out(&schema),
            Ok(json!({ "properties": { "x": { "allOf": [{ "minimum": 1 }] } } })),
            "they lead from the root, and nothing is left that could lead elsewhere"
        );
    }

    #[test]
    fn what_is_written_out_means_the_same() {
        let name = json!({ "type": "string", "maxLength": 9 });
        let definitions = json!({ "a/b": name, "plain": true });
        let reference = json!({ "$ref": "#/$defs/a~1b", "minLength": 2, "description": "A name." });
        let schema = json!({
            "title": "T", "type": "object", "required": ["n"], "$defs": definitions,
            "properties": { "n": reference, "$ref": { "$ref": "#/$defs/plain" }, "c": { "const": { "$ref": "x" } } },
        });
        let properties =
            json!({ "n": { "minLength": 2, "allOf": [name] }, "$ref": true, "c": { "const": { "$ref": "x" } } });
        assert_eq!(written_out(&schema), Ok(json!({ "type": "object", "required": ["n"], "properties": properties })));
        let draft = "http://json-schema.org/draft-07/schema#";
        let older = json!({ "$schema": draft, "items": [{ "$ref": "#/definitions/n", "minLength": 2 }], "definitions": { "n": name } });
        assert_eq!(written_out(&older), Ok(json!({ "$schema": draft, "items": [name] })), "beside it nothing counts");
    }
}
