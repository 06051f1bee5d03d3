//! The number of connections that a node may open to PostgreSQL, and their uses.

use sqlx::PgConnection;
use sqlx_macros::FromRow;

use crate::config::LEAST_DATABASE_CONNECTIONS as LEAST;

/// The connections that a node uses if the server has enough.
pub const USUAL: u32 = 33;
/// Connections left to operators where the server has few: `doctor`, a backup, `psql`.
const SPARE: u32 = 2;

/// The connections of a node by kind of work. Work on calls and deliveries has its own, so that no burst of requests delays it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Requests, and everything else.
    pub requests: u32,
    /// Calls.
    pub calls: u32,
    /// Renewal of the calls' leases.
    pub leases: u32,
    /// Webhook deliveries.
    pub deliveries: u32,
}

/// The number of connections that PostgreSQL allows in total, per role and per database.
#[derive(Clone, Copy, Debug, FromRow)]
pub(crate) struct ServerLimits {
    /// `max_connections`.
    max_connections: i32,
    /// The connections reserved for superusers and for privileged roles.
    reserved: i32,
    /// `CONNECTION LIMIT` of our role; negative if unlimited.
    of_role: i32,
    /// `CONNECTION LIMIT` of our database; negative if unlimited.
    of_database: i32,
}

impl ServerLimits {
    pub(super) async fn read(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        // `reserved_connections` exists since PostgreSQL 16.
        const SQL: &str = "SELECT CAST(current_setting('max_connections') AS INTEGER) AS max_connections, \
            CAST(current_setting('superuser_reserved_connections') AS INTEGER) \
                + COALESCE(CAST(current_setting('reserved_connections', TRUE) AS INTEGER), 0) AS reserved, \
            COALESCE((SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END FROM pg_roles \
                WHERE rolname = current_user), -1) AS of_role, \
            COALESCE((SELECT datconnlimit FROM pg_database WHERE datname = current_database()), -1) AS of_database";
        sqlx::query_as(SQL).fetch_one(connection).await
    }

    /// The most that all nodes together can open.
    fn available(&self) -> u32 {
        let limits = [self.max_connections - self.reserved, self.of_role, self.of_database];
        limits.into_iter().filter_map(|limit| u32::try_from(limit).ok()).min().unwrap_or(0)
    }
}

impl std::fmt::Display for ServerLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { max_connections, reserved, of_role, of_database } = self;
        write!(f, "max_connections is {max_connections}, of which {reserved} are reserved")?;
        if *of_role >= 0 {
            write!(f, ", the role may open {of_role}")?;
        }
        if *of_database >= 0 {
            write!(f, ", the database takes {of_database}")?;
        }
        Ok(())
    }
}

/// PostgreSQL allows too few connections.
#[derive(Debug, thiserror::Error)]
#[error(
    "a node needs at least {LEAST} connections to PostgreSQL and {SPARE} for operators, but only {available} are available \
     ({limits}): raise these limits"
)]
pub struct TooFew {
    available: u32,
    limits: ServerLimits,
}

impl Budget {
    /// Divides what the server allows, up to `most`.
    pub(super) fn within(most: u32, limits: &ServerLimits) -> Result<Self, TooFew> {
        let available = limits.available();
        let total = most.min(available.saturating_sub(SPARE));
        if total < LEAST {
            return Err(TooFew { available, limits: *limits });
        }
        if total < most {
            tracing::warn!(connections = total, "PostgreSQL has few connections for this node: {limits}");
        }
        Ok(Self::of(total))
    }

    /// Divides `total` connections.
    pub(super) fn of(total: u32) -> Self {
        let leases = 1;
        let others = total.saturating_sub(leases);
        let requests = others / 2;
        let calls = (others - requests) / 2;
        Self { requests, calls, leases, deliveries: others - requests - calls }
    }

    /// The connections of the node in all.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.requests + self.calls + self.leases + self.deliveries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: ServerLimits = ServerLimits { max_connections: 100, reserved: 3, of_role: -1, of_database: -1 };

    #[test]
    fn a_server_with_enough_gives_each_kind_of_work_its_usual_share() {
        let budget = Budget::within(USUAL, &PLENTY).expect("enough");
        assert_eq!(budget, Budget { requests: 16, calls: 8, leases: 1, deliveries: 8 });
    }

    #[test]
    fn a_small_server_is_not_filled_up_and_calls_and_deliveries_keep_a_share() {
        for (limits, total) in [
            (ServerLimits { max_connections: 20, ..PLENTY }, 15),
            (ServerLimits { of_role: 12, ..PLENTY }, 10),
            (ServerLimits { of_database: 10, ..PLENTY }, LEAST),
            (ServerLimits { max_connections: 40, reserved: 8, ..PLENTY }, 30),
        ] {
            let budget = Budget::within(USUAL, &limits).expect("enough");
            assert_eq!(budget.total(), total, "{limits}");
            assert!(budget.calls >= 2 && budget.deliveries >= 2 && budget.requests >= 3, "{budget:?}");
        }
    }

    #[test]
    fn a_node_takes_no_more_than_it_is_told() {
        assert_eq!(Budget::within(12, &PLENTY).expect("enough").total(), 12);
    }

    #[test]
    fn too_few_connections_are_refused_with_the_numbers() {
        let limits = ServerLimits { max_connections: 12, of_role: 9, ..PLENTY };
        let words = Budget::within(USUAL, &limits).expect_err("too few").to_string();
        for part in ["at least 8", "only 9 are available", "max_connections is 12, of which 3 are reserved", "open 9"] {
            assert!(words.contains(part), "{words}");
        }
    }
}
