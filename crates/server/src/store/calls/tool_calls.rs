//! Tools that ran in a conversation, as far as they have ended.

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

/// Writes tools under the lease: those of the call from number `from`, at the position of their number, as
/// [`super::add_transcript_for_runner`] does. Returns `false` if the lease is lost.
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
    const SQL: &str = "INSERT INTO tool_calls \
        (tenant_id, call_id, position, id, name, arguments, result, status, error, start_ms, duration_ms) \
        SELECT tenant_id, id, $3, $4, $5, $6, $7, $8, $9, $10, $11 FROM calls WHERE id = $1 AND lease_token = $2 \
        ON CONFLICT (call_id, position) DO UPDATE SET position = excluded.position";
    for (position, entry) in (from..).zip(entries) {
        let written = execute!(tx, SQL;
            id.uuid(), token, i64::try_from(position).unwrap_or(i64::MAX), &entry.id, &entry.name, &entry.arguments,
            &entry.result, &entry.status, &entry.error, entry.start_ms, entry.duration_ms
        )?;
        if written == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}
