//! `/v1/webhooks/{id}/deliveries` and `/v1/webhooks/{id}/test`.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchhook_core::Timestamp;
use switchhook_core::event::{DeliveryBody, EventData, EventKind, WEBHOOK_TEST};
use switchhook_core::id::{CallId, DeliveryId, WebhookId};
use switchhook_runtime::clock;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{IntoParams, PartialSchema, ToSchema};
use uuid::Uuid;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, Conflict};
use crate::http::extract::{Params, PathId, PathIds};
use crate::http::response::{JsonResponse, List, created};
use crate::http::string_enum::string_enum;
use crate::store::calls;
use crate::store::deliveries::{self, AttemptRow, DeliveryFilter, DeliveryRow, NewBody, NewDelivery, STATES};
use crate::store::page::PageRequest;
use crate::store::webhooks::{self, WebhookRow};
use crate::store::{Conn, Tx};

/// Filters. Separate several values with commas, or repeat the parameter.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Query {
    /// State of the delivery.
    #[param(style = Form, explode = false, value_type = Option<Vec<DeliveryState>>, min_items = 1)]
    state: Option<String>,
    /// Event of the delivery.
    #[param(style = Form, explode = false, value_type = Option<Vec<DeliveryEvent>>, min_items = 1)]
    event: Option<String>,
    /// Call of the delivery.
    #[serde(alias = "call")]
    call_id: Option<Uuid>,
}

/// State of a delivery.
struct DeliveryState;

impl ToSchema for DeliveryState {}
impl PartialSchema for DeliveryState {
    fn schema() -> RefOr<Schema> {
        string_enum("State of a delivery.", STATES)
    }
}

/// Event of a delivery.
struct DeliveryEvent;

impl DeliveryEvent {
    fn words() -> impl Iterator<Item = &'static str> {
        EventKind::ALL.iter().map(|kind| kind.as_str()).chain([WEBHOOK_TEST])
    }
}

impl ToSchema for DeliveryEvent {}
impl PartialSchema for DeliveryEvent {
    fn schema() -> RefOr<Schema> {
        string_enum("Event of a delivery.", Self::words())
    }
}

/// Delivery of an event to an endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DeliveryResource {
    /// Also in the request body and the `X-Voice-Delivery` header.
    id: Uuid,
    /// The event.
    #[schema(value_type = DeliveryEvent)]
    event: String,
    /// The call; `null` for a test.
    call_id: Option<Uuid>,
    /// State.
    #[schema(value_type = DeliveryState)]
    state: String,
    /// Number of attempts made.
    #[schema(minimum = 0, maximum = 8)]
    attempts: i64,
    /// When the next attempt is due.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_attempt_at: Option<Timestamp>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<DeliveryRow> for DeliveryResource {
    fn from(row: DeliveryRow) -> Self {
        Self {
            id: row.id,
            event: row.event,
            call_id: row.call_id,
            state: row.state,
            attempts: row.attempts,
            next_attempt_at: row.next_attempt_at.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(row.created_at),
        }
    }
}

/// A delivery with every attempt.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DeliveryWithAttempts {
    #[serde(flatten)]
    delivery: DeliveryResource,
    /// Attempts, oldest first.
    attempt_log: Vec<Attempt>,
}

impl DeliveryWithAttempts {
    pub(in crate::http) fn new(row: DeliveryRow, attempts: Vec<AttemptRow>) -> Self {
        Self { delivery: row.into(), attempt_log: attempts.into_iter().map(Attempt::from).collect() }
    }
}

/// A delivery attempt.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Attempt {
    /// Number, from 1.
    #[schema(minimum = 1, maximum = 8)]
    number: i64,
    /// When it started.
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// `null` while it runs, or if the service stopped first.
    duration_ms: Option<i64>,
    /// HTTP status; `null` without a response.
    status: Option<i64>,
    /// `null` if it succeeded.
    error: Option<String>,
    /// The start of the response body.
    response_excerpt: Option<String>,
}

impl From<AttemptRow> for Attempt {
    fn from(row: AttemptRow) -> Self {
        Self {
            number: row.number,
            started_at: Timestamp::from_micros(row.started_at),
            duration_ms: row.duration_ms,
            status: row.status,
            error: row.error,
            response_excerpt: row.response_excerpt,
        }
    }
}

/// List a webhook's deliveries.
///
/// The newest come first.
#[utoipa::path(
    get, path = "/webhooks/{id}/deliveries", operation_id = "list_deliveries", tag = "Webhooks",
    params(("id" = Uuid, Path, description = "The endpoint"), Query, PageRequest),
    responses((status = 200, description = "A page of deliveries", body = List<DeliveryResource>))
)]
pub(super) async fn list(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<WebhookId>,
    query: Result<Params<Query>, ApiError>,
    page: Result<PageRequest, ApiError>,
) -> JsonResponse<List<DeliveryResource>> {
    let mut conn = state.store.read().await?;
    webhook(&mut conn, tenant, id).await?;
    let (Params(query), page) = (query?, page?);
    let events: Vec<&str> = DeliveryEvent::words().collect();
    let filter = DeliveryFilter {
        state: words("state", query.state.as_deref(), &STATES)?,
        event: words("event", query.event.as_deref(), &events)?,
        call: query.call_id,
    };
    let page = deliveries::list(&mut conn, tenant.id, id, &filter, page).await?;
    Ok(Json(List::of(page, DeliveryResource::from)))
}

/// Parses the comma-separated enum values of a filter.
fn words(name: &str, value: Option<&str>, known: &[&str]) -> Result<Vec<String>, ApiError> {
    let words: Vec<String> = value.iter().flat_map(|text| text.split(',')).map(|word| word.trim().to_owned()).collect();
    if words.iter().all(|word| known.contains(&word.as_str())) {
        return Ok(words);
    }
    Err(ApiError::invalid_field(name, format!("must be one of: {}", known.join(", "))))
}

async fn webhook(conn: &mut Conn, tenant: Tenant, id: WebhookId) -> Result<WebhookRow, ApiError> {
    webhooks::get(conn, tenant.id, id).await?.ok_or_else(super::webhook_not_found)
}

async fn delivery(
    conn: &mut Conn,
    tenant: Tenant,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<DeliveryRow, ApiError> {
    deliveries::get(conn, tenant.id, webhook, id).await?.ok_or_else(|| ApiError::not_found("delivery"))
}

/// Get a delivery.
///
/// Returns the delivery with every attempt.
#[utoipa::path(
    get, path = "/webhooks/{id}/deliveries/{delivery_id}", operation_id = "show_delivery", tag = "Webhooks",
    params(("id" = Uuid, Path, description = "The endpoint"), ("delivery_id" = Uuid, Path, description = "The delivery")),
    responses((status = 200, description = "The delivery", body = DeliveryWithAttempts))
)]
pub(super) async fn show(
    state: HttpState,
    tenant: Tenant,
    PathIds(webhook, id): PathIds<WebhookId, DeliveryId>,
) -> JsonResponse<DeliveryWithAttempts> {
    let mut conn = state.store.read().await?;
    let row = delivery(&mut conn, tenant, webhook, id).await?;
    let attempts = deliveries::attempts(&mut conn, tenant.id, id).await?;
    Ok(Json(DeliveryWithAttempts::new(row, attempts)))
}

/// Repeat a delivery.
///
/// Tries a pending delivery at once (200), as one of its 8 attempts. For a finished one, creates a delivery (201) with a new id, the same
/// `created` and `data`, and 8 attempts of its own.
#[utoipa::path(
    post, path = "/webhooks/{id}/deliveries/{delivery_id}/redeliver", operation_id = "redeliver", tag = "Webhooks",
    params(("id" = Uuid, Path, description = "The endpoint"), ("delivery_id" = Uuid, Path, description = "The delivery")),
    responses(
        (status = 200, description = "The pending delivery", body = DeliveryResource),
        (status = 201, description = "The new delivery", body = DeliveryResource,
            headers(("Location" = String, description = "URL of what was created"))),
        Conflict,
    )
)]
pub(super) async fn redeliver(
    state: HttpState,
    tenant: Tenant,
    PathIds(webhook_id, id): PathIds<WebhookId, DeliveryId>,
) -> Result<Response, ApiError> {
    let now = state.clock.now();
    let mut tx = state.store.begin().await?;
    let endpoint = webhook(&mut tx, tenant, webhook_id).await?;
    let row = delivery(&mut tx, tenant, webhook_id, id).await?;
    must_be_enabled(&endpoint)?;
    if matches!(row.state.as_str(), "pending" | "sending") {
        deliveries::bring_forward(&mut tx, tenant.id, id, now).await?;
        let row = delivery(&mut tx, tenant, webhook_id, id).await?;
        tx.commit().await?;
        state.wakeups.webhooks.notify_one();
        return Ok(Json(DeliveryResource::from(row)).into_response());
    }
    if let Some(call) = row.call_id {
        // Locks the body against deletion until it is copied.
        calls::lock(&mut tx, tenant.id, CallId::from_uuid(call)).await?;
    }
    let old = deliveries::body::get(&mut tx, tenant.id, id).await?;
    let old: StoredBody<'_> = serde_json::from_slice(&old).map_err(anyhow::Error::from)?;
    let data = EventData::from_stored(old.data.get().to_owned()).map_err(anyhow::Error::from)?;
    let happened = Timestamp::from_millis(old.created.saturating_mul(1_000));
    let sending = New { event: &row.event, call: row.call_id, happened, data };
    let new = put(&mut tx, tenant, webhook_id, sending, now).await?;
    tx.commit().await?;
    state.wakeups.webhooks.notify_one();
    Ok(new.into_response(webhook_id))
}

/// The fields of a stored body, except its id.
#[derive(Deserialize)]
struct StoredBody<'a> {
    created: i64,
    #[serde(borrow)]
    data: &'a RawValue,
}

fn must_be_enabled(endpoint: &WebhookRow) -> Result<(), ApiError> {
    if endpoint.enabled {
        return Ok(());
    }
    let detail = "The webhook is disabled. Enable it first.";
    Err(ApiError::conflict("webhook_disabled", detail))
}

/// Test a webhook.
///
/// Sends `webhook.test`, whatever the endpoint's filter. Retried like any other event.
#[utoipa::path(
    post, path = "/webhooks/{id}/test", operation_id = "test_webhook", tag = "Webhooks", params(("id" = Uuid, Path, description = "The endpoint")),
    responses(
        (status = 201, description = "The delivery", body = DeliveryResource,
            headers(("Location" = String, description = "URL of what was created"))),
        Conflict,
    )
)]
pub(super) async fn test(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<WebhookId>,
) -> Result<Response, ApiError> {
    let now = state.clock.now();
    let mut tx = state.store.begin().await?;
    must_be_enabled(&webhook(&mut tx, tenant, id).await?)?;
    let sending = New { event: WEBHOOK_TEST, call: None, happened: now, data: EventData::of_test() };
    let new = put(&mut tx, tenant, id, sending, now).await?;
    tx.commit().await?;
    state.wakeups.webhooks.notify_one();
    Ok(new.into_response(id))
}

/// The event of a new delivery.
struct New<'a> {
    event: &'a str,
    call: Option<Uuid>,
    happened: Timestamp,
    data: EventData,
}

/// Queues a delivery without ordering it after others.
async fn put(
    tx: &mut Tx,
    tenant: Tenant,
    webhook: WebhookId,
    new: New<'_>,
    now: Timestamp,
) -> Result<DeliveryResource, ApiError> {
    let id = DeliveryId::new(now, clock::random());
    let body = NewBody::Own(DeliveryBody { id, event: new.event, created: new.happened, data: &new.data }.to_bytes());
    let of = new.call.map(|call| (CallId::from_uuid(call), None));
    let sending = NewDelivery { id, tenant: tenant.id, webhook, of, event: new.event, body, wanted: true, now };
    deliveries::insert(tx, &[sending]).await?;
    Ok(delivery(tx, tenant, webhook, id).await?.into())
}

impl DeliveryResource {
    fn into_response(self, webhook: WebhookId) -> Response {
        created(&format!("/v1/webhooks/{webhook}/deliveries/{}", self.id), self, Vec::new())
    }
}
