//! Deletes versions of agents that are not among the newest, belong to no call and get no new ones.
//!
//! A version that is too old goes when a newer one comes, with its last call, or when its agent's traffic no longer names it. Versions
//! of deleted agents are deleted by housekeeping. All of this happens under the tenant's lock, which writing a call takes too, so that no
//! call loses its version.

use std::collections::HashMap;

use switchhook_core::agent::Traffic;
use switchhook_core::id::{AgentId, TenantId};
use uuid::Uuid;

use crate::store::{Conn, Tx, execute, run};

/// Versions of an agent that are kept, the current one among them.
pub const KEPT: i64 = 100;

/// Versions that housekeeping looks at in one transaction.
const BATCH: i64 = 16;
/// Agents that housekeeping looks at in one query.
const AGENTS: i64 = 100;

/// Deletes those of these versions that are not kept. The caller holds the tenant's lock.
///
/// # Errors
/// When the database fails.
pub async fn prune(tx: &mut Tx, tenant: TenantId, versions: &[(AgentId, i64)]) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM agent_versions WHERE tenant_id = $1 AND agent_id = $2 AND version = $3 \
        AND NOT EXISTS (SELECT 1 FROM agents WHERE id = $2 AND version < $3 + $4) \
        AND NOT EXISTS (SELECT 1 FROM calls WHERE agent_id = $2 AND agent_version = $3) RETURNING bytes";
    const BYTES: &str = "UPDATE tenants SET agent_bytes = agent_bytes - $2 WHERE id = $1";
    let mut freed = 0;
    let mut traffic: HashMap<AgentId, Option<Traffic>> = HashMap::new();
    for (agent, version) in versions {
        if !traffic.contains_key(agent) {
            traffic.insert(*agent, super::traffic(tx, tenant, *agent).await?);
        }
        if traffic[agent].as_ref().is_some_and(|traffic| traffic.names(*version)) {
            continue;
        }
        let bytes: Option<i64> =
            run!(tx, query_scalar.fetch_optional, SQL; tenant.uuid(), agent.uuid(), version, KEPT)?;
        freed += bytes.unwrap_or(0);
    }
    if freed > 0 {
        execute!(tx, BYTES; tenant.uuid(), freed)?;
    }
    Ok(())
}

/// Returns whether a version exists, which may be one of a deleted agent.
///
/// # Errors
/// When the database fails.
pub async fn exists(conn: &mut Conn, tenant: TenantId, id: AgentId, version: i64) -> Result<bool, sqlx::Error> {
    const SQL: &str = "SELECT version FROM agent_versions WHERE tenant_id = $1 AND agent_id = $2 AND version = $3";
    let found: Option<i64> = run!(conn, query_scalar.fetch_optional, SQL; tenant.uuid(), id.uuid(), version)?;
    Ok(found.is_some())
}

/// Returns agents with versions that may have to go.
///
/// # Errors
/// When the database fails.
pub async fn waiting_for_housekeeping(conn: &mut Conn) -> Result<Vec<(TenantId, AgentId)>, sqlx::Error> {
    const SQL: &str = "SELECT tenant_id, agent_id FROM agents_to_prune ORDER BY agent_id LIMIT $1";
    let agents: Vec<(Uuid, Uuid)> = run!(conn, query_as.fetch_all, SQL; AGENTS)?;
    Ok(agents.into_iter().map(|(tenant, agent)| (TenantId::from_uuid(tenant), AgentId::from_uuid(agent))).collect())
}

/// Prunes a batch of the versions after `after`, which begins at 0. Returns the last one looked at; `None` if there are no more, and
/// then the agent no longer waits. The caller holds the tenant's lock.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(
    tx: &mut Tx,
    tenant: TenantId,
    agent: AgentId,
    after: i64,
) -> Result<Option<i64>, sqlx::Error> {
    const SQL: &str = "SELECT version FROM agent_versions \
        WHERE tenant_id = $1 AND agent_id = $2 AND version > $3 ORDER BY version LIMIT $4";
    const DONE: &str = "DELETE FROM agents_to_prune WHERE agent_id = $1";
    let versions: Vec<i64> = run!(tx, query_scalar.fetch_all, SQL; tenant.uuid(), agent.uuid(), after, BATCH)?;
    let Some(last) = versions.last().copied() else {
        execute!(tx, DONE; agent.uuid())?;
        return Ok(None);
    };
    let versions: Vec<_> = versions.into_iter().map(|version| (agent, version)).collect();
    prune(tx, tenant, &versions).await?;
    Ok(Some(last))
}
