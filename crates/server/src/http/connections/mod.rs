//! `/v1/connections`: credentials and settings of carriers and providers.

pub(crate) mod change;
mod credentials;
mod test;
mod voice_lists;
mod voices;

pub use self::test::Trials;
pub(super) use self::voice_lists::VoiceLists;

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchhook_core::Timestamp;
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_core::private::Private;
use switchhook_runtime::clock;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use self::change::Patched;
use super::HttpState;
use super::auth::Tenant;
use super::bounds;
use super::error::{ApiError, Conflict};
use super::extract::{Body, JsonBytes, PathId, UnreadBody};
use super::response::{JsonResponse, List, WithWarnings, created};
use super::string_enum::string_enum;
use crate::catalogue::{self, CATALOGUE, ConnectionKind};
use crate::store::bounds::Stored;
use crate::store::connections::{self, ConnectionRow};
use crate::store::page::PageRequest;
use crate::store::tenants::TenantRow;
use crate::store::{Tx, is_duplicate, is_foreign_key, refusals, tenants};

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update, delete))
        .routes(routes!(test::test))
        .routes(routes!(voices::list))
        .routes(routes!(voices::list_local))
        .routes(routes!(voices::sample))
        .routes(routes!(voices::sample_local))
}

/// The word for a provider in the API.
struct ProviderName;

impl ToSchema for ProviderName {}
impl PartialSchema for ProviderName {
    fn schema() -> RefOr<Schema> {
        string_enum("A carrier or provider.", CATALOGUE.iter().map(|entry| entry.name))
    }
}

/// A connection to create.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CreateConnection {
    /// Unique per tenant.
    pub(crate) name: String,
    /// A carrier or provider.
    #[schema(value_type = ProviderName)]
    pub(crate) provider: String,
    /// Provider-specific settings without secrets; all providers support `base_url`.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) settings: Map<String, Value>,
    /// Provider-specific secrets. Write-only.
    #[serde(default)]
    #[schema(value_type = Credentials)]
    pub(crate) credentials: Private<BTreeMap<String, String>>,
    /// Limits.
    #[serde(default)]
    pub(crate) limits: ConnectionLimits,
}

/// Changes to merge; `null` removes a value.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes the body; it is merged as JSON")]
struct UpdateConnection {
    /// Unique per tenant.
    #[schema(value_type = String, required = false)]
    name: Option<String>,
    /// Settings to set, or `null` to remove one.
    #[schema(value_type = Option<Object>)]
    settings: Option<Map<String, Value>>,
    /// Credentials to set, or `null` to remove one. Masked values sent back have no effect.
    #[schema(value_type = Option<CredentialChanges>)]
    credentials: Option<BTreeMap<String, Option<String>>>,
    /// Limits.
    limits: Option<ConnectionLimits>,
}

/// Provider-specific secrets.
struct Credentials;

impl ToSchema for Credentials {}
impl PartialSchema for Credentials {
    fn schema() -> RefOr<Schema> {
        secrets("Provider-specific secrets.", Type::String.into())
    }
}

/// New secrets; `null` removes one.
struct CredentialChanges;

impl ToSchema for CredentialChanges {}
impl PartialSchema for CredentialChanges {
    fn schema() -> RefOr<Schema> {
        let words = "New secrets; `null` removes one.";
        secrets(words, SchemaType::from_iter([Type::String, Type::Null]))
    }
}

fn secrets(description: &str, kind: SchemaType) -> RefOr<Schema> {
    let secret =
        ObjectBuilder::new().schema_type(kind).min_length(Some(1)).max_length(Some(credentials::MAX_CREDENTIAL));
    let secrets = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .max_properties(Some(credentials::MAX_CREDENTIALS))
        .additional_properties(Some(RefOr::<Schema>::from(secret)));
    secrets.into()
}

/// Limits of a connection.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ConnectionLimits {
    /// Concurrent calls; `null` for no limit.
    #[schema(minimum = 1, maximum = 100_000)]
    pub(crate) max_concurrent: Option<i64>,
}

/// A connection.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConnectionResource {
    /// Unique id.
    id: Uuid,
    /// Unique per tenant.
    #[schema(example = "Main line")]
    name: String,
    /// A carrier or provider.
    #[schema(value_type = ProviderName, example = "openai")]
    provider: String,
    /// Kind.
    kind: ConnectionKind,
    /// Every kind it supports.
    kinds: Vec<ConnectionKind>,
    /// Settings without secrets.
    #[schema(value_type = Object)]
    settings: Map<String, Value>,
    /// Names of the credentials with their last characters.
    #[schema(value_type = BTreeMap<String, String>, example = json!({"auth_token": "••••3f2a"}))]
    credentials: BTreeMap<String, String>,
    /// Limits.
    limits: ConnectionLimits,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<ConnectionRow> for ConnectionResource {
    fn from(row: ConnectionRow) -> Self {
        let kinds = catalogue::kinds(&row.provider, &row.settings);
        Self {
            id: row.id,
            name: row.name,
            kind: if let [only] = kinds[..] { only } else { ConnectionKind::Several },
            kinds,
            provider: row.provider,
            settings: row.settings.0,
            credentials: row
                .hints
                .0
                .into_iter()
                .map(|(name, hint)| (name, format!("{}{hint}", credentials::MASK)))
                .collect(),
            limits: ConnectionLimits { max_concurrent: row.max_concurrent },
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        }
    }
}

/// Create a connection.
///
/// Credentials are stored encrypted and never returned in full.
#[utoipa::path(
    post, path = "/connections", operation_id = "create_connection", tag = "Connections", request_body = CreateConnection,
    responses(
        (status = 201, description = "The connection", body = WithWarnings<ConnectionResource>,
            headers(("Location" = String, description = "URL of what was created"))),
        Conflict,
    )
)]
async fn create(state: HttpState, tenant: Tenant, JsonBytes(json): JsonBytes) -> Result<Response, ApiError> {
    let Body { value: mut request, mut warnings } = change::read(&json, &state.addresses_of(tenant.id))?.into();
    warnings.extend(change::remove_unknown(&request.provider, &mut request.settings));
    let now = state.clock.now();
    let row = new_row(&state, tenant.id, ConnectionId::new(now, clock::random()), request, now);
    warnings.extend(change::warnings(&row));
    let mut tx = state.store.begin().await?;
    let owner = bounds::lock(&mut tx, tenant.id).await?;
    insert(&mut tx, &owner, &row).await?;
    tx.commit().await?;
    Ok(created(&format!("/v1/connections/{}", row.id), ConnectionResource::from(row), warnings))
}

/// The row of a new connection.
pub(crate) fn new_row(
    state: &HttpState,
    tenant: TenantId,
    id: ConnectionId,
    request: CreateConnection,
    now: Timestamp,
) -> ConnectionRow {
    let mut row = ConnectionRow::new(id, tenant, request.name, request.provider, now);
    row.settings.0 = request.settings;
    row.max_concurrent = request.limits.max_concurrent;
    row.seal(&state.vault, &request.credentials);
    row
}

/// Inserts a connection of a locked tenant.
///
/// # Errors
/// 422 if the limit is reached, 409 if the name is taken; when the database fails.
pub(crate) async fn insert(tx: &mut Tx, owner: &TenantRow, row: &ConnectionRow) -> Result<(), ApiError> {
    bounds::check_one_more(tx, owner, Stored::Connections).await?;
    connections::insert(tx, row).await.map_err(|error| duplicate_name(error, &row.name))
}

fn duplicate_name(error: sqlx::Error, name: &str) -> ApiError {
    if is_duplicate(&error) {
        return ApiError::conflict("name_taken", format!("A connection named \"{name}\" already exists."));
    }
    error.into()
}

/// List connections.
///
/// The newest come first.
#[utoipa::path(
    get, path = "/connections", operation_id = "list_connections", tag = "Connections", params(PageRequest),
    responses((status = 200, description = "A page of connections", body = List<ConnectionResource>))
)]
async fn list(state: HttpState, tenant: Tenant, page: PageRequest) -> JsonResponse<List<ConnectionResource>> {
    let mut conn = state.store.read().await?;
    let page = connections::list(&mut conn, tenant.id, page).await?;
    Ok(Json(List::of(page, ConnectionResource::from)))
}

/// Get a connection.
///
/// Returns only the last characters of credentials.
#[utoipa::path(
    get, path = "/connections/{id}", operation_id = "show_connection", tag = "Connections", params(("id" = Uuid, Path, description = "The connection")),
    responses((status = 200, description = "The connection", body = ConnectionResource))
)]
async fn show(state: HttpState, tenant: Tenant, PathId(id): PathId<ConnectionId>) -> JsonResponse<ConnectionResource> {
    let mut conn = state.store.read().await?;
    let row = connections::get(&mut conn, tenant.id, id).await?.ok_or_else(connection_not_found)?;
    Ok(Json(row.into()))
}

fn connection_not_found() -> ApiError {
    ApiError::not_found("connection")
}

/// Update a connection.
///
/// The provider cannot change. Changing `settings.space`, `settings.host` or the origin of `settings.base_url` requires all credentials in the
/// same request. If nothing changes, `updated_at` stays the same.
#[utoipa::path(
    patch, path = "/connections/{id}", operation_id = "update_connection", tag = "Connections", request_body = UpdateConnection,
    params(("id" = Uuid, Path, description = "The connection")),
    responses((status = 200, description = "The updated connection", body = WithWarnings<ConnectionResource>), Conflict)
)]
async fn update(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<ConnectionId>,
    body: UnreadBody,
) -> JsonResponse<WithWarnings<ConnectionResource>> {
    connections::get(&mut state.store.read().await?, tenant.id, id).await?.ok_or_else(connection_not_found)?;
    let patch = body.bytes().await?;
    let mut tx = state.store.begin().await?;
    tenants::lock(&mut tx, tenant.id).await?; // Concurrent changes would overwrite each other.
    let row = connections::get(&mut tx, tenant.id, id).await?.ok_or_else(connection_not_found)?;
    let Patched { row, changed, mut warnings } = change::apply(row, &patch, &state)?;
    warnings.extend(credentials::unused(&row));
    warnings.extend(change::unbound(&row));
    if changed {
        write_changed(&mut tx, &row).await?;
        tx.commit().await?;
        state.forget_connection(id);
    }
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

/// Writes a connection that has changed.
///
/// # Errors
/// 409 if the name is taken; when the database fails.
pub(crate) async fn write_changed(tx: &mut Tx, row: &ConnectionRow) -> Result<(), ApiError> {
    connections::update(tx, row).await.map_err(|error| duplicate_name(error, &row.name))?;
    // The next call finds out whether it is still refused.
    Ok(refusals::forget(tx, TenantId::from_uuid(row.tenant_id), ConnectionId::from_uuid(row.id)).await?)
}

/// Delete a connection.
///
/// No agent or number may use it.
#[utoipa::path(
    delete, path = "/connections/{id}", operation_id = "delete_connection", tag = "Connections", params(("id" = Uuid, Path, description = "The connection")),
    responses((status = 204, description = "Deleted"), Conflict)
)]
async fn delete(state: HttpState, tenant: Tenant, PathId(id): PathId<ConnectionId>) -> Result<StatusCode, ApiError> {
    let mut tx = state.store.begin().await?;
    match connections::delete(&mut tx, tenant.id, id).await {
        Ok(true) => {
            tx.commit().await?;
            state.forget_connection(id);
        }
        Ok(false) => return Err(connection_not_found()),
        Err(error) if is_foreign_key(&error) => {
            drop(tx);
            return Err(in_use(&state, tenant, id).await?);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn in_use(state: &HttpState, tenant: Tenant, id: ConnectionId) -> Result<ApiError, ApiError> {
    let mut conn = state.store.read().await?;
    let (agents, numbers) = connections::users(&mut conn, tenant.id, id).await?;
    let named = |what: &str, names: Vec<String>| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
    let users: Vec<_> = [named("agents", agents), named("numbers", numbers)].into_iter().flatten().collect();
    let detail = format!("The connection is still used by {}. Change them first.", users.join(" and "));
    Ok(ApiError::conflict("connection_in_use", detail))
}
