//! What clients ask of a running conversation, and what carriers tell about a call: rows that any node writes and the call's own node takes.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;
use sqlx::types::Json;
use switchhook_core::Timestamp;
use switchhook_core::id::{CallId, CommandId, TenantId};
use uuid::Uuid;

use super::CallRow;
use crate::carrier::Told;
use crate::clock;
use crate::store::{Conn, Dialect, Tx, on};

/// Rows deleted at once.
const BATCH: i64 = 500;

/// One thing to do. `Debug` would print spoken words, keys and numbers, so there is none.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Command {
    /// The agent says this.
    Say {
        /// The words.
        text: String,
        /// Whether instead of what it is saying.
        interrupt: bool,
    },
    /// Keys are pressed.
    Dtmf {
        /// `0` to `9`, `*`, `#`, `A` to `D`; `w` is a pause of 500 ms.
        digits: String,
    },
    /// The caller is passed on.
    Transfer {
        /// To this number or SIP address.
        to: String,
    },
    /// The carrier has told something to another node.
    Told {
        /// What.
        told: Told,
    },
}

/// Writes a command. The caller has locked the call and found it live; in conversation, where a client asks.
///
/// # Errors
/// When the database fails.
pub async fn give(
    tx: &mut Tx,
    tenant: TenantId,
    call: CallId,
    command: &Command,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    const SQL: &str =
        "INSERT INTO call_commands (id, tenant_id, call_id, command, created_at) VALUES ($1, $2, $3, $4, $5)";
    on!(tx, |c| sqlx::query(SQL)
        .bind(CommandId::new(now, clock::random()).uuid())
        .bind(tenant.uuid())
        .bind(call.uuid())
        .bind(Json(command))
        .bind(now.as_micros())
        .execute(c)
        .await
        .map(drop))
}

/// The calls, of whatever node, for which commands wait. The table holds only what nobody has taken.
///
/// # Errors
/// When the database fails.
pub async fn waiting_for_nodes(conn: &mut Conn) -> Result<Vec<Uuid>, sqlx::Error> {
    const SQL: &str = "SELECT DISTINCT call_id FROM call_commands";
    on!(conn, |c| sqlx::query_scalar(SQL).fetch_all(c).await)
}

/// Takes the commands of a call under its lease, oldest first: whoever has committed this is the only one who ever got them.
/// Nothing comes when the lease is lost.
///
/// # Errors
/// When the database fails.
pub async fn take_for_runner(tx: &mut Tx, row: &CallRow) -> Result<Vec<Command>, sqlx::Error> {
    #[derive(FromRow)]
    struct Taken {
        id: Uuid,
        command: Json<Command>,
        created_at: i64,
    }
    const OWNED: &str = "SELECT id FROM calls WHERE id = $1 AND lease_token = $2";
    const TAKE: &str = "DELETE FROM call_commands WHERE call_id = $1 RETURNING id, command, created_at";
    // Who claims the call meanwhile waits until the commands are ours or not.
    let owned = if tx.dialect() == Dialect::Postgres { format!("{OWNED} FOR NO KEY UPDATE") } else { OWNED.to_owned() };
    let owned: Option<Uuid> = on!(tx, |c| sqlx::query_scalar(sqlx::AssertSqlSafe(owned))
        .bind(row.id)
        .bind(row.lease_token)
        .fetch_optional(c)
        .await)?;
    if owned.is_none() {
        return Ok(Vec::new());
    }
    let mut taken: Vec<Taken> = on!(tx, |c| sqlx::query_as(TAKE).bind(row.id).fetch_all(c).await)?;
    taken.sort_by_key(|taken| (taken.created_at, taken.id));
    Ok(taken.into_iter().map(|taken| taken.command.0).collect())
}

/// Deletes a batch of commands whose call ended before they were taken; how many there were.
///
/// # Errors
/// When the database fails.
pub async fn prune_for_housekeeping(tx: &mut Tx) -> Result<u64, sqlx::Error> {
    const SQL: &str = "DELETE FROM call_commands WHERE id IN (SELECT id FROM call_commands \
        WHERE (SELECT status FROM calls WHERE calls.id = call_commands.call_id) IN ('completed', 'failed') LIMIT $1)";
    on!(tx, |c| sqlx::query(SQL).bind(BATCH).execute(c).await.map(|done| done.rows_affected()))
}

#[cfg(test)]
mod tests {
    use switchhook_core::call::{Call, Direction, Timing};
    use switchhook_core::event::EventKind;
    use switchhook_core::id::{AgentId, ConnectionId, NodeId};

    use super::*;
    use crate::store::calls::{self, CallRequest, NewCall};
    use crate::store::lease_time::LeaseTime;
    use crate::store::tenants::OwnLimits;
    use crate::store::testing::{TestStore, now, stores, tenant};

    const LEASE: std::time::Duration = std::time::Duration::from_secs(15);

    /// A call of a new tenant, owned by `node`.
    async fn owned_call(test: &TestStore, node: NodeId) -> CallRow {
        let tenant = tenant(&test.store, OwnLimits::default()).await;
        let new = NewCall {
            id: CallId::new(now(), clock::random()),
            tenant,
            direction: Direction::Outbound,
            agent: AgentId::new(now(), clock::random()),
            agent_version: 1,
            number: None,
            connection: ConnectionId::new(now(), clock::random()),
            provider: "simulator".to_owned(),
            from: "+12025550199".to_owned(),
            to: "+12025550109".to_owned(),
            request: CallRequest::default(),
            created_at: now(),
            due_at: now(),
            retention_days: None,
        };
        let row = new.row(Call::outbound(now(), now(), Timing::default()));
        let mut tx = test.store.begin().await.expect("a transaction");
        calls::create(&mut tx, tenant, std::slice::from_ref(&row), EventKind::CallQueued).await.expect("written");
        let row =
            calls::own_for_arrival(&mut tx, row.call_id(), node, LeaseTime::at(now(), LEASE)).await.expect("owned");
        tx.commit().await.expect("committed");
        row
    }

    async fn take(test: &TestStore, row: &CallRow) -> Vec<String> {
        let mut tx = test.store.begin().await.expect("a transaction");
        let taken = take_for_runner(&mut tx, row).await.expect("read");
        tx.commit().await.expect("committed");
        let digits = |command| if let Command::Dtmf { digits } = command { digits } else { panic!("keys were given") };
        taken.into_iter().map(digits).collect()
    }

    #[tokio::test]
    async fn commands_are_taken_once_in_order_and_by_the_owner_only() {
        for test in stores().await {
            let node = |n| NodeId::new(now(), [n; 10]);
            let row = owned_call(&test, node(1)).await;
            let mut tx = test.store.begin().await.expect("a transaction");
            for n in 0..5 {
                let at = now() + std::time::Duration::from_micros(n);
                let command = Command::Dtmf { digits: n.to_string() };
                give(&mut tx, row.tenant(), row.call_id(), &command, at).await.expect("written");
            }
            tx.commit().await.expect("committed");
            let waiting = async || {
                let mut conn = test.store.read().await.expect("a connection");
                waiting_for_nodes(&mut conn).await.expect("read")
            };
            assert_eq!(waiting().await, [row.id], "{}", test.engine);

            let mut tx = test.store.begin().await.expect("a transaction");
            let newer = calls::own_for_arrival(&mut tx, row.call_id(), node(2), LeaseTime::at(now(), LEASE))
                .await
                .expect("owned");
            tx.commit().await.expect("committed");
            assert!(take(&test, &row).await.is_empty(), "{}: the lease is lost", test.engine);
            assert_eq!(take(&test, &newer).await, ["0", "1", "2", "3", "4"], "{}", test.engine);
            assert!(take(&test, &newer).await.is_empty(), "{}: once", test.engine);
            assert!(waiting().await.is_empty(), "{}", test.engine);
        }
    }
}
