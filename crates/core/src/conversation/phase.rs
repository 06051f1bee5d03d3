//! Phases of a conversation.

use super::effect::End;
use crate::Timestamp;

/// The phases of a conversation. Each ends by an input, by what was heard, or by its deadline.
#[derive(Debug)]
pub(super) enum Phase {
    /// Media does not flow yet.
    Connecting,
    /// The agent has not been heard yet. In greeting mode `wait`, it greets at this time at the latest.
    Greeting { at: Option<Timestamp> },
    /// Caller and agent take turns.
    Conversing,
    /// The carrier is asked to transfer the caller, by a tool call or through the API.
    Transferring { tool_call: Option<String> },
    /// A machine answered and its beep is awaited.
    Voicemail { since: Timestamp, beeped: bool },
    /// The goodbye, or the message for a machine, is being said.
    Closing(Closing),
    /// The conversation is over.
    Ended,
}

/// State of a goodbye.
#[derive(Debug)]
pub(super) struct Closing {
    /// Why the call ends.
    pub(super) reason: End,
    /// The tool call that ends the call, until it has a result.
    pub(super) tool_call: Option<String>,
    pub(super) since: Timestamp,
    /// When the call ends even if not everything was heard.
    pub(super) limit: Timestamp,
    pub(super) filler: GoodbyeFiller,
}

/// State of the filler that covers the wait for a goodbye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoodbyeFiller {
    /// Not needed so far.
    None,
    /// A phrase was said.
    Said,
    /// No phrase is cached.
    Missing,
}

impl Phase {
    /// Returns whether caller and agent take turns, or are about to.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Greeting { .. } | Self::Conversing)
    }

    /// Returns whether the agent will greet a caller who says nothing.
    pub(super) fn awaits_greeting(&self) -> bool {
        matches!(self, Self::Greeting { at: Some(_) })
    }

    /// Returns whether a machine answered.
    pub(super) fn is_voicemail(&self) -> bool {
        matches!(self, Self::Voicemail { .. } | Self::Closing(Closing { reason: End::VoicemailMessageLeft, .. }))
    }

    pub(super) fn closing(&self) -> Option<&Closing> {
        if let Self::Closing(closing) = self { Some(closing) } else { None }
    }

    pub(super) fn closing_mut(&mut self) -> Option<&mut Closing> {
        if let Self::Closing(closing) = self { Some(closing) } else { None }
    }

    pub(super) fn is_closing(&self) -> bool {
        matches!(self, Self::Closing(_))
    }

    pub(super) fn is_transferring(&self) -> bool {
        matches!(self, Self::Transferring { .. })
    }

    pub(super) fn is_ended(&self) -> bool {
        matches!(self, Self::Ended)
    }
}
