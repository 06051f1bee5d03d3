//! `/v1/numbers`: phone numbers, each on one carrier connection.

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchhook_carriers::address::{Addresses, ConnectionAddress};
use switchhook_core::Timestamp;
use switchhook_core::agent::FieldError;
use switchhook_core::id::{AgentId, ConnectionId, NumberId, TenantId};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_runtime::clock;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::HttpState;
use super::auth::Tenant;
use super::bounds;
use super::error::{ApiError, Conflict};
use super::extract::{self, Body, PathId, UnreadBody, check_name};
use super::merge_patch;
use super::response::{JsonResponse, List, WithWarnings, created};
use crate::catalogue::{CatalogueEntry, ConnectionKind};
use crate::store::bounds::Stored;
use crate::store::connections::ConnectionRow;
use crate::store::numbers::{self, NumberRow};
use crate::store::page::PageRequest;
use crate::store::tenants::TenantRow;
use crate::store::{Conn, Tx, agents, connections, is_duplicate, tenants};

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, update, delete))
}

/// A number to add.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CreateNumber {
    /// E.164; unique per connection.
    #[schema(value_type = String, pattern = r"^\+[1-9][0-9]{6,14}$")]
    pub(crate) number: PhoneNumber,
    /// Display name.
    pub(crate) label: Option<String>,
    /// Carrier connection.
    pub(crate) connection_id: Uuid,
    /// Agent that answers; `null` rejects inbound calls.
    pub(crate) inbound_agent_id: Option<Uuid>,
    /// Configure the carrier to send calls here; a failure is reported in `warnings`.
    #[serde(default)]
    #[schema(default = false)]
    pub(crate) configure_carrier: bool,
}

/// Changes to merge; `null` clears a field.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes the body; it is merged as JSON")]
struct UpdateNumber {
    /// E.164; unique per connection.
    #[schema(value_type = String, required = false, pattern = r"^\+[1-9][0-9]{6,14}$")]
    number: Option<String>,
    /// Display name.
    label: Option<String>,
    /// Carrier connection.
    #[schema(value_type = Uuid, required = false)]
    connection_id: Option<Uuid>,
    /// Agent that answers; `null` rejects inbound calls.
    inbound_agent_id: Option<Uuid>,
    /// Configure the carrier to send calls here; a failure is reported in `warnings`.
    configure_carrier: Option<bool>,
}

/// A phone number.
#[derive(Serialize, ToSchema)]
pub struct NumberResource {
    /// Unique id.
    id: Uuid,
    /// E.164.
    #[schema(pattern = r"^\+[1-9][0-9]{6,14}$", example = "+12025550199")]
    number: String,
    /// Display name.
    label: Option<String>,
    /// Carrier connection.
    connection_id: Uuid,
    /// Agent that answers; `null` rejects inbound calls.
    inbound_agent_id: Option<Uuid>,
    /// URL to configure at the carrier; `null` if none is needed. It accepts only requests with the carrier's signature.
    #[schema(format = "uri")]
    inbound_url: Option<String>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl NumberResource {
    fn new(row: NumberRow, addresses: &Addresses) -> Self {
        let topic = CatalogueEntry::named(&row.provider).and_then(CatalogueEntry::inbound_topic);
        Self {
            inbound_url: topic.map(|topic| inbound(&row, addresses).report(topic)),
            id: row.id,
            number: row.number,
            label: row.label,
            connection_id: row.connection_id,
            inbound_agent_id: row.inbound_agent_id,
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        }
    }
}

/// Add a number.
///
/// The number belongs to a carrier connection.
#[utoipa::path(
    post, path = "/numbers", operation_id = "create_number", tag = "Numbers", request_body = CreateNumber,
    responses(
        (status = 201, description = "The number", body = WithWarnings<NumberResource>,
            headers(("Location" = String, description = "URL of what was created"))),
        Conflict,
    )
)]
async fn create(
    state: HttpState,
    tenant: Tenant,
    Body { value: request, warnings }: Body<CreateNumber>,
) -> Result<Response, ApiError> {
    let mut tx = state.store.begin().await?;
    let owner = bounds::lock(&mut tx, tenant.id).await?;
    let configures_carrier = request.configure_carrier;
    let row = insert(&mut tx, &owner, request, state.clock.now()).await?;
    tx.commit().await?;
    let refused = if configures_carrier { tell_carrier(&state, &row).await } else { None };
    let warnings = warnings.into_iter().chain(refused).collect();
    Ok(created(&format!("/v1/numbers/{}", row.id), NumberResource::new(row, &state.addresses), warnings))
}

/// Inserts a number. `owner` is locked, which also keeps its connection and agent from being deleted between check and use.
///
/// # Errors
/// 422 if something is invalid or the limit is reached, 409 if the connection has the number; when the database fails.
pub(crate) async fn insert(
    tx: &mut Tx,
    owner: &TenantRow,
    request: CreateNumber,
    now: Timestamp,
) -> Result<NumberRow, ApiError> {
    bounds::check_one_more(tx, owner, Stored::Numbers).await?;
    let provider = check(tx, owner.tenant(), &request).await?;
    let row = NumberRow {
        provider,
        id: NumberId::new(now, clock::random()).uuid(),
        tenant_id: owner.id,
        number: request.number.reveal().to_owned(),
        label: request.label,
        connection_id: request.connection_id,
        inbound_agent_id: request.inbound_agent_id,
        created_at: now.as_micros(),
        updated_at: now.as_micros(),
    };
    numbers::insert(tx, &row).await.map_err(duplicate_number)?;
    Ok(row)
}

/// Makes a number what a request says. Its tenant is locked: concurrent changes would overwrite each other.
///
/// # Errors
/// Like [`insert`].
pub(crate) async fn change(
    tx: &mut Tx,
    row: &mut NumberRow,
    request: CreateNumber,
    now: Timestamp,
) -> Result<(), ApiError> {
    row.provider = check(tx, TenantId::from_uuid(row.tenant_id), &request).await?;
    row.number = request.number.reveal().to_owned();
    row.label = request.label;
    row.connection_id = request.connection_id;
    row.inbound_agent_id = request.inbound_agent_id;
    row.updated_at = merge_patch::newer(row.updated_at, now);
    numbers::update(tx, row).await.map_err(duplicate_number)
}

/// Returns the inbound URL of the connection's numbers.
fn inbound(row: &NumberRow, addresses: &Addresses) -> ConnectionAddress {
    addresses.for_connection(&row.provider, ConnectionId::from_uuid(row.connection_id))
}

/// Configures the carrier to send the number's calls here; returns a warning on failure.
pub(crate) async fn tell_carrier(state: &HttpState, row: &NumberRow) -> Option<String> {
    let error = match try_to_tell(state, row).await {
        Ok(()) => return None,
        Err(error) => error,
    };
    let by_hand = "Set the number's webhook to inbound_url at the carrier, or send configure_carrier again.";
    Some(format!("The carrier could not be configured for the number: {}. {by_hand}", error.trim_end_matches('.')))
}

async fn try_to_tell(state: &HttpState, row: &NumberRow) -> Result<(), String> {
    let words = |error: &dyn std::fmt::Display| {
        tracing::warn!(%error, "could not configure a number at its carrier");
        error.to_string()
    };
    let number = row.number.parse::<PhoneNumber>().map_err(|error| words(&error))?;
    let tenant = TenantId::from_uuid(row.tenant_id);
    let id = ConnectionId::from_uuid(row.connection_id);
    let mut conn = state.store.read().await.map_err(|_| "the database does not respond".to_owned())?;
    let connection =
        connections::get(&mut conn, tenant, id).await.map_err(|_| "the database does not respond".to_owned())?;
    drop(conn);
    let connection = connection.ok_or("its connection has been deleted")?;
    let setup = state.setup().map_err(|error| words(&error))?;
    let carrier = setup.carrier_of(&connection).map_err(|error| words(&error))?;
    let Some(webhooks) = &carrier.webhooks else { return Ok(()) };
    webhooks.set_inbound_route(&number, &inbound(row, &state.addresses)).await.map_err(|error| words(&error))
}

/// Checks that the number's connection and agent belong to the tenant and fit; returns the connection's provider.
async fn check(conn: &mut Conn, tenant: TenantId, request: &CreateNumber) -> Result<String, ApiError> {
    let connection = connections::get(conn, tenant, ConnectionId::from_uuid(request.connection_id)).await?;
    let answered = match request.inbound_agent_id {
        Some(agent) => agents::get(conn, tenant, AgentId::from_uuid(agent)).await?.is_some(),
        None => true,
    };
    let errors = unfit(request, connection.as_ref(), answered);
    if errors.is_empty() {
        Ok(connection.map(|row| row.provider).unwrap_or_default())
    } else {
        Err(ApiError::invalid_fields(errors))
    }
}

/// Returns the problems of a number with its tenant's connection; `answered` is false if its agent is missing.
pub(crate) fn unfit(request: &CreateNumber, connection: Option<&ConnectionRow>, answered: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !request.number.is_e164() {
        errors.push(FieldError::new("number", "must be a phone number in E.164 form, such as +12025550100"));
    }
    errors.extend(request.label.as_ref().and_then(|label| check_name("label", label)));
    match connection {
        None => errors.push(FieldError::new("connection_id", "no such connection")),
        Some(row)
            if !CatalogueEntry::named(&row.provider)
                .is_some_and(|provider| provider.offers(ConnectionKind::Carrier)) =>
        {
            let message =
                format!("names a connection to {}, which is not {}", row.provider, ConnectionKind::Carrier.words());
            errors.push(FieldError::new("connection_id", message));
        }
        Some(_) => {}
    }
    if !answered {
        errors.push(FieldError::new("inbound_agent_id", "no such agent"));
    }
    errors
}

fn duplicate_number(error: sqlx::Error) -> ApiError {
    if is_duplicate(&error) {
        return ApiError::conflict("number_taken", "The connection already has this number.");
    }
    error.into()
}

/// List numbers.
///
/// The newest come first.
#[utoipa::path(
    get, path = "/numbers", operation_id = "list_numbers", tag = "Numbers", params(PageRequest),
    responses((status = 200, description = "A page of numbers", body = List<NumberResource>))
)]
async fn list(state: HttpState, tenant: Tenant, page: PageRequest) -> JsonResponse<List<NumberResource>> {
    let mut conn = state.store.read().await?;
    let page = numbers::list(&mut conn, tenant.id, page).await?;
    Ok(Json(List::of(page, |row| NumberResource::new(row, &state.addresses))))
}

/// Get a number.
///
/// Returns the number with the agent that answers it.
#[utoipa::path(
    get, path = "/numbers/{id}", operation_id = "show_number", tag = "Numbers", params(("id" = Uuid, Path, description = "The number's id")),
    responses((status = 200, description = "The number", body = NumberResource))
)]
async fn show(state: HttpState, tenant: Tenant, PathId(id): PathId<NumberId>) -> JsonResponse<NumberResource> {
    let mut conn = state.store.read().await?;
    let row = numbers::get(&mut conn, tenant.id, id).await?.ok_or_else(number_not_found)?;
    Ok(Json(NumberResource::new(row, &state.addresses)))
}

fn number_not_found() -> ApiError {
    ApiError::not_found("number")
}

/// Update a number.
///
/// Changes apply from the next call on.
#[utoipa::path(
    patch, path = "/numbers/{id}", operation_id = "update_number", tag = "Numbers", request_body = UpdateNumber,
    params(("id" = Uuid, Path, description = "The number's id")),
    responses((status = 200, description = "The updated number", body = WithWarnings<NumberResource>), Conflict)
)]
async fn update(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<NumberId>,
    body: UnreadBody,
) -> JsonResponse<WithWarnings<NumberResource>> {
    numbers::get(&mut state.store.read().await?, tenant.id, id).await?.ok_or_else(number_not_found)?;
    let patch = body.bytes().await?;
    let mut tx = state.store.begin().await?;
    tenants::lock(&mut tx, tenant.id).await?;
    let mut row = numbers::get(&mut tx, tenant.id, id).await?.ok_or_else(number_not_found)?;
    let Body { value: request, warnings } = patched(&row, &patch)?;
    let configures_carrier = request.configure_carrier;
    change(&mut tx, &mut row, request, state.clock.now()).await?;
    tx.commit().await?;
    let refused = if configures_carrier { tell_carrier(&state, &row).await } else { None };
    let warnings = warnings.into_iter().chain(refused).collect();
    Ok(Json(WithWarnings { resource: NumberResource::new(row, &state.addresses), warnings }))
}

fn patched(row: &NumberRow, patch: &[u8]) -> Result<Body<CreateNumber>, ApiError> {
    let patch = extract::parse_object(patch)?;
    let whole = json!({
        "number": row.number,
        "label": row.label,
        "connection_id": row.connection_id,
        "inbound_agent_id": row.inbound_agent_id,
    });
    let Value::Object(mut whole) = whole else { return Err(ApiError::internal()) };
    merge_patch::merge(&mut whole, patch, &[]);
    extract::parse(&serde_json::to_vec(&whole).map_err(anyhow::Error::from)?)
}

/// Delete a number.
///
/// Existing calls continue.
#[utoipa::path(
    delete, path = "/numbers/{id}", operation_id = "delete_number", tag = "Numbers", params(("id" = Uuid, Path, description = "The number's id")),
    responses((status = 204, description = "Deleted"))
)]
async fn delete(state: HttpState, tenant: Tenant, PathId(id): PathId<NumberId>) -> Result<StatusCode, ApiError> {
    let mut tx = state.store.begin().await?;
    if !numbers::delete(&mut tx, tenant.id, id).await? {
        return Err(number_not_found());
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
