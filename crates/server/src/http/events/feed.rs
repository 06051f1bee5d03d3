//! Feeds of events: one task reads the database for all who follow a tenant on this node.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchhook_core::Timestamp;
use switchhook_core::id::{EventId, TenantId};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::http::HttpState;
use crate::store::events::{self, EventRow};

/// Time between two looks without a wakeup, as for calls on other nodes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum time between two looks.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Ids are made before their commit, which takes at most this long, waits for connections and locks included: an event can appear before
/// others that are this much newer.
const COMMIT_DELAY: Duration = Duration::from_secs(12);
/// Events read at once.
const BATCH: i64 = 500;
/// Events that a follower can be behind.
const CAPACITY: usize = 2_048;

/// The feeds of this node. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct Feeds(Arc<Mutex<HashMap<TenantId, broadcast::Sender<Arc<EventRow>>>>>);

impl Feeds {
    /// Subscribes to the events of a tenant, from a few seconds ago.
    pub(super) fn subscribe(&self, state: &HttpState, tenant: TenantId) -> broadcast::Receiver<Arc<EventRow>> {
        let mut feeds = self.feeds();
        if let Some(feed) = feeds.get(&tenant) {
            return feed.subscribe();
        }
        let (sender, receiver) = broadcast::channel(CAPACITY);
        feeds.insert(tenant, sender.clone());
        tokio::spawn(feed(state.clone(), tenant, sender));
        receiver
    }

    /// Ends a feed without followers. Returns whether it has ended.
    fn end_unused(&self, tenant: TenantId, feed: &broadcast::Sender<Arc<EventRow>>) -> bool {
        let mut feeds = self.feeds();
        let unused = feed.receiver_count() == 0;
        if unused {
            feeds.remove(&tenant);
        }
        unused
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<TenantId, broadcast::Sender<Arc<EventRow>>>> {
        // The state is consistent at every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the events of a tenant until no stream follows. When the database fails, all streams end, and their clients resume them.
async fn feed(state: HttpState, tenant: TenantId, sender: broadcast::Sender<Arc<EventRow>>) {
    let wakeups = state.wakeups.webhooks.clone();
    let mut sent: HashSet<Uuid> = HashSet::new();
    let mut looked_at = state.clock.now();
    while !state.feeds.end_unused(tenant, &sender) && !state.draining.started() {
        let wakeup = wakeups.followed(); // Registered before the query, so that no event is missed in between.
        // The node may have been suspended since the last look, and a clock may be set forward.
        let (last, now) = (looked_at, state.clock.now());
        let since = overlapping(last.min(now));
        looked_at = now;
        sent.retain(|id| *id > since);
        match new(&state, tenant, since, &mut sent).await {
            Ok(events) => events.into_iter().for_each(|event| {
                // Without listeners the feed ends.
                let _ = sender.send(Arc::new(event));
            }),
            Err(error) => {
                tracing::warn!(%error, "could not read events; their streams end");
                break;
            }
        }
        tokio::time::sleep(MIN_POLL_INTERVAL).await;
        let _ = tokio::time::timeout(POLL_INTERVAL - MIN_POLL_INTERVAL, wakeup).await; // A timeout also means: look.
    }
    let mut feeds = state.feeds.feeds();
    if feeds.get(&tenant).is_some_and(|current| current.same_channel(&sender)) {
        feeds.remove(&tenant);
    }
}

/// Reads the events after `since` that were not sent before.
async fn new(
    state: &HttpState,
    tenant: TenantId,
    mut since: Uuid,
    sent: &mut HashSet<Uuid>,
) -> Result<Vec<EventRow>, sqlx::Error> {
    let mut found = Vec::new();
    loop {
        let mut conn = state.store.read().await?;
        let rows = events::after(&mut conn, tenant, since, BATCH).await?;
        drop(conn);
        let full = rows.len() >= usize::try_from(BATCH).unwrap_or(usize::MAX);
        since = rows.last().map_or(since, |event| event.id);
        found.extend(rows.into_iter().filter(|event| sent.insert(event.id)));
        if !full {
            return Ok(in_order(found));
        }
    }
}

/// Ids of the same millisecond are in no order.
pub(super) fn in_order(mut events: Vec<EventRow>) -> Vec<EventRow> {
    events.sort_by_key(|event| (event.created_at, event.sequence));
    events
}

/// The id after which events are read that may not have been seen at `at`.
pub(super) fn overlapping(at: Timestamp) -> Uuid {
    EventId::new(at - COMMIT_DELAY, [0; 10]).uuid()
}

/// Returns when an event's id was created; `None` if it is not an event's id.
pub(super) fn time_of(id: Uuid) -> Option<Timestamp> {
    let (seconds, nanos) = id.get_timestamp().filter(|_| id.get_version_num() == 7)?.to_unix();
    let millis = i64::try_from(seconds).ok()?.checked_mul(1_000)?.checked_add(i64::from(nanos / 1_000_000))?;
    Some(Timestamp::from_millis(millis))
}
