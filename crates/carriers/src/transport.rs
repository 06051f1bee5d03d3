//! The transports by which media reaches this service.

use std::sync::Arc;

use crate::callback::{CallbackError, CallbackRequest};
use crate::stream::StreamProtocol;
use crate::web::Browsers;

/// The transport by which the media of a connection's legs reaches this service.
#[derive(Clone)]
pub enum MediaTransport {
    /// The carrier opens a websocket to [`crate::address::CallAddress::media`], on any node, which then owns the call.
    WebSocket(Arc<dyn WebSocketMedia>),
    /// A browser opens a websocket to [`crate::address::Addresses::web_call`], on any node, which then runs the call.
    Browser(Arc<Browsers>),
    /// The adapter has its own transport, on the node that controls the leg: it sends [`crate::LegEvent::Media`] once media flows.
    Own,
}

/// The media websockets that a carrier opens.
pub trait WebSocketMedia: Send + Sync {
    /// Checks a handshake and returns the protocol spoken on the websocket.
    ///
    /// # Errors
    /// When the signature is wrong.
    fn open(&self, handshake: &CallbackRequest<'_>) -> Result<Box<dyn StreamProtocol>, CallbackError>;
}
