//! What is spoken before it is said: the greeting, and cached phrases.

use std::sync::Arc;

use switchhook_core::conversation::Failure;
use switchhook_providers::{ProviderError, Spent, TtsAudio, Usage};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::task::AbortOnDropHandle;

use super::failure;
use crate::talk::pipeline::{Pipeline, RunningRequest, Signal};

/// Pieces of a greeting that may be there before the phone is answered; the rest waits at the provider.
const AHEAD: usize = 512;

/// The greeting, spoken while the phone rings.
pub(in crate::talk) struct Greeting {
    pub(super) text: String,
    request: RunningRequest,
    /// What has come first, if it was looked at.
    first: Option<Signal<TtsAudio>>,
    signals: mpsc::Receiver<(u32, Signal<TtsAudio>)>,
}

impl Greeting {
    pub(in crate::talk) fn begin(pipeline: &Pipeline, text: String) -> Self {
        let (sender, signals) = mpsc::channel(AHEAD);
        let request = pipeline.speak(0, text.clone(), sender);
        Self { text, request, first: None, signals }
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
                cost = cost + usage;
            }
        }
        cost
    }

    /// Says it as this utterance.
    pub(super) fn say(mut self, utterance: u32, signals: mpsc::Sender<(u32, Signal<TtsAudio>)>) -> RunningRequest {
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
        self.request.through(pass_on)
    }
}

/// What is said into memory while the conversation goes on.
pub(super) struct PhraseWarmup {
    texts: Vec<String>,
    /// Nothing until it has begun.
    running: Option<AbortHandle>,
    /// What it costs.
    spending: mpsc::Sender<Usage>,
    pub(super) spent: mpsc::Receiver<Usage>,
}

impl PhraseWarmup {
    pub(super) fn new(texts: Vec<String>) -> Self {
        let (spending, spent) = mpsc::channel(64);
        Self { texts, running: None, spending, spent }
    }

    /// Begins as one of `tasks`, unless it has. Each takes one of the `slots` at the voice.
    pub(super) fn begin(&mut self, pipeline: &Pipeline, slots: &Arc<Semaphore>, tasks: &mut JoinSet<()>) {
        let texts = std::mem::take(&mut self.texts);
        if !texts.is_empty() {
            self.running = Some(tasks.spawn(pipeline.cache_phrases(texts, self.spending.clone(), slots.clone())));
        }
    }

    /// Stops, and adds what it cost and was not added yet.
    pub(super) fn end(&mut self, usage: &Spent) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
        while let Ok(spent) = self.spent.try_recv() {
            usage.add(spent);
        }
    }
}
