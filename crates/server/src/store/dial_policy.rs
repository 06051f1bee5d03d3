//! Facts for a tenant's dial policy: the numbers called in the last 24 hours, and today's cost of calls.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use sqlx::QueryBuilder;
use switchhook_core::Timestamp;
use switchhook_core::dial_policy::{
    DialFacts, DialPolicy, DialRefused, NumberingPlan, PER_NUMBER_PER_DAY, Prefix, parse_prefixes,
};
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;

use super::tenants::{self, TenantRow};
use super::{Conn, Tx, chunks, execute, on, run};

/// The window in which calls to a number are counted.
const WINDOW: Duration = Duration::from_secs(24 * 3600);
const DAY_MICROS: i64 = 24 * 3600 * 1_000_000;

/// Parses the policy from a tenant's columns.
#[must_use]
pub fn of(row: &TenantRow) -> DialPolicy {
    // Written only by the operator's command, which validates them.
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

/// Facts about some numbers for a policy.
pub struct DialHistory {
    own_numbers: HashSet<String>,
    dialed: HashMap<String, u32>,
    cost_today_micros: u64,
}

impl DialHistory {
    /// Loads the facts about these numbers.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn read(
        conn: &mut Conn,
        tenant: TenantId,
        to: &[&PhoneNumber],
        now: Timestamp,
    ) -> Result<Self, sqlx::Error> {
        let subscribers: Vec<String> = to.iter().map(|to| subscriber(to)).collect();
        let addresses: Vec<&str> = to.iter().map(|to| to.reveal()).collect();
        Ok(Self {
            own_numbers: own_numbers(conn, tenant, &subscribers).await?,
            dialed: dialed(conn, tenant, &addresses, now).await?,
            cost_today_micros: cost_today(conn, tenant, now).await?,
        })
    }

    /// Returns the facts about one of these numbers with its numbering plan; `counted` if calls to it count.
    #[must_use]
    pub fn facts(&self, to: &PhoneNumber, plan: NumberingPlan, counted: bool) -> DialFacts {
        DialFacts {
            plan,
            own_number: self.own_numbers.contains(&subscriber(to)),
            dialed_in_a_day: counted.then(|| self.dialed.get(to.reveal()).copied().unwrap_or(0)),
            cost_today_micros: self.cost_today_micros,
        }
    }

    /// Adds a call of this batch.
    pub fn add(&mut self, to: &PhoneNumber) {
        *self.dialed.entry(to.reveal().to_owned()).or_default() += 1;
    }
}

/// Returns the number in a SIP address, or the address itself.
fn subscriber(to: &PhoneNumber) -> String {
    to.e164().unwrap_or_else(|| to.reveal().to_owned())
}

/// Checks `to` with its numbering plan against the tenant's policy; `counted` if calls to it count.
///
/// # Errors
/// When the database fails, or the tenant does not exist.
pub async fn judge(
    conn: &mut Conn,
    tenant: TenantId,
    to: &PhoneNumber,
    plan: NumberingPlan,
    counted: bool,
    now: Timestamp,
) -> Result<Result<(), DialRefused>, sqlx::Error> {
    let row = tenants::get(conn, tenant).await?.ok_or(sqlx::Error::RowNotFound)?;
    let history = DialHistory::read(conn, tenant, &[to], now).await?;
    Ok(of(&row).judge(to, &history.facts(to, plan, counted)))
}

/// Returns those of these numbers that are the tenant's own.
async fn own_numbers(conn: &mut Conn, tenant: TenantId, numbers: &[String]) -> Result<HashSet<String>, sqlx::Error> {
    let mut found = HashSet::new();
    for chunk in chunks(numbers) {
        let own: Vec<String> = on!(conn, |c| {
            let mut query = QueryBuilder::new("SELECT number FROM numbers WHERE tenant_id = ");
            query.push_bind(tenant.uuid()).push(" AND number IN (");
            let mut list = query.separated(", ");
            for number in chunk {
                list.push_bind(number.as_str());
            }
            query.push(")").build_query_scalar().fetch_all(c).await
        })?;
        found.extend(own);
    }
    Ok(found)
}

/// Returns the cost of this day's calls (UTC), in millionths of a dollar.
///
/// # Errors
/// When the database fails.
pub async fn cost_today(conn: &mut Conn, tenant: TenantId, now: Timestamp) -> Result<u64, sqlx::Error> {
    const SQL: &str = "SELECT micros FROM daily_costs WHERE tenant_id = $1 AND day = $2";
    let micros: Option<i64> = run!(conn, query_scalar.fetch_optional, SQL; tenant.uuid(), day(now))?;
    Ok(micros.and_then(|micros| u64::try_from(micros).ok()).unwrap_or(0))
}

/// Counts calls to these numbers in the last 24 hours; leaves out uncalled numbers.
async fn dialed(
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

/// Adds a call's cost to its tenant's day.
///
/// # Errors
/// When the database fails.
pub async fn add_cost(tx: &mut Tx, tenant: TenantId, micros: i64, now: Timestamp) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO daily_costs (tenant_id, day, micros) VALUES ($1, $2, $3) \
        ON CONFLICT (tenant_id, day) DO UPDATE SET micros = daily_costs.micros + excluded.micros";
    execute!(tx, SQL; tenant.uuid(), day(now), micros).map(drop)
}

/// Returns the start of the day (UTC).
fn day(now: Timestamp) -> i64 {
    now.as_micros() - now.as_micros().rem_euclid(DAY_MICROS)
}

/// Deletes a batch of expired rows. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, now: Timestamp) -> Result<u64, sqlx::Error> {
    let old = "DELETE FROM dialed_numbers WHERE id IN (SELECT id FROM dialed_numbers WHERE dialed_at <= $1 LIMIT 500)";
    execute!(tx, old; (now - WINDOW).as_micros())
}
