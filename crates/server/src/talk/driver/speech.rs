//! What the agent says: made by a voice, or from memory.

use switchhook_core::conversation::{Failure, FailureCode, Input};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{Driver, Inputs, failure};
use crate::providers::{ProviderError, TtsAudio, Usage};
use crate::talk::pipeline::{Pipeline, Running, Signal};

/// Pieces of a greeting that may be there before the phone is answered; the rest waits at the provider.
const AHEAD: usize = 512;

/// The greeting, spoken while the phone rings.
pub(super) struct Greeting {
    text: String,
    running: Running,
    /// What has come first, if it was looked at.
    first: Option<Signal<TtsAudio>>,
    signals: mpsc::Receiver<(u32, Signal<TtsAudio>)>,
}

impl Greeting {
    pub(super) fn begin(pipeline: &Pipeline, text: String) -> Self {
        let (sender, signals) = mpsc::channel(AHEAD);
        let running = pipeline.speak(0, text.clone(), sender);
        Self { text, running, first: None, signals }
    }

    /// Waits until it begins or fails, and gives the reason if the voice will not speak, however often it is asked. Whatever else is
    /// wrong may be over when the phone is answered. May be dropped and called again.
    pub(super) async fn refused(&mut self) -> Option<Failure> {
        if self.first.is_none() {
            self.first = self.signals.recv().await.map(|(_, signal)| signal);
        }
        match &self.first {
            Some(Signal::Failed(error @ ProviderError::Config { .. })) => Some(failure(error)),
            _ => None,
        }
    }

    /// Says it as this utterance.
    fn say(mut self, utterance: u32, signals: mpsc::Sender<(u32, Signal<TtsAudio>)>) -> Running {
        AbortOnDropHandle::new(tokio::spawn(async move {
            let _running = self.running;
            if let Some(first) = self.first {
                let _ = signals.send((utterance, first)).await;
            }
            while let Some((_, signal)) = self.signals.recv().await {
                let _ = signals.send((utterance, signal)).await;
            }
        }))
    }
}

/// An utterance in the making.
pub(super) struct Speaking {
    /// Dropping it stops it.
    _running: Running,
    /// Of its text, which was sent.
    characters: u64,
}

/// What is said into memory while the conversation goes on.
pub(super) struct Phrases {
    texts: Vec<String>,
    /// Nothing until it has begun.
    running: Option<Running>,
    /// What it costs.
    spending: mpsc::Sender<Usage>,
    pub(super) spent: mpsc::Receiver<Usage>,
}

impl Phrases {
    pub(super) fn new(texts: Vec<String>) -> Self {
        let (spending, spent) = mpsc::channel(64);
        Self { texts, running: None, spending, spent }
    }

    /// Begins, unless it has.
    pub(super) fn begin(&mut self, pipeline: &Pipeline) {
        let texts = std::mem::take(&mut self.texts);
        if !texts.is_empty() {
            self.running = Some(pipeline.keep_phrases(texts, self.spending.clone()));
        }
    }

    /// Stops, and adds what was not told yet of what it cost.
    pub(super) fn end(&mut self, usage: &mut Usage) {
        self.running = None;
        while let Ok(spent) = self.spent.try_recv() {
            *usage = *usage + spent;
        }
    }
}

impl Driver {
    /// Has something said; what the engine is to be told at once comes back.
    pub(super) fn speak(&mut self, utterance: u32, text: String, ready_only: bool) -> Option<Input> {
        if let Some(said) = self.pipeline.kept(&text) {
            let playback = &mut self.handset.playback;
            if ready_only {
                playback.announce_first(utterance);
            } else {
                playback.announce(utterance);
            }
            playback.push(utterance, &said.samples);
            let samples = playback.complete(utterance);
            return Some(Input::SpeechReady { utterance, samples, words: said.words.clone(), complete: true });
        }
        if ready_only {
            let failure = Failure::new(FailureCode::ProviderTimeout, "This was never said before.");
            return Some(Input::SpeechFailed { utterance, failure });
        }
        let characters = text.chars().count() as u64;
        self.handset.playback.announce(utterance);
        let signals = self.speech.0.clone();
        let running = match self.greeting.take_if(|greeting| greeting.text == text) {
            Some(greeting) => greeting.say(utterance, signals),
            None => self.pipeline.speak(utterance, text, signals),
        };
        self.speaking.insert(utterance, Speaking { _running: running, characters });
        None
    }

    pub(super) fn spoken(&mut self, utterance: u32, signal: Signal<TtsAudio>) -> Inputs {
        if !self.speaking.contains_key(&utterance) {
            return Inputs::new(); // It was cleared while this was on its way.
        }
        vec![match signal {
            Signal::Piece(audio) => {
                let samples = self.handset.playback.push(utterance, &audio.samples);
                Input::SpeechReady { utterance, samples, words: audio.words, complete: false }
            }
            Signal::Done(usage) => {
                self.add(usage);
                self.speaking.remove(&utterance);
                let samples = self.handset.playback.complete(utterance);
                Input::SpeechReady { utterance, samples, words: Vec::new(), complete: true }
            }
            Signal::Failed(error) => {
                let speaking = self.speaking.remove(&utterance);
                // What was spoken in part was sent as a whole.
                let begun = self.handset.playback.complete(utterance) > 0;
                let characters = speaking.filter(|_| begun).map_or(0, |speaking| speaking.characters);
                self.add(self.pipeline.stopped(characters));
                Input::SpeechFailed { utterance, failure: failure(&error) }
            }
        }]
    }

    /// Nothing of what is being made is wanted any more. It was sent and is charged all the same.
    pub(super) fn stop_speaking(&mut self) {
        let characters = self.speaking.drain().map(|(_, speaking)| speaking.characters).sum();
        self.add(self.pipeline.stopped(characters));
    }

    /// A phrase is being said into memory.
    pub(super) fn paid(&mut self, usage: Usage) -> Inputs {
        self.add(usage);
        Inputs::new()
    }
}
