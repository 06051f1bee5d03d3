//! A recogniser behind which there is no other: it is told directly, and speaks for itself.

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use super::{Listener, Recogniser};
use crate::providers::SttEvent;
use crate::providers::replay_buffer::SttInput;

/// The only recogniser of a call.
pub(super) enum Alone {
    /// It is being opened, and this waits for it.
    Opening { opening: AbortOnDropHandle<Option<Listener>>, waiting: Vec<SttInput> },
    /// It hears the caller; nobody does when it could not be opened, which the conversation has been told, or finds out by the end of
    /// the events when the opening panicked.
    Open(Option<Listener>),
}

impl Alone {
    pub(super) fn begin(recogniser: Recogniser, events: mpsc::Sender<SttEvent>, ready: watch::Sender<bool>) -> Self {
        let opening = async move {
            match recogniser.open(events.clone()).await {
                Ok(listener) => {
                    ready.send_replace(true);
                    Some(listener)
                }
                Err(error) => {
                    let failed = SttEvent::Failed { code: error.code(), words: error.to_string() };
                    // A driver that has gone wants to know nothing.
                    let _ = events.send(failed).await;
                    None
                }
            }
        };
        Self::Opening { opening: AbortOnDropHandle::new(tokio::spawn(opening)), waiting: Vec::new() }
    }

    pub(super) fn tell(&mut self, told: SttInput) {
        match self {
            Self::Open(listener) => {
                if let Some(listener) = listener {
                    listener.tell(&told);
                }
            }
            Self::Opening { opening, waiting } => {
                waiting.push(told);
                let Some(opened) = opening.now_or_never() else { return };
                let mut listener = opened.unwrap_or_default();
                if let Some(listener) = &mut listener {
                    waiting.iter().for_each(|told| listener.tell(told));
                }
                *self = Self::Open(listener);
            }
        }
    }
}
