//! Lists of a tenant's calls.
//!
//! A list without filters is a page of the index over all calls. With filters, calls are in three places: live calls and recently
//! ended ones are few and filtered row by row; all others are in the segments of the [search index](super::search).

use std::collections::HashMap;

use sqlx::{Database, Encode, QueryBuilder, Type};
use switchhook_core::Timestamp;
use switchhook_core::id::{CallId, TenantId};
use uuid::Uuid;

use super::{CallRow, search};
use crate::store::page::{PAGE_BYTES, Page, PageRequest, fitting};
use crate::store::{Conn, Dialect, columns, on, push_ids};

/// The filters of a list; every filter that is set must match.
#[derive(Clone, Default)]
pub struct Filter {
    /// Any of these, as in all lists here.
    pub status: Vec<String>,
    /// `inbound` or `outbound`.
    pub direction: Vec<String>,
    /// Agents.
    pub agent: Vec<Uuid>,
    /// The tenant's numbers.
    pub number: Vec<Uuid>,
    /// Callees.
    pub to: Vec<String>,
    /// Callers.
    pub from: Vec<String>,
    /// Error codes.
    pub error_code: Vec<String>,
    /// End reasons.
    pub end_reason: Vec<String>,
    /// Created at or after this time.
    pub created_after: Option<Timestamp>,
    /// Created before this time.
    pub created_before: Option<Timestamp>,
    /// Required metadata, as text.
    pub metadata: Vec<(String, String)>,
}

impl Filter {
    /// Returns the columns with required texts.
    fn words(&self) -> [(&'static str, &Vec<String>); 6] {
        [
            ("to_number", &self.to),
            ("from_number", &self.from),
            ("error_code", &self.error_code),
            ("end_reason", &self.end_reason),
            ("status", &self.status),
            ("direction", &self.direction),
        ]
    }

    /// Returns the columns with required ids.
    fn ids(&self) -> [(&'static str, &Vec<Uuid>); 2] {
        [("number_id", &self.number), ("agent_id", &self.agent)]
    }

    /// Returns the query for the search index: every part must match with any of its terms. Rare terms come first.
    pub(super) fn terms(&self) -> Vec<Vec<i64>> {
        let metadata = self.metadata.iter().map(|(key, value)| vec![search::metadata_term(key, value)]);
        let ids = self.ids().map(|(column, ids)| ids.iter().map(|id| search::term(column, id.as_bytes())).collect());
        let words = self
            .words()
            .map(|(column, words)| words.iter().map(|word| search::term(column, word.as_bytes())).collect());
        metadata.chain(ids).chain(words).filter(|terms: &Vec<i64>| !terms.is_empty()).collect()
    }

    /// Checks a result of the search index again: terms are hashes, and ids are only exact to the millisecond.
    pub(super) fn matches(&self, row: &CallRow) -> bool {
        let word = |column: &str| match column {
            "to_number" => Some(&row.to_number),
            "from_number" => Some(&row.from_number),
            "error_code" => row.error_code.as_ref(),
            "end_reason" => row.end_reason.as_ref(),
            "status" => Some(&row.status),
            _ => Some(&row.direction),
        };
        let any = |words: &Vec<String>, word: Option<&String>| {
            words.is_empty() || word.is_some_and(|word| words.contains(word))
        };
        let created = Timestamp::from_micros(row.created_at);
        self.words().into_iter().all(|(column, words)| any(words, word(column)))
            && (self.agent.is_empty() || self.agent.contains(&row.agent_id))
            && (self.number.is_empty() || row.number_id.is_some_and(|id| self.number.contains(&id)))
            && self.created_after.is_none_or(|at| created >= at)
            && self.created_before.is_none_or(|at| created < at)
            && self.metadata.iter().all(|(key, value)| {
                row.request.metadata.get(key).and_then(search::metadata_text).is_some_and(|text| text == *value)
            })
    }

    /// Returns the range of ids of a page: an id starts with its creation time.
    pub(super) fn range(&self, cursor: Option<Uuid>) -> (Uuid, Uuid) {
        let lowest = self.created_after.map_or(Uuid::nil(), |at| CallId::new(at, [0; 10]).uuid());
        let highest = self.created_before.map_or(Uuid::max(), |at| CallId::new(at, [u8::MAX; 10]).uuid());
        let before = cursor.map_or(Uuid::max(), |id| Uuid::from_u128(id.as_u128().saturating_sub(1)));
        (lowest, highest.min(before))
    }
}

/// Returns a page of a tenant's calls, newest first. Large calls make it shorter than `limit`.
///
/// # Errors
/// When the database fails.
pub async fn list(
    conn: &mut Conn,
    tenant: TenantId,
    filter: &Filter,
    PageRequest { limit, cursor }: PageRequest,
) -> Result<Page<CallRow>, sqlx::Error> {
    let terms = filter.terms();
    let (mut rows, mut next, mut left) = (Vec::new(), cursor, PAGE_BYTES);
    loop {
        let wanted = limit - i64::try_from(rows.len()).unwrap_or(limit);
        let page = PageRequest { limit: wanted + 1, cursor: next };
        let mut ids = ids(conn, tenant, filter, &terms, page).await?;
        let more = i64::try_from(ids.len()).is_ok_and(|found| found > wanted);
        ids.truncate(usize::try_from(wanted).unwrap_or(0));
        let sizes = sizes(conn, tenant, &ids).await?;
        let fit = fitting(sizes.iter().copied(), left).max(usize::from(rows.is_empty()));
        let full = fit < ids.len();
        ids.truncate(fit);
        left -= sizes.iter().take(fit).sum::<i64>();
        let found = by_ids(conn, tenant, &ids).await?;
        // Terms are hashes, ids are only exact to the millisecond, and a call may have changed since the search.
        rows.extend(found.into_iter().filter(|row| filter.matches(row)));
        next = ids.last().copied().or(next);
        if !more || full || i64::try_from(rows.len()).is_ok_and(|rows| rows >= limit) {
            return Ok(Page { rows, next: next.filter(|_| more || full) });
        }
    }
}

/// Returns the ids of the newest calls that `filter` probably matches.
async fn ids(
    conn: &mut Conn,
    tenant: TenantId,
    filter: &Filter,
    terms: &[Vec<i64>],
    page: PageRequest,
) -> Result<Vec<Uuid>, sqlx::Error> {
    if terms.is_empty() {
        return all(conn, tenant, filter, page).await;
    }
    // Calls move from live to recent to segments; querying in this order misses none.
    let mut ids = live_ones(conn, tenant, filter, page).await?;
    ids.extend(recent_ones(conn, tenant, filter, page).await?);
    ids.extend(search::find(conn, tenant, filter, terms, page).await?);
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.dedup();
    ids.truncate(usize::try_from(page.limit).unwrap_or(usize::MAX));
    Ok(ids)
}

/// A tenant condition that no index serves; PostgreSQL would otherwise read all calls of the tenant.
const OF_TENANT: &str = ") AND COALESCE(tenant_id = ";

/// Returns the sizes of calls in bytes, in the order of their ids.
async fn sizes(conn: &mut Conn, tenant: TenantId, ids: &[Uuid]) -> Result<Vec<i64>, sqlx::Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let sizes: Vec<(Uuid, i64)> = on!(conn, |c| {
        let mut query = QueryBuilder::new(
            "SELECT id, CAST(octet_length(CAST(request AS TEXT)) + COALESCE(octet_length(CAST(outcome AS TEXT)), 0) \
             + COALESCE(octet_length(summary), 0) + COALESCE(octet_length(error), 0) AS BIGINT) FROM calls WHERE id IN (",
        );
        push_ids(&mut query, ids.iter().copied());
        query.push(OF_TENANT).push_bind(tenant.uuid()).push(", FALSE)");
        query.build_query_as().fetch_all(c).await
    })?;
    let sizes: HashMap<Uuid, i64> = sizes.into_iter().collect();
    // A deleted call has no size.
    Ok(ids.iter().map(|id| sizes.get(id).copied().unwrap_or(0)).collect())
}

/// Returns the calls with these ids, newest first.
async fn by_ids(conn: &mut Conn, tenant: TenantId, ids: &[Uuid]) -> Result<Vec<CallRow>, sqlx::Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows: Vec<CallRow> = on!(conn, |c| {
        let mut query = QueryBuilder::new(concat!("SELECT ", columns!(calls), " FROM calls WHERE id IN ("));
        push_ids(&mut query, ids.iter().copied());
        query.push(OF_TENANT).push_bind(tenant.uuid()).push(", FALSE)");
        query.build_query_as().fetch_all(c).await
    })?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    Ok(rows)
}

async fn all(conn: &mut Conn, tenant: TenantId, filter: &Filter, page: PageRequest) -> Result<Vec<Uuid>, sqlx::Error> {
    let (first, last) = filter.range(page.cursor);
    on!(conn, |c| {
        let mut query = QueryBuilder::new("SELECT id FROM calls WHERE tenant_id = ");
        query.push_bind(tenant.uuid());
        query.push(" AND id >= ").push_bind(first).push(" AND id <= ").push_bind(last);
        push_creation(&mut query, filter);
        query.push(" ORDER BY id DESC LIMIT ").push_bind(page.limit);
        query.build_query_scalar().fetch_all(c).await
    })
}

async fn live_ones(
    conn: &mut Conn,
    tenant: TenantId,
    filter: &Filter,
    page: PageRequest,
) -> Result<Vec<Uuid>, sqlx::Error> {
    let (first, last) = filter.range(page.cursor);
    let dialect = conn.dialect();
    on!(conn, |c| {
        let mut query = QueryBuilder::new(concat!("SELECT id FROM calls WHERE ", live!(), " AND tenant_id = "));
        query.push_bind(tenant.uuid());
        // The order of `calls_live_by_tenant`, which no other index of PostgreSQL's has: it would otherwise look for the live ones among
        // everybody's, newest first.
        match dialect {
            Dialect::Sqlite => {
                query.push(" AND id >= ").push_bind(first).push(" AND id <= ").push_bind(last);
            }
            Dialect::Postgres => {
                query.push(" AND uuid_send(id) >= ").push_bind(first.as_bytes().to_vec());
                query.push(" AND uuid_send(id) <= ").push_bind(last.as_bytes().to_vec());
            }
        }
        push_conditions(&mut query, dialect, filter);
        let order = if dialect == Dialect::Postgres { "uuid_send(id)" } else { "id" };
        query.push(format!(" ORDER BY {order} DESC LIMIT ")).push_bind(page.limit);
        query.build_query_scalar().fetch_all(c).await
    })
}

/// Returns ended calls that are in no segment yet.
async fn recent_ones(
    conn: &mut Conn,
    tenant: TenantId,
    filter: &Filter,
    page: PageRequest,
) -> Result<Vec<Uuid>, sqlx::Error> {
    let (first, last) = filter.range(page.cursor);
    let dialect = conn.dialect();
    on!(conn, |c| {
        let (beginning, end) = match dialect {
            // CROSS JOIN fixes SQLite's join order.
            Dialect::Sqlite => ("pending CROSS JOIN calls WHERE calls.id = pending.call_id", ""),
            // Without statistics PostgreSQL would join by reading all calls.
            Dialect::Postgres => ("calls WHERE calls.id = ANY (ARRAY (SELECT call_id FROM pending", "))"),
        };
        let mut query =
            QueryBuilder::new("WITH pending AS (SELECT call_id FROM call_search_pending WHERE tenant_id = ");
        query.push_bind(tenant.uuid());
        query.push(" AND call_id >= ").push_bind(first).push(" AND call_id <= ").push_bind(last);
        query.push(") SELECT calls.id FROM ").push(beginning).push(end);
        push_conditions(&mut query, dialect, filter);
        query.push(" ORDER BY calls.id DESC LIMIT ").push_bind(page.limit);
        query.build_query_scalar().fetch_all(c).await
    })
}

fn push_creation<DB>(query: &mut QueryBuilder<DB>, filter: &Filter)
where
    DB: Database,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
{
    if let Some(at) = filter.created_after {
        query.push(" AND created_at >= ").push_bind(at.as_micros());
    }
    if let Some(at) = filter.created_before {
        query.push(" AND created_at < ").push_bind(at.as_micros());
    }
}

fn push_conditions<DB>(query: &mut QueryBuilder<DB>, dialect: Dialect, filter: &Filter)
where
    DB: Database,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
    String: for<'q> Encode<'q, DB> + Type<DB>,
    Uuid: for<'q> Encode<'q, DB> + Type<DB>,
{
    // Numbers, true and false are compared as text.
    let (metadata, equals) = match dialect {
        Dialect::Sqlite => (
            "(SELECT CASE type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(atom AS TEXT) END \
              FROM json_each(request, '$.metadata') WHERE key = ",
            ") = ",
        ),
        Dialect::Postgres => ("request -> 'metadata' ->> (", ") = "),
    };
    push_creation(query, filter);
    for (column, words) in filter.words() {
        push_any(query, column, words);
    }
    for (column, ids) in filter.ids() {
        push_any(query, column, ids);
    }
    for (key, value) in &filter.metadata {
        query.push(" AND ").push(metadata).push_bind(key.clone()).push(equals).push_bind(value.clone());
    }
}

fn push_any<DB, T>(query: &mut QueryBuilder<DB>, column: &str, values: &[T])
where
    DB: Database,
    T: Clone + for<'q> Encode<'q, DB> + Type<DB>,
{
    if values.is_empty() {
        return;
    }
    query.push(format!(" AND {column} IN ("));
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind(value.clone());
    }
    query.push(")");
}
