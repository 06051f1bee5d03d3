//! The logged inputs of conversations, for replays. They contain the words of a call, so they are deleted with them.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use switchhook_core::Timestamp;
use switchhook_core::id::{AgentId, CallId, TenantId};
use uuid::Uuid;

use crate::store::{Conn, Tx, execute, run};

/// A log that unpacks to more is damaged.
const MAX_BYTES: u64 = 16 << 20;
/// Rows per transaction.
const BATCH: i64 = 200;

/// A compressed log of inputs; empty if none is kept.
#[derive(Default)]
pub struct PackedLog(Vec<u8>);

impl PackedLog {
    /// Compresses a log.
    #[must_use]
    pub fn pack(log: &str) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        let packed = encoder.write_all(log.as_bytes()).and_then(|()| encoder.finish());
        Self(packed.expect("memory can be written to"))
    }

    fn unpack(&self) -> std::io::Result<String> {
        let mut log = String::new();
        DeflateDecoder::new(self.0.as_slice()).take(MAX_BYTES).read_to_string(&mut log)?;
        Ok(log)
    }
}

/// A call with its log.
pub struct LoggedCall {
    /// The call.
    pub id: CallId,
    /// Its tenant.
    pub tenant: TenantId,
    log: PackedLog,
}

impl LoggedCall {
    /// Returns the log.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn log(&self) -> std::io::Result<String> {
        self.log.unpack()
    }
}

/// Returns a call of any tenant with its log.
///
/// # Errors
/// When the database fails.
pub async fn get_for_operator(conn: &mut Conn, id: CallId) -> Result<Option<LoggedCall>, sqlx::Error> {
    const SQL: &str = "SELECT tenant_id, log FROM call_inputs WHERE call_id = $1";
    let found: Option<(Uuid, Vec<u8>)> = run!(conn, query_as.fetch_optional, SQL; id.uuid())?;
    Ok(found.map(|(tenant, log)| LoggedCall { id, tenant: tenant.into(), log: PackedLog(log) }))
}

/// Returns the last calls that have a log, the newest first: those of an agent, or everybody's.
///
/// # Errors
/// When the database fails.
pub async fn last_for_operator(
    conn: &mut Conn,
    agent: Option<AgentId>,
    count: u32,
) -> Result<Vec<CallId>, sqlx::Error> {
    const ALL: &str = "SELECT call_id FROM call_inputs ORDER BY kept_at DESC LIMIT $1";
    const OF_AGENT: &str = "SELECT call_id FROM call_inputs JOIN calls ON calls.id = call_inputs.call_id \
        WHERE calls.agent_id = $2 ORDER BY kept_at DESC LIMIT $1";
    let found: Vec<Uuid> = match agent {
        None => run!(conn, query_scalar.fetch_all, ALL; i64::from(count))?,
        Some(agent) => run!(conn, query_scalar.fetch_all, OF_AGENT; i64::from(count), agent.uuid())?,
    };
    Ok(found.into_iter().map(CallId::from).collect())
}

/// Writes a call's log with its end.
///
/// # Errors
/// When the database fails.
pub(in crate::store) async fn write(
    tx: &mut Tx,
    tenant: TenantId,
    id: CallId,
    log: &PackedLog,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "INSERT INTO call_inputs (tenant_id, call_id, kept_at, log) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    if !log.0.is_empty() {
        execute!(tx, SQL; tenant.uuid(), id.uuid(), now.as_micros(), &log.0)?;
    }
    Ok(())
}

/// Deletes a batch of logs that were written before `before`. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx, before: Timestamp) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM call_inputs WHERE call_id IN \
        (SELECT call_id FROM call_inputs WHERE kept_at <= $1 ORDER BY kept_at LIMIT $2)";
    execute!(tx, SQL; before.as_micros(), BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_the_same_after_packing_and_a_damaged_one_an_error() {
        let log = "[20000,\"tick\"]\n".repeat(1_000);
        let packed = PackedLog::pack(&log);
        assert!(packed.0.len() < 200, "{}", packed.0.len());
        assert_eq!(packed.unpack().expect("packed by us"), log);
        assert!(PackedLog(b"not deflated".to_vec()).unpack().is_err());
    }
}
