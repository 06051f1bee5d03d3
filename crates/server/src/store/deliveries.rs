//! Deliveries: what customers see of them. What the worker does with them under a lease is in [`queue`] and [`outcome`].

pub mod outcome;
pub mod queue;

use sqlx::{FromRow, QueryBuilder};
use switchhook_core::Timestamp;
use switchhook_core::id::{CallId, DeliveryId, TenantId, WebhookId};
use uuid::Uuid;

use super::{Conn, Tx, chunks, on, retention};

/// The words of `deliveries.state`.
pub const STATES: [&str; 5] = ["pending", "sending", "succeeded", "failed", "canceled"];

/// A row of `deliveries`, without its body.
#[derive(Clone, Debug, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct DeliveryRow {
    pub id: Uuid,
    pub webhook_id: Uuid,
    pub call_id: Option<Uuid>,
    pub event: String,
    pub state: String,
    pub attempts: i64,
    pub next_attempt_at: Option<i64>,
    pub created_at: i64,
}

/// A row of `delivery_attempts`.
#[derive(Clone, Debug, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct AttemptRow {
    pub number: i64,
    pub started_at: i64,
    pub duration_ms: Option<i64>,
    pub status: Option<i64>,
    pub error: Option<String>,
    pub response_excerpt: Option<String>,
}

/// A delivery to put into the queue.
pub struct NewDelivery<'a> {
    /// Its id, which the body holds too.
    pub id: DeliveryId,
    /// Whose it is.
    pub tenant: TenantId,
    /// The endpoint.
    pub webhook: WebhookId,
    /// The call, and the event's number in it when first attempts are to keep the order of events.
    pub of: Option<(CallId, Option<i64>)>,
    /// The kind of event.
    pub event: &'a str,
    /// The bytes that every attempt sends.
    pub body: Vec<u8>,
    /// Now; it is due at once.
    pub now: Timestamp,
}

/// Puts deliveries into the queue.
///
/// # Errors
/// When the database fails.
pub async fn insert(tx: &mut Tx, new: &[NewDelivery<'_>]) -> Result<(), sqlx::Error> {
    for chunk in chunks(new) {
        on!(tx, |c| {
            let mut query = QueryBuilder::new(
                "INSERT INTO deliveries (id, tenant_id, webhook_id, call_id, sequence, event, body, state, attempts, \
                 next_attempt_at, lease_token, created_at) ",
            );
            query.push_values(chunk, |mut values, new| {
                values.push_bind(new.id.uuid()).push_bind(new.tenant.uuid()).push_bind(new.webhook.uuid());
                values.push_bind(new.of.map(|(call, _)| call.uuid()));
                values.push_bind(new.of.and_then(|(_, sequence)| sequence));
                values.push_bind(new.event).push_bind(&new.body).push("'pending'").push("0");
                values.push_bind(new.now.as_micros()).push("0").push_bind(new.now.as_micros());
            });
            query.build().execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Any of these.
    pub state: Vec<String>,
    /// Any of these.
    pub event: Vec<String>,
    /// Of this call.
    pub call: Option<Uuid>,
}

const COLUMNS: &str = "id, webhook_id, call_id, event, state, attempts, next_attempt_at, created_at";

/// A page of an endpoint's deliveries, newest first, and one row more when there are more.
///
/// # Errors
/// When the database fails.
pub async fn list(
    conn: &mut Conn,
    tenant: TenantId,
    webhook: WebhookId,
    filter: &Filter,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<DeliveryRow>, sqlx::Error> {
    on!(conn, |c| {
        let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM deliveries WHERE tenant_id = "));
        query.push_bind(tenant.uuid()).push(" AND webhook_id = ").push_bind(webhook.uuid());
        query.push(" AND id < ").push_bind(before.unwrap_or(Uuid::max()));
        for (column, words) in [("state", &filter.state), ("event", &filter.event)] {
            if !words.is_empty() {
                query.push(format!(" AND {column} IN ("));
                let mut list = query.separated(", ");
                for word in words {
                    list.push_bind(word.clone());
                }
                query.push(")");
            }
        }
        if let Some(call) = filter.call {
            query.push(" AND call_id = ").push_bind(call);
        }
        query.push(" ORDER BY id DESC LIMIT ").push_bind(limit + 1);
        query.build_query_as().fetch_all(c).await
    })
}

/// One delivery.
///
/// # Errors
/// When the database fails.
pub async fn get(
    conn: &mut Conn,
    tenant: TenantId,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Option<DeliveryRow>, sqlx::Error> {
    const SQL: &str = "SELECT * FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3";
    on!(conn, |c| sqlx::query_as(SQL).bind(tenant.uuid()).bind(webhook.uuid()).bind(id.uuid()).fetch_optional(c).await)
}

/// The bytes that a delivery's attempts send, without words that may no longer be kept.
///
/// # Errors
/// When the database fails or there is no such delivery.
pub async fn body(conn: &mut Conn, tenant: TenantId, id: DeliveryId) -> Result<Vec<u8>, sqlx::Error> {
    const SQL: &str = "SELECT body, erase FROM deliveries WHERE tenant_id = $1 AND id = $2";
    let (body, erase): (Vec<u8>, bool) =
        on!(conn, |c| sqlx::query_as(SQL).bind(tenant.uuid()).bind(id.uuid()).fetch_one(c).await)?;
    Ok(if erase { retention::body_without_words(&body) } else { body })
}

/// Every attempt of a delivery, in their order.
///
/// # Errors
/// When the database fails.
pub async fn attempts(conn: &mut Conn, tenant: TenantId, id: DeliveryId) -> Result<Vec<AttemptRow>, sqlx::Error> {
    const SQL: &str = "SELECT a.number, a.started_at, a.duration_ms, a.status, a.error, a.response_excerpt \
        FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id \
        WHERE d.tenant_id = $1 AND d.id = $2 ORDER BY a.number";
    on!(conn, |c| sqlx::query_as(SQL).bind(tenant.uuid()).bind(id.uuid()).fetch_all(c).await)
}

/// Makes a waiting delivery due now; whether it was waiting.
///
/// # Errors
/// When the database fails.
pub async fn bring_forward(tx: &mut Tx, tenant: TenantId, id: DeliveryId, now: Timestamp) -> Result<bool, sqlx::Error> {
    const SQL: &str =
        "UPDATE deliveries SET next_attempt_at = $3 WHERE tenant_id = $1 AND id = $2 AND state = 'pending'";
    on!(tx, |c| sqlx::query(SQL)
        .bind(tenant.uuid())
        .bind(id.uuid())
        .bind(now.as_micros())
        .execute(c)
        .await
        .map(|done| done.rows_affected() > 0))
}

/// Deletes some deliveries of an endpoint, with their attempts; how many. An endpoint can have more than one transaction should
/// hold.
///
/// # Errors
/// When the database fails.
pub async fn delete_some(tx: &mut Tx, tenant: TenantId, webhook: WebhookId) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM deliveries WHERE id IN \
        (SELECT id FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2 LIMIT 500)";
    on!(tx, |c| sqlx::query(SQL)
        .bind(tenant.uuid())
        .bind(webhook.uuid())
        .execute(c)
        .await
        .map(|done| done.rows_affected()))
}

/// Gives up what waits for an endpoint.
///
/// # Errors
/// When the database fails.
pub async fn cancel_waiting(tx: &mut Tx, tenant: TenantId, webhook: WebhookId) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE deliveries SET state = 'canceled', next_attempt_at = NULL \
        WHERE tenant_id = $1 AND webhook_id = $2 AND state = 'pending'";
    on!(tx, |c| sqlx::query(SQL).bind(tenant.uuid()).bind(webhook.uuid()).execute(c).await.map(drop))
}
