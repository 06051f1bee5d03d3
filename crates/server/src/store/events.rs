//! Events: append-only, numbered per call, and fanned out to subscribed webhook endpoints in the same transaction.

use std::cmp::Reverse;

use serde::Serialize;
use serde_json::Value;
use sqlx::QueryBuilder;
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::event::{CallFacts, EventData, EventKind};
use switchhook_core::id::{CallId, DeliveryId, EventId, TenantId, WebhookId};
use switchhook_core::webhook::EventFilter;
use switchhook_runtime::clock;
use utoipa::ToSchema;
use uuid::Uuid;

use super::deliveries::{self, NewBody, NewDelivery};
use super::page::{Page, PageRequest};
use super::{Conn, Dialect, Tx, chunks, locking, on, run};

/// An event of a call.
#[derive(Clone, Serialize, ToSchema)]
pub struct EventRow {
    /// The event's id; `id` in a webhook is the delivery's.
    pub id: Uuid,
    /// The call.
    pub call_id: Uuid,
    /// Number within the call, from 1.
    #[schema(minimum = 1, example = 1)]
    pub sequence: i64,
    /// The kind of event.
    #[schema(value_type = EventKind, example = "call.completed")]
    pub event: String,
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The same in Unix seconds, as in webhooks.
    pub created: i64,
    /// The `data` of its webhook deliveries.
    #[schema(value_type = Object)]
    pub data: Value,
}

impl EventRow {
    /// Returns whether it is terminal.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.event.parse::<EventKind>().is_ok_and(EventKind::is_terminal)
    }
}

/// A new event of a call.
pub struct Happened {
    /// When it happened.
    pub at: Timestamp,
    /// The call at that time.
    pub facts: CallFacts,
    /// The kind of event.
    pub kind: EventKind,
    /// Its number within the call.
    pub sequence: i64,
}

/// Inserts events of one tenant's calls, and a delivery of each to every enabled endpoint that subscribes to it, in the
/// transaction that changes the calls.
///
/// # Errors
/// When the database fails.
pub async fn write(tx: &mut Tx, tenant: TenantId, happened: &[Happened]) -> Result<(), sqlx::Error> {
    let Endpoints { wanting: endpoints, active } = endpoints(tx, tenant).await?;
    let (mut events, mut new) = (Vec::new(), Vec::new());
    for one in happened {
        let call = one.facts.call_id;
        let data = EventData::new(one.kind, &one.facts, u32::try_from(one.sequence).unwrap_or(u32::MAX));
        for (webhook, _) in endpoints.iter().filter(|(_, filter)| filter.matches(one.kind)) {
            let id = DeliveryId::new(one.at, clock::random());
            let of = Some((call, Some(one.sequence)));
            let body = NewBody::OfEvent;
            let (event, now) = (one.kind.as_str(), one.at);
            new.push(NewDelivery { id, tenant, webhook: *webhook, of, event, body, wanted: active, now });
        }
        events.push((one, data));
    }
    for chunk in chunks(&events) {
        insert(tx, tenant, chunk).await?;
    }
    deliveries::insert(tx, &new).await
}

async fn insert(tx: &mut Tx, tenant: TenantId, events: &[(&Happened, EventData)]) -> Result<(), sqlx::Error> {
    on!(tx, |c| {
        let mut query =
            QueryBuilder::new("INSERT INTO events (id, tenant_id, call_id, sequence, event, data, created_at) ");
        query.push_values(events, |mut values, (one, data)| {
            values.push_bind(EventId::new(one.at, clock::random()).uuid()).push_bind(tenant.uuid());
            values.push_bind(one.facts.call_id.uuid()).push_bind(one.sequence).push_bind(one.kind.as_str());
            values.push_bind(Json(data)).push_bind(one.at.as_micros());
        });
        query.build().execute(c).await.map(drop)
    })
}

struct Endpoints {
    /// The enabled endpoints and their filters.
    wanting: Vec<(WebhookId, EventFilter)>,
    /// Whether the tenant is active; otherwise nothing is sent.
    active: bool,
}

/// Returns the enabled endpoints of a tenant, locked against deletion.
async fn endpoints(tx: &mut Tx, tenant: TenantId) -> Result<Endpoints, sqlx::Error> {
    let sql = locking!(
        tx,
        "SELECT webhooks.id, events, active FROM webhooks JOIN tenants ON tenants.id = tenant_id \
         WHERE tenant_id = $1 AND enabled = TRUE ORDER BY webhooks.id",
        " FOR KEY SHARE OF webhooks"
    );
    let rows: Vec<(Uuid, Json<Vec<String>>, bool)> = run!(tx, query_as.fetch_all, sql; tenant.uuid())?;
    let active = rows.iter().all(|(_, _, active)| *active);
    let known = |(id, names, _): (Uuid, Json<Vec<String>>, bool)| {
        EventFilter::parse(&names.0).ok().map(|filter| (WebhookId::from_uuid(id), filter))
    };
    Ok(Endpoints { wanting: rows.into_iter().filter_map(known).collect(), active })
}

/// Returns a page of the events of a tenant, newest first.
///
/// # Errors
/// When the database fails.
pub async fn before(conn: &mut Conn, tenant: TenantId, page: PageRequest) -> Result<Page<EventRow>, sqlx::Error> {
    const SQLITE: &str = "SELECT id, call_id, sequence, event, created_at, data FROM events \
        WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
    const POSTGRES: &str = "SELECT id, call_id, sequence, event, created_at, data FROM events \
        WHERE uuid_send(tenant_id) = $1 AND uuid_send(id) < $2 ORDER BY uuid_send(id) DESC LIMIT $3";
    let sql = if conn.dialect() == Dialect::Postgres { POSTGRES } else { SQLITE };
    let rows = of_tenant(conn, sql, tenant, page.before(), page.limit + 1).await?;
    let mut page = Page::from_rows(rows, page.limit, |event| event.id);
    // Ids of the same millisecond are in no order.
    page.rows.sort_by_key(|event| Reverse((event.created_at, event.sequence)));
    Ok(page)
}

/// Returns the events of a tenant after an id, oldest first.
///
/// # Errors
/// When the database fails.
pub async fn after(conn: &mut Conn, tenant: TenantId, after: Uuid, limit: i64) -> Result<Vec<EventRow>, sqlx::Error> {
    const SQLITE: &str = "SELECT id, call_id, sequence, event, created_at, data FROM events \
        WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3";
    const POSTGRES: &str = "SELECT id, call_id, sequence, event, created_at, data FROM events \
        WHERE uuid_send(tenant_id) = $1 AND uuid_send(id) > $2 ORDER BY uuid_send(id) LIMIT $3";
    let sql = if conn.dialect() == Dialect::Postgres { POSTGRES } else { SQLITE };
    of_tenant(conn, sql, tenant, after, limit).await
}

/// On PostgreSQL the index that both take holds ids as bytes, an order that no other index has: its planner cannot prefer the primary key.
async fn of_tenant(
    conn: &mut Conn,
    sql: &'static str,
    tenant: TenantId,
    id: Uuid,
    limit: i64,
) -> Result<Vec<EventRow>, sqlx::Error> {
    let rows: Vec<Row> =
        run!(conn, query_as.fetch_all, sql; tenant.uuid().as_bytes().to_vec(), id.as_bytes().to_vec(), limit)?;
    Ok(rows.into_iter().map(EventRow::from).collect())
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    call_id: Uuid,
    sequence: i64,
    event: String,
    created_at: i64,
    data: Json<Value>,
}

impl From<Row> for EventRow {
    fn from(row: Row) -> Self {
        let created_at = Timestamp::from_micros(row.created_at);
        Self {
            id: row.id,
            call_id: row.call_id,
            sequence: row.sequence,
            event: row.event,
            created_at,
            created: created_at.as_seconds(),
            data: row.data.0,
        }
    }
}

/// Returns a call's events after `after`, in order.
///
/// # Errors
/// When the database fails.
pub async fn list(
    conn: &mut Conn,
    tenant: TenantId,
    call: CallId,
    after: i64,
    limit: i64,
) -> Result<Vec<EventRow>, sqlx::Error> {
    const SQL: &str = "SELECT id, call_id, sequence, event, created_at, data FROM events \
        WHERE tenant_id = $1 AND call_id = $2 AND sequence > $3 ORDER BY sequence LIMIT $4";
    let rows: Vec<Row> = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), call.uuid(), after, limit)?;
    Ok(rows.into_iter().map(EventRow::from).collect())
}
