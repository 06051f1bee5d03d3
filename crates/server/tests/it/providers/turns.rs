//! Turn-taking on telephone audio: a small part of the corpus of `bench/turns`, played in virtual time to the call driver with the
//! local STT. Measures how many turns are taken too early and how many interruptions are wrong. `bench/turns` measures times, and
//! everything on the whole corpus.
//!
//! Lower the bounds here after a change that improves turn-taking; a change that exceeds them has made it worse.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde::Deserialize;
use switchhook_core::agent::AgentConfig;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::g711::{FRAME_BYTES, Law};
use switchhook_providers::local::{LocalSpeech, LocalStt};
use switchhook_providers::{ProviderError, Stt, SttEvent, SttOptions, SttSession};
use switchhook_speech::models::{MOONSHINE, ModelStore, NoProgress};
use tokio::sync::mpsc;

use super::rehearsal::{FakeProviders, VirtualCall, always};

/// The agent's sentence while callers talk over it.
const LONG: &str = "Thank you for calling, we are open from Monday to Friday between eight and six, and you will find us in the \
                    old station opposite the park";
const ANSWER: &str = "Certainly, let me look that up for you.";
/// How long the agent has been silent when callers begin, or has spoken when they talk over it, in milliseconds.
const THINKS: u64 = 500;
const INTO_SENTENCE: u64 = 1_800;
/// The longest wait after an item, in milliseconds.
const PATIENCE: u64 = 8_000;

/// The bound for turns with a pause, of twelve, that are split into several turns.
const SPLIT: usize = 5;
/// The bound for backchannels and noises, of four, that end the agent's sentence.
const STOPPED: usize = 1;

/// An item in the format of `bench/turns`.
#[derive(Deserialize)]
struct Item {
    id: String,
    class: String,
}

/// The results of the items of one class.
#[derive(Debug, Default)]
struct Count {
    items: usize,
    /// Turns that were split into several.
    split: Vec<String>,
    /// Turns and interruptions without a response.
    unanswered: Vec<String>,
    /// Overlaps after which the agent did not finish its sentence.
    ended: Vec<String>,
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/turns/ci")
}

fn audio(id: &str) -> Vec<Frame> {
    let bytes = std::fs::read(corpus().join(format!("{id}.ulaw"))).expect("a committed file");
    let frames = bytes.chunks_exact(FRAME_BYTES).map(|bytes| Law::Mu.decode_frame(bytes).expect("a whole frame"));
    frames.collect()
}

/// The local STT, for which the clock is stopped: a run takes the same virtual time on every machine. Partial transcripts, which
/// depend on an idle core, are left out.
struct Awaited {
    stt: LocalStt,
    pending: PendingSegment,
}

/// The segment whose transcript is awaited.
type PendingSegment = Arc<Mutex<Option<u32>>>;

struct AwaitedSession {
    session: Box<dyn SttSession>,
    pending: PendingSegment,
}

#[async_trait]
impl Stt for Awaited {
    async fn open(
        &self,
        options: SttOptions,
        events: mpsc::Sender<SttEvent>,
    ) -> Result<Box<dyn SttSession>, ProviderError> {
        let (sender, mut heard) = mpsc::channel(64);
        let session = self.stt.open(options, sender).await?;
        let pending = Arc::clone(&self.pending);
        tokio::spawn(async move {
            while let Some(event) = heard.recv().await {
                if let SttEvent::Final { segment, .. } = &event {
                    pending.lock().expect("whole").take_if(|pending| pending == segment);
                }
                if !matches!(event, SttEvent::Partial { .. }) && events.send(event).await.is_err() {
                    return;
                }
            }
        });
        Ok(Box::new(AwaitedSession { session, pending: Arc::clone(&self.pending) }))
    }
}

impl SttSession for AwaitedSession {
    fn audio(&mut self, frame: &CallerAudio) {
        self.session.audio(frame);
    }

    fn speech_started(&mut self) {
        // A run that is still in progress no longer belongs to this session.
        self.pending.lock().expect("whole").take();
        self.session.speech_started();
    }

    fn speech_stopped(&mut self, segment: u32) {
        *self.pending.lock().expect("whole") = Some(segment);
        self.session.speech_stopped(segment);
    }
}

/// A call that plays one item.
struct Played {
    call: VirtualCall,
    pending: PendingSegment,
    room: Vec<Frame>,
    frames: usize,
}

impl Played {
    async fn frame(&mut self, frame: Frame) {
        self.call.step(frame).await;
        while self.pending.lock().expect("whole").is_some() {
            tokio::task::yield_now().await;
        }
    }

    /// Waits for 20 ms in silence.
    async fn wait(&mut self) {
        self.frames += 1;
        self.frame(self.room[self.frames % self.room.len()].clone()).await;
    }

    /// Returns how long the agent has been silent.
    fn silence(&self) -> Option<u64> {
        self.call.sounds().last().map(|(_, ended)| self.call.now().saturating_sub(*ended))
    }

    /// Returns how much of the agent was heard after `since`, in milliseconds.
    fn heard_since(&self, since: u64) -> u64 {
        self.call.sounds().iter().map(|(began, ended)| ended.saturating_sub(since.max(*began))).sum()
    }
}

async fn play(stt: &Arc<Awaited>, item: &Item, count: &mut Count) {
    let overlap = !matches!(item.class.as_str(), "complete" | "paused");
    let mut agent = AgentConfig::new("Help the caller.");
    let greeting = if overlap { LONG } else { "How can I help you?" };
    greeting.clone_into(&mut agent.greeting.text);
    let cast = FakeProviders { stt: Arc::clone(stt) as Arc<dyn Stt>, ..FakeProviders::scripted(always(ANSWER)) };
    let call = VirtualCall::begin(&agent, cast).await;
    let mut played = Played { call, pending: Arc::clone(&stt.pending), room: audio("room"), frames: 0 };
    let is_time = |played: &Played| {
        if overlap { played.heard_since(0) >= INTO_SENTENCE } else { played.silence().is_some_and(|ms| ms >= THINKS) }
    };
    while !is_time(&played) {
        played.wait().await;
    }
    for frame in audio(&item.id) {
        played.frame(frame).await;
    }
    let ended = played.call.now();
    let over = |played: &Played| {
        let answered = played.call.spoken().iter().any(|said| said == ANSWER) && played.heard_since(ended) > 0;
        let quiet = played.silence().is_some_and(|ms| ms >= 2 * THINKS);
        quiet && (answered || !matches!(item.class.as_str(), "complete" | "paused" | "interruption"))
    };
    while !over(&played) && played.call.now() < ended + PATIENCE {
        played.wait().await;
    }
    judge(&played, item, overlap, ended, count);
}

fn judge(played: &Played, item: &Item, overlap: bool, ended: u64, count: &mut Count) {
    count.items += 1;
    let lines = &played.call.transcript;
    let turns = lines.iter().filter(|line| !line.by_agent).count();
    if !overlap && turns > 1 {
        count.split.push(item.id.clone());
    }
    if overlap && lines.iter().any(|line| line.by_agent && line.interrupted) {
        count.ended.push(item.id.clone());
    }
    if played.heard_since(ended) == 0 {
        count.unanswered.push(item.id.clone());
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_turns_are_taken_too_early_and_no_more_sounds_interrupt_than_before() {
    let models = std::env::var("SWITCHHOOK_TEST_MODELS")
        .unwrap_or_else(|_| concat!(env!("CARGO_TARGET_TMPDIR"), "/../test-models").to_owned());
    let models = ModelStore::new(Path::new(&models));
    models.pull(&[MOONSHINE], &NoProgress).expect("this test needs the speech models");
    let stt = Arc::new(Awaited { stt: LocalStt::new(LocalSpeech::new(models)), pending: PendingSegment::default() });
    // The first session loads the model, which calls must not wait for.
    let (sender, _events) = mpsc::channel(1);
    drop(stt.open(SttOptions::default(), sender).await.map_err(|error| error.to_string()).expect("the model loads"));

    let list = std::fs::read_to_string(corpus().join("items.jsonl")).expect("a committed file");
    let mut counts = std::collections::BTreeMap::<String, Count>::new();
    for row in list.lines() {
        let item: Item = serde_json::from_str(row).expect("an item");
        play(&stt, &item, counts.entry(item.class.clone()).or_default()).await;
    }
    let of = |class: &str| counts.get(class).expect("the corpus has every class");
    let [complete, paused, interruption] = ["complete", "paused", "interruption"].map(of);
    assert_eq!(complete.split.len(), 0, "complete turns are one turn each");
    assert!(paused.split.len() <= SPLIT, "turns with a pause are taken too early: {:?}", paused.split);
    assert_eq!(complete.unanswered.len() + paused.unanswered.len(), 0, "every turn gets a response");
    assert_eq!(interruption.ended.len(), interruption.items, "whoever interrupts is listened to");
    let stopped: Vec<_> = ["backchannel", "noise"].into_iter().flat_map(|class| &of(class).ended).collect();
    assert!(stopped.len() <= STOPPED, "what means nothing stops the agent: {stopped:?}");
}
