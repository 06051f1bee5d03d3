//! Background work of a node: indexes ended calls, and deletes what is past its retention. Any number of nodes can do this at the
//! same time. Transactions are small, with pauses in between, so that requests do not notice.

use std::time::Duration;

use switchhook_core::Timestamp;
use switchhook_core::id::TenantId;
use switchhook_runtime::clock::Clock;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::Config;
use crate::recordings::Recordings;
use crate::retention::Retention;
use crate::store::agents::pruning;
use crate::store::calls::{commands, inputs, search};
use crate::store::{Store, deliveries, dial_policy, idempotency, invitations, retention, sessions, tenants};

/// Interval of rounds.
const ROUND_INTERVAL: Duration = Duration::from_secs(30);
/// How far back a round looks for changes, because commits take time and clocks differ.
const LOOK_BACK: Duration = Duration::from_secs(120);
/// Rounds between scans of the whole disk for recordings to delete: once a day.
const DISK: u32 = 24 * 60 * 2;
/// Calls deleted per transaction; each has about twenty rows.
const CALLS: usize = 8;
/// [`Housekeeping::pause_factor`] beside requests.
const PAUSE_FACTOR: u32 = 9;
/// Segments per transaction when there are many, so that each index page is written once rather than once per
/// segment.
const MANY: usize = 64;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The housekeeping of a node.
pub struct Housekeeping {
    store: Store,
    clock: Clock,
    retention: Retention,
    /// Retention of ended calls; `None` keeps them forever.
    calls_kept: Option<Duration>,
    /// Retention of ended deliveries.
    deliveries_kept: Duration,
    /// Retention of the inputs of conversations.
    inputs_kept: Duration,
    /// The pause after a transaction of a long job, in multiples of its duration.
    pause_factor: u32,
}

impl Housekeeping {
    /// Creates the housekeeping configured by `config`.
    #[must_use]
    pub fn new(store: Store, clock: Clock, config: &Config) -> Self {
        Self {
            retention: Retention::new(store.clone(), Recordings::below(&config.data_dir)),
            store,
            clock,
            calls_kept: config.retention_days.map(|days| DAY * days),
            deliveries_kept: DAY * config.delivery_retention_days,
            inputs_kept: DAY * config.replay_days,
            pause_factor: PAUSE_FACTOR,
        }
    }

    /// Works without pauses, for tests in which no request waits for the database.
    #[cfg(test)]
    pub(crate) fn without_pauses(self) -> Self {
        Self { pause_factor: 0, ..self }
    }

    /// Runs a round every half minute until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut rounds = tokio::time::interval(ROUND_INTERVAL);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = self.clock.now();
        for round in 0_u32.. {
            tokio::select! {
                _ = rounds.tick() => {}
                () = stop.cancelled() => return,
            }
            let now = self.clock.now();
            tokio::select! {
                () = self.round(round, last, now) => {}
                () = stop.cancelled() => return,
            }
            last = now;
        }
    }

    async fn round(&self, round: u32, last: Timestamp, now: Timestamp) {
        let since = last - LOOK_BACK;
        warn("could not index calls", self.index(since).await);
        warn("could not delete old rows", self.prune(now).await);
        warn("could not delete the words of calls", self.erase(round, since, now).await);
        warn("could not delete calls", self.delete_calls(now).await);
        warn("could not delete versions of agents", self.prune_versions().await);
        warn("could not return free space", self.return_space().await);
    }

    /// Creates index segments for tenants with enough calls that ended after `since`.
    async fn index(&self, since: Timestamp) -> Result<(), sqlx::Error> {
        let tenants = search::tenants_with_ends_for_housekeeping(&mut self.store.read().await?, since).await?;
        for tenant in tenants {
            index(&self.store, tenant, 1, &mut |_| {}).await?;
        }
        Ok(())
    }

    pub(crate) async fn prune(&self, now: Timestamp) -> Result<(), sqlx::Error> {
        loop {
            let started = Instant::now();
            let mut tx = self.store.begin().await?;
            let deleted = idempotency::prune_for_housekeeping(&mut tx, now).await?
                + commands::prune_for_housekeeping(&mut tx).await?
                + dial_policy::prune_for_housekeeping(&mut tx, now).await?
                + sessions::prune_for_housekeeping(&mut tx, now).await?
                + invitations::prune_for_housekeeping(&mut tx, now).await?
                + inputs::prune_for_housekeeping(&mut tx, now - self.inputs_kept).await?;
            tx.commit().await?;
            if deleted == 0 {
                break;
            }
            self.pause(started).await;
        }
        let before = now - self.deliveries_kept;
        let mut after = Uuid::nil();
        loop {
            let started = Instant::now();
            let mut tx = self.store.begin().await?;
            let Some(last) = deliveries::prune_for_housekeeping(&mut tx, after, before).await? else { return Ok(()) };
            tx.commit().await?;
            after = last;
            self.pause(started).await;
        }
    }

    async fn erase(&self, round: u32, since: Timestamp, now: Timestamp) -> Result<(), sqlx::Error> {
        self.retention.erase_expired(now).await?;
        if round.is_multiple_of(DISK) {
            self.retention.sweep(self.calls_kept.map(|kept| now - kept)).await
        } else {
            self.retention.remove_erased(since).await
        }
    }

    /// Deletes ended calls past their retention.
    pub(crate) async fn delete_calls(&self, now: Timestamp) -> Result<(), sqlx::Error> {
        let Some(kept) = self.calls_kept else { return Ok(()) };
        let before = now - kept;
        loop {
            let calls = retention::ended_before_for_housekeeping(&mut self.store.read().await?, before).await?;
            let Some((tenant, _)) = calls.first().copied() else { break };
            let of_tenant: Vec<_> = calls.iter().filter(|(of, _)| *of == tenant).map(|(_, call)| *call).collect();
            self.delete_batches(tenant, None, &of_tenant).await?;
        }
        while let Some(expired) =
            search::expired_segment_for_housekeeping(&mut self.store.read().await?, before).await?
        {
            self.delete_batches(expired.tenant, Some(expired.segment), &expired.calls).await?;
            let mut tx = self.store.begin().await?;
            search::delete_segment_for_housekeeping(&mut tx, &expired).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn delete_batches(&self, tenant: TenantId, segment: Option<i64>, calls: &[Uuid]) -> Result<(), sqlx::Error> {
        for batch in calls.chunks(CALLS) {
            let started = Instant::now();
            let mut tx = self.store.begin().await?;
            retention::delete_calls_for_housekeeping(&mut tx, tenant, segment, batch).await?;
            tx.commit().await?;
            self.retention.remove_recordings(tenant, batch).await;
            self.pause(started).await;
        }
        Ok(())
    }

    /// Deletes versions of deleted agents that no call has, and those that an earlier version of this program did not delete.
    pub(crate) async fn prune_versions(&self) -> Result<(), sqlx::Error> {
        loop {
            let agents = pruning::waiting_for_housekeeping(&mut self.store.read().await?).await?;
            if agents.is_empty() {
                return Ok(());
            }
            for (tenant, agent) in agents {
                let mut after = Some(0);
                while let Some(version) = after {
                    let started = Instant::now();
                    let mut tx = self.store.begin().await?;
                    tenants::lock(&mut tx, tenant).await?;
                    after = pruning::prune_for_housekeeping(&mut tx, tenant, agent, version).await?;
                    tx.commit().await?;
                    self.pause(started).await;
                }
            }
        }
    }

    async fn pause(&self, started: Instant) {
        tokio::time::sleep(started.elapsed() * self.pause_factor).await;
    }

    /// Returns the space of deleted rows to the file system, if the database does not do so itself.
    pub(crate) async fn return_space(&self) -> Result<(), sqlx::Error> {
        loop {
            let started = Instant::now();
            let mut tx = self.store.begin().await?;
            let more = tx.give_space_back().await?;
            tx.commit().await?;
            if !more {
                return Ok(());
            }
            self.pause(started).await;
        }
    }
}

/// Creates index segments from a tenant's pending calls while there are enough, `at_once` per transaction; reports their number
/// to `made`.
async fn index(
    store: &Store,
    tenant: TenantId,
    at_once: usize,
    made: &mut impl FnMut(usize),
) -> Result<(), sqlx::Error> {
    while search::pending_for_housekeeping(&mut store.read().await?, tenant).await? >= search::SEGMENT {
        let mut tx = store.begin().await?;
        let segments = search::seal_for_housekeeping(&mut tx, tenant, at_once).await?;
        if segments == 0 {
            return Ok(());
        }
        tx.commit().await?;
        made(segments);
    }
    Ok(())
}

/// Indexes the calls of a database with many unindexed ones, as after an update from a version without the index.
/// `progress` receives the indexed and the total number of calls.
///
/// # Errors
/// When the database fails. Earlier segments stay.
pub async fn index_all(store: &Store, mut progress: impl FnMut(usize, usize)) -> Result<(), sqlx::Error> {
    let tenants = search::tenants_to_index_for_housekeeping(&mut store.read().await?).await?;
    let total = tenants.iter().map(|(_, calls)| calls).sum();
    let mut done = 0;
    if total > 0 {
        store.prepare_for_much().await?;
    }
    for (tenant, _) in tenants {
        index(store, tenant, MANY, &mut |segments| {
            done += segments * search::SEGMENT;
            progress(done, total);
        })
        .await?;
    }
    if total > 0 {
        store.settle_after_index().await?;
    }
    Ok(())
}

fn warn(what: &str, result: Result<(), sqlx::Error>) {
    if let Err(error) = result {
        tracing::warn!(%error, "{what}; retrying");
    }
}
