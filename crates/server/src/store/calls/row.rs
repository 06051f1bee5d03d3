//! A call's row, and what is stored with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::agent::{AnsweringMachine, Limits};
use switchhook_core::call::{Direction, EndReason, EndedBy, Ending, ErrorCode, Snapshot, Status};
use switchhook_core::conversation::ResponseStages;
use switchhook_core::histogram::Histogram;
use switchhook_core::id::{CallId, TenantId};
use utoipa::ToSchema;
use uuid::Uuid;

use super::decisions::DecisionEntry;
use super::inputs::PackedLog;
use super::turn::TurnEntry;

/// A row of `calls`.
#[derive(Clone, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct CallRow {
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub status: String,
    pub direction: String,
    pub agent_id: Uuid,
    pub agent_version: i64,
    pub number_id: Option<Uuid>,
    pub connection_id: Uuid,
    pub provider: String,
    pub from_number: String,
    pub to_number: String,
    pub request: Json<CallRequest>,
    pub created_at: i64,
    pub due_at: i64,
    pub deadline: Option<i64>,
    pub dialing_at: Option<i64>,
    pub ringing_at: Option<i64>,
    pub answered_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub end_reason: Option<String>,
    pub ended_by: Option<String>,
    pub answered_by: Option<String>,
    pub error_code: Option<String>,
    pub error: Option<String>,
    pub carrier_call_id: Option<String>,
    pub carrier_cause: Option<String>,
    pub carrier_code: Option<String>,
    pub sip_code: Option<i64>,
    pub hung_up_by: Option<String>,
    pub hangup_reported: bool,
    pub hangup_requested_at: Option<i64>,
    pub duration_seconds: i64,
    pub turns: i64,
    pub summary: Option<String>,
    pub outcome: Option<Json<Value>>,
    pub analysis: Option<Json<AnalysisResult>>,
    pub latency: Option<Json<Value>>,
    pub usage: Option<Json<Value>>,
    pub recording: Option<String>,
    pub retention_days: Option<i64>,
    pub event_count: i64,
    pub lease_owner: Option<Uuid>,
    pub lease_token: i64,
}

/// The request's optional fields.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallRequest {
    /// Values for `{{name}}` in the agent's texts.
    pub variables: BTreeMap<String, String>,
    /// Returned in the call and its events.
    pub metadata: Map<String, Value>,
    /// Overrides parts of the agent for this call.
    pub overrides: Overrides,
    /// Overrides the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answering_machine: Option<AnsweringMachine>,
    /// Overrides the agent's, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring_timeout_seconds: Option<u32>,
    /// When to dial it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_at: Option<Timestamp>,
}

/// Overrides of the agent's settings.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    /// The greeting's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<String>,
    /// The instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// Result of post-call analysis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Analysis)]
pub struct AnalysisResult {
    /// Whether the conversation was analysed.
    pub status: AnalysisStatus,
    /// Error, if it failed.
    #[schema(example = json!(null))]
    pub error: Option<String>,
}

/// Whether the conversation was analysed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnalysisStatus {
    /// It did.
    Completed,
    /// It should have: the summary quotes the caller, or the outcome is missing.
    Failed,
    /// There was nothing to analyse, or the agent asks for nothing.
    Skipped,
}

/// Results of a conversation.
#[derive(Default)]
pub struct WrapUp {
    /// Caller turns that were answered.
    pub turns: i64,
    /// The summary.
    pub summary: Option<String>,
    /// The outcome.
    pub outcome: Option<Value>,
    /// How post-call analysis went.
    pub analysis: Option<AnalysisResult>,
    /// Response latencies.
    pub latency: Option<Value>,
    /// Usage.
    pub usage: Option<Value>,
    /// The recording's path below the data directory.
    pub recording: Option<String>,
    /// `human` or `voicemail`, if known.
    pub answered_by: Option<&'static str>,
    /// How long the caller waited for answers.
    pub responses: Histogram,
    /// The decisions about turns.
    pub decisions: Vec<DecisionEntry>,
    /// The log of the conversation's inputs.
    pub inputs: PackedLog,
}

/// Returns the cost of a call's usage in millionths of a dollar; `None` if it is zero.
pub(in crate::store) fn cost_micros(usage: &Value) -> Option<i64> {
    let dollars = usage.get("cost_usd")?.as_f64()?;
    // Cannot overflow: a call costs dollars.
    let micros = (dollars * 1_000_000.0).ceil() as i64;
    (micros > 0).then_some(micros)
}

/// A line of a transcript.
#[derive(Clone, FromRow, Serialize, utoipa::ToSchema)]
pub struct TranscriptEntry {
    /// Who said a line of a transcript.
    #[schema(value_type = TranscriptRole)]
    pub role: String,
    /// Words; the agent's as far as they were heard.
    pub text: String,
    /// Milliseconds since the start of the conversation.
    pub start_ms: i64,
    /// Milliseconds since the start of the conversation.
    pub end_ms: i64,
    /// Whether the caller interrupted it.
    pub interrupted: bool,
    /// Response latency; only on the first line of a response.
    pub latency_ms: Option<i64>,
    /// Set on the same lines as `latency_ms`.
    #[schema(value_type = Option<ResponseStages>)]
    pub stages: Option<Json<ResponseStages>>,
    /// How the caller's turn ended; `null` for live calls, agent lines and speech-to-speech models.
    #[sqlx(skip)]
    pub turn: Option<TurnEntry>,
}

/// Who said a line of a transcript.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the role of a TranscriptEntry")]
enum TranscriptRole {
    /// The person on the phone.
    Caller,
    /// The agent.
    Agent,
}

pub(super) fn word<T: std::str::FromStr>(text: &str, column: &str) -> Result<T, sqlx::Error> {
    text.parse().map_err(|_| sqlx::Error::Decode(format!("calls.{column} has an unknown value").into()))
}

impl CallRow {
    /// Returns its id.
    #[must_use]
    pub fn call_id(&self) -> CallId {
        CallId::from_uuid(self.id)
    }

    /// Returns its tenant.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.tenant_id)
    }

    /// Returns the other party's number.
    #[must_use]
    pub fn far_end(&self) -> &str {
        if self.direction == Direction::Inbound.as_str() { &self.from_number } else { &self.to_number }
    }

    /// Returns its status.
    ///
    /// # Errors
    /// If the row has a value that this program does not know.
    pub fn status(&self) -> Result<Status, sqlx::Error> {
        word(&self.status, "status")
    }

    /// Returns what the state machine needs to resume this call.
    ///
    /// # Errors
    /// If the row has a value that this program does not know.
    pub fn snapshot(&self) -> Result<Snapshot, sqlx::Error> {
        let reason = self.end_reason.as_deref().map(|text| word::<EndReason>(text, "end_reason")).transpose()?;
        let by = self.ended_by.as_deref().map(|text| word::<EndedBy>(text, "ended_by")).transpose()?;
        let code = self.error_code.as_deref().map(|text| word::<ErrorCode>(text, "error_code")).transpose()?;
        Ok(Snapshot {
            direction: word(&self.direction, "direction")?,
            status: self.status()?,
            deadline: self.deadline.map(Timestamp::from_micros),
            dialing_at: self.dialing_at.map(Timestamp::from_micros),
            ringing_at: self.ringing_at.map(Timestamp::from_micros),
            answered_at: self.answered_at.map(Timestamp::from_micros),
            ended_at: self.ended_at.map(Timestamp::from_micros),
            carrier_call_id_known: self.carrier_call_id.is_some(),
            hangup_reported: self.hangup_reported,
            ending: Ending::from_columns(reason, by, code, self.error.clone().map(Into::into)),
        })
    }

    /// Returns whether the conversation is live: audio flows, and its end is neither decided nor requested.
    #[must_use]
    pub fn in_conversation(&self) -> bool {
        let ending = self.end_reason.is_some() || self.error_code.is_some() || self.hangup_requested_at.is_some();
        self.status == Status::InProgress.as_str() && !ending
    }
}
