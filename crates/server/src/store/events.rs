//! Events: append-only, numbered per call, and fanned out to the webhook endpoints that want them in the same transaction.

use serde::Serialize;
use serde_json::Value;
use sqlx::FromRow;
use sqlx::types::Json;
use switchhook_core::Timestamp;
use switchhook_core::event::{CallFacts, DeliveryBody, EventData, EventKind};
use switchhook_core::id::{CallId, DeliveryId, EventId, TenantId, WebhookId};
use switchhook_core::webhook::EventFilter;
use utoipa::ToSchema;
use uuid::Uuid;

use super::deliveries::{self, NewDelivery};
use super::{Conn, Tx, on};
use crate::clock;

/// An event of a call, as the API shows it.
#[derive(Clone, Serialize, ToSchema)]
pub struct EventRow {
    /// Counts up from 1 over the events of one call.
    #[schema(minimum = 1, example = 1)]
    pub sequence: i64,
    /// What happened.
    #[schema(value_type = EventKind, example = "call.completed")]
    pub event: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// The `data` of its webhook deliveries.
    #[schema(value_type = Object)]
    pub data: Value,
}

impl EventRow {
    /// Whether nothing follows it.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.event.parse::<EventKind>().is_ok_and(EventKind::is_terminal)
    }
}

/// Records an event of the call that `facts` tells of, and a delivery to each enabled endpoint that wants it. Part of the
/// transaction that changed the call: either all of it happened, or nothing.
///
/// # Errors
/// When the database fails.
pub async fn record(
    tx: &mut Tx,
    now: Timestamp,
    tenant: TenantId,
    facts: &CallFacts,
    kind: EventKind,
) -> Result<(), sqlx::Error> {
    let sequence = next_sequence(tx, facts.call_id).await?;
    let data = EventData::new(kind, facts, u32::try_from(sequence).unwrap_or(u32::MAX));
    insert(tx, now, tenant, facts.call_id, sequence, kind, &data).await?;
    for webhook in wanting(tx, tenant, kind).await? {
        let id = DeliveryId::new(now, clock::random());
        let body = DeliveryBody { id, event: kind.as_str(), created: now, data: &data }.to_bytes();
        let of = Some((facts.call_id, Some(sequence)));
        let delivery = NewDelivery { id, tenant, webhook, of, event: kind.as_str(), body, now };
        deliveries::insert(tx, &delivery).await?;
    }
    Ok(())
}

async fn next_sequence(tx: &mut Tx, call: CallId) -> Result<i64, sqlx::Error> {
    const SQL: &str = "UPDATE calls SET event_count = event_count + 1 WHERE id = $1 RETURNING event_count";
    on!(tx, |c| sqlx::query_scalar(SQL).bind(call.uuid()).fetch_one(c).await)
}

async fn insert(
    tx: &mut Tx,
    now: Timestamp,
    tenant: TenantId,
    call: CallId,
    sequence: i64,
    kind: EventKind,
    data: &EventData,
) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO events (id, tenant_id, call_id, sequence, event, data, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    on!(tx, |c| sqlx::query(SQL)
        .bind(EventId::new(now, clock::random()).uuid())
        .bind(tenant.uuid())
        .bind(call.uuid())
        .bind(sequence)
        .bind(kind.as_str())
        .bind(Json(data))
        .bind(now.as_micros())
        .execute(c)
        .await
        .map(drop))
}

/// The enabled endpoints of a tenant that want events of this kind.
async fn wanting(tx: &mut Tx, tenant: TenantId, kind: EventKind) -> Result<Vec<WebhookId>, sqlx::Error> {
    const SQL: &str = "SELECT id, events FROM webhooks WHERE tenant_id = $1 AND enabled = TRUE ORDER BY id";
    let endpoints: Vec<(Uuid, Json<Vec<String>>)> =
        on!(tx, |c| sqlx::query_as(SQL).bind(tenant.uuid()).fetch_all(c).await)?;
    let wants = |names: &[String]| EventFilter::parse(names).is_ok_and(|filter| filter.matches(kind));
    Ok(endpoints.into_iter().filter(|(_, names)| wants(names)).map(|(id, _)| WebhookId::from_uuid(id)).collect())
}

#[derive(FromRow)]
struct Row {
    sequence: i64,
    event: String,
    created_at: i64,
    data: Json<Value>,
}

/// A call's events after `after`, in their order.
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
    const SQL: &str = "SELECT sequence, event, created_at, data FROM events \
        WHERE tenant_id = $1 AND call_id = $2 AND sequence > $3 ORDER BY sequence LIMIT $4";
    let rows: Vec<Row> = on!(conn, |c| sqlx::query_as(SQL)
        .bind(tenant.uuid())
        .bind(call.uuid())
        .bind(after)
        .bind(limit)
        .fetch_all(c)
        .await)?;
    let shown = |row: Row| EventRow {
        sequence: row.sequence,
        event: row.event,
        created_at: Timestamp::from_micros(row.created_at),
        data: row.data.0,
    };
    Ok(rows.into_iter().map(shown).collect())
}
