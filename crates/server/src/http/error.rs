//! One shape for every error (R10 of the contract); `detail` is always one plain sentence.

pub mod by_operation;
pub mod codes;

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use switchhook_core::agent::FieldError;
use tokio::time::Instant;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{IntoResponses, PartialSchema, ToSchema};

use crate::store::{Symptom, is_unavailable, why_unwritable};
use crate::telemetry::Seldom;

/// Lines about a database that is away: every request then causes one.
static UNAVAILABLE: Seldom = Seldom::new();

/// An error response. Middleware adds the request's id to its body and headers.
#[derive(Clone, Debug)]
pub struct ApiError {
    status: StatusCode,
    code: &'static str,
    detail: String,
    errors: Vec<FieldError>,
    retry_after_seconds: Option<u64>,
    allow: Option<&'static str>,
    symptom: Option<Symptom>,
}

/// The body of an error response.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// URI of the kind of error.
    #[serde(rename = "type")]
    #[schema(format = "uri")]
    pub kind: String,
    /// The status text.
    pub title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// The problem in one sentence.
    pub detail: String,
    /// Error code.
    #[schema(value_type = ProblemCode)]
    pub code: String,
    /// As in `X-Request-Id` and the service's logs.
    #[schema(format = Uuid)]
    pub request_id: Option<String>,
    /// Invalid fields, for status 422.
    pub errors: Vec<ErrorField>,
}

/// A code of errors.
struct ProblemCode;

impl ToSchema for ProblemCode {}
impl PartialSchema for ProblemCode {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).into() // The document has its words.
    }
}

/// An invalid field.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ErrorField {
    /// Path in the body, such as `limits.max_duration_seconds`, or the name of a parameter or header.
    pub path: String,
    /// The problem.
    pub message: String,
}

/// The errors of every endpoint below `/v1`, for the OpenAPI document.
#[derive(IntoResponses)]
pub enum CommonErrors {
    /// No valid API key or session: missing, malformed, wrong, expired or revoked, or both sent.
    #[response(status = 401)]
    Unauthorized(ErrorBody),
    /// The tenant is deactivated, or the role or origin does not permit this.
    #[response(status = 403)]
    Forbidden(ErrorBody),
    /// Invalid request; `errors` lists the fields and query parameters.
    #[response(status = 422)]
    Invalid(ErrorBody),
    /// Too many requests.
    #[response(status = 429)]
    TooMany(ErrorBody),
    /// Internal error; the service's log has the reason under the request id.
    #[response(status = 500)]
    Internal(ErrorBody),
    /// The service is overloaded or stopping.
    #[response(status = 503)]
    Unavailable(ErrorBody),
}

/// The errors of every endpoint with an id in its path, for the OpenAPI document.
#[derive(IntoResponses)]
pub enum NotFound {
    /// The resource does not exist in this tenant.
    #[response(status = 404)]
    NotFound(ErrorBody),
}

/// The errors of every endpoint that takes a body, for the OpenAPI document.
#[derive(IntoResponses)]
pub enum InvalidRequest {
    /// The body did not arrive in time.
    #[response(status = 408)]
    Slow(ErrorBody),
    /// The body is larger than 1 MiB.
    #[response(status = 413)]
    TooLarge(ErrorBody),
}

/// The errors of endpoints whose resource must be unique or unused, for the OpenAPI document.
#[derive(IntoResponses)]
pub enum Conflict {
    /// It already exists or is still in use.
    #[response(status = 409)]
    Conflict(ErrorBody),
}

impl ApiError {
    /// Creates an error with a status, a stable code and a sentence.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        debug_assert!(codes::meaning(code).is_some(), "codes.rs lacks {code}");
        Self {
            status,
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after_seconds: None,
            allow: None,
            symptom: None,
        }
    }

    /// 401: no valid key. The same for every reason, so that it reveals nothing.
    #[must_use]
    pub fn unauthorized() -> Self {
        let detail = "A valid API key is required. Send it as \"Authorization: Bearer <key>\".";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    /// 404: the resource does not exist in this tenant.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("No such {what}."))
    }

    /// 409.
    #[must_use]
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// 422 without a field.
    #[must_use]
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", detail)
    }

    /// 422 with invalid fields; the first one becomes `detail`.
    #[must_use]
    pub fn invalid_fields(errors: Vec<FieldError>) -> Self {
        let detail = match errors.first() {
            Some(first) if first.message.ends_with('?') => format!("{}: {}", first.path, first.message),
            Some(first) => format!("{}: {}.", first.path, first.message),
            None => "The request is invalid.".to_owned(),
        };
        Self { errors, ..Self::invalid(detail) }
    }

    /// 422 for one field.
    #[must_use]
    pub fn invalid_field(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid_fields(vec![FieldError::new(path, message)])
    }

    /// 429 with the seconds to wait; at least one.
    #[must_use]
    pub fn too_many(code: &'static str, detail: impl Into<String>, retry_after_seconds: u64) -> Self {
        let retry_after_seconds = Some(retry_after_seconds.max(1));
        Self { retry_after_seconds, ..Self::new(StatusCode::TOO_MANY_REQUESTS, code, detail) }
    }

    /// 500. The reason goes to the log, not to the client.
    #[must_use]
    pub fn internal() -> Self {
        let detail = "An internal error occurred. The service's log has the reason under this request id.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", detail)
    }

    /// The same error, of a field: `errors` names it.
    #[must_use]
    pub fn of_field(mut self, path: &str) -> Self {
        self.errors = vec![FieldError::new(path, self.detail.trim_end_matches('.'))];
        self
    }

    /// The same error with `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds.max(1));
        self
    }

    /// The same error with `Allow`, for status 405.
    #[must_use]
    pub fn allow(mut self, methods: &'static str) -> Self {
        self.allow = Some(methods);
        self
    }

    /// Returns its code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Returns whether the service failed, and not the request.
    #[must_use]
    pub fn is_of_service(&self) -> bool {
        self.status.is_server_error()
    }

    /// Returns the response body for this request.
    #[must_use]
    pub fn body(&self, request_id: Option<String>) -> ErrorBody {
        ErrorBody {
            kind: format!("https://switchhook.dev/errors/{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            code: self.code.to_owned(),
            request_id,
            errors: self
                .errors
                .iter()
                .map(|error| ErrorField { path: error.path.clone(), message: error.message.clone() })
                .collect(),
        }
    }
}

/// An unavailable or busy database is a 503, any other database error a 500; the reason goes to the log.
impl From<&sqlx::Error> for ApiError {
    fn from(error: &sqlx::Error) -> Self {
        if is_unavailable(error) {
            if let Some(left_out) = UNAVAILABLE.line(Instant::now()) {
                tracing::error!(%error, left_out, "the database is unavailable to requests");
            }
            let detail = match why_unwritable(error) {
                Some(why) => format!("The database cannot be written: {why}. Try again."),
                None => "The database is unavailable. Try again.".to_owned(),
            };
            let away = Self::new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", detail).retry_after(1);
            return Self { symptom: Symptom::of(error), ..away };
        }
        tracing::error!(%error, "database error while handling a request");
        Self::internal()
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        Self::from(&error)
    }
}

/// The error of a batch, shared by all its requests.
impl From<Arc<sqlx::Error>> for ApiError {
    fn from(error: Arc<sqlx::Error>) -> Self {
        Self::from(&*error)
    }
}

impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        tracing::error!(error = format!("{error:#}"), "request failed");
        Self::internal()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let request_id = super::request_id::current();
        let mut response = (self.status, axum::Json(self.body(request_id))).into_response();
        if let Some(symptom) = self.symptom {
            response.extensions_mut().insert(symptom);
        }
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(methods) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(methods));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_away_is_worth_another_try_and_a_broken_query_is_not() {
        let away = ApiError::from(sqlx::Error::PoolTimedOut).into_response();
        assert_eq!(away.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(away.headers()["retry-after"], "1");
        assert_eq!(
            ApiError::from(sqlx::Error::RowNotFound).into_response().status(),
            StatusCode::INTERNAL_SERVER_ERROR
        );
    }
}
