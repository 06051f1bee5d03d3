//! Call control: what a carrier is asked to do with a leg.

use std::time::Duration;

use async_trait::async_trait;
use switchhook_core::Timestamp;
use switchhook_core::call::{ErrorCode, Hangup, TransferLegState};
use switchhook_core::id::CallId;
use switchhook_core::phone_number::PhoneNumber;

use super::address::CallAddress;
use super::events::LegEvents;

/// Controls the legs of one connection: what every carrier can do.
#[async_trait]
pub trait CallControl: Send + Sync {
    /// Dials. Called at most once per call.
    ///
    /// # Errors
    /// [`DialError::Refused`] when no phone rang and none will; [`DialError::Unknown`] when that is not certain.
    async fn dial(&self, request: DialRequest) -> Result<Dialed, DialError>;

    /// Answers an incoming leg; what happens on it is sent to `events`.
    ///
    /// # Errors
    /// When the carrier could not be reached or refuses.
    async fn answer(&self, leg: &LegRef, events: LegEvents) -> Result<(), CarrierError>;

    /// Ends a leg. Ending one that has ended is fine.
    ///
    /// # Errors
    /// When the carrier could not be reached or refuses; the caller tries again or lets the carrier's own limits end the leg.
    async fn hang_up(&self, leg: &LegRef) -> Result<(), CarrierError>;

    /// Sends DTMF on a leg, where the carrier has a call for it. `None` when it has not: then tones are sent in band.
    /// `w` is a pause of 500 ms.
    async fn send_dtmf(&self, _leg: &LegRef, _digits: &str) -> Option<Result<(), CarrierError>> {
        None
    }

    /// Transfers the far end of a leg, cold; `number` counts the transfers of the call. Afterwards the leg is no longer ours: nothing
    /// more is reported about it, and it is not hung up. See [`Self::transfer_reports`] for when that is.
    ///
    /// # Errors
    /// When the carrier refuses or could not be reached, or its answer was lost.
    async fn transfer(&self, leg: &LegRef, to: &PhoneNumber, number: u32) -> Result<(), TransferError>;

    /// Returns which reports this carrier sends about transfers that it accepted.
    fn transfer_reports(&self) -> TransferReports {
        TransferReports::Nothing
    }

    /// The legs at the carrier that may be this one, whose dial was intended by a process that died or whose answer was lost: the one
    /// with its id where that is known, else those between its numbers since the dial. Empty when no phone rang, as far as the
    /// carrier knows yet.
    ///
    /// # Errors
    /// When the carrier could not be asked.
    async fn look_up(&self, leg: &LegRef) -> Result<Vec<FoundLeg>, CarrierError>;

    /// Looks up the leg to the number of a transfer of `leg`, by the carrier's id of it where that is known; legs of earlier transfers are
    /// `over`. Returns its id and state, for carriers that report the end of a transfer.
    ///
    /// # Errors
    /// When the carrier could not be asked.
    async fn look_up_transfer(
        &self,
        _leg: &LegRef,
        _other: Option<&str>,
        _over: &[String],
    ) -> Result<TransferLeg, CarrierError> {
        Ok(TransferLeg::UNKNOWN)
    }

    /// Tries the credentials without ringing anybody. Returns sentences about what was found: the kind of account, and what it
    /// may not do.
    ///
    /// # Errors
    /// When the carrier refuses them or could not be reached.
    async fn verify(&self) -> Result<String, CarrierError>;
}

/// A call to place.
#[derive(Clone, Debug)]
pub struct DialRequest {
    /// Our id of the call; given to the carrier as a reference by which the call can be found again.
    pub call: CallId,
    /// Caller ID.
    pub from: PhoneNumber,
    /// Called number.
    pub to: PhoneNumber,
    /// How long it may ring, in seconds.
    pub ring_timeout_seconds: u32,
    /// The carrier ends a call that we failed to end, after so many seconds of conversation. One that offers no such limit ends it
    /// with its media stream.
    pub time_limit_seconds: u32,
    /// Answering machine detection, where the carrier has it.
    pub machines: AmdMode,
    /// Where the carrier sends status callbacks and opens its media stream.
    pub address: CallAddress,
    /// Receives what happens.
    pub events: LegEvents,
}

/// Answering machine detection (AMD).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmdMode {
    /// No detection.
    Off,
    /// Detects a machine, which is hung up on.
    Detect,
    /// Detects also when its greeting has ended: a message is left.
    DetectMessageEnd,
}

/// The carrier has taken the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialed {
    /// The carrier's own id of the leg.
    pub carrier_call_id: String,
    /// How long it says that the call waits in its own queue before it rings.
    pub waits: Duration,
}

impl Dialed {
    /// It rings at once.
    #[must_use]
    pub fn now(carrier_call_id: String) -> Self {
        Self { carrier_call_id, waits: Duration::ZERO }
    }
}

/// Why a dial did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// No phone rang, and none will.
    #[error("{message}")]
    Refused {
        /// The error code of the call.
        code: ErrorCode,
        /// The carrier's message.
        message: String,
    },
    /// The carrier takes no further calls for now. No phone rang; the dial may be repeated.
    #[error("{message}")]
    Later {
        /// The carrier's message.
        message: String,
        /// When to ask again, where it said so.
        retry_after: Option<Duration>,
    },
    /// The answer was lost or ambiguous: a phone may be ringing.
    #[error("{message}")]
    Unknown {
        /// Description of the failure.
        message: String,
    },
}

/// A leg, by our id and by the carrier's where we know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegRef {
    /// Our id of the call.
    pub call: CallId,
    /// The carrier's own id.
    pub carrier_call_id: Option<String>,
    /// Caller's number; absent for callers who hide theirs.
    pub from: Option<PhoneNumber>,
    /// Called number.
    pub to: Option<PhoneNumber>,
    /// When the dial was intended; absent when it was they who called.
    pub dialing_at: Option<Timestamp>,
    /// Whether it was answered.
    pub answered: bool,
}

/// Sent by some carriers in place of a withheld number: a word as spelled on a telephone's keys.
const WITHHELD: [&str; 5] = ["+7378742833", "+2562533", "+8656696", "+266696687", "+86282452253"];

impl LegRef {
    /// The caller ID of a transfer, where it is not the far end's own: our number, on calls that we placed, and for callers whose
    /// number is withheld or not in E.164 form.
    #[must_use]
    pub fn caller_id_of_transfer(&self) -> Option<&PhoneNumber> {
        match &self.from {
            from if self.dialing_at.is_some() => from.as_ref(),
            Some(from) if from.is_e164() && !WITHHELD.contains(&from.reveal()) => None,
            _ => self.to.as_ref(),
        }
    }
}

/// A leg that a carrier knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLeg {
    /// The carrier's own id of it.
    pub carrier_call_id: String,
    /// How it ended, if it has.
    pub ended: Option<Hangup>,
    /// Whether the carrier knows it by our reference; else it merely has the same numbers.
    pub certain: bool,
}

/// The leg to the number of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferLeg {
    /// The carrier's own id of it, if that is known.
    pub carrier_call_id: Option<String>,
    /// Its state.
    pub state: TransferLegState,
}

impl TransferLeg {
    /// A leg of which the carrier shows nothing.
    pub const UNKNOWN: Self = Self { carrier_call_id: None, state: TransferLegState::Unknown };
}

/// A carrier's reports about a transfer that it accepted, and the state of the media meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferReports {
    /// Nothing: an accepted transfer is the end.
    Nothing,
    /// The legs' own events: [`CarrierEvent::Bridged`], [`CarrierEvent::OtherLegBridged`] or [`CarrierEvent::OtherLegEnded`]. Until then
    /// leg and media stay ours.
    ///
    /// [`CarrierEvent::Bridged`]: switchhook_core::call::CarrierEvent::Bridged
    /// [`CarrierEvent::OtherLegBridged`]: switchhook_core::call::CarrierEvent::OtherLegBridged
    /// [`CarrierEvent::OtherLegEnded`]: switchhook_core::call::CarrierEvent::OtherLegEnded
    MediaStays,
    /// The same, by [`CarrierEvent::TransferEnded`]. The media ends at once, and new media is opened when the transfer fails.
    ///
    /// [`CarrierEvent::TransferEnded`]: switchhook_core::call::CarrierEvent::TransferEnded
    MediaReturns,
}

/// Why it is not known that a leg is transferred.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// The leg is as it was.
    #[error(transparent)]
    Refused(#[from] CarrierError),
    /// The answer was lost: the carrier may be ringing the number.
    #[error("{message}")]
    Unknown {
        /// Description of the failure.
        message: String,
    },
}

/// A request to the carrier failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CarrierError {
    /// `carrier_unauthorized` or `carrier_error`.
    pub code: ErrorCode,
    /// The carrier's message.
    pub message: String,
}
