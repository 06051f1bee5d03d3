//! The search index: an inverted index over ended calls, for lists with filters.
//!
//! A filter's field and value are a *term*. When a tenant has enough ended calls outside the index, they become a *segment*, which
//! lists their ids in ascending order. A *posting* holds the positions of a segment's calls that have a term. Several filters
//! intersect small bitmaps, however many calls each matches alone, so a list costs about the same when it finds nothing. Segments
//! never change; they are deleted when all their calls are.

mod positions;
mod segments;

use std::collections::HashMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::id::TenantId;
use uuid::Uuid;

pub(in crate::store) use self::segments::add;
pub(in crate::store) use self::segments::delete_postings;
pub use self::segments::{
    Expired, SEGMENT, delete_segment_for_housekeeping, expired_segment_for_housekeeping, forget_for_housekeeping,
    pending_for_housekeeping, seal_for_housekeeping, tenants_to_index_for_housekeeping,
    tenants_with_ends_for_housekeeping,
};

use self::positions::Positions;
use super::Filter;
use crate::store::page::PageRequest;
use crate::store::{Conn, on, run};

/// Up to this many segments, postings are queried per segment rather than all together.
const FEW: usize = 64;

/// Hashes a field's value. Searches compare the value itself afterwards.
pub(super) fn term(field: &str, value: &[u8]) -> i64 {
    hash(&[field.as_bytes(), value])
}

/// Like [`term`], for metadata.
pub(super) fn metadata_term(key: &str, value: &str) -> i64 {
    hash(&[b"metadata", key.as_bytes(), value.as_bytes()])
}

/// Returns metadata as text for comparison: strings as they are, numbers, true and false as written.
pub(super) fn metadata_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn hash(parts: &[&[u8]]) -> i64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    i64::from_le_bytes(first)
}

/// A segment that may contain calls of a page.
#[derive(FromRow)]
struct Segment {
    segment: i64,
    last_id: Uuid,
}

/// Returns the ids of the newest calls in segments that `filter` probably matches, newest first; `terms` are its terms.
///
/// # Errors
/// When the database fails.
pub(super) async fn find(
    conn: &mut Conn,
    tenant: TenantId,
    filter: &Filter,
    terms: &[Vec<i64>],
    page: PageRequest,
) -> Result<Vec<Uuid>, sqlx::Error> {
    let (first, last) = filter.range(page.cursor);
    let Some(matched) = matched(conn, tenant, terms).await? else { return Ok(Vec::new()) };
    let wanted = usize::try_from(page.limit).unwrap_or(usize::MAX);
    let mut found: Vec<Uuid> = Vec::new();
    for segment in segments_between(conn, tenant, first, last).await? {
        // Segments overlap slightly, because calls do not end in the order of their creation.
        if found.get(wanted - 1).is_some_and(|oldest| *oldest > segment.last_id) {
            break;
        }
        if let Some(positions) = matched.get(&segment.segment) {
            let ids = segments::ids(conn, tenant, segment.segment).await?;
            found.extend(positions.of(&ids).filter(|id| (first..=last).contains(id)));
            found.sort_unstable_by(|a, b| b.cmp(a));
            found.truncate(wanted);
        }
    }
    Ok(found)
}

/// Returns the positions of calls with a term of each of `terms`, by segment.
async fn matched(
    conn: &mut Conn,
    tenant: TenantId,
    terms: &[Vec<i64>],
) -> Result<Option<HashMap<i64, Positions>>, sqlx::Error> {
    let mut matched: Option<HashMap<i64, Positions>> = None;
    for any_of in terms {
        let among: Vec<i64> = match &matched {
            Some(before) if before.len() <= FEW => before.keys().copied().collect(),
            _ => Vec::new(),
        };
        let mut here: HashMap<i64, Positions> = HashMap::new();
        for (segment, positions) in postings(conn, tenant, any_of, &among).await? {
            here.entry(segment).or_default().add(&positions);
        }
        if let Some(before) = &matched {
            here.retain(|segment, positions| before.get(segment).is_some_and(|before| positions.keep(before)));
        }
        if here.is_empty() {
            return Ok(None);
        }
        matched = Some(here);
    }
    Ok(matched)
}

/// Returns the postings of some terms, in all segments or `among` some.
async fn postings(
    conn: &mut Conn,
    tenant: TenantId,
    terms: &[i64],
    among: &[i64],
) -> Result<Vec<(i64, Positions)>, sqlx::Error> {
    let rows: Vec<(i64, Vec<u8>)> = on!(conn, |c| {
        let mut query = QueryBuilder::new("SELECT segment, positions FROM call_search_postings WHERE tenant_id = ");
        query.push_bind(tenant.uuid());
        for (column, values) in [("term", terms), ("segment", among)] {
            if !values.is_empty() {
                query.push(format!(" AND {column} IN ("));
                let mut list = query.separated(", ");
                for value in values {
                    list.push_bind(*value);
                }
                query.push(")");
            }
        }
        query.build_query_as().fetch_all(c).await
    })?;
    Ok(rows.into_iter().map(|(segment, positions)| (segment, Positions::read(&positions))).collect())
}

/// Returns the segments with calls between two ids, newest first.
async fn segments_between(
    conn: &mut Conn,
    tenant: TenantId,
    first: Uuid,
    last: Uuid,
) -> Result<Vec<Segment>, sqlx::Error> {
    const SQL: &str = "SELECT segment, last_id FROM call_search_segments \
        WHERE tenant_id = $1 AND last_id >= $2 AND first_id <= $3 ORDER BY last_id DESC";
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), first, last)
}
