//! Responses to unknown paths, wrong methods, panics and timeouts.

use std::any::Any;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;

pub(super) async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "No such path. See GET /docs.")
}

/// The router adds `Allow`.
pub(super) async fn method_not_allowed() -> ApiError {
    let detail = "This path does not support this method. The Allow header lists those it does.";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}

pub(super) fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("request panicked; the reason is on standard error");
    ApiError::internal().into_response()
}

/// Middleware: cancels a request whose response does not start in time. An uncommitted transaction is rolled back. The body of
/// a response, such as an event stream, has no time limit.
pub(super) async fn limit_time(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    tokio::time::timeout(limit, next.run(request)).await.map_err(|_| {
        let detail = "The request timed out. It can be sent again.";
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", detail).retry_after(1)
    })
}

/// Middleware: forbids caching, because responses can contain secrets and change at any time.
pub(super) async fn do_not_store(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
