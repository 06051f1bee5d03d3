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
/// The state of a full disk (`disk_full`).
const FULL: &str = "53100";
/// Part of the path of a temporary file, in a message of any language. A large sort may need more room than there is, while rows have
/// enough, and gives it back when it fails.
const TEMPORARY_FILE: &str = "pgsql_tmp";
/// The state of an operator's limit on temporary files (`configuration_limit_exceeded`).
const LIMITED: &str = "53400";

/// A condition of PostgreSQL that outlasts the error which reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symptom {
    /// The disk is full for what is written to stay.
    FullDisk,
    /// The server does not have the statements that the connection has prepared: they are of an earlier schema, or a pooler lent other sessions.
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
        Self::of_state(error.code(), error.routine(), error.message())
    }

    /// The state of a changed result is that of every feature which PostgreSQL lacks.
    fn of_state(state: &str, routine: Option<&str>, message: &str) -> Option<Self> {
        match state {
            FULL if !message.contains(TEMPORARY_FILE) => Some(Self::FullDisk),
            "0A000" if routine == Some("RevalidateCachedQuery") => Some(Self::OutdatedStatements),
            // invalid_sql_statement_name, duplicate_prepared_statement
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

    /// Returns how long ago outdated statements were seen, if a connection that is as old as this may have some.
    pub(super) fn outdated(&self, age: Duration) -> Option<Duration> {
        self.seen().outdated_statements.map(|at| at.elapsed()).filter(|ago| *ago <= age)
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
            Err(error) if has_state(&error, LIMITED) => {} // Only the next write can tell.
            Err(error) if has_state(&error, FULL) => {
                // Not even this small file had room.
                self.note(Symptom::FullDisk);
                return Err(Error::Io(ErrorKind::StorageFull.into()));
            }
            Err(error) => return Err(error),
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

fn has_state(error: &Error, state: &str) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|found| found == state)
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, PgConnection};

    use super::*;
    use crate::store::{testing, why_unwritable};

    #[test]
    fn statements_are_outdated_when_their_result_has_changed_or_their_names_are_not_those_of_the_session() {
        let changed = "cached plan must not change result type";
        for (state, routine, message) in [
            ("0A000", Some("RevalidateCachedQuery"), changed),
            ("26000", Some("FetchPreparedStatement"), "prepared statement \"sqlx_s_1\" does not exist"),
            ("26000", None, "prepared statement did not exist"),
            ("42P05", Some("StorePreparedStatement"), "prepared statement \"sqlx_s_1\" already exists"),
        ] {
            let symptom = Symptom::of_state(state, routine, message);
            assert_eq!(symptom, Some(Symptom::OutdatedStatements), "{state} {message}");
        }
        for (state, routine) in [
            ("0A000", Some("transformLockingClause")),
            ("0A000", None),
            ("34000", Some("exec_execute_message")),
            ("42P03", Some("CreatePortal")),
        ] {
            assert_eq!(Symptom::of_state(state, routine, "no such thing"), None, "{state} {routine:?}");
        }
    }

    #[test]
    fn a_disk_is_full_when_what_is_to_stay_finds_no_room_and_not_when_a_temporary_file_does() {
        for message in [
            "could not extend file \"base/16384/16397\": No space left on device",
            "could not extend file \"base/16384/16397\": wrote only 4096 of 8192 bytes at block 7",
            "could not write to file \"pg_wal/xlogtemp.71\": No space left on device",
            "konnte Datei »base/16384/16397« nicht erweitern: Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
        ] {
            assert_eq!(Symptom::of_state(FULL, None, message), Some(Symptom::FullDisk), "{message}");
        }
        for message in [
            "could not write to file \"base/pgsql_tmp/pgsql_tmp71.0\": No space left on device",
            "could not write to file \"base/pgsql_tmp/pgsql_tmp71.0.fileset/0.0\": No space left on device",
            "could not write to file \"pg_tblspc/16500/PG_17_202406281/pgsql_tmp/pgsql_tmp71.3\": No space left on device",
            "konnte nicht in Datei »base/pgsql_tmp/pgsql_tmp71.0« schreiben: Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
        ] {
            assert_eq!(Symptom::of_state(FULL, None, message), None, "{message}");
        }
        assert_eq!(Symptom::of_state("53200", Some("mdextend"), "out of memory"), None);
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
        assert!(has_state(&refused, LIMITED), "{refused}");
        let symptoms = Symptoms::default();
        symptoms.seen().full_disk = Some(Instant::now() - FULL_FOR);
        symptoms.check_disk(&pool).await.expect("the next write tells");
    }
}
