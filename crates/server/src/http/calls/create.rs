//! `POST /v1/calls`: what is asked for is found and checked here; what follows from accepting it is one transaction, in
//! [`accept`](super::accept).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, AnsweringMachine, FieldError, MAX_KEYS, check_map};
use switchhook_core::dial_policy::{DialRefused, NumberingPlan};
use switchhook_core::id::{AgentId, ConnectionId, NumberId, TenantId};
use switchhook_core::idempotency::{Fingerprint, IdempotencyKey};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::quota::{self, QuotaExceeded};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::CallResource;
use super::accept::{Accepted, Plan, Wish};
use crate::calls::admission;
use crate::calls::tariff::numbering_plan;
use crate::carrier::registry;
use crate::http::HttpState;
use crate::http::answer::WithWarnings;
use crate::http::auth::{self, Tenant};
use crate::http::connections::catalogue::{Kind, PROVIDERS};
use crate::http::error::{ApiError, CommonErrors, ErrorBody, InvalidRequest};
use crate::http::extract::{self, Body, JsonBytes};
use crate::store::calls::{CallRequest, Overrides};
use crate::store::idempotency::{self, Stored};
use crate::store::{Conn, agents, connections, dial_policy, numbers};

/// How far ahead a call may be scheduled.
const FURTHEST: Duration = Duration::from_secs(90 * 24 * 3600);
/// How long a request with a key waits for another one before it is told to come again.
const IN_FLIGHT: Duration = Duration::from_secs(5);

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
    /// For `{{name}}` in the agent's texts; at most 50 keys and 16 KiB of JSON.
    #[serde(default)]
    #[schema(value_type = Variables, example = json!({"name": "Ana"}))]
    variables: BTreeMap<String, Value>,
    /// Handed back in the call and its events; at most 50 keys and 16 KiB of JSON.
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
    #[schema(value_type = Option<GreetingShape>)]
    greeting: Option<GreetingOverride>,
    /// The whole instructions.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"\S")]
    instructions: Option<String>,
    /// Some of the limits.
    limits: Option<LimitsOverride>,
}

/// Replaces parts of the agent's limits.
#[derive(Deserialize, ToSchema)]
#[schema(as = CallLimits)]
struct LimitsOverride {
    /// The longest a call may last, in seconds.
    #[schema(minimum = 10, maximum = 14_400)]
    max_duration_seconds: Option<u32>,
    /// How long it may ring, in seconds.
    #[schema(minimum = 5, maximum = 120)]
    ring_timeout_seconds: Option<u32>,
}

/// The greeting's text, bare or as the agent has it.
#[derive(ToSchema)]
#[schema(as = GreetingOverride)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the field; it is read by GreetingOverride")]
enum GreetingShape {
    /// Its text.
    Text(String),
    /// Its text, as in an agent.
    Object {
        /// Its text.
        text: String,
    },
}

/// The greeting's text, bare or as the agent has it.
struct GreetingOverride(String);

impl<'de> Deserialize<'de> for GreetingOverride {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Object {
            text: String,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = GreetingOverride;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or an object with a text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GreetingOverride, E> {
                Ok(GreetingOverride(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<GreetingOverride, A::Error> {
                Object::deserialize(MapAccessDeserializer::new(fields)).map(|object| GreetingOverride(object.text))
            }
        }
        deserializer.deserialize_any(Either)
    }
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
            .max_properties(Some(MAX_KEYS))
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
            .max_properties(Some(MAX_KEYS))
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
    let objects = json!({ "overrides": { "limits": {} }, "answering_machine": {} });
    let misshapen = extract::arrays_for_objects(&raw, &objects);
    if !misshapen.is_empty() {
        return Err(ApiError::invalid_fields(misshapen));
    }
    let Body { value: request, warnings } = extract::parse::<CreateCall>(&raw)?;
    let fingerprint = Fingerprint::of("POST", "/v1/calls", &String::from_utf8_lossy(&raw))
        .map_err(|error| ApiError::invalid(error.to_string()))?;

    let key = key.map(|key| (key, fingerprint));
    let now = state.clock.now();
    let plan = match plan(&state, &tenant, &request, now).await {
        Ok(plan) => plan,
        // What a replayed request names may be gone by now.
        Err(invalid) => return replay(&state, tenant, key, invalid).await,
    };
    if request.dry_run {
        return dry_run(&state, tenant, plan, warnings, key).await;
    }
    let patience = if key.is_some() { IN_FLIGHT } else { Duration::MAX };
    let wish = Wish { plan, warnings, key };
    let accepted = tokio::time::timeout(patience, state.acceptances.submit(tenant.id, wish)).await;
    match accepted.map_err(|_| in_flight())?? {
        Accepted::Answered { stored, replayed } => {
            state.wakeups.calls.notify_one();
            state.wakeups.webhooks.notify_one();
            Ok(answer(&stored, replayed))
        }
        Accepted::KeyReused => Err(key_reused()),
        Accepted::Refused(refused) => Err(over_quota(refused)),
        Accepted::RefusedByPolicy(refused) => Err(refused_by_policy(refused)),
        Accepted::Deactivated => Err(auth::deactivated()),
        Accepted::NoTenant => Err(ApiError::unauthorized()),
    }
}

/// The answer to an earlier request with this key, if there is one, else `invalid`.
async fn replay(
    state: &HttpState,
    tenant: Tenant,
    key: Option<(IdempotencyKey, Fingerprint)>,
    invalid: ApiError,
) -> Result<Response, ApiError> {
    let Some((key, fingerprint)) = key else { return Err(invalid) };
    let stored = idempotency::get_all(&mut state.store.read().await?, tenant.id, &[&key]).await?;
    let same = stored.into_iter().find(|stored| stored.fingerprint == fingerprint.as_bytes());
    same.map(|stored| answer(&stored, true)).ok_or(invalid)
}

/// What would become of the request, and nothing done.
async fn dry_run(
    state: &HttpState,
    tenant: Tenant,
    plan: Plan,
    warnings: Vec<String>,
    key: Option<(IdempotencyKey, Fingerprint)>,
) -> Result<Response, ApiError> {
    let now = state.clock.now();
    let mut conn = state.store.read().await?;
    if let Some((key, fingerprint)) = &key
        && let Some(stored) = idempotency::get_all(&mut conn, tenant.id, &[key]).await?.first()
    {
        let same = stored.fingerprint == fingerprint.as_bytes();
        return if same { Ok(answer(stored, true)) } else { Err(key_reused()) };
    }
    let usage = admission::usage(&mut conn, tenant.id, &tenant.limits, now).await?;
    quota::admit(&usage, &tenant.limits, now).map_err(over_quota)?;
    let resource = CallResource::from(plan.row(tenant.id, now));
    Ok((StatusCode::OK, Json(WithWarnings { resource, warnings })).into_response())
}

pub(super) fn over_quota(refused: QuotaExceeded) -> ApiError {
    ApiError::too_many("quota_exceeded", refused.to_string(), refused.retry_after_seconds())
}

fn key_reused() -> ApiError {
    let detail = "This Idempotency-Key was used with a different request. Use a new key for a new call.";
    ApiError::conflict("idempotency_key_reused", detail)
}

fn in_flight() -> ApiError {
    let detail = "A request with this Idempotency-Key is still under way. Send it again in a second.";
    ApiError::conflict("request_in_progress", detail).retry_after(1)
}

fn answer(stored: &Stored, replayed: bool) -> Response {
    let status = u16::try_from(stored.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let json = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status.unwrap_or(StatusCode::CREATED), json, stored.body.clone()).into_response();
    if let Ok(location) = HeaderValue::from_str(&stored.location) {
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

/// Whether the dial policy counts calls of this provider's connections: the simulator rings nobody.
pub(super) fn is_counted(provider: &str) -> bool {
    registry::rings_phones(provider)
}

/// Whether the tenant may call `to`, by its dial policy.
pub(super) async fn check_dial_policy(
    conn: &mut Conn,
    tenant: TenantId,
    to: &PhoneNumber,
    plan: NumberingPlan,
    counted: bool,
    now: Timestamp,
) -> Result<(), ApiError> {
    dial_policy::judge(conn, tenant, to, plan, counted, now).await?.map_err(refused_by_policy)
}

fn refused_by_policy(refused: DialRefused) -> ApiError {
    ApiError::invalid_field("to", refused.to_string())
}

/// Finds what the request names. Outside the transaction: what goes away in between was there when the request was made.
async fn plan(state: &HttpState, tenant: &Tenant, request: &CreateCall, now: Timestamp) -> Result<Plan, ApiError> {
    let numbering = numbering_plan(&request.to);
    let mut conn = state.store.read().await?;
    let agent = agents::get(&mut conn, tenant.id, request.agent_id).await?;
    let agent = agent.ok_or_else(|| ApiError::invalid_field("agent_id", "there is no such agent"))?;
    let number = caller_number(&mut conn, tenant, request).await?;
    let connection = ConnectionId::from_uuid(number.connection_id);
    let provider = connections::provider(&mut conn, tenant.id, connection).await?.ok_or_else(ApiError::internal)?;
    let counted = is_counted(&provider);
    check_dial_policy(&mut conn, tenant.id, &request.to, numbering, counted, now).await?;
    drop(conn);
    let (call_request, errors) = call_request(request, &agent.config.0);
    if !errors.is_empty() {
        return Err(ApiError::invalid_fields(errors));
    }
    if request.schedule_at.is_some_and(|at| at > now + FURTHEST) {
        return Err(ApiError::invalid_field("schedule_at", "must be at most 90 days from now"));
    }
    Ok(Plan {
        agent: request.agent_id,
        agent_version: agent.version,
        number: NumberId::from_uuid(number.id),
        from: number.number,
        to: request.to.reveal().to_owned(),
        connection,
        provider,
        request: call_request,
        counted,
        schedule_at: request.schedule_at,
        retention_days: agent.config.0.privacy.retention_days,
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

fn call_request(request: &CreateCall, agent: &AgentConfig) -> (CallRequest, Vec<FieldError>) {
    let mut errors = Vec::new();
    let mut merged = agent.clone();
    if let Some(limits) = &request.overrides.limits {
        let seconds = &mut merged.limits;
        seconds.max_duration_seconds = limits.max_duration_seconds.unwrap_or(seconds.max_duration_seconds);
        seconds.ring_timeout_seconds = limits.ring_timeout_seconds.unwrap_or(seconds.ring_timeout_seconds);
    }
    if let Some(seconds) = request.ring_timeout_seconds {
        merged.limits.ring_timeout_seconds = seconds;
    }
    if let Some(answering_machine) = &request.answering_machine {
        merged.answering_machine = answering_machine.clone();
    }
    let greeting = request.overrides.greeting.as_ref().map(|greeting| greeting.0.clone());
    if let Some(greeting) = &greeting {
        merged.greeting.text.clone_from(greeting);
    }
    if let Some(instructions) = &request.overrides.instructions {
        merged.instructions.clone_from(instructions);
    }
    // What else may be wrong with an agent that was stored by an earlier version is not this request's fault.
    let ours = |error: &FieldError| {
        let parts = ["greeting.text", "instructions", "limits.", "answering_machine."];
        parts.iter().any(|part| error.path.starts_with(part))
    };
    errors.extend(merged.validate().into_iter().filter(ours).map(|error| match error.path.strip_prefix("limits.") {
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
    errors.extend(check_map("metadata", request.metadata.len(), &request.metadata));
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
    errors.extend(check_map("variables", request.variables.len(), &request.variables));
    variables
}
