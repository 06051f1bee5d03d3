//! Telephone carriers: what all of them have in common. What differs stays in each one's folder.
//!
//! A [`Carrier`] is asked to do things; what happens on the line comes back as [`CarrierEvent`]s, through a [`Line`] that the
//! call's runner listens to. Carriers repeat themselves, reorder and come late: the call's state machine copes with that.

pub mod simulator;

use async_trait::async_trait;
use bytes::Bytes;
use switchhook_core::call::{ErrorCode, Hangup};
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;
use tokio::sync::mpsc;

/// A telephone carrier, with one connection's credentials and settings.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// Rings somebody. Called at most once for a call, ever.
    ///
    /// # Errors
    /// [`DialError::Refused`] when nobody was rung and nobody will be; [`DialError::Unknown`] when that is not certain.
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError>;

    /// Picks up an incoming leg; what happens on it is told to `line`.
    ///
    /// # Errors
    /// When the carrier could not be told.
    async fn answer(&self, leg: &LegRef, line: Line) -> Result<(), CarrierError>;

    /// Ends a leg. Ending one that has ended is fine.
    ///
    /// # Errors
    /// When the carrier could not be told; the caller tries again or lets the carrier's own limits end the leg.
    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError>;

    /// Presses keys on a leg, where the carrier does that itself. `None` when it does not: then tones are sent in the sound.
    /// `w` is a pause of 500 ms.
    async fn send_dtmf(&self, _leg: &LegRef, _digits: &str) -> Option<Result<(), CarrierError>> {
        None
    }

    /// Passes the far end of a leg on to somebody else, without announcing them. Afterwards the leg is no longer ours: nothing
    /// more is told of it, and it is not hung up.
    ///
    /// # Errors
    /// When the carrier refuses or could not be told; the leg is then as it was.
    async fn transfer(&self, leg: &LegRef, to: &PhoneNumber) -> Result<(), CarrierError>;

    /// What the carrier knows of a call whose dial was intended by a process that died, or whose answer was lost.
    ///
    /// # Errors
    /// When the carrier could not be asked.
    async fn find(&self, leg: &LegRef) -> Result<LegState, CarrierError>;

    /// Tries the credentials without ringing anybody.
    ///
    /// # Errors
    /// A sentence that says what the carrier said.
    async fn verify(&self) -> Result<(), CarrierError>;
}

/// Who is to be rung.
#[derive(Clone, Debug)]
pub struct DialRequest {
    /// Our id of the call; the carrier is given it as a reference so that the call can be found again.
    pub call: CallId,
    /// Who is shown as calling.
    pub from: PhoneNumber,
    /// Who is called.
    pub to: PhoneNumber,
    /// How long it may ring, in seconds.
    pub ring_timeout_seconds: u32,
    /// Where what happens is told.
    pub line: Line,
}

/// The carrier has taken the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialed {
    /// The carrier's own id of the leg.
    pub carrier_call_id: String,
}

/// Why a dial did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// Nobody was rung, and nobody will be.
    #[error("{words}")]
    Refused {
        /// The error code of the call.
        code: ErrorCode,
        /// What the carrier said.
        words: String,
    },
    /// The answer was lost or ambiguous: somebody may be ringing.
    #[error("{words}")]
    Unknown {
        /// What happened.
        words: String,
    },
}

/// A leg, by our id and by the carrier's where we know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegRef {
    /// Our id of the call.
    pub call: CallId,
    /// The carrier's own id.
    pub carrier_call_id: Option<String>,
}

/// What a carrier knows of a leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LegState {
    /// It never heard of it: nobody was rung.
    Unknown,
    /// It lives.
    Live {
        /// The carrier's own id of it.
        carrier_call_id: String,
    },
    /// It has ended.
    Ended(Hangup),
}

/// The carrier could not be told or asked something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct CarrierError {
    /// `carrier_unauthorized` or `carrier_error`.
    pub code: ErrorCode,
    /// What the carrier said.
    pub words: String,
}

/// Where a carrier tells what happens on one call's line. Clones tell the same call.
#[derive(Clone, Debug)]
pub struct Line(mpsc::UnboundedSender<CarrierEvent>);

impl Line {
    /// A line and where to listen to it. Unbounded, but a line carries a handful of events; sound has its own channels.
    #[must_use]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<CarrierEvent>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Tells the call's runner. Whether anybody still listens makes no difference to the carrier.
    pub fn tell(&self, event: CarrierEvent) {
        let _ = self.0.send(event);
    }
}

/// Something that happened on the line.
#[derive(Debug)]
pub enum CarrierEvent {
    /// The far end rings.
    Ringing,
    /// Somebody, or something, answered.
    Answered,
    /// Sound flows.
    Media(Media),
    /// The leg has ended.
    Hangup(Hangup),
}

/// Both directions of a call's sound. Dropping it stops our side.
#[derive(Debug)]
pub struct Media {
    /// How sound is coded on the wire, both ways.
    pub law: switchhook_media::g711::Law,
    /// From the carrier. Closed when the stream has ended.
    pub incoming: mpsc::Receiver<FromCarrier>,
    /// To the carrier. A carrier that cannot keep up is a broken line: 4 s of frames, then the driver ends the call.
    pub outgoing: mpsc::Sender<ToCarrier>,
}

/// What comes from the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromCarrier {
    /// G.711 sound, 20 ms in 160 bytes.
    Audio(Bytes),
    /// A key was pressed.
    Dtmf(char),
    /// Everything sent before this mark has been played.
    MarkPlayed(u64),
}

/// What goes to the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToCarrier {
    /// G.711 sound, 20 ms in 160 bytes.
    Audio(Bytes),
    /// Answered by [`FromCarrier::MarkPlayed`] once everything before it has been played, or was cleared.
    Mark(u64),
    /// Throw away what has not been played.
    Clear,
}
