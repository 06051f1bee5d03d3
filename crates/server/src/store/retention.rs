//! Erases the words of calls at the end of their retention.
//!
//! Status, numbers, times, metadata, latency and usage stay: they are counted and paid for. Everything with words is deleted:
//! transcript, tool calls, the log of inputs, summary, outcome, error, recording, variables and the request's texts, and their copies in events, in ended
//! deliveries with the receivers' responses, and in a stored response of `POST /v1/calls`.

use serde_json::Value;
use sqlx::QueryBuilder;
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::event::WORDS_DELETED;
use switchhook_core::id::{AgentId, TenantId};
use uuid::Uuid;

use super::agents::pruning;
use super::calls::{CallRequest, Overrides, search};
use super::deliveries::body;
use super::erasure::{body_without_words, take_words_out};
use super::idempotency::ERASED;
use super::{Conn, Dialect, Tx, execute, on, push_ids, run, tenants};

/// Calls or deliveries per transaction.
const BATCH: i64 = 50;

/// A call past its retention.
#[derive(Clone, FromRow)]
pub struct Expired {
    /// Its id.
    pub id: Uuid,
    /// Its tenant.
    pub tenant_id: Uuid,
    created_at: i64,
    request: Json<CallRequest>,
}

/// Erases the words of a batch of ended calls and returns them. Skips locked rows.
///
/// # Errors
/// When the database fails.
pub async fn erase_calls_for_housekeeping(tx: &mut Tx, now: Timestamp) -> Result<Vec<Expired>, sqlx::Error> {
    const SQL: &str = "SELECT id, tenant_id, created_at, request FROM calls \
        WHERE retention_days IS NOT NULL AND erased_at IS NULL AND status IN ('completed', 'failed') \
        AND ended_at + retention_days * 86400000000 <= $1 LIMIT $2";
    let sql = locking(tx, SQL);
    let expired: Vec<Expired> = run!(tx, query_as.fetch_all, sqlx::AssertSqlSafe(sql); now.as_micros(), BATCH)?;
    for call in &expired {
        erase_call(tx, call, now).await?;
    }
    Ok(expired)
}

/// Adds row locks that skip locked rows. SQLite serialises transactions and needs none.
fn locking(tx: &Tx, sql: &str) -> String {
    let lock = if tx.dialect() == Dialect::Postgres { " FOR UPDATE SKIP LOCKED" } else { "" };
    format!("{sql}{lock}")
}

async fn erase_call(tx: &mut Tx, call: &Expired, now: Timestamp) -> Result<(), sqlx::Error> {
    const CALL: &str = "UPDATE calls SET summary = CASE WHEN summary IS NULL THEN NULL ELSE $2 END, outcome = NULL, \
        error = CASE WHEN error IS NULL THEN NULL ELSE $2 END, recording = NULL, request = $3, erased_at = $4 WHERE id = $1";
    const LINES: &str = "DELETE FROM transcript_entries WHERE call_id = $1";
    const TOOLS: &str = "DELETE FROM tool_calls WHERE call_id = $1";
    const INPUTS: &str = "DELETE FROM call_inputs WHERE call_id = $1";
    const REFUSAL: &str = "UPDATE connection_refusals SET detail = $3 \
        WHERE tenant_id = $2 AND detail = (SELECT SUBSTR(error, 1, 300) FROM calls WHERE id = $1)";
    const DELIVERIES: &str = "UPDATE deliveries SET erase = TRUE \
        WHERE call_id = $1 AND event IN ('call.completed', 'call.failed')";
    body::freeze(tx, &[call.id]).await?;
    let request = Json(without_words(&call.request));
    execute!(tx, REFUSAL; call.id, call.tenant_id, WORDS_DELETED)?;
    execute!(tx, CALL; call.id, WORDS_DELETED, &request, now.as_micros())?;
    execute!(tx, LINES; call.id)?;
    execute!(tx, TOOLS; call.id)?;
    execute!(tx, INPUTS; call.id)?;
    erase_response(tx, call.tenant_id, call.id, call.created_at).await?;
    execute!(tx, DELIVERIES; call.id)?;
    erase_event(tx, call.id).await
}

/// Returns the request without texts; metadata stays.
fn without_words(request: &CallRequest) -> CallRequest {
    let mut answering_machine = request.answering_machine.clone();
    if let Some(machine) = &mut answering_machine {
        machine.message = None;
    }
    CallRequest {
        metadata: request.metadata.clone(),
        overrides: Overrides { limits: request.overrides.limits.clone(), ..Overrides::default() },
        answering_machine,
        ring_timeout_seconds: request.ring_timeout_seconds,
        schedule_at: request.schedule_at,
        ..CallRequest::default()
    }
}

async fn erase_event(tx: &mut Tx, call: Uuid) -> Result<(), sqlx::Error> {
    const SELECT_EVENTS: &str =
        "SELECT id, data FROM events WHERE call_id = $1 AND event IN ('call.completed', 'call.failed')";
    const UPDATE_EVENT: &str = "UPDATE events SET data = $2 WHERE id = $1";
    let events: Vec<(Uuid, Json<Value>)> = run!(tx, query_as.fetch_all, SELECT_EVENTS; call)?;
    for (id, Json(mut data)) in events {
        take_words_out(&mut data);
        execute!(tx, UPDATE_EVENT; id, Json(data))?;
    }
    Ok(())
}

/// Erases the bodies of a batch of ended deliveries of erased calls, and the responses of their receivers. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn erase_deliveries_for_housekeeping(tx: &mut Tx) -> Result<usize, sqlx::Error> {
    const SQL: &str = "SELECT id, body FROM deliveries WHERE erase = TRUE \
        AND state NOT IN ('pending', 'sending') LIMIT $1";
    const BODY: &str = "UPDATE deliveries SET body = $2, erase = FALSE WHERE id = $1";
    const ANSWERS: &str = "UPDATE delivery_attempts SET response_excerpt = NULL WHERE delivery_id = $1";
    let sql = locking(tx, SQL);
    let ended: Vec<(Uuid, Vec<u8>)> = run!(tx, query_as.fetch_all, sqlx::AssertSqlSafe(sql); BATCH)?;
    for (id, body) in &ended {
        // A delivery that refers to its event lost its words with the event.
        let left = if body.is_empty() { Vec::new() } else { body_without_words(body) };
        execute!(tx, BODY; id, left)?;
        execute!(tx, ANSWERS; id)?;
    }
    Ok(ended.len())
}

/// Deletes ended calls with their events, transcripts and ended deliveries, and versions of agents that only they kept. A
/// delivery in flight continues and is deleted later, by its age.
///
/// # Errors
/// When the database fails.
pub async fn delete_calls_for_housekeeping(
    tx: &mut Tx,
    tenant: TenantId,
    segment: Option<i64>,
    calls: &[Uuid],
) -> Result<(), sqlx::Error> {
    tenants::lock(tx, tenant).await?;
    let versions = agent_versions(tx, calls).await?;
    body::freeze(tx, calls).await?;
    erase_responses(tx, tenant, calls).await?;
    match segment {
        Some(segment) => search::delete_postings(tx, tenant, segment, calls).await?,
        None => search::forget_for_housekeeping(tx, tenant, calls).await?,
    }
    for beginning in [
        "DELETE FROM transcript_entries WHERE call_id IN (",
        "DELETE FROM tool_calls WHERE call_id IN (",
        "DELETE FROM call_decisions WHERE call_id IN (",
        "DELETE FROM call_inputs WHERE call_id IN (",
        "DELETE FROM events WHERE call_id IN (",
        "DELETE FROM call_commands WHERE call_id IN (",
        "DELETE FROM deliveries WHERE state NOT IN ('pending', 'sending') AND call_id IN (",
        "DELETE FROM calls WHERE status IN ('completed', 'failed') AND id IN (",
    ] {
        on!(tx, |c| {
            let mut query = QueryBuilder::new(beginning);
            push_ids(&mut query, calls.iter().copied());
            query.push(")").build().execute(c).await.map(drop)
        })?;
    }
    pruning::prune(tx, tenant, &versions).await
}

/// Erases the stored responses that placed these calls, if they are kept for longer than the calls.
async fn erase_responses(tx: &mut Tx, tenant: TenantId, calls: &[Uuid]) -> Result<(), sqlx::Error> {
    const OLDEST: &str = "SELECT created_at FROM idempotency_keys ORDER BY created_at LIMIT 1";
    let Some(oldest): Option<i64> = run!(tx, query_scalar.fetch_optional, OLDEST)? else { return Ok(()) };
    let placed: Vec<(Uuid, i64)> = on!(tx, |c| {
        let mut query = QueryBuilder::new("SELECT id, created_at FROM calls WHERE created_at >= ");
        query.push_bind(oldest).push(" AND id IN (");
        push_ids(&mut query, calls.iter().copied());
        query.push(")").build_query_as().fetch_all(c).await
    })?;
    for (call, created_at) in placed {
        erase_response(tx, tenant.uuid(), call, created_at).await?;
    }
    Ok(())
}

/// Erases the stored response that placed a call. Its key still keeps the request from placing another one.
async fn erase_response(tx: &mut Tx, tenant: Uuid, call: Uuid, created_at: i64) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "UPDATE idempotency_keys SET body = $4 WHERE tenant_id = $1 AND created_at = $2 AND location = $3";
    execute!(tx, SQL; tenant, created_at, format!("/v1/calls/{call}"), ERASED).map(drop)
}

/// The versions of agents that these calls have.
async fn agent_versions(tx: &mut Tx, calls: &[Uuid]) -> Result<Vec<(AgentId, i64)>, sqlx::Error> {
    let versions: Vec<(Uuid, i64)> = on!(tx, |c| {
        let mut query = QueryBuilder::new("SELECT DISTINCT agent_id, agent_version FROM calls WHERE id IN (");
        push_ids(&mut query, calls.iter().copied());
        query.push(")").build_query_as().fetch_all(c).await
    })?;
    Ok(versions.into_iter().map(|(agent, version)| (AgentId::from_uuid(agent), version)).collect())
}

/// Returns a batch of calls that ended before `before` and are in no segment of the search index.
///
/// # Errors
/// When the database fails.
pub async fn ended_before_for_housekeeping(
    conn: &mut Conn,
    before: Timestamp,
) -> Result<Vec<(TenantId, Uuid)>, sqlx::Error> {
    const SQL: &str =
        "SELECT tenant_id, call_id FROM call_search_pending WHERE ended_at < $1 ORDER BY ended_at LIMIT $2";
    let calls: Vec<(Uuid, Uuid)> = run!(conn, query_as.fetch_all, SQL; before.as_micros(), BATCH)?;
    Ok(calls.into_iter().map(|(tenant, call)| (TenantId::from_uuid(tenant), call)).collect())
}

/// Returns calls erased after `since`, whose recordings may be on any node's disk.
///
/// # Errors
/// When the database fails.
pub async fn erased_since_for_housekeeping(
    conn: &mut Conn,
    since: Timestamp,
) -> Result<Vec<(Uuid, Uuid)>, sqlx::Error> {
    const SQL: &str = "SELECT tenant_id, id FROM calls WHERE erased_at >= $1 ORDER BY erased_at LIMIT 10000";
    run!(conn, query_as.fetch_all, SQL; since.as_micros())
}

/// A call of a recording.
#[derive(FromRow)]
pub struct RecordedCall {
    /// Its id.
    pub id: Uuid,
    /// Whether its words are erased.
    pub erased: bool,
}

/// Returns those of these calls that exist.
///
/// # Errors
/// When the database fails.
pub async fn known_for_housekeeping(conn: &mut Conn, calls: &[Uuid]) -> Result<Vec<RecordedCall>, sqlx::Error> {
    on!(conn, |c| {
        let mut query = QueryBuilder::new("SELECT id, erased_at IS NOT NULL AS erased FROM calls WHERE id IN (");
        push_ids(&mut query, calls.iter().copied());
        query.push(")").build_query_as().fetch_all(c).await
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_finished_call_is_reported_without_its_words() {
        let without_words = |data: Value| {
            let body = body_without_words(json!({ "data": data }).to_string().as_bytes());
            serde_json::from_slice::<Value>(&body).expect("JSON")["data"].take()
        };
        let completed = json!({ "summary": "Ana called.", "outcome": { "people": 4 }, "error": null, "turns": 2 });
        let left = json!({ "summary": WORDS_DELETED, "outcome": null, "error": null, "turns": 2 });
        assert_eq!(without_words(completed), left);
        let failed = json!({ "error": "Cannot say: Ana.", "error_code": "provider_error" });
        assert_eq!(without_words(failed), json!({ "error": WORDS_DELETED, "error_code": "provider_error" }));
    }
}
