//! The tenant's rate limit: 429 beyond it, and on every response how much is left. Reads by people and by pages with event tokens have
//! separate windows, so that the dashboard does not use up the limit of programs; changes by people count like requests with a key, up to a
//! part of the tenant's limit.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use switchhook_core::id::{PersonId, TenantId};
use switchhook_core::rate::{Decision, policy_header};

use super::HttpState;
use super::audit;
use super::auth::session::is_safe;
use super::auth::{Actor, Tenant};
use super::error::ApiError;
use super::guest_rate::{GuestRequest, tighter};
use crate::store::sessions::SessionRow;
use crate::store::{Symptom, is_unavailable, rate};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

/// Middleware, behind [`auth::require`](super::auth::require): counts the request or rejects it.
pub(super) async fn enforce(
    state: HttpState,
    tenant: Tenant,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let guest = |guest| state.guest_rate.admit(guest, tenant.id, state.steady.now());
    let reads = is_safe(request.method());
    let (limit, decision) = match tenant.actor {
        Actor::Program => match admit(&state, tenant.id, tenant.limits.rate_per_minute).await {
            Ok(decided) => decided,
            // A database that cannot be written can still be read: such as one on a full disk.
            Err(error) if reads && is_unavailable(&error) => {
                state.store.note(Symptom::of(&error));
                let limit = tenant.limits.rate_per_minute;
                state.guest_rate.admit_unrecorded(tenant.id, limit, state.steady.now())
            }
            Err(error) => return Err(error.into()),
        },
        Actor::Page(token) => guest(GuestRequest::WithToken(token)),
        Actor::Person(person) if reads => guest(GuestRequest::Read(person)),
        Actor::Person(person) => admit_change(&state, tenant.id, tenant.limits.rate_per_minute, person).await?,
    };
    let mut response = match decision {
        Decision::Admitted { .. } => {
            audit::note_admission();
            next.run(request).await
        }
        Decision::Refused { retry_after_seconds } => refusal(limit, retry_after_seconds).into_response(),
    };
    put(response.headers_mut(), POLICY, &policy_header(limit));
    put(response.headers_mut(), STATE, &decision.rate_limit_header());
    Ok(response)
}

/// Decides by the tenant's limit. Returns the limit, too.
async fn admit(state: &HttpState, tenant: TenantId, limit: u32) -> Result<(u32, Decision), Arc<sqlx::Error>> {
    let request = rate::RateRequest { limit, at: state.clock.now() };
    Ok((limit, state.admissions.submit(tenant, request).await?))
}

/// Decides about what a person changes: by the limits of people, and by the tenant's.
async fn admit_change(
    state: &HttpState,
    tenant: TenantId,
    tenant_limit: u32,
    person: PersonId,
) -> Result<(u32, Decision), ApiError> {
    let request = GuestRequest::Change { person, tenant_limit };
    let decided = state.guest_rate.admit(request, tenant, state.steady.now());
    if let Decision::Refused { .. } = decided.1 {
        return Ok(decided);
    }
    let of_tenant = admit(state, tenant, tenant_limit).await?;
    if let Decision::Refused { .. } = of_tenant.1 {
        state.guest_rate.take_back(request, tenant);
    }
    Ok(tighter(decided, of_tenant))
}

/// Counts a look of the dashboard that is not below `/v1`.
pub(super) fn admit_page(state: &HttpState, tenant: TenantId, person: PersonId) -> Result<(), ApiError> {
    admitted(state.guest_rate.admit(GuestRequest::Read(person), tenant, state.steady.now()))
}

/// Counts a change by the dashboard that is not below `/v1`, as those below it.
pub(super) async fn admit_change_of_page(state: &HttpState, session: &SessionRow) -> Result<(), ApiError> {
    let limit = session.limits(&state.config).rate_per_minute;
    admitted(admit_change(state, session.tenant(), limit, session.person()).await?)?;
    audit::note_admission();
    Ok(())
}

fn admitted((limit, decision): (u32, Decision)) -> Result<(), ApiError> {
    match decision {
        Decision::Admitted { .. } => Ok(()),
        Decision::Refused { retry_after_seconds } => Err(refusal(limit, retry_after_seconds)),
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
