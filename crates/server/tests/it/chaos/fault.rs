//! The faults.

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
    /// One node stands still, like a virtual machine that is paused.
    NodePaused,
    /// One node is killed, and is back when the fault is lifted.
    NodeKilled,
    /// One node is restarted with a log that has no reader.
    LogGone,
    /// The disk is full.
    DiskFull,
}

impl Fault {
    pub(super) const OF_DATABASES: [Self; 5] = [
        Self::DatabaseCut,
        Self::DatabaseSlow,
        Self::DatabaseReadOnly,
        Self::DatabaseRestarted,
        Self::ConnectionsTaken,
    ];
    pub(super) const OF_MACHINES: [Self; 3] = [Self::NodePaused, Self::NodeKilled, Self::LogGone];
}
