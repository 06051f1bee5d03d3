//! Commits what was decided: status, fields, events and deliveries in one transaction, under the fencing token.

use std::time::Duration;

use serde_json::json;
use switchhook_core::call::{Change, EndReason, Status};
use switchhook_providers::Usage;
use tokio::time::Instant;

use super::{Runner, Stopped};
use crate::store::calls::{self, CallRow};
use crate::store::{self, Dialect, Symptom};

/// How long a failing commit is retried; less than a lease, so that no other node can own the call by then.
const RETRY_FOR: Duration = Duration::from_secs(9);
/// How long a commit to a full disk is retried while no other process can claim the call, if it was dialled.
const FULL_DISK_RETRY_FOR: Duration = Duration::from_secs(600);
/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The result of a commit.
#[must_use]
pub(super) enum Committed {
    /// The change is written.
    Written,
    /// The change can never be written: another call of the connection has the carrier's call id that it contains.
    IdTaken,
}

impl Runner {
    /// Commits `change`, retrying while the database is unavailable; the call's deadlines move by that time. Detects an attempt that succeeded
    /// although its response was lost, so nothing is written twice.
    pub(super) async fn commit(&mut self, change: &Change) -> Result<Committed, Stopped> {
        if change.status.is_terminal() {
            self.count_what_was_unused().await;
            self.take_received_events();
            self.transcript.end_orphaned(self.ends_transferred(change));
            self.transcript.leave_to_commit();
        }
        let (began, mut patience, mut failed) = (Instant::now(), RETRY_FOR, false);
        loop {
            match store::in_time(self.try_commit(change)).await {
                Ok(Some(row)) => {
                    self.row = row;
                    if failed {
                        self.call.postpone(began.elapsed());
                    }
                    if !change.events.is_empty() {
                        self.context.wakeups.webhooks.notify_one();
                    }
                    tracing::info!(status = change.status.as_str(), events = change.events.len(), "the call moved on");
                    return Ok(Committed::Written);
                }
                Ok(None) => {
                    tracing::warn!("another node owns this call now; releasing it");
                    return Err(Stopped);
                }
                Err(error) if change.carrier_call_id.is_some() && store::is_duplicate(&error) => {
                    return Ok(Committed::IdTaken);
                }
                Err(error) if began.elapsed() < self.patience(&mut patience, &error) => {
                    tracing::warn!(%error, "could not write a change of this call; retrying");
                    failed = true;
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
                Err(error) => {
                    tracing::error!(%error, "could not write a change of this call; releasing it");
                    return Err(Stopped);
                }
            }
        }
    }

    /// Returns whether the call ends because the caller was transferred; its end may have been written before.
    fn ends_transferred(&self, change: &Change) -> bool {
        let written = self.row.end_reason.as_deref() == Some(EndReason::Transferred.as_str());
        change.ending.as_ref().map_or(written, |ending| ending.reason() == Some(EndReason::Transferred))
    }

    /// Returns how long to try. A disk that was full once has time to get room, also if a later error names only a consequence.
    fn patience(&self, patience: &mut Duration, error: &sqlx::Error) -> Duration {
        self.context.store.note(Symptom::of(error));
        if store::why_unwritable(error).is_some() {
            *patience = FULL_DISK_RETRY_FOR;
        }
        if self.is_kept() && self.is_dialled() { *patience } else { RETRY_FOR }
    }

    /// Returns whether the call is no longer queued. A queued one is claimed and dialled when its change can be written: its dial would be out of
    /// date by then.
    fn is_dialled(&self) -> bool {
        self.row.status != Status::Queued.as_str()
    }

    /// Returns whether no other process can claim the call: nothing can write to a full disk of SQLite, while PostgreSQL may find room for the
    /// claim of another node once the lease is no longer renewed.
    fn is_kept(&self) -> bool {
        self.context.store.dialect() == Dialect::Sqlite || !self.context.heartbeats.leases.stalled()
    }

    /// Adds the cost of preparing a conversation that never began.
    async fn count_what_was_unused(&mut self) {
        let Some(unused) = self.prepared.take().or(self.unused.take()) else { return };
        let cost = unused.cost().await;
        if cost != Usage::default() {
            self.wrap_up.get_or_insert_default().usage.get_or_insert_with(|| json!(cost));
        }
    }

    async fn try_commit(&self, change: &Change) -> Result<Option<CallRow>, sqlx::Error> {
        let wrap_up = self.wrap_up.as_deref().filter(|_| change.status.is_terminal());
        let mut tx = self.context.store.begin().await?;
        // Events have the time of day, by which feeds and deliveries find them.
        let now = self.context.clock.now();
        let (call, token) = (self.row.call_id(), self.row.lease_token);
        // The terminal event promises a complete transcript.
        let written = !change.status.is_terminal() || self.transcript.write_rest(&mut tx, call, token).await?;
        let applied =
            if written { calls::apply_for_runner(&mut tx, &self.row, change, wrap_up, now).await? } else { None };
        let Some(row) = applied else {
            drop(tx);
            let mut conn = self.context.store.read().await?;
            return calls::applied_for_runner(&mut conn, &self.row, change).await;
        };
        tx.commit().await?;
        Ok(Some(row))
    }
}
