//! The queue as the worker sees it: claims under a lease, and outcomes under the claim's fencing token.
//!
//! An attempt is counted and logged in the transaction that claims it, so it is never made twice: when its node dies,
//! the attempt counts, however far it came.

use std::time::Duration;

use sqlx::FromRow;
use switchhook_core::Timestamp;
use uuid::Uuid;

use super::{Conn, Tx, on};
use crate::store::webhooks::WebhookRow;
use crate::store::{Dialect, Store};

/// The most attempts under way to one endpoint, over all nodes.
pub const IN_FLIGHT_PER_ENDPOINT: i64 = 10;
/// Endpoints served by one claim, so that the claim stays short.
const ENDPOINTS_PER_CLAIM: i64 = 64;

/// What one attempt holds of its delivery.
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

/// An attempt to be made.
#[derive(Clone, FromRow)]
pub struct Claimed {
    /// Under which its outcome is recorded.
    #[sqlx(flatten)]
    pub lease: Lease,
    /// The kind of event.
    pub event: String,
    /// What to send.
    pub body: Vec<u8>,
}

/// What is to be sent to one endpoint.
pub struct Batch {
    /// Where to.
    pub endpoint: WebhookRow,
    /// First attempts, then repeated ones.
    pub attempts: Vec<Claimed>,
}

/// What came of an attempt.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How long it took; `None` when nobody knows.
    pub duration: Option<Duration>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// Why it failed.
    pub error: Option<String>,
    /// The beginning of the answer's body.
    pub response_excerpt: Option<String>,
    /// What becomes of the delivery.
    pub then: Then,
}

/// What becomes of a delivery after an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// It arrived.
    Succeeded,
    /// It is tried again.
    RetryAt(Timestamp),
    /// It was the last attempt.
    #[default]
    Failed,
}

/// When the next waiting delivery is due, if any waits.
///
/// # Errors
/// When the database fails.
pub async fn next_due_for_worker(conn: &mut Conn) -> Result<Option<Timestamp>, sqlx::Error> {
    const SQL: &str = "SELECT next_attempt_at FROM deliveries WHERE state = 'pending' ORDER BY next_attempt_at LIMIT 1";
    let due: Option<Option<i64>> = on!(conn, |c| sqlx::query_scalar(SQL).fetch_optional(c).await)?;
    Ok(due.flatten().map(Timestamp::from_micros))
}

/// Claims up to `limit` due deliveries until `until`, and counts their attempts.
///
/// No endpoint gets more than [`IN_FLIGHT_PER_ENDPOINT`] at a time; those with the fewest under way come first. Within
/// an endpoint first attempts come before repeated ones, and the first attempts of one call are made one after another
/// in the order of its events.
///
/// # Errors
/// When the database fails.
pub async fn claim_due_for_worker(
    store: &Store,
    now: Timestamp,
    until: Timestamp,
    limit: i64,
) -> Result<Vec<Batch>, sqlx::Error> {
    let mut conn = store.read().await?;
    let due = endpoints_with_work(&mut conn, now, limit.min(ENDPOINTS_PER_CLAIM)).await?;
    drop(conn);
    if due.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = store.begin().await?;
    let (mut batches, mut left) = (Vec::new(), limit);
    for id in due {
        let Some(endpoint) = lock_endpoint(&mut tx, id).await? else { continue };
        let free = (IN_FLIGHT_PER_ENDPOINT - in_flight(&mut tx, id).await?).min(left);
        let mut attempts = claim(&mut tx, FIRST, id, now, until, free).await?;
        let free = free - count(&attempts);
        attempts.extend(claim(&mut tx, AGAIN, id, now, until, free).await?);
        log_starts(&mut tx, &attempts, now).await?;
        left -= count(&attempts);
        if !attempts.is_empty() {
            batches.push(Batch { endpoint, attempts });
        }
        if left <= 0 {
            break;
        }
    }
    tx.commit().await?;
    Ok(batches)
}

fn count<T>(items: &[T]) -> i64 {
    i64::try_from(items.len()).unwrap_or(i64::MAX)
}

async fn endpoints_with_work(conn: &mut Conn, now: Timestamp, limit: i64) -> Result<Vec<Uuid>, sqlx::Error> {
    const SQL: &str = "SELECT id FROM ( \
            SELECT w.id, (SELECT COUNT(*) FROM deliveries s WHERE s.webhook_id = w.id AND s.state = 'sending') AS busy \
            FROM webhooks w WHERE w.enabled = TRUE AND ( \
                EXISTS (SELECT 1 FROM deliveries f WHERE f.webhook_id = w.id AND f.state = 'pending' \
                    AND f.attempts = 0 AND f.next_attempt_at <= $1) \
                OR EXISTS (SELECT 1 FROM deliveries a WHERE a.webhook_id = w.id AND a.state = 'pending' \
                    AND a.attempts > 0 AND a.next_attempt_at <= $1))) AS work \
        WHERE busy < $2 ORDER BY busy, id LIMIT $3";
    on!(conn, |c| sqlx::query_scalar(SQL)
        .bind(now.as_micros())
        .bind(IN_FLIGHT_PER_ENDPOINT)
        .bind(limit)
        .fetch_all(c)
        .await)
}

/// The endpoint, if it is enabled and no other node is claiming for it just now.
async fn lock_endpoint(tx: &mut Tx, id: Uuid) -> Result<Option<WebhookRow>, sqlx::Error> {
    // On SQLite a transaction is alone anyway.
    let sql = match tx.dialect() {
        Dialect::Sqlite => "SELECT * FROM webhooks WHERE id = $1 AND enabled = TRUE",
        Dialect::Postgres => "SELECT * FROM webhooks WHERE id = $1 AND enabled = TRUE FOR NO KEY UPDATE SKIP LOCKED",
    };
    on!(tx, |c| sqlx::query_as(sql).bind(id).fetch_optional(c).await)
}

async fn in_flight(tx: &mut Tx, webhook: Uuid) -> Result<i64, sqlx::Error> {
    const SQL: &str = "SELECT COUNT(*) FROM deliveries WHERE webhook_id = $1 AND state = 'sending'";
    on!(tx, |c| sqlx::query_scalar(SQL).bind(webhook).fetch_one(c).await)
}

/// First attempts; one waits while the first attempt of an earlier event of its call is still to be made or under way.
const FIRST: &str = "UPDATE deliveries SET state = 'sending', attempts = attempts + 1, next_attempt_at = NULL, \
    lease_token = lease_token + 1, lease_until = $3 WHERE state = 'pending' AND id IN ( \
        SELECT d.id FROM deliveries d \
        WHERE d.webhook_id = $1 AND d.state = 'pending' AND d.attempts = 0 AND d.next_attempt_at <= $2 \
        AND NOT EXISTS (SELECT 1 FROM deliveries p WHERE p.webhook_id = d.webhook_id AND p.call_id = d.call_id \
            AND p.sequence < d.sequence AND p.state IN ('pending', 'sending') \
            AND (p.attempts = 0 OR (p.attempts = 1 AND p.state = 'sending'))) \
        ORDER BY d.next_attempt_at, d.id LIMIT $4) \
    RETURNING id, webhook_id, attempts, lease_token, event, body";

/// Attempts after the first.
const AGAIN: &str = "UPDATE deliveries SET state = 'sending', attempts = attempts + 1, next_attempt_at = NULL, \
    lease_token = lease_token + 1, lease_until = $3 WHERE state = 'pending' AND id IN ( \
        SELECT d.id FROM deliveries d \
        WHERE d.webhook_id = $1 AND d.state = 'pending' AND d.attempts > 0 AND d.next_attempt_at <= $2 \
        ORDER BY d.next_attempt_at, d.id LIMIT $4) \
    RETURNING id, webhook_id, attempts, lease_token, event, body";

async fn claim(
    tx: &mut Tx,
    sql: &'static str,
    webhook: Uuid,
    now: Timestamp,
    until: Timestamp,
    limit: i64,
) -> Result<Vec<Claimed>, sqlx::Error> {
    if limit <= 0 {
        return Ok(Vec::new());
    }
    on!(tx, |c| sqlx::query_as(sql)
        .bind(webhook)
        .bind(now.as_micros())
        .bind(until.as_micros())
        .bind(limit)
        .fetch_all(c)
        .await)
}

async fn log_starts(tx: &mut Tx, attempts: &[Claimed], now: Timestamp) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO delivery_attempts (delivery_id, number, started_at) VALUES ($1, $2, $3)";
    for Claimed { lease, .. } in attempts {
        on!(tx, |c| sqlx::query(SQL)
            .bind(lease.id)
            .bind(lease.attempts)
            .bind(now.as_micros())
            .execute(c)
            .await
            .map(drop))?;
    }
    Ok(())
}

/// Records what came of an attempt. `false` when the lease was lost: somebody else has decided, and nothing changed.
///
/// # Errors
/// When the database fails.
pub async fn finish_for_worker(
    store: &Store,
    lease: &Lease,
    now: Timestamp,
    outcome: &Outcome,
) -> Result<bool, sqlx::Error> {
    let mut tx = store.begin().await?;
    // The endpoint first: whoever deletes it locks in the same order.
    let enabled = note_health(&mut tx, lease, now, outcome.then == Then::Succeeded).await?;
    let held = close(&mut tx, lease, outcome.then, enabled).await?;
    if held {
        log_end(&mut tx, lease, outcome).await?;
        tx.commit().await?;
    }
    Ok(held)
}

/// Keeps `failing_since`, and says whether the endpoint is enabled.
async fn note_health(tx: &mut Tx, lease: &Lease, now: Timestamp, well: bool) -> Result<bool, sqlx::Error> {
    const WELL: &str = "UPDATE webhooks SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL";
    const FAILING: &str = "UPDATE webhooks SET failing_since = $2 WHERE id = $1 AND failing_since IS NULL";
    const ENABLED: &str = "SELECT enabled FROM webhooks WHERE id = $1";
    if well {
        on!(tx, |c| sqlx::query(WELL).bind(lease.webhook_id).execute(c).await.map(drop))?;
    } else {
        on!(tx, |c| sqlx::query(FAILING).bind(lease.webhook_id).bind(now.as_micros()).execute(c).await.map(drop))?;
    }
    let enabled: Option<bool> =
        on!(tx, |c| sqlx::query_scalar(ENABLED).bind(lease.webhook_id).fetch_optional(c).await)?;
    Ok(enabled == Some(true))
}

async fn close(tx: &mut Tx, lease: &Lease, then: Then, enabled: bool) -> Result<bool, sqlx::Error> {
    const SQL: &str = "UPDATE deliveries SET state = $3, next_attempt_at = $4, lease_until = NULL \
        WHERE id = $1 AND lease_token = $2 AND state = 'sending'";
    let (state, next) = match then {
        Then::Succeeded => ("succeeded", None),
        Then::Failed => ("failed", None),
        Then::RetryAt(_) if !enabled => ("canceled", None),
        Then::RetryAt(at) => ("pending", Some(at.as_micros())),
    };
    on!(tx, |c| sqlx::query(SQL)
        .bind(lease.id)
        .bind(lease.lease_token)
        .bind(state)
        .bind(next)
        .execute(c)
        .await
        .map(|done| done.rows_affected() > 0))
}

async fn log_end(tx: &mut Tx, lease: &Lease, outcome: &Outcome) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE delivery_attempts SET duration_ms = $3, status = $4, error = $5, response_excerpt = $6 \
        WHERE delivery_id = $1 AND number = $2";
    let millis = outcome.duration.map(|duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX));
    on!(tx, |c| sqlx::query(SQL)
        .bind(lease.id)
        .bind(lease.attempts)
        .bind(millis)
        .bind(outcome.status.map(i64::from))
        .bind(&outcome.error)
        .bind(&outcome.response_excerpt)
        .execute(c)
        .await
        .map(drop))
}

/// Attempts whose node did not record an outcome in time, for example because it died.
///
/// # Errors
/// When the database fails.
pub async fn abandoned_for_recovery(conn: &mut Conn, now: Timestamp) -> Result<Vec<Lease>, sqlx::Error> {
    const SQL: &str = "SELECT id, webhook_id, attempts, lease_token FROM deliveries \
        WHERE state = 'sending' AND lease_until < $1 LIMIT 1000";
    on!(conn, |c| sqlx::query_as(SQL).bind(now.as_micros()).fetch_all(c).await)
}

/// Cancels what came to wait for an endpoint while that was being disabled.
///
/// # Errors
/// When the database fails.
pub async fn cancel_disabled_for_recovery(store: &Store) -> Result<(), sqlx::Error> {
    const WAITING: &str = "SELECT EXISTS (SELECT 1 FROM webhooks w WHERE w.enabled = FALSE AND EXISTS ( \
        SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.state IN ('pending', 'sending') \
        AND d.state = 'pending'))";
    const CANCEL: &str = "UPDATE deliveries SET state = 'canceled', next_attempt_at = NULL \
        WHERE state = 'pending' AND webhook_id IN (SELECT id FROM webhooks WHERE enabled = FALSE)";
    let mut conn = store.read().await?;
    let waiting: bool = on!(conn, |c| sqlx::query_scalar(WAITING).fetch_one(c).await)?;
    drop(conn);
    if waiting {
        let mut tx = store.begin().await?;
        on!(tx, |c| sqlx::query(CANCEL).execute(c).await.map(drop))?;
        tx.commit().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
