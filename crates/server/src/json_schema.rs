//! Values that models write, held against the JSON Schema that they were given.
//!
//! Schemas are customers': references lead nowhere outside them, and patterns are matched in linear time.

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// How many problems are worth telling.
const TOLD: usize = 5;
/// The largest compiled pattern, in bytes.
const PATTERN: usize = 256 * 1024;

/// A schema that can be used.
#[derive(Clone, Debug)]
pub struct Schema(std::sync::Arc<Validator>);

impl Schema {
    /// Reads a schema of any draft.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence part.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let patterns = PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN);
        let validator = jsonschema::options().with_pattern_options(patterns).build(schema);
        validator.map(|validator| Self(std::sync::Arc::new(validator))).map_err(|error| {
            let place = error.instance_path.to_string();
            let words: String = error.to_string().chars().take(200).collect();
            if place.is_empty() { words } else { format!("{words} (at {place})") }
        })
    }

    /// What is wrong with `value`, for whoever wrote it; nothing when it follows the schema.
    #[must_use]
    pub fn problems(&self, value: &Value) -> Vec<String> {
        let described = |error: jsonschema::ValidationError<'_>| {
            let place = error.instance_path.to_string();
            if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
        };
        self.0.iter_errors(value).take(TOLD).map(described).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_held_against_schemas_and_schemas_against_reason() {
        let schema = json!({
            "type": "object", "required": ["day"],
            "properties": { "day": { "type": "string", "pattern": "^[A-Z]" }, "people": { "type": "integer" } },
        });
        let schema = Schema::new(&schema).expect("a schema");
        assert!(schema.problems(&json!({ "day": "Friday" })).is_empty());
        let problems = schema.problems(&json!({ "people": "four" }));
        assert!(problems.len() == 2 && problems.iter().any(|problem| problem.starts_with("/people: ")), "{problems:?}");
        assert!(Schema::new(&json!({ "type": "table" })).is_err());
        assert!(Schema::new(&json!({ "$ref": "http://127.0.0.1:9/schema.json" })).is_err(), "nothing is fetched");
        assert!(Schema::new(&json!({ "$ref": "file:///etc/passwd" })).is_err());
        assert!(Schema::new(&json!({ "pattern": "(a+)+\\1" })).is_err(), "no pattern that could take for ever");
    }
}
