//! Answers to what no handler answers: unknown paths, wrong methods, panics, and what takes too long.

use std::any::Any;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::error::ApiError;

pub(super) async fn not_found() -> ApiError {
    ApiError::new(
        StatusCode::NOT_FOUND,
        "not_found",
        "There is nothing at this address. GET /docs shows what there is.",
    )
}

/// The router adds `Allow`.
pub(super) async fn method_not_allowed() -> ApiError {
    let detail = "This address does not take this method; the Allow header names those it takes.";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}

pub(super) fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a request panicked; the reason is on standard error");
    ApiError::internal().into_response()
}

/// Middleware: what takes too long until its answer begins is given up. A transaction that was not committed by then never
/// happened. What follows, such as a stream of events, may take for ever.
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

/// Middleware: answers may hold secrets and are about now, so nobody in between keeps them.
pub(super) async fn do_not_store(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
