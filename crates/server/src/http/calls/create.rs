//! `POST /v1/calls`: everything that follows from accepting a call is one transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, AnsweringMachine, FieldError, Limits};
use switchhook_core::call::{Call, CallEffect, Change, Direction, Timing};
use switchhook_core::event::EventKind;
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId};
use switchhook_core::idempotency::{Fingerprint, IdempotencyKey};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::quota;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::CallResource;
use crate::clock;
use crate::http::HttpState;
use crate::http::answer::WithWarnings;
use crate::http::auth::Tenant;
use crate::http::connections::catalogue::{Kind, PROVIDERS};
use crate::http::error::{ApiError, CommonErrors, ErrorBody, InvalidRequest};
use crate::http::extract::{self, Body, JsonBytes};
use crate::store::calls::{self, CallRequest, NewCall, Overrides};
use crate::store::tenants::{self, TenantRow};
use crate::store::{Conn, Tx, agents, connections, events, idempotency, numbers};

/// How far ahead a call may be scheduled.
const FURTHEST: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long a request with a key waits for another one before it is told to come again.
const IN_FLIGHT: Duration = Duration::from_secs(5);
/// The most keys of `metadata`, and of `variables`.
const MOST_KEYS: usize = 50;

/// A call to place.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({
    "agent_id": "0198c6a0-0000-7000-8000-000000000000",
    "to": "+12025550100",
    "variables": { "name": "Ana" },
    "metadata": { "order": "A-17" },
}))]
pub(super) struct CreateCall {
    /// Who talks.
    #[schema(value_type = String, format = Uuid)]
    agent_id: AgentId,
    /// Who is called: E.164 or a `sip:` URI.
    #[schema(value_type = String, max_length = 255, pattern = r"^(\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$", example = "+12025550100")]
    to: PhoneNumber,
    /// One of the tenant's numbers; without it and `number_id`, the only one that can dial.
    #[schema(value_type = Option<String>, max_length = 255, pattern = r"^(\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$", example = "+12025550199")]
    from: Option<PhoneNumber>,
    /// One of the tenant's numbers.
    #[schema(value_type = Option<String>, format = Uuid)]
    number_id: Option<NumberId>,
    /// For `{{name}}` in the agent's texts.
    #[serde(default)]
    #[schema(value_type = Variables, example = json!({"name": "Ana"}))]
    variables: BTreeMap<String, Value>,
    /// Handed back in the call and its events; at most 50 keys.
    #[serde(default)]
    #[schema(value_type = Metadata, example = json!({"order": "A-17"}))]
    metadata: Map<String, Value>,
    /// Replaces parts of the agent for this call.
    #[serde(default)]
    overrides: OverridesBody,
    /// Replaces the agent's.
    answering_machine: Option<AnsweringMachine>,
    /// Replaces the agent's, in seconds, 5 to 120.
    #[schema(minimum = 5, maximum = 120)]
    ring_timeout_seconds: Option<u32>,
    /// Dial then, not now; at most 90 days ahead.
    #[schema(value_type = Option<String>, format = DateTime)]
    schedule_at: Option<Timestamp>,
    /// Check everything and dial nobody.
    #[serde(default)]
    dry_run: bool,
}

/// What of the agent is different for one call.
#[derive(Default, Deserialize, ToSchema)]
#[schema(as = CallOverrides)]
struct OverridesBody {
    /// The greeting's text.
    greeting: Option<GreetingOverride>,
    /// The whole instructions.
    #[schema(max_length = 100_000)]
    instructions: Option<String>,
    /// Some of the limits.
    #[schema(value_type = Option<Limits>)]
    limits: Option<Map<String, Value>>,
}

/// The greeting's text, bare or as the agent has it.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
enum GreetingOverride {
    /// Its text.
    Text(String),
    /// Its text, as in an agent.
    Object {
        /// Its text.
        text: String,
    },
}

/// Values by the names that `{{name}}` in the agent's texts uses.
struct Variables;

impl ToSchema for Variables {}
impl PartialSchema for Variables {
    fn schema() -> RefOr<Schema> {
        let value =
            ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Number, Type::Boolean]));
        let variables = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("Values by the names that `{{name}}` in the agent's texts uses."))
            .max_properties(Some(MOST_KEYS))
            .additional_properties(Some(RefOr::<Schema>::from(value)));
        variables.into()
    }
}

/// Whatever the client attaches.
struct Metadata;

impl ToSchema for Metadata {}
impl PartialSchema for Metadata {
    fn schema() -> RefOr<Schema> {
        let metadata = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("Handed back in the call and its events."))
            .max_properties(Some(MOST_KEYS))
            .additional_properties(Some(AdditionalProperties::FreeForm(true)));
        metadata.into()
    }
}

/// Places a call.
///
/// The call is accepted and queued; what becomes of it is told by its status, its events and webhooks. With an
/// `Idempotency-Key` header a repeated request places no second call.
#[utoipa::path(
    post, path = "/calls", operation_id = "create_call", tag = "Calls", request_body = CreateCall,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters", min_length = 1, max_length = 255, pattern = "^[!-~]+$", example = "order-17", nullable = false)),
    responses(
        (status = 201, description = "Accepted and queued", body = WithWarnings<CallResource>, headers(
            ("Location" = String, description = "Where the call is"),
            ("Idempotent-Replayed" = Option<String>, description = "`true` when this is the answer of an earlier request"),
        )),
        (status = 200, description = "`dry_run`: the call would be accepted", body = WithWarnings<CallResource>),
        (status = 409, description = "The Idempotency-Key was used with a different body", body = ErrorBody),
        InvalidRequest,
        CommonErrors,
    )
)]
pub(super) async fn create(
    State(state): State<HttpState>,
    tenant: Tenant,
    headers: HeaderMap,
    JsonBytes(raw): JsonBytes,
) -> Result<Response, ApiError> {
    let key = idempotency_key(&headers)?;
    let Body { value: request, warnings } = extract::parse::<CreateCall>(&raw)?;
    let fingerprint = Fingerprint::of("POST", "/v1/calls", &String::from_utf8_lossy(&raw))
        .map_err(|error| ApiError::invalid(error.to_string()))?;

    let now = state.clock.now();
    let patience = if key.is_some() { IN_FLIGHT } else { Duration::MAX };
    let turn = tokio::time::timeout(patience, its_turn(&state, tenant.id)).await;
    let (mut tx, tenant_row) = turn.map_err(|_| in_flight())??;
    if let Some(key) = &key
        && let Some(stored) = idempotency::get(&mut tx, tenant.id, key).await?
    {
        return replay(&stored, &fingerprint);
    }
    let plan = plan(&mut tx, &tenant, &request, now).await?;
    let limits = tenant_row.limits(&state.config);
    let (live, placed) = calls::count_for_quota(&mut tx, tenant.id, quota::month_start(now)).await?;
    let usage = quota::Usage { concurrent_calls: live, monthly_calls: placed };
    quota::admit(&usage, &limits, now)
        .map_err(|refused| ApiError::too_many("quota_exceeded", refused.to_string(), refused.retry_after_seconds()))?;

    let (new, change) = new_call(&tenant, request.to.reveal(), plan, now);
    calls::insert(&mut tx, &new, &change).await?;
    let row = calls::get(&mut tx, tenant.id, new.id).await?.ok_or_else(ApiError::internal)?;
    if request.dry_run {
        drop(tx); // Nothing of it happened.
        return Ok((StatusCode::OK, Json(WithWarnings { resource: CallResource::from(row), warnings })).into_response());
    }
    events::record(&mut tx, now, tenant.id, &row.facts()?, EventKind::CallQueued).await?;
    let location = format!("/v1/calls/{}", new.id);
    let body = serde_json::to_vec(&WithWarnings { resource: CallResource::from(row), warnings })
        .map_err(anyhow::Error::from)?;
    if let Some(key) = &key {
        let stored = idempotency::Stored {
            fingerprint: fingerprint.as_bytes().to_vec(),
            status: 201,
            location: location.clone(),
            body: body.clone(),
        };
        idempotency::put(&mut tx, tenant.id, key, &stored, now).await?;
    }
    tx.commit().await?;
    state.hints.calls.notify_one();
    state.hints.webhooks.notify_one();
    Ok(answer(StatusCode::CREATED, &location, body, false))
}

/// Waits until no other request of this tenant creates a call, so that a replay and the quotas are exact.
async fn its_turn(state: &HttpState, tenant: TenantId) -> Result<(Tx, TenantRow), ApiError> {
    let mut tx = state.store.begin().await?;
    let row = tenants::lock(&mut tx, tenant).await?.ok_or_else(ApiError::unauthorized)?;
    Ok((tx, row))
}

fn in_flight() -> ApiError {
    let detail = "A request with this Idempotency-Key is still under way. Send it again in a second.";
    ApiError::conflict("request_in_progress", detail).retry_after(1)
}

fn replay(stored: &idempotency::Stored, fingerprint: &Fingerprint) -> Result<Response, ApiError> {
    if stored.fingerprint != fingerprint.as_bytes() {
        let detail = "This Idempotency-Key was used with a different request. Use a new key for a new call.";
        return Err(ApiError::conflict("idempotency_key_reused", detail));
    }
    let status = u16::try_from(stored.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    Ok(answer(status.unwrap_or(StatusCode::CREATED), &stored.location, stored.body.clone(), true))
}

fn answer(status: StatusCode, location: &str, body: Vec<u8>, replayed: bool) -> Response {
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    if replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let values = headers.get_all("idempotency-key").iter().map(HeaderValue::as_bytes);
    IdempotencyKey::from_header_values(values).map_err(|error| ApiError::invalid(error.to_string()))
}

/// What the request comes to once everything it names has been found.
struct Plan {
    agent: AgentId,
    agent_version: i64,
    number: Option<NumberId>,
    from: String,
    connection: ConnectionId,
    provider: String,
    request: CallRequest,
    due_at: Timestamp,
}

async fn plan(tx: &mut Tx, tenant: &Tenant, request: &CreateCall, now: Timestamp) -> Result<Plan, ApiError> {
    let unknown_agent = || ApiError::invalid_field("agent_id", "there is no such agent");
    let agent = agents::get(tx, tenant.id, request.agent_id).await?.ok_or_else(unknown_agent)?;
    let config = agents::version(tx, tenant.id, request.agent_id, agent.version).await?.ok_or_else(unknown_agent)?;
    let number = caller_number(tx, tenant, request).await?;
    let connection = ConnectionId::from_uuid(number.connection_id);
    let provider = connections::get(tx, tenant.id, connection).await?.ok_or_else(ApiError::internal)?.provider;
    let (call_request, errors) = call_request(request, &config);
    if !errors.is_empty() {
        return Err(ApiError::invalid_fields(errors));
    }
    Ok(Plan {
        agent: request.agent_id,
        agent_version: agent.version,
        number: Some(NumberId::from_uuid(number.id)),
        from: number.number,
        connection,
        provider,
        request: call_request,
        due_at: due_at(request.schedule_at, now)?,
    })
}

/// The number to call from: the one named, or the only one there is.
async fn caller_number(conn: &mut Conn, tenant: &Tenant, request: &CreateCall) -> Result<numbers::NumberRow, ApiError> {
    if let Some(id) = request.number_id {
        let number = numbers::get(conn, tenant.id, id).await?;
        let number = number.ok_or_else(|| ApiError::invalid_field("number_id", "there is no such number"))?;
        return match &request.from {
            Some(from) if from.reveal() != number.number => {
                Err(ApiError::invalid_field("from", "is not the number that number_id names"))
            }
            _ => Ok(number),
        };
    }
    let mut found = match &request.from {
        Some(from) => numbers::by_number(conn, tenant.id, from.reveal()).await?,
        None => numbers::of_providers(conn, tenant.id, &usable_carriers(), 2).await?, // Two are too many.
    };
    match (found.pop(), found.is_empty(), &request.from) {
        (Some(only), true, _) => Ok(only),
        (Some(_), false, Some(_)) => {
            Err(ApiError::invalid_field("from", "stands in several connections: name one by number_id"))
        }
        (Some(_), false, None) => {
            Err(ApiError::invalid_field("from", "is required: there are several numbers to call from"))
        }
        (None, _, Some(_)) => Err(ApiError::invalid_field("from", "is not one of your numbers")),
        (None, _, None) => Err(ApiError::invalid_field("from", "is required: there is no number to call from yet")),
    }
}

/// The carriers over which this version can dial.
fn usable_carriers() -> Vec<&'static str> {
    PROVIDERS.iter().filter(|one| one.usable && one.offers(Kind::Carrier)).map(|one| one.name).collect()
}

fn due_at(schedule_at: Option<Timestamp>, now: Timestamp) -> Result<Timestamp, ApiError> {
    match schedule_at {
        Some(at) if at > now + FURTHEST => {
            Err(ApiError::invalid_field("schedule_at", "must be at most 90 days from now"))
        }
        Some(at) => Ok(at.max(now)),
        None => Ok(now),
    }
}

fn call_request(request: &CreateCall, agent: &AgentConfig) -> (CallRequest, Vec<FieldError>) {
    let mut errors = Vec::new();
    let mut merged = agent.clone();
    if let Some(limits) = &request.overrides.limits {
        match merged_limits(agent, limits) {
            Ok(limits) => merged.limits = limits,
            Err(message) => errors.push(FieldError::new("overrides.limits", message)),
        }
    }
    if let Some(seconds) = request.ring_timeout_seconds {
        merged.limits.ring_timeout_seconds = seconds;
    }
    if let Some(answering_machine) = &request.answering_machine {
        merged.answering_machine = answering_machine.clone();
    }
    let greeting = request.overrides.greeting.as_ref().map(|greeting| match greeting {
        GreetingOverride::Text(text) | GreetingOverride::Object { text } => text.clone(),
    });
    if let Some(greeting) = &greeting {
        merged.greeting.text.clone_from(greeting);
    }
    if let Some(instructions) = &request.overrides.instructions {
        merged.instructions.clone_from(instructions);
    }
    errors.extend(merged.validate().into_iter().map(|error| match error.path.strip_prefix("limits.") {
        None if matches!(error.path.as_str(), "greeting.text" | "instructions") => {
            FieldError::new(format!("overrides.{}", error.path), error.message)
        }
        Some("ring_timeout_seconds") if request.ring_timeout_seconds.is_some() => {
            FieldError::new("ring_timeout_seconds", error.message)
        }
        Some(_) => FieldError::new(format!("overrides.{}", error.path), error.message),
        None => error,
    }));
    let variables = variables(request, agent, &mut errors);
    if request.metadata.len() > MOST_KEYS {
        errors.push(FieldError::new("metadata", format!("may have at most {MOST_KEYS} keys")));
    }
    let overrides = Overrides {
        greeting,
        instructions: request.overrides.instructions.clone(),
        limits: request.overrides.limits.is_some().then_some(merged.limits),
    };
    let call_request = CallRequest {
        variables,
        metadata: request.metadata.clone(),
        overrides,
        answering_machine: request.answering_machine.clone(),
        ring_timeout_seconds: request.ring_timeout_seconds,
    };
    (call_request, errors)
}

fn merged_limits(agent: &AgentConfig, changes: &Map<String, Value>) -> Result<Limits, String> {
    let mut limits = serde_json::to_value(&agent.limits).map_err(|error| error.to_string())?;
    if let Some(fields) = limits.as_object_mut() {
        fields.extend(changes.clone());
    }
    serde_json::from_value(limits).map_err(|error| error.to_string())
}

fn variables(request: &CreateCall, agent: &AgentConfig, errors: &mut Vec<FieldError>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (name, value) in &request.variables {
        match value {
            Value::String(text) => drop(variables.insert(name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => drop(variables.insert(name.clone(), value.to_string())),
            _ => errors.push(FieldError::new(format!("variables.{name}"), "must be a string, a number or a boolean")),
        }
    }
    for (name, variable) in &agent.variables {
        if variable.required && variable.default.is_none() && !variables.contains_key(name) {
            errors.push(FieldError::new(format!("variables.{name}"), "is required by the agent"));
        }
    }
    if request.variables.len() > MOST_KEYS {
        errors.push(FieldError::new("variables", format!("may have at most {MOST_KEYS} keys")));
    }
    variables
}

fn new_call(tenant: &Tenant, to: &str, plan: Plan, now: Timestamp) -> (NewCall, Change) {
    let (_, effects) = Call::outbound(now, plan.due_at, Timing::default());
    let change = effects
        .into_iter()
        .find_map(|effect| if let CallEffect::Commit(change) = effect { Some(change) } else { None })
        .expect("a new call is a commit");
    let new = NewCall {
        id: CallId::new(now, clock::random()),
        tenant: tenant.id,
        direction: Direction::Outbound,
        agent: plan.agent,
        agent_version: plan.agent_version,
        number: plan.number,
        connection: plan.connection,
        provider: plan.provider,
        from: plan.from,
        to: to.to_owned(),
        request: plan.request,
        created_at: now,
        due_at: plan.due_at,
    };
    (new, change)
}
