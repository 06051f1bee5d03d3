//! The delivery queue: claims under a lease. Outcomes are in [`outcome`](super::outcome).
//!
//! An attempt is counted and logged in the transaction that claims it, so it is never made twice: if its node dies,
//! the attempt counts, however far it got.

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::webhook::share::{self, Standing};
use uuid::Uuid;

use super::body::{Source, data};
use super::{Conn, Tx, chunks, columns, execute, on, run};
use crate::store::lease_time::LeaseTime;
use crate::store::webhooks::WebhookRow;
use crate::store::{Dialect, Store};

/// Maximum endpoints per claim, to keep it short.
const ENDPOINTS_PER_CLAIM: i64 = 64;

/// The lease of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow)]
pub struct Lease {
    /// The delivery.
    pub id: Uuid,
    /// Its endpoint.
    pub webhook_id: Uuid,
    /// The number of the attempt, from 1.
    pub attempts: i64,
    /// The fencing token.
    pub lease_token: i64,
}

/// An attempt to make.
#[derive(Clone)]
pub struct Claimed {
    /// The lease to record its outcome under.
    pub lease: Lease,
    /// The kind of event.
    pub event: String,
    /// The body.
    pub body: Vec<u8>,
    until: i64,
}

impl Claimed {
    /// Returns its claim, to be given back if it is not known to be committed.
    #[must_use]
    pub fn unconfirmed(&self) -> UnconfirmedClaim {
        UnconfirmedClaim { lease: self.lease, until: self.until }
    }
}

/// The claim of an attempt that is not known to be committed.
#[derive(Clone, Copy, Debug)]
pub struct UnconfirmedClaim {
    lease: Lease,
    /// The end of the lease. If this claim was rolled back, that of another node may have the same fencing token, but ends later.
    until: i64,
}

#[derive(FromRow)]
struct ClaimedRow {
    #[sqlx(flatten)]
    lease: Lease,
    lease_until: i64,
    event: String,
    #[sqlx(flatten)]
    source: Source,
}

/// The claimed attempts of one endpoint.
pub struct Batch {
    /// The endpoint.
    pub endpoint: WebhookRow,
    /// First attempts, then retries.
    pub attempts: Vec<Claimed>,
}

/// Returns when the next pending delivery is due.
///
/// # Errors
/// When the database fails.
pub async fn next_due_for_worker(conn: &mut Conn) -> Result<Option<Timestamp>, sqlx::Error> {
    const SQL: &str = "SELECT next_attempt_at FROM deliveries WHERE state = 'pending' ORDER BY next_attempt_at LIMIT 1";
    let due: Option<Option<i64>> = run!(conn, query_scalar.fetch_optional, SQL)?;
    Ok(due.flatten().map(Timestamp::from_micros))
}

/// Claims due deliveries for the duration of `lease` and counts their attempts. The node already has `under_way` attempts, which
/// decides with [`share`] how many an endpoint may have.
///
/// Healthy endpoints come first, then those of tenants with the fewest attempts in flight. Within an endpoint first attempts come
/// before retries, and the first attempts of a call are made one after another in the order of its events.
///
/// `unconfirmed` holds the claimed attempts until the claim is known to be committed. If it fails or is cancelled, they are to be
/// [given back](give_back_for_worker).
///
/// # Errors
/// When the database fails.
pub async fn claim_due_for_worker(
    store: &Store,
    now: Timestamp,
    lease: LeaseTime,
    mut under_way: i64,
    unconfirmed: &mut Vec<UnconfirmedClaim>,
) -> Result<Vec<Batch>, sqlx::Error> {
    let mut conn = store.read().await?;
    let due = endpoints_with_work(&mut conn, now, under_way).await?;
    drop(conn);
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = store.begin().await?;
    let mut batches = Vec::new();
    for endpoint in lock_endpoints(&mut tx, &due).await? {
        let most = share::most(endpoint.standing(), under_way).min(share::UNDER_WAY - under_way);
        let free = most - in_flight(&mut tx, endpoint.id).await?;
        let attempts = claim(&mut tx, endpoint.id, now, lease, free).await?;
        under_way += i64::try_from(attempts.len()).unwrap_or(i64::MAX);
        if !attempts.is_empty() {
            batches.push(Batch { endpoint, attempts });
        }
    }
    let claimed = || batches.iter().flat_map(|batch| &batch.attempts);
    unconfirmed.extend(claimed().map(Claimed::unconfirmed));
    log_starts(&mut tx, &claimed().map(|claimed| claimed.lease).collect::<Vec<_>>(), now).await?;
    tx.commit().await?;
    unconfirmed.clear();
    Ok(batches)
}

/// Undoes claims of attempts that were not begun, where they were committed and their leases are still held.
///
/// # Errors
/// When the database fails.
pub async fn give_back_for_worker(
    store: &Store,
    claims: &[UnconfirmedClaim],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const PENDING: &str = "UPDATE deliveries SET state = 'pending', attempts = attempts - 1, next_attempt_at = $4, \
        lease_until = NULL WHERE id = $1 AND lease_token = $2 AND lease_until = $3 AND state = 'sending'";
    const FORGET: &str = "DELETE FROM delivery_attempts WHERE delivery_id = $1 AND number = $2";
    let mut tx = store.begin().await?;
    for UnconfirmedClaim { lease, until } in claims {
        if execute!(tx, PENDING; lease.id, lease.lease_token, *until, now.as_micros())? == 1 {
            execute!(tx, FORGET; lease.id, lease.attempts)?;
        }
    }
    tx.commit().await
}

/// Sorts healthy endpoints before failing ones, then by the tenant's and the endpoint's attempts in flight.
///
/// The sub-selects have limits so that PostgreSQL asks the index once per endpoint and does not gather the whole backlog.
async fn endpoints_with_work(conn: &mut Conn, now: Timestamp, under_way: i64) -> Result<Vec<Uuid>, sqlx::Error> {
    const SQL: &str = "WITH busy AS (SELECT tenant_id, webhook_id, COUNT(*) AS attempts FROM deliveries \
            WHERE state = 'sending' GROUP BY tenant_id, webhook_id), \
        whole AS (SELECT tenant_id, SUM(attempts) AS attempts FROM busy GROUP BY tenant_id) \
        SELECT w.id FROM webhooks w LEFT JOIN busy ON busy.webhook_id = w.id LEFT JOIN whole ON whole.tenant_id = w.tenant_id \
        WHERE w.enabled = TRUE AND COALESCE(busy.attempts, 0) < \
            CASE WHEN w.failing_since IS NOT NULL THEN $4 WHEN w.proven THEN $2 ELSE $3 END \
        AND COALESCE( \
            (SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.state = 'pending' \
                AND d.attempts = 0 AND d.next_attempt_at <= $1 AND NOT EXISTS (SELECT 1 FROM deliveries p \
                    WHERE p.webhook_id = d.webhook_id AND p.call_id = d.call_id AND p.sequence < d.sequence \
                    AND p.state IN ('pending', 'sending') \
                    AND (p.attempts = 0 OR (p.attempts = 1 AND p.state = 'sending'))) LIMIT 1), \
            (SELECT 1 FROM deliveries a WHERE a.webhook_id = w.id AND a.state = 'pending' \
                AND a.attempts > 0 AND a.next_attempt_at <= $1 LIMIT 1), 0) = 1 \
        ORDER BY CASE WHEN w.failing_since IS NULL THEN 0 ELSE 1 END, COALESCE(whole.attempts, 0), \
            COALESCE(busy.attempts, 0), w.id LIMIT $5";
    run!(conn, query_scalar.fetch_all, SQL;
        now.as_micros(), share::most(Standing::Well, under_way), share::most(Standing::Unproven, under_way),
        share::most(Standing::Failing, under_way), ENDPOINTS_PER_CLAIM
    )
}

/// Locks the endpoints that are enabled and that no other node is claiming, in the given order.
async fn lock_endpoints(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<WebhookRow>, sqlx::Error> {
    // SQLite serialises transactions.
    let lock = if tx.dialect() == Dialect::Postgres { " FOR NO KEY UPDATE SKIP LOCKED" } else { "" };
    let mut rows: Vec<WebhookRow> = Vec::new();
    for chunk in chunks(ids) {
        let some: Vec<WebhookRow> = on!(tx, |c| {
            let mut query = QueryBuilder::new(concat!(
                "SELECT ",
                columns!(webhooks),
                " FROM webhooks WHERE enabled = TRUE \
                 AND tenant_id IN (SELECT id FROM tenants WHERE active = TRUE) AND id IN ("
            ));
            let mut list = query.separated(", ");
            for id in chunk {
                list.push_bind(*id);
            }
            query.push(")").push(lock);
            query.build_query_as().fetch_all(c).await
        })?;
        rows.extend(some);
    }
    rows.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    Ok(rows)
}

async fn in_flight(tx: &mut Tx, webhook: Uuid) -> Result<i64, sqlx::Error> {
    const SQL: &str = "SELECT COUNT(*) FROM deliveries WHERE webhook_id = $1 AND state = 'sending'";
    run!(tx, query_scalar.fetch_one, SQL; webhook)
}

/// First attempts before retries; a first attempt waits while that of an earlier event of its call is pending or in flight.
fn claim_sql(lease_until: &str) -> String {
    const DUE: &str = concat!(
        " WHERE state = 'pending' AND id IN ( \
        SELECT id FROM ( \
            SELECT id, 0 AS turn, next_attempt_at FROM (SELECT d.id, d.next_attempt_at FROM deliveries d \
                WHERE d.webhook_id = $1 AND d.state = 'pending' AND d.attempts = 0 AND d.next_attempt_at <= $2 \
                AND NOT EXISTS (SELECT 1 FROM deliveries p WHERE p.webhook_id = d.webhook_id AND p.call_id = d.call_id \
                    AND p.sequence < d.sequence AND p.state IN ('pending', 'sending') \
                    AND (p.attempts = 0 OR (p.attempts = 1 AND p.state = 'sending'))) \
                ORDER BY d.next_attempt_at, d.id LIMIT $3) AS first \
            UNION ALL \
            SELECT id, 1 AS turn, next_attempt_at FROM (SELECT d.id, d.next_attempt_at FROM deliveries d \
                WHERE d.webhook_id = $1 AND d.state = 'pending' AND d.attempts > 0 AND d.next_attempt_at <= $2 \
                ORDER BY d.next_attempt_at, d.id LIMIT $3) AS again) AS due \
        ORDER BY turn, next_attempt_at, id LIMIT $3) \
        RETURNING id, webhook_id, attempts, lease_token, lease_until, event, body, created_at, ",
        data!()
    );
    format!(
        "UPDATE deliveries SET state = 'sending', attempts = attempts + 1, next_attempt_at = NULL, \
         lease_token = lease_token + 1, lease_until = {lease_until}{DUE}"
    )
}

async fn claim(
    tx: &mut Tx,
    webhook: Uuid,
    now: Timestamp,
    lease: LeaseTime,
    limit: i64,
) -> Result<Vec<Claimed>, sqlx::Error> {
    if limit <= 0 {
        return Ok(Vec::new());
    }
    let sql = sqlx::AssertSqlSafe(claim_sql(&lease.until(tx.dialect())));
    let rows: Vec<ClaimedRow> = run!(tx, query_as.fetch_all, sql; webhook, now.as_micros(), limit)?;
    let claimed = |row: ClaimedRow| {
        let body = row.source.into_bytes(row.lease.id, &row.event);
        Claimed { lease: row.lease, event: row.event, body, until: row.lease_until }
    };
    Ok(rows.into_iter().map(claimed).collect())
}

async fn log_starts(tx: &mut Tx, attempts: &[Lease], now: Timestamp) -> Result<(), sqlx::Error> {
    for chunk in chunks(attempts) {
        on!(tx, |c| {
            let mut query = QueryBuilder::new("INSERT INTO delivery_attempts (delivery_id, number, started_at) ");
            query.push_values(chunk, |mut values, lease| {
                values.push_bind(lease.id).push_bind(lease.attempts).push_bind(now.as_micros());
            });
            query.build().execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
