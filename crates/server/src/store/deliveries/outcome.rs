//! Outcomes of attempts, recorded under their fencing tokens, and the state of their endpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use uuid::Uuid;

use super::queue::Lease;
use super::{Conn, Tx, chunks, execute, on, run};
use crate::store::Store;
use crate::store::group_commit::BatchJob;
use crate::store::lease_time::LeaseTime;

/// An endpoint is disabled after only failing for this long.
pub const DISABLE_AFTER: Duration = Duration::from_secs(5 * 24 * 3600);
/// The reason, shown to its owner.
const DISABLED_REASON: &str = "Every attempt has failed for 5 days. Enable the endpoint again once it works.";

/// The outcome of an attempt.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Its duration; `None` if unknown.
    pub duration: Option<Duration>,
    /// The response status.
    pub status: Option<u16>,
    /// Why it failed.
    pub error: Option<String>,
    /// The start of the response body.
    pub response_excerpt: Option<String>,
    /// The next state of the delivery.
    pub then: Then,
}

/// The state of a delivery after an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Delivered.
    Succeeded,
    /// To be retried.
    RetryAt(Timestamp),
    /// Failed for good.
    #[default]
    Failed,
}

/// A finished attempt.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its lease.
    pub lease: Lease,
    /// Its outcome.
    pub outcome: Outcome,
    /// When it ended.
    pub at: Timestamp,
}

/// Records outcomes of attempts in batches. The output is `false` if the lease was lost: another node has decided, and nothing
/// changed.
pub struct Record(pub Store);

impl BatchJob for Record {
    type Key = ();
    type Item = Finished;
    type Output = bool;

    async fn run(&self, (): &(), finished: &[Finished]) -> Result<Vec<bool>, sqlx::Error> {
        let mut tx = self.0.begin().await?;
        // Lock endpoints first, in the same order as their deletion.
        let under_lease = still_leased(&mut tx, finished).await?;
        let enabled = note_health(&mut tx, &under_lease).await?;
        let mut held = BTreeSet::new();
        for chunk in chunks(finished) {
            held.extend(close(&mut tx, chunk, &enabled).await?);
        }
        // An old lease of a delivery can be in the batch beside its current one.
        let is_held = |one: &&Finished| held.contains(&(one.lease.id, one.lease.lease_token));
        for chunk in chunks(&finished.iter().filter(is_held).collect::<Vec<_>>()) {
            log_ends(&mut tx, chunk).await?;
        }
        tx.commit().await?;
        Ok(finished.iter().map(|one| is_held(&one)).collect())
    }
}

#[derive(FromRow)]
struct Health {
    id: Uuid,
    enabled: bool,
    proven: bool,
    failing_since: Option<i64>,
}

/// Returns the attempts whose leases are still held; lost ones say nothing about an endpoint.
async fn still_leased<'a>(tx: &mut Tx, finished: &'a [Finished]) -> Result<Vec<&'a Finished>, sqlx::Error> {
    let mut leased = BTreeSet::new();
    for chunk in chunks(finished) {
        let some: Vec<(Uuid, i64)> = on!(tx, |c| {
            let mut query =
                QueryBuilder::new("SELECT id, lease_token FROM deliveries WHERE state = 'sending' AND id IN (");
            let mut list = query.separated(", ");
            for one in chunk {
                list.push_bind(one.lease.id);
            }
            query.push(")");
            query.build_query_as().fetch_all(c).await
        })?;
        leased.extend(some);
    }
    Ok(finished.iter().filter(|one| leased.contains(&(one.lease.id, one.lease.lease_token))).collect())
}

/// The result of a batch for an endpoint.
struct Verdict {
    /// One of them succeeded.
    worked: bool,
    /// When the last one failed.
    fails_since: Option<Timestamp>,
}

/// Updates the endpoints and disables those that have failed for too long. Returns the enabled ones.
async fn note_health(tx: &mut Tx, finished: &[&Finished]) -> Result<BTreeSet<Uuid>, sqlx::Error> {
    // In the order of ids, to avoid deadlocks.
    let mut verdicts: BTreeMap<Uuid, Verdict> = BTreeMap::new();
    for one in finished {
        let verdict = verdicts.entry(one.lease.webhook_id).or_insert(Verdict { worked: false, fails_since: None });
        let well = one.outcome.then == Then::Succeeded;
        verdict.worked |= well;
        verdict.fails_since = if well { None } else { verdict.fails_since.or(Some(one.at)) };
    }
    let ids: Vec<_> = verdicts.keys().copied().collect();
    let mut enabled = BTreeSet::new();
    for chunk in chunks(&ids) {
        for health in health(tx, chunk).await? {
            let Some(verdict) = verdicts.get(&health.id) else { continue };
            if update_health(tx, &health, verdict).await? {
                enabled.insert(health.id);
            }
        }
    }
    Ok(enabled)
}

async fn health(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<Health>, sqlx::Error> {
    on!(tx, |c| {
        let mut query = QueryBuilder::new(
            "SELECT webhooks.id, (enabled AND active) AS enabled, proven, failing_since FROM webhooks \
             JOIN tenants ON tenants.id = tenant_id WHERE webhooks.id IN (",
        );
        let mut list = query.separated(", ");
        for id in ids {
            list.push_bind(*id);
        }
        query.push(") ORDER BY webhooks.id");
        query.build_query_as().fetch_all(c).await
    })
}

/// Returns whether the endpoint is still enabled.
async fn update_health(tx: &mut Tx, health: &Health, verdict: &Verdict) -> Result<bool, sqlx::Error> {
    const WELL: &str = "UPDATE webhooks SET failing_since = NULL, proven = TRUE WHERE id = $1";
    const FAILING: &str = "UPDATE webhooks SET failing_since = $2 WHERE id = $1 AND failing_since IS NULL";
    let mut failing_since = health.failing_since;
    if verdict.worked && (failing_since.is_some() || !health.proven) {
        execute!(tx, WELL; health.id)?;
        failing_since = None;
    }
    let Some(at) = verdict.fails_since else { return Ok(health.enabled) };
    if failing_since.is_none() {
        execute!(tx, FAILING; health.id, at.as_micros())?;
        return Ok(health.enabled);
    }
    let too_long = failing_since.is_some_and(|since| since <= (at - DISABLE_AFTER).as_micros());
    Ok(health.enabled && !(too_long && disable(tx, health.id, at).await?))
}

/// Disables an endpoint and cancels its pending deliveries, unless it has worked meanwhile. Returns whether it did.
async fn disable(tx: &mut Tx, webhook: Uuid, at: Timestamp) -> Result<bool, sqlx::Error> {
    const DISABLE: &str = "UPDATE webhooks SET enabled = FALSE, disabled_reason = $3, updated_at = $2 \
        WHERE id = $1 AND enabled = TRUE AND failing_since <= $4";
    // `cancel_disabled_for_recovery` cancels the rest.
    const CANCEL: &str = concat!(
        "UPDATE deliveries SET state = 'canceled', next_attempt_at = NULL WHERE state = 'pending' AND id IN \
         (SELECT id FROM deliveries WHERE webhook_id = $1 AND state = 'pending' AND ",
        open!(),
        " LIMIT 500)"
    );
    let disabled = execute!(tx, DISABLE;
        webhook, at.as_micros(), DISABLED_REASON, (at - DISABLE_AFTER).as_micros()
    )
    .map(|rows| rows == 1)?;
    if disabled {
        execute!(tx, CANCEL; webhook)?;
        tracing::warn!(%webhook, "webhook endpoint disabled: every attempt has failed for 5 days");
    }
    Ok(disabled)
}

/// Closes attempts whose lease is held and returns them.
async fn close(tx: &mut Tx, finished: &[Finished], enabled: &BTreeSet<Uuid>) -> Result<Vec<(Uuid, i64)>, sqlx::Error> {
    let becomes = |one: &Finished| match one.outcome.then {
        Then::Succeeded => ("succeeded", None),
        Then::Failed => ("failed", None),
        Then::RetryAt(_) if !enabled.contains(&one.lease.webhook_id) => ("canceled", None),
        Then::RetryAt(at) => ("pending", Some(at.as_micros())),
    };
    // Both engines name the columns of VALUES column1, column2 and so on.
    on!(tx, |c| {
        let mut query = QueryBuilder::new(
            "UPDATE deliveries SET state = new.column3, next_attempt_at = new.column4, lease_until = NULL FROM (",
        );
        query.push_values(finished, |mut values, one| {
            let (state, next) = becomes(one);
            values.push_bind(one.lease.id).push_bind(one.lease.lease_token).push_bind(state).push_bind(next);
        });
        query.push(
            ") AS new WHERE deliveries.id = new.column1 AND deliveries.lease_token = new.column2 \
             AND deliveries.state = 'sending' RETURNING deliveries.id, deliveries.lease_token",
        );
        query.build_query_as().fetch_all(c).await
    })
}

async fn log_ends(tx: &mut Tx, finished: &[&Finished]) -> Result<(), sqlx::Error> {
    on!(tx, |c| {
        let mut query = QueryBuilder::new(
            "UPDATE delivery_attempts SET duration_ms = new.column3, status = new.column4, error = new.column5, \
             response_excerpt = new.column6 FROM (",
        );
        query.push_values(finished, |mut values, one| {
            let millis = one.outcome.duration.map(|took| i64::try_from(took.as_millis()).unwrap_or(i64::MAX));
            values.push_bind(one.lease.id).push_bind(one.lease.attempts).push_bind(millis);
            values.push_bind(one.outcome.status.map(i64::from)).push_bind(&one.outcome.error);
            values.push_bind(&one.outcome.response_excerpt);
        });
        query.push(") AS new WHERE delivery_id = new.column1 AND number = new.column2");
        query.build().execute(c).await.map(drop)
    })
}

/// Returns attempts whose lease expired without an outcome, for example because the node died.
///
/// # Errors
/// When the database fails.
pub async fn abandoned_for_recovery(conn: &mut Conn, lease: LeaseTime) -> Result<Vec<Lease>, sqlx::Error> {
    let now = lease.now(conn.dialect());
    let sql = sqlx::AssertSqlSafe(format!(
        "SELECT id, webhook_id, attempts, lease_token FROM deliveries \
         WHERE state = 'sending' AND lease_until < {now} LIMIT 1000"
    ));
    run!(conn, query_as.fetch_all, sql)
}

/// Cancels deliveries queued while their endpoint or tenant was being disabled.
///
/// # Errors
/// When the database fails.
pub async fn cancel_disabled_for_recovery(store: &Store) -> Result<(), sqlx::Error> {
    const WAITING: &str = concat!(
        "SELECT EXISTS (SELECT 1 FROM webhooks w JOIN tenants t ON t.id = w.tenant_id \
         WHERE (w.enabled = FALSE OR t.active = FALSE) AND EXISTS ( \
         SELECT 1 FROM deliveries d WHERE d.webhook_id = w.id AND d.state = 'pending' AND ",
        open!("d"),
        "))"
    );
    const CANCEL: &str = concat!(
        "UPDATE deliveries SET state = 'canceled', next_attempt_at = NULL WHERE state = 'pending' AND id IN \
         (SELECT id FROM deliveries WHERE state = 'pending' AND webhook_id IN (SELECT w.id FROM webhooks w \
         JOIN tenants t ON t.id = w.tenant_id WHERE w.enabled = FALSE OR t.active = FALSE) AND ",
        open!(),
        " LIMIT 500)"
    );
    loop {
        let mut conn = store.read().await?;
        let waiting: bool = run!(conn, query_scalar.fetch_one, WAITING)?;
        drop(conn);
        if !waiting {
            return Ok(());
        }
        let mut tx = store.begin().await?;
        let canceled = execute!(tx, CANCEL)?;
        tx.commit().await?;
        if canceled == 0 {
            // Another node was faster.
            return Ok(());
        }
    }
}
