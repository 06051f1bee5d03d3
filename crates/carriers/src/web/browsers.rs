//! The browsers that are connected to a node, by call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::extract::ws::WebSocket;
use switchhook_core::id::CallId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::rtc::Node;
use crate::media_queue::{MediaSender, media_queue};
use crate::{CarrierEvent, LegEvent, LegEvents, Media, ToCarrier};

/// Frames of the agent that may be queued: four seconds. They are sent at most 100 ms ahead of their time.
const MESSAGE_CAPACITY: usize = 200;

/// The browsers of one node.
#[derive(Default)]
pub struct Browsers {
    legs: Mutex<HashMap<CallId, Arc<SharedLeg>>>,
    /// Receives their audio over UDP; `None` if that is disabled, before the node starts and after it stops.
    rtc: Mutex<Option<Arc<Node>>>,
}

/// State shared between a leg's task and the controller of the leg.
pub(super) struct SharedLeg {
    /// For the conversation, which takes it once.
    media: Mutex<Option<Media>>,
    /// Where the leg sends its events once it was dialled.
    pub(super) events: OnceLock<LegEvents>,
    /// Cancelled when our side hangs up.
    pub(super) end: CancellationToken,
    /// Sockets that resume a lost one.
    sockets: mpsc::Sender<WebSocket>,
    /// The token that such a socket must present; empty while one is connected.
    resume: Mutex<String>,
}

/// The input of a browser's leg, with its place among those of its node.
pub struct Seat {
    pub(super) shared: Arc<SharedLeg>,
    pub(super) to_us: MediaSender,
    pub(super) from_us: mpsc::Receiver<ToCarrier>,
    pub(super) resumed: mpsc::Receiver<WebSocket>,
    pub(super) rtc: Option<Arc<Node>>,
    pub(super) held: HeldPlace,
}

/// A place that is released when this is dropped.
pub(super) struct HeldPlace {
    browsers: Arc<Browsers>,
    call: CallId,
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        self.browsers.left(self.call);
    }
}

/// Whether a call accepts a browser on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketPlace {
    /// No browser is connected.
    Free,
    /// A browser was connected, and may resume.
    Lost,
    /// A browser is connected.
    Taken,
}

impl SharedLeg {
    /// Allows the socket with this token to resume; none if it is empty.
    pub(super) fn resumable_by(&self, token: &str) {
        token.clone_into(&mut lock(&self.resume));
    }
}

impl Browsers {
    /// Returns whether a socket of this call can be accepted.
    #[must_use]
    pub fn place(&self, call: CallId) -> SocketPlace {
        match lock(&self.legs).get(&call) {
            None => SocketPlace::Free,
            Some(leg) if lock(&leg.resume).is_empty() => SocketPlace::Taken,
            Some(_) => SocketPlace::Lost,
        }
    }

    /// Accepts a call's first socket; returns `None` while the call has one.
    #[must_use]
    pub fn join(self: &Arc<Self>, call: CallId) -> Option<Seat> {
        let rtc = lock(&self.rtc).clone();
        let mut legs = lock(&self.legs);
        if legs.contains_key(&call) {
            return None;
        }
        let (to_us, incoming) = media_queue();
        let (outgoing, from_us) = mpsc::channel(MESSAGE_CAPACITY);
        let (sockets, resumed) = mpsc::channel(1);
        let media = Media { incoming, outgoing, buffered: true, gaps_are_silence: false, shows_conversation: true };
        let shared = Arc::new(SharedLeg {
            media: Mutex::new(Some(media)),
            events: OnceLock::new(),
            end: CancellationToken::new(),
            sockets,
            resume: Mutex::default(),
        });
        legs.insert(call, shared.clone());
        drop(legs);
        Some(Seat { shared, to_us, from_us, resumed, rtc, held: HeldPlace { browsers: self.clone(), call } })
    }

    /// Hands over a socket that resumes a lost one. Returns the socket when this token does not allow that.
    #[must_use]
    pub fn resume(&self, call: CallId, token: &str, socket: WebSocket) -> Option<WebSocket> {
        let Some(leg) = lock(&self.legs).get(&call).cloned() else { return Some(socket) };
        let mut expected = lock(&leg.resume);
        // Random and valid for one attempt each: comparing them in constant time would hide nothing.
        if expected.is_empty() || *expected != token {
            return Some(socket);
        }
        expected.clear();
        leg.sockets.try_send(socket).err().map(mpsc::error::TrySendError::into_inner)
    }

    /// Begins the conversation with a call's browser. Returns whether one is connected.
    pub(super) fn talk(&self, call: CallId, events: &LegEvents) -> bool {
        let Some(leg) = lock(&self.legs).get(&call).cloned() else { return false };
        let Some(media) = lock(&leg.media).take() else { return leg.events.get().is_some() };
        leg.events.get_or_init(|| events.clone());
        events.send(LegEvent::Carrier(CarrierEvent::Id(call.to_string())));
        events.send(LegEvent::Carrier(CarrierEvent::Answered));
        events.send(LegEvent::Media(media));
        true
    }

    /// Returns whether a conversation with a call's browser was begun here and continues.
    pub(super) fn is_talking(&self, call: CallId) -> bool {
        lock(&self.legs).get(&call).is_some_and(|leg| leg.events.get().is_some())
    }

    /// Hangs up on a call's browser.
    pub(super) fn end(&self, call: CallId) {
        if let Some(leg) = lock(&self.legs).get(&call) {
            leg.end.cancel();
        }
    }

    /// Starts or stops receiving browsers' audio over UDP.
    pub(super) fn listen(&self, rtc: Option<Node>) {
        *lock(&self.rtc) = rtc.map(Arc::new);
    }

    /// Hangs up on every browser.
    pub(super) fn end_all(&self) {
        lock(&self.legs).values().for_each(|leg| leg.end.cancel());
    }

    fn left(&self, call: CallId) {
        lock(&self.legs).remove(&call);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Consistent at every step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
