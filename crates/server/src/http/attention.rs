//! `GET /v1/attention`: the tenant's problems that need attention.

use axum::Json;
use serde::Serialize;
use switchhook_core::id::WebhookId;
use switchhook_core::{Timestamp, quota};
use url::Url;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::HttpState;
use super::auth::Tenant;
use super::error::{ApiError, CommonErrors};
use crate::store::deliveries::backlog::{self, Failing};
use crate::store::refusals::{self, RefusedConnection};
use crate::store::{Conn, calls, dial_policy, numbers, tenants};

/// The most items of a kind.
const MOST: i64 = 20;
/// A limit is near from this part of it.
const NEAR: f64 = 0.8;

/// The routes below `/v1`.
pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// What needs attention.
#[derive(Serialize, ToSchema)]
struct Attention {
    /// Worst first, at most 20 of a kind.
    data: Vec<AttentionItem>,
}

/// Something that needs attention.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "kind": "credentials_refused",
    "subject": { "type": "connection", "id": "0198c6a0-0000-7000-8000-000000000000", "name": "Main line" },
    "since": "2026-01-31T12:00:00.000000Z",
    "detail": "twilio refuses the credentials of \"Main line\".",
    "count": 3,
    "limit": null,
}))]
struct AttentionItem {
    /// Kind of problem.
    kind: AttentionKind,
    /// What a problem concerns.
    subject: Subject,
    /// Start of the problem, if known.
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// The problem in one sentence.
    detail: String,
    /// Refused calls, or waiting deliveries (up to 1000).
    count: Option<i64>,
    /// A limit that is near.
    limit: Option<NearLimit>,
}

/// Kind of problem.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum AttentionKind {
    /// A carrier or provider refuses the credentials or settings of a connection.
    CredentialsRefused,
    /// Deliveries to an endpoint fail.
    WebhookFailing,
    /// At least 80 % of a limit are used.
    LimitNear,
    /// Nobody answers calls to a number.
    NumberWithoutAgent,
}

/// What a problem concerns.
#[derive(Serialize, ToSchema)]
struct Subject {
    /// Kind of resource.
    #[serde(rename = "type")]
    kind: SubjectKind,
    /// Unique id.
    id: Uuid,
    /// Its name, URL or number.
    name: String,
}

/// Kind of resource.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SubjectKind {
    /// A connection.
    Connection,
    /// A webhook endpoint.
    Webhook,
    /// The tenant.
    Tenant,
    /// A number.
    Number,
}

/// A limit that is near.
#[derive(Serialize, ToSchema)]
struct NearLimit {
    /// A limit.
    name: LimitName,
    /// Usage.
    #[schema(minimum = 0)]
    used: f64,
    /// Limit.
    #[schema(minimum = 0)]
    limit: f64,
}

/// A limit.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum LimitName {
    /// Concurrent calls.
    ConcurrentCalls,
    /// Calls placed in a month.
    MonthlyCalls,
    /// The cost of a day's calls.
    CostPerDayUsd,
}

/// Get what needs attention.
///
/// Lists refused connections, failing endpoints, limits nearly reached and unanswered numbers.
#[utoipa::path(
    get, path = "/attention", operation_id = "show_attention", tag = "Statistics",
    responses(
        (status = 200, description = "What needs attention", body = Attention),
        CommonErrors,
    )
)]
async fn show(state: HttpState, tenant: Tenant) -> Result<Json<Attention>, ApiError> {
    let mut conn = state.store.read().await?;
    let mut data: Vec<AttentionItem> =
        refusals::list(&mut conn, tenant.id, MOST).await?.into_iter().map(refused).collect();
    for webhook in backlog::failing(&mut conn, tenant.id, MOST).await? {
        data.push(failing(&mut conn, tenant, webhook).await?);
    }
    data.extend(near_limits(&mut conn, tenant, state.clock.now()).await?);
    for number in numbers::without_agent(&mut conn, tenant.id, MOST).await? {
        data.push(AttentionItem {
            detail: format!("Calls to {} are not answered.", number.number),
            since: Some(Timestamp::from_micros(number.updated_at)),
            subject: Subject { kind: SubjectKind::Number, id: number.id, name: number.number },
            kind: AttentionKind::NumberWithoutAgent,
            count: None,
            limit: None,
        });
    }
    Ok(Json(Attention { data }))
}

fn refused(connection: RefusedConnection) -> AttentionItem {
    let RefusedConnection { id, name, provider, since, calls, detail } = connection;
    let reason = if detail.is_empty() { String::new() } else { format!(": {}", detail.trim_end_matches('.')) };
    AttentionItem {
        kind: AttentionKind::CredentialsRefused,
        since: Some(Timestamp::from_micros(since)),
        detail: format!("{provider} refuses the credentials of \"{name}\"{reason}."),
        subject: Subject { kind: SubjectKind::Connection, id, name },
        count: Some(calls),
        limit: None,
    }
}

async fn failing(conn: &mut Conn, tenant: Tenant, webhook: Failing) -> Result<AttentionItem, ApiError> {
    let id = WebhookId::from_uuid(webhook.id);
    let detail = match webhook.disabled_reason {
        Some(reason) => reason,
        None => {
            let last = backlog::last_failure(conn, tenant.id, id).await?;
            let url = Url::parse(&webhook.url).ok();
            let host = url.as_ref().and_then(Url::host_str).unwrap_or(&webhook.url);
            match last.map(|last| (last.status, last.error)) {
                Some((Some(status), _)) => format!("{host} answers with {status}."),
                Some((None, Some(error))) => format!("{host}: {}.", error.trim_end_matches('.')),
                _ => format!("{host} does not take deliveries."),
            }
        }
    };
    Ok(AttentionItem {
        kind: AttentionKind::WebhookFailing,
        since: Some(Timestamp::from_micros(webhook.failing_since.unwrap_or(webhook.updated_at))),
        detail,
        count: Some(backlog::waiting(conn, tenant.id, id).await?),
        subject: Subject { kind: SubjectKind::Webhook, id: webhook.id, name: webhook.url },
        limit: None,
    })
}

async fn near_limits(conn: &mut Conn, tenant: Tenant, now: Timestamp) -> Result<Vec<AttentionItem>, ApiError> {
    let row = tenants::get(conn, tenant.id).await?.ok_or_else(ApiError::unauthorized)?;
    let usage = calls::count_for_quota(conn, tenant.id, quota::month_start(now), u32::MAX).await?;
    let limits = tenant.limits;
    let mut found = vec![(
        NearLimit {
            name: LimitName::ConcurrentCalls,
            used: f64::from(usage.concurrent_calls),
            limit: f64::from(limits.concurrent_calls),
        },
        format!("{} of {} concurrent calls are in use.", usage.concurrent_calls, limits.concurrent_calls),
    )];
    if let Some(limit) = limits.monthly_calls {
        let (used, limit) = (f64::from(usage.monthly_calls), f64::from(limit));
        let detail = format!("{used} of {limit} calls of this month are placed.");
        found.push((NearLimit { name: LimitName::MonthlyCalls, used, limit }, detail));
    }
    if let Some(limit) = dial_policy::of(&row).cost_per_day_micros {
        let used = dial_policy::cost_today(conn, tenant.id, now).await? as f64 / 1_000_000.0;
        let limit = limit as f64 / 1_000_000.0;
        let detail = format!("Today's calls have cost {used:.2} of {limit:.2} US dollars.");
        found.push((NearLimit { name: LimitName::CostPerDayUsd, used, limit }, detail));
    }
    let near = found.into_iter().filter(|(near, _)| near.used > 0.0 && near.used >= near.limit * NEAR);
    let item = |(near, detail)| AttentionItem {
        kind: AttentionKind::LimitNear,
        subject: Subject { kind: SubjectKind::Tenant, id: row.id, name: row.name.clone() },
        since: None,
        detail,
        count: None,
        limit: Some(near),
    };
    Ok(near.map(item).collect())
}
