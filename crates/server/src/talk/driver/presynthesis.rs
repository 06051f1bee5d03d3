//! Speech synthesized in advance: the greeting, the first sentence of a speculative response, and cached phrases.

use std::sync::Arc;

use switchhook_core::conversation::Failure;
use switchhook_providers::{ProviderError, TtsAudio, Usage, UsageMeter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::failure;
use crate::talk::pipeline::{Pipeline, RunningRequest, Signal};

/// Pieces that are buffered before they are played; the provider has to hold the rest.
const AHEAD: usize = 512;

/// Speech that may be played next: the greeting while the phone rings, or a response while the turn may not be over.
pub(in crate::talk) struct PreparedSpeech {
    pub(super) text: String,
    request: RunningRequest,
    /// Its slot at the TTS; a greeting has none.
    slot: Option<OwnedSemaphorePermit>,
    /// The first signal, if it was already received.
    first: Option<Signal<TtsAudio>>,
    signals: mpsc::Receiver<(u32, Signal<TtsAudio>)>,
}

impl PreparedSpeech {
    pub(in crate::talk) fn begin(pipeline: &Pipeline, text: String, slot: Option<OwnedSemaphorePermit>) -> Self {
        let (sender, signals) = mpsc::channel(AHEAD);
        let request = pipeline.speak(0, text.clone(), sender);
        Self { text, request, slot, first: None, signals }
    }

    /// Waits until synthesis begins or fails. Returns the failure if it is permanent; any other may be over when the phone is answered.
    /// Cancel safe.
    pub(in crate::talk) async fn refused(&mut self) -> Option<Failure> {
        if self.first.is_none() {
            self.first = self.signals.recv().await.map(|(_, signal)| signal);
        }
        match &self.first {
            Some(Signal::Failed(error @ ProviderError::Config { .. })) => Some(failure(error)),
            _ => None,
        }
    }

    /// Returns its cost if it is never played.
    pub(in crate::talk) fn cost(mut self) -> Usage {
        let mut cost = self.request.cost(0);
        let next =
            |signals: &mut mpsc::Receiver<(u32, Signal<TtsAudio>)>| signals.try_recv().ok().map(|(_, signal)| signal);
        while let Some(signal) = self.first.take().or_else(|| next(&mut self.signals)) {
            if let Signal::Done(usage) = signal {
                cost = cost + *usage;
            }
        }
        cost
    }

    /// Plays it as this utterance. Returns its slot with it.
    pub(super) fn say(
        mut self,
        utterance: u32,
        signals: mpsc::Sender<(u32, Signal<TtsAudio>)>,
    ) -> (RunningRequest, Option<OwnedSemaphorePermit>) {
        let slot = self.slot.take();
        let pass_on = |running| {
            AbortOnDropHandle::new(tokio::spawn(async move {
                let _running = running;
                if let Some(first) = self.first {
                    let _ = signals.send((utterance, first)).await;
                }
                while let Some((_, signal)) = self.signals.recv().await {
                    let _ = signals.send((utterance, signal)).await;
                }
            }))
        };
        (self.request.through(pass_on), slot)
    }
}

/// Synthesizes phrases into the cache during the conversation.
pub(super) struct PhraseWarmup {
    texts: Vec<String>,
    /// `None` until it has begun.
    running: Option<AbortHandle>,
    /// Receives its cost.
    meter: UsageMeter,
}

impl PhraseWarmup {
    pub(super) fn new(texts: Vec<String>, meter: UsageMeter) -> Self {
        Self { texts, running: None, meter }
    }

    /// Begins as one of `tasks`, unless it already has. Each phrase takes one of the TTS's `slots`.
    pub(super) fn begin(&mut self, pipeline: &Pipeline, slots: &Arc<Semaphore>, tasks: &mut JoinSet<()>) {
        let texts = std::mem::take(&mut self.texts);
        if !texts.is_empty() {
            self.running =
                Some(tasks.spawn(pipeline.cache_phrases(texts, self.meter.clone(), slots.clone()).in_current_span()));
        }
    }

    pub(super) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
    }
}
