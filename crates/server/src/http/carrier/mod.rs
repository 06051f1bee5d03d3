//! `/carrier/…`: what carriers tell and ask us. No API keys here: an address holds a token that nobody can guess, and the
//! carrier's signature is checked on every request, before anything else is looked at.

mod calls;
mod connections;
mod media;

use std::sync::Arc;

use super::HttpState;
use super::error::ApiError;
use crate::calls::Context;
use crate::calls::setup::SetupError;
use crate::carrier::Carrier;
use crate::carrier::callback::{CallbackRequest, Refused, Reply};
use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde::Deserialize;

/// Outside `/v1`: carriers come here, customers do not.
pub(super) fn routes() -> Router<HttpState> {
    Router::new()
        .route("/carrier/{provider}/calls/{token}/media", any(media::open))
        .route("/carrier/{provider}/calls/{token}/{topic}", any(calls::told))
        .route("/carrier/{provider}/connections/{token}/{topic}", any(connections::told))
}

/// The path of a request.
#[derive(Deserialize)]
struct Place {
    provider: String,
    token: String,
    topic: String,
}

/// A request as it came, and this node's calls.
struct Received {
    calls: Arc<Context>,
    method: Method,
    /// As the carrier was told it.
    url: String,
    headers: HeaderMap,
    now: i64,
}

impl FromRequestParts<HttpState> for Received {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, state: &HttpState) -> Result<Self, ApiError> {
        let Some(calls) = state.calls.clone() else {
            let detail = "This node has not the role calls. Send requests of carriers to those that have.";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no_calls_here", detail));
        };
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let url = format!("{}{path}", calls.setup.addresses().public_url());
        let now = state.clock.now().as_micros() / 1_000_000;
        Ok(Self { calls, method: parts.method.clone(), url, headers: parts.headers.clone(), now })
    }
}

impl Received {
    fn as_request<'a>(&'a self, topic: &'a str, body: &'a [u8]) -> CallbackRequest<'a> {
        CallbackRequest { method: &self.method, url: &self.url, headers: &self.headers, body, topic, now: self.now }
    }
}

fn nothing_here() -> ApiError {
    ApiError::not_found("carrier address")
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Signature(detail) => {
                tracing::warn!(detail, "a carrier's request failed its check");
                Self::new(StatusCode::FORBIDDEN, "bad_signature", detail)
            }
            Refused::Malformed(detail) => Self::invalid(detail),
            Refused::NotFound => nothing_here(),
        }
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        match self {
            Self::Empty => StatusCode::NO_CONTENT.into_response(),
            Self::Xml(text) => ([(header::CONTENT_TYPE, "text/xml; charset=utf-8")], text).into_response(),
            Self::Json(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
        }
    }
}

/// The carrier of a call or connection that can be reached under `provider`.
fn of_provider(carrier: Result<Arc<dyn Carrier>, SetupError>) -> Result<Arc<dyn Carrier>, ApiError> {
    carrier.map_err(|error| match error {
        SetupError::Database(error) => error.into(),
        SetupError::Config(words) => {
            // Without its credentials no signature can be checked.
            tracing::warn!(words, "a carrier's request cannot be checked");
            ApiError::new(
                StatusCode::FORBIDDEN,
                "bad_signature",
                "The carrier connection cannot be used, so the request cannot be checked.",
            )
        }
    })
}
