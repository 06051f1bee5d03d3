//! The request rate: an exact sliding window over all nodes.
//!
//! Each admitted request is a row, numbered upwards per tenant without gaps, so the window needs no counter: the
//! `limit`-th latest request is the row numbered `latest - limit + 1`, and how many lie in the window is the distance
//! from its first row to its last. Whoever admits holds the tenant's lock (on SQLite: is the only writer), so two
//! requests never take the same place. Rows that have left the window are deleted by the next admission; nothing that is
//! deleted can matter again, also when the limit is changed.
//!
//! Times are those of the nodes' clocks, made to never run backwards within a tenant. Nodes whose clocks differ by `d`
//! agree on the window to within `d`; keep them synchronised.

use sqlx::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_core::rate::{self, Admissions, Decision, WINDOW};

use super::{Dialect, Store, Tx, on, tenants};

#[derive(FromRow)]
struct Latest {
    number: i64,
    admitted_at: i64,
    first_in_window: Option<i64>,
    limit_th_latest: Option<i64>,
}

/// Decides about one request of `tenant` at `now`, and records it when it is admitted.
///
/// # Errors
/// When the database fails; then nothing is recorded.
pub async fn admit(store: &Store, tenant: TenantId, limit: u32, now: Timestamp) -> Result<Decision, sqlx::Error> {
    let mut tx = store.begin().await?;
    if tx.dialect() == Dialect::Postgres {
        // Losing the last moments of a window when PostgreSQL itself crashes is worth a wait for the disk less.
        on!(tx, |c| sqlx::query("SET LOCAL synchronous_commit = off").execute(c).await.map(drop))?;
        tenants::lock(&mut tx, tenant).await?;
    }
    let mut latest = latest(&mut tx, tenant, limit, now).await?;
    if latest.as_ref().is_some_and(|latest| Timestamp::from_micros(latest.admitted_at) > now + WINDOW) {
        // The clock was set back. Nobody should be locked out until it has caught up.
        forget_below(&mut tx, tenant, i64::MAX).await?;
        latest = None;
    }
    let now = latest.as_ref().map_or(now, |latest| now.max(Timestamp::from_micros(latest.admitted_at)));
    let decision = rate::decide(admissions(latest.as_ref()), limit, now);
    if let Decision::Admitted { .. } = decision {
        let number = latest.as_ref().map_or(1, |latest| latest.number + 1);
        forget_below(&mut tx, tenant, latest.and_then(|latest| latest.first_in_window).unwrap_or(number)).await?;
        insert(&mut tx, tenant, number, now).await?;
        tx.commit().await?;
    }
    Ok(decision)
}

fn admissions(latest: Option<&Latest>) -> Admissions {
    let Some(latest) = latest else { return Admissions { in_window: 0, limit_th_latest: None } };
    let in_window = latest.first_in_window.map_or(0, |first| latest.number - first + 1);
    Admissions {
        in_window: u32::try_from(in_window).unwrap_or(u32::MAX),
        limit_th_latest: latest.limit_th_latest.map(Timestamp::from_micros),
    }
}

async fn latest(tx: &mut Tx, tenant: TenantId, limit: u32, now: Timestamp) -> Result<Option<Latest>, sqlx::Error> {
    const SQL: &str = "SELECT latest.number, latest.admitted_at, \
        (SELECT number FROM admitted_requests WHERE tenant_id = $1 AND admitted_at > $2 ORDER BY number LIMIT 1) \
            AS first_in_window, \
        (SELECT admitted_at FROM admitted_requests WHERE tenant_id = $1 AND number = latest.number - $3 + 1) \
            AS limit_th_latest \
        FROM admitted_requests latest WHERE tenant_id = $1 ORDER BY number DESC LIMIT 1";
    on!(tx, |c| sqlx::query_as(SQL)
        .bind(tenant.uuid())
        .bind((now - WINDOW).as_micros())
        .bind(i64::from(limit))
        .fetch_optional(c)
        .await)
}

async fn insert(tx: &mut Tx, tenant: TenantId, number: i64, at: Timestamp) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO admitted_requests (tenant_id, number, admitted_at) VALUES ($1, $2, $3)";
    on!(tx, |c| sqlx::query(SQL).bind(tenant.uuid()).bind(number).bind(at.as_micros()).execute(c).await.map(drop))
}

async fn forget_below(tx: &mut Tx, tenant: TenantId, number: i64) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM admitted_requests WHERE tenant_id = $1 AND number < $2";
    on!(tx, |c| sqlx::query(SQL).bind(tenant.uuid()).bind(number).execute(c).await.map(drop))
}
