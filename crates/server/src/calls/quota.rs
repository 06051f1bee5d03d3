//! Decides whether a tenant may have one more call. Checked for every call that begins, placed or inbound, in the transaction that
//! creates it.

use switchhook_core::Timestamp;
use switchhook_core::call::Direction;
use switchhook_core::id::TenantId;
use switchhook_core::quota::{self, QuotaExceeded, QuotaLimits, QuotaUsage};

use crate::config::Config;
use crate::store::calls;
use crate::store::tenants::{self, TenantRow};
use crate::store::{Conn, Tx};

/// A tenant's quotas and usage, which no other transaction can change until this one ends.
pub struct Admission {
    /// The tenant.
    pub tenant: TenantRow,
    limits: QuotaLimits,
    usage: QuotaUsage,
    now: Timestamp,
}

impl Admission {
    /// Locks the tenant and counts its calls; `None` if the tenant does not exist.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn open(
        tx: &mut Tx,
        tenant: TenantId,
        config: &Config,
        now: Timestamp,
    ) -> Result<Option<Self>, sqlx::Error> {
        let Some(row) = tenants::lock(tx, tenant).await? else { return Ok(None) };
        let limits = row.limits(config);
        let usage = usage(tx, tenant, &limits, now).await?;
        Ok(Some(Self { tenant: row, limits, usage, now }))
    }

    /// Admits one more call, and counts it from then on.
    ///
    /// # Errors
    /// The quota that is reached.
    pub fn admit(&mut self, direction: Direction) -> Result<(), QuotaExceeded> {
        // The monthly cap counts calls that are placed.
        let placed = direction.is_placed();
        let monthly_calls = self.limits.monthly_calls.filter(|_| placed);
        quota::admit(&self.usage, &QuotaLimits { monthly_calls, ..self.limits }, self.now)?;
        self.usage.concurrent_calls = self.usage.concurrent_calls.saturating_add(1);
        self.usage.monthly_calls = self.usage.monthly_calls.saturating_add(u32::from(placed));
        Ok(())
    }
}

/// Returns a tenant's usage, as far as its limits need it.
///
/// # Errors
/// If the database fails.
pub async fn usage(
    conn: &mut Conn,
    tenant: TenantId,
    limits: &QuotaLimits,
    now: Timestamp,
) -> Result<QuotaUsage, sqlx::Error> {
    calls::count_for_quota(conn, tenant, quota::month_start(now), limits.concurrent_calls).await
}
