//! Inputs and effects of a call.

use std::time::Duration;

use super::ending::Ending;
use super::status::{EndReason, EndedBy, ErrorCode, Hangup, Status};
use crate::Timestamp;
use crate::event::kind::EventKind;
use crate::private::Private;

/// Something that happened to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallInput {
    /// The dialler has claimed the call and is about to dial it.
    Dial,
    /// The carrier accepted the dial. Also given, before anything else, when a callback is the first to carry the carrier's id of the call.
    DialAccepted {
        /// The carrier's id of the call, by which it can be hung up and looked up.
        carrier_call_id: String,
        /// How long the carrier says that it will wait before it rings, while earlier calls go first.
        waits: Duration,
    },
    /// The dial was refused or could not be made; there is no leg.
    DialRefused {
        /// `carrier_unauthorized`, `carrier_error`, `invalid_number`, `config_error`, …
        code: ErrorCode,
        /// One sentence for the `error` field.
        error: Private<String>,
    },
    /// The carrier's response to the dial was lost or ambiguous (timeout, 5xx): the phone may be ringing.
    DialUnknown,
    /// The carrier has no capacity now and rang no phone; the dial is repeated after this delay.
    DialDelayed(Duration),
    /// The far end rings.
    Ringing,
    /// The far end picked up; for an inbound call, this service did.
    Answered,
    /// The first audio arrived.
    MediaStarted,
    /// The carrier says that there will be no audio.
    NoMedia {
        /// One sentence for the `error` field.
        error: Private<String>,
    },
    /// The carrier reported the end of the call.
    CarrierHangup(Hangup),
    /// The conversation ended without a request from outside.
    TalkEnded(TalkEnd),
    /// The response to [`CallEffect::StopTalk`]: transcript and summary are written.
    WrappedUp,
    /// A client of the API requested the end of the call.
    HangUpRequested,
    /// The service stops and can no longer wait for this call.
    Drain,
    /// The node that owned the call is dead, and this one has taken its lease.
    Abandoned,
    /// Time has passed. Give it at [`Call::next_deadline`](super::Call::next_deadline).
    Tick,
}

/// How a conversation ended without a request from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TalkEnd {
    /// The agent said goodbye.
    AgentHungUp,
    /// The caller was transferred; this service must not end the leg.
    Transferred {
        /// The party that requested it.
        by: EndedBy,
    },
    /// Nothing was said for too long.
    Silence,
    /// The longest duration was reached.
    MaxDuration,
    /// A machine answered; the agent hung up or left a message.
    Voicemail,
    /// The audio broke off. Usually the caller hung up and the carrier is about to report it.
    MediaLost,
    /// The conversation, or its preparation while the phone rang, failed.
    Failed {
        /// Kind of failure.
        failure: TalkFailure,
        /// One sentence for the `error` field.
        error: Private<String>,
    },
}

/// A failure of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TalkFailure {
    /// A provider did not respond in time, nor did its fallbacks.
    ProviderTimeout,
    /// A connection of the agent is missing or invalid.
    ConfigError,
    /// Anything else.
    PipelineError,
}

impl From<TalkFailure> for ErrorCode {
    fn from(failure: TalkFailure) -> Self {
        match failure {
            TalkFailure::ProviderTimeout => Self::ProviderTimeout,
            TalkFailure::ConfigError => Self::ConfigError,
            TalkFailure::PipelineError => Self::PipelineError,
        }
    }
}

impl TalkEnd {
    pub(super) fn ending(self) -> Ending {
        match self {
            Self::AgentHungUp => Ending::completed(EndReason::AgentHangup, EndedBy::Agent),
            Self::Transferred { by } => Ending::completed(EndReason::Transferred, by),
            Self::Silence => Ending::completed(EndReason::Silence, EndedBy::Agent),
            Self::MaxDuration => Ending::completed(EndReason::MaxDuration, EndedBy::System),
            Self::Voicemail => Ending::completed(EndReason::Voicemail, EndedBy::Agent),
            Self::MediaLost => Ending::completed(EndReason::CallerHangup, EndedBy::Carrier),
            Self::Failed { failure, error } => Ending::Failed { code: failure.into(), by: EndedBy::System, error },
        }
    }
}

/// Something to do about a call.
#[expect(clippy::large_enum_variant, reason = "at most four exist at a time, and a Box would be in everybody's way")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEffect {
    /// Write this in one transaction. Always the first effect if present; perform the effects after it only once the transaction is committed.
    Commit(Change),
    /// Ask the carrier to ring the number. Given at most once per call.
    Dial,
    /// Accept an inbound call.
    Answer,
    /// Ask the carrier for the outcome of a dial whose id is unknown or whose node died, or of a call whose end it has not reported. Respond with
    /// [`CallInput::DialAccepted`] if the call is live or [`CallInput::CarrierHangup`] if it ended; give no input if it cannot be found. If the end
    /// is already decided, keep asking until the call has ended.
    LookUp,
    /// Have the carrier end the leg by its id, or look it up first if the id is unknown. It is fine if none is found.
    HangUp,
    /// Start the conversation.
    StartTalk,
    /// Stop the conversation if it still runs, write its transcript and summary, and respond with [`CallInput::WrappedUp`].
    StopTalk,
}

/// The changes to a call's row and the events that report them: one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The status, changed or not.
    pub status: Status,
    /// When the call is next due; empty once it has ended. Workers find overdue calls by it.
    pub deadline: Option<Timestamp>,
    /// When it was dialled. Set when there is a value, as are all the following fields.
    pub dialing_at: Option<Timestamp>,
    /// When it first rang.
    pub ringing_at: Option<Timestamp>,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// When the leg ended. May be set, and corrected once, shortly before the status becomes terminal.
    pub ended_at: Option<Timestamp>,
    /// From answer to end in whole seconds, halves rounded up; set with the terminal status.
    pub duration_seconds: Option<u32>,
    /// The carrier's id of the call.
    pub carrier_call_id: Option<String>,
    /// `end_reason`, `ended_by`, `error_code`, `error`. Written as soon as the end is decided, shortly before the status becomes terminal, and once
    /// more when the carrier reports who ended a stream. Leave these columns out when showing a live call.
    pub ending: Option<Ending>,
    /// The carrier's report: `carrier.cause`, `carrier.sip_code` and the rest of the `carrier.hangup` event.
    pub hangup: Option<Hangup>,
    /// The events to append, in this order.
    pub events: Vec<EventKind>,
}

impl Change {
    pub(super) const fn none(status: Status, deadline: Option<Timestamp>) -> Self {
        Self {
            status,
            deadline,
            dialing_at: None,
            ringing_at: None,
            answered_at: None,
            ended_at: None,
            duration_seconds: None,
            carrier_call_id: None,
            ending: None,
            hangup: None,
            events: Vec::new(),
        }
    }
}
