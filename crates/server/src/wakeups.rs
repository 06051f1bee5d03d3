//! Wakeups between parts of the process. A wakeup says that there may be work; the rows are the truth, so a lost one costs a
//! moment and a needless one a query.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Whom to wake. Clones wake the same.
#[derive(Clone, Debug, Default)]
pub struct Wakeups {
    /// Calls to dial or to end.
    pub calls: Arc<Notify>,
    /// New events: deliveries to send, followers to notify.
    pub webhooks: Arc<Events>,
}

/// The wakeup for new events.
#[derive(Debug, Default)]
pub struct Events {
    worker: Notify,
    followers: Notify,
}

impl Events {
    /// There is something to deliver: wakes the worker, and whoever follows a call.
    pub fn notify_one(&self) {
        self.worker.notify_one();
        self.followers.notify_waiters();
    }

    /// For the worker: a wakeup that came while it was busy is remembered.
    pub fn notified(&self) -> Notified<'_> {
        self.worker.notified()
    }

    /// For followers: the next wakeup from now on.
    pub fn followed(&self) -> Notified<'_> {
        self.followers.notified()
    }
}
