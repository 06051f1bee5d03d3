//! The vocabulary of a call's state and end.

use serde::{Deserialize, Serialize};

use crate::wire::wire_words;

wire_words! {
    /// Where a call stands. It only moves down this list; the last two are final.
    Status {
        /// Accepted, waiting to be dialled.
        Queued = "queued",
        /// The carrier is dialling, or an inbound call is being answered.
        Dialing = "dialing",
        /// Connected, conversation live.
        InProgress = "in_progress",
        /// Ended normally.
        Completed = "completed",
        /// Ended in an error; an [`ErrorCode`] says which.
        Failed = "failed",
    }

    /// Why a call failed. The list is closed: a code never changes its meaning, and none is added.
    ErrorCode {
        /// The carrier rejected the telephony credentials.
        CarrierUnauthorized = "carrier_unauthorized",
        /// The carrier returned an error while dialling.
        CarrierError = "carrier_error",
        /// The line was busy.
        Busy = "busy",
        /// Nobody answered before the call timed out.
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
    EndReason {
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
        /// Nobody said anything for too long.
        Silence = "silence",
        /// The call reached its longest duration.
        MaxDuration = "max_duration",
        /// The service was stopped and could not wait any longer.
        Drained = "drained",
    }

    /// Who ended a call.
    EndedBy {
        /// The person at the other end of the line.
        Caller = "caller",
        /// The agent, by its own decision or by its rules.
        Agent = "agent",
        /// A client of the API.
        Api = "api",
        /// The carrier or the network.
        Carrier = "carrier",
        /// This service.
        System = "system",
    }

    /// Who placed the call.
    Direction {
        /// Somebody called one of the tenant's numbers.
        Inbound = "inbound",
        /// The tenant had somebody called.
        Outbound = "outbound",
        /// The tenant let somebody talk in a browser.
        Web = "web",
    }

    /// What a carrier says about the end of a call, in one vocabulary for all carriers.
    CarrierCause {
        /// Somebody hung up in the ordinary way.
        Normal = "normal",
        /// The line was busy.
        Busy = "busy",
        /// It rang and nobody answered.
        NoAnswer = "no_answer",
        /// The call was declined.
        Rejected = "rejected",
        /// The number does not exist, is malformed or out of service.
        InvalidNumber = "invalid_number",
        /// The call was withdrawn before it was answered.
        Canceled = "canceled",
        /// Anything else.
        Failed = "failed",
    }
}

impl Direction {
    /// Whether the tenant placed the call, so that it is dialled and counts towards its monthly cap.
    #[must_use]
    pub const fn is_placed(self) -> bool {
        matches!(self, Self::Outbound | Self::Web)
    }
}

impl Status {
    /// Whether the call has ended; nothing about its status changes any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// The carrier's report of the end of a call, as it goes into the `carrier.hangup` event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hangup {
    /// What happened, normalised.
    pub cause: CarrierCause,
    /// The SIP status code (RFC 3261 section 21) if the carrier gave one: 100 to 699.
    pub sip_code: Option<u16>,
    /// The carrier's own code or word, for people who read its documentation.
    pub carrier_code: Option<String>,
    /// Who hung up, where the carrier says so; [`Call`](super::Call) fills it in where it does not.
    pub hung_up_by: Option<EndedBy>,
    /// Which failure it was, where [`CarrierCause::Failed`] does not say enough: `carrier_unauthorized` or `unknown_error`.
    #[serde(default)]
    pub error_code: Option<ErrorCode>,
    /// How long the conversation lasted, where this is the carrier's record of the call instead of a report of its end.
    #[serde(default)]
    pub duration_seconds: Option<u32>,
}

impl Hangup {
    /// A report that has nothing to say but the cause.
    #[must_use]
    pub const fn new(cause: CarrierCause) -> Self {
        Self { cause, sip_code: None, carrier_code: None, hung_up_by: None, error_code: None, duration_seconds: None }
    }
}
