//! State of the carrier: its numbers and all calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;
use time::OffsetDateTime;
use tokio::sync::{mpsc, watch};

use super::flavour::{Flavour, Prefix};
use super::leg::{self, Order};
use super::placing::Placed;
use super::script::Script;
use super::twiml::Verb;
use crate::doubles::complaints::Complaints;

/// Clones share everything.
#[derive(Clone)]
pub(crate) struct Network {
    pub(crate) flavour: Flavour,
    pub(crate) complaints: Complaints,
    pub(crate) http: reqwest::Client,
    state: Arc<Mutex<State>>,
    /// Goes up with each change.
    changes: Arc<watch::Sender<u64>>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) scripts: HashMap<String, Script>,
    pub(crate) numbers: Vec<Number>,
    pub(crate) applications: Vec<Application>,
    pub(crate) calls: Vec<Record>,
    /// How often each number was answered with 429.
    pub(crate) too_many: HashMap<String, u32>,
    /// Requests to place a call, refused ones too, by the number.
    pub(crate) asked: HashMap<String, u32>,
}

/// A number of the account.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    pub(crate) sid: String,
    pub(crate) number: String,
    pub(crate) voice_url: String,
    pub(crate) status_callback: String,
    /// Which wins over the addresses.
    pub(crate) application: Option<String>,
    /// Which wins over everything.
    pub(crate) trunk: Option<String>,
}

/// Addresses that numbers share.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    pub(crate) sid: String,
    pub(crate) name: String,
    pub(crate) voice_url: String,
    pub(crate) status_callback: String,
}

/// A call as the carrier knows it, and what was seen of it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) sid: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) inbound: bool,
    pub(crate) status: &'static str,
    pub(crate) created: OffsetDateTime,
    pub(crate) started: Option<OffsetDateTime>,
    pub(crate) ended: Option<OffsetDateTime>,
    pub(crate) answered_by: Option<&'static str>,
    pub(crate) listed_from: Instant,
    pub(crate) status_callback: Option<String>,
    /// As it was asked for.
    pub(crate) events: Vec<String>,
    pub(crate) timeout: Duration,
    pub(crate) awaits_end: Option<bool>,
    /// The status that we set.
    pub(crate) ended_by_us: Option<String>,
    /// How often we asked for its end, also when it was over.
    pub(crate) asked_to_end: u32,
    /// Number that the call was transferred to, and the caller ID shown there.
    pub(crate) dialled: Option<String>,
    pub(crate) shown: Option<String>,
    /// Whether the two were connected.
    pub(crate) bridged: bool,
    /// Addresses from which documents were fetched.
    pub(crate) fetched: Vec<String>,
    /// Keys that were heard in the audio that we sent.
    pub(crate) keys: String,
    /// Frames of audio that were played out.
    pub(crate) played: u32,
    pub(crate) streams: u32,
    /// Marks that came back, and how often what waited was thrown away.
    pub(crate) marks: u32,
    pub(crate) clears: u32,
    pub(crate) orders: mpsc::UnboundedSender<Order>,
}

impl Record {
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status, "completed" | "busy" | "failed" | "no-answer" | "canceled")
    }
}

impl Network {
    pub(crate) fn new(flavour: Flavour, complaints: Complaints) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(flavour.patience()).build().expect("a client");
        let changes = Arc::new(watch::Sender::new(0));
        Self { flavour, complaints, http, state: Arc::default(), changes }
    }

    /// Looks at, or changes, everything at once.
    pub(crate) fn with<T>(&self, use_it: impl FnOnce(&mut State) -> T) -> T {
        let result = use_it(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Looks without a change.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&State) -> T) -> T {
        at(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `find` finds something, and looks again after each change.
    pub(crate) async fn wait_for<T>(&self, find: impl Fn(&State) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            if let Some(found) = self.look(&find) {
                return found;
            }
            changes.changed().await.expect("the network has the sender");
        }
    }

    pub(crate) fn record(&self, sid: &str) -> Option<Record> {
        self.look(|state| state.calls.iter().find(|call| call.sid == sid).cloned())
    }

    pub(crate) fn change(&self, sid: &str, change: impl FnOnce(&mut Record)) {
        self.with(|state| {
            if let Some(record) = state.calls.iter_mut().find(|call| call.sid == sid) {
                change(record);
            }
        });
    }

    /// Begins a call that we placed.
    pub(crate) fn dial(&self, placed: Placed, script: Script) -> Record {
        let mut record = self.new_record(&placed.from, &placed.to, "queued");
        record.listed_from += script.listed_after;
        record.status_callback.clone_from(&placed.status_callback);
        record.events.clone_from(&placed.events);
        record.timeout = placed.timeout;
        record.awaits_end = placed.amd.as_ref().map(|amd| amd.awaits_end);
        let orders = self.enter(&mut record);
        tokio::spawn(leg::outbound(self.clone(), record.clone(), placed, script, orders));
        record
    }

    /// Begins a call to one of the account's numbers, with this script.
    pub(crate) fn arrive(&self, record: Record, verbs: Vec<Verb>, script: Script) {
        let mut record = record;
        let orders = self.enter(&mut record);
        tokio::spawn(leg::inbound(self.clone(), record, verbs, script, orders));
    }

    pub(crate) fn new_record(&self, from: &str, to: &str, status: &'static str) -> Record {
        Record {
            sid: self.flavour.id(Prefix::Call),
            from: from.to_owned(),
            to: to.to_owned(),
            inbound: false,
            status,
            created: now(),
            started: None,
            ended: None,
            answered_by: None,
            listed_from: Instant::now(),
            status_callback: None,
            events: Vec::new(),
            timeout: Duration::from_secs(60),
            awaits_end: None,
            ended_by_us: None,
            asked_to_end: 0,
            dialled: None,
            shown: None,
            bridged: false,
            fetched: Vec::new(),
            keys: String::new(),
            played: 0,
            streams: 0,
            marks: 0,
            clears: 0,
            orders: mpsc::unbounded_channel().0,
        }
    }

    fn enter(&self, record: &mut Record) -> mpsc::UnboundedReceiver<Order> {
        let (orders, received) = mpsc::unbounded_channel();
        record.orders = orders;
        self.with(|state| state.calls.push(record.clone()));
        received
    }
}

pub(crate) fn now() -> OffsetDateTime {
    let now: Timestamp = Clock::system().now();
    now.to_utc()
}
