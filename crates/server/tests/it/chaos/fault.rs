//! The faults.

use std::time::Duration;

/// A fault that is thrown, lasts a while, and is lifted. Faults of one node hit the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// One node cannot reach the database, which closes its connections.
    DatabaseCut,
    /// Each answer of the database takes 2 s longer for one node.
    DatabaseSlow,
    /// The database can only be read, as after a failover to a replica.
    DatabaseReadOnly,
    /// The database has crashed and recovers.
    DatabaseRestarted,
    /// Other clients take all of the database's connections.
    ConnectionsTaken,
    /// The pooler before the database restarts: every connection is closed, and new ones work.
    PoolerRestarted,
    /// One node stands still, like a virtual machine that is paused.
    NodePaused,
    /// One node is killed, and is back when the fault is lifted.
    NodeKilled,
    /// One node is restarted with a log that has no reader.
    LogGone,
    /// One node is restarted with few open files, and a client takes all connections of one address.
    FilesTaken,
    /// The disk is full.
    DiskFull,
}

/// A fault that lasts this long is longer than a probe that fails late.
pub(super) const LONG: Duration = Duration::from_millis(11_500);
/// Long enough for probes that succeed, or are refused.
const MEDIUM: Duration = Duration::from_secs(4);

impl Fault {
    pub(super) const OF_DATABASES: [Self; 6] = [
        Self::DatabaseCut,
        Self::DatabaseSlow,
        Self::DatabaseReadOnly,
        Self::DatabaseRestarted,
        Self::ConnectionsTaken,
        Self::PoolerRestarted,
    ];
    pub(super) const OF_MACHINES: [Self; 4] = [Self::NodePaused, Self::NodeKilled, Self::LogGone, Self::FilesTaken];

    /// How long it lasts where faults are thrown in order.
    pub(super) fn lasts(self) -> Duration {
        match self {
            Self::PoolerRestarted | Self::FilesTaken => MEDIUM,
            _ => LONG,
        }
    }
}
