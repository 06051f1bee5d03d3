//! Deliveries: queries for customers. Queries for the worker under a lease are in [`queue`] and [`outcome`].

use std::collections::HashMap;

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::event::{EventKind, WEBHOOK_TEST};
use switchhook_core::id::{CallId, DeliveryId, TenantId, WebhookId};
use uuid::Uuid;

use super::page::{Page, PageRequest};
use super::{Conn, Dialect, Tx, chunks, columns, execute, on, push_ids, run};

/// The conditions of the partial indexes, word for word: SQLite uses such an index only then.
macro_rules! open {
    () => {
        open!("deliveries")
    };
    ($table:literal) => {
        concat!($table, ".state IN ('pending', 'sending')")
    };
}
macro_rules! ended {
    () => {
        "deliveries.state IN ('succeeded', 'failed', 'canceled')"
    };
}

pub mod backlog;
pub mod body;
pub mod outcome;
pub mod queue;

/// The values of `deliveries.state`.
pub const STATES: [&str; 5] = ["pending", "sending", "succeeded", "failed", "canceled"];
/// The states of deliveries that have not ended.
const UNDER_WAY: [&str; 2] = ["pending", "sending"];

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

/// A new delivery.
pub struct NewDelivery<'a> {
    /// Its id, also in the body.
    pub id: DeliveryId,
    /// Its tenant.
    pub tenant: TenantId,
    /// The endpoint.
    pub webhook: WebhookId,
    /// The call, and the event's sequence if first attempts must keep the order of events.
    pub of: Option<(CallId, Option<i64>)>,
    /// The kind of event.
    pub event: &'a str,
    /// The body of every attempt.
    pub body: NewBody,
    /// Whether it is sent; otherwise it is canceled from the start.
    pub wanted: bool,
    /// The current time; it is due at once.
    pub now: Timestamp,
}

/// The body of a new delivery.
pub enum NewBody {
    /// The stored data of the event `of`.
    OfEvent,
    /// Its own bytes.
    Own(Vec<u8>),
}

impl NewBody {
    /// Returns the column: empty for [`NewBody::OfEvent`].
    fn bytes(&self) -> &[u8] {
        match self {
            Self::OfEvent => &[],
            Self::Own(bytes) => bytes,
        }
    }
}

/// Queues deliveries.
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
                values.push_bind(new.event).push_bind(new.body.bytes()).push(if new.wanted {
                    "'pending'"
                } else {
                    "'canceled'"
                });
                values
                    .push("0")
                    .push_bind(new.wanted.then_some(new.now.as_micros()))
                    .push("0")
                    .push_bind(new.now.as_micros());
            });
            query.build().execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// The filters of a list.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    /// Any of these.
    pub state: Vec<String>,
    /// Any of these.
    pub event: Vec<String>,
    /// Of this call.
    pub call: Option<Uuid>,
}

/// Returns a page of an endpoint's deliveries, newest first.
///
/// # Errors
/// When the database fails.
pub async fn list(
    conn: &mut Conn,
    tenant: TenantId,
    webhook: WebhookId,
    filter: &DeliveryFilter,
    page: PageRequest,
) -> Result<Page<DeliveryRow>, sqlx::Error> {
    let parts = filter.parts();
    let postgres = conn.dialect() == Dialect::Postgres;
    let rows = on!(conn, |c| {
        let mut query = QueryBuilder::new("");
        for (number, part) in parts.iter().enumerate() {
            // The order of `deliveries_ended`, which no other index of PostgreSQL's has.
            let bytes = |id: &str| if postgres && part.ended { format!("uuid_send({id})") } else { id.to_owned() };
            query.push(if number == 0 { "" } else { " UNION ALL " });
            query.push(concat!("SELECT * FROM (SELECT ", columns!(deliveries), " FROM deliveries WHERE "));
            query.push(&part.condition).push(" AND webhook_id = ").push_bind(webhook.uuid());
            query.push(" AND tenant_id = ").push_bind(tenant.uuid());
            if let Some(call) = filter.call {
                query.push(" AND call_id = ").push_bind(call);
            }
            query.push(format!(" AND {} < ", bytes("id")));
            match part.ended && postgres {
                true => query.push_bind(page.before().as_bytes().to_vec()),
                false => query.push_bind(page.before()),
            };
            query.push(format!(" ORDER BY {} DESC LIMIT ", bytes("id")));
            query.push_bind(page.limit + 1).push(format!(") AS part{number}"));
        }
        query.push(" ORDER BY id DESC LIMIT ").push_bind(page.limit + 1);
        query.build_query_as().fetch_all(c).await
    })?;
    Ok(Page::from_rows(rows, page.limit, |row: &DeliveryRow| row.id))
}

/// A part of a list: one range of one index.
struct ListPart {
    condition: String,
    /// Whether the index is `deliveries_ended`.
    ended: bool,
}

impl ListPart {
    fn of(condition: String) -> Self {
        Self { condition, ended: false }
    }
}

impl DeliveryFilter {
    /// Returns the conditions of a list's parts. Each part is one range of one index in the order of ids, so that only shown rows are
    /// read: deliveries in flight, and ended ones by event and state.
    fn parts(&self) -> Vec<ListPart> {
        let words = |words: &[&str]| format!("('{}')", words.join("', '"));
        let of = |all: &[&'static str], asked: &[String]| -> Vec<&'static str> {
            all.iter().copied().filter(|word| asked.is_empty() || asked.iter().any(|asked| asked == word)).collect()
        };
        let all: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).chain([WEBHOOK_TEST]).collect();
        let (events, states) = (of(&all, &self.event), of(&STATES, &self.state));
        if events.is_empty() || states.is_empty() {
            return vec![ListPart::of("1 = 0".to_owned())]; // No such value.
        }
        if self.call.is_some() {
            let (events, states) = (words(&events), words(&states));
            return vec![ListPart::of(format!("call_id IS NOT NULL AND event IN {events} AND state IN {states}"))];
        }
        if self.event.is_empty() && self.state.is_empty() {
            return vec![ListPart::of("1 = 1".to_owned())];
        }
        let (under_way, over): (Vec<&str>, Vec<&str>) = states.iter().partition(|state| UNDER_WAY.contains(state));
        let mut parts = Vec::new();
        if !under_way.is_empty() {
            let (events, states) = (words(&events), words(&under_way));
            parts.push(ListPart::of(format!("{} AND state IN {states} AND event IN {events}", open!())));
        }
        for event in events {
            parts.extend(over.iter().map(|state| ListPart {
                condition: format!("{} AND event = '{event}' AND state = '{state}'", ended!()),
                ended: true,
            }));
        }
        parts
    }
}

/// Returns a delivery.
///
/// # Errors
/// When the database fails.
pub async fn get(
    conn: &mut Conn,
    tenant: TenantId,
    webhook: WebhookId,
    id: DeliveryId,
) -> Result<Option<DeliveryRow>, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT ",
        columns!(deliveries),
        " FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND id = $3"
    );
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), webhook.uuid(), id.uuid())
}

/// Returns the attempts of a delivery, in order.
///
/// # Errors
/// When the database fails.
pub async fn attempts(conn: &mut Conn, tenant: TenantId, id: DeliveryId) -> Result<Vec<AttemptRow>, sqlx::Error> {
    const SQL: &str = "SELECT a.number, a.started_at, a.duration_ms, a.status, a.error, a.response_excerpt \
        FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id \
        WHERE d.tenant_id = $1 AND d.id = $2 ORDER BY a.number";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), id.uuid())
}

/// A delivery with the URL of its endpoint.
#[derive(Clone, Debug, FromRow)]
pub struct DeliveryOfCall {
    /// The delivery.
    #[sqlx(flatten)]
    pub delivery: DeliveryRow,
    /// The endpoint's present URL.
    pub url: String,
}

/// Returns a page of a call's deliveries to all endpoints, newest first.
///
/// # Errors
/// When the database fails.
pub async fn of_call(
    conn: &mut Conn,
    tenant: TenantId,
    call: CallId,
    page: PageRequest,
) -> Result<Page<DeliveryOfCall>, sqlx::Error> {
    // Materialized: in the order of ids, a planner would look for them among everybody's.
    const SQL: &str = concat!(
        "WITH of_call AS MATERIALIZED (SELECT ",
        columns!(deliveries),
        ", (SELECT url FROM webhooks WHERE webhooks.id = webhook_id) AS url FROM deliveries \
        WHERE tenant_id = $1 AND call_id IS NOT NULL AND call_id = $2) \
        SELECT * FROM of_call WHERE id < $3 ORDER BY id DESC LIMIT $4"
    );
    let rows = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), call.uuid(), page.before(), page.limit + 1)?;
    Ok(Page::from_rows(rows, page.limit, |row: &DeliveryOfCall| row.delivery.id))
}

/// An attempt at one of several deliveries.
#[derive(FromRow)]
struct AttemptOf {
    delivery_id: Uuid,
    #[sqlx(flatten)]
    attempt: AttemptRow,
}

/// Returns the attempts of several deliveries, in order.
///
/// # Errors
/// When the database fails.
pub async fn attempts_of(
    conn: &mut Conn,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, Vec<AttemptRow>>, sqlx::Error> {
    let attempts: Vec<AttemptOf> = on!(conn, |c| {
        let mut query = QueryBuilder::new(
            "SELECT a.delivery_id, a.number, a.started_at, a.duration_ms, a.status, a.error, a.response_excerpt \
             FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE d.tenant_id = ",
        );
        query.push_bind(tenant.uuid()).push(" AND d.id IN (");
        push_ids(&mut query, ids.iter().copied());
        query.push(") ORDER BY a.delivery_id, a.number").build_query_as().fetch_all(c).await
    })?;
    let mut found: HashMap<Uuid, Vec<AttemptRow>> = HashMap::new();
    for AttemptOf { delivery_id, attempt } in attempts {
        found.entry(delivery_id).or_default().push(attempt);
    }
    Ok(found)
}

/// Makes a pending delivery due now. Returns whether it was pending.
///
/// # Errors
/// When the database fails.
pub async fn bring_forward(tx: &mut Tx, tenant: TenantId, id: DeliveryId, now: Timestamp) -> Result<bool, sqlx::Error> {
    const SQL: &str =
        "UPDATE deliveries SET next_attempt_at = $3 WHERE tenant_id = $1 AND id = $2 AND state = 'pending'";
    execute!(tx, SQL; tenant.uuid(), id.uuid(), now.as_micros()).map(|rows| rows > 0)
}

/// Deletes a batch of an endpoint's deliveries with their attempts. Returns their number. An endpoint can have too many for
/// one transaction.
///
/// # Errors
/// When the database fails.
pub async fn delete_some(tx: &mut Tx, tenant: TenantId, webhook: WebhookId) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM deliveries WHERE id IN \
        (SELECT id FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2 LIMIT 500)";
    execute!(tx, SQL; tenant.uuid(), webhook.uuid())
}

/// Cancels a batch of the pending deliveries of a disabled endpoint. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn cancel_waiting(tx: &mut Tx, tenant: TenantId, webhook: WebhookId) -> Result<u64, sqlx::Error> {
    const SQL: &str = concat!(
        "UPDATE deliveries SET state = 'canceled', next_attempt_at = NULL WHERE state = 'pending' AND id IN \
         (SELECT id FROM deliveries WHERE tenant_id = $1 AND webhook_id = $2 AND state = 'pending' AND ",
        open!(),
        " AND webhook_id IN (SELECT id FROM webhooks WHERE id = $2 AND enabled = FALSE) LIMIT 500)"
    );
    execute!(tx, SQL; tenant.uuid(), webhook.uuid())
}

/// Cancels a batch of the pending deliveries of a deactivated tenant. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn cancel_of_tenant(tx: &mut Tx, tenant: TenantId) -> Result<u64, sqlx::Error> {
    const SQL: &str = concat!(
        "UPDATE deliveries SET state = 'canceled', next_attempt_at = NULL WHERE state = 'pending' AND id IN \
         (SELECT id FROM deliveries WHERE state = 'pending' AND ",
        open!(),
        " AND webhook_id IN (SELECT w.id FROM webhooks w JOIN tenants t ON t.id = w.tenant_id \
         WHERE w.tenant_id = $1 AND t.active = FALSE) LIMIT 500)"
    );
    execute!(tx, SQL; tenant.uuid())
}

/// Deletes a batch of ended deliveries created before `before`, with their attempts, oldest first and after the id `after`. Returns
/// the last id.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, after: Uuid, before: Timestamp) -> Result<Option<Uuid>, sqlx::Error> {
    const SQL: &str = concat!(
        "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE id > $1 AND id < $2 AND ",
        ended!(),
        " ORDER BY id LIMIT 100) RETURNING id"
    );
    let before = DeliveryId::new(before, [0; 10]).uuid();
    let deleted: Vec<Uuid> = run!(tx, query_scalar.fetch_all, SQL; after, before)?;
    Ok(deleted.into_iter().max())
}
