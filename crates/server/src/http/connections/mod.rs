//! `/v1/connections`: credentials and settings of carriers and providers.

pub mod catalogue;
mod change;
mod test;

pub use self::test::Trials;

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchhook_core::Timestamp;
use switchhook_core::id::ConnectionId;
use switchhook_core::private::Private;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use self::catalogue::{Kind, ProviderName};
use super::HttpState;
use super::answer::{List, WithWarnings, created};
use super::auth::Tenant;
use super::error::{ApiError, CommonErrors, Conflict, InvalidRequest, NotFound};
use super::extract::{Body, JsonBytes, Page, Params, PathId, UnreadBody};
use crate::clock;
use crate::store::connections::{self, ConnectionRow};
use crate::store::{is_duplicate, is_foreign_key, tenants};

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, update, delete)).routes(routes!(test::test))
}

/// A connection to make.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CreateConnection {
    /// Unique in the tenant.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
        example = "Main line"
    )]
    name: String,
    /// The carrier or provider.
    #[schema(value_type = ProviderName, example = "openai")]
    provider: String,
    /// What is not secret, by the provider's names; every provider takes `base_url`.
    #[serde(default)]
    #[schema(value_type = Object, example = json!({"base_url": "https://api.example.com/v1"}))]
    settings: Map<String, Value>,
    /// What is secret, by the provider's names. It can be written and never read again.
    #[serde(default)]
    #[schema(value_type = Credentials, example = json!({"api_key": "the secret"}))]
    credentials: Private<BTreeMap<String, String>>,
    /// How much it may be used.
    #[serde(default)]
    limits: ConnectionLimits,
}

/// Changes to a connection, merged into it; `null` removes.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes the body; it is merged as JSON")]
struct UpdateConnection {
    /// Unique in the tenant.
    #[schema(value_type = String, required = false, min_length = 1, max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$", example = "Main line")]
    name: Option<String>,
    /// Settings to set or, with `null`, to remove.
    #[schema(value_type = Option<Object>, example = json!({"base_url": "https://api.example.com/v1"}))]
    settings: Option<Map<String, Value>>,
    /// Credentials to set or, with `null`, to remove. A masked value as it was read changes nothing.
    #[schema(value_type = Option<CredentialChanges>, example = json!({"api_key": "the new secret"}))]
    credentials: Option<BTreeMap<String, Option<String>>>,
    /// How much it may be used.
    limits: Option<ConnectionLimits>,
}

/// Secrets, by the provider's names for them.
struct Credentials;

impl ToSchema for Credentials {}
impl PartialSchema for Credentials {
    fn schema() -> RefOr<Schema> {
        secrets("Secrets, by the provider's names for them.", Type::String.into())
    }
}

/// New secrets, or `null` for those that shall go.
struct CredentialChanges;

impl ToSchema for CredentialChanges {}
impl PartialSchema for CredentialChanges {
    fn schema() -> RefOr<Schema> {
        let words = "New secrets, or `null` for those that shall go.";
        secrets(words, SchemaType::from_iter([Type::String, Type::Null]))
    }
}

fn secrets(description: &str, kind: SchemaType) -> RefOr<Schema> {
    let secret = ObjectBuilder::new().schema_type(kind).min_length(Some(1)).max_length(Some(change::MAX_CREDENTIAL));
    let secrets = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .max_properties(Some(change::MAX_CREDENTIALS))
        .additional_properties(Some(RefOr::<Schema>::from(secret)));
    secrets.into()
}

/// How much a connection may be used.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ConnectionLimits {
    /// Calls at the same time; no limit when `null`.
    #[schema(minimum = 1, maximum = 100_000)]
    max_concurrent: Option<i64>,
}

/// A connection.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConnectionResource {
    /// Its id.
    id: Uuid,
    /// Unique in the tenant.
    #[schema(example = "Main line")]
    name: String,
    /// The carrier or provider.
    #[schema(value_type = ProviderName, example = "openai")]
    provider: String,
    /// What it can be used for.
    kind: Kind,
    /// The same, one by one.
    kinds: Vec<Kind>,
    /// What is not secret.
    #[schema(value_type = Object)]
    settings: Map<String, Value>,
    /// The names of the credentials, and their last characters.
    #[schema(value_type = BTreeMap<String, String>, example = json!({"auth_token": "••••3f2a"}))]
    credentials: BTreeMap<String, String>,
    /// How much it may be used.
    limits: ConnectionLimits,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was last changed.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<ConnectionRow> for ConnectionResource {
    fn from(row: ConnectionRow) -> Self {
        let kinds = catalogue::kinds(&row.provider, &row.settings);
        Self {
            id: row.id,
            name: row.name,
            kind: if let [only] = kinds[..] { only } else { Kind::Several },
            kinds,
            provider: row.provider,
            settings: row.settings.0,
            credentials: row
                .hints
                .0
                .into_iter()
                .map(|(name, hint)| (name, format!("{}{hint}", change::MASK)))
                .collect(),
            limits: ConnectionLimits { max_concurrent: row.max_concurrent },
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        }
    }
}

/// Makes a connection.
#[utoipa::path(
    post, path = "/connections", operation_id = "create_connection", tag = "Connections", request_body = CreateConnection,
    responses(
        (status = 201, description = "The connection", body = WithWarnings<ConnectionResource>,
            headers(("Location" = String, description = "Where it is"))),
        Conflict,
        InvalidRequest,
        CommonErrors,
    )
)]
async fn create(
    State(state): State<HttpState>,
    tenant: Tenant,
    JsonBytes(json): JsonBytes,
) -> Result<Response, ApiError> {
    let Body { value: request, mut warnings } = change::read(&json, &state.addresses_of(tenant.id))?;
    warnings.extend(change::unusable(&request.provider));
    let now = state.clock.now();
    let id = ConnectionId::new(now, clock::random());
    let mut row = ConnectionRow::new(id, tenant.id, request.name, request.provider, now);
    row.settings.0 = request.settings;
    row.max_concurrent = request.limits.max_concurrent;
    row.seal(&state.vault, &request.credentials);
    warnings.extend(change::unbound(&row));
    let mut tx = state.store.begin().await?;
    connections::insert(&mut tx, &row).await.map_err(|error| taken(error, &row.name))?;
    tx.commit().await?;
    Ok(created(&format!("/v1/connections/{id}"), ConnectionResource::from(row), warnings))
}

fn taken(error: sqlx::Error, name: &str) -> ApiError {
    if is_duplicate(&error) {
        return ApiError::conflict("name_taken", format!("There already is a connection named \"{name}\"."));
    }
    error.into()
}

/// Lists the tenant's connections, newest first.
#[utoipa::path(
    get, path = "/connections", operation_id = "list_connections", tag = "Connections", params(Page),
    responses(
        (status = 200, description = "A page of connections", body = List<ConnectionResource>),
        InvalidRequest,
        CommonErrors,
    )
)]
async fn list(
    State(state): State<HttpState>,
    tenant: Tenant,
    Params(page): Params<Page>,
) -> Result<Json<List<ConnectionResource>>, ApiError> {
    let page = page.checked()?;
    let mut conn = state.store.read().await?;
    let page = connections::list(&mut conn, tenant.id, page.cursor, page.limit).await?;
    Ok(Json(List::of(page, ConnectionResource::from)))
}

/// Shows a connection.
#[utoipa::path(
    get, path = "/connections/{id}", operation_id = "show_connection", tag = "Connections", params(("id" = Uuid, Path, description = "The connection")),
    responses(
        (status = 200, description = "The connection", body = ConnectionResource),
        NotFound,
        CommonErrors,
    )
)]
async fn show(
    State(state): State<HttpState>,
    tenant: Tenant,
    PathId(id): PathId<ConnectionId>,
) -> Result<Json<ConnectionResource>, ApiError> {
    let mut conn = state.store.read().await?;
    let row = connections::get(&mut conn, tenant.id, id).await?.ok_or_else(missing)?;
    Ok(Json(row.into()))
}

fn missing() -> ApiError {
    ApiError::not_found("connection")
}

/// Changes a connection. Its provider cannot change.
///
/// Whoever changes the origin of `settings.base_url`, or `settings.space` or `settings.host`, sends all credentials again in the same
/// request: stored ones do not go to a new address.
#[utoipa::path(
    patch, path = "/connections/{id}", operation_id = "update_connection", tag = "Connections", request_body = UpdateConnection,
    params(("id" = Uuid, Path, description = "The connection")),
    responses(
        (status = 200, description = "The connection as it is now", body = WithWarnings<ConnectionResource>),
        NotFound,
        Conflict,
        InvalidRequest,
        CommonErrors,
    )
)]
async fn update(
    State(state): State<HttpState>,
    tenant: Tenant,
    PathId(id): PathId<ConnectionId>,
    body: UnreadBody,
) -> Result<Json<WithWarnings<ConnectionResource>>, ApiError> {
    connections::get(&mut state.store.read().await?, tenant.id, id).await?.ok_or_else(missing)?;
    let patch = body.bytes().await?;
    let mut tx = state.store.begin().await?;
    tenants::lock(&mut tx, tenant.id).await?; // Two changes at once would each undo the other's.
    let row = connections::get(&mut tx, tenant.id, id).await?.ok_or_else(missing)?;
    let (row, mut warnings) = change::apply(row, &patch, &state)?;
    warnings.extend(change::unbound(&row));
    connections::update(&mut tx, &row).await.map_err(|error| taken(error, &row.name))?;
    tx.commit().await?;
    state.forget_connection(id);
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

/// Deletes a connection that nothing uses.
#[utoipa::path(
    delete, path = "/connections/{id}", operation_id = "delete_connection", tag = "Connections", params(("id" = Uuid, Path, description = "The connection")),
    responses(
        (status = 204, description = "It is deleted"),
        NotFound,
        Conflict,
        CommonErrors,
    )
)]
async fn delete(
    State(state): State<HttpState>,
    tenant: Tenant,
    PathId(id): PathId<ConnectionId>,
) -> Result<StatusCode, ApiError> {
    let mut tx = state.store.begin().await?;
    match connections::delete(&mut tx, tenant.id, id).await {
        Ok(true) => {
            tx.commit().await?;
            state.forget_connection(id);
        }
        Ok(false) => return Err(missing()),
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
    let detail = format!("The connection is still used by {}. Change those first.", users.join(" and "));
    Ok(ApiError::conflict("connection_in_use", detail))
}
