//! Tools that ran in a conversation, as far as they have ended; and those that were requested, for a node that has to end the call.
//!
//! Requests stand at positions below zero, which no reader of a call asks for.

use serde::Serialize;
use serde_json::Value;
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::id::{CallId, TenantId};
use utoipa::ToSchema;

use crate::store::{Conn, Tx, execute, run};

/// A tool that the agent used.
#[derive(Clone, FromRow, Serialize, ToSchema)]
pub struct ToolCallEntry {
    /// The model's id of it.
    pub id: String,
    /// The tool.
    #[schema(example = "book_table")]
    pub name: String,
    /// What the model passed.
    #[schema(value_type = Value)]
    pub arguments: Json<Value>,
    /// What the model was told; `null` if nothing.
    #[schema(value_type = Option<Value>)]
    pub result: Option<Json<Value>>,
    /// Whether a tool worked.
    #[schema(value_type = ToolCallStatus)]
    pub status: String,
    /// Why it failed.
    pub error: Option<String>,
    /// Milliseconds since the start of the conversation.
    pub start_ms: i64,
    /// Duration.
    pub duration_ms: i64,
}

/// Whether a tool worked.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the status of a ToolCallEntry")]
enum ToolCallStatus {
    /// It did.
    Succeeded,
    /// It failed or was refused.
    Failed,
}

/// Returns a call's tools from number `from`, in the order in which they ended.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, id: CallId, from: i64) -> Result<Vec<ToolCallEntry>, sqlx::Error> {
    const SQL: &str = "SELECT id, name, arguments, result, status, error, start_ms, duration_ms FROM tool_calls \
        WHERE tenant_id = $1 AND call_id = $2 AND position >= $3 ORDER BY position";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), id.uuid(), from)
}

/// Returns a call's tools that were requested and whose end is not stored, in the order of the requests.
///
/// # Errors
/// When the database fails.
pub async fn requested(conn: &mut Conn, tenant: TenantId, id: CallId) -> Result<Vec<ToolCallEntry>, sqlx::Error> {
    const SQL: &str = "SELECT id, name, arguments, result, status, error, start_ms, duration_ms FROM tool_calls \
        WHERE tenant_id = $1 AND call_id = $2 AND position < 0 ORDER BY position DESC";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), id.uuid())
}

/// Writes requests of tools under the lease, from number `from`; each says what is true of it if its end never follows. Returns `false`
/// if the lease is lost.
///
/// # Errors
/// When the database fails.
pub async fn request_for_runner(
    tx: &mut Tx,
    id: CallId,
    token: i64,
    from: usize,
    entries: &[ToolCallEntry],
) -> Result<bool, sqlx::Error> {
    for (number, entry) in (from..).zip(entries) {
        let position = -1 - i64::try_from(number).unwrap_or(i64::MAX);
        if !write_for_runner(tx, id, token, position, entry).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes tools under the lease: those of the call from number `from`, at the position of their number, as
/// [`super::add_transcript_for_runner`] does. What was requested of them is deleted. Returns `false` if the lease is lost.
///
/// # Errors
/// When the database fails.
pub async fn add_for_runner(
    tx: &mut Tx,
    id: CallId,
    token: i64,
    from: usize,
    entries: &[ToolCallEntry],
) -> Result<bool, sqlx::Error> {
    // Models repeat ids.
    const ENDED: &str = "DELETE FROM tool_calls WHERE call_id = $1 AND position < 0 AND id = $2 AND start_ms = $3";
    for (number, entry) in (from..).zip(entries) {
        let position = i64::try_from(number).unwrap_or(i64::MAX);
        if !write_for_runner(tx, id, token, position, entry).await? {
            return Ok(false);
        }
        execute!(tx, ENDED; id.uuid(), &entry.id, entry.start_ms)?;
    }
    Ok(true)
}

async fn write_for_runner(
    tx: &mut Tx,
    id: CallId,
    token: i64,
    position: i64,
    entry: &ToolCallEntry,
) -> Result<bool, sqlx::Error> {
    const SQL: &str = "INSERT INTO tool_calls \
        (tenant_id, call_id, position, id, name, arguments, result, status, error, start_ms, duration_ms) \
        SELECT tenant_id, id, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM calls WHERE id = $1 AND lease_token = $2 \
        ON CONFLICT (call_id, position) DO UPDATE SET position = excluded.position";
    let written = execute!(tx, SQL;
        id.uuid(), token, position, &entry.id, &entry.name, &entry.arguments,
        &entry.result, &entry.status, &entry.error, entry.start_ms, entry.duration_ms
    )?;
    Ok(written > 0)
}
