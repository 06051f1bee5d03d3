//! Tenants: the unit of isolation.

use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::quota::QuotaLimits;
use uuid::Uuid;

use super::bounds::{OwnBounds, Stored};
use super::{Conn, Tx, columns, execute, locking, run};
use crate::config::Config;

/// A row of `tenants`.
#[derive(Clone, Debug, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct TenantRow {
    pub id: Uuid,
    pub name: String,
    pub active: bool,
    pub rate_per_minute: Option<i64>,
    pub concurrent_calls: Option<i64>,
    pub monthly_calls: Option<i64>,
    pub dial_allow: String,
    pub dial_deny: String,
    pub per_number_per_day: Option<i64>,
    pub cost_per_day_micros: Option<i64>,
    pub outbound_allow: String,
    pub stored_limits: Option<Json<OwnBounds>>,
    pub created_at: i64,
    pub updated_at: i64,
}

/// Limits that an operator sets for a tenant; `None` is the configured default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLimits {
    /// Requests in any 60 seconds.
    pub rate_per_minute: Option<u32>,
    /// Concurrent calls.
    pub concurrent_calls: Option<u32>,
    /// Calls in a calendar month.
    pub monthly_calls: Option<MonthlyCap>,
}

/// A tenant's monthly cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonthlyCap {
    /// Maximum calls.
    Calls(u32),
    /// No cap, regardless of the configured default.
    None,
}

impl MonthlyCap {
    fn column(self) -> i64 {
        match self {
            Self::Calls(calls) => i64::from(calls),
            Self::None => -1,
        }
    }
}

impl TenantRow {
    /// Returns its id.
    #[must_use]
    pub fn tenant(&self) -> TenantId {
        TenantId::from_uuid(self.id)
    }

    /// Returns its limits, with configured defaults for those it does not set.
    #[must_use]
    pub fn limits(&self, config: &Config) -> QuotaLimits {
        limits(config, self.rate_per_minute, self.concurrent_calls, self.monthly_calls)
    }

    /// Returns its limit of what it stores.
    #[must_use]
    pub fn bound(&self, of: Stored) -> i64 {
        let bound = of.bound();
        let own = self.stored_limits.as_ref().and_then(|own| own.get(bound.name));
        own.copied().unwrap_or(bound.default)
    }
}

/// Parses the limits from a tenant's three columns.
pub(super) fn limits(config: &Config, rate: Option<i64>, concurrent: Option<i64>, monthly: Option<i64>) -> QuotaLimits {
    let or = |own: Option<i64>, default| own.map_or(default, |own| u32::try_from(own.max(0)).unwrap_or(u32::MAX));
    QuotaLimits {
        rate_per_minute: or(rate, config.rate_limit_per_minute),
        concurrent_calls: or(concurrent, config.concurrent_calls),
        monthly_calls: match monthly {
            None => config.monthly_calls,
            Some(cap) => u32::try_from(cap).ok(),
        },
    }
}

/// Returns a tenant.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId) -> Result<Option<TenantRow>, sqlx::Error> {
    const SQL: &str = concat!("SELECT ", columns!(tenants), " FROM tenants WHERE id = $1");
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid())
}

/// Like [`get`], and locks the tenant until the transaction ends. Rows that only refer to the
/// tenant can still be written.
///
/// # Errors
/// When the database fails.
pub async fn lock(tx: &mut Tx, tenant: TenantId) -> Result<Option<TenantRow>, sqlx::Error> {
    let sql = locking!(tx, concat!("SELECT ", columns!(tenants), " FROM tenants WHERE id = $1"), " FOR NO KEY UPDATE");
    run!(tx, query_as.fetch_optional, sql; tenant.uuid())
}

/// Inserts a new, active tenant.
///
/// # Errors
/// When the database fails.
pub async fn create_for_operator(
    tx: &mut Tx,
    id: TenantId,
    name: &str,
    limits: OwnLimits,
    now: Timestamp,
) -> Result<TenantRow, sqlx::Error> {
    const SQL: &str = concat!(
        "INSERT INTO tenants \
        (id, name, active, rate_per_minute, concurrent_calls, monthly_calls, created_at, updated_at) \
        VALUES ($1, $2, TRUE, $3, $4, $5, $6, $6) RETURNING ",
        columns!(tenants)
    );
    run!(tx, query_as.fetch_one, SQL;
        id.uuid(), name, limits.rate_per_minute.map(i64::from), limits.concurrent_calls.map(i64::from),
        limits.monthly_calls.map(MonthlyCap::column), now.as_micros()
    )
}

/// Returns every tenant, oldest first.
///
/// # Errors
/// When the database fails.
pub async fn list_for_operator(conn: &mut Conn) -> Result<Vec<TenantRow>, sqlx::Error> {
    run!(conn, query_as.fetch_all, concat!("SELECT ", columns!(tenants), " FROM tenants ORDER BY id"))
}

/// Updates the given limits of a tenant. Returns the tenant.
///
/// # Errors
/// When the database fails.
pub async fn set_limits_for_operator(
    tx: &mut Tx,
    id: TenantId,
    limits: OwnLimits,
    now: Timestamp,
) -> Result<Option<TenantRow>, sqlx::Error> {
    const SQL: &str = concat!(
        "UPDATE tenants SET rate_per_minute = COALESCE($2, rate_per_minute), \
        concurrent_calls = COALESCE($3, concurrent_calls), monthly_calls = COALESCE($4, monthly_calls), updated_at = $5 \
        WHERE id = $1 RETURNING ",
        columns!(tenants)
    );
    run!(tx, query_as.fetch_optional, SQL;
        id.uuid(), limits.rate_per_minute.map(i64::from), limits.concurrent_calls.map(i64::from),
        limits.monthly_calls.map(MonthlyCap::column), now.as_micros()
    )
}

/// Sets limits of what a tenant stores; `None` restores the default.
///
/// # Errors
/// When the database fails.
pub async fn set_bounds_for_operator(
    tx: &mut Tx,
    tenant: TenantId,
    changes: &[(Stored, Option<i64>)],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE tenants SET stored_limits = $2, updated_at = $3 WHERE id = $1";
    let Some(row) = lock(tx, tenant).await? else { return Ok(()) };
    let mut own = row.stored_limits.map(|own| own.0).unwrap_or_default();
    for (of, limit) in changes {
        let name = of.bound().name;
        match limit {
            Some(limit) => drop(own.insert(name.to_owned(), *limit)),
            None => drop(own.remove(name)),
        }
    }
    let own = (!own.is_empty()).then_some(Json(own));
    execute!(tx, SQL; tenant.uuid(), own, now.as_micros()).map(drop)
}

/// Changes to a tenant's dial policy and exemptions; `None` keeps the value.
#[derive(Clone, Debug, Default)]
pub struct OwnRules {
    /// Allowed prefixes, comma-separated; empty for every country.
    pub dial_allow: Option<String>,
    /// Denied prefixes, comma-separated.
    pub dial_deny: Option<String>,
    /// Calls to one number in 24 hours; negative for no limit.
    pub per_number_per_day: Option<i64>,
    /// Millionths of a dollar a day; negative for no cap.
    pub cost_per_day_micros: Option<i64>,
    /// Exemptions as in `SWITCHHOOK_OUTBOUND_ALLOW`, for this tenant only.
    pub outbound_allow: Option<String>,
}

/// Updates the given rules of a tenant.
///
/// # Errors
/// When the database fails.
pub async fn set_rules_for_operator(
    tx: &mut Tx,
    id: TenantId,
    rules: &OwnRules,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE tenants SET dial_allow = COALESCE($2, dial_allow), dial_deny = COALESCE($3, dial_deny), \
        per_number_per_day = COALESCE($4, per_number_per_day), \
        cost_per_day_micros = COALESCE($5, cost_per_day_micros), \
        outbound_allow = COALESCE($6, outbound_allow), updated_at = $7 WHERE id = $1";
    execute!(tx, SQL;
        id.uuid(), &rules.dial_allow, &rules.dial_deny, rules.per_number_per_day, rules.cost_per_day_micros,
        &rules.outbound_allow, now.as_micros()
    )
    .map(drop)
}

/// Renames a tenant. Returns the tenant.
///
/// # Errors
/// When the database fails.
pub async fn rename_for_operator(
    tx: &mut Tx,
    id: TenantId,
    name: &str,
    now: Timestamp,
) -> Result<Option<TenantRow>, sqlx::Error> {
    const SQL: &str =
        concat!("UPDATE tenants SET name = $2, updated_at = $3 WHERE id = $1 RETURNING ", columns!(tenants));
    run!(tx, query_as.fetch_optional, SQL; id.uuid(), name, now.as_micros())
}

/// Reactivates a tenant. Returns the tenant. Ended calls and canceled deliveries are not restored.
///
/// # Errors
/// When the database fails.
pub async fn activate_for_operator(
    tx: &mut Tx,
    id: TenantId,
    now: Timestamp,
) -> Result<Option<TenantRow>, sqlx::Error> {
    const SQL: &str =
        concat!("UPDATE tenants SET active = TRUE, updated_at = $2 WHERE id = $1 RETURNING ", columns!(tenants));
    run!(tx, query_as.fetch_optional, SQL; id.uuid(), now.as_micros())
}

/// Returns the tenants with outbound exemptions.
///
/// # Errors
/// When the database fails.
pub async fn exemptions_for_node(conn: &mut Conn) -> Result<Vec<(TenantId, String)>, sqlx::Error> {
    const SQL: &str = "SELECT id, outbound_allow FROM tenants WHERE outbound_allow <> ''";
    let rows: Vec<(Uuid, String)> = run!(conn, query_as.fetch_all, SQL)?;
    Ok(rows.into_iter().map(|(id, allowed)| (TenantId::from_uuid(id), allowed)).collect())
}
