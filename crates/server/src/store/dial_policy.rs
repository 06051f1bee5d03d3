//! What a tenant's dial policy rests on: whom it has called in the last 24 hours, and what its calls have cost today.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::{FromRow, QueryBuilder};
use switchhook_core::Timestamp;
use switchhook_core::dial_policy::{
    DialFacts, DialPolicy, DialRefused, NumberingPlan, PER_NUMBER_PER_DAY, Prefix, parse_prefixes,
};
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;

use super::tenants::TenantRow;
use super::{Conn, Tx, chunks, on};

/// For how long calls to a number are counted.
const WINDOW: Duration = Duration::from_secs(24 * 3600);
const DAY_MICROS: i64 = 24 * 3600 * 1_000_000;

/// The policy that stands in a tenant's columns.
#[must_use]
pub fn of(row: &TenantRow) -> DialPolicy {
    // Written by the operator's command only, which checks them.
    let prefixes = |text: &str| -> Vec<Prefix> { parse_prefixes(text).unwrap_or_default() };
    DialPolicy {
        allow: prefixes(&row.dial_allow),
        deny: prefixes(&row.dial_deny),
        per_number_per_day: match row.per_number_per_day {
            None => Some(PER_NUMBER_PER_DAY),
            Some(most) => u32::try_from(most).ok(), // Negative: no limit.
        },
        cost_per_day_micros: row.cost_per_day_micros.and_then(|micros| u64::try_from(micros).ok()),
    }
}

#[derive(FromRow)]
struct Row {
    #[sqlx(flatten)]
    tenant: TenantRow,
    own_number: bool,
    cost_today: Option<i64>,
}

/// Whether the tenant may call `to`, of which the numbering plans say `plan`; `counted` where calls to it count.
///
/// # Errors
/// When the database fails, and when there is no such tenant.
pub async fn judge(
    conn: &mut Conn,
    tenant: TenantId,
    to: &PhoneNumber,
    plan: NumberingPlan,
    counted: bool,
    now: Timestamp,
) -> Result<Result<(), DialRefused>, sqlx::Error> {
    const SQL: &str = "SELECT tenants.*, \
        EXISTS (SELECT 1 FROM numbers WHERE numbers.tenant_id = tenants.id AND numbers.number = $2) AS own_number, \
        (SELECT micros FROM daily_costs WHERE daily_costs.tenant_id = tenants.id AND day = $3) AS cost_today \
        FROM tenants WHERE id = $1";
    let row: Row = on!(conn, |c| sqlx::query_as(SQL)
        .bind(tenant.uuid())
        .bind(to.e164().unwrap_or_else(|| to.reveal().to_owned()))
        .bind(day(now))
        .fetch_one(c)
        .await)?;
    let dialed = if counted { dialed(conn, tenant, &[to.reveal()], now).await? } else { HashMap::new() };
    let facts = DialFacts {
        plan,
        own_number: row.own_number,
        dialed_in_a_day: counted.then(|| dialed.get(to.reveal()).copied().unwrap_or(0)),
        cost_today_micros: row.cost_today.and_then(|micros| u64::try_from(micros).ok()).unwrap_or(0),
    };
    Ok(of(&row.tenant).judge(to, &facts))
}

/// How often these numbers were called in the last 24 hours; those that were not are left out.
///
/// # Errors
/// When the database fails.
pub async fn dialed(
    conn: &mut Conn,
    tenant: TenantId,
    to: &[&str],
    now: Timestamp,
) -> Result<HashMap<String, u32>, sqlx::Error> {
    let mut found = HashMap::new();
    for chunk in chunks(to) {
        let counts: Vec<(String, i64)> = on!(conn, |c| {
            let mut query = QueryBuilder::new("SELECT number, COUNT(*) FROM dialed_numbers WHERE tenant_id = ");
            query.push_bind(tenant.uuid()).push(" AND dialed_at > ").push_bind((now - WINDOW).as_micros());
            query.push(" AND number IN (");
            let mut list = query.separated(", ");
            for number in chunk {
                list.push_bind(*number);
            }
            query.push(") GROUP BY number").build_query_as().fetch_all(c).await
        })?;
        found.extend(counts.into_iter().map(|(number, count)| (number, u32::try_from(count).unwrap_or(u32::MAX))));
    }
    Ok(found)
}

/// Counts a call to each of these numbers.
///
/// # Errors
/// When the database fails.
pub async fn count(tx: &mut Tx, tenant: TenantId, to: &[&str], now: Timestamp) -> Result<(), sqlx::Error> {
    for chunk in chunks(to) {
        on!(tx, |c| {
            let mut query = QueryBuilder::new("INSERT INTO dialed_numbers (tenant_id, number, dialed_at) ");
            query.push_values(chunk, |mut values, number| {
                values.push_bind(tenant.uuid()).push_bind(*number).push_bind(now.as_micros());
            });
            query.build().execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// Adds what a call has cost to its tenant's day.
///
/// # Errors
/// When the database fails.
pub async fn add_cost(tx: &mut Tx, tenant: TenantId, micros: i64, now: Timestamp) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO daily_costs (tenant_id, day, micros) VALUES ($1, $2, $3) \
        ON CONFLICT (tenant_id, day) DO UPDATE SET micros = daily_costs.micros + excluded.micros";
    on!(tx, |c| sqlx::query(SQL).bind(tenant.uuid()).bind(day(now)).bind(micros).execute(c).await.map(drop))
}

/// The beginning of the day (UTC).
fn day(now: Timestamp) -> i64 {
    now.as_micros() - now.as_micros().rem_euclid(DAY_MICROS)
}

/// Deletes some of what counts no more; how many rows.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, now: Timestamp) -> Result<u64, sqlx::Error> {
    let old = "DELETE FROM dialed_numbers WHERE id IN (SELECT id FROM dialed_numbers WHERE dialed_at <= $1 LIMIT 500)";
    on!(tx, |c| sqlx::query(old).bind((now - WINDOW).as_micros()).execute(c).await.map(|done| done.rows_affected()))
}
