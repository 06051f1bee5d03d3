//! What differs between providers of speech to speech. Everything here is without a socket and without a clock.

use switchhook_media::frame::Frame;

use super::{Order, RealtimeEvent, RealtimeOptions};
use crate::providers::streaming::{Broken, Target};

/// One provider's way, as a connection's settings have it.
pub(crate) trait Dialect: Send + Sync {
    /// The name in errors.
    fn name(&self) -> &'static str;
    /// As [`super::Realtime::can_use_pcm`].
    fn can_use_pcm(&self) -> bool;
    /// Where a session is opened for these options, and with which headers.
    ///
    /// # Errors
    /// A sentence when the settings make no address.
    fn target(&self, options: &RealtimeOptions) -> Result<Target, String>;
    /// The protocol of one new connection.
    fn protocol(&self, options: &RealtimeOptions) -> Box<dyn Protocol>;
}

/// One connection's protocol. Messages are text.
pub(crate) trait Protocol: Send + Sync {
    /// 20 ms of the caller; nothing while a longer piece is gathered.
    fn sound(&mut self, frame: &Frame) -> Option<String>;
    /// What an order comes to.
    fn order(&mut self, order: Order) -> Vec<String>;
    /// Reads a message.
    ///
    /// # Errors
    /// When it says that the session is over, or makes no sense.
    fn read(&mut self, message: &str) -> Result<Vec<Heard>, Broken>;
}

/// What a message says. It can hold spoken words, so there is no `Debug`.
#[derive(Clone, PartialEq)]
pub(crate) enum Heard {
    /// The session is as it was asked for.
    Ready,
    /// Wants this answered.
    Answer(String),
    /// Something for the call.
    Event(RealtimeEvent),
}
