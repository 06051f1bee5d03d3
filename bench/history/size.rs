//! The disk space that history takes.

use crate::support::Place;
use crate::support::database::Database;

/// The number of tables and indexes that are reported.
const LARGEST: usize = 16;

pub(crate) struct Size {
    pub(crate) bytes: u64,
    /// Tables and indexes, with their bytes.
    pub(crate) largest: Vec<(String, i64)>,
}

/// Bytes of the whole database.
pub(crate) async fn bytes(place: &Place) -> anyhow::Result<u64> {
    Ok(Database::open(&place.database_url()).await?.bytes(place).await?.0)
}

/// Returns the size of the database and of its largest parts; no other client may use it meanwhile.
pub(crate) async fn look(place: &Place) -> anyhow::Result<Size> {
    let mut database = Database::open(&place.database_url()).await?;
    let sql = match &database {
        Database::Sqlite(_) => {
            "SELECT name, CAST(SUM(pgsize) AS BIGINT) AS bytes FROM dbstat WHERE aggregate = TRUE GROUP BY name ORDER BY bytes DESC"
        }
        Database::Postgres(_) => {
            "SELECT CAST(relname AS TEXT), CASE relkind WHEN 'r' THEN pg_table_size(oid) ELSE pg_relation_size(oid) END AS bytes \
             FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace ORDER BY bytes DESC"
        }
    };
    let mut largest = database.numbers(sql.to_owned()).await?;
    largest.truncate(LARGEST);
    Ok(Size { bytes: database.bytes(place).await?.0, largest })
}
