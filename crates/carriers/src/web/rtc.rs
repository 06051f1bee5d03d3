//! A browser's audio over WebRTC beside its websocket: which of the two carries it. Each direction is carried by one at a time.
//!
//! Both change together, at a moment when the agent is silent: the service says `transport`, sends what follows over UDP, and hears the
//! person there once the browser has answered with the same, behind its last audio on the websocket. Back it goes at once.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

#[cfg(feature = "webrtc")]
pub(super) use switchhook_webrtc::{Call, Event, Node};

#[cfg(not(feature = "webrtc"))]
pub(super) use self::without::{Call, Event, Node};

/// Offers that one call may make: each is a handshake.
const OFFERS: u32 = 10;
/// Marks that may wait for a lost websocket.
const HELD_MARKS: usize = 64;

/// Where a node takes audio of browsers over UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebRtcSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The addresses to tell browsers, with the port where it is another one; none: the address above.
    pub addresses: Vec<(IpAddr, Option<u16>)>,
}

/// What of a call's audio goes over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing: the offer was answered.
    Connecting,
    /// Nothing yet, but it can.
    Connected,
    /// The agent's; and the person's once the browser has said so.
    Carrying { hears: bool },
    /// Nothing any more, but what was not played comes back by and by.
    Draining,
}

/// The WebRTC session of a browser, if it has one.
pub(super) struct Rtc {
    node: Option<Arc<Node>>,
    session: Option<(Call, Stage)>,
    offers: u32,
    held_marks: Vec<u64>,
}

/// What happens on UDP.
pub(super) enum RtcEvent {
    /// Something in the session.
    Session(Event),
    /// The session has ended while it carried audio.
    Broken,
    /// It has ended.
    Ended,
}

impl Rtc {
    pub(super) fn new(node: Option<Arc<Node>>) -> Self {
        Self { node, session: None, offers: 0, held_marks: Vec::new() }
    }

    /// Whether browsers may offer it.
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

    /// What happens next. Cancel safe.
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

    /// Whether audio can go over UDP from now on, which it does not yet.
    pub(super) fn is_ready(&self) -> bool {
        self.stage() == Some(Stage::Connected)
    }

    /// Whether the agent's audio goes to the session, be it that it comes back.
    pub(super) fn takes_audio(&self) -> bool {
        matches!(self.stage(), Some(Stage::Carrying { .. } | Stage::Draining))
    }

    /// Whether audio goes over UDP.
    pub(super) fn carries(&self) -> bool {
        matches!(self.stage(), Some(Stage::Carrying { .. }))
    }

    /// Whether the person is heard over UDP.
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

    /// Audio flows in the session.
    pub(super) fn connected(&mut self) {
        if self.stage() == Some(Stage::Connecting) {
            self.enter(Stage::Connected);
        }
    }

    /// The agent's audio goes over UDP from here on.
    pub(super) fn carry(&mut self) {
        self.enter(Stage::Carrying { hears: false });
    }

    /// The person's does, too.
    pub(super) fn hear(&mut self) {
        if let Some((call, stage @ Stage::Carrying { hears: false })) = &mut self.session {
            *stage = Stage::Carrying { hears: true };
            call.listen();
        }
    }

    /// Nothing goes over UDP any more. Returns whether anything did.
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

    /// The agent's session; its methods say whether it takes audio and marks.
    pub(super) fn call(&self) -> Option<&Call> {
        self.session.as_ref().map(|(call, _)| call)
    }

    /// The websocket is lost. A session that carries the whole call goes on carrying it.
    pub(super) fn socket_lost(&mut self) {
        if !self.hears() {
            self.session = None;
        }
    }

    /// Keeps a mark for the next websocket.
    pub(super) fn hold(&mut self, mark: u64) {
        if self.held_marks.len() < HELD_MARKS {
            self.held_marks.push(mark);
        }
    }

    /// The marks that were kept.
    pub(super) fn held_marks(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.held_marks)
    }
}

/// In a build without WebRTC there is no node, and therefore nothing else.
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
