//! `/v1/api-keys`: create, list and revoke keys.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use switchhook_core::Timestamp;
use switchhook_core::agent::FieldError;
use switchhook_core::id::ApiKeyId;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::HttpState;
use super::auth::Tenant;
use super::bounds;
use super::error::ApiError;
use super::extract::{Body, PathId, check_name};
use super::response::{JsonResponse, List, WithWarnings, created};
use crate::store::api_keys::{self, ApiKeyRow, Issued};
use crate::store::bounds::Stored;
use crate::store::page::PageRequest;

const MAX_DAYS: i64 = 3650;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, revoke))
}

/// A key to create.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CreateApiKey {
    /// Label.
    #[schema(max_length = 200)]
    name: Option<String>,
    /// Days until it expires; never if absent.
    #[schema(minimum = 1, maximum = 3650)]
    expires_in_days: Option<i64>,
}

impl CreateApiKey {
    fn checked(self) -> Result<Self, ApiError> {
        let mut errors = Vec::new();
        // Empty is the same as none.
        errors.extend(self.name.iter().filter(|name| !name.is_empty()).find_map(|name| check_name("name", name)));
        if self.expires_in_days.is_some_and(|days| !(1..=MAX_DAYS).contains(&days)) {
            errors.push(FieldError::new("expires_in_days", format!("must be from 1 to {MAX_DAYS}")));
        }
        if errors.is_empty() { Ok(self) } else { Err(ApiError::invalid_fields(errors)) }
    }

    fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        let days = u32::try_from(self.expires_in_days?).ok()?;
        Some(now + DAY * days)
    }
}

/// A new key.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewApiKey {
    /// Unique id.
    pub id: Uuid,
    /// Public part.
    #[schema(pattern = "^[0-9a-z]{12}$", example = "k3v9x0a1b2c3")]
    pub prefix: String,
    /// The full key. Shown only once.
    #[schema(
        pattern = "^vk_(dev|prod)_[0-9a-z]{12}_[0-9A-Za-z]{38}$",
        example = "vk_dev_k3v9x0a1b2c3_0000000000000000000000000000000example"
    )]
    pub key: String,
    /// Label.
    pub name: Option<String>,
    /// `null` if it never expires.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl From<Issued> for NewApiKey {
    fn from(Issued { row, key }: Issued) -> Self {
        Self {
            id: row.id,
            prefix: row.prefix,
            key: key.reveal().to_owned(),
            name: row.name,
            expires_at: row.expires_at.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(row.created_at),
        }
    }
}

/// A key without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyResource {
    /// Unique id.
    pub id: Uuid,
    /// Public part.
    #[schema(pattern = "^[0-9a-z]{12}$", example = "k3v9x0a1b2c3")]
    pub prefix: String,
    /// Label.
    pub name: Option<String>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// `null` if it never expires.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// Last use; uses on other nodes appear after a few seconds.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
    /// `null` if not revoked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
}

impl From<ApiKeyRow> for ApiKeyResource {
    fn from(row: ApiKeyRow) -> Self {
        let at = |micros: Option<i64>| micros.map(Timestamp::from_micros);
        Self {
            id: row.id,
            prefix: row.prefix,
            name: row.name,
            created_at: Timestamp::from_micros(row.created_at),
            expires_at: at(row.expires_at),
            last_used_at: at(row.last_used_at),
            revoked_at: at(row.revoked_at),
        }
    }
}

/// Create an API key.
///
/// Only this response contains the full key.
#[utoipa::path(
    post, path = "/api-keys", operation_id = "create_api_key", tag = "API keys", request_body = CreateApiKey,
    responses(
        (status = 201, description = "The key, shown only this once", body = WithWarnings<NewApiKey>,
            headers(("Location" = String, description = "URL of what was created"))),
    )
)]
async fn create(
    state: HttpState,
    tenant: Tenant,
    Body { value, warnings }: Body<CreateApiKey>,
) -> Result<Response, ApiError> {
    let request = value.checked()?;
    let now = state.clock.now();
    let (name, expires_at) = (request.name.as_deref(), request.expires_at(now));
    let mut tx = state.store.begin().await?;
    bounds::lock_for_one_more(&mut tx, tenant.id, Stored::ApiKeys).await?;
    let issued = api_keys::issue(&mut tx, tenant.id, state.config.env, name, expires_at, now).await?;
    tx.commit().await?;
    Ok(created(&format!("/v1/api-keys/{}", issued.row.id), NewApiKey::from(issued), warnings))
}

/// List API keys.
///
/// The newest come first, including revoked and expired ones.
#[utoipa::path(
    get, path = "/api-keys", operation_id = "list_api_keys", tag = "API keys", params(PageRequest),
    responses((status = 200, description = "A page of keys", body = List<ApiKeyResource>))
)]
async fn list(state: HttpState, tenant: Tenant, page: PageRequest) -> JsonResponse<List<ApiKeyResource>> {
    state.last_used.flush(&state.store).await?;
    let mut conn = state.store.read().await?;
    let page = api_keys::list(&mut conn, tenant.id, page).await?;
    Ok(Json(List::of(page, ApiKeyResource::from)))
}

/// Get an API key.
///
/// The secret is not included.
#[utoipa::path(
    get, path = "/api-keys/{id}", operation_id = "show_api_key", tag = "API keys", params(("id" = Uuid, Path, description = "The key's id")),
    responses((status = 200, description = "The key", body = ApiKeyResource))
)]
async fn show(state: HttpState, tenant: Tenant, PathId(id): PathId<ApiKeyId>) -> JsonResponse<ApiKeyResource> {
    state.last_used.flush(&state.store).await?;
    let mut conn = state.store.read().await?;
    let row = api_keys::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("API key"))?;
    Ok(Json(row.into()))
}

/// Revoke an API key.
///
/// The next request with it gets 401; revoking it again has no effect.
#[utoipa::path(
    delete, path = "/api-keys/{id}", operation_id = "revoke_api_key", tag = "API keys", params(("id" = Uuid, Path, description = "The key's id")),
    responses((status = 204, description = "The key is revoked"))
)]
async fn revoke(state: HttpState, tenant: Tenant, PathId(id): PathId<ApiKeyId>) -> Result<StatusCode, ApiError> {
    let mut tx = state.store.begin().await?;
    if !api_keys::revoke(&mut tx, tenant.id, id, state.clock.now()).await? {
        return Err(ApiError::not_found("API key"));
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
