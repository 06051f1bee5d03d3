//! The end of a tenant's access.

use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;

use super::tenants::TenantRow;
use super::{Store, calls, columns, deliveries, run, sessions};

/// Deactivates a tenant: its keys, sessions, calls and deliveries. Returns the tenant. Nodes end the calls marked here within
/// seconds, queued ones without dialling them.
///
/// The first transaction ends all access; the tenant's data, which may be large, follows in batches. If that is interrupted, another
/// deactivation finishes it.
///
/// # Errors
/// When the database fails.
pub async fn deactivate_for_operator(
    store: &Store,
    id: TenantId,
    now: Timestamp,
) -> Result<Option<TenantRow>, sqlx::Error> {
    const SQL: &str =
        concat!("UPDATE tenants SET active = FALSE, updated_at = $2 WHERE id = $1 RETURNING ", columns!(tenants));
    let mut tx = store.begin().await?;
    let row = run!(tx, query_as.fetch_optional, SQL; id.uuid(), now.as_micros())?;
    tx.commit().await?;
    loop {
        let mut tx = store.begin().await?;
        let ended = calls::request_hangup_of_all(&mut tx, id, now).await?
            + deliveries::cancel_of_tenant(&mut tx, id).await?
            + sessions::end_of_tenant(&mut tx, id).await?;
        tx.commit().await?;
        if ended == 0 {
            return Ok(row);
        }
    }
}
