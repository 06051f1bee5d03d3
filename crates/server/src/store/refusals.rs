//! Connections whose credentials or settings were refused in calls, until one succeeds.

use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::{ConnectionId, TenantId};
use uuid::Uuid;

use super::calls::row::CallRow;
use super::{Conn, Tx, execute, run};

/// The length of a stored refusal, in characters.
const LONGEST: usize = 300;

/// Updates the refusals of a call's connections by how the call ended.
///
/// # Errors
/// When the database fails.
pub async fn note(tx: &mut Tx, call: &CallRow, now: Timestamp) -> Result<(), sqlx::Error> {
    const CARRIER: &str = "INSERT INTO connection_refusals (connection_id, tenant_id, since, calls, detail) \
        SELECT id, tenant_id, CAST($3 AS BIGINT), 1, CAST($4 AS TEXT) FROM connections WHERE tenant_id = $1 AND id = $2 \
        ON CONFLICT (connection_id) DO UPDATE SET calls = connection_refusals.calls + 1, detail = excluded.detail";
    const PROVIDER: &str = "INSERT INTO connection_refusals (connection_id, tenant_id, since, calls, detail) \
        SELECT id, tenant_id, CAST($3 AS BIGINT), 1, CAST($4 AS TEXT) FROM connections \
        WHERE tenant_id = $1 AND provider = $5 AND id IN (SELECT connection_id FROM agent_connections WHERE agent_id = $2) \
        ON CONFLICT (connection_id) DO UPDATE SET calls = connection_refusals.calls + 1, detail = excluded.detail";
    let error = call.error.as_deref().unwrap_or_default();
    let detail: String = error.chars().take(LONGEST).collect();
    match call.error_code.as_deref() {
        Some("carrier_unauthorized") => {
            execute!(tx, CARRIER; call.tenant_id, call.connection_id, now.as_micros(), &detail).map(drop)
        }
        Some("config_error") => {
            // Errors of providers begin with their names.
            let Some((provider, _)) = error.split_once(": ") else { return Ok(()) };
            execute!(tx, PROVIDER; call.tenant_id, call.agent_id, now.as_micros(), &detail, provider).map(drop)
        }
        _ if call.carrier_call_id.is_some() => succeeded(tx, call).await,
        _ => Ok(()),
    }
}

/// Records that the carrier accepted the call and, if the call was answered, that the agent's providers did too.
async fn succeeded(tx: &mut Tx, call: &CallRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM connection_refusals WHERE tenant_id = $1 AND (connection_id = $2 \
        OR ($3 AND connection_id IN (SELECT connection_id FROM agent_connections WHERE agent_id = $4)))";
    execute!(tx, SQL; call.tenant_id, call.connection_id, call.turns > 0, call.agent_id).map(drop)
}

/// Forgets the refusals of a connection that was changed or tested.
///
/// # Errors
/// When the database fails.
pub async fn forget(tx: &mut Tx, tenant: TenantId, id: ConnectionId) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM connection_refusals WHERE tenant_id = $1 AND connection_id = $2";
    execute!(tx, SQL; tenant.uuid(), id.uuid()).map(drop)
}

/// A connection that was refused.
#[derive(FromRow)]
pub struct RefusedConnection {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its provider.
    pub provider: String,
    /// The first refusal.
    pub since: i64,
    /// How many calls were refused.
    pub calls: i64,
    /// The message of the last refusal.
    pub detail: String,
}

/// Returns the connections of a tenant that were refused, the longest refused first.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, limit: i64) -> Result<Vec<RefusedConnection>, sqlx::Error> {
    const SQL: &str = "SELECT connections.id, name, provider, since, calls, detail FROM connection_refusals \
        JOIN connections ON connections.id = connection_id WHERE connection_refusals.tenant_id = $1 \
        ORDER BY since, connections.id LIMIT $2";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), limit)
}
