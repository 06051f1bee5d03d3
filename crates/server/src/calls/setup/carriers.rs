//! Carriers by connection. They hold credentials, so they are forgotten when nobody needs them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use switchhook_core::id::ConnectionId;

use crate::carrier::Carrier;

/// How long a carrier is kept that no call has.
const UNUSED: Duration = Duration::from_secs(3_600);

/// The carriers that were made, each for one version of its connection.
#[derive(Default)]
pub(super) struct Carriers(Mutex<HashMap<ConnectionId, Made>>);

struct Made {
    version: i64,
    used: Instant,
    carrier: Arc<dyn Carrier>,
}

impl Carriers {
    /// The carrier of this version of a connection.
    pub(super) fn find(&self, id: ConnectionId, version: i64, now: Instant) -> Option<Arc<dyn Carrier>> {
        let mut made = self.made();
        let made = made.get_mut(&id).filter(|made| made.version == version)?;
        made.used = now;
        Some(made.carrier.clone())
    }

    /// Keeps a carrier in place of that of another version.
    pub(super) fn keep(&self, id: ConnectionId, version: i64, now: Instant, carrier: Arc<dyn Carrier>) {
        self.made().insert(id, Made { version, used: now, carrier });
    }

    /// Forgets the carrier of a connection that has changed or is gone. Live calls keep theirs.
    pub(super) fn forget(&self, id: ConnectionId) {
        self.made().remove(&id);
    }

    /// Forgets what no call has and nobody has asked for in a while.
    pub(super) fn forget_unused(&self, now: Instant) {
        self.made().retain(|_, made| {
            let in_a_call = Arc::strong_count(&made.carrier) > 1;
            in_a_call || now.saturating_duration_since(made.used) < UNUSED
        });
    }

    fn made(&self) -> MutexGuard<'_, HashMap<ConnectionId, Made>> {
        // It is whole at every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::simulator::Simulator;

    fn id(number: u8) -> ConnectionId {
        ConnectionId::from_uuid(uuid::Uuid::from_bytes([number; 16]))
    }

    #[test]
    fn a_carrier_is_forgotten_when_it_is_unused_and_no_call_has_it() {
        let (carriers, now) = (Carriers::default(), Instant::now());
        let known = |number| carriers.made().contains_key(&id(number));
        for number in [1, 2, 3] {
            carriers.keep(id(number), 7, now, Arc::new(Simulator::new()));
        }
        let in_a_call = carriers.find(id(1), 7, now).expect("kept");
        assert!(carriers.find(id(1), 8, now).is_none(), "the connection has changed");
        carriers.find(id(2), 7, now + UNUSED / 2).expect("kept");
        carriers.forget_unused(now + UNUSED);
        assert!(known(1) && known(2) && !known(3));
        drop(in_a_call);
        carriers.forget_unused(now + UNUSED * 2);
        assert!(!known(1) && !known(2));
    }

    #[test]
    fn the_carrier_of_a_changed_connection_is_forgotten_at_once() {
        let (carriers, now) = (Carriers::default(), Instant::now());
        carriers.keep(id(1), 7, now, Arc::new(Simulator::new()));
        let in_a_call = carriers.find(id(1), 7, now).expect("kept");
        carriers.forget(id(1));
        assert!(carriers.find(id(1), 7, now).is_none());
        assert_eq!(Arc::strong_count(&in_a_call), 1, "only the call has it");
    }
}
