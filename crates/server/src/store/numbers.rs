//! Phone numbers of tenants, each on one carrier connection.

use sqlx::QueryBuilder;
use sqlx_macros::FromRow;
use switchhook_core::id::{ConnectionId, NumberId, TenantId};
use uuid::Uuid;

use super::page::{Page, PageRequest};
use super::{Conn, Tx, columns, execute, on, run};

/// A row of `numbers`. It has no `Debug`, which would print a phone number.
#[derive(Clone, FromRow)]
#[expect(missing_docs, reason = "the migration describes the columns")]
pub struct NumberRow {
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub number: String,
    pub label: Option<String>,
    pub connection_id: Uuid,
    /// The provider of its connection.
    pub provider: String,
    pub inbound_agent_id: Option<Uuid>,
    pub created_at: i64,
    pub updated_at: i64,
}

/// Selects numbers with their providers.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            columns!(numbers),
            ", (SELECT provider FROM connections WHERE connections.id = numbers.connection_id) AS provider \
             FROM numbers ",
            $rest
        )
    };
}

/// Inserts a new number.
///
/// # Errors
/// When the database fails; [`is_duplicate`](super::is_duplicate) if its connection already has it.
pub async fn insert(tx: &mut Tx, row: &NumberRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "INSERT INTO numbers \
        (id, tenant_id, number, label, connection_id, inbound_agent_id, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    execute!(tx, SQL;
        row.id, row.tenant_id, &row.number, &row.label, row.connection_id, row.inbound_agent_id, row.created_at,
        row.updated_at
    )
    .map(drop)
}

/// Updates the mutable columns of a number.
///
/// # Errors
/// Like [`insert`].
pub async fn update(tx: &mut Tx, row: &NumberRow) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE numbers SET number = $3, label = $4, connection_id = $5, inbound_agent_id = $6, \
        updated_at = $7 WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL;
        row.tenant_id, row.id, &row.number, &row.label, row.connection_id, row.inbound_agent_id, row.updated_at
    )
    .map(drop)
}

/// Returns a number.
///
/// # Errors
/// When the database fails.
pub async fn get(conn: &mut Conn, tenant: TenantId, id: NumberId) -> Result<Option<NumberRow>, sqlx::Error> {
    const SQL: &str = select!("WHERE tenant_id = $1 AND id = $2");
    run!(conn, query_as.fetch_optional, SQL; tenant.uuid(), id.uuid())
}

/// Returns the tenant's rows of a phone number, one per connection that has it.
///
/// # Errors
/// When the database fails.
pub async fn by_number(conn: &mut Conn, tenant: TenantId, number: &str) -> Result<Vec<NumberRow>, sqlx::Error> {
    const SQL: &str = select!("WHERE tenant_id = $1 AND number = $2 ORDER BY id");
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), number)
}

/// Returns the called number of a connection for its carrier, which is authorised by the token in its URL.
///
/// # Errors
/// When the database fails.
pub async fn of_connection(
    conn: &mut Conn,
    connection: ConnectionId,
    number: &str,
) -> Result<Option<NumberRow>, sqlx::Error> {
    const SQL: &str = select!("WHERE connection_id = $1 AND number = $2");
    run!(conn, query_as.fetch_optional, SQL; connection.uuid(), number)
}

/// Returns up to `limit` numbers of a connection, oldest first, for an operator.
///
/// # Errors
/// When the database fails.
pub async fn list_of_connection(
    conn: &mut Conn,
    connection: ConnectionId,
    limit: i64,
) -> Result<Vec<NumberRow>, sqlx::Error> {
    const SQL: &str = select!("WHERE connection_id = $1 ORDER BY id LIMIT $2");
    run!(conn, query_as.fetch_all, SQL; connection.uuid(), limit)
}

/// Returns up to `limit` of a tenant's numbers on connections of these `providers`, oldest first.
///
/// # Errors
/// When the database fails.
pub async fn of_providers(
    conn: &mut Conn,
    tenant: TenantId,
    providers: &[&'static str],
    limit: i64,
) -> Result<Vec<NumberRow>, sqlx::Error> {
    on!(conn, |c| {
        let mut query = QueryBuilder::new(select!("WHERE tenant_id = "));
        query.push_bind(tenant.uuid()).push(" AND connection_id IN (SELECT id FROM connections WHERE tenant_id = ");
        query.push_bind(tenant.uuid()).push(" AND provider IN (");
        let mut list = query.separated(", ");
        for provider in providers {
            list.push_bind(*provider);
        }
        query.push(")) ORDER BY id LIMIT ").push_bind(limit);
        query.build_query_as().fetch_all(c).await
    })
}

/// Returns up to `limit` of a tenant's numbers whose calls no agent answers, oldest first.
///
/// # Errors
/// When the database fails.
pub async fn without_agent(conn: &mut Conn, tenant: TenantId, limit: i64) -> Result<Vec<NumberRow>, sqlx::Error> {
    const SQL: &str = select!("WHERE tenant_id = $1 AND inbound_agent_id IS NULL ORDER BY id LIMIT $2");
    run!(conn, query_as.fetch_all, SQL; tenant.uuid(), limit)
}

/// Returns a page of a tenant's numbers, newest first.
///
/// # Errors
/// When the database fails.
pub async fn list(conn: &mut Conn, tenant: TenantId, page: PageRequest) -> Result<Page<NumberRow>, sqlx::Error> {
    const SQL: &str = select!("WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
    let rows = run!(conn, query_as.fetch_all, SQL; tenant.uuid(), page.before(), page.limit + 1)?;
    Ok(Page::from_rows(rows, page.limit, |row: &NumberRow| row.id))
}

/// Deletes a number. Returns whether it existed.
///
/// # Errors
/// When the database fails.
pub async fn delete(tx: &mut Tx, tenant: TenantId, id: NumberId) -> Result<bool, sqlx::Error> {
    const SQL: &str = "DELETE FROM numbers WHERE tenant_id = $1 AND id = $2";
    execute!(tx, SQL; tenant.uuid(), id.uuid()).map(|rows| rows > 0)
}
