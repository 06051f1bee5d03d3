//! The tenant's rate limit: 429 beyond it, and on every response how much is left. What the dashboard reads has a window of its own, so
//! that looking at pages costs programs nothing; what it changes counts like requests with a key.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use switchhook_core::id::TenantId;
use switchhook_core::rate::{Decision, policy_header};

use super::HttpState;
use super::auth::session::is_safe;
use super::auth::{Principal, Tenant};
use super::error::ApiError;
use super::page_rate;
use crate::store::{is_unavailable, rate};

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
    let looks = matches!(tenant.principal, Principal::Session(_)) && is_safe(request.method());
    let (limit, decision) = if looks {
        (page_rate::LIMIT, state.page_rate.admit(tenant.id, at))
    } else {
        let limit = tenant.limits.rate_per_minute;
        match state.admissions.submit(tenant.id, rate::RateRequest { limit, at }).await {
            Ok(decision) => (limit, decision),
            // A database that cannot be written can still be read: such as one on a full disk.
            Err(error) if is_safe(request.method()) && is_unavailable(&error) => {
                (page_rate::LIMIT, state.page_rate.admit(tenant.id, at))
            }
            Err(error) => return Err(error.into()),
        }
    };
    let mut response = match decision {
        Decision::Admitted { .. } => next.run(request).await,
        Decision::Refused { retry_after_seconds } => refusal(limit, retry_after_seconds).into_response(),
    };
    put(response.headers_mut(), POLICY, &policy_header(limit));
    put(response.headers_mut(), STATE, &decision.rate_limit_header());
    Ok(response)
}

/// Counts a look of the dashboard that is not below `/v1`.
pub(super) fn admit_page(state: &HttpState, tenant: TenantId) -> Result<(), ApiError> {
    match state.page_rate.admit(tenant, state.clock.now()) {
        Decision::Admitted { .. } => Ok(()),
        Decision::Refused { retry_after_seconds } => Err(refusal(page_rate::LIMIT, retry_after_seconds)),
    }
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
