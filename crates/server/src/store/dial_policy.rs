//! Facts for a tenant's dial policy: the numbers called and scheduled within 24 hours, and today's cost of calls.

use std::collections::{HashMap, HashSet};

use sqlx::QueryBuilder;
use switchhook_core::Timestamp;
use switchhook_core::dial_policy::{
    COUNTED_WITHIN, DialFacts, DialPolicy, NumberingPlan, PER_NUMBER_PER_DAY, Prefix, most_in_a_day, parse_prefixes,
};
use switchhook_core::id::TenantId;
use switchhook_core::phone_number::PhoneNumber;

use super::tenants::TenantRow;
use super::{Conn, Tx, chunks, execute, on, run};

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

/// A call or transfer to decide about.
#[derive(Clone, Copy)]
pub struct DialAttempt<'a> {
    /// The called number.
    pub to: &'a PhoneNumber,
    /// The number's entry in the numbering plans.
    pub plan: NumberingPlan,
    /// When it is dialled, if it counts among the calls to its number.
    pub counts_at: Option<Timestamp>,
}

/// Calls to one number around the time of an attempt.
enum Dialed {
    /// Fewer than the limit, whenever they are.
    Few(u32),
    /// When they are, in order.
    At(Vec<Timestamp>),
}

/// Facts about some attempts for a policy.
pub struct DialHistory {
    own_numbers: HashSet<String>,
    dialed: HashMap<String, Dialed>,
    cost_today_micros: u64,
}

impl DialHistory {
    /// Loads the facts about these attempts.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn read(
        conn: &mut Conn,
        tenant: TenantId,
        policy: &DialPolicy,
        attempts: &[DialAttempt<'_>],
        now: Timestamp,
    ) -> Result<Self, sqlx::Error> {
        let parties: Vec<String> = attempts.iter().map(|attempt| attempt.to.called_party()).collect();
        Ok(Self {
            own_numbers: own_numbers(conn, tenant, &parties).await?,
            dialed: match policy.per_number_per_day {
                Some(most) => dialed(conn, tenant, attempts, most).await?,
                None => HashMap::new(),
            },
            cost_today_micros: cost_today(conn, tenant, now).await?,
        })
    }

    /// Returns the facts about one of these attempts.
    #[must_use]
    pub fn facts(&self, attempt: &DialAttempt<'_>) -> DialFacts {
        let party = attempt.to.called_party();
        let dialed = |at| match self.dialed.get(&party) {
            None => 0,
            Some(Dialed::Few(count)) => *count,
            Some(Dialed::At(times)) => most_in_a_day(times, at),
        };
        DialFacts {
            plan: attempt.plan,
            own_number: self.own_numbers.contains(&party),
            dialed_in_a_day: attempt.counts_at.map(dialed),
            cost_today_micros: self.cost_today_micros,
        }
    }

    /// Adds a call at `at`, one of these attempts.
    pub fn add(&mut self, to: &PhoneNumber, at: Timestamp) {
        match self.dialed.entry(to.called_party()).or_insert(Dialed::Few(0)) {
            Dialed::Few(count) => *count += 1,
            Dialed::At(times) => times.insert(times.partition_point(|other| *other <= at), at),
        }
    }
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

/// Returns the calls to these numbers within 24 hours of the attempts that count; leaves out uncalled numbers.
async fn dialed(
    conn: &mut Conn,
    tenant: TenantId,
    attempts: &[DialAttempt<'_>],
    most: u32,
) -> Result<HashMap<String, Dialed>, sqlx::Error> {
    let mut wanted: HashMap<String, u32> = HashMap::new();
    for attempt in attempts.iter().filter(|attempt| attempt.counts_at.is_some()) {
        *wanted.entry(attempt.to.called_party()).or_default() += 1;
    }
    let times = attempts.iter().filter_map(|attempt| attempt.counts_at);
    let (Some(first), Some(last)) = (times.clone().min(), times.max()) else { return Ok(HashMap::new()) };
    let (after, before) = ((first - COUNTED_WITHIN).as_micros(), (last + COUNTED_WITHIN).as_micros());
    let parties: Vec<&str> = wanted.keys().map(String::as_str).collect();
    let mut found = HashMap::new();
    let mut many = Vec::new();
    for chunk in chunks(&parties) {
        let counts: Vec<(String, i64)> = on!(conn, |c| {
            let mut query = QueryBuilder::new("SELECT number, COUNT(*) FROM dialed_numbers WHERE tenant_id = ");
            query.push_bind(tenant.uuid()).push(" AND dialed_at > ").push_bind(after);
            query.push(" AND dialed_at < ").push_bind(before).push(" AND number IN (");
            let mut list = query.separated(", ");
            for number in chunk {
                list.push_bind(*number);
            }
            query.push(") GROUP BY number").build_query_as().fetch_all(c).await
        })?;
        for (number, count) in counts {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let with_these = count.saturating_add(wanted.get(&number).copied().unwrap_or(0));
            if with_these > most {
                many.push(number);
            } else {
                found.insert(number, Dialed::Few(count));
            }
        }
    }
    for number in many {
        let times = times_dialed(conn, tenant, &number, (after, before)).await?;
        found.insert(number, Dialed::At(times));
    }
    Ok(found)
}

/// Returns when a number was dialed or will be, in order, between two times in microseconds.
pub(super) async fn times_dialed(
    conn: &mut Conn,
    tenant: TenantId,
    number: &str,
    (after, before): (i64, i64),
) -> Result<Vec<Timestamp>, sqlx::Error> {
    const SQL: &str = "SELECT dialed_at FROM dialed_numbers WHERE tenant_id = $1 AND number = $2 AND dialed_at > $3 \
        AND dialed_at < $4 ORDER BY dialed_at";
    let times: Vec<i64> = run!(conn, query_scalar.fetch_all, SQL; tenant.uuid(), number, after, before)?;
    Ok(times.into_iter().map(Timestamp::from_micros).collect())
}

/// Counts these calls, each at its time.
///
/// # Errors
/// When the database fails.
pub async fn count(tx: &mut Tx, tenant: TenantId, calls: &[(PhoneNumber, Timestamp)]) -> Result<(), sqlx::Error> {
    for chunk in chunks(calls) {
        on!(tx, |c| {
            let mut query = QueryBuilder::new("INSERT INTO dialed_numbers (tenant_id, number, dialed_at) ");
            query.push_values(chunk, |mut values, (to, at)| {
                values.push_bind(tenant.uuid()).push_bind(to.called_party()).push_bind(at.as_micros());
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
    execute!(tx, old; (now - COUNTED_WITHIN).as_micros())
}
