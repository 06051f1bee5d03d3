//! What clients ask of a running conversation: rows that any node writes and the call's own node takes.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;
use sqlx::types::Json;
use switchhook_core::Timestamp;
use switchhook_core::id::{CallId, CommandId, NodeId, TenantId};
use uuid::Uuid;

use super::CallRow;
use crate::clock;
use crate::store::{Conn, Dialect, Tx, on};

/// Rows deleted at once.
const BATCH: i64 = 500;

/// One thing to do. `Debug` would print spoken words, keys and numbers, so there is none.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Command {
    /// The agent says this.
    Say {
        /// The words.
        text: String,
        /// Whether instead of what it is saying.
        interrupt: bool,
    },
    /// Keys are pressed.
    Dtmf {
        /// `0` to `9`, `*`, `#`, `A` to `D`; `w` is a pause of 500 ms.
        digits: String,
    },
    /// The caller is passed on.
    Transfer {
        /// To this number or SIP address.
        to: String,
    },
}

/// Writes a command. The caller has locked the call and found it in conversation.
///
/// # Errors
/// When the database fails.
pub async fn give(
    tx: &mut Tx,
    tenant: TenantId,
    call: CallId,
    command: &Command,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "INSERT INTO call_commands (id, tenant_id, call_id, command, created_at) VALUES ($1, $2, $3, $4, $5)";
    on!(tx, |c| sqlx::query(SQL)
        .bind(CommandId::new(now, clock::random()).uuid())
        .bind(tenant.uuid())
        .bind(call.uuid())
        .bind(Json(command))
        .bind(now.as_micros())
        .execute(c)
        .await
        .map(drop))
}

/// The calls of this node for which commands wait.
///
/// # Errors
/// When the database fails.
pub async fn waiting_for_node(conn: &mut Conn, node: NodeId) -> Result<Vec<Uuid>, sqlx::Error> {
    const SQL: &str = "SELECT DISTINCT calls.id FROM call_commands JOIN calls ON calls.id = call_commands.call_id \
        WHERE calls.lease_owner = $1";
    on!(conn, |c| sqlx::query_scalar(SQL).bind(node.uuid()).fetch_all(c).await)
}

/// Takes the commands of a call under its lease, oldest first: whoever has committed this is the only one who ever got them.
/// Nothing comes when the lease is lost.
///
/// # Errors
/// When the database fails.
pub async fn take_for_runner(tx: &mut Tx, row: &CallRow) -> Result<Vec<Command>, sqlx::Error> {
    #[derive(FromRow)]
    struct Taken {
        id: Uuid,
        command: Json<Command>,
        created_at: i64,
    }
    const OWNED: &str = "SELECT id FROM calls WHERE id = $1 AND lease_token = $2";
    const TAKE: &str = "DELETE FROM call_commands WHERE call_id = $1 RETURNING id, command, created_at";
    // Who claims the call meanwhile waits until the commands are ours or not.
    let owned = if tx.dialect() == Dialect::Postgres { format!("{OWNED} FOR NO KEY UPDATE") } else { OWNED.to_owned() };
    let owned: Option<Uuid> = on!(tx, |c| sqlx::query_scalar(sqlx::AssertSqlSafe(owned))
        .bind(row.id)
        .bind(row.lease_token)
        .fetch_optional(c)
        .await)?;
    if owned.is_none() {
        return Ok(Vec::new());
    }
    let mut taken: Vec<Taken> = on!(tx, |c| sqlx::query_as(TAKE).bind(row.id).fetch_all(c).await)?;
    taken.sort_by_key(|taken| (taken.created_at, taken.id));
    Ok(taken.into_iter().map(|taken| taken.command.0).collect())
}

/// Deletes a batch of commands whose call ended before they were taken; how many there were.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM call_commands WHERE id IN (SELECT call_commands.id FROM call_commands \
        JOIN calls ON calls.id = call_commands.call_id WHERE calls.status IN ('completed', 'failed') LIMIT $1)";
    on!(tx, |c| sqlx::query(SQL).bind(BATCH).execute(c).await.map(|done| done.rows_affected()))
}
