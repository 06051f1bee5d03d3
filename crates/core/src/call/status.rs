//! Values of a call's state and end.

use serde::{Deserialize, Serialize};

use crate::wire::wire_words;

wire_words! {
    /// Call status. It only moves down this list; the last two are final.
    pub enum Status {
        /// Accepted, waiting to be dialled.
        Queued = "queued",
        /// The carrier is dialling, or an inbound call is being answered.
        Dialing = "dialing",
        /// Connected, with a live conversation.
        InProgress = "in_progress",
        /// Ended normally.
        Completed = "completed",
        /// Ended in an error; an [`ErrorCode`] says which.
        Failed = "failed",
    }

    /// Why a call failed. Codes are final: none changes meaning, none is added.
    pub enum ErrorCode {
        /// The carrier rejected the telephony credentials.
        CarrierUnauthorized = "carrier_unauthorized",
        /// The carrier returned an error while dialling.
        CarrierError = "carrier_error",
        /// The line was busy.
        Busy = "busy",
        /// The call was not answered in time.
        NoAnswer = "no_answer",
        /// The call was rejected.
        Rejected = "rejected",
        /// The number does not exist or is not in service.
        InvalidNumber = "invalid_number",
        /// The carrier connected but no audio stream started.
        NoMedia = "no_media",
        /// An agent connection was missing or invalid at dial time.
        ConfigError = "config_error",
        /// A speech-to-text, text-to-speech or language-model provider timed out.
        ProviderTimeout = "provider_timeout",
        /// The conversation pipeline failed during the call.
        PipelineError = "pipeline_error",
        /// A failure that fits no other code; the call's `error` has the details.
        UnknownError = "unknown_error",
    }

    /// Why a completed call ended.
    pub enum EndReason {
        /// The person at the other end, or their line, ended the call.
        CallerHangup = "caller_hangup",
        /// The agent ended the call.
        AgentHangup = "agent_hangup",
        /// The call was transferred.
        Transferred = "transferred",
        /// A client of the API ended the conversation.
        ApiHangup = "api_hangup",
        /// A client of the API cancelled the call before it was answered.
        Canceled = "canceled",
        /// A machine answered, and the agent's settings end the call there or after a message.
        Voicemail = "voicemail",
        /// Nothing was said for too long.
        Silence = "silence",
        /// The call reached its longest duration.
        MaxDuration = "max_duration",
        /// The service was stopped and could no longer wait.
        Drained = "drained",
    }

    /// Who ended a call.
    pub enum EndedBy {
        /// The person at the other end of the line.
        Caller = "caller",
        /// The agent, because its model or its settings ended the call.
        Agent = "agent",
        /// A client of the API.
        Api = "api",
        /// The carrier or the network.
        Carrier = "carrier",
        /// This service.
        System = "system",
    }

    /// Who placed the call.
    pub enum Direction {
        /// A caller called one of the tenant's numbers.
        Inbound = "inbound",
        /// The tenant had a number called.
        Outbound = "outbound",
        /// The tenant had a conversation in a browser.
        Web = "web",
    }

    /// The carrier's reason for the end of a call, uniform across carriers.
    pub enum CarrierCause {
        /// One side hung up in the ordinary way.
        Normal = "normal",
        /// The line was busy.
        Busy = "busy",
        /// It rang and was not answered.
        NoAnswer = "no_answer",
        /// The call was declined.
        Rejected = "rejected",
        /// The number does not exist, is malformed or out of service.
        InvalidNumber = "invalid_number",
        /// The call was cancelled before it was answered.
        Canceled = "canceled",
        /// Anything else.
        Failed = "failed",
    }
}

impl Direction {
    /// Returns whether the tenant placed the call, so that it is dialled and counts towards its monthly cap.
    #[must_use]
    pub const fn is_placed(self) -> bool {
        matches!(self, Self::Outbound | Self::Web)
    }
}

impl Status {
    /// Returns whether the call has ended; its status no longer changes.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// The carrier's report of the end of a call, as it goes into the `carrier.hangup` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hangup {
    /// Normalised cause.
    pub cause: CarrierCause,
    /// The SIP status code (RFC 3261 section 21) if the carrier gave one: 100 to 699.
    pub sip_code: Option<u16>,
    /// The carrier's own code or text, for people who read its documentation.
    pub carrier_code: Option<String>,
    /// The party that hung up, if the carrier says so; otherwise [`Call`](super::Call) fills it in.
    pub hung_up_by: Option<EndedBy>,
    /// Which failure it was, if [`CarrierCause::Failed`] is not specific enough: `carrier_unauthorized` or `unknown_error`.
    #[serde(default)]
    pub error_code: Option<ErrorCode>,
    /// How long the conversation lasted, if this is the carrier's record of the call rather than a report of its end.
    #[serde(default)]
    pub duration_seconds: Option<u32>,
}

impl Hangup {
    /// Creates a report with nothing but the cause.
    #[must_use]
    pub const fn new(cause: CarrierCause) -> Self {
        Self { cause, sip_code: None, carrier_code: None, hung_up_by: None, error_code: None, duration_seconds: None }
    }
}
