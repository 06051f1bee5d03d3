//! One minute of a soak.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::support::database::{Database, used};
use crate::support::receiver::Receiver;
use crate::support::{Node, Place};

/// The measurements of one minute.
#[derive(Clone)]
pub(crate) struct Minute {
    number: u32,
    /// Calls whose end was delivered.
    pub(crate) ended: u64,
    pub(crate) resident_mb: f64,
    /// Seconds of processor time of the node, PostgreSQL's included, for each call that ended.
    pub(crate) cpu_per_call: f64,
    /// The share of the database in that: of SQLite's threads, or of PostgreSQL's processes.
    pub(crate) database_percent: f64,
    database_mb: f64,
    log_mb: f64,
}

impl Minute {
    pub(crate) const HEADER: &str =
        "minute,calls_ended,resident_mb,cpu_ms_per_call,database_percent_of_cpu,database_mb,wal_mb";

    pub(crate) fn json(&self) -> Value {
        json!({
            "calls_ended": self.ended, "resident_mb": self.resident_mb, "cpu_seconds_per_call": self.cpu_per_call,
            "database_percent_of_cpu": self.database_percent, "database_mb": self.database_mb, "wal_mb": self.log_mb,
        })
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (cpu, database) = (self.cpu_per_call * 1_000.0, self.database_percent);
        write!(f, "{},{},{:.1},{cpu:.2},{database:.1}", self.number, self.ended, self.resident_mb)?;
        write!(f, ",{:.1},{:.1}", self.database_mb, self.log_mb)
    }
}

/// The state to compare the next minute with.
pub(crate) struct Watch {
    database: Database,
    minutes: u32,
    ended: u64,
    cpu: f64,
    sqlite_cpu: f64,
    backends: BTreeMap<i64, f64>,
}

impl Watch {
    pub(crate) async fn begin(place: &Place, node: &Node, ends: &Receiver) -> anyhow::Result<Self> {
        let mut database = Database::open(&place.database_url()).await?;
        let backends = database.backends().await?;
        let (cpu, sqlite_cpu) = (node.cpu_seconds(), node.sqlite_cpu_seconds());
        Ok(Self { database, minutes: 0, ended: ends.received(), cpu, sqlite_cpu, backends })
    }

    /// Returns the changes since the last call.
    pub(crate) async fn look(&mut self, place: &Place, node: &Node, ends: &Receiver) -> anyhow::Result<Minute> {
        let (database_bytes, log_bytes) = self.database.bytes(place).await?;
        let (backends, cpu, sqlite_cpu) =
            (self.database.backends().await?, node.cpu_seconds(), node.sqlite_cpu_seconds());
        let of_backends = used(&self.backends, &backends);
        let of_database = sqlite_cpu - self.sqlite_cpu + of_backends;
        let all = cpu - self.cpu + of_backends;
        let (received, ended) = (ends.received(), ends.received() - self.ended);
        anyhow::ensure!(ended > 0, "no call has ended for a minute");
        (self.ended, self.cpu, self.sqlite_cpu, self.backends) = (received, cpu, sqlite_cpu, backends);
        self.minutes += 1;
        Ok(Minute {
            number: self.minutes,
            ended,
            resident_mb: node.resident_mb(),
            cpu_per_call: all / ended as f64,
            database_percent: of_database / all * 100.0,
            database_mb: database_bytes as f64 / 1e6,
            log_mb: log_bytes as f64 / 1e6,
        })
    }
}
