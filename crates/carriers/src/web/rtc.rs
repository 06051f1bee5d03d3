//! A browser's audio over WebRTC beside its websocket, and which of the two transports it. Each direction uses one at a time.
//!
//! Both switch to UDP together, when the agent is silent: the service sends `transport`, then audio over UDP, and takes the person's
//! audio from there once the browser has answered with the same message after its last audio on the websocket. Switching back is
//! immediate.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

#[cfg(feature = "webrtc")]
pub(super) use switchhook_webrtc::{Call, Event, Node};

#[cfg(not(feature = "webrtc"))]
pub(super) use self::without::{Call, Event, Node};

/// The most offers of one call: each is a handshake.
const OFFERS: u32 = 10;
/// Marks that may be held for a lost websocket.
const HELD_MARKS: usize = 64;

/// Where a node receives browsers' audio over UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebRtcSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The addresses to announce to browsers, with the port if it differs; if empty, the address above.
    pub addresses: Vec<(IpAddr, Option<u16>)>,
}

/// Which part of a call's audio uses UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// None: the offer was answered.
    Connecting,
    /// None yet, but it can.
    Connected,
    /// The agent's, and the person's once the browser has confirmed it.
    Carrying { hears: bool },
    /// No longer any, but unplayed audio is being returned.
    Draining,
}

/// The WebRTC session of a browser, if it has one.
pub(super) struct Rtc {
    node: Option<Arc<Node>>,
    session: Option<(Call, Stage)>,
    offers: u32,
    held_marks: Vec<u64>,
}

/// An event of the UDP transport.
pub(super) enum RtcEvent {
    /// An event of the session.
    Session(Event),
    /// The session ended while it transported audio.
    Broken,
    /// The session ended.
    Ended,
}

impl Rtc {
    pub(super) fn new(node: Option<Arc<Node>>) -> Self {
        Self { node, session: None, offers: 0, held_marks: Vec::new() }
    }

    /// Returns whether browsers may offer it.
    pub(super) fn is_offered(&self) -> bool {
        self.node.is_some()
    }

    /// Answers an offer.
    ///
    /// # Errors
    /// A sentence for the author of the page.
    pub(super) fn answer(&mut self, offer: &str) -> Result<String, String> {
        let node = self.node.as_ref().ok_or("this node does not take audio over UDP")?;
        if self.session.is_some() {
            return Err("this call has a session already: end it with transport websocket".to_owned());
        }
        if self.offers >= OFFERS {
            return Err(format!("this call has made {OFFERS} offers"));
        }
        self.offers += 1;
        let (call, answer) = node.answer(offer).map_err(|error| error.to_string())?;
        self.session = Some((call, Stage::Connecting));
        Ok(answer)
    }

    /// Returns the next event. Cancel safe.
    pub(super) async fn event(&mut self) -> RtcEvent {
        let Some((call, stage)) = &mut self.session else { return std::future::pending().await };
        match call.event().await {
            Some(event) => RtcEvent::Session(event),
            None => {
                let was_carrying = matches!(stage, Stage::Carrying { .. });
                self.session = None;
                if was_carrying { RtcEvent::Broken } else { RtcEvent::Ended }
            }
        }
    }

    /// Returns whether audio can switch to UDP but has not yet.
    pub(super) fn is_ready(&self) -> bool {
        self.stage() == Some(Stage::Connected)
    }

    /// Returns whether the agent's audio goes to the session, even if the session only returns it.
    pub(super) fn takes_audio(&self) -> bool {
        matches!(self.stage(), Some(Stage::Carrying { .. } | Stage::Draining))
    }

    /// Returns whether audio is transported over UDP.
    pub(super) fn carries(&self) -> bool {
        matches!(self.stage(), Some(Stage::Carrying { .. }))
    }

    /// Returns whether the person's audio arrives over UDP.
    pub(super) fn hears(&self) -> bool {
        self.stage() == Some(Stage::Carrying { hears: true })
    }

    fn stage(&self) -> Option<Stage> {
        self.session.as_ref().map(|(_, stage)| *stage)
    }

    fn enter(&mut self, next: Stage) {
        if let Some((_, stage)) = &mut self.session {
            *stage = next;
        }
    }

    /// Records that audio flows in the session.
    pub(super) fn connected(&mut self) {
        if self.stage() == Some(Stage::Connecting) {
            self.enter(Stage::Connected);
        }
    }

    /// Switches the agent's audio to UDP.
    pub(super) fn carry(&mut self) {
        self.enter(Stage::Carrying { hears: false });
    }

    /// Switches the person's audio to UDP.
    pub(super) fn hear(&mut self) {
        if let Some((call, stage @ Stage::Carrying { hears: false })) = &mut self.session {
            *stage = Stage::Carrying { hears: true };
            call.listen();
        }
    }

    /// Stops using UDP. Returns whether it was used.
    pub(super) fn give_up(&mut self) -> bool {
        match &mut self.session {
            Some((call, stage @ Stage::Carrying { .. })) => {
                *stage = Stage::Draining;
                call.stop();
                true
            }
            Some((_, Stage::Draining)) => false,
            Some(_) => {
                self.session = None;
                false
            }
            None => false,
        }
    }

    /// Returns the session; its methods return whether it accepts audio and marks.
    pub(super) fn call(&self) -> Option<&Call> {
        self.session.as_ref().map(|(call, _)| call)
    }

    /// Handles the loss of the websocket. A session that transports all audio continues.
    pub(super) fn socket_lost(&mut self) {
        if !self.hears() {
            self.session = None;
        }
    }

    /// Holds a mark for the next websocket.
    pub(super) fn hold(&mut self, mark: u64) {
        if self.held_marks.len() < HELD_MARKS {
            self.held_marks.push(mark);
        }
    }

    /// Returns the marks that were held.
    pub(super) fn held_marks(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.held_marks)
    }
}

/// Stand-ins for a build without WebRTC, where there is no node and therefore no session.
#[cfg(not(feature = "webrtc"))]
mod without {
    #![expect(dead_code, reason = "none of it can exist")]

    use std::convert::Infallible;
    use std::net::{IpAddr, SocketAddr};

    use switchhook_media::frame::Frame;

    pub(in crate::web) struct Node(Infallible);
    pub(in crate::web) struct Call(Infallible);

    pub(in crate::web) enum Event {
        Connected,
        Audio(Frame),
        Mark(u64),
        Failed,
        Unsent(Frame),
        UnsentMark(u64),
    }

    impl Node {
        pub(in crate::web) async fn bind(_: SocketAddr, _: &[(IpAddr, Option<u16>)]) -> std::io::Result<Self> {
            Err(std::io::Error::other("this binary was built without the feature webrtc"))
        }

        pub(in crate::web) fn answer(&self, _: &str) -> Result<(Call, String), Infallible> {
            match self.0 {}
        }
    }

    impl Call {
        pub(in crate::web) async fn event(&mut self) -> Option<Event> {
            match self.0 {}
        }

        pub(in crate::web) fn play(&self, _: Frame) -> bool {
            match self.0 {}
        }

        pub(in crate::web) fn mark(&self, _: u64) -> bool {
            match self.0 {}
        }

        pub(in crate::web) fn clear(&self) {
            match self.0 {}
        }

        pub(in crate::web) fn listen(&self) {
            match self.0 {}
        }

        pub(in crate::web) fn stop(&self) {
            match self.0 {}
        }
    }
}
