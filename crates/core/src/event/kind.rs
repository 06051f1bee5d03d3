//! Kinds of call events.

use crate::wire::wire_words;

wire_words! {
    /// The events of a call.
    pub enum EventKind {
        /// The call was accepted and waits to be dialled.
        CallQueued = "call.queued",
        /// The carrier is dialling the number.
        CallDialing = "call.dialing",
        /// The call connected and the conversation is live.
        CallInProgress = "call.in_progress",
        /// The call ended normally.
        CallCompleted = "call.completed",
        /// The call ended in an error.
        CallFailed = "call.failed",
        /// An inbound call arrived on one of the tenant's numbers.
        CallReceived = "call.received",
        /// The carrier reported why the call ended.
        CarrierHangup = "carrier.hangup",
    }
}

impl EventKind {
    /// Returns whether this is the terminal event of a call.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::CallCompleted | Self::CallFailed)
    }
}
