//! Events of a leg, sent to the call's runner.

use switchhook_core::call::CarrierEvent;
use switchhook_net::queues::Queue;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::media::Media;

/// Events that may be queued for the runner of a call. A call has few of them, but the signer of callbacks can send any number.
const EVENT_CAPACITY: usize = 64;

/// The channel for the events of one call's leg. Clones send to the same call.
#[derive(Clone, Debug)]
pub struct LegEvents(mpsc::Sender<LegEvent>);

impl LegEvents {
    /// Creates a channel; audio has separate channels.
    #[must_use]
    pub fn new() -> (Self, mpsc::Receiver<LegEvent>) {
        let (sender, receiver) = mpsc::channel(EVENT_CAPACITY);
        (Self(sender), receiver)
    }

    /// Sends an event to the call's runner, if it still runs. Dropped when the channel is full: how the call ended is looked up.
    pub fn send(&self, event: LegEvent) {
        if let Err(TrySendError::Full(_)) = self.0.try_send(event) {
            Queue::CarrierEvents.full();
        }
    }
}

/// An event of a leg.
#[derive(Debug)]
pub enum LegEvent {
    /// An event reported by the carrier.
    Carrier(CarrierEvent),
    /// Media flows.
    Media(Media),
}
