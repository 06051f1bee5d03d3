//! `/v1/agents`: how agents hold conversations.

mod instructions;
mod schemas;
mod size;
mod traffic;
mod transfers;
mod variables;
mod versions;

use std::collections::HashMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, FieldError, Traffic};
use switchhook_core::id::{AgentId, ConnectionId, TenantId};
use switchhook_providers::json_schema::{CompileError, Schema};
use switchhook_runtime::clock;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

pub(crate) use self::traffic::set_traffic;
use super::HttpState;
use super::auth::Tenant;
use super::bounds;
use super::error::{ApiError, Conflict};
use super::extract::{self, Body, JsonBytes, Parsed, PathId, UnreadBody, check_name};
use super::merge_patch;
use super::response::{JsonResponse, List, WithWarnings, created};
use crate::catalogue::{self, CatalogueEntry, ConnectionKind};
use crate::store::agents::{self, AgentRow};
use crate::store::bounds::Stored;
use crate::store::connections::ConnectionRow;
use crate::store::page::PageRequest;
use crate::store::tenants::TenantRow;
use crate::store::{Conn, Tx, connections, is_duplicate, is_foreign_key};
use crate::talk::tools::secrets;

/// The routes below `/v1`.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show, update, delete))
        .routes(routes!(versions::list))
        .routes(routes!(versions::show))
        .routes(routes!(versions::restore))
}

/// An agent to create.
#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "describes the body; read() parses it in two parts")]
struct CreateAgent {
    /// Unique per tenant.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
    )]
    name: String,
    traffic: Option<Traffic>,
    #[serde(flatten)]
    config: AgentConfig,
}

/// Changes to merge, object by object; `null` restores a default. `CreateAgent` describes the fields.
// Its fields follow from `CreateAgent` (`openapi::requests`); the body is merged as JSON.
#[derive(ToSchema)]
struct UpdateAgent {}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentResource {
    /// Unique id.
    id: Uuid,
    /// Unique per tenant.
    #[schema(example = "Reception")]
    name: String,
    traffic: Option<Traffic>,
    #[serde(flatten)]
    config: AgentConfig,
    /// Increases with each change except to `traffic`; calls keep their version.
    version: i64,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of the last change.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<AgentRow> for AgentResource {
    fn from(row: AgentRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            traffic: row.traffic.map(|json| json.0),
            config: row.config.0,
            version: row.version,
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        }
    }
}

/// The desired state of an agent.
#[derive(Clone, Debug)]
pub(crate) struct WantedAgent {
    pub(crate) name: String,
    /// Its traffic; `None` sends all calls to the newest version.
    pub(crate) traffic: Option<Traffic>,
    pub(crate) config: AgentConfig,
}

/// Create an agent.
///
/// Absent fields take their defaults.
#[utoipa::path(
    post, path = "/agents", operation_id = "create_agent", tag = "Agents", request_body = CreateAgent,
    responses(
        (status = 201, description = "The agent", body = WithWarnings<AgentResource>,
            headers(("Location" = String, description = "URL of what was created"))),
        Conflict,
    )
)]
async fn create(state: HttpState, tenant: Tenant, JsonBytes(json): JsonBytes) -> Result<Response, ApiError> {
    let Body { value: agent, mut warnings } = read(&json)?.into();
    check_schemas(&agent.config).await?;
    let now = state.clock.now();
    let row = new_row(tenant.id, AgentId::new(now, clock::random()), agent, now);
    let mut tx = state.store.begin().await?;
    let owner = bounds::lock(&mut tx, tenant.id).await?;
    warnings.extend(insert(&state, &mut tx, &owner, &row).await?);
    tx.commit().await?;
    Ok(created(&format!("/v1/agents/{}", row.id), AgentResource::from(row), warnings))
}

/// The first version of an agent.
pub(crate) fn new_row(tenant: TenantId, id: AgentId, wanted: WantedAgent, now: Timestamp) -> AgentRow {
    AgentRow {
        id: id.uuid(),
        tenant_id: tenant.uuid(),
        name: wanted.name,
        version: 1,
        traffic: wanted.traffic.map(Into::into),
        config: wanted.config.into(),
        created_at: now.as_micros(),
        updated_at: now.as_micros(),
    }
}

/// Inserts a new agent, whose schemas have been checked; returns warnings. `owner` is locked, which also keeps the agent's connections
/// from being deleted between check and use.
///
/// # Errors
/// 422 if a connection does not fit, a version does not exist or a limit is reached, 409 if the name is taken; when the database fails.
pub(crate) async fn insert(
    state: &HttpState,
    tx: &mut Tx,
    owner: &TenantRow,
    row: &AgentRow,
) -> Result<Vec<String>, ApiError> {
    bounds::check_one_more(tx, owner, Stored::Agents).await?;
    traffic::check_of_new(row)?;
    check_connections(tx, owner.tenant(), &row.config).await?;
    let warnings = unsupported_options(state, tx, owner.tenant(), &row.config).await?;
    agents::insert(tx, row).await.map_err(|error| duplicate_name(error, &row.name))?;
    bounds::check_agent_bytes(tx, owner).await?;
    Ok(warnings)
}

/// Reads and validates an agent, but for schemas, connections and which versions exist. Parsed in two parts, because a flattened struct
/// loses the paths of errors and warnings.
///
/// # Errors
/// 422 with the invalid fields.
pub(crate) fn read(json: &[u8]) -> Result<Parsed<WantedAgent>, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
        traffic: Option<Traffic>,
    }
    must_have_shape(json)?;
    let Parsed { value: Named { name, traffic }, unknown: in_traffic } = extract::parse_part(json, &[])?;
    let Parsed { value: config, mut unknown } = extract::parse_part::<AgentConfig>(json, &["name", "traffic"])?;
    unknown.extend(in_traffic.into_iter().filter(|path| path.starts_with("traffic.")));
    let mut errors: Vec<FieldError> = check_name("name", &name).into_iter().collect();
    errors.extend(traffic.iter().flat_map(Traffic::validate));
    errors.extend(config.validate());
    if !errors.is_empty() {
        return Err(ApiError::invalid_fields(errors));
    }
    size::check(&config)?;
    Ok(Parsed { value: WantedAgent { name, traffic, config }, unknown })
}

/// Validates the agent's schemas.
///
/// # Errors
/// 422 with the first one that is no schema; 503 if this node is too busy to say.
pub(crate) async fn check_schemas(config: &AgentConfig) -> Result<(), ApiError> {
    let (paths, schemas): (Vec<_>, Vec<_>) = config.schemas().into_iter().map(|(path, s)| (path, s.clone())).unzip();
    let refused = |error| match error {
        CompileError::Unusable { position, reason } => ApiError::invalid_field(&paths[position], reason),
        CompileError::Late => {
            let detail = "The agent's schemas were not compiled in time: this node is too busy. Try again; if that does not help, make \
                them smaller.";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).retry_after(1)
        }
    };
    Schema::compile(schemas).await.map(drop).map_err(refused)
}

fn must_have_shape(json: &[u8]) -> Result<(), ApiError> {
    let provider = json!({ "fallbacks": [{}] });
    let shape = json!({
        "greeting": {}, "stt": provider, "llm": provider, "tts": provider, "realtime": provider, "turn_taking": {},
        "interruption": {}, "silence": {}, "limits": {}, "answering_machine": {}, "dtmf": {}, "tools": [{ "destinations": [{}] }],
        "analysis": {}, "recording": {}, "privacy": {}, "variables": { "*": {} }, "traffic": [{}],
    });
    let errors = extract::arrays_for_objects(json, &shape);
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_fields(errors)) }
}

/// Checks that every named connection belongs to the tenant and has the right kind.
async fn check_connections(conn: &mut Conn, tenant: TenantId, config: &AgentConfig) -> Result<(), ApiError> {
    let errors = connection_errors(conn, tenant, config).await?;
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_fields(errors)) }
}

/// Returns why an agent cannot use its connections.
async fn connection_errors(
    conn: &mut Conn,
    tenant: TenantId,
    config: &AgentConfig,
) -> Result<Vec<FieldError>, sqlx::Error> {
    let mut rows = HashMap::new();
    for (_, id) in config.connections() {
        rows.extend(connections::get(conn, tenant, id).await?.map(|row| (id, row)));
    }
    Ok(unfit_connections(config, |id| rows.get(&id)))
}

/// Why an agent cannot use its connections; `find` returns those of its tenant.
pub(crate) fn unfit_connections<'r>(
    config: &AgentConfig,
    find: impl Fn(ConnectionId) -> Option<&'r ConnectionRow>,
) -> Vec<FieldError> {
    config.connections().into_iter().filter_map(|(path, id)| unfit(path, find(id), config)).collect()
}

fn unfit(path: String, row: Option<&ConnectionRow>, config: &AgentConfig) -> Option<FieldError> {
    let needed = match path.split('.').next() {
        Some("stt") => ConnectionKind::Stt,
        Some("llm") => ConnectionKind::Llm,
        Some("realtime") => ConnectionKind::Realtime,
        Some("tools") => ConnectionKind::Tool,
        _ => ConnectionKind::Tts,
    };
    let Some(row) = row else { return Some(FieldError::new(path, "no such connection")) };
    if !CatalogueEntry::named(&row.provider).is_some_and(|provider| provider.offers(needed)) {
        let message = format!("names a connection to {}, which is not {}", row.provider, needed.words());
        return Some(FieldError::new(path, message));
    }
    if !catalogue::kinds(&row.provider, &row.settings).contains(&needed) {
        let message = format!("names a connection that is not {} according to its settings.kinds", needed.words());
        return Some(FieldError::new(path, message));
    }
    check_secret_url(&path, row, config)
}

/// Returns warnings about instructions that nothing follows, variables that are not declared, schemas that models get in a simpler form,
/// transfers that are refused, and settings that the agent's providers do not support; none of the last if the providers cannot be built.
async fn unsupported_options(
    state: &HttpState,
    conn: &mut Conn,
    tenant: TenantId,
    config: &AgentConfig,
) -> Result<Vec<String>, ApiError> {
    let mut warnings: Vec<String> = instructions::ignored(conn, tenant, config).await?.into_iter().collect();
    warnings.extend(variables::undeclared(config));
    warnings.extend(schemas::changed(config));
    warnings.extend(transfers::refused(conn, tenant, config, state.clock.now()).await?);
    if let Ok(setup) = state.setup() {
        warnings.extend(setup.unsupported_options(conn, tenant, config).await?);
    }
    Ok(warnings)
}

/// Rejects a tool whose URL its connection's secrets may not be sent to. Variables are checked per call.
fn check_secret_url(path: &str, connection: &ConnectionRow, config: &AgentConfig) -> Option<FieldError> {
    let tool = path.strip_prefix("tools.")?.strip_suffix(".connection_id")?;
    let url = config.tools.get(tool.parse::<usize>().ok()?)?.url.as_deref()?;
    let words = secrets::fit(&connection.settings, &url.replace("{{", "").replace("}}", "")).err()?;
    Some(FieldError::new(format!("tools.{tool}.url"), words))
}

fn duplicate_name(error: sqlx::Error, name: &str) -> ApiError {
    if is_duplicate(&error) {
        return ApiError::conflict("name_taken", format!("An agent named \"{name}\" already exists."));
    }
    error.into()
}

/// List agents.
///
/// The newest come first.
#[utoipa::path(
    get, path = "/agents", operation_id = "list_agents", tag = "Agents", params(PageRequest),
    responses((status = 200, description = "A page of agents", body = List<AgentResource>))
)]
async fn list(state: HttpState, tenant: Tenant, page: PageRequest) -> JsonResponse<List<AgentResource>> {
    let mut conn = state.store.read().await?;
    let page = agents::list(&mut conn, tenant.id, page).await?;
    Ok(Json(List::of(page, AgentResource::from)))
}

/// Get an agent.
///
/// Returns the current version with all defaults.
#[utoipa::path(
    get, path = "/agents/{id}", operation_id = "show_agent", tag = "Agents", params(("id" = Uuid, Path, description = "The agent")),
    responses((status = 200, description = "The agent", body = AgentResource))
)]
async fn show(state: HttpState, tenant: Tenant, PathId(id): PathId<AgentId>) -> JsonResponse<AgentResource> {
    let mut conn = state.store.read().await?;
    let row = agents::get(&mut conn, tenant.id, id).await?.ok_or_else(agent_not_found)?;
    Ok(Json(row.into()))
}

fn agent_not_found() -> ApiError {
    ApiError::not_found("agent")
}

/// Update an agent.
///
/// Creates a version, unless nothing or only `traffic` changes. Existing calls keep theirs.
#[utoipa::path(
    patch, path = "/agents/{id}", operation_id = "update_agent", tag = "Agents", request_body = UpdateAgent,
    params(("id" = Uuid, Path, description = "The agent")),
    responses((status = 200, description = "The updated agent", body = WithWarnings<AgentResource>), Conflict)
)]
async fn update(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<AgentId>,
    body: UnreadBody,
) -> JsonResponse<WithWarnings<AgentResource>> {
    let find = async || {
        let found = agents::get(&mut state.store.read().await?, tenant.id, id).await?;
        found.ok_or_else(agent_not_found)
    };
    find().await?; // That there is none is said before the body is read, which may take long.
    let patch = body.bytes().await?;
    // Reading a large agent is slow, so it happens before the tenant is locked, and changes wait here rather than there.
    let _turn = state.agent_changes.take(tenant.id).await;
    let known = find().await?;
    let mut changed = patched(&known, &patch)?;
    check_schemas(&changed.value.config).await?;
    let mut tx = state.store.begin().await?;
    let owner = bounds::lock(&mut tx, tenant.id).await?; // Concurrent changes would overwrite each other.
    let row = agents::get(&mut tx, tenant.id, id).await?.ok_or_else(agent_not_found)?;
    if row.updated_at != known.updated_at {
        // Another node has changed it meanwhile.
        changed = patched(&row, &patch)?;
        check_schemas(&changed.value.config).await?;
    }
    let Body { value: wanted, mut warnings } = changed;
    let (row, unsupported_options) = change(&state, &mut tx, &owner, row, wanted).await?;
    warnings.extend(unsupported_options);
    tx.commit().await?;
    Ok(Json(WithWarnings { resource: row.into(), warnings }))
}

/// Writes an agent if it differs, after its schemas have been checked: as its next version, unless only its traffic does. Returns it with
/// warnings. `owner` is locked: concurrent changes would overwrite each other.
///
/// # Errors
/// Like [`insert`].
pub(crate) async fn change(
    state: &HttpState,
    tx: &mut Tx,
    owner: &TenantRow,
    row: AgentRow,
    wanted: WantedAgent,
) -> Result<(AgentRow, Vec<String>), ApiError> {
    let WantedAgent { name, traffic, config } = wanted;
    let now = state.clock.now();
    let mut warnings = unsupported_options(state, tx, owner.tenant(), &config).await?;
    let keeps_traffic = traffic.as_ref() == row.traffic();
    let warning = |row: &AgentRow| traffic::without_calls(row).filter(|_| keeps_traffic);
    if name == row.name && config == row.config.0 {
        let row = set_traffic(tx, row, traffic, now).await?;
        warnings.extend(warning(&row));
        return Ok((row, warnings));
    }
    traffic::check(tx, &row, traffic.as_ref()).await?;
    check_connections(tx, owner.tenant(), &config).await?;
    let next = AgentRow {
        name,
        version: row.version + 1,
        traffic: traffic.map(Into::into),
        config: config.into(),
        updated_at: merge_patch::newer(row.updated_at, now),
        ..row
    };
    agents::update(tx, &next).await.map_err(|error| duplicate_name(error, &next.name))?;
    bounds::check_agent_bytes(tx, owner).await?;
    warnings.extend(warning(&next));
    Ok((next, warnings))
}

fn patched(row: &AgentRow, patch: &[u8]) -> Result<Body<WantedAgent>, ApiError> {
    let patch = extract::parse_object(patch)?;
    let config = serde_json::to_value(&row.config.0).map_err(anyhow::Error::from)?;
    let Value::Object(mut whole) = config else { return Err(ApiError::internal()) };
    whole.insert("name".to_owned(), row.name.clone().into());
    whole.insert("traffic".to_owned(), serde_json::to_value(row.traffic()).map_err(anyhow::Error::from)?);
    merge_patch::merge(&mut whole, patch, extract::NULL_IS_A_VALUE);
    Ok(read(&serde_json::to_vec(&whole).map_err(anyhow::Error::from)?)?.into())
}

/// Delete an agent.
///
/// The agent must answer no number; existing calls keep their version.
#[utoipa::path(
    delete, path = "/agents/{id}", operation_id = "delete_agent", tag = "Agents", params(("id" = Uuid, Path, description = "The agent")),
    responses((status = 204, description = "Deleted"), Conflict)
)]
async fn delete(state: HttpState, tenant: Tenant, PathId(id): PathId<AgentId>) -> Result<StatusCode, ApiError> {
    let mut tx = state.store.begin().await?;
    bounds::lock(&mut tx, tenant.id).await?; // A concurrent change would add a version.
    match agents::delete(&mut tx, tenant.id, id).await {
        Ok(true) => tx.commit().await?,
        Ok(false) => return Err(agent_not_found()),
        Err(error) if is_foreign_key(&error) => {
            drop(tx);
            let numbers = agents::numbers(&mut state.store.read().await?, tenant.id, id).await?.join(", ");
            let detail = format!("The agent still answers the numbers {numbers}. Change them first.");
            return Err(ApiError::conflict("agent_in_use", detail));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(StatusCode::NO_CONTENT)
}
