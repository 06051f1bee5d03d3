//! The growth of data on disk by an attack.

use std::fmt;

use crate::support::Place;
use crate::support::database::Database;

/// Begun before an attack.
pub(crate) struct Disk<'a> {
    place: &'a Place,
    database: Database,
    before: Bytes,
}

#[derive(Clone, Copy)]
struct Bytes {
    database: u64,
    /// Of the write-ahead log.
    log: u64,
}

impl<'a> Disk<'a> {
    pub(crate) async fn begin(place: &'a Place) -> anyhow::Result<Self> {
        let mut database = Database::open(&place.database_url()).await?;
        let before = Bytes::of(&mut database, place).await?;
        Ok(Self { place, database, before })
    }

    /// Bytes that the database has since grown by.
    pub(crate) async fn grown(&mut self) -> anyhow::Result<u64> {
        let now = Bytes::of(&mut self.database, self.place).await?;
        Ok(now.database.saturating_sub(self.before.database))
    }

    /// Returns a text with the current and the previous size.
    pub(crate) async fn compare(mut self) -> anyhow::Result<String> {
        let now = Bytes::of(&mut self.database, self.place).await?;
        Ok(format!("{now}, {} before", self.before))
    }
}

impl Bytes {
    async fn of(database: &mut Database, place: &Place) -> anyhow::Result<Self> {
        if matches!(database, Database::Sqlite(_)) {
            // Into the file, where it is counted. The log keeps the size that it once had.
            database.run("PRAGMA wal_checkpoint(PASSIVE)".to_owned()).await?;
        }
        let (database, log) = database.bytes(place).await?;
        Ok(Self { database, log })
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database {} and log {} bytes", self.database, self.log)
    }
}
