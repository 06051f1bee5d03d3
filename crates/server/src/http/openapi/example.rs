//! Builds examples from the examples, defaults and formats of a schema's parts.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::document::SCHEMAS;
use crate::http::error::{ApiError, by_operation, codes};

/// Builds an example for a schema without one.
pub(super) fn example(schema: &Value, schemas: &Value) -> Value {
    if let Some(example) = schema.get("example").or_else(|| schema.get("default")) {
        return example.clone();
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|at| at.strip_prefix(SCHEMAS)) {
        return example(&schemas[name], schemas);
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|part| example(part, schemas));
        return parts.filter_map(|part| part.as_object().cloned()).flatten().collect::<Map<_, _>>().into();
    }
    if let Some(any) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        let may_be_null = any.iter().any(|one| one["type"] == "null");
        return any.first().filter(|_| !may_be_null).map_or(Value::Null, |first| example(first, schemas));
    }
    if let Some(first) = schema["enum"].as_array().and_then(|words| words.first()) {
        return first.clone();
    }
    of_type(schema, schemas)
}

fn of_type(schema: &Value, schemas: &Value) -> Value {
    let kind = match &schema["type"] {
        // Leaves optional fields out unless they have an example.
        Value::Array(kinds) if kinds.contains(&json!("null")) => "null",
        Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or_default(),
        kind => kind.as_str().unwrap_or_default(),
    };
    match (kind, schema["format"].as_str()) {
        ("object", _) => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            properties
                .filter(|(name, _)| *name != "warnings")
                .map(|(name, schema)| (name.clone(), example(schema, schemas)))
                .filter(|(name, example)| !example.is_null() || required.contains(&json!(name)))
                .collect::<Map<_, _>>()
                .into()
        }
        ("array", _) => match &schema["items"] {
            Value::Null => json!([]),
            items => json!([example(items, schemas)]),
        },
        ("string", Some("uuid")) => "0198c6a0-0000-7000-8000-000000000000".into(),
        ("string", Some("date-time")) => "2026-01-31T12:00:00.000000Z".into(),
        ("string", _) => "text".into(),
        ("integer" | "number", _) => schema.get("minimum").cloned().unwrap_or(json!(0)),
        ("boolean", _) => false.into(),
        _ => Value::Null,
    }
}

/// Returns the example error body for this status.
pub(super) fn error_example(status: &str) -> Value {
    let status = status.parse().ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let error = match status.as_u16() {
        401 => ApiError::unauthorized(),
        403 => ApiError::new(status, "tenant_deactivated", "This tenant is deactivated."),
        404 => ApiError::not_found("resource"),
        408 => ApiError::new(status, "body_timeout", "The body did not arrive in time. Send the request again."),
        413 => ApiError::new(status, "body_too_large", "The body is larger than 1 MiB."),
        416 => ApiError::new(status, "range_not_satisfiable", "The range starts after the end."),
        422 => ApiError::invalid_field("name", "must not be empty"),
        429 => ApiError::too_many(
            "rate_limited",
            "Rate limit exceeded: 120 requests in 60 seconds are allowed. Try again in 9 s.",
            9,
        ),
        503 => ApiError::new(status, "timeout", "The request timed out. It can be sent again."),
        _ => ApiError::internal(),
    };
    body(&error)
}

fn body(error: &ApiError) -> Value {
    let body = error.body(Some("0198c6a0-0000-7000-8000-000000000000".to_owned()));
    serde_json::to_value(body).unwrap_or_default()
}

/// Returns the example body of an operation's status 409: the first of its codes.
pub(super) fn conflict(operation: &str) -> Value {
    let code =
        by_operation::own(operation, 409).next().unwrap_or_else(|| panic!("{operation} has no code for status 409"));
    let meaning = codes::meaning(code).unwrap_or_default();
    let (first, rest) = meaning.split_at_checked(1).unwrap_or_default();
    body(&ApiError::conflict(code, format!("{}{rest}.", first.to_uppercase())))
}
