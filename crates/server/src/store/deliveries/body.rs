//! Bodies of deliveries.
//!
//! An event's data is stored once, in its row of `events`. Deliveries refer to it, so that a call with many endpoints stores no
//! more bytes than one with none. Their `body` is empty until the event's words are about to change or be deleted: then [`freeze`]
//! copies the bytes to deliveries in flight, because every attempt sends the same bytes.

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::event::{DeliveryBody, EventData};
use switchhook_core::id::{DeliveryId, TenantId};
use uuid::Uuid;

use super::{Conn, Tx, execute, on, run};
use crate::store::erasure::body_without_words;
use crate::store::push_ids;

/// Selects the event's data for a delivery without its own bytes.
macro_rules! data {
    () => {
        "CASE WHEN LENGTH(deliveries.body) = 0 THEN (SELECT CAST(events.data AS TEXT) FROM events \
         WHERE events.call_id = deliveries.call_id AND events.sequence = deliveries.sequence) END AS data"
    };
}
pub(super) use data;

/// The sources of a delivery's bytes.
#[derive(Clone, FromRow)]
pub struct Source {
    body: Vec<u8>,
    data: Option<String>,
    created_at: i64,
}

impl Source {
    /// Returns the bytes of every attempt.
    #[must_use]
    pub fn into_bytes(self, id: Uuid, event: &str) -> Vec<u8> {
        if !self.body.is_empty() {
            return self.body;
        }
        let data = self.data.and_then(|data| EventData::from_stored(data).ok()).unwrap_or_else(|| {
            tracing::error!(delivery = %id, "the event of a delivery is missing; sending it without data");
            EventData::empty()
        });
        let created = Timestamp::from_micros(self.created_at);
        DeliveryBody { id: DeliveryId::from_uuid(id), event, created, data: &data }.to_bytes()
    }
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    event: String,
    erase: bool,
    #[sqlx(flatten)]
    source: Source,
}

/// Returns the bytes of a delivery, without deleted words.
///
/// # Errors
/// When the database fails or the delivery does not exist.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: DeliveryId) -> Result<Vec<u8>, sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT id, event, erase, body, created_at, ",
        data!(),
        " FROM deliveries WHERE tenant_id = $1 AND id = $2"
    );
    let row: Row = run!(conn, query_as.fetch_one, SQL; tenant.uuid(), id.uuid())?;
    let bytes = row.source.into_bytes(row.id, &row.event);
    Ok(if row.erase { body_without_words(&bytes) } else { bytes })
}

/// Copies the bytes to deliveries in flight of these calls, before their events change or are deleted.
///
/// # Errors
/// When the database fails.
pub async fn freeze(tx: &mut Tx, calls: &[Uuid]) -> Result<(), sqlx::Error> {
    const SQL: &str = concat!(
        "SELECT id, event, erase, body, created_at, ",
        data!(),
        " FROM deliveries WHERE LENGTH(body) = 0 AND ",
        open!(),
        " AND call_id IN ("
    );
    const FREEZE: &str = "UPDATE deliveries SET body = $2 WHERE id = $1";
    let rows: Vec<Row> = on!(tx, |c| {
        let mut query = QueryBuilder::new(SQL);
        push_ids(&mut query, calls.iter().copied());
        query.push(")").build_query_as().fetch_all(c).await
    })?;
    for row in rows {
        let bytes = row.source.into_bytes(row.id, &row.event);
        execute!(tx, FREEZE; row.id, bytes)?;
    }
    Ok(())
}
