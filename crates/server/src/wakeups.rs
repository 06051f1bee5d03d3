//! Wakeups between parts of the process. A wakeup is only a hint; workers poll the database, so a lost one costs a moment and a
//! spurious one a query.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// The wakeups of a process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Wakeups {
    /// Calls to dial or to end.
    pub calls: Arc<Notify>,
    /// New events: deliveries to send, streams to update.
    pub webhooks: Arc<EventWakeup>,
}

/// The wakeup for new events.
#[derive(Debug, Default)]
pub struct EventWakeup {
    worker: Notify,
    followers: Notify,
}

impl EventWakeup {
    /// Wakes the webhook worker and event streams.
    pub fn notify_one(&self) {
        self.worker.notify_one();
        self.followers.notify_waiters();
    }

    /// Waits for a wakeup, for the worker; one sent while it was busy is kept.
    pub fn notified(&self) -> Notified<'_> {
        self.worker.notified()
    }

    /// Waits for the next wakeup, for event streams.
    pub fn followed(&self) -> Notified<'_> {
        self.followers.notified()
    }
}
