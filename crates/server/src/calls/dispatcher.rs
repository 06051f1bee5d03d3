//! Finds the rows that need this node. Queried on every wakeup and every second: queued calls that are due, calls whose node is dead,
//! and calls with a requested hang-up. In addition, all leases are renewed every five seconds, with one statement.

use std::collections::HashSet;
use std::time::Duration;

use switchhook_core::id::CallId;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::runner::{self, ClaimReason};
use super::{Context, HEARTBEAT, LEASE, LIVE_CALLS, RunnerSignal};
use crate::store::Symptom;
use crate::store::calls::{self, Claim};

/// How often the rows are queried without a wakeup.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often commands are queried: they are part of a conversation, and those written by another node come without a wakeup. The table
/// only holds commands that no runner has taken, so the query costs next to nothing.
const LOOK_FOR_COMMANDS: Duration = Duration::from_millis(200);
/// The maximum number of calls claimed at once.
const BATCH: i64 = 100;

/// Claims and runs calls until `stop`, then lets the live ones end. `end_now` ends the remaining ones.
///
/// Queued calls that were claimed but not dialled are handed back.
pub async fn run(context: Context, stop: CancellationToken, end_now: CancellationToken) {
    metrics::describe_gauge!(LIVE_CALLS, "Calls that run on this node now");
    metrics::gauge!(LIVE_CALLS).set(0);
    tokio::select! {
        () = look_after_rows(&context, &stop, &end_now) => {}
        () = keep_leases(&context) => {}
    }
    if let Err(error) = hand_back(&context).await {
        tracing::warn!(%error, "could not hand back claimed calls; other nodes claim them when the lease ends");
    }
}

/// Queries the rows until `stop`, and then until no call is live.
async fn look_after_rows(context: &Context, stop: &CancellationToken, end_now: &CancellationToken) {
    let mut looks = tokio::time::interval(POLL_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut commands = tokio::time::interval(LOOK_FOR_COMMANDS);
    commands.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut drained = false;
    let mut unconfirmed = HashSet::new();
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            () = context.wakeups.calls.notified() => {}
            _ = commands.tick(), if context.live.count() > 0 => {
                in_time(context, "read the commands to calls", signal_commands(context)).await;
                continue;
            }
            () = end_now.cancelled(), if !drained => {
                drained = true;
                context.live.signal_all(RunnerSignal::Drain);
            }
        }
        if stop.is_cancelled() {
            if context.live.count() == 0 {
                break;
            }
        } else {
            in_time(context, "end canceled calls", cancel(context)).await;
            if in_time(context, "claim due calls", claim(context, &mut unconfirmed)).await {
                context.heartbeats.calls.beat();
            }
        }
        in_time(context, "read requests to hang up", signal_hangups(context)).await;
        in_time(context, "read the commands to calls", signal_commands(context)).await;
    }
    context.runners.close();
    context.runners.wait().await;
}

/// Does database work, named as in "could not …", which is retried at the next query if it fails. Returns whether it succeeded.
async fn in_time(context: &Context, what: &str, work: impl Future<Output = Result<(), sqlx::Error>>) -> bool {
    match tokio::time::timeout(HEARTBEAT, work).await {
        Ok(Ok(())) => return true,
        Ok(Err(error)) => {
            tracing::error!(%error, "could not {what}; retrying");
            context.store.note(Symptom::of(&error));
        }
        Err(_) => tracing::error!("could not {what}, because the database does not respond; retrying"),
    }
    false
}

/// Renews the leases periodically; never returns.
async fn keep_leases(context: &Context) {
    let mut heartbeats = tokio::time::interval(HEARTBEAT);
    heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut owned_until = Instant::now() + LEASE;
    loop {
        heartbeats.tick().await;
        owned_until = renew_leases(context, owned_until).await;
    }
}

/// Renews every lease. A call that another node owns by now, as after this process was suspended for a while, is abandoned. So are all
/// calls when no renewal has succeeded for the duration of a lease, since their owner is unknown then. While the database cannot be
/// written, no other process can take them.
async fn renew_leases(context: &Context, owned_until: Instant) -> Instant {
    let started = Instant::now();
    let running = context.live.ids();
    match tokio::time::timeout(HEARTBEAT, renew(context, &running)).await {
        Ok(Ok(kept)) => {
            let kept: HashSet<CallId> = kept.into_iter().collect();
            for lost in running.into_iter().filter(|call| !kept.contains(call)) {
                // The runner of a call that has just ended may be gone.
                context.live.signal(lost, RunnerSignal::Abandon);
            }
            context.heartbeats.leases.beat();
            return started + LEASE;
        }
        Ok(Err(error)) if context.store.is_unwritable(&error) => {
            tracing::error!(%error, "could not renew the leases of live calls, because the database cannot be written; retrying");
            return started + LEASE;
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "could not renew the leases of live calls; retrying");
            context.store.note(Symptom::of(&error));
        }
        Err(_) => {
            tracing::error!(
                "could not renew the leases of live calls, because the database does not respond; retrying"
            );
        }
    }
    if Instant::now() >= owned_until {
        context.live.signal_all(RunnerSignal::Abandon);
    }
    owned_until
}

async fn renew(context: &Context, running: &[CallId]) -> Result<Vec<CallId>, sqlx::Error> {
    if running.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = context.leases.begin().await?;
    let kept = calls::renew_leases_for_node(&mut tx, context.node, running, context.lease()).await?;
    tx.commit().await?;
    Ok(kept)
}

/// Ends queued calls with a requested hang-up that no node runs.
async fn cancel(context: &Context) -> Result<(), sqlx::Error> {
    loop {
        let mut tx = context.store.begin().await?;
        let canceled = calls::lock_canceled_for_dialer(&mut tx, BATCH).await?;
        let more = i64::try_from(canceled.len()).unwrap_or(0) == BATCH;
        for row in canceled {
            calls::cancel_queued(&mut tx, row, context.clock.now()).await?;
        }
        tx.commit().await?;
        if !more {
            return Ok(());
        }
    }
}

/// Claims calls and runs them. `unconfirmed` are those of an earlier claim that failed: if it was committed nevertheless, they would wait
/// for the end of their leases.
async fn claim(context: &Context, unconfirmed: &mut HashSet<(CallId, i64)>) -> Result<(), sqlx::Error> {
    loop {
        let now = context.clock.now();
        let mut tx = context.store.begin().await?;
        let running = context.live.ids();
        unconfirmed.retain(|(call, _)| !running.contains(call));
        calls::give_back_for_node(&mut tx, context.node, unconfirmed).await?;
        let claim = Claim { node: context.node, now, lease: context.lease(), limit: BATCH, running: &running };
        let due = calls::claim_due_for_dialer(&mut tx, &claim).await?;
        let left = calls::claim_abandoned_for_recovery(&mut tx, &claim).await?;
        unconfirmed.extend(due.iter().chain(&left).map(|row| (row.call_id(), row.lease_token)));
        tx.commit().await?;
        unconfirmed.clear();
        let more = i64::try_from(due.len().max(left.len())).unwrap_or(0) == BATCH;
        for (rows, reason) in [(due, ClaimReason::Queued), (left, ClaimReason::Orphaned)] {
            for row in rows {
                if let Some(entry) = context.live.register(row.call_id()) {
                    context.runners.spawn(runner::run(context.clone(), row, reason, entry));
                }
            }
        }
        if !more {
            return Ok(());
        }
    }
}

async fn signal_hangups(context: &Context) -> Result<(), sqlx::Error> {
    if context.live.count() == 0 {
        return Ok(());
    }
    let mut conn = context.store.read().await?;
    for id in calls::hangup_requests_for_node(&mut conn, context.node).await? {
        context.live.signal(CallId::from_uuid(id), RunnerSignal::HangUp);
    }
    Ok(())
}

async fn signal_commands(context: &Context) -> Result<(), sqlx::Error> {
    if context.live.count() == 0 {
        return Ok(());
    }
    let mut conn = context.store.read().await?;
    for id in calls::commands::waiting_for_nodes(&mut conn).await? {
        context.live.signal(CallId::from_uuid(id), RunnerSignal::Commands);
    }
    Ok(())
}

async fn hand_back(context: &Context) -> Result<(), sqlx::Error> {
    let mut tx = context.store.begin().await?;
    calls::hand_back_for_node(&mut tx, context.node).await?;
    tx.commit().await
}
