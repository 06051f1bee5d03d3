//! Agents and their versions. A version is immutable and outlives its agent, because calls are pinned to it. The newest
//! [`KEPT`](pruning::KEPT) of an agent stay, and those of calls and of its traffic.

pub mod pruning;

use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::agent::{AgentConfig, Traffic};
use switchhook_core::id::{AgentId, CallId, ConnectionId, TenantId};
use uuid::Uuid;

use super::page::{PAGE_BYTES, Page, PageRequest, fitting};
use super::{Conn, Tx, execute, run};

/// A row of `agents` with its newest version.
#[derive(Clone, Debug, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct AgentRow {
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub name: String,
    pub version: i64,
    pub traffic: Option<Json<Traffic>>,
    pub config: Json<AgentConfig>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl AgentRow {
    /// Returns its tenant's id.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.tenant_id)
    }

    /// Returns how new calls are split among its versions; `None` if all get the newest.
    #[must_use]
    pub fn traffic(&self) -> Option<&Traffic> {
        self.traffic.as_ref().map(|json| &json.0)
    }

    /// Returns its id.
    #[must_use]
    pub fn agent(&self) -> AgentId {
        AgentId::from_uuid(self.id)
    }

    /// Returns the size of its configuration as JSON.
    fn bytes(&self) -> Result<i64, sqlx::Error> {
        let json = serde_json::to_vec(&self.config.0).map_err(|error| sqlx::Error::Encode(error.into()))?;
        Ok(i64::try_from(json.len()).unwrap_or(i64::MAX))
    }
}

/// Inserts a new agent and its first version. The caller holds the tenant's lock.
///
/// # Errors
/// When the database fails; [`is_duplicate`](super::is_duplicate) if the name is taken.
pub async fn insert(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO agents (id, tenant_id, name, version, created_at, updated_at, traffic) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    execute!(tx, SQL; row.id, row.tenant_id, &row.name, row.version, row.created_at, row.updated_at, &row.traffic)?;
    insert_version(tx, row).await?;
    link_connections(tx, row).await
}

/// Inserts the next version of an agent, numbered in `row`, sets the agent's traffic, and deletes versions that are no longer kept. The
/// caller holds the tenant's lock.
///
/// # Errors
/// Like [`insert`].
pub async fn update(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE agents SET name = $3, version = $4, updated_at = $5 WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL; row.tenant_id, row.id, &row.name, row.version, row.updated_at)?;
    insert_version(tx, row).await?;
    set_traffic(tx, row).await?;
    pruning::prune(tx, row.tenant(), &[(row.agent(), row.version - pruning::KEPT)]).await
}

/// Sets how new calls are split among an agent's versions, and deletes versions that only the previous split kept. The caller holds the
/// tenant's lock.
///
/// # Errors
/// When the database fails; [`is_foreign_key`](super::is_foreign_key) if a connection of a version no longer exists.
pub async fn set_traffic(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE agents SET traffic = $3, updated_at = $4 WHERE tenant_id = $1 AND id = $2";
    let (tenant, id) = (row.tenant(), row.agent());
    let before = traffic(tx, tenant, id).await?;
    execute!(tx, SQL; row.tenant_id, row.id, &row.traffic, row.updated_at)?;
    link_connections(tx, row).await?;
    let dropped = before.iter().flat_map(Traffic::parts).map(|part| part.version);
    let dropped = dropped.filter(|version| !row.traffic().is_some_and(|traffic| traffic.names(*version)));
    pruning::prune(tx, tenant, &dropped.map(|version| (id, version)).collect::<Vec<_>>()).await
}

/// Records the connections of all versions that calls can get, and of the newest, so that none of them can be deleted.
async fn link_connections(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const UNLINK: &str = "DELETE FROM agent_connections WHERE tenant_id = $1 AND agent_id = $2";
    const LINK: &str = "INSERT INTO agent_connections (tenant_id, agent_id, connection_id) VALUES ($1, $2, $3) \
        ON CONFLICT DO NOTHING";
    execute!(tx, UNLINK; row.tenant_id, row.id)?;
    let mut configs = vec![row.config.0.clone()];
    for part in row.traffic().map(Traffic::parts).unwrap_or_default() {
        if part.version != row.version {
            configs.extend(version(tx, row.tenant(), row.agent(), part.version).await?);
        }
    }
    for (_, connection) in configs.iter().flat_map(AgentConfig::connections) {
        execute!(tx, LINK; row.tenant_id, row.id, connection.uuid())?;
    }
    Ok(())
}

/// Returns how an agent's new calls are split.
async fn traffic(conn: &mut Conn, tenant: TenantId, id: AgentId) -> Result<Option<Traffic>, sqlx::Error> {
    const SQL: &str = "SELECT traffic FROM agents WHERE tenant_id = $1 AND id = $2";
    let found: Option<Option<Json<Traffic>>> = run!(conn, query_scalar.fetch_optional, SQL; tenant.uuid(), id.uuid())?;
    Ok(found.flatten().map(|json| json.0))
}

async fn insert_version(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const VERSION: &str = "INSERT INTO agent_versions (tenant_id, agent_id, version, config, created_at, name, bytes) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    const BYTES: &str = "UPDATE tenants SET agent_bytes = agent_bytes + $2 WHERE id = $1";
    let bytes = row.bytes()?;
    execute!(tx, VERSION; row.tenant_id, row.id, row.version, &row.config, row.updated_at, &row.name, bytes)?;
    execute!(tx, BYTES; row.tenant_id, bytes)?;
    Ok(())
}

/// Returns the newest version of an agent.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: AgentId) -> Result<Option<AgentRow>, sqlx::Error> {
    const SQL: &str = "SELECT a.id, a.tenant_id, a.name, a.version, a.traffic, v.config, a.created_at, a.updated_at \
        FROM agents a JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version \
        WHERE a.tenant_id = $1 AND a.id = $2";
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Returns the newest versions of up to `limit` agents that use a connection in a version that calls can get, newest agents first.
///
/// # Errors
/// When the database fails.
pub async fn using(
    conn: &mut Conn,
    tenant: TenantId,
    connection: ConnectionId,
    limit: i64,
) -> Result<Vec<AgentRow>, sqlx::Error> {
    const SQL: &str = "SELECT a.id, a.tenant_id, a.name, a.version, a.traffic, v.config, a.created_at, a.updated_at \
        FROM agent_connections u JOIN agents a ON a.id = u.agent_id \
        JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version \
        WHERE u.tenant_id = $1 AND u.connection_id = $2 ORDER BY a.id DESC LIMIT $3";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), connection.uuid(), limit)
}

/// Returns the newest version of the agent with this name.
///
/// # Errors
/// When the database fails.
pub async fn named(conn: &mut Conn, tenant: TenantId, name: &str) -> Result<Option<AgentRow>, sqlx::Error> {
    const SQL: &str = "SELECT a.id, a.tenant_id, a.name, a.version, a.traffic, v.config, a.created_at, a.updated_at \
        FROM agents a JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version \
        WHERE a.tenant_id = $1 AND a.name = $2";
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), name)
}

/// The version of an agent that a call gets.
#[derive(Clone, Debug)]
pub struct CallVersion {
    /// Its number.
    pub version: i64,
    /// Its configuration.
    pub config: AgentConfig,
}

/// Returns the version of an agent that a call gets: `version` if it is given, else the one that its traffic selects, else the newest.
/// `None` if there is no such agent or version.
///
/// # Errors
/// When the database fails.
pub async fn for_call(
    conn: &mut Conn,
    tenant: TenantId,
    id: AgentId,
    version: Option<i64>,
    call: CallId,
) -> Result<Option<CallVersion>, sqlx::Error> {
    let Some(newest) = get(conn, tenant, id).await? else { return Ok(None) };
    let selected = version.or_else(|| Some(newest.traffic()?.version(call)));
    if let Some(number) = selected.filter(|number| *number != newest.version) {
        let config = self::version(conn, tenant, id, number).await?;
        if config.is_some() || version.is_some() {
            return Ok(config.map(|config| CallVersion { version: number, config }));
        }
        // A node of an earlier release, which does not know of traffic, may have pruned it.
        tracing::warn!(agent = %id, version = number, "an agent's traffic names a version that is gone; the call gets the newest");
    }
    Ok(Some(CallVersion { version: newest.version, config: newest.config.0 }))
}

/// Returns one version of an agent, which may have been deleted since.
///
/// # Errors
/// When the database fails.
pub async fn version(
    conn: &mut Conn,
    tenant: TenantId,
    id: AgentId,
    version: i64,
) -> Result<Option<AgentConfig>, sqlx::Error> {
    const SQL: &str = "SELECT config FROM agent_versions WHERE tenant_id = $1 AND agent_id = $2 AND version = $3";
    let config: Option<Json<AgentConfig>> = run!(conn, query_scalar.fetch_optional, SQL;
        tenant.uuid(), id.uuid(), version
    )?;
    Ok(config.map(|json| json.0))
}

/// A row of `agent_versions`.
#[derive(Clone, Debug, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct VersionRow {
    pub version: i64,
    pub name: Option<String>,
    pub config: Json<AgentConfig>,
    pub created_at: i64,
}

/// Returns one version of an agent with its name then.
///
/// # Errors
/// When the database fails.
pub async fn named_version(
    conn: &mut Conn,
    tenant: TenantId,
    id: AgentId,
    version: i64,
) -> Result<Option<VersionRow>, sqlx::Error> {
    const SQL: &str = "SELECT version, name, config, created_at FROM agent_versions \
        WHERE tenant_id = $1 AND agent_id = $2 AND version = $3";
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid(), version)
}

/// Versions of an agent, newest first, and the one before them, if there is one.
pub struct Versions {
    /// The page. Large rows make it shorter than its limit.
    pub rows: Vec<VersionRow>,
    /// The version before the last one of the page.
    pub before: Option<VersionRow>,
}

/// Returns the versions of an agent before `before`.
///
/// # Errors
/// When the database fails.
pub async fn versions(
    conn: &mut Conn,
    tenant: TenantId,
    id: AgentId,
    before: i64,
    limit: i64,
) -> Result<Versions, sqlx::Error> {
    const SIZES: &str = "SELECT CAST(octet_length(CAST(config AS TEXT)) AS BIGINT) FROM agent_versions \
        WHERE tenant_id = $1 AND agent_id = $2 AND version < $3 ORDER BY version DESC LIMIT $4";
    const SQL: &str = "SELECT version, name, config, created_at FROM agent_versions \
        WHERE tenant_id = $1 AND agent_id = $2 AND version < $3 ORDER BY version DESC LIMIT $4";
    let (tenant, id) = (tenant.uuid(), id.uuid());
    let sizes: Vec<i64> = run!(conn, query_scalar.fetch_all, SIZES; tenant, id, before, limit)?;
    let shown = fitting(sizes, PAGE_BYTES).max(1);
    let one_more = i64::try_from(shown).unwrap_or(i64::MAX).saturating_add(1);
    let mut rows: Vec<VersionRow> = run!(conn, query_as.fetch_all, SQL; tenant, id, before, one_more)?;
    let before = if rows.len() > shown { rows.pop() } else { None };
    Ok(Versions { rows, before })
}

/// Returns the numbers of an agent's newest `limit` versions and of those in its traffic, newest first, with when each was created.
///
/// # Errors
/// When the database fails.
pub async fn creation_times(conn: &mut Conn, row: &AgentRow, limit: i64) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    const NEWEST: &str = "SELECT version, created_at FROM agent_versions \
        WHERE tenant_id = $1 AND agent_id = $2 AND version < $3 ORDER BY version DESC LIMIT $4";
    const ONE: &str = "SELECT version, created_at FROM agent_versions \
        WHERE tenant_id = $1 AND agent_id = $2 AND version = $3";
    let mut found: Vec<(i64, i64)> = run!(conn, query_as.fetch_all, NEWEST; row.tenant_id, row.id, i64::MAX, limit)?;
    for part in row.traffic().map(Traffic::parts).unwrap_or_default() {
        if found.iter().all(|(version, _)| *version != part.version) {
            let one: Option<(i64, i64)> =
                run!(conn, query_as.fetch_optional, ONE; row.tenant_id, row.id, part.version)?;
            found.extend(one);
        }
    }
    found.sort_unstable_by_key(|(version, _)| std::cmp::Reverse(*version));
    Ok(found)
}

/// Returns a page of a tenant's agents, newest first. Large rows make it shorter than its limit.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, page: PageRequest) -> Result<Page<AgentRow>, sqlx::Error> {
    const SIZES: &str = "SELECT CAST(octet_length(CAST(v.config AS TEXT)) AS BIGINT) FROM agents a \
        JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version \
        WHERE a.tenant_id = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3";
    const SQL: &str = "SELECT a.id, a.tenant_id, a.name, a.version, a.traffic, v.config, a.created_at, a.updated_at \
        FROM agents a JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version \
        WHERE a.tenant_id = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3";
    let page = page.fitting(run!(conn, query_scalar.fetch_all, SIZES; tenant.uuid(), page.before(), page.limit)?);
    let rows = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), page.before(), page.limit + 1)?;
    Ok(Page::from_rows(rows, page.limit, |row: &AgentRow| row.id))
}

/// Deletes an agent. Returns whether it existed. Housekeeping deletes its versions, except those of calls. The caller holds the
/// tenant's lock.
///
/// # Errors
/// When the database fails; [`is_foreign_key`](super::is_foreign_key) if it still answers a number.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: AgentId) -> Result<bool, sqlx::Error> {
    const SQL: &str = "DELETE FROM agents WHERE tenant_id = $1 AND id = $2";
    const VERSIONS: &str =
        "INSERT INTO agents_to_prune (agent_id, tenant_id) VALUES ($1, $2) ON CONFLICT (agent_id) DO NOTHING";
    let existed = execute!(tx, SQL; tenant.uuid(), id.uuid())? > 0;
    if existed {
        execute!(tx, VERSIONS; id.uuid(), tenant.uuid())?;
    }
    Ok(existed)
}

/// Returns up to ten numbers that an agent answers.
///
/// # Errors
/// When the database fails.
pub async fn numbers(conn: &mut Conn, tenant: TenantId, id: AgentId) -> Result<Vec<String>, sqlx::Error> {
    const SQL: &str =
        "SELECT number FROM numbers WHERE tenant_id = $1 AND inbound_agent_id = $2 ORDER BY number LIMIT 10";
    run!(conn, query_scalar.fetch_all, SQL; tenant.uuid(), id.uuid())
}
