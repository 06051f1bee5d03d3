//! Calls: queries for customers, and for workers under a lease.

use sqlx::types::Json;
use switchhook_core::Timestamp;
use switchhook_core::call::{Call, CallEffect, CallInput, Change, EndReason, EndedBy, Ending, Timing};
use switchhook_core::event::CallFacts;
use switchhook_core::id::{CallId, ConnectionId, TenantId};
use switchhook_core::quota::QuotaUsage;

use super::events::{self, Happened};
use super::{Conn, Tx, columns, dial_policy, execute, locking, refusals, run, statistics};

/// The condition of every index over live calls, word for word: SQLite uses a partial index only then.
macro_rules! live {
    () => {
        live!("calls")
    };
    ($table:literal) => {
        concat!($table, ".status IN ('queued', 'dialing', 'in_progress')")
    };
}

pub mod commands;
mod create;
pub mod decisions;
mod facts;
pub mod inputs;
mod leases;
mod list;
pub(in crate::store) mod row;
pub mod search;
pub mod tool_calls;
pub mod turn;

pub use create::{NewCall, create};
pub use leases::{
    Claim, claim_abandoned_for_recovery, claim_due_for_dialer, claim_for_browser, give_back_for_node,
    hand_back_for_node, hangup_requests_for_node, move_for_media, own_for_arrival, renew_leases_for_node, take_over,
};
pub use list::{Filter, list};
pub(in crate::store) use row::cost_micros;
pub use row::{AnalysisResult, AnalysisStatus, CallRequest, CallRow, Overrides, TranscriptEntry, WrapUp};

/// Returns a call of a tenant.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: CallId) -> Result<Option<CallRow>, sqlx::Error> {
    const SQL: &str = concat!("SELECT ", columns!(calls), " FROM calls WHERE tenant_id = $1 AND id = $2");
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Returns a call for a carrier that is authorised by the token in its URL.
///
/// # Errors
/// When the database fails.
pub async fn get_for_carrier(conn: &mut Conn, id: CallId) -> Result<Option<CallRow>, sqlx::Error> {
    const SQL: &str = concat!("SELECT ", columns!(calls), " FROM calls WHERE id = $1");
    run!(conn, query_as.fetch_optional, SQL; id.uuid())
}

/// Returns the call of a connection with this carrier id.
///
/// # Errors
/// When the database fails.
pub async fn by_carrier_call_id(
    conn: &mut Conn,
    connection: ConnectionId,
    carrier_call_id: &str,
) -> Result<Option<CallRow>, sqlx::Error> {
    const SQL: &str =
        concat!("SELECT ", columns!(calls), " FROM calls WHERE connection_id = $1 AND carrier_call_id = $2");
    run!(conn, query_as.fetch_optional, SQL; connection.uuid(), carrier_call_id)
}

/// Returns whether another call between the same numbers of the connection, dialled after `since`, has no carrier id.
///
/// # Errors
/// When the database fails.
pub async fn has_twin_without_id(conn: &mut Conn, id: CallId, since: Timestamp) -> Result<bool, sqlx::Error> {
    const SQL: &str = "SELECT COUNT(*) FROM calls JOIN calls AS ours ON ours.id = $1 \
        WHERE calls.tenant_id = ours.tenant_id AND calls.connection_id = ours.connection_id AND calls.id <> ours.id \
        AND calls.from_number = ours.from_number AND calls.to_number = ours.to_number \
        AND calls.carrier_call_id IS NULL AND calls.dialing_at > $2";
    let twins: i64 = run!(conn, query_scalar.fetch_one, SQL; id.uuid(), since.as_micros())?;
    Ok(twins > 0)
}

/// Returns a call of a tenant and locks it until the transaction ends.
///
/// # Errors
/// When the database fails.
pub async fn lock(tx: &mut Tx, tenant: TenantId, id: CallId) -> Result<Option<CallRow>, sqlx::Error> {
    let sql = locking!(
        tx,
        concat!("SELECT ", columns!(calls), " FROM calls WHERE tenant_id = $1 AND id = $2"),
        " FOR UPDATE"
    );
    run!(tx, query_as.fetch_optional, sql; tenant.uuid(), id.uuid())
}

/// Returns a tenant's use of its quotas: its live calls, counted up to `most_live`, so that not all rows are read; and the calls
/// placed in the month that starts at `month`.
///
/// # Errors
/// When the database fails.
pub async fn count_for_quota(
    conn: &mut Conn,
    tenant: TenantId,
    month: Timestamp,
    most_live: u32,
) -> Result<QuotaUsage, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM calls WHERE tenant_id = $1 AND ",
        live!(),
        " LIMIT $3) AS live), \
         COALESCE((SELECT calls FROM monthly_calls WHERE tenant_id = $1 AND month = $2), 0)"
    );
    let (live, placed): (i64, i64) = run!(conn, query_as.fetch_one, SQL;
        tenant.uuid(), month.as_micros(), i64::from(most_live)
    )?;
    let count = |rows: i64| u32::try_from(rows).unwrap_or(u32::MAX);
    Ok(QuotaUsage { concurrent_calls: count(live), monthly_calls: count(placed) })
}

/// Requests the end of a call; its runner polls for this.
///
/// # Errors
/// When the database fails.
pub async fn request_hangup(tx: &mut Tx, tenant: TenantId, id: CallId, now: Timestamp) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE calls SET hangup_requested_at = $3 \
        WHERE tenant_id = $1 AND id = $2 AND hangup_requested_at IS NULL";
    execute!(tx, SQL; tenant.uuid(), id.uuid(), now.as_micros()).map(drop)
}

/// Requests the end of a batch of a tenant's live calls. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn request_hangup_of_all(tx: &mut Tx, tenant: TenantId, now: Timestamp) -> Result<u64, sqlx::Error> {
    const SQL: &str = concat!(
        "UPDATE calls SET hangup_requested_at = $2 WHERE hangup_requested_at IS NULL AND id IN \
         (SELECT id FROM calls WHERE tenant_id = $1 AND hangup_requested_at IS NULL AND ",
        live!(),
        " LIMIT 500) AND ",
        live!()
    );
    execute!(tx, SQL; tenant.uuid(), now.as_micros())
}

/// Cancels a queued call and voids its lease, so that no node dials it. Returns the call.
///
/// # Errors
/// When the database fails.
pub async fn cancel_queued(tx: &mut Tx, mut row: CallRow, now: Timestamp) -> Result<CallRow, sqlx::Error> {
    row.lease_token = take_over(tx, row.tenant(), row.call_id()).await?;
    let mut call = Call::restore(row.snapshot()?, Timing::default());
    for effect in call.handle(now, CallInput::HangUpRequested) {
        if let CallEffect::Commit(change) = effect
            && let Some(written) = apply_for_runner(tx, &row, &change, None, now).await?
        {
            row = written;
        }
    }
    Ok(row)
}

/// Returns and locks queued calls whose end was requested.
///
/// # Errors
/// When the database fails.
pub async fn lock_canceled_for_dialer(tx: &mut Tx, limit: i64) -> Result<Vec<CallRow>, sqlx::Error> {
    let sql = locking!(
        tx,
        concat!(
            "SELECT ",
            columns!(calls),
            " FROM calls WHERE status = 'queued' AND hangup_requested_at IS NOT NULL AND ",
            live!(),
            " LIMIT $1"
        ),
        " FOR UPDATE SKIP LOCKED"
    );
    run!(tx, query_as.fetch_all, sql; limit)
}

/// Returns a call's transcript so far, from line `from`.
///
/// # Errors
/// When the database fails.
pub async fn transcript(
    conn: &mut Conn,
    tenant: TenantId,
    id: CallId,
    from: i64,
) -> Result<Vec<TranscriptEntry>, sqlx::Error> {
    const SQL: &str = "SELECT role, text, start_ms, end_ms, interrupted, latency_ms, stages FROM transcript_entries \
        WHERE tenant_id = $1 AND call_id = $2 AND position >= $3 ORDER BY position";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), id.uuid(), from)
}

/// Writes a change and its events under the lease of `row` as last read or written. `None` means that the lease is lost, or that
/// this change is already written: see [`applied_for_runner`].
///
/// # Errors
/// When the database fails.
pub async fn apply_for_runner(
    tx: &mut Tx,
    row: &CallRow,
    change: &Change,
    wrap_up: Option<&WrapUp>,
    now: Timestamp,
) -> Result<Option<CallRow>, sqlx::Error> {
    let Some(written) = update(tx, row, change, wrap_up).await? else { return Ok(None) };
    let facts = written.facts()?;
    let before = row.status()?;
    let happened: Vec<_> = (row.event_count + 1..)
        .zip(&change.events)
        .map(|(sequence, kind)| {
            // Events before the end happened before it.
            let status = if change.status.is_terminal() && !kind.is_terminal() { before } else { change.status };
            Happened { at: now, facts: CallFacts { status, ..facts.clone() }, kind: *kind, sequence }
        })
        .collect();
    if !happened.is_empty() {
        events::write(tx, row.tenant(), &happened).await?;
    }
    if let Some(micros) = wrap_up.and_then(|wrap_up| cost_micros(wrap_up.usage.as_ref()?)) {
        dial_policy::add_cost(tx, row.tenant(), micros, now).await?;
    }
    if change.status.is_terminal() {
        search::add(tx, &written, written.ended_at.unwrap_or(now.as_micros())).await?;
        refusals::note(tx, &written, now).await?;
        statistics::add(tx, &written, wrap_up.map(|wrap_up| &wrap_up.responses)).await?;
        if let Some(wrap_up) = wrap_up {
            decisions::write(tx, row.tenant(), row.call_id(), &wrap_up.decisions).await?;
            inputs::write(tx, row.tenant(), row.call_id(), &wrap_up.inputs, now).await?;
        }
    }
    Ok(Some(written))
}

async fn update(
    tx: &mut Tx,
    row: &CallRow,
    change: &Change,
    wrap_up: Option<&WrapUp>,
) -> Result<Option<CallRow>, sqlx::Error> {
    const SQL: &str = concat!(
        "UPDATE calls SET status = $3, deadline = $4, \
        dialing_at = COALESCE($5, dialing_at), ringing_at = COALESCE($6, ringing_at), \
        answered_at = COALESCE($7, answered_at), ended_at = COALESCE($8, ended_at), \
        duration_seconds = COALESCE($9, duration_seconds), carrier_call_id = COALESCE($10, carrier_call_id), \
        end_reason = COALESCE($11, end_reason), ended_by = COALESCE($12, ended_by), \
        error_code = COALESCE($13, error_code), error = COALESCE($14, error), \
        carrier_cause = COALESCE($15, carrier_cause), carrier_code = COALESCE($16, carrier_code), \
        sip_code = COALESCE($17, sip_code), hangup_reported = (hangup_reported OR $18), \
        turns = COALESCE($19, turns), summary = COALESCE($20, summary), outcome = COALESCE($21, outcome), \
        latency = COALESCE($22, latency), usage = COALESCE($23, usage), recording = COALESCE($24, recording), \
        answered_by = COALESCE($25, answered_by), hung_up_by = COALESCE($26, hung_up_by), event_count = event_count + $28, \
        analysis = COALESCE($29, analysis) \
        WHERE id = $1 AND lease_token = $2 AND event_count = $27 AND status IN ('queued', 'dialing', 'in_progress') RETURNING ",
        columns!(calls)
    );
    let error = change.ending.as_ref().and_then(Ending::error);
    let hangup = change.hangup.as_ref();
    run!(tx, query_as.fetch_optional, SQL;
        row.id, row.lease_token, change.status.as_str(), change.deadline.map(Timestamp::as_micros),
        change.dialing_at.map(Timestamp::as_micros), change.ringing_at.map(Timestamp::as_micros),
        change.answered_at.map(Timestamp::as_micros), change.ended_at.map(Timestamp::as_micros),
        change.duration_seconds.map(i64::from), &change.carrier_call_id,
        change.ending.as_ref().and_then(Ending::reason).map(EndReason::as_str),
        change.ending.as_ref().map(|ending| ending.ended_by().as_str()), error.map(|(code, _)| code.as_str()),
        error.map(|(_, words)| words.reveal().clone()), hangup.map(|hangup| hangup.cause.as_str()),
        hangup.and_then(|hangup| hangup.carrier_code.clone()), hangup.and_then(|hangup| hangup.sip_code).map(i64::from),
        hangup.is_some(), wrap_up.map(|w| w.turns), wrap_up.and_then(|w| w.summary.clone()),
        wrap_up.and_then(|w| w.outcome.clone()).map(Json), wrap_up.and_then(|w| w.latency.clone()).map(Json),
        wrap_up.and_then(|w| w.usage.clone()).map(Json), wrap_up.and_then(|w| w.recording.clone()),
        wrap_up.and_then(|w| w.answered_by), hangup.and_then(|hangup| hangup.hung_up_by).map(EndedBy::as_str),
        row.event_count, i64::try_from(change.events.len()).unwrap_or(0),
        wrap_up.and_then(|w| w.analysis.clone()).map(Json)
    )
}

/// Checks whether `change` has been written under the lease of `row`, because the response to a commit can be lost. Returns the
/// current row if so.
///
/// # Errors
/// When the database fails.
pub async fn applied_for_runner(
    conn: &mut Conn,
    row: &CallRow,
    change: &Change,
) -> Result<Option<CallRow>, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(calls),
        " FROM calls WHERE id = $1 AND lease_token = $2 AND event_count = $3 AND status = $4"
    );
    let events = i64::try_from(change.events.len()).unwrap_or(0);
    run!(conn, query_as.fetch_optional, SQL; row.id, row.lease_token, row.event_count + events, change.status.as_str())
}

/// Writes lines of the transcript under the lease: those of the call from number `from`. A line has its number as its position: an
/// attempt whose answer was lost may commit at any time, before this one or after it. Returns `false` if the lease is lost.
///
/// # Errors
/// When the database fails.
pub async fn add_transcript_for_runner(
    tx: &mut Tx,
    id: CallId,
    token: i64,
    from: usize,
    entries: &[TranscriptEntry],
) -> Result<bool, sqlx::Error> {
    const SQL: &str = "INSERT INTO transcript_entries \
        (tenant_id, call_id, position, role, text, start_ms, end_ms, interrupted, latency_ms, stages) \
        SELECT tenant_id, id, $3, $4, $5, $6, $7, $8, $9, $10 FROM calls WHERE id = $1 AND lease_token = $2 \
        ON CONFLICT (call_id, position) DO UPDATE SET position = excluded.position";
    for (position, entry) in (from..).zip(entries) {
        let written = execute!(tx, SQL;
            id.uuid(), token, i64::try_from(position).unwrap_or(i64::MAX), &entry.role, &entry.text, entry.start_ms,
            entry.end_ms, entry.interrupted, entry.latency_ms, &entry.stages
        )?;
        if written == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Counts live calls that were dialled or answered before `then`.
///
/// # Errors
/// When the database fails.
pub async fn count_live_since_before_for_operator(conn: &mut Conn, then: Timestamp) -> Result<i64, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT COUNT(*) FROM calls WHERE ",
        live!(),
        " AND calls.status <> 'queued' AND COALESCE(dialing_at, answered_at, created_at) < $1"
    );
    run!(conn, query_scalar.fetch_one, SQL; then.as_micros())
}
