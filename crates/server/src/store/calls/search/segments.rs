//! Adds ended calls to the search index and removes them.

use std::collections::BTreeMap;

use sqlx::QueryBuilder;
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use uuid::Uuid;

use super::positions::Positions;
use super::{metadata_term, metadata_text, term};
use crate::store::calls::{CallRequest, CallRow};
use crate::store::{Conn, Tx, chunks, execute, is_duplicate, locking, on, push_ids, run};

/// Calls per segment. More would slow down lists of few calls and lengthen transactions; fewer would slow down lists that
/// read every segment.
pub const SEGMENT: usize = 1024;

/// Adds an ended call to the pending ones.
///
/// # Errors
/// When the database fails.
pub(in crate::store) async fn add(tx: &mut Tx, row: &CallRow, ended_at: i64) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO call_search_pending (tenant_id, call_id, ended_at) VALUES ($1, $2, $3)";
    execute!(tx, SQL; row.tenant_id, row.id, ended_at).map(drop)
}

/// Returns the ids of a segment, ascending; none if it has been deleted.
pub(super) async fn ids(conn: &mut Conn, tenant: TenantId, segment: i64) -> Result<Vec<Uuid>, sqlx::Error> {
    const SQL: &str = "SELECT ids FROM call_search_segments WHERE tenant_id = $1 AND segment = $2";
    let ids: Option<Vec<u8>> = run!(conn, query_scalar.fetch_optional, SQL; tenant.uuid(), segment)?;
    Ok(read_ids(&ids.unwrap_or_default()))
}

fn read_ids(stored: &[u8]) -> Vec<Uuid> {
    stored.as_chunks::<16>().0.iter().map(|id| Uuid::from_bytes(*id)).collect()
}

/// Returns tenants with calls that ended after `since`.
///
/// The order makes both engines read the index by time.
///
/// # Errors
/// When the database fails.
pub async fn tenants_with_ends_for_housekeeping(
    conn: &mut Conn,
    since: Timestamp,
) -> Result<Vec<TenantId>, sqlx::Error> {
    const SQL: &str = "SELECT tenant_id FROM call_search_pending WHERE ended_at > $1 ORDER BY ended_at";
    let mut tenants: Vec<Uuid> = run!(conn, query_scalar.fetch_all, SQL; since.as_micros())?;
    tenants.sort_unstable();
    tenants.dedup();
    Ok(tenants.into_iter().map(TenantId::from_uuid).collect())
}

/// Returns tenants with enough pending calls for a segment, and their number.
///
/// # Errors
/// When the database fails.
pub async fn tenants_to_index_for_housekeeping(conn: &mut Conn) -> Result<Vec<(TenantId, usize)>, sqlx::Error> {
    const SQL: &str = "SELECT tenant_id, COUNT(*) FROM call_search_pending GROUP BY tenant_id HAVING COUNT(*) >= $1 ORDER BY tenant_id";
    let least = i64::try_from(SEGMENT).unwrap_or(i64::MAX);
    let tenants: Vec<(Uuid, i64)> = run!(conn, query_as.fetch_all, SQL; least)?;
    Ok(tenants.into_iter().map(|(id, calls)| (TenantId::from_uuid(id), usize::try_from(calls).unwrap_or(0))).collect())
}

/// Counts a tenant's pending calls, up to one segment.
///
/// # Errors
/// When the database fails.
pub async fn pending_for_housekeeping(conn: &mut Conn, tenant: TenantId) -> Result<usize, sqlx::Error> {
    const SQL: &str =
        "SELECT COUNT(*) FROM (SELECT 1 FROM call_search_pending WHERE tenant_id = $1 LIMIT $2) AS pending";
    let limit = i64::try_from(SEGMENT).unwrap_or(i64::MAX);
    let pending: i64 = run!(conn, query_scalar.fetch_one, SQL; tenant.uuid(), limit)?;
    Ok(usize::try_from(pending).unwrap_or(0))
}

/// The columns to index.
#[derive(FromRow)]
struct Indexed {
    id: Uuid,
    ended_at: Option<i64>,
    status: String,
    direction: String,
    agent_id: Uuid,
    number_id: Option<Uuid>,
    from_number: String,
    to_number: String,
    error_code: Option<String>,
    end_reason: Option<String>,
    request: Json<CallRequest>,
}

impl Indexed {
    fn terms(&self) -> Vec<i64> {
        let words = [
            ("status", Some(&self.status)),
            ("direction", Some(&self.direction)),
            ("from_number", Some(&self.from_number)),
            ("to_number", Some(&self.to_number)),
            ("error_code", self.error_code.as_ref()),
            ("end_reason", self.end_reason.as_ref()),
        ];
        let words = words.into_iter().filter_map(|(column, word)| Some(term(column, word?.as_bytes())));
        let ids = [("agent_id", Some(self.agent_id)), ("number_id", self.number_id)];
        let ids = ids.into_iter().filter_map(|(column, id)| Some(term(column, id?.as_bytes())));
        let metadata = self.request.metadata.iter();
        let metadata = metadata.filter_map(|(key, value)| Some(metadata_term(key, &metadata_text(value)?)));
        words.chain(ids).chain(metadata).collect()
    }
}

/// Creates up to `most` segments from a tenant's oldest pending calls. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn seal_for_housekeeping(tx: &mut Tx, tenant: TenantId, most: usize) -> Result<usize, sqlx::Error> {
    let calls = oldest_pending(tx, tenant, SEGMENT * most).await?;
    let segments = calls.as_slice().as_chunks::<SEGMENT>().0;
    // In the order of the table, so that each page is written once.
    let mut postings: BTreeMap<(i64, i64), Positions> = BTreeMap::new();
    for calls in segments {
        let segment = match insert_segment(tx, tenant, calls).await {
            // Another node is creating a segment of this tenant.
            Err(error) if is_duplicate(&error) => return Ok(0),
            inserted => inserted?,
        };
        for (position, call) in calls.iter().enumerate() {
            for term in call.terms() {
                postings.entry((term, segment)).or_default().insert(position);
            }
        }
    }
    let postings: Vec<(i64, i64, Vec<u8>)> =
        postings.iter().map(|((term, segment), positions)| (*term, *segment, positions.stored())).collect();
    for chunk in chunks(&postings) {
        insert_postings(tx, tenant, chunk).await?;
    }
    let ids: Vec<Uuid> = segments.as_flattened().iter().map(|call| call.id).collect();
    forget_for_housekeeping(tx, tenant, &ids).await?;
    Ok(segments.len())
}

/// Returns a tenant's oldest pending calls, at most `most`, by id.
async fn oldest_pending(tx: &mut Tx, tenant: TenantId, most: usize) -> Result<Vec<Indexed>, sqlx::Error> {
    let sql = locking!(
        tx,
        "SELECT call_id FROM call_search_pending WHERE tenant_id = $1 ORDER BY call_id LIMIT $2",
        " FOR UPDATE SKIP LOCKED"
    );
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let ids: Vec<Uuid> = run!(tx, query_scalar.fetch_all, sql; tenant.uuid(), most)?;
    let mut calls = Vec::with_capacity(ids.len());
    // Too few calls for a segment stay pending.
    for ids in ids.as_chunks::<SEGMENT>().0 {
        calls.extend(indexed(tx, ids).await?);
    }
    Ok(calls)
}

/// Returns the columns to index of calls, by id.
async fn indexed(tx: &mut Tx, ids: &[Uuid]) -> Result<Vec<Indexed>, sqlx::Error> {
    on!(tx, |c| {
        let mut query = QueryBuilder::new(
            "SELECT id, ended_at, status, direction, agent_id, number_id, from_number, to_number, error_code, end_reason, \
             request FROM calls WHERE id IN (",
        );
        push_ids(&mut query, ids.iter().copied());
        query.push(") ORDER BY id");
        query.build_query_as().fetch_all(c).await
    })
}

/// Inserts a segment of calls sorted by id. Returns its number.
async fn insert_segment(tx: &mut Tx, tenant: TenantId, calls: &[Indexed; SEGMENT]) -> Result<i64, sqlx::Error> {
    const SQL: &str = "INSERT INTO call_search_segments (tenant_id, segment, first_id, last_id, last_ended_at, ids) \
        SELECT $1, COALESCE(MAX(segment), 0) + 1, $2, $3, $4, $5 FROM call_search_segments WHERE tenant_id = $1 \
        RETURNING segment";
    let ids: Vec<u8> = calls.iter().flat_map(|call| *call.id.as_bytes()).collect();
    run!(tx, query_scalar.fetch_one, SQL;
        tenant.uuid(), calls[0].id, calls[SEGMENT - 1].id,
        calls.iter().filter_map(|call| call.ended_at).max().unwrap_or_default(), ids
    )
}

async fn insert_postings(tx: &mut Tx, tenant: TenantId, postings: &[(i64, i64, Vec<u8>)]) -> Result<(), sqlx::Error> {
    on!(tx, |c| {
        let mut query = QueryBuilder::new("INSERT INTO call_search_postings (tenant_id, term, segment, positions) ");
        query.push_values(postings, |mut values, (term, segment, positions)| {
            values.push_bind(tenant.uuid()).push_bind(*term).push_bind(*segment).push_bind(positions);
        });
        query.build().execute(c).await.map(drop)
    })
}

/// Removes calls from the pending ones.
///
/// # Errors
/// When the database fails.
pub async fn forget_for_housekeeping(tx: &mut Tx, tenant: TenantId, calls: &[Uuid]) -> Result<(), sqlx::Error> {
    for chunk in chunks(calls) {
        on!(tx, |c| {
            let mut query = QueryBuilder::new("DELETE FROM call_search_pending WHERE tenant_id = ");
            query.push_bind(tenant.uuid()).push(" AND call_id IN (");
            let mut list = query.separated(", ");
            for call in chunk {
                list.push_bind(*call);
            }
            query.push(")");
            query.build().execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// A segment whose calls can all be deleted.
pub struct Expired {
    /// Its tenant.
    pub tenant: TenantId,
    /// Its number.
    pub segment: i64,
    /// Its calls, including deleted ones.
    pub calls: Vec<Uuid>,
}

/// Returns the oldest segment, if all its calls ended before `before`.
///
/// # Errors
/// When the database fails.
pub async fn expired_segment_for_housekeeping(
    conn: &mut Conn,
    before: Timestamp,
) -> Result<Option<Expired>, sqlx::Error> {
    const SQL: &str = "SELECT tenant_id, segment, ids FROM call_search_segments \
        WHERE last_ended_at < $1 ORDER BY last_ended_at LIMIT 1";
    let expired: Option<(Uuid, i64, Vec<u8>)> = run!(conn, query_as.fetch_optional, SQL; before.as_micros())?;
    Ok(expired.map(|(tenant, segment, ids)| Expired {
        tenant: TenantId::from_uuid(tenant),
        segment,
        calls: read_ids(&ids),
    }))
}

/// Deletes the postings of some calls of a segment; remaining calls of the segment may then no longer
/// be found by terms they share with these.
///
/// # Errors
/// When the database fails.
pub(in crate::store) async fn delete_postings(
    tx: &mut Tx,
    tenant: TenantId,
    segment: i64,
    calls: &[Uuid],
) -> Result<(), sqlx::Error> {
    let calls = indexed(tx, calls).await?;
    let mut terms: Vec<i64> = calls.iter().flat_map(Indexed::terms).collect();
    terms.sort_unstable();
    terms.dedup();
    for chunk in chunks(&terms) {
        on!(tx, |c| {
            let mut query = QueryBuilder::new("DELETE FROM call_search_postings WHERE tenant_id = ");
            query.push_bind(tenant.uuid()).push(" AND segment = ").push_bind(segment).push(" AND term IN (");
            let mut list = query.separated(", ");
            for term in chunk {
                list.push_bind(*term);
            }
            query.push(")");
            query.build().execute(c).await.map(drop)
        })?;
    }
    Ok(())
}

/// Deletes a segment of deleted calls.
///
/// # Errors
/// When the database fails.
pub async fn delete_segment_for_housekeeping(tx: &mut Tx, expired: &Expired) -> Result<(), sqlx::Error> {
    const SQL: &str = "DELETE FROM call_search_segments WHERE tenant_id = $1 AND segment = $2";
    execute!(tx, SQL; expired.tenant.uuid(), expired.segment).map(drop)
}
