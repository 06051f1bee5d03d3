//! What carriers report about a leg, in one vocabulary.

use serde::{Deserialize, Serialize};

use super::Hangup;

/// What a carrier reports about a leg. It may reach another node than the call's own, so it can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarrierEvent {
    /// Its id of the call, for when the response to the dial was lost.
    Id(String),
    /// The far end rings.
    Ringing,
    /// Somebody, or something, answered.
    Answered,
    /// A person answered.
    Human,
    /// A machine answered; and whether its greeting is over, so that a message can be left.
    Machine {
        /// Whether the beep was heard, or the greeting ended without one.
        greeting_ended: bool,
    },
    /// There will be no audio; one sentence says why.
    NoMedia(String),
    /// The leg has ended.
    Hangup(Hangup),
    /// The far end was connected to the number that it is transferred to.
    Bridged,
    /// A transfer has ended.
    TransferEnded {
        /// Which transfer of the call, counted by who asked for it.
        number: u32,
        /// Whether the far end was connected to the number.
        bridged: bool,
    },
    /// Another leg of the call has ended, such as the one to that number.
    OtherLegEnded {
        /// The carrier's id of it.
        carrier_call_id: String,
    },
}
