//! Conversations in which something panics, and what is stored of them, in virtual time.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use switchhook_carriers::FromCarrier;
use switchhook_carriers::media_queue::media_queue;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::End;
use switchhook_core::id::{AgentId, CallId};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_media::wav;
use switchhook_net::outbound::Client;
use switchhook_providers::llm::Withheld;
use switchhook_providers::scripted::{ScriptedLlm, ScriptedTts};
use switchhook_providers::{Stt, SttEvent, SttOptions, SttSession};
use tokio::time::sleep;
use uuid::Uuid;

use super::cascade::SttEvents;
use super::*;
use crate::config::Config;
use crate::recordings::{Recording, Recordings};
use crate::talk::audience::Audience;
use crate::talk::pipeline::{KnownRates, LlmSettings};
use crate::talk::prepared::Prepared;
use crate::talk::provider_health::ProviderHealth;
use crate::talk::tools::{Shared, Toolbox};
use crate::talk::voice::TtsSettings;

mod gaps;
mod requests;

const GREETING: &str = "Hello, this is Ava from Harbor Table.";

/// Where an STT panics.
#[derive(Clone, Copy, Debug)]
enum Bug {
    None,
    Opening,
    /// In the task that sends it the caller's audio, after this many frames.
    Audio(u32),
    /// In a separate task.
    Task(Duration),
}

struct SttProvider {
    bug: Bug,
    heard: Arc<AtomicU32>,
}

struct BuggySession {
    bug: Bug,
    heard: Arc<AtomicU32>,
    _events: Option<mpsc::Sender<SttEvent>>,
}

#[async_trait]
impl Stt for SttProvider {
    async fn open(&self, _: SttOptions, events: mpsc::Sender<SttEvent>) -> Result<Box<dyn SttSession>, ProviderError> {
        let mut events = Some(events);
        match self.bug {
            Bug::Opening => panic!("a bug in opening"),
            Bug::Task(after) => {
                let events = events.take();
                tokio::spawn(async move {
                    sleep(after).await;
                    let _events = events;
                    panic!("a bug in a task")
                });
            }
            Bug::None | Bug::Audio(_) => {}
        }
        Ok(Box::new(BuggySession { bug: self.bug, heard: self.heard.clone(), _events: events }))
    }
}

impl SttSession for BuggySession {
    fn audio(&mut self, _: &CallerAudio) {
        let heard = self.heard.fetch_add(1, Ordering::Relaxed);
        assert!(!matches!(self.bug, Bug::Audio(after) if heard >= after), "a bug in stt");
    }

    fn speech_stopped(&mut self, _: u32) {}
}

fn agent() -> AgentConfig {
    let mut agent = AgentConfig::new("x");
    GREETING.clone_into(&mut agent.greeting.text);
    agent
}

fn pipeline(agent: &AgentConfig, providers: Vec<Arc<dyn Stt>>) -> Pipeline {
    let config = Config::for_tests("/nonexistent");
    let allowed = "127.0.0.0/8,http".parse().expect("valid");
    let client = Client::new(&config.network(), &allowed, Duration::from_secs(5)).expect("a client");
    let shared = Shared { lists: Arc::default(), agent: AgentId::from_uuid(Uuid::nil()), version: 1 };
    let call = CallId::from_uuid(Uuid::nil());
    let tools = Toolbox::new(client, &shared, agent, &BTreeMap::new(), &HashMap::new(), &HashMap::new(), call);
    let (language, health) = ("en-US".to_owned(), ProviderHealth::default());
    let voice = TtsSettings { voice: None, model: None, speed: 1.0, language, format: AudioFormat::Narrowband, health };
    Pipeline {
        stt: providers.into_iter().map(|stt| (stt, SttOptions::default())).collect(),
        llm: vec![(Arc::new(ScriptedLlm::new(None).expect("a flow")), LlmSettings::default())],
        tts: vec![(Arc::new(ScriptedTts), voice)],
        phrases: Arc::default(),
        tools: Arc::new(tools),
        rates: KnownRates::default(),
        hedge: false,
        withheld: Withheld::default(),
    }
}

/// Returns the media of a silent caller.
fn line() -> Media {
    let (to_us, incoming) = media_queue();
    let (outgoing, mut from_us) = mpsc::channel(200);
    tokio::spawn(async move {
        let mut frames = tokio::time::interval(FRAME_DURATION);
        loop {
            frames.tick().await;
            while from_us.try_recv().is_ok() {}
            if !to_us.send(FromCarrier::Audio(CallerAudio(Frame::silence(AudioFormat::Narrowband)))) {
                return;
            }
        }
    });
    Media { incoming, outgoing, buffered: false, gaps_are_silence: true, shows_conversation: false }
}

/// Runs a call until it ends, or hangs up after 20 s. Returns its report, its transcript and its duration.
async fn held(providers: Vec<Arc<dyn Stt>>, recording: Recording) -> (Report, Vec<String>, Duration) {
    let agent = agent();
    let pipeline = pipeline(&agent, providers);
    let settings = Settings {
        agent,
        recording: Some(recording),
        audience: Audience::default(),
        format: AudioFormat::Narrowband,
        log_inputs: false,
    };
    let prepared = Prepared::new(settings, pipeline, Vec::new());
    let (commands, orders) = mpsc::unbounded_channel();
    let (notes, mut noted) = mpsc::unbounded_channel();
    let began = Instant::now();
    let talk = tokio::spawn(prepared.talk(line(), orders, notes));
    tokio::spawn(async move {
        sleep(Duration::from_secs(20)).await;
        let _ = commands.send(Command::HangUp);
    });
    let report = talk.await.expect("no panic gets out of it");
    let mut said = Vec::new();
    while let Some(Note::Transcript(line)) = noted.recv().await {
        said.push(line.text);
    }
    (report, said, began.elapsed())
}

fn call_recording(folder: &Path) -> Recording {
    Recordings::below(folder).of(Uuid::nil(), Uuid::nil())
}

fn failed(end: &Ended) -> bool {
    matches!(end, Ended::By(End::Failed(failure)) if failure.code == FailureCode::Pipeline)
}

#[tokio::test(start_paused = true)]
async fn a_recogniser_that_panics_ends_the_call_with_all_that_is_known_of_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for bug in [Bug::Opening, Bug::Audio(250), Bug::Task(Duration::from_secs(5))] {
        let recording = call_recording(folder.path());
        let stt = SttProvider { bug, heard: Arc::default() };
        let (report, said, took) = held(vec![Arc::new(stt)], recording.clone()).await;
        assert!(failed(&report.end), "{bug:?}: {:?}", report.end);
        assert!(took < Duration::from_secs(12), "{bug:?}: it ended after {took:?}");
        assert!(report.usage.tts_characters > 0, "{bug:?}: what it used is known");
        let recorded = wav::read(&std::fs::read(recording.path()).expect("a file")).expect("a whole recording");
        let seconds = recorded.channels[0].len() as u64 / 8_000;
        assert!(report.recorded && seconds + 1 >= took.as_secs(), "{bug:?}: {seconds} s of {took:?} are recorded");
        if !matches!(bug, Bug::Opening) {
            assert!(said.iter().any(|text| text == GREETING), "{bug:?}: {said:?}");
            assert!(report.usage.stt_audio_ms >= 4_000, "{bug:?}: {:?}", report.usage);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_recogniser_that_panics_is_replaced_by_the_next() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for bug in [Bug::Opening, Bug::Audio(100), Bug::Task(Duration::from_secs(2))] {
        let next = Arc::new(AtomicU32::new(0));
        let first = Arc::new(SttProvider { bug, heard: Arc::default() });
        let second = Arc::new(SttProvider { bug: Bug::None, heard: next.clone() });
        let (report, _, _) = held(vec![first, second], call_recording(folder.path())).await;
        assert!(!failed(&report.end), "{bug:?}: {:?}", report.end);
        assert!(next.load(Ordering::Relaxed) > 100, "{bug:?}: the next one hears the caller");
    }
}

/// Returns the driver of a call with a silent caller.
fn driver(agent: AgentConfig, notes: Notes) -> Box<Driver> {
    let (events, events_in) = mpsc::channel(64);
    let usage = UsageMeter::default();
    let stt: Arc<dyn Stt> = Arc::new(SttProvider { bug: Bug::None, heard: Arc::default() });
    let pipeline = pipeline(&agent, vec![stt]);
    let stt = pipeline.start_stt(events, &usage);
    let settings = Settings {
        agent,
        recording: None,
        audience: Audience::default(),
        format: AudioFormat::Narrowband,
        log_inputs: false,
    };
    let models = Models::Cascade(Box::new(Cascade::new(stt, SttEvents::new(events_in), None)));
    Driver::new(&settings, pipeline, models, line(), notes, usage)
}

#[tokio::test(start_paused = true)]
async fn a_task_of_the_conversation_that_panics_ends_the_call() {
    let (notes, _noted) = mpsc::unbounded_channel();
    let mut driver = driver(agent(), notes);
    driver.tasks.spawn(async {
        sleep(Duration::from_secs(3)).await;
        panic!("a bug in a tool")
    });
    let began = Instant::now();
    driver.run(mpsc::unbounded_channel().1).await;
    assert!(driver.end.as_ref().is_some_and(failed), "{:?}", driver.end);
    assert_eq!(began.elapsed().as_secs(), 3);
}
