//! `GET /v1/tenant`: the tenant's limits and their use.

use axum::Json;
use serde::Serialize;
use switchhook_core::Timestamp;
use switchhook_core::dial_policy::{DialPolicy, Prefix};
use switchhook_core::id::TenantId;
use switchhook_core::quota;
use switchhook_core::rate::RATE_WINDOW;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::HttpState;
use super::auth::Tenant;
use super::error::ApiError;
use super::response::JsonResponse;
use crate::store::bounds::{self, Stored};
use crate::store::tenants::TenantRow;
use crate::store::{Conn, calls, dial_policy, tenants};

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// A tenant.
#[derive(Debug, Serialize, ToSchema)]
pub struct TenantResource {
    /// Unique id.
    id: Uuid,
    /// Its name.
    #[schema(example = "Acme")]
    name: String,
    /// Calls queued, dialing or in progress, including inbound calls.
    concurrent_calls: ConcurrentCalls,
    /// Calls placed in this calendar month (UTC).
    monthly_calls: MonthlyCalls,
    /// Requests per window.
    rate_limit: RateLimit,
    /// Stored resources.
    stored: StoredResource,
    /// Numbers the tenant can call.
    dial_policy: DialPolicyResource,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// Stored resources. The operator sets the limits; requests beyond one get 422.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stored)]
pub struct StoredResource {
    /// Agents.
    agents: StoredAmount,
    /// Connections.
    connections: StoredAmount,
    /// Phone numbers.
    numbers: StoredAmount,
    /// Webhook endpoints.
    webhooks: StoredAmount,
    /// People, including invited ones.
    people: StoredAmount,
    /// API keys that are not revoked.
    api_keys: StoredAmount,
    /// Bytes of the versions of agents, including versions of deleted agents that calls keep.
    agent_bytes: StoredAmount,
}

/// A stored amount.
#[derive(Debug, Serialize, ToSchema)]
pub struct StoredAmount {
    /// The limit.
    #[schema(minimum = 0)]
    limit: i64,
    /// Current amount; can exceed a limit set later.
    #[schema(minimum = 0)]
    in_use: i64,
}

impl StoredResource {
    async fn of(conn: &mut Conn, tenant: &TenantRow) -> Result<Self, sqlx::Error> {
        let in_use = bounds::all_in_use(conn, tenant.tenant()).await?;
        let amount = |of: Stored| StoredAmount { limit: tenant.bound(of), in_use: in_use[of as usize] };
        Ok(Self {
            agents: amount(Stored::Agents),
            connections: amount(Stored::Connections),
            numbers: amount(Stored::Numbers),
            webhooks: amount(Stored::Webhooks),
            people: amount(Stored::People),
            api_keys: amount(Stored::ApiKeys),
            agent_bytes: amount(Stored::AgentBytes),
        })
    }
}

/// Concurrent calls.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConcurrentCalls {
    /// The limit.
    limit: u32,
    /// Current number.
    in_use: u32,
}

/// Calls per month.
#[derive(Debug, Serialize, ToSchema)]
pub struct MonthlyCalls {
    /// `null` for no cap.
    limit: Option<u32>,
    /// Calls so far.
    used: u32,
    /// When the next month starts.
    #[schema(value_type = String, format = DateTime)]
    resets_at: Timestamp,
}

/// Numbers the tenant can call; set by the operator. Premium-rate, shared-cost and satellite numbers must be named in `allow`. The tenant's own
/// numbers are always refused.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = DialPolicy)]
pub struct DialPolicyResource {
    /// Allowed prefixes; empty allows every country.
    #[schema(example = json!(["+1", "+44"]))]
    allow: Vec<String>,
    /// Denied prefixes.
    #[schema(example = json!(["+1900"]))]
    deny: Vec<String>,
    /// Calls and transfers to one number in 24 hours; `null` for no limit.
    #[schema(minimum = 0, example = 20)]
    per_number_per_day: Option<u32>,
    /// Daily cost (UTC) at which no further calls are placed; `null` for no cap.
    #[schema(minimum = 0, example = 50.0)]
    cost_per_day_usd: Option<f64>,
}

impl From<DialPolicy> for DialPolicyResource {
    fn from(policy: DialPolicy) -> Self {
        let texts = |prefixes: &[Prefix]| prefixes.iter().map(|prefix| prefix.as_str().to_owned()).collect();
        Self {
            allow: texts(&policy.allow),
            deny: texts(&policy.deny),
            per_number_per_day: policy.per_number_per_day,
            cost_per_day_usd: policy.cost_per_day_micros.map(|micros| micros as f64 / 1_000_000.0),
        }
    }
}

/// Requests in a sliding window.
#[derive(Debug, Serialize, ToSchema)]
pub struct RateLimit {
    /// Requests per window. The `RateLimit` header has the remaining number.
    limit: u32,
    /// Window length.
    window_seconds: u64,
}

/// Get the tenant.
///
/// Returns the key's tenant with its limits and their use.
#[utoipa::path(
    get, path = "/tenant", operation_id = "show_tenant", tag = "Tenant",
    responses((status = 200, description = "The tenant", body = TenantResource))
)]
async fn show(state: HttpState, tenant: Tenant) -> JsonResponse<TenantResource> {
    resource(&state, tenant.id).await.map(Json)
}

/// Returns a tenant with its limits and their use.
pub(super) async fn resource(state: &HttpState, tenant: TenantId) -> Result<TenantResource, ApiError> {
    let now = state.clock.now();
    let mut conn = state.store.read().await?;
    let row = tenants::get(&mut conn, tenant).await?.ok_or_else(ApiError::unauthorized)?;
    let usage = calls::count_for_quota(&mut conn, tenant, quota::month_start(now), u32::MAX).await?;
    let limits = row.limits(&state.config);
    let dial_policy = dial_policy::of(&row).into();
    let stored = StoredResource::of(&mut conn, &row).await?;
    Ok(TenantResource {
        id: row.id,
        name: row.name,
        concurrent_calls: ConcurrentCalls { limit: limits.concurrent_calls, in_use: usage.concurrent_calls },
        monthly_calls: MonthlyCalls {
            limit: limits.monthly_calls,
            used: usage.monthly_calls,
            resets_at: quota::next_month_start(now),
        },
        rate_limit: RateLimit { limit: limits.rate_per_minute, window_seconds: RATE_WINDOW.as_secs() },
        stored,
        dial_policy,
        created_at: Timestamp::from_micros(row.created_at),
    })
}
