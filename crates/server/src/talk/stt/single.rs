//! An STT without a fallback: it gets its input directly, and reports its own events.

use futures_util::FutureExt as _;
use switchhook_providers::{SttEvent, SttInput};
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{SttConnection, SttProvider};

/// The only STT of a call.
pub(super) enum SingleStt {
    /// Opening; `waiting` is the input so far.
    Opening { opening: AbortOnDropHandle<Option<SttConnection>>, waiting: Vec<SttInput> },
    /// Transcribes the caller; `None` if it could not be opened, which an event reports. If the opening panicked, the events end instead.
    Open(Option<SttConnection>),
}

impl SingleStt {
    pub(super) fn begin(provider: SttProvider, events: mpsc::Sender<SttEvent>, ready: watch::Sender<bool>) -> Self {
        let opening = async move {
            match provider.open(events.clone()).await {
                Ok(connection) => {
                    ready.send_replace(true);
                    Some(connection)
                }
                Err(error) => {
                    let failed = SttEvent::Failed { code: error.code(), message: error.to_string() };
                    // A driver that is gone needs no event.
                    let _ = events.send(failed).await;
                    None
                }
            }
        };
        Self::Opening { opening: AbortOnDropHandle::new(tokio::spawn(opening.in_current_span())), waiting: Vec::new() }
    }

    pub(super) fn send(&mut self, input: SttInput) {
        match self {
            Self::Open(connection) => {
                if let Some(connection) = connection {
                    connection.send(&input);
                }
            }
            Self::Opening { opening, waiting } => {
                waiting.push(input);
                let Some(opened) = opening.now_or_never() else { return };
                let mut connection = opened.unwrap_or_default();
                if let Some(connection) = &mut connection {
                    waiting.iter().for_each(|input| connection.send(input));
                }
                *self = Self::Open(connection);
            }
        }
    }
}
