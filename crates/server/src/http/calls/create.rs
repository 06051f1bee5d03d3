//! `POST /v1/calls`: translates between HTTP and [`calls::place`](crate::calls::place).

use std::collections::BTreeMap;
use std::fmt;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use switchhook_carriers::address::Addresses;
use switchhook_carriers::web;
use switchhook_core::Timestamp;
use switchhook_core::agent::{AnsweringMachine, MAX_KEYS};
use switchhook_core::id::{AgentId, NumberId, TenantId};
use switchhook_core::idempotency::{Fingerprint, IdempotencyKey};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_core::quota::QuotaExceeded;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::CallResource;
use super::resource::{Metadata, UnplacedCall, WebPart};
use crate::calls::dial_permission;
use crate::calls::place::{AgentOverrides, Checked, LimitOverrides, PlaceCall, PlaceError, Placed, PlacedResponse};
use crate::http::HttpState;
use crate::http::auth::{self, Principal, Tenant};
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{self, Body, JsonBytes};
use crate::http::response::WithWarnings;
use crate::store::calls::{self, CallRow};
use crate::store::idempotency::ERASED;

/// A call to place.
#[derive(Deserialize, ToSchema)]
pub(super) struct CreateCall {
    /// Agent that holds the conversation.
    #[schema(value_type = String, format = Uuid)]
    agent_id: AgentId,
    /// Defaults to the version that `traffic` selects, or the newest.
    #[schema(minimum = 1)]
    agent_version: Option<i64>,
    /// E.164 number, `sip:` URI, or `web` for a browser call.
    #[serde(deserialize_with = "callee")]
    #[schema(value_type = String, max_length = 255, pattern = r"^(web|\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$")]
    to: PhoneNumber,
    /// One of the tenant's numbers. Defaults to `number_id`, or the only number that can dial.
    #[schema(value_type = Option<String>, max_length = 255, pattern = r"^(\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$")]
    from: Option<PhoneNumber>,
    /// One of the tenant's numbers.
    #[schema(value_type = Option<String>, format = Uuid)]
    number_id: Option<NumberId>,
    /// Values for `{{name}}`; at most 16 KiB of JSON. Send long ids as strings.
    #[serde(default)]
    #[schema(value_type = Variables)]
    variables: BTreeMap<String, Value>,
    /// Your own data, returned in the call and its events; at most 16 KiB of JSON.
    #[serde(default)]
    #[schema(value_type = Metadata)]
    metadata: Map<String, Value>,
    /// Overrides parts of the agent for this call.
    #[serde(default)]
    overrides: OverridesBody,
    /// Overrides the agent's answering machine settings.
    answering_machine: Option<AnsweringMachine>,
    /// Overrides the agent's ring timeout.
    #[schema(minimum = 5, maximum = 120)]
    ring_timeout_seconds: Option<u32>,
    /// When to dial, at most 90 days ahead; now if absent. Until then the call is queued and counts as concurrent.
    #[schema(value_type = Option<String>, format = DateTime)]
    schedule_at: Option<Timestamp>,
    /// Validate everything, but place no call.
    #[serde(default)]
    dry_run: bool,
}

fn callee<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PhoneNumber, D::Error> {
    PhoneNumber::parse_or_web(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// Agent settings to override for one call.
#[derive(Default, Deserialize, ToSchema)]
#[schema(as = CallOverrides)]
struct OverridesBody {
    /// The greeting's text.
    #[schema(value_type = Option<GreetingShape>)]
    greeting: Option<GreetingOverride>,
    /// The complete instructions.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"\S")]
    instructions: Option<String>,
    /// Limits to override.
    limits: Option<CallLimitOverrides>,
}

/// Overrides for the agent's limits.
#[derive(Deserialize, ToSchema)]
struct CallLimitOverrides {
    /// Maximum duration of the conversation.
    #[schema(minimum = 10, maximum = 14_400)]
    max_duration_seconds: Option<u32>,
    /// Ring timeout.
    #[schema(minimum = 5, maximum = 120)]
    ring_timeout_seconds: Option<u32>,
}

/// Greeting text, as a string or an agent's `greeting` object.
#[derive(ToSchema)]
#[schema(as = GreetingOverride)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the field; GreetingOverride parses it")]
enum GreetingShape {
    /// Its text.
    Text(String),
    /// Its text, as in an agent.
    Object(GreetingText),
}

/// A greeting's text, as in an agent.
#[derive(Deserialize, ToSchema)]
struct GreetingText {
    /// Its text.
    text: String,
}

/// The greeting's text, as a string or as an agent's `greeting` object.
struct GreetingOverride(String);

impl<'de> Deserialize<'de> for GreetingOverride {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = GreetingOverride;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or an object with a text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GreetingOverride, E> {
                Ok(GreetingOverride(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<GreetingOverride, A::Error> {
                GreetingText::deserialize(MapAccessDeserializer::new(fields))
                    .map(|object| GreetingOverride(object.text))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Values for `{{name}}` in the agent's texts, by name.
struct Variables;

impl ToSchema for Variables {}
impl PartialSchema for Variables {
    fn schema() -> RefOr<Schema> {
        let variables = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(
                "Values for `{{name}}` in the agent's texts. Send long ids as strings: many languages round numbers of more than 15 digits.",
            ))
            .max_properties(Some(MAX_KEYS))
            .additional_properties(Some(AdditionalProperties::FreeForm(true))); // `openapi::values` describes them.
        variables.into()
    }
}

/// Place a call.
///
/// The call is queued; follow its status, events or webhooks. Repeating a request with its `Idempotency-Key` places no second call.
#[utoipa::path(
    post, path = "/calls", operation_id = "create_call", tag = "Calls", request_body = CreateCall,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters", min_length = 1, max_length = 255, pattern = "^[!-~]+$", example = "order-17", nullable = false)),
    responses(
        (status = 201, description = "Accepted and queued", body = WithWarnings<CallResource>, headers(
            ("Location" = String, description = "URL of what was created"),
            ("Idempotent-Replayed" = Option<String>, description = "`true` when this is the response to an earlier request"),
        )),
        (status = 200, description = "`dry_run`: the call would be accepted", body = WithWarnings<UnplacedCall>),
        (status = 409, description = "The Idempotency-Key was used with a different body", body = ErrorBody),
    )
)]
pub(super) async fn create(
    state: HttpState,
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

    let idempotency = key.map(|key| (key, fingerprint));
    let dry_run = request.dry_run;
    let request = PlaceCall::from(request);
    if dry_run {
        return match state.placer.check(tenant.id, &tenant.limits, &request, idempotency).await? {
            Checked::Replayed(placed) => response(&state, tenant.id, &placed).await,
            Checked::Acceptable(row) => {
                let resource = UnplacedCall(CallResource::from(*row));
                Ok((StatusCode::OK, Json(WithWarnings { resource, warnings })).into_response())
            }
        };
    }
    let addresses = state.addresses.clone();
    let respond = Box::new(move |row: CallRow| created(row, tenant.principal, &addresses, &warnings));
    let placed = state.placer.place(tenant.id, &request, idempotency, respond).await?;
    response(&state, tenant.id, &placed).await
}

impl From<CreateCall> for PlaceCall {
    fn from(request: CreateCall) -> Self {
        let CreateCall { overrides, .. } = request;
        let limits = overrides.limits.map(|limits| LimitOverrides {
            max_duration_seconds: limits.max_duration_seconds,
            ring_timeout_seconds: limits.ring_timeout_seconds,
        });
        Self {
            agent: request.agent_id,
            agent_version: request.agent_version,
            to: request.to,
            from: request.from,
            number: request.number_id,
            variables: request.variables,
            metadata: request.metadata,
            overrides: AgentOverrides {
                greeting: overrides.greeting.map(|greeting| greeting.0),
                instructions: overrides.instructions,
                limits,
            },
            answering_machine: request.answering_machine,
            ring_timeout_seconds: request.ring_timeout_seconds,
            schedule_at: request.schedule_at,
        }
    }
}

impl From<PlaceError> for ApiError {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Invalid(errors) => Self::invalid_fields(errors),
            PlaceError::Refused(refused) => Self::invalid_fields(vec![dial_permission::field_error(&refused)]),
            PlaceError::Quota(exceeded) => over_quota(exceeded),
            PlaceError::KeyReused => {
                let detail = "This Idempotency-Key was used with a different request. Use a new key for a new call.";
                Self::conflict("idempotency_key_reused", detail)
            }
            PlaceError::InProgress => {
                let detail = "A request with this Idempotency-Key is still in progress. Retry in a second.";
                Self::conflict("request_in_progress", detail).retry_after(1)
            }
            PlaceError::Deactivated => auth::deactivated(),
            PlaceError::NoTenant => Self::unauthorized(),
            PlaceError::Database(error) => Self::from(error),
        }
    }
}

pub(super) fn over_quota(refused: QuotaExceeded) -> ApiError {
    ApiError::too_many("quota_exceeded", refused.to_string(), refused.retry_after_seconds())
}

/// The response for a new call that this key or session has placed.
fn created(
    row: CallRow,
    placed_by: Principal,
    addresses: &Addresses,
    warnings: &[String],
) -> Result<PlacedResponse, serde_json::Error> {
    let location = format!("/v1/calls/{}", row.id);
    // Programs place web calls for visitors of their pages: those calls continue when the key ends.
    let session = match placed_by {
        Principal::Session(hash) => Some(hash),
        Principal::Key(_) => None,
    };
    let web = (row.provider == web::NAME).then(|| WebPart {
        url: addresses.web_call(row.call_id(), session),
        expires_at: Timestamp::from_micros(row.due_at),
    });
    let resource = CallResource { web, ..CallResource::from(row) };
    let resource = WithWarnings { resource, warnings: warnings.to_vec() };
    Ok(PlacedResponse { status: 201, location, body: serde_json::to_vec(&resource)? })
}

/// Returns the remaining body for a call whose first response was erased with its transcript.
async fn left_of(state: &HttpState, tenant: TenantId, location: &str) -> Result<Vec<u8>, ApiError> {
    let id = location.rsplit('/').next().and_then(|id| id.parse().ok());
    let row = match id {
        Some(id) => calls::get(&mut state.store.read().await?, tenant, id).await?,
        None => None,
    };
    let row = row.ok_or_else(|| {
        let detail = "The call of this Idempotency-Key was deleted. Use a new key for a new call.";
        ApiError::conflict("idempotency_key_reused", detail)
    })?;
    let resource = WithWarnings { resource: CallResource::from(row), warnings: Vec::new() };
    Ok(serde_json::to_vec(&resource).map_err(anyhow::Error::from)?)
}

async fn response(state: &HttpState, tenant: TenantId, placed: &Placed) -> Result<Response, ApiError> {
    let stored = &placed.response;
    let body = match stored.body.as_slice() {
        ERASED => left_of(state, tenant, &stored.location).await?,
        body => body.to_vec(),
    };
    let status = u16::try_from(stored.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let json = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status.unwrap_or(StatusCode::CREATED), json, body).into_response();
    if let Ok(location) = HeaderValue::from_str(&stored.location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    if placed.replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let values = headers.get_all("idempotency-key").iter().map(HeaderValue::as_bytes);
    IdempotencyKey::from_header_values(values)
        .map_err(|error| ApiError::invalid_field("Idempotency-Key", error.to_string()))
}
