//! The agent's speech: streamed from a TTS, or from the cache.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use switchhook_core::conversation::{Failure, FailureCode, Input, SpeechSource};
use switchhook_media::format::AudioFormat;
use switchhook_media::tone::sine;
use switchhook_providers::TtsAudio;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::{Driver, Inputs, Models, failure};
use crate::talk::pipeline::{RunningRequest, Signal};
use crate::talk::playback::Playback;

/// Concurrent TTS requests per call. The smallest plans of providers allow two, and a self-hosted server synthesizes one after the other.
const MAX_CONCURRENT: usize = 2;
/// A sentence with more audio than this queued before it is not requested yet: callers who interrupt never hear it, and it would be paid for.
const MAX_QUEUED_AHEAD: Duration = Duration::from_secs(4);

/// Utterances that are being synthesized or wait for it.
pub(super) struct Synthesis {
    waiting: PendingSpeech,
    requests: HashMap<u32, TtsRequestInFlight>,
    pub(super) slots: Arc<Semaphore>,
}

/// A running request to the TTS.
struct TtsRequestInFlight {
    request: RunningRequest,
    /// Its slot at the TTS; a greeting may have none.
    _slot: Option<OwnedSemaphorePermit>,
    /// Whether a tone stands in for it if it is late.
    tone: bool,
    /// The deadline of its first audio, until that arrives.
    due: Option<Instant>,
}

impl TtsRequestInFlight {
    fn new(request: RunningRequest, slot: Option<OwnedSemaphorePermit>) -> Self {
        Self { request, _slot: slot, tone: false, due: None }
    }
}

/// Returns two short, soft tones, which show that the line is alive. Played where no TTS can speak.
fn tone(format: AudioFormat) -> Vec<i16> {
    let beep = || sine(425.0, format.sample_rate(), 0.1, format.samples_in_ms(150));
    beep().into_iter().chain(std::iter::repeat_n(0, format.samples_in_ms(100))).chain(beep()).collect()
}

impl Synthesis {
    pub(super) fn new() -> Self {
        let (waiting, requests) = (PendingSpeech::default(), HashMap::new());
        Self { waiting, requests, slots: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }
}

/// Speech that was not requested from the TTS yet, in order.
#[derive(Default)]
struct PendingSpeech {
    texts: VecDeque<(u32, String)>,
    /// Whether a failed utterance comes before it: all of it will be cleared.
    blocked: bool,
}

impl PendingSpeech {
    fn push(&mut self, utterance: u32, text: String) {
        self.texts.push_back((utterance, text));
    }

    /// Returns whether to request the next one now.
    fn is_due(&self, playback: &Playback) -> bool {
        let next = self.texts.front().filter(|_| !self.blocked);
        next.is_some_and(|(utterance, _)| playback.ahead_of(*utterance) <= MAX_QUEUED_AHEAD)
    }

    fn take(&mut self) -> Option<(u32, String)> {
        self.texts.pop_front()
    }

    /// Holds back this and later speech until everything is cleared.
    fn give_up(&mut self) {
        self.blocked = true;
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Driver {
    /// Speaks a text. Returns the immediate result, if any.
    pub(super) fn speak(&mut self, utterance: u32, text: String, source: SpeechSource) -> Option<Input> {
        if let SpeechSource::Within(deadline) = source {
            return self.speak_within(utterance, text, deadline);
        }
        let cached_only = source == SpeechSource::Cached;
        if let Some(said) = self.pipeline.cached(&text) {
            let playback = &mut self.media_session.playback;
            if cached_only {
                playback.queue_first(utterance);
            } else {
                playback.queue_last(utterance);
            }
            playback.push(utterance, &said.samples);
            let samples = playback.complete(utterance);
            let audio = playback.length(samples);
            return Some(Input::SpeechSynthesized { utterance, audio, words: said.words.clone(), complete: true });
        }
        if cached_only {
            let failure = Failure::new(FailureCode::ProviderTimeout, "This was never said before.");
            return Some(Input::SynthesisFailed { utterance, failure });
        }
        self.media_session.playback.queue_last(utterance);
        let prepared = match &mut self.models {
            Models::Cascade(cascade) => cascade.take_prepared(&text),
            Models::Realtime(_) => None,
        };
        match prepared {
            Some(prepared) => {
                let (request, slot) = prepared.say(utterance, self.tts_signals.0.clone());
                let slot = slot.or_else(|| self.synthesis.slots.clone().try_acquire_owned().ok());
                self.synthesis.requests.insert(utterance, TtsRequestInFlight::new(request, slot));
            }
            None => self.synthesis.waiting.push(utterance, text),
        }
        None
    }

    /// Requests the speech that will be heard soon.
    pub(super) fn begin_speaking(&mut self) {
        while self.synthesis.waiting.is_due(&self.media_session.playback)
            && let Ok(slot) = self.synthesis.slots.clone().try_acquire_owned()
            && let Some((utterance, text)) = self.synthesis.waiting.take()
        {
            let request = self.pipeline.speak(utterance, text, self.tts_signals.0.clone());
            self.synthesis.requests.insert(utterance, TtsRequestInFlight::new(request, Some(slot)));
        }
    }

    /// Speaks a text whose first audio must arrive within `deadline`. A tone stands in for an empty text.
    fn speak_within(&mut self, utterance: u32, text: String, deadline: Duration) -> Option<Input> {
        self.media_session.playback.queue_last(utterance);
        if text.is_empty() {
            return Some(self.stand_in(utterance));
        }
        let request = self.pipeline.speak(utterance, text, self.tts_signals.0.clone());
        let due = Some(Instant::now() + deadline);
        self.synthesis.requests.insert(utterance, TtsRequestInFlight { request, _slot: None, tone: true, due });
        None
    }

    pub(super) fn on_tts_signal(&mut self, utterance: u32, signal: Signal<TtsAudio>) -> Inputs {
        let Some(request) = self.synthesis.requests.get_mut(&utterance) else {
            return Inputs::new(); // It was cleared while this was on its way.
        };
        vec![match signal {
            Signal::Piece(audio) => {
                request.due = None;
                let playback = &mut self.media_session.playback;
                let samples = playback.push(utterance, &audio.samples);
                let (words, audio) = (audio.words, playback.length(samples));
                Input::SpeechSynthesized { utterance, audio, words, complete: false }
            }
            Signal::Done(usage) => {
                self.add(*usage);
                self.synthesis.requests.remove(&utterance);
                let playback = &mut self.media_session.playback;
                let samples = playback.complete(utterance);
                let audio = playback.length(samples);
                Input::SpeechSynthesized { utterance, audio, words: Vec::new(), complete: true }
            }
            Signal::Failed(error) if request.tone => {
                // The error message may quote the text to speak.
                let code = error.code().as_str();
                tracing::warn!(code, "the TTS that bridges waits cannot speak; set the agent's tts");
                self.stand_in(utterance)
            }
            Signal::Failed(error) => {
                self.forget_synthesis(utterance);
                self.synthesis.waiting.give_up();
                self.media_session.playback.withhold(utterance);
                Input::SynthesisFailed { utterance, failure: failure(&error) }
            }
        }]
    }

    /// Replaces fillers that are too late with a tone.
    pub(super) fn time_out_synthesis(&mut self) -> Inputs {
        let now = Instant::now();
        let late = |request: &TtsRequestInFlight| request.due.is_some_and(|due| due <= now);
        let requests = &self.synthesis.requests;
        let late: Vec<u32> = requests.iter().filter(|(_, request)| late(request)).map(|(number, _)| *number).collect();
        late.into_iter()
            .map(|utterance| {
                tracing::warn!("the TTS that bridges waits is too slow: a tone is heard in its place");
                self.stand_in(utterance)
            })
            .collect()
    }

    /// Ends a filler, with a tone if none of its audio has arrived.
    fn stand_in(&mut self, utterance: u32) -> Input {
        self.forget_synthesis(utterance);
        let playback = &mut self.media_session.playback;
        let samples = playback.push(utterance, &[]);
        let audio = playback.length(samples);
        if !audio.is_zero() {
            playback.complete(utterance);
            return Input::SpeechSynthesized { utterance, audio, words: Vec::new(), complete: true };
        }
        playback.push(utterance, &tone(playback.format()));
        let samples = playback.complete(utterance);
        let audio = playback.length(samples);
        Input::ReplacedByTone { utterance, audio }
    }

    /// Stops waiting for an utterance. The request was sent, so it is charged.
    fn forget_synthesis(&mut self, utterance: u32) {
        if let Some(request) = self.synthesis.requests.remove(&utterance) {
            self.add(request.request.cost(0));
        }
    }

    /// Drops all speech that is waiting or being synthesized. Requests that were sent are charged.
    pub(super) fn stop_speaking(&mut self) {
        self.synthesis.waiting.clear();
        let requests: Vec<TtsRequestInFlight> = self.synthesis.requests.drain().map(|(_, requests)| requests).collect();
        for stopped in requests {
            self.add(stopped.request.cost(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes what is due and returns the numbers.
    fn begun(waiting: &mut PendingSpeech, playback: &Playback) -> Vec<u32> {
        let mut begun = Vec::new();
        while waiting.is_due(playback)
            && let Some((utterance, _)) = waiting.take()
        {
            begun.push(utterance);
        }
        begun
    }

    fn seconds(seconds: u32) -> Vec<i16> {
        vec![0; (seconds * 8_000) as usize]
    }

    #[test]
    fn no_sentence_is_begun_while_there_is_enough_to_hear_before_it() {
        let (mut waiting, mut playback) = (PendingSpeech::default(), Playback::new(AudioFormat::Narrowband));
        for utterance in 1..=4 {
            playback.queue_last(utterance);
            waiting.push(utterance, "We are open until nine.".to_owned());
        }
        playback.push(1, &seconds(5));
        assert_eq!(waiting.take().map(|(first, _)| first), Some(1));
        assert!(begun(&mut waiting, &playback).is_empty());
        for _ in 0..50 {
            playback.next_frame();
        }
        assert_eq!(waiting.take().map(|(second, _)| second), Some(2), "four seconds are left");
        playback.push(2, &seconds(1));
        assert!(begun(&mut waiting, &playback).is_empty());
        playback.clear();
        assert_eq!(begun(&mut waiting, &playback), [3, 4], "nothing is heard before them");
    }

    #[test]
    fn nothing_is_begun_behind_what_cannot_be_said_until_all_is_cleared() {
        let (mut waiting, playback) = (PendingSpeech::default(), Playback::new(AudioFormat::Narrowband));
        waiting.give_up();
        waiting.push(1, "We are open until nine.".to_owned());
        assert!(begun(&mut waiting, &playback).is_empty());
        waiting.clear();
        waiting.push(2, "Sorry.".to_owned());
        assert_eq!(begun(&mut waiting, &playback), [2]);
    }
}
