//! Extractors: a path id, a JSON body, a page of a list. Errors are 404 or 422 in the API's error shape.

mod copy;
pub(crate) mod large_integers;
mod nulls;
mod query;
mod words;

pub use self::nulls::NULL_IS_A_VALUE;
pub use self::query::Params;
pub use self::words::in_our_words;

use std::borrow::Cow;
use std::str::FromStr;

use axum::body::{Bytes, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;
use switchhook_core::agent::FieldError;

use self::words::blame;
use super::BODY_LIMIT;
use super::error::ApiError;
use crate::listener::TooSlow;

/// A JSON body. `warnings` names unknown fields; a missing body is `{}`.
#[derive(Debug)]
pub struct Body<T> {
    /// The parsed value.
    pub value: T,
    /// A sentence for each unknown field.
    pub warnings: Vec<String>,
}

/// The most unknown fields that a response names.
const MAX_WARNED: usize = 100;
/// The most characters of an unknown field's name that a response repeats.
const MAX_REPEATED: usize = 100;

/// U+FEFF, with which editors and encoders of Windows begin a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A parsed value and the paths of its unknown fields.
#[derive(Debug)]
pub struct Parsed<T> {
    /// The value.
    pub value: T,
    /// The paths, in the order of the text.
    pub unknown: Vec<String>,
}

impl<T> From<Parsed<T>> for Body<T> {
    fn from(Parsed { value, unknown }: Parsed<T>) -> Self {
        let left_out = unknown.len().saturating_sub(MAX_WARNED);
        let named = unknown.into_iter().take(MAX_WARNED).map(|path| format!("Unknown field {path} was ignored."));
        let rest = (left_out > 0).then(|| format!("{left_out} more unknown fields were ignored."));
        Self { value, warnings: named.chain(rest).collect() }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        parse(&JsonBytes::from_request(request, state).await?.0)
    }
}

/// The raw bytes of a JSON body; a missing body is `{}`.
#[derive(Debug)]
pub struct JsonBytes(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        UnreadBody(request).bytes().await.map(Self)
    }
}

/// An unread JSON body. A handler with an id in its path looks the resource up first, so that a missing one is a 404 whether or not the
/// body is valid (R11 of the contract).
#[derive(Debug)]
pub struct UnreadBody(Request);

impl<S: Send + Sync> FromRequest<S> for UnreadBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        Ok(Self(request))
    }
}

impl UnreadBody {
    /// Parses it as a `T`.
    ///
    /// # Errors
    /// 408 if it does not arrive in time, 413 if it is too large, 422 if it is not a `T`.
    pub async fn read<T: DeserializeOwned>(self) -> Result<Body<T>, ApiError> {
        parse(&self.bytes().await?)
    }

    /// Reads it, without a byte order mark; a missing body is `{}`.
    ///
    /// # Errors
    /// 408 if it does not arrive in time, 413 if it is too large, 422 if it is not declared as JSON, or not UTF-8.
    pub async fn bytes(self) -> Result<Bytes, ApiError> {
        let Self(request) = self;
        let is_json = said_to_be_json(request.headers());
        let too_large =
            || ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "The body is larger than 1 MiB.");
        // Reject by `Content-Length` before reading.
        if request.body().size_hint().lower() > BODY_LIMIT as u64 {
            return Err(too_large());
        }
        let bytes = Bytes::from_request(request, &()).await.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(),
            _ if TooSlow::caused(&rejection) => {
                let detail = "The body did not arrive in time. Send the request again.";
                ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail)
            }
            _ => ApiError::invalid("The body could not be read."),
        })?;
        let bytes = without_mark(bytes);
        if bytes.is_empty() {
            return Ok(Bytes::from_static(b"{}"));
        }
        if !is_json {
            return Err(ApiError::invalid("The body must be JSON, sent with one \"Content-Type: application/json\"."));
        }
        // The parser would skip invalid UTF-8 in unknown fields.
        if std::str::from_utf8(&bytes).is_err() {
            return Err(ApiError::invalid("The body must be UTF-8."));
        }
        Ok(bytes)
    }
}

/// Cuts a byte order mark, which a parser may ignore (RFC 8259 section 8.1).
fn without_mark(bytes: Bytes) -> Bytes {
    if bytes.starts_with(BYTE_ORDER_MARK) { bytes.slice(BYTE_ORDER_MARK.len()..) } else { bytes }
}

fn said_to_be_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let first_fits = kinds.next().is_none_or(|kind| is_json(kind.to_str().unwrap_or_default()));
    first_fits && kinds.next().is_none()
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
}

/// Parses `T` from a JSON object; names the invalid field and lists unknown ones. A field that is `null` is absent, but where
/// `null` is a value.
///
/// # Errors
/// 422 with the path of the first invalid field.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<Body<T>, ApiError> {
    Ok(parse_part(json, &[])?.into())
}

/// Like [`parse`], for a `T` that covers part of the object; the fields `elsewhere` are parsed separately.
///
/// # Errors
/// Like [`parse`].
pub fn parse_part<T: DeserializeOwned>(json: &[u8], elsewhere: &[&str]) -> Result<Parsed<T>, ApiError> {
    must_be_object(json)?;
    let json = nulls::without_nulls(json);
    read_part(&json, elsewhere).or_else(|refused| {
        // JSON treats 2.0 as a whole number; serde does not.
        let whole = without_empty_fractions(&json).ok_or(refused)?;
        read_part(&whole, elsewhere)
    })
}

/// Parses a JSON object, with every field that it has.
///
/// # Errors
/// 422 if it is none.
pub fn parse_object(json: &[u8]) -> Result<Map<String, Value>, ApiError> {
    must_be_object(json)?;
    Ok(read_part(json, &[])?.value)
}

/// Replaces `2.0` by `2`; `None` if the JSON has no such number.
fn without_empty_fractions(json: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len());
    let (mut rest, mut in_string) = (json, false);
    while let Some((&byte, after)) = rest.split_first() {
        // Zeros are counted behind a point only: counting them behind every byte takes quadratic time.
        if byte == b'.' && !in_string {
            let zeros = after.iter().take_while(|byte| **byte == b'0').count();
            let ends = after.get(zeros).is_none_or(|byte| !matches!(byte, b'0'..=b'9' | b'e' | b'E' | b'.'));
            if zeros > 0 && ends {
                rest = &after[zeros..];
                continue;
            }
        }
        in_string ^= byte == b'"';
        out.push(byte);
        rest = after;
        if byte == b'\\' && in_string && !rest.is_empty() {
            out.push(rest[0]);
            rest = &rest[1..];
        }
    }
    (out.len() < json.len()).then_some(out)
}

fn read_part<T: DeserializeOwned>(json: &[u8], elsewhere: &[&str]) -> Result<Parsed<T>, ApiError> {
    let mut unknown = Vec::new();
    let mut note = |path: serde_ignored::Path<'_>| {
        let path = ignored(&path);
        if !elsewhere.contains(&path.as_str()) {
            unknown.push(path);
        }
    };
    let text = json;
    let mut json = serde_json::Deserializer::from_slice(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let parsed = T::deserialize(serde_ignored::Deserializer::new(tracked, &mut note));
    let value = parsed.map_err(|error| match mistaken::<T>(text, &error) {
        Some((path, error)) => blame(&path, &error, &[]),
        None => blame(&dotted(&track.path()), &error, &unknown),
    })?;
    json.end().map_err(|error| blame(".", &error, &[]))?;
    Ok(Parsed { value, unknown })
}

/// Finds the real error when the parser rejects valid JSON, as it does for a number in place of an enum value.
fn mistaken<T: DeserializeOwned>(json: &[u8], error: &serde_json::Error) -> Option<(String, serde_json::Error)> {
    let value: Value = (error.is_syntax() || error.is_eof()).then(|| serde_json::from_slice(json).ok())??;
    let error = serde_path_to_error::deserialize::<_, T>(value).err()?;
    Some((dotted(error.path()), error.into_inner()))
}

/// Serde also parses structs from arrays, and neither database stores U+0000 in text.
fn must_be_object(json: &[u8]) -> Result<(), ApiError> {
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(match serde_json::from_slice::<IgnoredAny>(json) {
            Ok(_) => ApiError::invalid("The body must be a JSON object."),
            Err(error) => blame(".", &error, &[]),
        });
    }
    if has_nul(json) {
        return Err(ApiError::invalid("The body must not contain the character U+0000."));
    }
    if let Some(path) = large_integers::first(json) {
        let message = format!("must be from {} to {}: send a larger whole number as text", i64::MIN, u64::MAX);
        return Err(ApiError::invalid_field(path, message));
    }
    Ok(())
}

/// Returns whether a JSON string contains U+0000, always written as `\u0000`.
fn has_nul(json: &[u8]) -> bool {
    let escaped = json.windows(6).enumerate().filter(|(_, window)| window == b"\\u0000");
    let backslashes = |end: usize| json[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
    escaped.into_iter().any(|(start, _)| backslashes(start) % 2 == 0)
}

/// Finds the paths where the JSON has an array and `shape` an object: serde would parse a struct from it, or report its
/// content as bad JSON. A list's one entry in `shape`, and a field `*`, stand for all.
pub fn arrays_for_objects(json: &[u8], shape: &Value) -> Vec<FieldError> {
    fn compare(path: &str, sent: &Value, shape: &Value, errors: &mut Vec<FieldError>) {
        match (sent, shape) {
            (Value::Array(_), Value::Object(_)) => errors.push(FieldError::new(path, "must be an object")),
            (Value::Object(sent), Value::Object(shape)) => {
                for (name, sent) in sent {
                    if let Some(shape) = shape.get(name).or_else(|| shape.get("*")) {
                        compare(&below(path, name), sent, shape, errors);
                    }
                }
            }
            (Value::Array(sent), Value::Array(shape)) => {
                for (i, sent) in sent.iter().enumerate() {
                    shape.iter().for_each(|shape| compare(&below(path, &i.to_string()), sent, shape, errors));
                }
            }
            _ => {}
        }
    }
    let mut errors = Vec::new();
    if let Ok(sent @ Value::Object(_)) = serde_json::from_slice(json) {
        compare("", &sent, shape, &mut errors);
    }
    errors
}

/// Appends `name` to `path`.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The same for an unknown field.
fn ignored(path: &serde_ignored::Path<'_>) -> String {
    use serde_ignored::Path as P;
    match path {
        P::Root => String::new(),
        P::Seq { parent, index } => below(&ignored(parent), &index.to_string()),
        P::Map { parent, key } => below(&ignored(parent), &repeated(key)),
        P::Some { parent } | P::NewtypeStruct { parent } | P::NewtypeVariant { parent } => ignored(parent),
    }
}

/// The beginning of a name of any length.
fn repeated(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_REPEATED) {
        Some((end, _)) => format!("{}…", &name[..end]).into(),
        None => name.into(),
    }
}

/// Formats a path such as `stt.fallbacks.1.model`; `.` is the root.
fn dotted(path: &serde_path_to_error::Path) -> String {
    let part = |segment: &Segment| match segment {
        Segment::Seq { index } => index.to_string(),
        Segment::Map { key } => key.clone(),
        Segment::Enum { variant } => variant.clone(),
        Segment::Unknown => "?".to_owned(),
    };
    let parts: Vec<_> = path.iter().map(part).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join(".") }
}

const MAX_NAME: usize = 200;

/// Validates the name of a resource.
#[must_use]
pub fn check_name(path: &str, name: &str) -> Option<FieldError> {
    let message = match name {
        name if name.trim().is_empty() => "must not be empty".to_owned(),
        name if name.chars().count() > MAX_NAME => format!("must be at most {MAX_NAME} characters"),
        name if name.chars().any(char::is_control) => "must not contain control characters".to_owned(),
        _ => return None,
    };
    Some(FieldError::new(path, message))
}

/// An id from the path. Anything but a UUID is a 404.
#[derive(Debug)]
pub struct PathId<T>(pub T);

impl<S: Send + Sync, T: FromStr + Send> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let missing = || ApiError::not_found("resource");
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| missing())?;
        text.parse().map(Self).map_err(|_| missing())
    }
}

/// Two ids from the path, the outer one first. Anything but a UUID is a 404.
#[derive(Debug)]
pub struct PathIds<A, B>(pub A, pub B);

impl<S: Send + Sync, A: FromStr + Send, B: FromStr + Send> FromRequestParts<S> for PathIds<A, B> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let missing = || ApiError::not_found("resource");
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((outer, inner)) = path.map_err(|_| missing())?;
        Ok(Self(outer.parse().map_err(|_| missing())?, inner.parse().map_err(|_| missing())?))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Sample {
        inner: Inner,
    }
    #[derive(Debug, Deserialize)]
    struct Inner {
        count: u32,
    }

    #[test]
    fn unknown_fields_are_warned_of_and_wrong_ones_blamed_by_path() {
        let body: Body<Sample> = parse(br#"{"inner":{"count":1,"colour":2},"x":0}"#).expect("valid");
        assert_eq!(body.value.inner.count, 1);
        assert_eq!(body.warnings, ["Unknown field inner.colour was ignored.", "Unknown field x was ignored."]);

        let error = parse::<Sample>(br#"{"inner":{"count":"one"}}"#).expect_err("count is a string").body(None);
        assert_eq!((error.status, error.errors[0].path.as_str()), (422, "inner.count"));
        assert_eq!(error.errors[0].message, "must be a non-negative whole number");
        let error = parse::<Sample>(br#"{"inner":{}}"#).expect_err("count is missing").body(None);
        assert_eq!(error.detail, "inner.count: is required.");
        let error = parse::<Sample>(br#"{"inner":{"cuont":1},"x":0}"#).expect_err("count is missing").body(None);
        assert_eq!(error.detail, "inner.count: is required; the unknown field inner.cuont was ignored.");
        let error = parse::<Sample>(br#"{"y":1,"x":0}"#).expect_err("inner is missing").body(None);
        assert_eq!(error.detail, "inner: is required; the unknown fields y, x were ignored.");
        for bad in [&b"{} x"[..], b"", b"[]", b"[{\"count\":1}]", b"nonsense", br#"{"inner":{"count":1},"x":"\u0000"}"#]
        {
            assert_eq!(parse::<Sample>(bad).expect_err("not an object that fits").body(None).status, 422);
        }
        assert!(parse::<Sample>(br#"{"inner":{"count":1},"x":"a \\u0000"}"#).is_ok(), "a backslash, and no U+0000");
    }

    #[test]
    fn names_of_unknown_fields_are_not_repeated_without_end() {
        let long = "ä".repeat(100_000);
        let body: Body<Sample> = parse(format!(r#"{{"inner":{{"count":1}},"{long}":0}}"#).as_bytes()).expect("valid");
        assert_eq!(body.warnings, [format!("Unknown field {}… was ignored.", "ä".repeat(100))]);
        let fields: String = (0..1_000).map(|n| format!(r#","x{n}":0"#)).collect();
        let body: Body<Sample> = parse(format!(r#"{{"inner":{{"count":1}}{fields}}}"#).as_bytes()).expect("valid");
        assert_eq!(body.warnings.len(), 101);
        assert_eq!(body.warnings[99..], ["Unknown field x99 was ignored.", "900 more unknown fields were ignored."]);
    }

    /// It would take a quarter of an hour if the zeros were counted again behind each of them.
    #[test]
    fn a_megabyte_of_zeros_is_read_once() {
        let json = format!(r#"{{"a":2.0,"b":"{}"}}"#, "0".repeat(1 << 20));
        let whole = without_empty_fractions(json.as_bytes()).expect("it has an empty fraction");
        assert_eq!(whole.len(), json.len() - 2);
    }

    #[test]
    fn a_whole_number_may_be_written_with_an_empty_fraction() {
        let without =
            |json: &str| without_empty_fractions(json.as_bytes()).map(|json| String::from_utf8(json).expect("text"));
        assert_eq!(
            without(r#"{"a":2.0,"b":[1.00],"c":"3.0\".0","d":1.50}"#).as_deref(),
            Some(r#"{"a":2,"b":[1],"c":"3.0\".0","d":1.50}"#)
        );
        assert_eq!(without(r#"{"a":2.05,"b":2.0e1,"c":"2.0"}"#), None);
        let body = parse::<Sample>(br#"{"inner":{"count":408.0}}"#).expect("a whole number");
        assert_eq!(body.value.inner.count, 408);
        assert!(parse::<Sample>(br#"{"inner":{"count":408.5}}"#).is_err());
    }

    #[test]
    fn an_array_is_not_taken_for_an_object() {
        let shape = json!({ "inner": {}, "list": [{}], "map": { "*": {} } });
        for (json, paths) in [
            (r#"{"inner":[1]}"#, vec!["inner"]),
            (r#"{"inner":{"a":[1]},"other":[1],"list":[{}],"map":{"a":{}}}"#, vec![]),
            (r#"{"list":[{},[1],[2]],"map":{"a":[]}}"#, vec!["list.1", "list.2", "map.a"]),
        ] {
            let errors = arrays_for_objects(json.as_bytes(), &shape);
            assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), paths, "{json}");
        }
    }
}
