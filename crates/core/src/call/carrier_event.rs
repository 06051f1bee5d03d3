//! Events that carriers report about a leg, in one vocabulary for all of them.

use serde::{Deserialize, Serialize};

use super::Hangup;

/// An event that a carrier reports about a leg. It may reach a node that does not own the call, so it can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarrierEvent {
    /// The carrier's id of the call, in case the response to the dial was lost.
    Id(String),
    /// The far end rings.
    Ringing,
    /// A person or a machine answered.
    Answered,
    /// A person answered.
    Human,
    /// A machine answered.
    Machine {
        /// Whether its greeting is over, with or without a beep, so that a message can be left.
        greeting_ended: bool,
    },
    /// There will be no audio; the text says why in one sentence.
    NoMedia(String),
    /// The leg has ended.
    Hangup(Hangup),
    /// The far end was connected to the number that it was transferred to.
    Bridged,
    /// A transfer has ended.
    TransferEnded {
        /// Which transfer of the call, counted by who asked for it.
        number: u32,
        /// Whether the far end was connected to the number.
        bridged: bool,
    },
    /// The carrier has created another leg of the call, such as the one to that number.
    OtherLegStarted {
        /// The carrier's id of that leg.
        carrier_call_id: String,
    },
    /// The other leg was answered. The carrier is about to connect it.
    OtherLegAnswered {
        /// The carrier's id of that leg.
        carrier_call_id: String,
    },
    /// The far end was connected to the other leg.
    OtherLegBridged {
        /// The carrier's id of that leg.
        carrier_call_id: String,
    },
    /// The other leg has ended.
    OtherLegEnded {
        /// The carrier's id of that leg.
        carrier_call_id: String,
    },
}
