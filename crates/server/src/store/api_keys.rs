//! API keys. Only the SHA-256 of a key is stored.

use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::api_key::{ApiKey, Environment, KeyHash};
use switchhook_core::id::{ApiKeyId, TenantId};
use switchhook_core::quota::QuotaLimits;
use switchhook_runtime::clock;
use uuid::Uuid;

use super::page::{Page, PageRequest};
use super::{Conn, Tx, execute, run, tenants};
use crate::config::Config;

/// A row of `api_keys`, without the hash.
#[derive(Clone, Debug, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct ApiKeyRow {
    pub id: Uuid,
    pub prefix: String,
    pub name: Option<String>,
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub last_used_at: Option<i64>,
    pub revoked_at: Option<i64>,
}

/// A new key: its row, and the key itself, to be shown once.
#[derive(Debug)]
pub struct Issued {
    /// The row.
    pub row: ApiKeyRow,
    /// The key.
    pub key: ApiKey,
}

/// A key's row and tenant, to authenticate a request.
#[derive(Clone, Debug, FromRow)]
pub struct Credential {
    /// The key's row.
    pub id: Uuid,
    /// The tenant.
    pub tenant_id: Uuid,
    hash: Vec<u8>,
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
    /// Whether the tenant is active.
    pub tenant_active: bool,
    rate_per_minute: Option<i64>,
    concurrent_calls: Option<i64>,
    monthly_calls: Option<i64>,
}

impl Credential {
    /// Returns whether a key with this hash is valid at `now`. Compares in constant time.
    #[must_use]
    pub fn accepts(&self, hash: KeyHash, now: Timestamp) -> bool {
        let stored = <[u8; 32]>::try_from(self.hash.as_slice()).map(KeyHash::from_bytes);
        let expired = self.expires_at.is_some_and(|at| at <= now.as_micros());
        stored.is_ok_and(|stored| stored == hash) && !expired && self.revoked_at.is_none()
    }

    /// Returns the tenant's limits.
    #[must_use]
    pub fn limits(&self, config: &Config) -> QuotaLimits {
        tenants::limits(config, self.rate_per_minute, self.concurrent_calls, self.monthly_calls)
    }
}

/// Returns the credential with this prefix, of any tenant; it identifies the tenant of a request.
///
/// # Errors
/// When the database fails.
pub async fn find_for_authentication(conn: &mut Conn, prefix: &str) -> Result<Option<Credential>, sqlx::Error> {
    const SQL: &str = "SELECT k.id, k.tenant_id, k.hash, k.expires_at, k.revoked_at, t.active AS tenant_active, \
        t.rate_per_minute, t.concurrent_calls, t.monthly_calls \
        FROM api_keys k JOIN tenants t ON t.id = k.tenant_id WHERE k.prefix = $1";
    run!(conn, query_as.fetch_optional, SQL; prefix)
}

/// Returns whether a key is still valid, for streams that outlive their request's check.
///
/// # Errors
/// When the database fails.
pub async fn still_opens(conn: &mut Conn, tenant: TenantId, id: ApiKeyId, now: Timestamp) -> Result<bool, sqlx::Error> {
    const SQL: &str = "SELECT COUNT(*) FROM api_keys k JOIN tenants t ON t.id = k.tenant_id \
        WHERE k.tenant_id = $1 AND k.id = $2 AND k.revoked_at IS NULL AND t.active = TRUE \
        AND (k.expires_at IS NULL OR k.expires_at > $3)";
    let found: i64 = run!(conn, query_scalar.fetch_one, SQL; tenant.uuid(), id.uuid(), now.as_micros())?;
    Ok(found > 0)
}

/// Creates a key for a tenant and inserts its row.
///
/// # Errors
/// When the database fails.
pub async fn issue(
    tx: &mut Tx,
    tenant: TenantId,
    environment: Environment,
    name: Option<&str>,
    expires_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<Issued, sqlx::Error> {
    const SQL: &str = "INSERT INTO api_keys (id, tenant_id, prefix, hash, name, created_at, expires_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) \
        RETURNING id, prefix, name, created_at, expires_at, last_used_at, revoked_at";
    let key = ApiKey::generate(environment, || clock::random::<1>()[0]);
    let id = ApiKeyId::new(now, clock::random());
    let row = run!(tx, query_as.fetch_one, SQL;
        id.uuid(), tenant.uuid(), key.prefix(), key.hash().as_bytes().as_slice(), name, now.as_micros(),
        expires_at.map(Timestamp::as_micros)
    )?;
    Ok(Issued { row, key })
}

/// Returns a page of a tenant's keys, newest first.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, page: PageRequest) -> Result<Page<ApiKeyRow>, sqlx::Error> {
    const SQL: &str = "SELECT id, prefix, name, created_at, expires_at, last_used_at, revoked_at FROM api_keys \
        WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    let rows = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), page.before(), page.limit + 1)?;
    Ok(Page::from_rows(rows, page.limit, |row: &ApiKeyRow| row.id))
}

/// Returns a key.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: ApiKeyId) -> Result<Option<ApiKeyRow>, sqlx::Error> {
    const SQL: &str = "SELECT id, prefix, name, created_at, expires_at, last_used_at, revoked_at FROM api_keys \
        WHERE tenant_id = $1 AND id = $2";
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Revokes a key; idempotent. Returns whether it exists.
///
/// # Errors
/// When the database fails.
pub async fn revoke(tx: &mut Tx, tenant: TenantId, id: ApiKeyId, now: Timestamp) -> Result<bool, sqlx::Error> {
    const SQL: &str = "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3) WHERE tenant_id = $1 AND id = $2";
    let done = execute!(tx, SQL; tenant.uuid(), id.uuid(), now.as_micros())?;
    Ok(done > 0)
}

/// Records when keys were last used; never moves a time backwards.
///
/// # Errors
/// When the database fails.
pub async fn touch_for_housekeeping(tx: &mut Tx, used: &[(Uuid, Timestamp)]) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
    for (id, at) in used {
        execute!(tx, SQL; id, at.as_micros())?;
    }
    Ok(())
}
