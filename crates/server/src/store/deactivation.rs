//! The end of a tenant's access, in one transaction.

use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;

use super::tenants::TenantRow;
use super::{Tx, calls, columns, deliveries, run, sessions};

/// Deactivates a tenant: its keys, sessions, calls and deliveries. Returns the tenant. Nodes end the calls marked here within
/// seconds, queued ones without dialling them.
///
/// # Errors
/// When the database fails.
pub async fn deactivate_for_operator(
    tx: &mut Tx,
    id: TenantId,
    now: Timestamp,
) -> Result<Option<TenantRow>, sqlx::Error> {
    const SQL: &str =
        concat!("UPDATE tenants SET active = FALSE, updated_at = $2 WHERE id = $1 RETURNING ", columns!(tenants));
    let row = run!(tx, query_as.fetch_optional, SQL; id.uuid(), now.as_micros())?;
    calls::request_hangup_of_all(tx, id, now).await?;
    deliveries::cancel_of_tenant(tx, id).await?;
    sessions::end_of_tenant(tx, id).await?;
    Ok(row)
}
