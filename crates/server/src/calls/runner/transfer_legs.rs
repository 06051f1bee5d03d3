//! The legs of a transfer, looked up at the carrier where their events do not say how it ended.

use switchhook_carriers::TransferLeg;
use switchhook_core::call::Hangup;
use tracing::Instrument as _;

use super::effects::{LegControl, answer_of};
use super::{Runner, TaskOutcome};

/// The call's own leg, looked up during a transfer.
#[derive(Clone, Debug)]
pub(super) enum OwnLeg {
    /// Not looked up, or the carrier could not say.
    Unknown,
    /// It is up.
    Up,
    /// It has ended.
    Ended(Hangup),
}

impl OwnLeg {
    /// Returns the state of a leg that the carrier has found.
    pub(super) fn of(ended: Option<Hangup>) -> Self {
        ended.map_or(Self::Up, Self::Ended)
    }
}

/// Facts to look up about a transfer.
pub(super) struct TransferLookup {
    /// Whether to look up the call's own leg.
    pub(super) own_leg: bool,
    /// The carrier's id of the leg to the number, if it is known.
    pub(super) other: Option<String>,
    /// Those of earlier transfers.
    pub(super) over: Vec<String>,
}

impl Runner {
    /// Looks up the leg to the number of a transfer whose end was not reported, and the call's own leg if its media has ended.
    pub(super) fn look_transfer_up(&mut self, number: u32, look: TransferLookup) {
        let Some(control) = self.leg_control() else { return };
        self.start(async move {
            let own = async {
                if !look.own_leg {
                    return OwnLeg::Unknown;
                }
                control.find_repeatedly().await.map_or(OwnLeg::Unknown, |found| OwnLeg::of(found.ended))
            };
            let (own, other) = tokio::join!(own, control.find_transfer(look.other.as_deref(), &look.over));
            Some(TaskOutcome::Transferred { number, own, other })
        });
    }

    /// Has the carrier end another leg of the call.
    pub(super) fn hang_up_other(&mut self, carrier_call_id: String) {
        let Some(mut control) = self.leg_control() else { return };
        control.leg.carrier_call_id = Some(carrier_call_id);
        self.context.runners.spawn(async move { control.hang_up().await }.in_current_span());
    }
}

impl LegControl {
    /// Looks up the leg to the number of a transfer.
    async fn find_transfer(&self, other: Option<&str>, over: &[String]) -> TransferLeg {
        match answer_of(self.carrier.control.look_up_transfer(&self.leg, other, over)).await {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                tracing::warn!(%error, "could not look up the leg of a transfer at the carrier");
                TransferLeg::UNKNOWN
            }
            None => TransferLeg::UNKNOWN,
        }
    }
}
