//! Commands to live calls, from clients and carriers: rows that any node writes and the call's node executes.

use serde::{Deserialize, Serialize};
use sqlx::QueryBuilder;
use sqlx::types::Json;
use sqlx_macros::FromRow;
use switchhook_core::Timestamp;
use switchhook_core::call::CarrierEvent;
use switchhook_core::id::{CallId, CommandId, TenantId};
use switchhook_runtime::clock;
use uuid::Uuid;

use super::CallRow;
use crate::store::{Conn, Tx, execute, on, push_ids, run};

/// Rows deleted per statement.
const BATCH: i64 = 500;

/// A command. It has no `Debug`, which would print spoken words, keys and numbers.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CallCommand {
    /// Say something.
    Say {
        /// The words.
        text: String,
        /// Whether to replace the agent's current speech.
        interrupt: bool,
    },
    /// Send DTMF.
    Dtmf {
        /// `0` to `9`, `*`, `#`, `A` to `D`; `w` is a pause of 500 ms.
        digits: String,
    },
    /// Transfer the caller.
    Transfer {
        /// To this number or SIP address.
        to: String,
    },
    /// A carrier event that reached another node.
    CarrierEvent {
        /// The event.
        event: CarrierEvent,
    },
}

impl CallCommand {
    /// Returns the carrier event that it stores, if it is one.
    #[must_use]
    pub fn carrier_event(&self) -> Option<&CarrierEvent> {
        if let Self::CarrierEvent { event } = self { Some(event) } else { None }
    }
}

/// Inserts a command. The call must be locked and live; in conversation for a client's command.
///
/// # Errors
/// When the database fails.
pub async fn insert(
    tx: &mut Tx,
    tenant: TenantId,
    call: CallId,
    command: &CallCommand,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "INSERT INTO call_commands (id, tenant_id, call_id, command, created_at) VALUES ($1, $2, $3, $4, $5)";
    execute!(tx, SQL;
        CommandId::new(now, clock::random()).uuid(), tenant.uuid(), call.uuid(), Json(command), now.as_micros()
    )
    .map(drop)
}

/// Returns the calls of any node with waiting commands.
///
/// # Errors
/// When the database fails.
pub async fn waiting_for_nodes(conn: &mut Conn) -> Result<Vec<Uuid>, sqlx::Error> {
    const SQL: &str = "SELECT DISTINCT call_id FROM call_commands";
    run!(conn, query_scalar.fetch_all, SQL)
}

/// A waiting command and its id.
pub struct WaitingCommand {
    /// Its id, to delete it.
    pub id: Uuid,
    /// The command.
    pub command: CallCommand,
}

/// Returns the commands of a call, oldest first, to the owner of its lease; nothing to anyone else. They stay until
/// [`delete_for_runner`]: a runner whose deletion fails remembers what it has executed.
///
/// # Errors
/// When the database fails.
pub async fn waiting_for_runner(conn: &mut Conn, row: &CallRow) -> Result<Vec<WaitingCommand>, sqlx::Error> {
    #[derive(FromRow)]
    struct StoredCommand {
        id: Uuid,
        command: Json<CallCommand>,
    }
    const SQL: &str = "SELECT id, command FROM call_commands \
        WHERE call_id = $1 AND EXISTS (SELECT 1 FROM calls WHERE calls.id = $1 AND calls.lease_token = $2) \
        ORDER BY created_at, id";
    let found: Vec<StoredCommand> = run!(conn, query_as.fetch_all, SQL; row.id, row.lease_token)?;
    Ok(found.into_iter().map(|found| WaitingCommand { id: found.id, command: found.command.0 }).collect())
}

/// Deletes executed commands of a call, so that words and keys do not stay in the database.
///
/// # Errors
/// When the database fails.
pub async fn delete_for_runner(tx: &mut Tx, call: CallId, done: &[Uuid]) -> Result<(), sqlx::Error> {
    on!(tx, |c| {
        let mut query = QueryBuilder::new("DELETE FROM call_commands WHERE call_id = ");
        query.push_bind(call.uuid()).push(" AND id IN (");
        push_ids(&mut query, done.iter().copied());
        query.push(")");
        query.build().execute(c).await.map(drop)
    })
}

/// Deletes a batch of commands whose call ended before they were executed. Returns their number.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM call_commands WHERE id IN (SELECT id FROM call_commands \
        WHERE (SELECT status FROM calls WHERE calls.id = call_commands.call_id) IN ('completed', 'failed') LIMIT $1)";
    execute!(tx, SQL; BATCH)
}

#[cfg(test)]
mod tests {
    use switchhook_core::id::NodeId;

    use super::*;
    use crate::store::calls;
    use crate::store::lease_time::LeaseTime;
    use crate::store::testing::{LEASE, TestStore, now, owned_call, stores};

    async fn waiting(test: &TestStore, row: &CallRow) -> Vec<(Uuid, String)> {
        let mut conn = test.store.read().await.expect("a connection");
        let digits =
            |command| if let CallCommand::Dtmf { digits } = command { digits } else { panic!("keys were given") };
        let waiting = waiting_for_runner(&mut conn, row).await.expect("read");
        waiting.into_iter().map(|waiting| (waiting.id, digits(waiting.command))).collect()
    }

    #[tokio::test]
    async fn commands_wait_in_order_for_the_owner_only_until_they_are_deleted() {
        for test in stores().await {
            let node = |n| NodeId::new(now(), [n; 10]);
            let row = owned_call(&test.store, node(1)).await;
            let mut tx = test.store.begin().await.expect("a transaction");
            for n in 0..5 {
                let at = now() + std::time::Duration::from_micros(n);
                let command = CallCommand::Dtmf { digits: n.to_string() };
                insert(&mut tx, row.tenant(), row.call_id(), &command, at).await.expect("written");
            }
            tx.commit().await.expect("committed");
            let calls_waiting = async || {
                let mut conn = test.store.read().await.expect("a connection");
                waiting_for_nodes(&mut conn).await.expect("read")
            };
            assert_eq!(calls_waiting().await, [row.id], "{}", test.engine);

            let mut tx = test.store.begin().await.expect("a transaction");
            let newer = calls::own_for_arrival(&mut tx, row.call_id(), node(2), LeaseTime::at(now(), LEASE))
                .await
                .expect("owned");
            tx.commit().await.expect("committed");
            assert!(waiting(&test, &row).await.is_empty(), "{}: the lease is lost", test.engine);
            let (ids, keys): (Vec<Uuid>, Vec<String>) = waiting(&test, &newer).await.into_iter().unzip();
            assert_eq!(keys, ["0", "1", "2", "3", "4"], "{}", test.engine);

            let mut tx = test.store.begin().await.expect("a transaction");
            delete_for_runner(&mut tx, row.call_id(), &ids[..3]).await.expect("deleted");
            tx.commit().await.expect("committed");
            let left: Vec<String> = waiting(&test, &newer).await.into_iter().map(|(_, keys)| keys).collect();
            assert_eq!(left, ["3", "4"], "{}", test.engine);
        }
    }
}
