//! Remembers what errors of PostgreSQL say about later work and a look at the server does not show: on a full disk most writes succeed, because
//! pages have room, and a connection answers although its prepared statements are outdated.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::Error;
use sqlx::postgres::{PgDatabaseError, PgPool};
use tokio::time::Instant;

/// How long a full disk counts as full without another look.
const FULL_FOR: Duration = Duration::from_secs(5);
/// Makes PostgreSQL write a temporary file of a few hundred kB where the tables are. It is gone with the statement.
const SPILL: &str =
    "SET LOCAL work_mem = '64kB'; SET LOCAL temp_tablespaces = ''; SELECT count(*) FROM generate_series(1, 20000)";
/// The state of an operator's limit on temporary files (`configuration_limit_exceeded`).
const LIMITED: &str = "53400";

/// A condition of PostgreSQL that outlasts the error which reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// The disk is full.
    FullDisk,
    /// Statements that the connection has prepared are of an earlier schema, or a pooler has lost them.
    OutdatedStatements,
}

impl Symptom {
    /// Returns the symptom in an error.
    #[must_use]
    pub fn of(error: &Error) -> Option<Self> {
        let Error::Database(error) = error else { return None };
        Self::of_postgres(error.try_downcast_ref::<PgDatabaseError>()?)
    }

    pub(super) fn of_postgres(error: &PgDatabaseError) -> Option<Self> {
        Self::of_state(error.code(), error.routine())
    }

    /// The state of a changed result is that of every feature which PostgreSQL lacks. A pooler that does not know which statements a connection has
    /// prepared answers that one does not exist, or exists already.
    fn of_state(state: &str, routine: Option<&str>) -> Option<Self> {
        match state {
            "53100" => Some(Self::FullDisk),
            "0A000" if routine == Some("RevalidateCachedQuery") => Some(Self::OutdatedStatements),
            "26000" | "42P05" => Some(Self::OutdatedStatements),
            _ => None,
        }
    }
}

/// When each symptom was last seen. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Symptoms(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    full_disk: Option<Instant>,
    outdated_statements: Option<Instant>,
}

impl Symptoms {
    pub(super) fn note(&self, symptom: Symptom) {
        let now = Some(Instant::now());
        match symptom {
            Symptom::FullDisk => self.seen().full_disk = now,
            Symptom::OutdatedStatements => self.seen().outdated_statements = now,
        }
    }

    /// Returns whether a connection that is as old as this may have outdated statements.
    pub(super) fn is_outdated(&self, age: Duration) -> bool {
        self.seen().outdated_statements.is_some_and(|at| at.elapsed() <= age)
    }

    /// Checks that the disk has room, where it was full.
    ///
    /// # Errors
    /// If it is full, or the database fails.
    pub(super) async fn check_disk(&self, pool: &PgPool) -> Result<(), Error> {
        let full_at = self.seen().full_disk;
        let Some(at) = full_at else { return Ok(()) };
        if at.elapsed() < FULL_FOR {
            return Err(Error::Io(ErrorKind::StorageFull.into()));
        }
        match spill(pool).await {
            Err(error) if is_limited(&error) => {} // Only the next write can tell.
            Err(error) => {
                if let Some(symptom) = Symptom::of(&error) {
                    self.note(symptom);
                }
                return Err(error);
            }
            Ok(()) => {}
        }
        let mut seen = self.seen();
        // Another write may have been refused meanwhile.
        if seen.full_disk == full_at {
            seen.full_disk = None;
        }
        Ok(())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn spill(pool: &PgPool) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    sqlx::raw_sql(SPILL).execute(&mut *tx).await?;
    tx.rollback().await
}

fn is_limited(error: &Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|state| state == LIMITED)
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, PgConnection};

    use super::*;
    use crate::store::{testing, why_unwritable};

    #[test]
    fn outdated_statements_are_told_from_other_errors() {
        for (state, routine, expected) in [
            ("53100", Some("mdextend"), Some(Symptom::FullDisk)),
            ("53200", Some("mdextend"), None),
            ("0A000", Some("RevalidateCachedQuery"), Some(Symptom::OutdatedStatements)),
            ("26000", Some("FetchPreparedStatement"), Some(Symptom::OutdatedStatements)),
            ("42P05", None, Some(Symptom::OutdatedStatements)),
            ("0A000", Some("transformLockingClause"), None),
            ("0A000", None, None),
        ] {
            assert_eq!(Symptom::of_state(state, routine), expected, "{state} {routine:?}");
        }
    }

    #[tokio::test]
    async fn a_full_disk_counts_as_full_until_a_file_can_be_written() {
        let Some(url) = testing::new_postgres().await else { return };
        let pool = PgPool::connect(&url).await.expect("a database");
        let symptoms = Symptoms::default();
        symptoms.check_disk(&pool).await.expect("it was never full");
        symptoms.note(Symptom::FullDisk);
        let full = symptoms.check_disk(&pool).await.expect_err("it was full a moment ago");
        assert_eq!(why_unwritable(&full), Some("its disk is full"));
        symptoms.seen().full_disk = Some(Instant::now() - FULL_FOR);
        symptoms.check_disk(&pool).await.expect("it has room");
        assert_eq!(symptoms.seen().full_disk, None);
    }

    #[tokio::test]
    async fn the_look_at_the_disk_writes_a_file_and_respects_a_limit_on_them() {
        const LIMIT: &str =
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET temp_file_limit = 0', current_database()); END $$";
        let Some(url) = testing::new_postgres().await else { return };
        let mut connection = PgConnection::connect(&url).await.expect("a database");
        sqlx::raw_sql(LIMIT).execute(&mut connection).await.expect("limited");
        let pool = PgPool::connect(&url).await.expect("a database");
        let refused = spill(&pool).await.expect_err("no file may be written");
        assert!(is_limited(&refused), "{refused}");
        let symptoms = Symptoms::default();
        symptoms.seen().full_disk = Some(Instant::now() - FULL_FOR);
        symptoms.check_disk(&pool).await.expect("the next write tells");
    }
}
