//! Database checks for `switchhook doctor`.

use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use uuid::Uuid;

use super::{Conn, Dialect, run};

/// The version of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The newest applied migration; 0 if none.
    pub version: i64,
    /// The newest migration that this program knows.
    pub newest: i64,
}

/// Returns the schema's version.
///
/// # Errors
/// When the database fails.
pub async fn schema(conn: &mut Conn) -> Result<Schema, sqlx::Error> {
    const SQL: &str = "SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations";
    const SQLITE: &str = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
    const POSTGRES: &str = "SELECT COUNT(*) FROM pg_tables WHERE tablename = '_sqlx_migrations' \
        AND schemaname = ANY (current_schemas(FALSE))";
    let (there, newest) = match conn.dialect() {
        Dialect::Sqlite => (SQLITE, newest_sqlite()),
        Dialect::Postgres => (POSTGRES, newest(&sqlx_macros::migrate!("migrations/postgres"))),
    };
    let there: i64 = run!(conn, query_scalar.fetch_one, there)?;
    let version = if there == 0 { 0 } else { run!(conn, query_scalar.fetch_one, SQL)? };
    Ok(Schema { version, newest })
}

/// The newest migration of SQLite that this program knows.
#[must_use]
pub fn newest_sqlite() -> i64 {
    newest(&sqlx_macros::migrate!("migrations/sqlite"))
}

fn newest(migrator: &sqlx::migrate::Migrator) -> i64 {
    migrator.iter().map(|migration| migration.version).max().unwrap_or(0)
}

/// Returns the database's time; `None` if it shares our clock.
///
/// # Errors
/// When the database fails.
pub async fn clock(conn: &mut Conn) -> Result<Option<Timestamp>, sqlx::Error> {
    const SQL: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)";
    if conn.dialect() == Dialect::Sqlite {
        return Ok(None);
    }
    let micros: i64 = run!(conn, query_scalar.fetch_one, SQL)?;
    Ok(Some(Timestamp::from_micros(micros)))
}

/// Returns the version of PostgreSQL.
///
/// # Errors
/// When the database fails, or is not PostgreSQL.
pub async fn postgres_version(conn: &mut Conn) -> Result<u32, sqlx::Error> {
    const SQL: &str = "SELECT CAST(current_setting('server_version_num') AS BIGINT) / 10000";
    let version: i64 = run!(conn, query_scalar.fetch_one, SQL)?;
    Ok(u32::try_from(version).unwrap_or_default())
}

/// Returns whether PostgreSQL itself, by a setting of the role, the database or the server, ends transactions that are left open.
///
/// # Errors
/// When the database fails.
pub async fn ends_idle_transactions(conn: &mut Conn) -> Result<bool, sqlx::Error> {
    // Without what this session has set.
    const SQL: &str = "SELECT reset_val FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'";
    let timeout: String = run!(conn, query_scalar.fetch_one, SQL)?;
    Ok(timeout != "0")
}

/// A disabled webhook endpoint.
#[derive(FromRow)]
pub struct Disabled {
    /// Its id.
    pub id: Uuid,
    /// Its URL; the path may contain secrets.
    pub url: String,
    /// The reason, if the service disabled it.
    pub disabled_reason: Option<String>,
    /// The tenant's name.
    pub tenant: String,
}

/// Returns the disabled webhook endpoints of active tenants.
///
/// # Errors
/// When the database fails.
pub async fn disabled_webhooks_for_operator(conn: &mut Conn) -> Result<Vec<Disabled>, sqlx::Error> {
    const SQL: &str = "SELECT webhooks.id, webhooks.url, webhooks.disabled_reason, tenants.name AS tenant FROM webhooks \
        JOIN tenants ON tenants.id = webhooks.tenant_id WHERE webhooks.enabled = FALSE AND tenants.active = TRUE \
        ORDER BY webhooks.id LIMIT 100";
    run!(conn, query_as.fetch_all, SQL)
}
