//! Sums of ended calls by the hour, written in the transaction that ends a call: a figure costs what its time span is long, not what
//! the database's past is.

use std::collections::HashMap;

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::histogram::Histogram;
use switchhook_core::id::{AgentId, TenantId};
use uuid::Uuid;

use super::calls::row::{CallRow, cost_micros};
use super::{Conn, Tx, chunks, on};

const HOUR: i64 = 3_600_000_000;
/// Agents and connections of a list.
const MOST: i64 = 100;

/// Sums of ended calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct Sums {
    /// Calls that ended as `completed`.
    pub completed: i64,
    /// Calls that ended as `failed`.
    pub failed: i64,
    /// Their durations.
    pub seconds: i64,
    /// Their cost in millionths of a dollar, as far as prices are known.
    pub cost_micros: i64,
    /// Calls that used something without a price.
    pub unpriced: i64,
}

impl std::ops::Add for Sums {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            completed: self.completed + more.completed,
            failed: self.failed + more.failed,
            seconds: self.seconds + more.seconds,
            cost_micros: self.cost_micros + more.cost_micros,
            unpriced: self.unpriced + more.unpriced,
        }
    }
}

/// Adds a call that has just ended, with what its caller waited for answers. The last statement of a transaction: others that end a
/// call of the same agent wait for its row.
///
/// # Errors
/// When the database fails.
pub async fn add(tx: &mut Tx, call: &CallRow, responses: Option<&Histogram>) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO call_sums \
        (tenant_id, hour, agent_id, connection_id, completed, failed, seconds, cost_micros, unpriced) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
        ON CONFLICT (tenant_id, hour, agent_id, connection_id) DO UPDATE SET \
        completed = call_sums.completed + excluded.completed, failed = call_sums.failed + excluded.failed, \
        seconds = call_sums.seconds + excluded.seconds, cost_micros = call_sums.cost_micros + excluded.cost_micros, \
        unpriced = call_sums.unpriced + excluded.unpriced";
    let ended_at = call.ended_at.unwrap_or(call.created_at);
    let hour = ended_at - ended_at.rem_euclid(HOUR);
    let bins: Vec<(u32, u64)> = responses.into_iter().flat_map(Histogram::bins).collect();
    for chunk in chunks(&bins) {
        on!(tx, |c| {
            let mut query =
                QueryBuilder::new("INSERT INTO response_times (tenant_id, hour, agent_id, bin, responses) ");
            query.push_values(chunk, |mut values, (bin, count)| {
                values.push_bind(call.tenant_id).push_bind(hour).push_bind(call.agent_id);
                values.push_bind(i64::from(*bin)).push_bind(i64::try_from(*count).unwrap_or(i64::MAX));
            });
            query.push(
                " ON CONFLICT (tenant_id, hour, agent_id, bin) DO UPDATE SET \
                 responses = response_times.responses + excluded.responses",
            );
            query.build().execute(c).await.map(drop)
        })?;
    }
    let usage = call.usage.as_ref().map(|usage| &usage.0);
    let unpriced = usage.and_then(|usage| usage.get("unpriced")?.as_bool()).unwrap_or(false);
    on!(tx, |c| sqlx::query(SQL)
        .bind(call.tenant_id)
        .bind(hour)
        .bind(call.agent_id)
        .bind(call.connection_id)
        .bind(i64::from(call.status == "completed"))
        .bind(i64::from(call.status == "failed"))
        .bind(call.duration_seconds)
        .bind(usage.and_then(cost_micros).unwrap_or(0))
        .bind(i64::from(unpriced))
        .execute(c)
        .await
        .map(drop))
}

/// Selects the calls to sum, by tenant and by when they ended: whole hours.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The tenant.
    pub tenant: TenantId,
    /// At or after this time.
    pub after: Timestamp,
    /// Before this time.
    pub before: Timestamp,
    /// Of this agent only.
    pub agent: Option<AgentId>,
}

#[derive(FromRow)]
struct Interval {
    start: i64,
    #[sqlx(flatten)]
    sums: Sums,
}

/// Returns the sums of each interval of `width` microseconds in which calls ended.
///
/// # Errors
/// When the database fails.
pub async fn by_interval(conn: &mut Conn, span: Span, width: i64) -> Result<HashMap<i64, Sums>, sqlx::Error> {
    const SQL: &str = "SELECT hour / $5 * $5 AS start, CAST(SUM(completed) AS BIGINT) AS completed, \
        CAST(SUM(failed) AS BIGINT) AS failed, CAST(SUM(seconds) AS BIGINT) AS seconds, \
        CAST(SUM(cost_micros) AS BIGINT) AS cost_micros, CAST(SUM(unpriced) AS BIGINT) AS unpriced FROM call_sums \
        WHERE tenant_id = $1 AND hour >= $2 AND hour < $3 AND agent_id = COALESCE($4, agent_id) GROUP BY 1";
    let intervals: Vec<Interval> = on!(conn, |c| sqlx::query_as(SQL)
        .bind(span.tenant.uuid())
        .bind(span.after.as_micros())
        .bind(span.before.as_micros())
        .bind(span.agent.map(AgentId::uuid))
        .bind(width)
        .fetch_all(c)
        .await)?;
    Ok(intervals.into_iter().map(|interval| (interval.start, interval.sums)).collect())
}

/// Returns the response times of each interval of `width` microseconds.
///
/// # Errors
/// When the database fails.
pub async fn responses_by_interval(
    conn: &mut Conn,
    span: Span,
    width: i64,
) -> Result<HashMap<i64, Histogram>, sqlx::Error> {
    const SQL: &str = "SELECT hour / $5 * $5 AS start, bin, CAST(SUM(responses) AS BIGINT) AS responses \
        FROM response_times WHERE tenant_id = $1 AND hour >= $2 AND hour < $3 AND agent_id = COALESCE($4, agent_id) \
        GROUP BY 1, 2";
    let bins: Vec<(i64, i64, i64)> = on!(conn, |c| sqlx::query_as(SQL)
        .bind(span.tenant.uuid())
        .bind(span.after.as_micros())
        .bind(span.before.as_micros())
        .bind(span.agent.map(AgentId::uuid))
        .bind(width)
        .fetch_all(c)
        .await)?;
    Ok(histograms(bins))
}

/// Returns the response times of each agent.
///
/// # Errors
/// When the database fails.
pub async fn responses_by_agent(conn: &mut Conn, span: Span) -> Result<HashMap<Uuid, Histogram>, sqlx::Error> {
    const SQL: &str = "SELECT agent_id, bin, CAST(SUM(responses) AS BIGINT) AS responses FROM response_times \
        WHERE tenant_id = $1 AND hour >= $2 AND hour < $3 GROUP BY 1, 2";
    let bins: Vec<(Uuid, i64, i64)> = on!(conn, |c| sqlx::query_as(SQL)
        .bind(span.tenant.uuid())
        .bind(span.after.as_micros())
        .bind(span.before.as_micros())
        .fetch_all(c)
        .await)?;
    Ok(histograms(bins))
}

fn histograms<K: std::hash::Hash + Eq>(bins: Vec<(K, i64, i64)>) -> HashMap<K, Histogram> {
    let mut found: HashMap<K, Histogram> = HashMap::new();
    for (key, bin, count) in bins {
        let (bin, count) = (u32::try_from(bin).unwrap_or(0), u64::try_from(count).unwrap_or(0));
        found.entry(key).or_default().add(bin, count);
    }
    found
}

/// Sums of an agent or a connection.
#[derive(FromRow)]
pub struct Part {
    /// Its id.
    pub id: Uuid,
    /// Its name; `None` if it was deleted.
    pub name: Option<String>,
    /// A connection's provider.
    pub provider: Option<String>,
    /// Its sums.
    #[sqlx(flatten)]
    pub sums: Sums,
}

/// Returns the sums of the agents that talked longest.
///
/// # Errors
/// When the database fails.
pub async fn by_agent(conn: &mut Conn, span: Span) -> Result<Vec<Part>, sqlx::Error> {
    const SQL: &str = "SELECT part.*, agents.name, NULL AS provider FROM (SELECT agent_id AS id, \
        CAST(SUM(completed) AS BIGINT) AS completed, CAST(SUM(failed) AS BIGINT) AS failed, \
        CAST(SUM(seconds) AS BIGINT) AS seconds, CAST(SUM(cost_micros) AS BIGINT) AS cost_micros, \
        CAST(SUM(unpriced) AS BIGINT) AS unpriced FROM call_sums WHERE tenant_id = $1 AND hour >= $2 AND hour < $3 \
        GROUP BY agent_id ORDER BY SUM(seconds) DESC, agent_id LIMIT $4) AS part \
        LEFT JOIN agents ON agents.id = part.id AND agents.tenant_id = $1 ORDER BY part.seconds DESC, part.id";
    parts(conn, span, SQL).await
}

/// Returns the sums of the carrier connections that were used longest.
///
/// # Errors
/// When the database fails.
pub async fn by_connection(conn: &mut Conn, span: Span) -> Result<Vec<Part>, sqlx::Error> {
    const SQL: &str = "SELECT part.*, connections.name, connections.provider FROM (SELECT connection_id AS id, \
        CAST(SUM(completed) AS BIGINT) AS completed, CAST(SUM(failed) AS BIGINT) AS failed, \
        CAST(SUM(seconds) AS BIGINT) AS seconds, CAST(SUM(cost_micros) AS BIGINT) AS cost_micros, \
        CAST(SUM(unpriced) AS BIGINT) AS unpriced FROM call_sums WHERE tenant_id = $1 AND hour >= $2 AND hour < $3 \
        GROUP BY connection_id ORDER BY SUM(seconds) DESC, connection_id LIMIT $4) AS part \
        LEFT JOIN connections ON connections.id = part.id AND connections.tenant_id = $1 ORDER BY part.seconds DESC, part.id";
    parts(conn, span, SQL).await
}

async fn parts(conn: &mut Conn, span: Span, sql: &'static str) -> Result<Vec<Part>, sqlx::Error> {
    on!(conn, |c| sqlx::query_as(sql)
        .bind(span.tenant.uuid())
        .bind(span.after.as_micros())
        .bind(span.before.as_micros())
        .bind(MOST)
        .fetch_all(c)
        .await)
}
