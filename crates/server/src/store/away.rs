//! Defines when the database counts as unavailable.

use std::io::ErrorKind;
use std::sync::Arc;

use sqlx::Error;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

use super::sqlite::Displaced;
use super::symptoms::Symptom;

/// Returns whether the database is unavailable, starting, stopping, full, read-only or locked for too long, or does not have the statements that
/// were prepared: the same work may succeed later.
#[must_use]
pub fn is_unavailable(error: &Error) -> bool {
    match error {
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed => true,
        Error::Database(error) => error.code().is_some_and(|code| match error.try_downcast_ref::<PgDatabaseError>() {
            // After FATAL and PANIC the connection is gone, whatever the state says; poolers have states of their own.
            Some(error) => {
                is_state_of_postgres(&code)
                    || matches!(error.severity(), PgSeverity::Panic | PgSeverity::Fatal)
                    || Symptom::of_postgres(error).is_some()
            }
            None => code.parse().is_ok_and(is_code_of_sqlite),
        }),
        _ => false,
    }
}

/// Why the database can be read but not written, where the error says so.
#[must_use]
pub fn why_unwritable(error: &Error) -> Option<&'static str> {
    match error {
        Error::Database(error) => match error.try_downcast_ref::<PgDatabaseError>() {
            Some(error) => (Symptom::of_postgres(error) == Some(Symptom::FullDisk)).then_some(DISK_IS_FULL),
            None => unwritable(error.code()?.parse().ok()?),
        },
        Error::Io(error) if error.kind() == ErrorKind::StorageFull => Some(DISK_IS_FULL),
        // The error of a group's commit.
        Error::Io(error) if error.get_ref()?.is::<Displaced>() => {
            Some("its file was moved, replaced or deleted; restart the service")
        }
        Error::Io(error) => why_unwritable(error.get_ref()?.downcast_ref::<Arc<Error>>()?),
        _ => None,
    }
}

const DISK_IS_FULL: &str = "its disk is full";

/// SQLite's result codes. A quota, or a limit on the size of files, is reported as an error in writing.
fn unwritable(code: u32) -> Option<&'static str> {
    const READ_ONLY: u32 = 8;
    const FULL: u32 = 13;
    const IO_ERROR_WRITE: u32 = 10 | (3 << 8);
    match code {
        IO_ERROR_WRITE => Some("its file cannot grow"),
        _ if code & 0xff == FULL => Some(DISK_IS_FULL),
        _ if code & 0xff == READ_ONLY => Some("its file is read-only"),
        _ => None,
    }
}

/// PostgreSQL, appendix A of its manual: SQLSTATE by class, or in full where a class also has errors of ours.
fn is_state_of_postgres(state: &str) -> bool {
    // Connections (08), resources, among them the disk and connections (53), the operator's doings (57P), the system and poolers (58).
    const CLASSES: [&str; 4] = ["08", "53", "57P", "58"];
    const STATES: [&str; 7] = [
        "25006", // read_only_sql_transaction: a replica
        "25P03", // idle_in_transaction_session_timeout: this process was suspended for too long
        "40001", // serialization_failure
        "25P04", // transaction_timeout
        "40P01", // deadlock_detected
        "55P03", // lock_not_available: lock_timeout
        "57014", // query_canceled: statement_timeout
    ];
    CLASSES.iter().any(|class| state.starts_with(class)) || STATES.contains(&state)
}

/// SQLite's result codes. The upper bits say more of the same.
fn is_code_of_sqlite(code: u32) -> bool {
    const BUSY: u32 = 5;
    const READ_ONLY: u32 = 8;
    const IO_ERROR: u32 = 10;
    const FULL: u32 = 13;
    const CANNOT_OPEN: u32 = 14;
    // Locks were not granted in time, as on network file systems.
    const PROTOCOL: u32 = 15;
    matches!(code & 0xff, BUSY | READ_ONLY | IO_ERROR | FULL | CANNOT_OPEN | PROTOCOL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_protocol_and_the_pool_report_is_a_database_that_is_away() {
        for error in [
            Error::Io(std::io::ErrorKind::UnexpectedEof.into()),
            Error::Tls("the server closed the connection".into()),
            Error::Protocol("expected a response to SSLRequest".into()),
            Error::PoolTimedOut,
            Error::PoolClosed,
            Error::WorkerCrashed,
        ] {
            assert!(is_unavailable(&error), "{error}");
        }
        for error in [Error::RowNotFound, Error::ColumnNotFound("name".to_owned())] {
            assert!(!is_unavailable(&error), "{error}");
        }
    }

    #[test]
    fn states_of_postgres_are_judged_by_their_class() {
        for state in [
            "08000", "08003", "08006", "08P01", "25006", "25P03", "40001", "40P01", "53000", "53100", "53200", "53300",
            "53400", "57P01", "57P02", "57P03", "57P05", "58000", "58030", "25P04", "55P03", "57014",
        ] {
            assert!(is_state_of_postgres(state), "{state}");
        }
        for state in ["22001", "23505", "23514", "25001", "25P02", "42601", "42P01", "54000", "XX000", "5", "8"] {
            assert!(!is_state_of_postgres(state), "{state}");
        }
    }

    #[test]
    fn a_full_disk_is_told_from_other_faults() {
        assert_eq!((unwritable(13), unwritable(778)), (Some(DISK_IS_FULL), Some("its file cannot grow")));
        assert_eq!((unwritable(5), unwritable(266), unwritable(14)), (None, None, None));
        let shared = Arc::new(Error::PoolClosed);
        assert_eq!(why_unwritable(&Error::Io(std::io::Error::other(shared))), None);
    }

    #[test]
    fn codes_of_sqlite_are_judged_without_their_extension() {
        for code in [5, 261, 517, 773, 8, 264, 10, 266, 4106, 6410, 13, 14, 270, 15] {
            assert!(is_code_of_sqlite(code), "{code}");
        }
        for code in [1, 6, 11, 19, 2067, 20, 26] {
            assert!(!is_code_of_sqlite(code), "{code}");
        }
    }
}
