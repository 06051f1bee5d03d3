//! What a speech-to-speech adapter implements. No sockets, no clock.

use switchhook_media::frame::Frame;

use super::{RealtimeCommand, RealtimeEvent, RealtimeOptions};
use crate::websocket::{Handshake, StreamError};

/// A speech-to-speech provider, configured by a connection.
pub(crate) trait RealtimeAdapter: Send + Sync {
    /// The name in errors.
    fn name(&self) -> &'static str;
    /// As [`super::Realtime::can_use_pcm`].
    fn can_use_pcm(&self) -> bool;
    /// Where a session is opened for these options, and with which headers.
    ///
    /// # Errors
    /// A sentence when the settings make no address.
    fn handshake(&self, options: &RealtimeOptions) -> Result<Handshake, String>;
    /// The protocol of one new connection.
    fn protocol(&self, options: &RealtimeOptions) -> Box<dyn RealtimeProtocol>;
}

/// One connection's protocol. Messages are text.
pub(crate) trait RealtimeProtocol: Send + Sync {
    /// 20 ms of the caller; nothing until a longer chunk is full.
    fn audio(&mut self, frame: &Frame) -> Option<String>;
    /// Returns the messages of a command.
    fn send(&mut self, command: RealtimeCommand) -> Vec<String>;
    /// Reads a message.
    ///
    /// # Errors
    /// When it says that the session is over, or makes no sense.
    fn read(&mut self, message: &str) -> Result<Vec<RealtimeMessage>, StreamError>;
}

/// A parsed server message. It can hold spoken words, so there is no `Debug`.
#[derive(Clone, PartialEq)]
pub(crate) enum RealtimeMessage {
    /// The session is as it was asked for.
    Ready,
    /// A message to send back.
    Reply(String),
    /// Something for the call.
    Event(RealtimeEvent),
}
