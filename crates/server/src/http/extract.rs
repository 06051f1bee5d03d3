//! What handlers take: a path id, a JSON body, a page of a list. Whatever is wrong with them is a 404 or 422 of our own shape.

use std::str::FromStr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;
use uuid::Uuid;

use super::error::ApiError;

/// A JSON body. Fields that nobody knows are named in `warnings`; a missing body is `{}`.
#[derive(Debug)]
pub struct Body<T> {
    /// What was sent.
    pub value: T,
    /// One sentence per unknown field.
    pub warnings: Vec<String>,
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        parse(&JsonBytes::from_request(request, state).await?.0)
    }
}

/// The bytes of a JSON body, for those who need them as they were sent; a missing body is `{}`.
#[derive(Debug)]
pub struct JsonBytes(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let is_json = request.headers().get(CONTENT_TYPE).is_none_or(|kind| is_json(kind.to_str().unwrap_or_default()));
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", "The body is larger than 1 MiB.")
            }
            _ => ApiError::invalid("The body could not be read."),
        })?;
        if bytes.is_empty() {
            return Ok(Self(Bytes::from_static(b"{}")));
        }
        if !is_json {
            return Err(ApiError::invalid("The body must be JSON, sent with \"Content-Type: application/json\"."));
        }
        Ok(Self(bytes))
    }
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
}

/// Reads `T` from JSON text, blaming the field that is wrong and naming those that are unknown.
///
/// # Errors
/// 422 with the path of the first wrong field.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<Body<T>, ApiError> {
    let mut warnings = Vec::new();
    let mut unknown = |path: serde_ignored::Path<'_>| warnings.push(format!("Unknown field {path} was ignored."));
    let mut json = serde_json::Deserializer::from_slice(json);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let parsed = T::deserialize(serde_ignored::Deserializer::new(tracked, &mut unknown));
    let value = parsed.map_err(|error| blame(&track.path().to_string(), &error))?;
    json.end().map_err(|error| blame(".", &error))?;
    Ok(Body { value, warnings })
}

fn blame(path: &str, error: &serde_json::Error) -> ApiError {
    if error.is_syntax() || error.is_eof() {
        return ApiError::invalid(format!("The body is not valid JSON: {error}."));
    }
    let words = error.to_string();
    let message = words.split(" at line ").next().unwrap_or(&words);
    if path == "." {
        ApiError::invalid(format!("The body is invalid: {message}."))
    } else {
        ApiError::invalid_field(path, message)
    }
}

/// Reads an id from the path; anything that is not a UUID cannot exist, so it is a 404.
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

/// Query parameters of type `T`; what does not fit is a 422.
#[derive(Debug)]
pub struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query
            .map(|Query(value)| Self(value))
            .map_err(|rejection| ApiError::invalid(format!("{}.", rejection.body_text())))
    }
}

/// Which page of a list. Newest first; the cursor is the id of the last row seen.
#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// How many, 1 to 100.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100, default = 20)]
    pub limit: i64,
    /// `next_cursor` of the page before.
    pub cursor: Option<Uuid>,
}

fn default_limit() -> i64 {
    20
}

impl Page {
    /// This page when its limit is allowed.
    ///
    /// # Errors
    /// 422 when it is not.
    pub fn checked(self) -> Result<Self, ApiError> {
        if (1..=100).contains(&self.limit) {
            Ok(self)
        } else {
            Err(ApiError::invalid_field("limit", "must be from 1 to 100"))
        }
    }
}

#[cfg(test)]
mod tests {
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
        let error = parse::<Sample>(b"{} x").expect_err("two things wrong").body(None);
        assert_eq!(error.status, 422);
    }
}
