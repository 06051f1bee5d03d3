//! Lease times use the database's clock, which all nodes share. A node with a wrong clock would otherwise take calls that others
//! run, or ignore those of a dead node.

use std::time::Duration;

use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;

use super::Dialect;

/// The clock and duration of leases.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTime {
    /// The time of a test; otherwise the database's clock is used.
    fixed: Option<Timestamp>,
    lasts: Duration,
}

impl LeaseTime {
    /// Creates leases of this duration. A manual clock replaces the database's.
    #[must_use]
    pub fn new(clock: &Clock, lasts: Duration) -> Self {
        Self { fixed: clock.manual_now(), lasts }
    }

    /// The same at a given time.
    #[must_use]
    pub fn at(now: Timestamp, lasts: Duration) -> Self {
        Self { fixed: Some(now), lasts }
    }

    /// Returns the current time as an SQL expression in Unix microseconds.
    pub(super) fn now(self, dialect: Dialect) -> String {
        match (self.fixed, dialect) {
            (Some(now), _) => now.as_micros().to_string(),
            (None, Dialect::Sqlite) => "CAST(unixepoch('subsec') * 1000000 AS INTEGER)".to_owned(),
            (None, Dialect::Postgres) => {
                "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000 AS BIGINT)".to_owned()
            }
        }
    }

    /// Returns the end of a lease taken now, as an SQL expression in Unix microseconds.
    pub(super) fn until(self, dialect: Dialect) -> String {
        format!("{} + {}", self.now(dialect), self.lasts.as_micros())
    }
}
