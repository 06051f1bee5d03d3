//! Refuses resources beyond the number that a tenant may store.

use switchhook_core::id::TenantId;

use super::error::ApiError;
use crate::store::bounds::{self, Stored};
use crate::store::tenants::{self, TenantRow};
use crate::store::{Conn, Tx};

/// Locks a tenant until the transaction ends, and returns it.
///
/// # Errors
/// 401 if the tenant does not exist; when the database fails.
pub(crate) async fn lock(tx: &mut Tx, tenant: TenantId) -> Result<TenantRow, ApiError> {
    tenants::lock(tx, tenant).await?.ok_or_else(ApiError::unauthorized)
}

/// Locks a tenant that may have one more of something.
///
/// # Errors
/// 422 if its limit is reached; as [`lock`].
pub(super) async fn lock_for_one_more(tx: &mut Tx, tenant: TenantId, of: Stored) -> Result<TenantRow, ApiError> {
    let row = lock(tx, tenant).await?;
    check_one_more(tx, &row, of).await?;
    Ok(row)
}

/// Refuses one more of something for a tenant that is locked.
///
/// # Errors
/// 422 if the limit is reached; when the database fails.
pub(super) async fn check_one_more(conn: &mut Conn, tenant: &TenantRow, of: Stored) -> Result<(), ApiError> {
    check(conn, tenant, of, 1).await
}

/// Refuses versions of agents that take too many bytes with the one that was written in this transaction.
///
/// # Errors
/// 422 if they do; when the database fails.
pub(super) async fn check_agent_bytes(conn: &mut Conn, tenant: &TenantRow) -> Result<(), ApiError> {
    check(conn, tenant, Stored::AgentBytes, 0).await
}

async fn check(conn: &mut Conn, tenant: &TenantRow, of: Stored, more: i64) -> Result<(), ApiError> {
    let (bound, limit) = (of.bound(), tenant.bound(of));
    let in_use = bounds::in_use(conn, tenant.tenant(), of).await?;
    if in_use.saturating_add(more) <= limit {
        return Ok(());
    }
    let message = format!(
        "{}: {in_use} of {limit} in use. {}, or ask the operator: switchhook tenant set {} --{} N",
        bound.refusal, bound.remedy, tenant.id, bound.option
    );
    Err(ApiError::invalid_field(bound.field, message))
}
