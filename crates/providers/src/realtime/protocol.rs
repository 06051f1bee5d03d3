//! The traits of a speech-to-speech adapter. No sockets, no clock.

use switchhook_media::frame::Frame;

use super::{RealtimeCommand, RealtimeEvent, RealtimeOptions};
use crate::websocket::{Handshake, StreamError};

/// A speech-to-speech provider, configured by a connection.
pub(crate) trait RealtimeAdapter: Send + Sync {
    /// The name in errors.
    fn name(&self) -> &'static str;
    /// As [`super::Realtime::can_use_pcm`].
    fn can_use_pcm(&self) -> bool;
    /// Returns the URL and the headers of a session with these options.
    ///
    /// # Errors
    /// A sentence when the settings do not form a valid URL.
    fn handshake(&self, options: &RealtimeOptions) -> Result<Handshake, String>;
    /// Creates the protocol of a new connection.
    fn protocol(&self, options: &RealtimeOptions) -> Box<dyn RealtimeProtocol>;
}

/// One connection's protocol. Messages are text.
pub(crate) trait RealtimeProtocol: Send + Sync {
    /// Takes 20 ms of the caller; returns `None` until a longer chunk is full.
    fn audio(&mut self, frame: &Frame) -> Option<String>;
    /// Returns the messages of a command.
    fn send(&mut self, command: RealtimeCommand) -> Vec<String>;
    /// Parses a message.
    ///
    /// # Errors
    /// When the message ends the session or cannot be understood.
    fn read(&mut self, message: &str) -> Result<Vec<RealtimeMessage>, StreamError>;
}

/// A parsed server message. It can hold spoken words, so it is not `Debug`.
#[derive(Clone, PartialEq)]
pub(crate) enum RealtimeMessage {
    /// The session is configured as requested.
    Ready,
    /// A message to send back.
    Reply(String),
    /// An event for the call.
    Event(RealtimeEvent),
}
