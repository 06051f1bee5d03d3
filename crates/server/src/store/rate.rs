//! The rate limit: an exact sliding window over all nodes.
//!
//! Each admitted request is a row, numbered per tenant without gaps, so the window needs no counter: the `limit`-th latest request
//! is row `latest - limit + 1`, and the number of requests in the window is the distance from its first row to its last. An
//! admission takes the numbers after the latest; if two nodes take the same ones, one of them retries. The next admissions delete
//! rows that have left the window, a batch each; deleted rows never matter again, even if the limit changes.
//!
//! Times are from the nodes' clocks, but never run backwards within a tenant. Nodes whose clocks differ by `d` agree on the window
//! to within `d`; keep them synchronised.

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::rate::{self, Admissions, Decision, RATE_WINDOW};

use super::{Dialect, Store, Tx, chunks, execute, on, run};
use crate::store::group_commit::BatchJob;

/// Rows that an admission deletes at most: more than it adds.
const FORGET: i64 = 1_000;

/// Decides about requests in batches, per tenant.
pub struct Admit(pub Store);

/// A request to admit.
#[derive(Clone, Copy, Debug)]
pub struct RateRequest {
    /// The limit in any 60 seconds.
    pub limit: u32,
    /// When it arrived.
    pub at: Timestamp,
}

impl BatchJob for Admit {
    type Key = TenantId;
    type Item = RateRequest;
    type Output = Decision;

    async fn run(&self, tenant: &TenantId, requests: &[RateRequest]) -> Result<Vec<Decision>, sqlx::Error> {
        loop {
            if let Some(decisions) = admit(&self.0, *tenant, requests).await? {
                return Ok(decisions);
            }
        }
    }
}

/// The state of a tenant's window before a batch.
#[derive(Default)]
struct Window {
    /// The number of the next admitted request.
    next: i64,
    /// The number and time of the latest admitted request.
    latest: Option<(i64, Timestamp)>,
    /// The number of the first request in the window.
    first_in_window: Option<i64>,
    /// Times of requests that may be `limit` before one in this batch, oldest first.
    old: Vec<(i64, Timestamp)>,
}

#[derive(FromRow)]
struct Latest {
    number: i64,
    admitted_at: i64,
    first_in_window: Option<i64>,
}

/// Decides about requests in order and records the admitted ones. `None` if another node took the numbers.
async fn admit(
    store: &Store,
    tenant: TenantId,
    requests: &[RateRequest],
) -> Result<Option<Vec<Decision>>, sqlx::Error> {
    // The newest limit applies to all. The earliest request decides what has left the window.
    let (Some(limit), Some(now)) = (requests.last().map(|last| last.limit), requests.iter().map(|one| one.at).min())
    else {
        return Ok(Some(Vec::new()));
    };
    let mut tx = store.begin().await?;
    if tx.dialect() == Dialect::Postgres {
        // Losing the last moments of a window in a PostgreSQL crash is acceptable; waiting for the disk is not.
        execute!(tx, "SET LOCAL synchronous_commit = off")?;
    }
    let known = known(&mut tx, tenant, limit, requests.len(), now).await?;
    let (decisions, admitted) = decide(&known, limit, requests);
    if admitted.is_empty() {
        return Ok(Some(decisions));
    }
    if !insert(&mut tx, tenant, known.next, &admitted).await? {
        return Ok(None);
    }
    forget(&mut tx, tenant, &known).await?;
    tx.commit().await?;
    Ok(Some(decisions))
}

/// Returns the decisions, and the times of admitted requests.
fn decide(known: &Window, limit: u32, requests: &[RateRequest]) -> (Vec<Decision>, Vec<Timestamp>) {
    let in_window = known.latest.zip(known.first_in_window).map_or(0, |((latest, _), first)| latest - first + 1);
    let in_window = usize::try_from(in_window).unwrap_or(0);
    let mut admitted: Vec<Timestamp> = Vec::new();
    let decisions = requests.iter().map(|request| {
        let latest = admitted.last().copied().or(known.latest.map(|(_, at)| at));
        let now = latest.map_or(request.at, |latest| latest.max(request.at));
        let admissions = Admissions {
            in_window: u32::try_from(in_window + admitted.len()).unwrap_or(u32::MAX),
            limit_th_latest: limit_th_latest(known, &admitted, limit),
        };
        let decision = rate::decide(admissions, limit, now);
        if let Decision::Admitted { .. } = decision {
            admitted.push(now);
        }
        decision
    });
    (decisions.collect(), admitted)
}

fn limit_th_latest(known: &Window, admitted: &[Timestamp], limit: u32) -> Option<Timestamp> {
    if let Some(index) = admitted.len().checked_sub(usize::try_from(limit).unwrap_or(usize::MAX)) {
        return admitted.get(index).copied();
    }
    let (latest, _) = known.latest?;
    let number = latest + i64::try_from(admitted.len()).unwrap_or(0) - i64::from(limit) + 1;
    known.old.binary_search_by_key(&number, |(number, _)| *number).ok().map(|index| known.old[index].1)
}

async fn known(tx: &mut Tx, tenant: TenantId, limit: u32, most: usize, now: Timestamp) -> Result<Window, sqlx::Error> {
    const LATEST: &str = "SELECT latest.number, latest.admitted_at, \
        (SELECT number FROM admitted_requests WHERE tenant_id = $1 AND admitted_at > $2 ORDER BY number LIMIT 1) \
            AS first_in_window \
        FROM admitted_requests latest WHERE tenant_id = $1 ORDER BY number DESC LIMIT 1";
    const OLD: &str = "SELECT number, admitted_at FROM admitted_requests \
        WHERE tenant_id = $1 AND number >= $2 AND number < $3 ORDER BY number";
    let latest: Option<Latest> =
        run!(tx, query_as.fetch_optional, LATEST; tenant.uuid(), (now - RATE_WINDOW).as_micros())?;
    let Some(latest) = latest else { return Ok(Window { next: 1, ..Window::default() }) };
    let next = latest.number + 1;
    if Timestamp::from_micros(latest.admitted_at) > now + RATE_WINDOW {
        // The clock was set back. Do not lock the tenant out until it has caught up.
        return Ok(Window { next, ..Window::default() });
    }
    let first = latest.number - i64::from(limit) + 1;
    let old: Vec<(i64, i64)> = run!(tx, query_as.fetch_all, OLD;
        tenant.uuid(), first, first + i64::try_from(most).unwrap_or(i64::MAX / 2)
    )?;
    Ok(Window {
        next,
        latest: Some((latest.number, Timestamp::from_micros(latest.admitted_at))),
        first_in_window: latest.first_in_window,
        old: old.into_iter().map(|(number, at)| (number, Timestamp::from_micros(at))).collect(),
    })
}

/// Inserts admitted requests with numbers from `first`. `false` if another node took one of them.
async fn insert(tx: &mut Tx, tenant: TenantId, first: i64, admitted: &[Timestamp]) -> Result<bool, sqlx::Error> {
    let mut number = first;
    for chunk in chunks(admitted) {
        let written = on!(tx, |c| {
            let mut query = QueryBuilder::new("INSERT INTO admitted_requests (tenant_id, number, admitted_at) ");
            query.push_values(chunk.iter().zip(number..), |mut row, (at, number)| {
                row.push_bind(tenant.uuid()).push_bind(number).push_bind(at.as_micros());
            });
            query.push(" ON CONFLICT DO NOTHING");
            query.build().execute(c).await.map(|done| done.rows_affected())
        })?;
        if written < chunk.len() as u64 {
            return Ok(false);
        }
        number += i64::try_from(chunk.len()).unwrap_or(0);
    }
    Ok(true)
}

/// Deletes rows that have left the window, the oldest first. What is left waits for the next admission.
async fn forget(tx: &mut Tx, tenant: TenantId, known: &Window) -> Result<(), sqlx::Error> {
    const SOME: &str = "DELETE FROM admitted_requests WHERE tenant_id = $1 AND number < $2 \
        AND number < $3 + (SELECT MIN(number) FROM admitted_requests WHERE tenant_id = $1)";
    // After the clock was set back, rows of the future would count.
    const ALL: &str = "DELETE FROM admitted_requests WHERE tenant_id = $1 AND number < $2";
    let below = known.first_in_window.unwrap_or(known.next);
    match known.latest {
        Some(_) => execute!(tx, SOME; tenant.uuid(), below, FORGET),
        None => execute!(tx, ALL; tenant.uuid(), below),
    }
    .map(drop)
}
