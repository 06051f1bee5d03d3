//! SQLite files that a stranger may have made or damaged.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteConnectOptions;

/// What SQLite would run when the service reads or writes: all but tables, indexes and other views than those in place of the tables in `?1`.
/// Definitions always begin with these words. At most five are named, with the first part of their names.
const PROGRAMS: &str = "SELECT CASE WHEN sql LIKE 'CREATE VIRTUAL %' THEN 'virtual table' \
    WHEN sql LIKE 'CREATE VIEW %' THEN 'view' WHEN sql LIKE 'CREATE TRIGGER %' THEN 'trigger' ELSE 'definition' END, \
    SUBSTR(COALESCE(name, ''), 1, 80) FROM sqlite_master \
    WHERE sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %' \
    AND NOT (sql LIKE 'CREATE VIEW %' AND LOWER(name) NOT IN (SELECT value FROM json_each(?1))) LIMIT 5";
/// Columns that are computed at each read. This statement would start virtual tables, so it comes second.
const GENERATED: &str = "SELECT 'generated column', SUBSTR(c.name, 1, 80) FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c \
    WHERE m.type = 'table' AND c.hidden IN (2, 3) AND LOWER(m.name) IN (SELECT value FROM json_each(?1)) LIMIT 5";

/// The error of a file that would run statements of others.
#[derive(Debug, thiserror::Error)]
#[error(
    "the database file {path} contains what Switchhook never creates and SQLite would run: {found}. Use a file that the service wrote, such as \
     one of its backups; if you added these yourself, drop them with sqlite3 first"
)]
pub struct ForeignPrograms {
    path: String,
    found: String,
}

/// Returns the options of every connection to a file: definitions in it may call only functions without side effects, and damaged pages are
/// found before they are used.
pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).pragma("trusted_schema", "OFF").pragma("cell_size_check", "ON")
}

/// Checks that a file has nothing that acts when the service writes or reads. The migrations create no triggers, views or virtual tables; other
/// views, such as those of reports, act only for those who read them.
///
/// # Errors
/// [`ForeignPrograms`], or if the file cannot be read.
pub(super) async fn check(connection: &mut SqliteConnection, path: &Path) -> anyhow::Result<()> {
    let ours = our_names();
    for sql in [PROGRAMS, GENERATED] {
        let found: Result<Vec<(String, String)>, _> = sqlx::query_as(sql).bind(&ours).fetch_all(&mut *connection).await;
        let found =
            found.with_context(|| format!("could not read the schema of the database file {}", path.display()))?;
        if !found.is_empty() {
            let found: Vec<_> = found.into_iter().map(|(kind, name)| format!("{kind} {name}")).collect();
            return Err(ForeignPrograms { path: path.display().to_string(), found: found.join(", ") }.into());
        }
    }
    Ok(())
}

/// Returns the names of our tables, as a JSON array: those that a migration creates or renames a table to, and that of the migrations.
fn our_names() -> String {
    let migrations = sqlx_macros::migrate!("migrations/sqlite");
    let names = migrations.iter().flat_map(|migration| {
        let words: Vec<String> = migration.sql.as_str().split_whitespace().map(str::to_lowercase).collect();
        let named =
            words.windows(3).filter(|words| matches!((&*words[0], &*words[1]), ("create", "table") | ("rename", "to")));
        named.map(|words| words[2].trim_end_matches(['(', ';']).to_owned()).collect::<Vec<_>>()
    });
    serde_json::json!(names.chain(["_sqlx_migrations".to_owned()]).collect::<BTreeSet<_>>()).to_string()
}

#[cfg(test)]
mod tests {
    use sqlx::{ConnectOptions as _, Connection as _};

    use super::*;
    use crate::store::{Store, run};

    /// Statements, and what is said of the file with them.
    const TABLE: [(&str, &str); 6] = [
        ("CREATE TRIGGER spy AFTER INSERT ON tenants BEGIN DELETE FROM api_keys; END", "trigger spy"),
        ("ALTER TABLE api_keys RENAME TO x; CREATE VIEW api_keys AS SELECT * FROM x", "view api_keys"),
        ("ALTER TABLE tenants ADD COLUMN b AS (hex(zeroblob(9)))", "generated column b"),
        ("CREATE VIRTUAL TABLE boxes USING rtree (id, low, high)", "virtual table boxes"),
        ("CREATE VIEW usage AS SELECT * FROM calls; CREATE TABLE report (a, b AS (a + 1))", ""),
        ("CREATE TABLE notes (a); CREATE INDEX mine ON notes (a); ANALYZE", ""),
    ];

    #[tokio::test]
    async fn a_file_with_what_sqlite_would_run_is_refused() {
        for (statements, expected) in TABLE {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("a.db");
            let url = format!("sqlite://{}", path.display());
            Store::open(&url).await.expect("a new database").close().await;
            let options = SqliteConnectOptions::new().filename(&path);
            let mut stranger = options.connect().await.expect("the same file");
            sqlx::raw_sql(statements).execute(&mut stranger).await.expect("written");
            stranger.close().await.expect("closed");
            match Store::connect(&url).await {
                Ok(store) => {
                    assert_eq!(expected, "", "{statements}");
                    store.close().await;
                }
                Err(error) => {
                    assert!(error.is::<ForeignPrograms>(), "{error:#}");
                    assert!(!expected.is_empty() && error.to_string().contains(expected), "{error:#}");
                }
            }
        }
    }

    #[tokio::test]
    async fn definitions_call_no_functions_with_side_effects() {
        let folder = tempfile::tempdir().expect("a folder");
        let store =
            Store::open(&format!("sqlite://{}", folder.path().join("a.db").display())).await.expect("a database");
        let mut reader = store.read().await.expect("a connection");
        for (pragma, expected) in [("PRAGMA trusted_schema", 0), ("PRAGMA cell_size_check", 1)] {
            let set: i64 = run!(reader, query_scalar.fetch_one, pragma).expect("a number");
            assert_eq!(set, expected, "{pragma}");
        }
    }
}
