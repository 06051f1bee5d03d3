//! Request ids: in the response, in error bodies and in every log line of the request.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use switchhook_core::id::RequestId;
use switchhook_runtime::clock::{self, Clock};
use tracing::Instrument as _;

/// The header with the id.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The id of the request being handled by this task.
#[must_use]
pub fn current() -> Option<String> {
    CURRENT.try_with(ToString::to_string).ok()
}

/// Returns the path for logs, without the tokens in carrier URLs.
fn shown(path: &str) -> String {
    match path.strip_prefix("/carrier/") {
        Some(rest) => format!("/carrier/{}/…", rest.split('/').next().unwrap_or_default()),
        None => path.to_owned(),
    }
}

/// Middleware: creates the id. It ignores ids sent by clients, which could be forged.
pub async fn assign(State(clock): State<Clock>, request: Request, next: Next) -> Response {
    let id = RequestId::new(clock.now(), clock::random());
    let span = tracing::info_span!("request", id = %id, method = %request.method(), path = shown(request.uri().path()));
    let mut response = CURRENT.scope(id, next.run(request).instrument(span)).await;
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}
