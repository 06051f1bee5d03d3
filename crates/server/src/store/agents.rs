//! Agents and their versions. A version is immutable and outlives its agent, because calls are pinned to it.

use sqlx::FromRow;
use sqlx::types::Json;
use switchhook_core::agent::AgentConfig;
use switchhook_core::id::{AgentId, TenantId};
use uuid::Uuid;

use super::page::{PAGE_BYTES, Page, fitting};
use super::{Conn, Tx, on};

/// A row of `agents` with its newest version.
#[derive(Clone, Debug, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct AgentRow {
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub name: String,
    pub version: i64,
    pub config: Json<AgentConfig>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl AgentRow {
    /// Returns its id.
    #[must_use]
    pub fn agent(&self) -> AgentId {
        AgentId::from_uuid(self.id)
    }
}

/// Inserts a new agent and its first version.
///
/// # Errors
/// When the database fails; [`is_duplicate`](super::is_duplicate) if the name is taken.
pub async fn insert(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO agents (id, tenant_id, name, version, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6)";
    on!(tx, |c| sqlx::query(SQL)
        .bind(row.id)
        .bind(row.tenant_id)
        .bind(&row.name)
        .bind(row.version)
        .bind(row.created_at)
        .bind(row.updated_at)
        .execute(c)
        .await
        .map(drop))?;
    insert_version(tx, row).await
}

/// Inserts the next version of an agent, numbered in `row`.
///
/// # Errors
/// Like [`insert`].
pub async fn update(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const AGENT: &str = "UPDATE agents SET name = $3, version = $4, updated_at = $5 WHERE tenant_id = $1 AND id = $2";
    const CONNECTIONS: &str = "DELETE FROM agent_connections WHERE tenant_id = $1 AND agent_id = $2";
    on!(tx, |c| sqlx::query(AGENT)
        .bind(row.tenant_id)
        .bind(row.id)
        .bind(&row.name)
        .bind(row.version)
        .bind(row.updated_at)
        .execute(c)
        .await
        .map(drop))?;
    on!(tx, |c| sqlx::query(CONNECTIONS).bind(row.tenant_id).bind(row.id).execute(c).await.map(drop))?;
    insert_version(tx, row).await
}

async fn insert_version(tx: &mut Tx, row: &AgentRow) -> Result<(), sqlx::Error> {
    const VERSION: &str = "INSERT INTO agent_versions (tenant_id, agent_id, version, config, created_at, name) \
        VALUES ($1, $2, $3, $4, $5, $6)";
    const CONNECTION: &str = "INSERT INTO agent_connections (tenant_id, agent_id, connection_id) VALUES ($1, $2, $3) \
        ON CONFLICT DO NOTHING";
    on!(tx, |c| sqlx::query(VERSION)
        .bind(row.tenant_id)
        .bind(row.id)
        .bind(row.version)
        .bind(&row.config)
        .bind(row.updated_at)
        .bind(&row.name)
        .execute(c)
        .await
        .map(drop))?;
    for (_, connection) in row.config.connections() {
        on!(tx, |c| sqlx::query(CONNECTION)
            .bind(row.tenant_id)
            .bind(row.id)
            .bind(connection.uuid())
            .execute(c)
            .await
            .map(drop))?;
    }
    Ok(())
}

/// Returns the newest version of an agent.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: AgentId) -> Result<Option<AgentRow>, sqlx::Error> {
    const SQL: &str = "SELECT a.id, a.tenant_id, a.name, a.version, v.config, a.created_at, a.updated_at FROM agents a \
        JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version WHERE a.tenant_id = $1 AND a.id = $2";
    on!(conn, |c| sqlx::query_as(SQL).bind(tenant.uuid()).bind(id.uuid()).fetch_optional(c).await)
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
    let config: Option<Json<AgentConfig>> = on!(conn, |c| sqlx::query_scalar(SQL)
        .bind(tenant.uuid())
        .bind(id.uuid())
        .bind(version)
        .fetch_optional(c)
        .await)?;
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
    on!(conn, |c| sqlx::query_as(SQL).bind(tenant.uuid()).bind(id.uuid()).bind(version).fetch_optional(c).await)
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
    let sizes: Vec<i64> =
        on!(conn, |c| sqlx::query_scalar(SIZES).bind(tenant).bind(id).bind(before).bind(limit).fetch_all(c).await)?;
    let shown = fitting(sizes, PAGE_BYTES).max(1);
    let one_more = i64::try_from(shown).unwrap_or(i64::MAX).saturating_add(1);
    let mut rows: Vec<VersionRow> =
        on!(conn, |c| sqlx::query_as(SQL).bind(tenant).bind(id).bind(before).bind(one_more).fetch_all(c).await)?;
    let before = if rows.len() > shown { rows.pop() } else { None };
    Ok(Versions { rows, before })
}

/// Returns a page of a tenant's agents, newest first. Large rows make it shorter than `limit`.
///
/// # Errors
/// When the database fails.
pub async fn list(
    conn: &mut Conn,
    tenant: TenantId,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Page<AgentRow>, sqlx::Error> {
    const SIZES: &str = "SELECT CAST(octet_length(CAST(v.config AS TEXT)) AS BIGINT) FROM agents a \
        JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version \
        WHERE a.tenant_id = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3";
    const SQL: &str = "SELECT a.id, a.tenant_id, a.name, a.version, v.config, a.created_at, a.updated_at FROM agents a \
        JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version \
        WHERE a.tenant_id = $1 AND a.id < $2 ORDER BY a.id DESC LIMIT $3";
    let before = before.unwrap_or(Uuid::max());
    let sizes: Vec<i64> =
        on!(conn, |c| sqlx::query_scalar(SIZES).bind(tenant.uuid()).bind(before).bind(limit).fetch_all(c).await)?;
    let limit = fitting(sizes, PAGE_BYTES).max(1);
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let rows = on!(conn, |c| sqlx::query_as(SQL).bind(tenant.uuid()).bind(before).bind(one_more).fetch_all(c).await)?;
    Ok(Page::from_rows(rows, limit, |row: &AgentRow| row.id))
}

/// Deletes an agent, but not its versions. Returns whether it existed.
///
/// # Errors
/// When the database fails; [`is_foreign_key`](super::is_foreign_key) if it still answers a number.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: AgentId) -> Result<bool, sqlx::Error> {
    const SQL: &str = "DELETE FROM agents WHERE tenant_id = $1 AND id = $2";
    on!(tx, |c| sqlx::query(SQL)
        .bind(tenant.uuid())
        .bind(id.uuid())
        .execute(c)
        .await
        .map(|done| done.rows_affected() > 0))
}

/// Returns up to ten numbers that an agent answers.
///
/// # Errors
/// When the database fails.
pub async fn numbers(conn: &mut Conn, tenant: TenantId, id: AgentId) -> Result<Vec<String>, sqlx::Error> {
    const SQL: &str =
        "SELECT number FROM numbers WHERE tenant_id = $1 AND inbound_agent_id = $2 ORDER BY number LIMIT 10";
    on!(conn, |c| sqlx::query_scalar(SQL).bind(tenant.uuid()).bind(id.uuid()).fetch_all(c).await)
}
