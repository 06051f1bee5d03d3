//! The decisions about turns in a conversation, and their reasons. They contain no words, so they stay when those are deleted.

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use switchhook_core::conversation::{Decision, DecisionKind, TurnEndedBy};
use switchhook_core::id::{CallId, TenantId};
use utoipa::ToSchema;

use crate::store::{Conn, Tx, execute, run};

/// One decision about a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecisionEntry {
    /// When, in milliseconds since the start of the conversation, as in the transcript.
    pub at_ms: i64,
    /// `turn_ended`: the caller has finished. `turn_reopened`: they continue, and the agent responds once to all of it. `interruption`,
    /// `false_interruption`: they spoke over the agent, which stopped or continued. `backchannel`: words over the agent without a
    /// response. `speculation`: the model is asked early; `speculation_discarded`: that request was discarded. `machine_ignored`: a
    /// reported machine is a person.
    pub kind: DecisionKind,
    /// What ended the turn; `null` for other decisions.
    #[serde(default)]
    pub ended_by: Option<TurnEndedBy>,
    /// How long the caller had been silent, in milliseconds; `null` if they spoke or it did not matter.
    pub silence_ms: Option<i64>,
    /// How much silence the evidence asked for, in milliseconds.
    pub silence_needed_ms: Option<i64>,
    /// How probable the end of the turn was, from 0 to 1.
    pub probability: Option<f32>,
    /// What spoke for the end (positive weight) or against it.
    pub evidence: Vec<EvidenceEntry>,
}

/// Something that speaks for or against the end of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceEntry {
    /// Its kind.
    #[schema(example = "open_word")]
    pub name: String,
    /// How much of it there is: 1, or a share.
    pub value: f32,
    /// What 1 of it adds to the log odds of an end.
    #[schema(example = -2.6)]
    pub weight: f32,
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
