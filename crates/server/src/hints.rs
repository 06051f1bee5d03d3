//! Wake-ups between parts of the process. A hint says that there may be work; the rows are the truth, so a lost hint
//! costs a moment and a needless one a look.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Whom to wake. Clones wake the same.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Calls to dial or to end.
    pub calls: Arc<Notify>,
    /// Events to tell: deliveries to send, followers to show them to.
    pub webhooks: Arc<Events>,
}

/// The hint that there are new events.
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

    /// For the worker: a hint that was given while it was busy is kept.
    pub fn notified(&self) -> Notified<'_> {
        self.worker.notified()
    }

    /// For followers: the next hint from now on.
    pub fn followed(&self) -> Notified<'_> {
        self.followers.notified()
    }
}
