//! Ownership of calls: claims, leases and fencing tokens.
//!
//! A lease says until when a node owns a call; the fencing token, which increases with every claim, says who does. A write with an
//! old token changes no row, and its writer stops.

use std::collections::HashSet;

use sqlx::QueryBuilder;
use switchhook_core::Timestamp;
use switchhook_core::id::{CallId, NodeId, TenantId};
use uuid::Uuid;

use super::CallRow;
use crate::store::lease_time::LeaseTime;
use crate::store::{Conn, Dialect, Tx, columns, execute, on, push_ids, run};

/// The parameters of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The claiming node.
    pub node: NodeId,
    /// Claim calls due by this time.
    pub now: Timestamp,
    /// The time and duration of leases.
    pub lease: LeaseTime,
    /// Maximum calls.
    pub limit: i64,
    /// Calls that run on this node: never claimed, even if their lease has expired because a clock jumped.
    pub running: &'a [CallId],
}

/// Claims calls due to be dialled, unowned or of a dead node.
///
/// # Errors
/// When the database fails.
pub async fn claim_due_for_dialer(tx: &mut Tx, claim: &Claim<'_>) -> Result<Vec<CallRow>, sqlx::Error> {
    let (due, lease_now) = (claim.now.as_micros(), claim.lease.now(tx.dialect()));
    let has_room = has_room(&lease_now);
    claim_where(tx, claim, &format!("calls.status = 'queued' AND {has_room} AND due_at <= {due}")).await
}

/// Returns whether the call's connection has room for another concurrent call: its current calls, those that a node is about to dial and those
/// due earlier are fewer than `max_concurrent`.
fn has_room(lease_now: &str) -> String {
    let live = live!("other");
    format!(
        "NOT EXISTS (SELECT 1 FROM connections WHERE connections.id = calls.connection_id \
         AND max_concurrent IS NOT NULL AND max_concurrent <= ( \
         SELECT COUNT(*) FROM calls AS other WHERE other.connection_id = connections.id AND other.id <> calls.id AND {live} \
         AND (other.status IN ('dialing', 'in_progress') \
            OR (other.status = 'queued' AND (other.lease_until >= {lease_now} \
                OR (other.due_at, other.id) < (calls.due_at, calls.id))))))"
    )
}

/// Claims calls already dialled by a dead node, or whose runner on this node gave up.
///
/// # Errors
/// When the database fails.
pub async fn claim_abandoned_for_recovery(tx: &mut Tx, claim: &Claim<'_>) -> Result<Vec<CallRow>, sqlx::Error> {
    claim_where(tx, claim, "calls.status IN ('dialing', 'in_progress')").await
}

/// Claims a new inbound call for the node that received it. Returns its row.
///
/// # Errors
/// When the database fails.
pub async fn own_for_arrival(tx: &mut Tx, id: CallId, node: NodeId, lease: LeaseTime) -> Result<CallRow, sqlx::Error> {
    let until = lease.until(tx.dialect());
    let sql = sqlx::AssertSqlSafe(format!(
        "UPDATE calls SET lease_owner = $2, lease_token = lease_token + 1, lease_until = {until} WHERE id = $1 RETURNING {}",
        columns!(calls)
    ));
    run!(tx, query_as.fetch_one, sql; id.uuid(), node.uuid())
}

/// Takes a call whose media reached this node over from the node that dialled it. `None` if the carrier's id differs or is unknown
/// yet, if the call no longer waits to be answered, or if this node already owns it.
///
/// # Errors
/// When the database fails.
pub async fn move_for_media(
    tx: &mut Tx,
    id: CallId,
    carrier_call_id: &str,
    node: NodeId,
    lease: LeaseTime,
) -> Result<Option<CallRow>, sqlx::Error> {
    let until = lease.until(tx.dialect());
    let sql = sqlx::AssertSqlSafe(format!(
        "UPDATE calls SET lease_owner = $2, lease_token = lease_token + 1, lease_until = {until} \
         WHERE id = $1 AND status = 'dialing' AND carrier_call_id = $3 AND end_reason IS NULL AND error_code IS NULL \
         AND (lease_owner IS NULL OR lease_owner <> $2) RETURNING {}",
        columns!(calls)
    ));
    run!(tx, query_as.fetch_optional, sql; id.uuid(), node.uuid(), carrier_call_id)
}

/// Claims a call whose browser has connected to this node. `None` if it waits for none: one was there, it is too late, or the call has
/// ended.
///
/// # Errors
/// When the database fails.
pub async fn claim_for_browser(
    tx: &mut Tx,
    id: CallId,
    node: NodeId,
    now: Timestamp,
    lease: LeaseTime,
) -> Result<Option<CallRow>, sqlx::Error> {
    let (lease_now, until) = (lease.now(tx.dialect()), lease.until(tx.dialect()));
    let sql = sqlx::AssertSqlSafe(format!(
        "UPDATE calls SET lease_owner = $2, lease_token = lease_token + 1, lease_until = {until} \
         WHERE id = $1 AND status = 'queued' AND direction = 'web' AND due_at > $3 AND hangup_requested_at IS NULL \
         AND (lease_until IS NULL OR lease_until < {lease_now}) RETURNING {}",
        columns!(calls)
    ));
    run!(tx, query_as.fetch_optional, sql; id.uuid(), node.uuid(), now.as_micros())
}

async fn claim_where(tx: &mut Tx, claim: &Claim<'_>, which: &str) -> Result<Vec<CallRow>, sqlx::Error> {
    let lock = if tx.dialect() == Dialect::Postgres { " FOR UPDATE SKIP LOCKED" } else { "" };
    let (lease_now, lease_until) = (claim.lease.now(tx.dialect()), claim.lease.until(tx.dialect()));
    on!(tx, |c| {
        let mut query = QueryBuilder::new("UPDATE calls SET lease_token = lease_token + 1, lease_owner = ");
        query.push_bind(claim.node.uuid()).push(", lease_until = ").push(lease_until);
        query.push(concat!(" WHERE id IN (SELECT id FROM calls WHERE ", live!(), " AND ")).push(which);
        query.push(" AND (lease_until IS NULL OR lease_until < ").push(lease_now).push(")");
        if !claim.running.is_empty() {
            query.push(" AND id NOT IN (");
            push_ids(&mut query, claim.running.iter().map(|id| id.uuid()));
            query.push(")");
        }
        query
            .push(" ORDER BY due_at LIMIT ")
            .push_bind(claim.limit)
            .push(lock)
            .push(concat!(") RETURNING ", columns!(calls)));
        query.build_query_as().fetch_all(c).await
    })
}

/// Takes a call over for one change outside its runner. Returns the new token.
///
/// # Errors
/// When the database fails.
pub async fn take_over(tx: &mut Tx, tenant: TenantId, id: CallId) -> Result<i64, sqlx::Error> {
    const SQL: &str = "UPDATE calls SET lease_token = lease_token + 1, lease_owner = NULL, lease_until = NULL \
        WHERE id = $1 AND tenant_id = $2 RETURNING lease_token";
    run!(tx, query_scalar.fetch_one, SQL; id.uuid(), tenant.uuid())
}

/// Renews the leases of this node's running calls and returns the renewed ones: any other of `running` has ended or belongs to
/// another node. Claimed calls that do not run expire.
///
/// # Errors
/// When the database fails.
pub async fn renew_leases_for_node(
    tx: &mut Tx,
    node: NodeId,
    running: &[CallId],
    lease: LeaseTime,
) -> Result<Vec<CallId>, sqlx::Error> {
    let until = lease.until(tx.dialect());
    let kept: Vec<Uuid> = on!(tx, |c| {
        let mut query = QueryBuilder::new("UPDATE calls SET lease_until = ");
        query.push(until).push(" WHERE lease_owner = ").push_bind(node.uuid());
        query.push(concat!(" AND ", live!(), " AND id IN ("));
        push_ids(&mut query, running.iter().map(|id| id.uuid()));
        query.push(") RETURNING id");
        query.build_query_scalar().fetch_all(c).await
    })?;
    Ok(kept.into_iter().map(CallId::from_uuid).collect())
}

/// Releases queued calls that this node claimed but did not dial.
///
/// # Errors
/// When the database fails.
pub async fn hand_back_for_node(tx: &mut Tx, node: NodeId) -> Result<(), sqlx::Error> {
    const SQL: &str = concat!(
        "UPDATE calls SET lease_owner = NULL, lease_until = NULL, lease_token = lease_token + 1 \
         WHERE lease_owner = $1 AND status = 'queued' AND ",
        live!()
    );
    execute!(tx, SQL; node.uuid()).map(drop)
}

/// Ends the leases of claimed calls that do not run, so that they can be claimed again at once. `claimed` are the calls with their tokens;
/// those that were claimed again meanwhile keep their lease.
///
/// # Errors
/// When the database fails.
pub async fn give_back_for_node(
    tx: &mut Tx,
    node: NodeId,
    claimed: &HashSet<(CallId, i64)>,
) -> Result<(), sqlx::Error> {
    const SQL: &str = "UPDATE calls SET lease_until = NULL WHERE id = $1 AND lease_token = $2 AND lease_owner = $3";
    for (call, token) in claimed {
        execute!(tx, SQL; call.uuid(), token, node.uuid())?;
    }
    Ok(())
}

/// Returns this node's calls whose end was requested.
///
/// # Errors
/// When the database fails.
pub async fn hangup_requests_for_node(conn: &mut Conn, node: NodeId) -> Result<Vec<Uuid>, sqlx::Error> {
    const SQL: &str =
        concat!("SELECT id FROM calls WHERE lease_owner = $1 AND hangup_requested_at IS NOT NULL AND ", live!());
    run!(conn, query_scalar.fetch_all, SQL; node.uuid())
}

#[cfg(test)]
mod tests {
    use switchhook_core::call::{Call, CallEffect, CallInput, Timing};

    use super::*;
    use crate::store::calls;
    use crate::store::testing::{LEASE, TestStore, now, owned_call, stores};
    use switchhook_runtime::clock::Clock;

    /// A call that `node` has dialled, and that the carrier knows as `CA1`.
    async fn dialled(test: &TestStore, node: NodeId) -> CallRow {
        let mut row = owned_call(&test.store, node).await;
        let mut call = Call::restore(row.snapshot().expect("a known status"), Timing::default());
        let accepted = CallInput::DialAccepted { carrier_call_id: "CA1".to_owned(), waits: std::time::Duration::ZERO };
        for input in [CallInput::Dial, accepted] {
            for effect in call.handle(now(), input) {
                let CallEffect::Commit(change) = effect else { continue };
                let mut tx = test.store.begin().await.expect("a transaction");
                let applied = calls::apply_for_runner(&mut tx, &row, &change, None, now()).await;
                row = applied.expect("written").expect("our lease");
                tx.commit().await.expect("committed");
            }
        }
        row
    }

    #[tokio::test]
    async fn a_node_whose_clock_is_ahead_takes_no_call_that_another_runs() {
        for test in stores().await {
            let node = |n| NodeId::new(now(), [n; 10]);
            let row = dialled(&test, node(1)).await;
            let lease = LeaseTime::new(&Clock::system(), LEASE);
            let mut tx = test.store.begin().await.expect("a transaction");
            let kept = renew_leases_for_node(&mut tx, node(1), &[row.call_id()], lease).await.expect("renewed");
            assert_eq!(kept, [row.call_id()], "{}", test.engine);
            let tomorrow = Clock::system().now() + std::time::Duration::from_secs(24 * 3600);
            let claim = Claim { node: node(2), now: tomorrow, lease, limit: 10, running: &[] };
            let taken = claim_abandoned_for_recovery(&mut tx, &claim).await.expect("asked");
            assert!(taken.is_empty(), "{}: the lease lasts by the database's clock", test.engine);
            let its_own = Claim { lease: LeaseTime::at(tomorrow, LEASE), ..claim };
            let taken = claim_abandoned_for_recovery(&mut tx, &its_own).await.expect("asked");
            assert_eq!(taken.len(), 1, "{}: by its own clock it would have been taken", test.engine);
        }
    }

    #[tokio::test]
    async fn a_call_that_was_dialled_before_it_was_due_is_recovered() {
        for test in stores().await {
            let node = |n| NodeId::new(now(), [n; 10]);
            let row = dialled(&test, node(1)).await;
            // A browser came before its minute was over, or the clock that dialled was ahead.
            let before = Timestamp::from_micros(row.due_at) - std::time::Duration::from_secs(60);
            let lapsed = LeaseTime::at(now() + LEASE * 2, LEASE);
            let claim = Claim { node: node(2), now: before, lease: lapsed, limit: 10, running: &[] };
            let mut tx = test.store.begin().await.expect("a transaction");
            let due = claim_due_for_dialer(&mut tx, &claim).await.expect("asked");
            let orphaned = claim_abandoned_for_recovery(&mut tx, &claim).await.expect("asked");
            assert_eq!((due.len(), orphaned.len()), (0, 1), "{}", test.engine);
        }
    }

    #[tokio::test]
    async fn a_stream_of_another_call_moves_no_lease() {
        for test in stores().await {
            let node = |n| NodeId::new(now(), [n; 10]);
            let row = dialled(&test, node(1)).await;
            let moved = async |carrier_call_id, node| {
                let mut tx = test.store.begin().await.expect("a transaction");
                let moved = move_for_media(&mut tx, row.call_id(), carrier_call_id, node, LeaseTime::at(now(), LEASE))
                    .await
                    .expect("asked");
                tx.commit().await.expect("committed");
                moved
            };
            assert!(moved("CA2", node(2)).await.is_none(), "{}: another id", test.engine);
            assert!(moved("CA1", node(1)).await.is_none(), "{}: its own node has it already", test.engine);
            let mut conn = test.store.read().await.expect("a connection");
            let kept = calls::get_for_carrier(&mut conn, row.call_id()).await.expect("read").expect("it is there");
            drop(conn);
            let lease = |row: &CallRow| (row.lease_owner, row.lease_token);
            assert_eq!(lease(&kept), lease(&row), "{}: nobody lost it", test.engine);
            let taken = moved("CA1", node(2)).await.expect("it moves");
            assert_eq!(lease(&taken), (Some(node(2).uuid()), row.lease_token + 1), "{}", test.engine);
        }
    }
}
