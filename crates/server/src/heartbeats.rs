//! Progress of this node's work, for `GET /readyz`: a database that responds does not prove that calls are dialled.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a kind of work may go without success. The slowest, the renewal of leases, runs every 5 s.
const STALLED_AFTER: Duration = Duration::from_secs(10);

/// The heartbeats of a node's work. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats {
    /// Due calls are claimed.
    pub calls: Heartbeat,
    /// The leases of live calls are renewed.
    pub leases: Heartbeat,
    /// Due deliveries are claimed.
    pub deliveries: Heartbeat,
}

/// When a kind of work last succeeded; unset on a node that does not do it.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<Mutex<Option<Instant>>>);

impl Heartbeat {
    /// Records a successful round, or that the work begins.
    pub fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Returns whether the work has begun and makes no progress.
    #[must_use]
    pub fn stalled(&self) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last.elapsed() > STALLED_AFTER)
    }
}

impl Heartbeats {
    /// Returns whether this node should dial and keep calls but fails to.
    #[must_use]
    pub fn calls_stalled(&self) -> bool {
        self.calls.stalled() || self.leases.stalled()
    }
}
