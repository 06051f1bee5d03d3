//! The tenant's rate limit: 429 beyond it, and on every response how much is left. Requests of the dashboard have a window of their
//! own, so that looking at pages costs programs nothing.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use switchhook_core::rate::{Decision, policy_header};

use super::HttpState;
use super::auth::{Principal, Tenant};
use super::error::ApiError;
use super::page_rate;
use crate::store::rate;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

/// Middleware, behind [`auth::require`](super::auth::require): counts the request or rejects it.
pub(super) async fn enforce(
    state: HttpState,
    tenant: Tenant,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let at = state.clock.now();
    let (limit, decision) = match tenant.principal {
        Principal::Key(_) => {
            let limit = tenant.limits.rate_per_minute;
            (limit, state.admissions.submit(tenant.id, rate::RateRequest { limit, at }).await?)
        }
        Principal::Session(_) => (page_rate::LIMIT, state.page_rate.admit(tenant.id, at)),
    };
    let mut response = match decision {
        Decision::Admitted { .. } => next.run(request).await,
        Decision::Refused { retry_after_seconds } => refusal(limit, retry_after_seconds).into_response(),
    };
    put(response.headers_mut(), POLICY, &policy_header(limit));
    put(response.headers_mut(), STATE, &decision.rate_limit_header());
    Ok(response)
}

fn refusal(limit: u32, retry_after_seconds: u64) -> ApiError {
    let detail = format!(
        "Rate limit exceeded: {limit} requests in 60 seconds are allowed. Try again in {retry_after_seconds} s."
    );
    ApiError::too_many("rate_limited", detail, retry_after_seconds)
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
