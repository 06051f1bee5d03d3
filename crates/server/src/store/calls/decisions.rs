//! The decisions about turns in a conversation, and their reasons. They contain no words, so they stay when those are deleted.

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use switchhook_core::conversation::cascade::Evidence;
use switchhook_core::conversation::{Decision, DecisionKind, TurnEndedBy};
use switchhook_core::id::{CallId, TenantId};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::store::{Conn, Tx, execute, run};

/// One decision about a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecisionEntry {
    /// Milliseconds since the start of the conversation.
    pub at_ms: i64,
    /// `turn_ended`: the caller finished. `turn_reopened`: they went on; the agent responds once to all of it. `interruption`: they stopped the
    /// agent. `false_interruption`: the agent went on. `backchannel`: words that need no response. `speculation`: early model request.
    /// `speculation_discarded`: it was dropped. `machine_ignored`: the reported machine is a person.
    pub kind: DecisionKind,
    /// What ended the turn; `null` for other decisions.
    #[serde(default)]
    pub ended_by: Option<TurnEndedBy>,
    /// Caller silence so far; `null` if they spoke or it did not matter.
    pub silence_ms: Option<i64>,
    /// Silence that the evidence required.
    pub silence_needed_ms: Option<i64>,
    /// Probability of the end of the turn, 0 to 1.
    pub probability: Option<f32>,
    /// Evidence for (positive weight) or against the end.
    pub evidence: Vec<EvidenceEntry>,
}

/// Evidence about the end of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceEntry {
    /// Kind.
    #[schema(value_type = EvidenceName)]
    pub name: String,
    /// Amount: 1, or a share.
    pub value: f32,
    /// Log odds of an end per unit of `value`.
    #[schema(example = -2.6)]
    pub weight: f32,
}

/// The word for a kind of evidence. Stored decisions can have one that this version does not know.
pub(super) struct EvidenceName;

impl ToSchema for EvidenceName {}
impl PartialSchema for EvidenceName {
    fn schema() -> RefOr<Schema> {
        let names = Evidence::ALL.iter().map(|kind| kind.name());
        let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names));
        schema.description(Some("Kind of evidence about the end of a turn.")).into()
    }
}

impl From<&Decision> for DecisionEntry {
    fn from(decision: &Decision) -> Self {
        let ms = |duration: std::time::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let evidence = decision.evidence.iter().map(|(kind, value)| EvidenceEntry {
            name: kind.name().to_owned(),
            value: *value,
            weight: kind.weight(),
        });
        Self {
            at_ms: decision.at.as_millis(),
            kind: decision.kind,
            ended_by: decision.ended_by,
            silence_ms: decision.silence.map(ms),
            silence_needed_ms: decision.silence_needed.map(ms),
            probability: decision.probability.map(|probability| (probability * 1_000.0).round() / 1_000.0),
            evidence: evidence.collect(),
        }
    }
}

/// Returns a call's decisions in order; none while it is live.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, id: CallId) -> Result<Vec<DecisionEntry>, sqlx::Error> {
    const SQL: &str = "SELECT decisions FROM call_decisions WHERE tenant_id = $1 AND call_id = $2";
    let found: Option<Json<Vec<DecisionEntry>>> =
        run!(conn, query_scalar.fetch_optional, SQL; tenant.uuid(), id.uuid())?;
    Ok(found.map_or_else(Vec::new, |Json(decisions)| decisions))
}

/// Writes a call's decisions with its end.
///
/// # Errors
/// When the database fails.
pub(in crate::store) async fn write(
    tx: &mut Tx,
    tenant: TenantId,
    id: CallId,
    decisions: &[DecisionEntry],
) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "INSERT INTO call_decisions (tenant_id, call_id, decisions) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    if !decisions.is_empty() {
        execute!(tx, SQL; tenant.uuid(), id.uuid(), Json(decisions.to_vec()))?;
    }
    Ok(())
}
