//! WebRTC audio of browsers, in addition to the websocket of a web call.
//!
//! A [`Session`] is the call of one browser as a state machine without I/O or clock: it answers the browser's offer, and turns packets and time into
//! audio and packets. A [`Node`] does the I/O: one UDP socket, which finds the session of each packet, and a task for each session. The owner of a
//! session's [`Call`] sends it the agent's audio and receives the person's.
//!
//! The service is ICE-lite: it answers peers that know the credentials of a session, and sends nothing to addresses named in an offer.

#[cfg(test)]
mod fuzz;
mod node;
mod offer;
mod opus;
mod packet;
#[cfg(any(test, feature = "testing"))]
mod peer;
mod playout;
mod reorder;
mod routes;
mod session;
#[cfg(test)]
mod tests;

/// A browser's end of a session, for tests.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    pub use crate::peer::{Peer, through_opus};
}

pub use self::node::{Call, Event, Node};
pub use self::offer::{OFFER_LIMIT, OfferError};
pub use self::session::{End, Output, Session, SessionSettings};
