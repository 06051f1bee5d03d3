//! How far ahead of playback speech is requested, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::providers::rehearsal::{FakeProviders, VirtualCall, and_goodbye};
use async_trait::async_trait;
use switchhook_core::agent::AgentConfig;
use switchhook_providers::{ProviderError, Tts, TtsAudio, TtsRequest, Usage};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// Five sentences of about three seconds.
const ANSWER: &str = "The first of our tables stands by the window above all of the old harbor. \
                      The second is free at eight in the quiet corner next to the long bar. \
                      The third can be had at nine and it has a good view of the kitchen. \
                      The fourth is a round one for all those who come with their friends. \
                      The fifth stands on the terrace under the trees and is the best one.";
/// Samples per character: 40 ms.
const PER_CHARACTER: usize = 320;

/// A TTS that takes time for each sentence, and speaks no more than two at once.
struct Busy {
    takes: Duration,
    speaking: AtomicUsize,
    most: AtomicUsize,
}

impl Busy {
    fn takes(ms: u64) -> Arc<Self> {
        Arc::new(Self { takes: Duration::from_millis(ms), speaking: AtomicUsize::new(0), most: AtomicUsize::new(0) })
    }
}

struct One<'b>(&'b Busy);

impl Drop for One<'_> {
    fn drop(&mut self) {
        self.0.speaking.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Tts for Busy {
    async fn speak(&self, request: TtsRequest, audio: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        let speaking = self.speaking.fetch_add(1, Ordering::Relaxed) + 1;
        let _one = One(self);
        self.most.fetch_max(speaking, Ordering::Relaxed);
        if speaking > 2 {
            return Err(ProviderError::Failed { provider: "busy", message: "Two at a time.".to_owned() });
        }
        sleep(self.takes).await;
        let characters = request.text.chars().count();
        let sound = TtsAudio { samples: vec![8_000; characters * PER_CHARACTER], words: Vec::new() };
        // The receiver may be gone.
        let _ = audio.send(sound).await;
        Ok(Usage { tts_characters: characters as u64, ..Usage::default() })
    }
}

async fn begin(voice: Arc<Busy>) -> VirtualCall {
    let mut agent = AgentConfig::new("Book tables.");
    agent.greeting.text = "Harbor Table, hello?".to_owned();
    agent.turn_taking.speculative = false;
    let cast = FakeProviders { tts: voice, ..FakeProviders::scripted(and_goodbye([ANSWER], "Goodbye.")) };
    VirtualCall::begin(&agent, cast).await
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_never_asks_for_more_than_two_sentences_at_a_time() {
    let voice = Busy::takes(1_500);
    let mut talk = begin(voice.clone()).await;
    // Phrases are being cached meanwhile.
    talk.until_silent_for(500, 0).await;
    assert_eq!(talk.says_and_is_answered("name").await, None);
    assert_eq!(talk.said().last(), Some(&(true, ANSWER)));
    assert_eq!(voice.most.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn what_an_interrupted_caller_would_not_have_heard_for_long_was_never_asked_for() {
    let mut talk = begin(Busy::takes(100)).await;
    talk.until_silent_for(500, 0).await;
    let spoke = talk.caller_says("name").await;
    talk.until_heard(900, spoke).await;
    assert!(talk.spoken().iter().any(|said| said.contains("The second")), "the next is ready in time");
    let spoke = talk.caller_says("interrupt").await;
    talk.until_silent_for(500, spoke).await;
    assert!(talk.transcript[2].interrupted, "{:?}", talk.said());
    let asked = talk.spoken();
    let far = asked.iter().find(|said| said.contains("The fourth") || said.contains("The fifth"));
    assert_eq!(far, None, "{asked:?}");
}
