//! When leases end: by the database's clock, which all nodes share. A node whose own clock is wrong would otherwise take calls that
//! others run, or leave those of a dead node alone.

use std::time::Duration;

use switchhook_core::Timestamp;

use super::Dialect;
use crate::clock::Clock;

/// The time that leases are measured by, and how long they last.
#[derive(Clone, Copy, Debug)]
pub struct LeaseTime {
    /// The time of a test; otherwise the database is asked.
    fixed: Option<Timestamp>,
    lasts: Duration,
}

impl LeaseTime {
    /// Leases that last so long. A clock that tests move stands in for the database's.
    #[must_use]
    pub fn new(clock: &Clock, lasts: Duration) -> Self {
        Self { fixed: clock.manual_now(), lasts }
    }

    /// The same at a given time.
    #[must_use]
    pub fn at(now: Timestamp, lasts: Duration) -> Self {
        Self { fixed: Some(now), lasts }
    }

    /// Now, as an SQL expression in microseconds of Unix time.
    pub(super) fn now(self, dialect: Dialect) -> String {
        match (self.fixed, dialect) {
            (Some(now), _) => now.as_micros().to_string(),
            (None, Dialect::Sqlite) => "CAST(unixepoch('subsec') * 1000000 AS INTEGER)".to_owned(),
            (None, Dialect::Postgres) => {
                "CAST(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000 AS BIGINT)".to_owned()
            }
        }
    }

    /// When a lease that is taken now ends, as an SQL expression in microseconds of Unix time.
    pub(super) fn until(self, dialect: Dialect) -> String {
        format!("{} + {}", self.now(dialect), self.lasts.as_micros())
    }
}
