//! Stored responses of idempotent requests.

use std::sync::Arc;
use std::time::Duration;

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::idempotency::IdempotencyKey;

use super::{Conn, Tx, chunks, execute, on};

/// Retention of a response.
pub const RETENTION: Duration = Duration::from_secs(72 * 3600);
/// The body of a response whose words were erased.
pub const ERASED: &[u8] = b"";
/// Rows deleted per statement.
const BATCH: i64 = 500;

/// A stored response.
#[derive(FromRow)]
pub struct Stored {
    /// The client's key.
    pub key: String,
    /// The request's fingerprint.
    pub fingerprint: Vec<u8>,
    /// The HTTP status.
    pub status: i64,
    /// The `Location` header.
    pub location: String,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// Returns the responses stored under these keys of a tenant.
///
/// # Errors
/// When the database fails.
pub async fn get_all(conn: &mut Conn, tenant: TenantId, keys: &[&IdempotencyKey]) -> Result<Vec<Stored>, sqlx::Error> {
    let mut all = Vec::new();
    for chunk in chunks(keys) {
        let found: Vec<Stored> = on!(conn, |c| {
            let mut query = QueryBuilder::new(
                "SELECT key, fingerprint, status, location, body FROM idempotency_keys WHERE tenant_id = ",
            );
            query.push_bind(tenant.uuid()).push(" AND key IN (");
            let mut list = query.separated(", ");
            for key in chunk {
                list.push_bind(key.as_str());
            }
            query.push(")");
            query.build_query_as().fetch_all(c).await
        })?;
        all.extend(found);
    }
    Ok(all)
}

/// Stores responses. The tenant must be locked and the keys unused.
///
/// # Errors
/// When the database fails.
pub async fn put(tx: &mut Tx, tenant: TenantId, answers: &[Arc<Stored>], now: Timestamp) -> Result<(), sqlx::Error> {
    for chunk in chunks(answers) {
        on!(tx, |c| {
            let mut query = QueryBuilder::new(
                "INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, location, body, created_at) ",
            );
            query.push_values(chunk, |mut values, stored| {
                values.push_bind(tenant.uuid()).push_bind(&stored.key).push_bind(&stored.fingerprint);
                values.push_bind(stored.status).push_bind(&stored.location).push_bind(&stored.body);
                values.push_bind(now.as_micros());
            });
            query.build().execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// Deletes a batch of expired responses. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, now: Timestamp) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM idempotency_keys WHERE created_at < $1 AND (tenant_id, key) IN \
        (SELECT tenant_id, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2)";
    let before = (now - RETENTION).as_micros();
    execute!(tx, SQL; before, BATCH)
}
