//! Describes invalid values in the terms of the API.

use crate::http::error::ApiError;

/// The most ignored fields that one message names.
const MAX_NAMED: usize = 5;

/// The error for what the JSON parser refuses at `path`; `.` is the whole body. `unknown` are the paths of ignored fields: one of them may
/// be meant where a field is missing.
pub(super) fn blame(path: &str, error: &serde_json::Error, unknown: &[String]) -> ApiError {
    if error.is_syntax() || error.is_eof() {
        return ApiError::invalid(not_json(error));
    }
    let words = error.to_string();
    let message = words.split(" at line ").next().unwrap_or(&words);
    let field = |name: &str| if path == "." { name.to_owned() } else { format!("{path}.{name}") };
    if let Some(missing) = named(message, "missing field") {
        let missing = field(missing);
        let message = format!("is required{}", ignored_beside(&missing, unknown));
        return ApiError::invalid_field(missing, message);
    }
    if let Some(twice) = named(message, "duplicate field") {
        return ApiError::invalid_field(field(twice), "must appear only once");
    }
    match path {
        "." => ApiError::invalid(format!("The body is invalid: {}.", in_our_words(message))),
        path => ApiError::invalid_field(path, in_our_words(message)),
    }
}

/// Names the ignored fields of the object that `missing` belongs to.
fn ignored_beside(missing: &str, unknown: &[String]) -> String {
    let object = |path: &str| path.rfind('.').map_or(0, |dot| dot + 1);
    let prefix = &missing[..object(missing)];
    let beside = unknown.iter().filter(|path| path[..object(path)] == *prefix).take(MAX_NAMED);
    match beside.map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!("; the unknown field {one} was ignored"),
        several => format!("; the unknown fields {} were ignored", several.join(", ")),
    }
}

fn not_json(error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    if error.is_eof() {
        return format!("The body is not JSON: it ends too early, at {place}.");
    }
    format!("The body is not JSON: {place}.")
}

/// The field that a message of serde names.
pub(super) fn named<'a>(message: &'a str, what: &str) -> Option<&'a str> {
    message.strip_prefix(what)?.strip_prefix(" `")?.strip_suffix('`')
}

/// Rewrites a parser error without the names of Rust's types and crates.
pub fn in_our_words(message: &str) -> String {
    if let Some(words) = of_text(message) {
        return words.to_owned();
    }
    let Some((_, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    let choice =
        message.starts_with("unknown variant").then(|| expected.trim_start_matches("one of ").replace('`', ""));
    match expected {
        _ if choice.is_some() => format!("must be one of: {}", choice.unwrap_or_default().replace(" or ", ", ")),
        "a boolean" => "must be true or false".to_owned(),
        "a formatted UUID string" => "must be a UUID".to_owned(),
        "a sequence" => "must be a list".to_owned(),
        "f32" | "f64" => "must be a number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" => "must be a non-negative whole number".to_owned(),
        "i8" | "i16" | "i32" | "i64" => "must be a whole number".to_owned(),
        "a map" => "must be an object".to_owned(),
        "string or map" => "must be a string".to_owned(),
        _ if expected.starts_with("struct ") => "must be an object".to_owned(),
        _ if message.starts_with("invalid type") => format!("must be {expected}"),
        _ => message.to_owned(),
    }
}

/// Returns the message for the error of a parser of text values: ids, times, and numbers in a query.
fn of_text(message: &str) -> Option<&'static str> {
    Some(match message {
        _ if message.starts_with("UUID parsing failed") => "must be a UUID",
        "not a date and time in RFC 3339 form, such as 2026-01-31T09:30:00Z" => {
            "must be a date and time in RFC 3339 form, such as 2026-01-31T09:30:00Z"
        }
        "provided string was not `true` or `false`" => "must be true or false",
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too large to fit in target type"
        | "number too small to fit in target type" => "must be a whole number",
        "invalid float literal" | "cannot parse float from empty string" => "must be a number",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde::de::value::StrDeserializer;
    use switchhook_core::Timestamp;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn parsers_of_values_are_put_into_our_words() {
        fn refusal<T: DeserializeOwned>(text: &str) -> String {
            let parsed = T::deserialize(StrDeserializer::<serde_urlencoded::de::Error>::new(text));
            in_our_words(&parsed.err().expect("not one").to_string())
        }
        for text in ["", "x", "0198c6a0-0000-7000-8000-00000000000", "0198c6a0-0000-7000-8000-0000000000zz"] {
            assert_eq!(refusal::<Uuid>(text), "must be a UUID", "{text}");
        }
        let yesterday = refusal::<Timestamp>("yesterday");
        assert!(yesterday.starts_with("must be a date and time in RFC 3339"), "{yesterday}");
        for text in ["", "x", "99999999999999999999", "-99999999999999999999", "1,2"] {
            let error = text.parse::<i64>().expect_err("not one").to_string();
            assert_eq!(in_our_words(&error), "must be a whole number", "{text}");
        }
        assert_eq!(in_our_words(&"yes".parse::<bool>().expect_err("not one").to_string()), "must be true or false");
        assert_eq!(in_our_words(&"x".parse::<f64>().expect_err("not one").to_string()), "must be a number");
    }

    #[test]
    fn a_body_that_is_not_json_is_told_where() {
        #[derive(Debug, Deserialize)]
        struct Sample {
            #[expect(dead_code, reason = "only its parser is tested")]
            a: i64,
        }
        let detail = |json: &str| {
            let error = serde_json::from_str::<Sample>(json).expect_err("wrong");
            blame(".", &error, &[]).body(None).detail
        };
        assert_eq!(detail("nonsense"), "The body is not JSON: line 1, column 2.");
        assert_eq!(detail("{\n \"a\": 1,}"), "The body is not JSON: line 2, column 9.");
        assert_eq!(detail("{\"a\":"), "The body is not JSON: it ends too early, at line 1, column 5.");
        assert_eq!(detail(r#"{"a":1,"a":2}"#), "a: must appear only once.");
    }

    #[test]
    fn a_whole_body_is_refused_in_the_same_words_as_a_field() {
        let error = serde_json::from_str::<Vec<bool>>("{}").expect_err("wrong");
        assert_eq!(blame(".", &error, &[]).body(None).detail, "The body is invalid: must be a list.");
        assert_eq!(blame("events", &error, &[]).body(None).detail, "events: must be a list.");
    }
}
