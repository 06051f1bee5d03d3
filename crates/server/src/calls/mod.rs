//! Live calls.
//!
//! The [`dispatcher`] queries the rows and claims what is due: queued calls to dial, and calls orphaned by a dead node. For each it
//! starts a [`runner`], the only task that owns a live call: it drives [`switchhook_core::call::Call`], commits its decisions under the
//! lease's fencing token, and only then acts. [`setup`] turns an agent's configuration into a carrier and a pipeline of providers. No
//! other task touches a live call; others write a row and wake the dispatcher.

pub mod dial_permission;
pub mod dispatcher;
pub mod incoming;
pub mod place;
pub mod quota;
pub mod runner;
pub mod setup;
pub mod tariff;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchhook_carriers::{LegEvent, LegEvents};
use switchhook_core::id::{CallId, NodeId};
use switchhook_runtime::clock::Clock;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::config::Config;
use crate::heartbeats::Heartbeats;
use crate::store::Store;
use crate::store::lease_time::LeaseTime;
use crate::talk::audience::Audience;
use crate::wakeups::Wakeups;

/// How long a node owns a call without renewing its lease.
pub const LEASE: Duration = Duration::from_secs(15);
/// How often leases are renewed.
pub const HEARTBEAT: Duration = Duration::from_secs(5);

/// The number of calls that run on this node.
const LIVE_CALLS: &str = "switchhook_live_calls";

/// The dependencies of every runner.
#[derive(Clone)]
pub struct Context {
    /// The database.
    pub store: Store,
    /// The database, with connections reserved for renewing leases.
    pub leases: Store,
    /// The time of day.
    pub clock: Clock,
    /// The configuration.
    pub config: Arc<Config>,
    /// Reports whether calls are dialled and leases renewed.
    pub heartbeats: Heartbeats,
    /// Wakes the webhook worker after events.
    pub wakeups: Wakeups,
    /// Carriers and providers by connection.
    pub setup: Arc<setup::Setup>,
    /// This process.
    pub node: NodeId,
    /// The live calls of this process.
    pub live: Live,
    /// Their tasks.
    pub runners: TaskTracker,
}

impl Context {
    /// Returns the lease for this node's calls.
    fn lease(&self) -> LeaseTime {
        LeaseTime::new(&self.clock, LEASE)
    }
}

/// Signals to a runner from outside its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerSignal {
    /// A hang-up was requested through the API.
    HangUp,
    /// Commands of the API are waiting in the database.
    Commands,
    /// The service is shutting down and cannot wait any longer.
    Drain,
    /// Another node owns the call now, or ownership is unknown: stop without writing.
    Abandon,
}

/// The live calls of this process and how to reach their runners.
#[derive(Clone, Default)]
pub struct Live {
    calls: Arc<Mutex<HashMap<CallId, RunnerHandle>>>,
    /// The calls that have a media stream open here.
    streams: Arc<Mutex<HashSet<CallId>>>,
}

/// The channels to the runner of a live call.
struct RunnerHandle {
    signals: mpsc::UnboundedSender<RunnerSignal>,
    events: LegEvents,
    audience: Audience,
}

impl Live {
    fn with<T>(&self, use_it: impl FnOnce(&mut HashMap<CallId, RunnerHandle>) -> T) -> T {
        // The map is consistent at every step, so a panic while it was locked has done no harm.
        use_it(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Registers a call; `None` if it is already running here.
    fn register(&self, call: CallId) -> Option<LiveEntry> {
        let (sender, signals) = mpsc::unbounded_channel();
        let (events, received) = LegEvents::new();
        let audience = Audience::default();
        let fresh = self.with(|calls| match calls.entry(call) {
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(RunnerHandle { signals: sender, events: events.clone(), audience: audience.clone() });
                measure(calls.len());
                true
            }
            std::collections::hash_map::Entry::Occupied(_) => false,
        });
        fresh.then(|| LiveEntry { live: self.clone(), call, signals, events, received, audience })
    }

    /// Signals one runner, if the call runs here.
    pub fn signal(&self, call: CallId, signal: RunnerSignal) {
        self.with(|calls| {
            if let Some(runner) = calls.get(&call) {
                // A runner that has just ended needs no signal.
                let _ = runner.signals.send(signal);
            }
        });
    }

    /// Returns the event channel of a call that runs here.
    #[must_use]
    pub fn events(&self, call: CallId) -> Option<LegEvents> {
        self.with(|calls| calls.get(&call).map(|runner| runner.events.clone()))
    }

    /// Returns the listeners of a call that runs here.
    #[must_use]
    pub fn audience(&self, call: CallId) -> Option<Audience> {
        self.with(|calls| calls.get(&call).map(|runner| runner.audience.clone()))
    }

    /// Opens the media stream of a call; `None` while another one is open, since a call has one at a time.
    #[must_use]
    pub fn open_stream(&self, call: CallId) -> Option<OpenStream> {
        let opened = self.streams.lock().unwrap_or_else(PoisonError::into_inner).insert(call);
        opened.then(|| OpenStream { live: self.clone(), call })
    }

    /// Signals every runner.
    pub fn signal_all(&self, signal: RunnerSignal) {
        self.with(|calls| {
            for runner in calls.values() {
                // As above.
                let _ = runner.signals.send(signal);
            }
        });
    }

    /// Returns the calls that run here.
    #[must_use]
    pub fn ids(&self) -> Vec<CallId> {
        self.with(|calls| calls.keys().copied().collect())
    }

    /// Returns the number of calls that run here.
    #[must_use]
    pub fn count(&self) -> usize {
        self.with(|calls| calls.len())
    }
}

/// The media stream of a call, which is closed when this is dropped.
pub struct OpenStream {
    live: Live,
    call: CallId,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.live.streams.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

/// Updates the gauge of live calls. Called with the map locked, so that the last update is right.
fn measure(live: usize) {
    metrics::gauge!(LIVE_CALLS).set(u32::try_from(live).unwrap_or(u32::MAX));
}

/// The registration of a live call, removed when this is dropped.
struct LiveEntry {
    live: Live,
    call: CallId,
    signals: mpsc::UnboundedReceiver<RunnerSignal>,
    /// Both ends of the channel of the leg's events.
    events: LegEvents,
    received: mpsc::Receiver<LegEvent>,
    audience: Audience,
}

impl Drop for LiveEntry {
    fn drop(&mut self) {
        self.live.with(|calls| {
            calls.remove(&self.call);
            measure(calls.len());
        });
    }
}
