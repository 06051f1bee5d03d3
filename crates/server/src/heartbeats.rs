//! Whether the work of this node goes round, for `GET /readyz`: a database that responds does not yet dial a call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a kind of work may go without a successful round. The slowest round, the renewal of leases, comes every 5 s.
const BOUND: Duration = Duration::from_secs(10);

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

/// When a kind of work last made a successful round; never on a node that does not do it.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<Mutex<Option<Instant>>>);

impl Heartbeat {
    /// Records a successful round, or that the work begins.
    pub fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether the work has begun and makes no progress.
    #[must_use]
    pub fn stalled(&self) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| last.elapsed() > BOUND)
    }
}

impl Heartbeats {
    /// Whether this node neither dials nor keeps calls although it should.
    #[must_use]
    pub fn calls_stalled(&self) -> bool {
        self.calls.stalled() || self.leases.stalled()
    }
}
