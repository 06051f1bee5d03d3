//! A call as the API returns it.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use switchhook_carriers::registry::CARRIERS;
use switchhook_core::Timestamp;
use switchhook_core::agent::MAX_KEYS;
use switchhook_core::call::{CarrierCause, Direction, EndReason, EndedBy, ErrorCode, Status};
use switchhook_core::event::NO_CONVERSATION;
use switchhook_providers::Usage;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use crate::http::string_enum::string_enum;
use crate::store::calls::{AnalysisResult, CallRow};
use crate::talk::latency;

/// A call.
#[derive(Serialize, ToSchema)]
pub struct CallResource {
    /// Unique id.
    pub id: Uuid,
    /// Status.
    #[schema(value_type = Status, example = "completed")]
    pub status: String,
    /// Direction.
    #[schema(value_type = Direction, example = "outbound")]
    pub direction: String,
    /// The agent.
    pub agent_id: Uuid,
    /// Agent version when the call was placed.
    #[schema(minimum = 1, example = 1)]
    pub agent_version: i64,
    /// The tenant's number, if any.
    pub number_id: Option<Uuid>,
    /// The caller.
    #[schema(example = "+12025550199")]
    pub from: String,
    /// The callee.
    #[schema(example = "+12025550100")]
    pub to: String,
    /// Values for `{{name}}` in the agent's texts.
    pub variables: BTreeMap<String, String>,
    /// Your own data.
    #[schema(value_type = Metadata, example = json!({"order": "A-17"}))]
    pub metadata: Map<String, Value>,
    /// When it was accepted.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When to dial, as requested; queued until then.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub schedule_at: Option<Timestamp>,
    /// When it was dialled.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub dialing_at: Option<Timestamp>,
    /// When it started to ring.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ringing_at: Option<Timestamp>,
    /// When it was answered.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub answered_at: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// Seconds from answer to end.
    #[schema(minimum = 0, example = 42)]
    pub duration_seconds: i64,
    /// Caller turns that the agent answered.
    #[schema(minimum = 0, example = 5)]
    pub turns: i64,
    /// Why a completed call ended.
    #[schema(value_type = Option<EndReason>, example = "agent_hangup")]
    pub end_reason: Option<String>,
    /// Who ended a call.
    #[schema(value_type = Option<EndedBy>)]
    pub ended_by: Option<String>,
    /// Who answered, if known.
    #[schema(value_type = Option<AnsweredBy>)]
    pub answered_by: Option<String>,
    /// Why a failed call failed.
    #[schema(value_type = Option<ErrorCode>, example = json!(null))]
    pub error_code: Option<String>,
    /// Error details.
    pub error: Option<String>,
    /// The carrier's data of a call.
    pub carrier: CarrierPart,
    /// Summary of the conversation.
    pub summary: Option<String>,
    /// Result of the analysis: any JSON value, in the shape of the agent's `analysis.schema`, or `null`.
    #[schema(value_type = Value)]
    pub outcome: Option<Value>,
    /// Post-call analysis; `null` until the call ends, and without a conversation.
    pub analysis: Option<AnalysisResult>,
    /// How long the caller waited.
    #[schema(value_type = Option<latency::Summary>)]
    pub latency: Option<Value>,
    /// Usage in the providers' units.
    pub usage: Option<Usage>,
    /// URL of the recording; needs an API key.
    pub recording_url: Option<String>,
    /// Where the browser connects; only in the response that creates a web call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebPart>,
}

/// Your own data.
pub(super) struct Metadata;

impl ToSchema for Metadata {}
impl PartialSchema for Metadata {
    fn schema() -> RefOr<Schema> {
        let metadata = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some("Your own data, returned in the call and its events."))
            .max_properties(Some(MAX_KEYS))
            .additional_properties(Some(AdditionalProperties::FreeForm(true)));
        metadata.into()
    }
}

/// Who answered a call.
struct AnsweredBy;

impl ToSchema for AnsweredBy {}
impl PartialSchema for AnsweredBy {
    fn schema() -> RefOr<Schema> {
        string_enum("Who answered a call.", ["human", "voicemail"])
    }
}

/// The word for a carrier in the API.
pub(in crate::http) struct CarrierName;

impl ToSchema for CarrierName {}
impl PartialSchema for CarrierName {
    fn schema() -> RefOr<Schema> {
        string_enum("A carrier; `web` for browser calls.", CARRIERS.iter().map(|carrier| carrier.name))
    }
}

/// The call that a dry run would place. It has no id: there is no such call.
pub(super) struct UnplacedCall(pub(super) CallResource);

impl Serialize for UnplacedCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        fields.as_object_mut().map(|fields| fields.remove("id"));
        fields.serialize(serializer)
    }
}

impl ToSchema for UnplacedCall {}
impl PartialSchema for UnplacedCall {
    fn schema() -> RefOr<Schema> {
        let mut schema = CallResource::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.properties.remove("id");
            object.required.retain(|name| name != "id");
            object.description = Some("The call that a dry run would place, without an id.".to_owned());
        }
        schema
    }
}

/// Where a web call's browser connects.
#[derive(Serialize, ToSchema)]
pub struct WebPart {
    /// WebSocket URL for one call. Anyone who has it can talk.
    #[schema(example = "wss://voice.example.com/media/web/0198c6a0")]
    pub url: String,
    /// Connect before this time, or the call fails as `no_answer`.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// The carrier's data of a call.
#[derive(Debug, Serialize, ToSchema)]
pub struct CarrierPart {
    /// `null` for web calls.
    pub connection_id: Option<Uuid>,
    /// Provider.
    #[schema(value_type = CarrierName)]
    pub provider: String,
    /// The carrier's id of the call.
    pub call_id: Option<String>,
    /// The carrier's reason for the end of a call.
    #[schema(value_type = Option<CarrierCause>)]
    pub cause: Option<String>,
    /// The SIP status code, if any.
    pub sip_code: Option<i64>,
}

impl From<CallRow> for CallResource {
    fn from(row: CallRow) -> Self {
        let at = |micros: Option<i64>| micros.map(Timestamp::from_micros);
        // The end is stored a moment before it is reported; until then the call keeps its status.
        let completed = row.status == "completed";
        let ended = completed || row.status == "failed";
        let request = row.request.0;
        Self {
            id: row.id,
            direction: row.direction,
            agent_id: row.agent_id,
            agent_version: row.agent_version,
            number_id: row.number_id,
            from: row.from_number,
            to: row.to_number,
            variables: request.variables,
            metadata: request.metadata,
            schedule_at: request.schedule_at,
            created_at: Timestamp::from_micros(row.created_at),
            dialing_at: at(row.dialing_at),
            ringing_at: at(row.ringing_at),
            answered_at: at(row.answered_at),
            ended_at: at(row.ended_at).filter(|_| ended),
            duration_seconds: row.duration_seconds,
            turns: row.turns,
            end_reason: row.end_reason.filter(|_| ended),
            ended_by: row.ended_by.filter(|_| ended),
            answered_by: row.answered_by,
            error_code: row.error_code.filter(|_| ended),
            error: row.error.filter(|_| ended),
            carrier: CarrierPart {
                connection_id: Some(row.connection_id).filter(|id| !id.is_nil()),
                provider: row.provider,
                call_id: row.carrier_call_id,
                cause: row.carrier_cause,
                sip_code: row.sip_code,
            },
            summary: row.summary.or_else(|| completed.then(|| NO_CONVERSATION.to_owned())),
            outcome: row.outcome.map(|json| json.0),
            analysis: row.analysis.map(|json| json.0).filter(|_| ended),
            latency: row.latency.map(|json| json.0),
            usage: row.usage.and_then(|json| serde_json::from_value(json.0).ok()),
            recording_url: row.recording.map(|_| format!("/v1/calls/{}/recording", row.id)),
            web: None,
            status: row.status,
        }
    }
}
