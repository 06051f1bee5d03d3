//! Whole calls. The test plays the carrier and the model; everything between them is real.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use switchhook_carriers::media_queue::media_queue;
use switchhook_carriers::{FromCarrier, Media, ToCarrier};
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::{End, FailureCode};
use switchhook_core::id::{AgentId, CallId};
use switchhook_media::format::{AudioFormat, FRAME_DURATION};
use switchhook_net::outbound::Client;
use switchhook_providers::llm::Withheld;
use switchhook_providers::realtime::{Realtime as Provider, RealtimeCommand, RealtimeOptions};
use switchhook_providers::scripted::ScriptedTts;
use switchhook_providers::{Tts, TtsAudio, TtsRequest};
use uuid::Uuid;

use super::*;
use crate::config::Config;
use crate::talk::audience::Audience;
use crate::talk::pipeline::{KnownRates, Pipeline};
use crate::talk::prepared::Prepared;
use crate::talk::provider_health::ProviderHealth;
use crate::talk::tools::{Shared, Toolbox};
use crate::talk::voice::TtsSettings;
use crate::talk::{Command, Ended, Note, Report, Settings};

/// The longest silence in which the caller waits, in milliseconds.
const DEAD_AIR: u64 = 3_000;

/// The model's side of a session.
struct Fixture {
    events: mpsc::Sender<RealtimeEvent>,
    commands: mpsc::UnboundedReceiver<RealtimeCommand>,
}

impl Fixture {
    async fn send(&self, event: RealtimeEvent) {
        self.events.send(event).await.expect("the call continues");
    }

    /// Sends a response of this many seconds, all of it at once.
    async fn speaks(&self, response: &str, request: Option<u32>, item: &str, seconds: usize) {
        let (response, item) = (response.to_owned(), item.to_owned());
        self.send(RealtimeEvent::ResponseStarted { response: response.clone(), request }).await;
        let text = "one two three four five six seven eight nine ten".to_owned();
        self.send(RealtimeEvent::Text { response: response.clone(), item: item.clone(), text }).await;
        let samples = vec![1_000; seconds * 8_000];
        self.send(RealtimeEvent::Audio { response: response.clone(), item: item.clone(), samples }).await;
        self.send(RealtimeEvent::AudioDone { item }).await;
        let usage = Usage::default();
        self.send(RealtimeEvent::ResponseDone { response, failed: None, retry_after: None, usage }).await;
    }

    async fn caller_speaks(&self) {
        self.send(RealtimeEvent::SpeechStarted).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        self.send(RealtimeEvent::SpeechStopped).await;
        self.send(RealtimeEvent::TurnCommitted { item: "caller".to_owned() }).await;
    }

    async fn sent(&mut self, wanted: impl Fn(&RealtimeCommand) -> bool) -> RealtimeCommand {
        loop {
            let command = self.commands.recv().await.expect("the call continues");
            if wanted(&command) {
                return command;
            }
        }
    }
}

/// Gives each session to the test; the second and later ones are refused after a while if the test wants that.
struct Theatre {
    stages: mpsc::UnboundedSender<Fixture>,
    refuses: bool,
    opened: Mutex<u32>,
}

struct Sitting(mpsc::UnboundedSender<RealtimeCommand>);

impl RealtimeSession for Sitting {
    fn audio(&mut self, _: &CallerAudio) {}

    fn probe(&mut self) {}

    fn send(&mut self, command: RealtimeCommand) {
        let _ = self.0.send(command);
    }
}

#[async_trait]
impl Provider for Theatre {
    async fn open(
        &self,
        _: RealtimeOptions,
        events: mpsc::Sender<RealtimeEvent>,
    ) -> Result<Box<dyn RealtimeSession>, ProviderError> {
        let opened = {
            let mut opened = self.opened.lock().expect("whole");
            *opened += 1;
            *opened
        };
        if opened > 1 && self.refuses {
            tokio::time::sleep(Duration::from_millis(4_500)).await;
            return Err(ProviderError::Failed { provider: "theatre", message: "it is closed".to_owned() });
        }
        let (sender, commands) = mpsc::unbounded_channel();
        let _ = self.stages.send(Fixture { events, commands });
        Ok(Box::new(Sitting(sender)))
    }
}

/// A TTS that never sends audio and never fails.
struct Mute;

#[async_trait]
impl Tts for Mute {
    async fn speak(&self, _: TtsRequest, _: mpsc::Sender<TtsAudio>) -> Result<Usage, ProviderError> {
        std::future::pending().await
    }
}

/// A far end that hears everything with a delay.
struct FarEnd {
    began: Instant,
    /// When each frame with audio was heard, in milliseconds since the call began.
    heard: Arc<Mutex<Vec<u64>>>,
}

impl FarEnd {
    /// Returns the caller's and our end of a connection.
    fn connect(delay: Duration) -> (Self, Media) {
        let (to_us, incoming) = media_queue();
        let (outgoing, mut from_us) = mpsc::channel(500);
        let (began, heard) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let noted = heard.clone();
        let silence = to_us.clone();
        tokio::spawn(async move {
            let mut frames = tokio::time::interval(FRAME_DURATION);
            loop {
                frames.tick().await;
                if !silence.send(FromCarrier::Audio(CallerAudio(Frame::silence(AudioFormat::Narrowband)))) {
                    return;
                }
            }
        });
        tokio::spawn(async move {
            let mut marks = VecDeque::new();
            loop {
                let due = marks.front().map(|(at, _)| *at);
                tokio::select! {
                    message = from_us.recv() => match message {
                        Some(ToCarrier::Audio(_)) => {
                            let at = u64::try_from(began.elapsed().as_millis()).expect("short");
                            noted.lock().expect("whole").push(at);
                        }
                        Some(ToCarrier::Mark(mark)) => marks.push_back((Instant::now() + delay, mark)),
                        Some(ToCarrier::Clear) => marks.clear(),
                        Some(ToCarrier::Info(_)) => {}
                        None => return,
                    },
                    () = tokio::time::sleep_until(due.unwrap_or(began)), if due.is_some() => {
                        if let Some((_, mark)) = marks.pop_front() {
                            let _ = to_us.send(FromCarrier::MarkPlayed(mark));
                        }
                    }
                }
            }
        });
        (
            Self { began, heard },
            Media { incoming, outgoing, buffered: false, gaps_are_silence: true, shows_conversation: false },
        )
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).expect("short")
    }

    /// Returns the longest silence from `since` to `until`.
    fn longest_silence(&self, since: u64, until: u64) -> u64 {
        let heard = self.heard.lock().expect("whole");
        let within = heard.iter().copied().filter(|at| (since..until).contains(at));
        let times: Vec<u64> = std::iter::once(since).chain(within).chain([until]).collect();
        times.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0)
    }
}

struct Call {
    stages: mpsc::UnboundedReceiver<Fixture>,
    line: FarEnd,
    talk: tokio::task::JoinHandle<Report>,
    _commands: mpsc::UnboundedSender<Command>,
    _notes: mpsc::UnboundedReceiver<Note>,
}

impl Call {
    /// Starts a call over a connection with this delay and this other voice.
    fn start(voice: Option<Arc<dyn Tts>>, refuses: bool, delay: Duration) -> Self {
        let config = Config::for_tests("/nonexistent");
        let client = Client::new(&config.network(), &config.outbound_allow, Duration::from_secs(1)).expect("a client");
        let shared = Shared { lists: Arc::default(), agent: AgentId::from_uuid(Uuid::nil()), version: 1 };
        let (agent, call) = (AgentConfig::new("x"), CallId::from_uuid(Uuid::nil()));
        let tools =
            Arc::new(Toolbox::new(client, &shared, &agent, &BTreeMap::new(), &HashMap::new(), &HashMap::new(), call));
        let tts_settings = TtsSettings {
            voice: None,
            model: None,
            speed: 1.0,
            language: "en-US".to_owned(),
            format: AudioFormat::Narrowband,
            health: ProviderHealth::default(),
        };
        let pipeline = Pipeline {
            stt: Vec::new(),
            llm: Vec::new(),
            tts: voice.into_iter().map(|voice| (voice, tts_settings.clone())).collect(),
            tools,
            rates: KnownRates::default(),
            hedge: false,
            withheld: Withheld::default(),
            phrases: Arc::default(),
        };
        let (sender, stages) = mpsc::unbounded_channel();
        let provider = Arc::new(Theatre { stages: sender, refuses, opened: Mutex::new(0) });
        let model = Model { provider, model: None, voice: None, rates: None };
        let (line, media) = FarEnd::connect(delay);
        let (commands, receiver) = mpsc::unbounded_channel();
        let (noting, notes) = mpsc::unbounded_channel();
        let prepared = Prepared::new(
            Settings {
                agent,
                recording: None,
                audience: Audience::default(),
                format: AudioFormat::Narrowband,
                log_inputs: false,
            },
            pipeline,
            vec![model],
        );
        let talk = tokio::spawn(prepared.talk(media, receiver, noting));
        Self { stages, line, talk, _commands: commands, _notes: notes }
    }

    /// Returns the model's side of the next session.
    async fn stage(&mut self) -> Fixture {
        self.stages.recv().await.expect("a session")
    }

    /// Returns a call in which a greeting of one second was heard, and the caller has then said something.
    async fn asked(voice: Option<Arc<dyn Tts>>, refuses: bool) -> (Self, Fixture, u64) {
        let mut call = Self::start(voice, refuses, Duration::ZERO);
        let stage = call.stage().await;
        stage.speaks("r1", Some(1), "hello", 1).await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        stage.caller_speaks().await;
        let turn_ended = call.line.now();
        (call, stage, turn_ended)
    }
}

fn failed(end: &Ended, code: FailureCode) -> bool {
    matches!(end, Ended::By(End::Failed(failure)) if failure.code == code)
}

#[tokio::test(start_paused = true)]
async fn what_is_still_at_the_carrier_was_not_heard() {
    let delay = Duration::from_millis(600);
    let mut call = Call::start(None, false, delay);
    let mut stage = call.stage().await;
    stage.speaks("r1", Some(1), "hello", 5).await;
    tokio::time::sleep(Duration::from_millis(3_000)).await;
    let sent = call.line.heard.lock().expect("whole").len() * 20;
    stage.send(RealtimeEvent::SpeechStarted).await;
    let RealtimeCommand::Truncate { item, heard } =
        stage.sent(|command| matches!(command, RealtimeCommand::Truncate { .. })).await
    else {
        unreachable!("it was looked for");
    };
    assert_eq!(item, "hello");
    let (heard, sent) = (i64::try_from(heard.as_millis()).expect("short"), i64::try_from(sent).expect("short"));
    assert!((sent - heard - 600).abs() <= 150, "{sent} ms were sent, {heard} heard");
    call.talk.abort();
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_leaves_no_dead_air_whatever_voice_there_is() {
    let voices: [(&str, Option<Arc<dyn Tts>>); 3] =
        [("none", None), ("mute", Some(Arc::new(Mute))), ("scripted", Some(Arc::new(ScriptedTts)))];
    let calls = voices.map(|(name, voice)| async move {
        let (call, _stage, turn_ended) = Call::asked(voice, false).await;
        let report = call.talk.await.expect("it ends");
        let silence = call.line.longest_silence(turn_ended, call.line.now());
        assert!(silence <= DEAD_AIR, "{name}: {silence} ms");
        assert!(failed(&report.end, FailureCode::ProviderTimeout), "{name}: {:?}", report.end);
        let took = call.line.now() - turn_ended;
        assert!((8_000..16_000).contains(&took), "{name}: {took} ms");
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_dies_and_cannot_be_reached_again_leaves_no_dead_air() {
    let voices: [(&str, Option<Arc<dyn Tts>>); 2] = [("none", None), ("scripted", Some(Arc::new(ScriptedTts)))];
    let calls = voices.map(|(name, voice)| async move {
        let (call, stage, turn_ended) = Call::asked(voice, true).await;
        let broke = ProviderError::Failed { provider: "theatre", message: "it broke".to_owned() };
        stage.send(RealtimeEvent::Lost(broke)).await;
        let report = call.talk.await.expect("it ends");
        let silence = call.line.longest_silence(turn_ended, call.line.now());
        assert!(silence <= DEAD_AIR, "{name}: {silence} ms");
        assert!(failed(&report.end, FailureCode::Pipeline), "{name}: {:?}", report.end);
    });
    futures_util::future::join_all(calls).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_replaced_twice_and_the_caller_is_answered_by_the_next() {
    let broke = || ProviderError::Failed { provider: "theatre", message: "it broke".to_owned() };
    let (mut call, mut stage, turn_ended) = Call::asked(Some(Arc::new(ScriptedTts)), false).await;
    for _ in 0..2 {
        stage.send(RealtimeEvent::Lost(broke())).await;
        stage = call.stage().await;
        stage.sent(|command| matches!(command, RealtimeCommand::Respond { .. })).await;
    }
    stage.speaks("r9", None, "answer", 1).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(call.line.longest_silence(turn_ended, call.line.now()) < DEAD_AIR);
    // The answer has ended the row.
    for _ in 0..2 {
        stage.send(RealtimeEvent::Lost(broke())).await;
        stage = call.stage().await;
    }
    stage.send(RealtimeEvent::Lost(broke())).await;
    let report = call.talk.await.expect("it ends");
    assert!(failed(&report.end, FailureCode::Pipeline), "three in a row are too many: {:?}", report.end);
    assert_eq!(report.turns, 1);
}
