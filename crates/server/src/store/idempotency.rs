//! Answers kept so that a repeated request repeats its answer and nothing else.

use std::time::Duration;

use sqlx::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::idempotency::IdempotencyKey;

use super::{Conn, Tx, on};

/// How long an answer is kept.
pub const KEPT: Duration = Duration::from_secs(72 * 3600);
/// Rows deleted at once.
const BATCH: i64 = 500;

/// A kept answer.
#[derive(FromRow)]
pub struct Stored {
    /// Of the request that was answered.
    pub fingerprint: Vec<u8>,
    /// The HTTP status.
    pub status: i64,
    /// The `Location` header.
    pub location: String,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// The answer kept under a tenant's key.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, key: &IdempotencyKey) -> Result<Option<Stored>, sqlx::Error> {
    const SQL: &str =
        "SELECT fingerprint, status, location, body FROM idempotency_keys WHERE tenant_id = $1 AND key = $2";
    on!(conn, |c| sqlx::query_as(SQL).bind(tenant.uuid()).bind(key.as_str()).fetch_optional(c).await)
}

/// Keeps an answer. The caller has locked the tenant and found none.
///
/// # Errors
/// When the database fails.
pub async fn put(
    tx: &mut Tx,
    tenant: TenantId,
    key: &IdempotencyKey,
    stored: &Stored,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, location, body, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    on!(tx, |c| sqlx::query(SQL)
        .bind(tenant.uuid())
        .bind(key.as_str())
        .bind(&stored.fingerprint)
        .bind(stored.status)
        .bind(&stored.location)
        .bind(&stored.body)
        .bind(now.as_micros())
        .execute(c)
        .await
        .map(drop))
}

/// Deletes a batch of answers that have been kept long enough; how many there were.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, now: Timestamp) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM idempotency_keys WHERE (tenant_id, key) IN \
        (SELECT tenant_id, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2)";
    let before = (now - KEPT).as_micros();
    on!(tx, |c| sqlx::query(SQL).bind(before).bind(BATCH).execute(c).await.map(|done| done.rows_affected()))
}
