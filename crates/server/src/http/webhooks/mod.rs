//! `/v1/webhooks`: event endpoints and their deliveries.

mod deliveries;
pub(crate) mod target;

pub(in crate::http) use deliveries::DeliveryWithAttempts;

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::event::EventKind;
use switchhook_core::id::{TenantId, WebhookId};
use switchhook_core::webhook::{EventFilter, SigningSecret};
use switchhook_runtime::clock;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::HttpState;
use super::auth::Tenant;
use super::bounds;
use super::error::ApiError;
use super::extract::{self, Body, PathId, UnreadBody};
use super::merge_patch;
use super::response::{JsonResponse, List, WithWarnings, created};
use crate::store::Tx;
use crate::store::bounds::Stored;
use crate::store::deliveries as stored_deliveries;
use crate::store::page::PageRequest;
use crate::store::tenants::TenantRow;
use crate::store::webhooks::{self, WebhookRow};

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update, delete))
        .routes(routes!(rotate_secret))
        .routes(routes!(deliveries::test))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::show))
        .routes(routes!(deliveries::redeliver))
}

/// A webhook endpoint to register.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CreateWebhook {
    /// Public HTTPS URL; `http://` only if the operator allows it.
    #[schema(format = "uri", pattern = "^https?://", max_length = 2048)]
    url: String,
    /// Events to send; all if empty or absent.
    #[schema(value_type = Option<Vec<EventKind>>)]
    events: Option<Vec<String>>,
    /// Whether events are sent; default `true`.
    enabled: Option<bool>,
}

/// Changes to merge; `null` restores a default.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes the body; it is merged as JSON")]
struct UpdateWebhook {
    /// Public HTTPS URL; `http://` only if the operator allows it.
    #[schema(
        value_type = String, required = false, format = "uri", pattern = "^https?://", max_length = 2048
    )]
    url: Option<String>,
    /// Events to send; all if empty.
    #[schema(value_type = Option<Vec<EventKind>>)]
    events: Option<Vec<String>>,
    /// Whether events are sent. Disabling cancels pending deliveries.
    enabled: Option<bool>,
}

/// A webhook endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookResource {
    /// Unique id.
    id: Uuid,
    /// URL that receives the events.
    #[schema(format = "uri", example = "https://example.com/hooks/calls")]
    url: String,
    /// Events to send; all if empty.
    #[schema(example = json!(["call.completed", "call.failed"]))]
    events: Vec<EventKind>,
    /// Whether events are sent.
    #[schema(example = true)]
    enabled: bool,
    /// Why the service disabled it, after 5 days of failures only; otherwise `null`.
    disabled_reason: Option<String>,
    /// First failure since the last success; `null` while attempts succeed.
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Timestamp>,
    /// When it was registered.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<WebhookRow> for WebhookResource {
    fn from(row: WebhookRow) -> Self {
        Self {
            id: row.id,
            url: row.url,
            events: row.events.kinds().to_vec(),
            enabled: row.enabled,
            disabled_reason: row.disabled_reason,
            failing_since: row.failing_since.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        }
    }
}

/// A webhook endpoint with its signing secret.
#[derive(Serialize, ToSchema)]
pub struct WebhookWithSecret {
    #[serde(flatten)]
    webhook: WebhookResource,
    /// Signing secret. Shown only once.
    #[schema(pattern = "^whsec_", example = "whsec_dGVzdC1zZWNyZXQtdGVzdC1zZWNyZXQtdGVzdC0zMjE=")]
    secret: String,
}

/// Create a webhook.
///
/// Only this response contains the signing secret. At most 20 endpoints per tenant, unless the operator changes it.
#[utoipa::path(
    post, path = "/webhooks", operation_id = "create_webhook", tag = "Webhooks", request_body = CreateWebhook,
    responses(
        (status = 201, description = "The endpoint, with the secret shown only once", body = WithWarnings<WebhookWithSecret>,
            headers(("Location" = String, description = "URL of what was created"))),
    )
)]
async fn create(
    state: HttpState,
    tenant: Tenant,
    Body { value: request, warnings }: Body<CreateWebhook>,
) -> Result<Response, ApiError> {
    let endpoint = Endpoint::read(request)?;
    target::check(&state.config, &endpoint.url).await?;
    let (row, secret) = new_row(&state, tenant.id, endpoint);
    let mut tx = state.store.begin().await?;
    let owner = bounds::lock(&mut tx, tenant.id).await?;
    insert(&mut tx, &owner, &row).await?;
    tx.commit().await?;
    Ok(created(&format!("/v1/webhooks/{}", row.id), with_secret(row, &secret), warnings))
}

/// A valid request, but for the address of its URL.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// The URL as it is stored.
    pub(crate) url: String,
    pub(crate) events: EventFilter,
    pub(crate) enabled: bool,
}

impl Endpoint {
    /// Validates a request.
    ///
    /// # Errors
    /// 422 with an invalid field.
    pub(crate) fn read(request: CreateWebhook) -> Result<Self, ApiError> {
        let events = filter(request.events.as_deref())?;
        Ok(Self { url: target::entered(&request.url)?, events, enabled: request.enabled.unwrap_or(true) })
    }
}

/// The row of a new endpoint, and its secret.
pub(crate) fn new_row(state: &HttpState, tenant: TenantId, endpoint: Endpoint) -> (WebhookRow, SigningSecret) {
    let now = state.clock.now();
    let id = WebhookId::new(now, clock::random());
    let secret = SigningSecret::generate(clock::random());
    let mut row = WebhookRow::new(id, tenant, endpoint.url, &state.vault, &secret, now);
    row.events.0 = endpoint.events;
    row.enable(endpoint.enabled);
    (row, secret)
}

/// Inserts an endpoint of a locked tenant, whose address has been checked.
///
/// # Errors
/// 422 if the limit is reached; when the database fails.
pub(crate) async fn insert(tx: &mut Tx, owner: &TenantRow, row: &WebhookRow) -> Result<(), ApiError> {
    bounds::check_one_more(tx, owner, Stored::Webhooks).await?;
    Ok(webhooks::insert(tx, row).await?)
}

fn with_secret(row: WebhookRow, secret: &SigningSecret) -> WebhookWithSecret {
    WebhookWithSecret { webhook: row.into(), secret: secret.reveal().to_owned() }
}

fn filter(names: Option<&[String]>) -> Result<EventFilter, ApiError> {
    EventFilter::parse(names.unwrap_or_default())
        .map_err(|error| ApiError::invalid_field(format!("events.{}", error.position), error.to_string()))
}

/// List webhooks.
///
/// The newest come first.
#[utoipa::path(
    get, path = "/webhooks", operation_id = "list_webhooks", tag = "Webhooks", params(PageRequest),
    responses((status = 200, description = "A page of endpoints", body = List<WebhookResource>))
)]
async fn list(state: HttpState, tenant: Tenant, page: PageRequest) -> JsonResponse<List<WebhookResource>> {
    let mut conn = state.store.read().await?;
    let page = webhooks::list(&mut conn, tenant.id, page).await?;
    Ok(Json(List::of(page, WebhookResource::from)))
}

/// Get a webhook.
///
/// The secret is not included.
#[utoipa::path(
    get, path = "/webhooks/{id}", operation_id = "show_webhook", tag = "Webhooks", params(("id" = Uuid, Path, description = "The endpoint")),
    responses((status = 200, description = "The endpoint", body = WebhookResource))
)]
async fn show(state: HttpState, tenant: Tenant, PathId(id): PathId<WebhookId>) -> JsonResponse<WebhookResource> {
    let mut conn = state.store.read().await?;
    let row = webhooks::get(&mut conn, tenant.id, id).await?.ok_or_else(webhook_not_found)?;
    Ok(Json(row.into()))
}

fn webhook_not_found() -> ApiError {
    ApiError::not_found("webhook")
}

/// Update a webhook.
///
/// Pending deliveries go to the new URL; disabling the endpoint cancels them.
#[utoipa::path(
    patch, path = "/webhooks/{id}", operation_id = "update_webhook", tag = "Webhooks", request_body = UpdateWebhook,
    params(("id" = Uuid, Path, description = "The endpoint")),
    responses((status = 200, description = "The updated endpoint", body = WithWarnings<WebhookResource>))
)]
async fn update(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<WebhookId>,
    body: UnreadBody,
) -> JsonResponse<WithWarnings<WebhookResource>> {
    let row = webhooks::get(&mut state.store.read().await?, tenant.id, id).await?.ok_or_else(webhook_not_found)?;
    let patch = body.bytes().await?;
    let Body { value: request, warnings } = patched(&row, &patch)?;
    filter(request.events.as_deref())?;
    if request.url != row.url {
        // A DNS lookup can be slow, so it runs before the transaction.
        target::check(&state.config, &target::entered(&request.url)?).await?;
    }
    let mut tx = state.store.begin().await?;
    let mut row = webhooks::lock(&mut tx, tenant.id, id).await?.ok_or_else(webhook_not_found)?;
    // Another request or a failure may have changed the row meanwhile; the patch keeps fields that it does not name.
    let Body { value: request, .. } = patched(&row, &patch)?;
    let events = filter(request.events.as_deref())?;
    if request.url != row.url {
        row.url = target::entered(&request.url)?;
    }
    change(&mut tx, &mut row, events, request.enabled.unwrap_or(true), state.clock.now()).await?;
    tx.commit().await?;
    if !row.enabled {
        cancel_waiting(&state, tenant.id, id).await?;
    }
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

/// Writes an endpoint, which is locked, with these events, enabled or not. Call [`cancel_waiting`] after the commit if it is disabled.
///
/// # Errors
/// When the database fails.
pub(crate) async fn change(
    tx: &mut Tx,
    row: &mut WebhookRow,
    events: EventFilter,
    enabled: bool,
    now: Timestamp,
) -> Result<(), ApiError> {
    row.events.0 = events;
    row.enable(enabled);
    row.updated_at = merge_patch::newer(row.updated_at, now);
    Ok(webhooks::update(tx, row).await?)
}

/// Cancels pending deliveries of a disabled endpoint. There may be too many for one transaction; none is sent meanwhile.
///
/// # Errors
/// When the database fails.
pub(crate) async fn cancel_waiting(state: &HttpState, tenant: TenantId, id: WebhookId) -> Result<(), ApiError> {
    loop {
        let mut tx = state.store.begin().await?;
        let canceled = stored_deliveries::cancel_waiting(&mut tx, tenant, id).await?;
        tx.commit().await?;
        if canceled == 0 {
            return Ok(());
        }
    }
}

fn patched(row: &WebhookRow, patch: &[u8]) -> Result<Body<CreateWebhook>, ApiError> {
    let patch = extract::parse_object(patch)?;
    let whole = json!({ "url": row.url, "events": row.events.0, "enabled": row.enabled });
    let Value::Object(mut whole) = whole else { return Err(ApiError::internal()) };
    merge_patch::merge(&mut whole, patch, &[]);
    extract::parse(&serde_json::to_vec(&whole).map_err(anyhow::Error::from)?)
}

/// Delete a webhook.
///
/// Its deliveries are deleted too; an attempt in flight may still arrive.
#[utoipa::path(
    delete, path = "/webhooks/{id}", operation_id = "delete_webhook", tag = "Webhooks", params(("id" = Uuid, Path, description = "The endpoint")),
    responses((status = 204, description = "Deleted"))
)]
async fn delete(state: HttpState, tenant: Tenant, PathId(id): PathId<WebhookId>) -> Result<StatusCode, ApiError> {
    let mut tx = state.store.begin().await?;
    if !webhooks::close(&mut tx, tenant.id, id).await? {
        return Err(webhook_not_found());
    }
    tx.commit().await?;
    loop {
        let mut tx = state.store.begin().await?;
        let deleted = stored_deliveries::delete_some(&mut tx, tenant.id, id).await?;
        if deleted == 0 {
            webhooks::delete(&mut tx, tenant.id, id).await?;
        }
        tx.commit().await?;
        if deleted == 0 {
            return Ok(StatusCode::NO_CONTENT);
        }
    }
}

/// Rotate a webhook's secret.
///
/// Only this response contains the new one. For 24 hours, the previous one also signs: `t=…,v1=<new>,v1=<old>`.
#[utoipa::path(
    post, path = "/webhooks/{id}/rotate-secret", operation_id = "rotate_webhook_secret", tag = "Webhooks",
    params(("id" = Uuid, Path, description = "The endpoint")),
    responses(
        (status = 200, description = "The endpoint, with the secret shown only once", body = WebhookWithSecret),
    )
)]
async fn rotate_secret(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<WebhookId>,
) -> JsonResponse<WebhookWithSecret> {
    let now = state.clock.now();
    let secret = SigningSecret::generate(clock::random());
    let mut tx = state.store.begin().await?;
    let mut row = webhooks::lock(&mut tx, tenant.id, id).await?.ok_or_else(webhook_not_found)?; // Serialises concurrent rotations.
    row.rotate(&state.vault, &secret, now);
    row.updated_at = merge_patch::newer(row.updated_at, now);
    webhooks::update(&mut tx, &row).await?;
    tx.commit().await?;
    Ok(Json(with_secret(row, &secret)))
}

#[cfg(test)]
mod tests;
