//! The columns with sealed secrets.

use sqlx::AssertSqlSafe;
use sqlx_macros::FromRow;
use uuid::Uuid;

use super::{Conn, Tx, execute, run};

/// A column of sealed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The table; it has the columns `id` and `tenant_id`.
    pub table: &'static str,
    /// The column; NULL if nothing is sealed.
    pub name: &'static str,
    kind: &'static str,
}

/// Credentials of connections.
pub const CREDENTIALS: Column = Column { table: "connections", name: "credentials", kind: "connection" };
/// Signing secrets of webhook endpoints.
pub const SECRET: Column = Column { table: "webhooks", name: "secret", kind: "webhook" };
/// Previous signing secrets, which still sign.
pub const PREVIOUS_SECRET: Column = Column { name: "previous_secret", ..SECRET };

/// Signing secrets before those, which still sign.
pub const EARLIER_SECRET: Column = Column { name: "earlier_secret", ..SECRET };

/// All columns. A column missing here becomes unreadable when its master key is forgotten.
pub const COLUMNS: [Column; 4] = [CREDENTIALS, SECRET, PREVIOUS_SECRET, EARLIER_SECRET];

/// A sealed record in a row.
#[derive(FromRow)]
pub struct Record {
    /// The row's id.
    pub id: Uuid,
    /// Its tenant.
    pub tenant_id: Uuid,
    /// The record.
    pub sealed: Vec<u8>,
}

impl Column {
    /// Returns the sealing context; a record opens only in its own row.
    #[must_use]
    pub fn context(&self, tenant: Uuid, id: Uuid) -> String {
        format!("{}/{tenant}/{id}", self.kind)
    }
}

/// Counts the records.
///
/// # Errors
/// When the database fails.
pub async fn count_for_operator(conn: &mut Conn, column: Column) -> Result<i64, sqlx::Error> {
    let Column { table, name, .. } = column;
    let sql = format!("SELECT COUNT({name}) FROM {table}");
    run!(conn, query_scalar.fetch_one, AssertSqlSafe(sql))
}

/// Returns the next records after row `after`, by id.
///
/// # Errors
/// When the database fails.
pub async fn page_for_operator(
    conn: &mut Conn,
    column: Column,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Record>, sqlx::Error> {
    let Column { table, name, .. } = column;
    let sql = format!(
        "SELECT id, tenant_id, {name} AS sealed FROM {table} WHERE id > $1 AND {name} IS NOT NULL ORDER BY id LIMIT $2"
    );
    run!(conn, query_as.fetch_all, AssertSqlSafe(sql); after, limit)
}

/// Replaces `record` by `sealed`, if it is unchanged. Returns whether it was.
///
/// # Errors
/// When the database fails.
pub async fn replace_for_operator(
    tx: &mut Tx,
    column: Column,
    record: &Record,
    sealed: &[u8],
) -> Result<bool, sqlx::Error> {
    let Column { table, name, .. } = column;
    let sql = format!("UPDATE {table} SET {name} = $3 WHERE id = $1 AND {name} = $2");
    execute!(tx, AssertSqlSafe(sql); record.id, &record.sealed, sealed).map(|rows| rows > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Byte columns that hold no secret, or one that cannot be recovered: a hash.
    const PLAIN: [(&str, &str); 10] = [
        ("api_keys", "hash"),
        ("sessions", "hash"),
        ("used_sign_ins", "hash"),
        ("people", "invitation"),
        ("deliveries", "body"),
        ("idempotency_keys", "fingerprint"),
        ("idempotency_keys", "body"),
        ("call_inputs", "log"),
        ("call_search_segments", "ids"),
        ("call_search_postings", "positions"),
    ];

    /// Table, column and the rest of the line, of every column of bytes that a migration makes. PostgreSQL's, since ids are bytes
    /// on SQLite; another test has both engines the same.
    fn columns_of_bytes(sql: &str) -> Vec<(String, String, String)> {
        let mut table = String::new();
        let mut found = Vec::new();
        for line in sql.lines() {
            let mut words = line.split_whitespace().filter(|word| !["ADD", "COLUMN"].contains(word)).peekable();
            if words.next_if(|word| ["CREATE", "ALTER"].contains(word)).is_some() && words.next() == Some("TABLE") {
                table = words.next().unwrap_or_default().to_owned();
            }
            let words: Vec<_> = words.collect();
            if let [column, kind, rest @ ..] = words.as_slice()
                && kind.trim_end_matches([',', ';']) == "BYTEA"
            {
                found.push((table.clone(), (*column).to_owned(), rest.join(" ")));
            }
        }
        found
    }

    #[test]
    fn every_column_of_bytes_in_the_schema_is_resealed_or_known_to_hold_no_secret() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres");
        let files = std::fs::read_dir(folder).expect("the migrations").map(|entry| entry.expect("a file").path());
        let columns: Vec<_> =
            files.flat_map(|file| columns_of_bytes(&std::fs::read_to_string(file).expect("text"))).collect();
        for (table, name, rest) in &columns {
            let sealed = COLUMNS.iter().any(|column| (column.table, column.name) == (table, name));
            let plain = PLAIN.contains(&(table, name));
            assert!(sealed != plain, "{table}.{name} belongs into COLUMNS, when it is sealed, or into PLAIN");
            assert_eq!(sealed, rest.contains("sealed"), "{table}.{name}: {rest}");
        }
        assert_eq!(columns.len(), COLUMNS.len() + PLAIN.len(), "all of both lists are in the schema");
    }
}
