//! Connections: credentials and settings of carriers and providers.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_core::private::{Credentials, Private};
use switchhook_vault::{Vault, VaultError};
use uuid::Uuid;

use super::page::{Page, PageRequest};
use super::{Conn, Tx, columns, execute, run, sealed};

/// A row of `connections`.
#[derive(Clone, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct ConnectionRow {
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub name: String,
    pub provider: String,
    pub settings: Json<Map<String, Value>>,
    pub credentials: Option<Vec<u8>>,
    pub hints: Json<BTreeMap<String, String>>,
    pub max_concurrent: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
}

impl ConnectionRow {
    /// Creates a row without credentials.
    #[must_use]
    pub fn new(id: ConnectionId, tenant: TenantId, name: String, provider: String, now: Timestamp) -> Self {
        Self {
            id: id.uuid(),
            tenant_id: tenant.uuid(),
            name,
            provider,
            settings: Json::default(),
            credentials: None,
            hints: Json::default(),
            max_concurrent: None,
            created_at: now.as_micros(),
            updated_at: now.as_micros(),
        }
    }

    /// Returns its decrypted credentials; empty if it has none.
    ///
    /// # Errors
    /// If they were sealed with another key or changed.
    pub fn open(&self, vault: &Vault) -> Result<Private<Credentials>, VaultError> {
        let Some(sealed) = &self.credentials else { return Ok(Private::default()) };
        let plain = vault.open(&self.context(), sealed)?;
        serde_json::from_slice(plain.reveal()).map(Private::new).map_err(|_| VaultError::Malformed)
    }

    /// Replaces its credentials.
    pub fn seal(&mut self, vault: &Vault, credentials: &Private<Credentials>) {
        let credentials = credentials.reveal();
        let plain = serde_json::to_vec(credentials).expect("a map of strings is JSON");
        self.credentials = (!credentials.is_empty()).then(|| vault.seal(&self.context(), &plain));
        self.hints.0 = credentials.iter().map(|(name, secret)| (name.clone(), hint(secret))).collect();
    }

    /// Returns the sealing context; credentials open only in this row.
    fn context(&self) -> String {
        sealed::CREDENTIALS.context(self.tenant_id, self.id)
    }
}

/// Returns the last four characters, to recognise a secret; nothing for a short secret.
fn hint(secret: &str) -> String {
    let length = secret.chars().count();
    if length < 8 { String::new() } else { secret.chars().skip(length - 4).collect() }
}

/// Inserts a new row.
///
/// # Errors
/// When the database fails; [`is_duplicate`](super::is_duplicate) if the name is taken.
pub async fn insert(tx: &mut Tx, row: &ConnectionRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO connections \
        (id, tenant_id, name, provider, settings, credentials, hints, max_concurrent, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    execute!(tx, SQL;
        row.id, row.tenant_id, &row.name, &row.provider, &row.settings, &row.credentials, &row.hints,
        row.max_concurrent, row.created_at, row.updated_at
    )
    .map(drop)
}

/// Updates the mutable columns of a row.
///
/// # Errors
/// Like [`insert`].
pub async fn update(tx: &mut Tx, row: &ConnectionRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE connections SET name = $3, settings = $4, credentials = $5, hints = $6, \
        max_concurrent = $7, updated_at = $8 WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL;
        row.tenant_id, row.id, &row.name, &row.settings, &row.credentials, &row.hints, row.max_concurrent,
        row.updated_at
    )
    .map(drop)
}

/// Returns a connection.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: ConnectionId) -> Result<Option<ConnectionRow>, sqlx::Error> {
    const SQL: &str = concat!("SELECT ", columns!(connections), " FROM connections WHERE tenant_id = $1 AND id = $2");
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Returns a connection for its carrier, which is authorised by the token in its URL.
///
/// # Errors
/// When the database fails.
pub async fn get_for_carrier(conn: &mut Conn, id: ConnectionId) -> Result<Option<ConnectionRow>, sqlx::Error> {
    const SQL: &str = concat!("SELECT ", columns!(connections), " FROM connections WHERE id = $1");
    run!(conn, query_as.fetch_optional, SQL; id.uuid())
}

/// Returns the provider of a connection.
///
/// # Errors
/// When the database fails.
pub async fn provider(conn: &mut Conn, tenant: TenantId, id: ConnectionId) -> Result<Option<String>, sqlx::Error> {
    const SQL: &str = "SELECT provider FROM connections WHERE tenant_id = $1 AND id = $2";
    run!(conn, query_scalar.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Returns a page of a tenant's connections, newest first. Large rows make it shorter than its limit.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, page: PageRequest) -> Result<Page<ConnectionRow>, sqlx::Error> {
    const SIZES: &str = "SELECT CAST(octet_length(CAST(settings AS TEXT)) + COALESCE(octet_length(credentials), 0) AS BIGINT) \
        FROM connections WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    const SQL: &str = concat!(
        "SELECT ",
        columns!(connections),
        " FROM connections WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
    );
    let page = page.fitting(run!(conn, query_scalar.fetch_all, SIZES; tenant.uuid(), page.before(), page.limit)?);
    let rows = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), page.before(), page.limit + 1)?;
    Ok(Page::from_rows(rows, page.limit, |row: &ConnectionRow| row.id))
}

/// Deletes a connection. Returns whether it existed.
///
/// # Errors
/// When the database fails; [`is_foreign_key`](super::is_foreign_key) if it is still in use.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: ConnectionId) -> Result<bool, sqlx::Error> {
    const SQL: &str = "DELETE FROM connections WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL; tenant.uuid(), id.uuid()).map(|rows| rows > 0)
}

/// Returns up to ten agents (by name) and ten numbers that use a connection.
///
/// # Errors
/// When the database fails.
pub async fn users(
    conn: &mut Conn,
    tenant: TenantId,
    id: ConnectionId,
) -> Result<(Vec<String>, Vec<String>), sqlx::Error> {
    const AGENTS: &str = "SELECT a.name FROM agent_connections u JOIN agents a ON a.id = u.agent_id \
        WHERE u.tenant_id = $1 AND u.connection_id = $2 ORDER BY a.name LIMIT 10";
    const NUMBERS: &str =
        "SELECT number FROM numbers WHERE tenant_id = $1 AND connection_id = $2 ORDER BY number LIMIT 10";
    let agents = run!(conn, query_scalar.fetch_all, AGENTS; tenant.uuid(), id.uuid())?;
    let numbers = run!(conn, query_scalar.fetch_all, NUMBERS; tenant.uuid(), id.uuid())?;
    Ok((agents, numbers))
}
