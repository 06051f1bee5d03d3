//! What is synthesized before it is said: the greeting, the first sentence of a speculative response, and cached phrases.

use std::sync::Arc;

use switchhook_core::conversation::Failure;
use switchhook_providers::{ProviderError, Spent, TtsAudio, Usage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::failure;
use crate::talk::pipeline::{Pipeline, RunningRequest, Signal};

/// Pieces that may be there before they are said; the rest waits at the provider.
const AHEAD: usize = 512;

/// What may be said next: the greeting while the phone rings, a response while the turn may go on.
pub(in crate::talk) struct PreparedSpeech {
    pub(super) text: String,
    request: RunningRequest,
    /// Its slot at the TTS; a greeting has none.
    slot: Option<OwnedSemaphorePermit>,
    /// What has come first, if it was looked at.
    first: Option<Signal<TtsAudio>>,
    signals: mpsc::Receiver<(u32, Signal<TtsAudio>)>,
}

impl PreparedSpeech {
    pub(in crate::talk) fn begin(pipeline: &Pipeline, text: String, slot: Option<OwnedSemaphorePermit>) -> Self {
        let (sender, signals) = mpsc::channel(AHEAD);
        let request = pipeline.speak(0, text.clone(), sender);
        Self { text, request, slot, first: None, signals }
    }

    /// Waits until it begins or fails, and gives the reason if the voice will not speak, however often it is request. Whatever else is
    /// wrong may be over when the phone is answered. May be dropped and called again.
    pub(in crate::talk) async fn refused(&mut self) -> Option<Failure> {
        if self.first.is_none() {
            self.first = self.signals.recv().await.map(|(_, signal)| signal);
        }
        match &self.first {
            Some(Signal::Failed(error @ ProviderError::Config { .. })) => Some(failure(error)),
            _ => None,
        }
    }

    /// What it cost, if it is never said.
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

    /// Says it as this utterance. Returns its slot with it.
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

/// What is said into memory while the conversation goes on.
pub(super) struct PhraseWarmup {
    texts: Vec<String>,
    /// Nothing until it has begun.
    running: Option<AbortHandle>,
    /// To which its cost is added.
    spent: Spent,
}

impl PhraseWarmup {
    pub(super) fn new(texts: Vec<String>, spent: Spent) -> Self {
        Self { texts, running: None, spent }
    }

    /// Begins as one of `tasks`, unless it has. Each takes one of the `slots` at the voice.
    pub(super) fn begin(&mut self, pipeline: &Pipeline, slots: &Arc<Semaphore>, tasks: &mut JoinSet<()>) {
        let texts = std::mem::take(&mut self.texts);
        if !texts.is_empty() {
            self.running =
                Some(tasks.spawn(pipeline.cache_phrases(texts, self.spent.clone(), slots.clone()).in_current_span()));
        }
    }

    pub(super) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
    }
}
