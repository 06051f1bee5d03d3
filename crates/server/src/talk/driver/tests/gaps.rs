//! Connections on which no audio arrives for a while, in virtual time.

use std::sync::Mutex;

use switchhook_carriers::media_queue::MediaSender;
use switchhook_core::conversation::realtime::RealtimeCommand;
use switchhook_providers::realtime::{Realtime as Provider, RealtimeEvent, RealtimeOptions, RealtimeSession};
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::talk::realtime::Model;

const SAID: &str = "On Friday at seven, please.";

/// An STT that has the transcript as soon as speech is over.
struct Listener;

struct Listening(mpsc::Sender<SttEvent>);

#[async_trait]
impl Stt for Listener {
    async fn open(&self, _: SttOptions, events: mpsc::Sender<SttEvent>) -> Result<Box<dyn SttSession>, ProviderError> {
        Ok(Box::new(Listening(events)))
    }
}

impl SttSession for Listening {
    fn audio(&mut self, _: &CallerAudio) {}

    fn speech_stopped(&mut self, segment: u32) {
        let _ = self.0.try_send(SttEvent::Final { segment, text: SAID.to_owned() });
    }
}

/// Returns media that play everything and on which only the test sends audio.
fn quiet_line() -> (MediaSender, Media) {
    let (to_us, incoming) = media_queue();
    let (outgoing, mut from_us) = mpsc::channel(200);
    tokio::spawn(async move { while from_us.recv().await.is_some() {} });
    (to_us, Media { incoming, outgoing, buffered: false, gaps_are_silence: true, shows_conversation: false })
}

/// Says "Friday" and more, and stops in the middle of a word.
async fn says(line: &MediaSender) {
    let recording = switchhook_caller_audio::recording("day").expect("a recording");
    let samples = recording.samples(AudioFormat::Narrowband);
    let voiced = &samples[..samples.len() / 160 / 2 * 160];
    let mut frames = tokio::time::interval(FRAME_DURATION);
    for chunk in voiced.chunks_exact(160) {
        frames.tick().await;
        assert!(line.send(FromCarrier::Audio(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, chunk)))));
    }
}

struct Running {
    talk: tokio::task::JoinHandle<Report>,
    notes: mpsc::UnboundedReceiver<Note>,
    _commands: mpsc::UnboundedSender<Command>,
}

fn begin(agent: AgentConfig, pipeline: Pipeline, models: Vec<Model>, media: Media) -> Running {
    let settings = Settings {
        agent,
        recording: None,
        audience: Audience::default(),
        format: AudioFormat::Narrowband,
        log_inputs: false,
    };
    let (commands, orders) = mpsc::unbounded_channel();
    let (noting, notes) = mpsc::unbounded_channel();
    let talk = tokio::spawn(Prepared::new(settings, pipeline, models).talk(media, orders, noting));
    Running { talk, notes, _commands: commands }
}

impl Running {
    /// Returns what the agent says next.
    async fn answer(&mut self) -> String {
        loop {
            match self.notes.recv().await.expect("the call continues") {
                Note::Transcript(line) if line.by_agent => return line.text,
                _ => {}
            }
        }
    }
}

fn cascade(change: impl FnOnce(&mut AgentConfig)) -> (MediaSender, Running) {
    let mut agent = agent();
    change(&mut agent);
    let pipeline = pipeline(&agent, vec![Arc::new(Listener)]);
    let (line, media) = quiet_line();
    (line, begin(agent, pipeline, Vec::new(), media))
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_audio_stops_in_the_middle_of_a_word_is_answered_and_in_the_end_hung_up_on() {
    let (line, mut call) = cascade(|agent| {
        agent.silence.reprompt_after_seconds = 5;
        agent.silence.max_reprompts = 1;
        agent.silence.hangup_after_seconds = Some(20);
    });
    assert_eq!(call.answer().await, GREETING);
    says(&line).await;
    let stopped = Instant::now();
    let answer = call.answer().await;
    assert!(stopped.elapsed() < Duration::from_secs(10), "{answer} after {:?}", stopped.elapsed());
    let reprompt = call.answer().await;
    assert_ne!(answer, reprompt);
    let report = call.talk.await.expect("it ends");
    assert!(matches!(report.end, Ended::By(End::Silence)), "{:?}", report.end);
    assert_eq!(report.turns, 1);
    assert!(stopped.elapsed() < Duration::from_secs(40), "{:?}", stopped.elapsed());
    drop(line);
}

#[tokio::test(start_paused = true)]
async fn every_phrase_is_a_turn_on_a_line_that_sends_nothing_between_them() {
    let (line, mut call) = cascade(|_| {});
    call.answer().await;
    for _ in 0..3 {
        says(&line).await;
        let stopped = Instant::now();
        call.answer().await;
        assert!(stopped.elapsed() < Duration::from_secs(10), "{:?}", stopped.elapsed());
    }
    drop(line);
    let report = call.talk.await.expect("it ends");
    assert_eq!((report.turns, report.decisions.iter().filter(|d| d.kind == DecisionKind::TurnEnded).count()), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn audio_that_is_late_by_less_than_a_gap_is_one_phrase() {
    let (line, mut call) = cascade(|_| {});
    call.answer().await;
    let recording = switchhook_caller_audio::recording("day").expect("a recording");
    let frames: Vec<_> = recording.samples(AudioFormat::Narrowband).chunks_exact(160).collect();
    for burst in frames.chunks(15) {
        tokio::time::sleep(FRAME_DURATION * 15).await;
        for chunk in burst {
            assert!(line.send(FromCarrier::Audio(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, chunk)))));
        }
    }
    call.answer().await;
    drop(line);
    assert_eq!(call.talk.await.expect("it ends").turns, 1);
}

/// Sends a frame of comfort noise every so often, like a carrier that suppresses silence.
fn comfort_noise(line: &MediaSender, every: Duration) -> AbortOnDropHandle<()> {
    let line = line.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        for frame in 0..10_000_u32 {
            tokio::time::sleep(every).await;
            let sample = |i: u32| i16::try_from((i * 7_919 + frame * 104_729) % 41).expect("small") - 20;
            let noise: Vec<i16> = (0..160).map(sample).collect();
            let audio = CallerAudio(Frame::from_slice(AudioFormat::Narrowband, &noise));
            if !line.send(FromCarrier::Audio(audio)) {
                return;
            }
        }
    }))
}

#[tokio::test(start_paused = true)]
async fn comfort_noise_is_silence_however_often_it_comes() {
    for every in [60, 100, 160, 240, 400].map(Duration::from_millis) {
        let (line, mut call) = cascade(|agent| {
            agent.silence.reprompt_after_seconds = 5;
            agent.silence.max_reprompts = 1;
            agent.silence.hangup_after_seconds = Some(20);
        });
        call.answer().await;
        says(&line).await;
        let stopped = Instant::now();
        let noise = comfort_noise(&line, every);
        let answer = call.answer().await;
        assert!(stopped.elapsed() < Duration::from_secs(5), "{every:?}: {answer} after {:?}", stopped.elapsed());
        assert_ne!(call.answer().await, answer, "{every:?}: a reprompt");
        let report = call.talk.await.expect("it ends");
        assert!(matches!(report.end, Ended::By(End::Silence)), "{every:?}: {:?}", report.end);
        assert_eq!(report.turns, 1, "{every:?}");
        assert!(stopped.elapsed() < Duration::from_secs(40), "{every:?}: {:?}", stopped.elapsed());
        drop(noise);
    }
}

#[tokio::test(start_paused = true)]
async fn frames_that_come_seconds_late_and_all_at_once_are_over_when_they_come() {
    let (line, mut call) = cascade(|_| {});
    call.answer().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let recording = switchhook_caller_audio::recording("day").expect("a recording");
    let samples = recording.samples(AudioFormat::Narrowband);
    for chunk in samples[..samples.len() / 160 / 2 * 160].chunks_exact(160) {
        assert!(line.send(FromCarrier::Audio(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, chunk)))));
    }
    let came = Instant::now();
    call.answer().await;
    assert!(came.elapsed() < Duration::from_secs(5), "{:?}", came.elapsed());
    drop(line);
    assert_eq!(call.talk.await.expect("it ends").turns, 1);
}

#[tokio::test(start_paused = true)]
async fn jitter_after_a_gap_is_bridged_like_jitter_before_it() {
    let (line, mut call) = cascade(|_| {});
    call.answer().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let recording = switchhook_caller_audio::recording("day").expect("a recording");
    let frames: Vec<_> = recording.samples(AudioFormat::Narrowband).chunks_exact(160).collect();
    for burst in frames.chunks(15) {
        for chunk in burst {
            assert!(line.send(FromCarrier::Audio(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, chunk)))));
        }
        tokio::time::sleep(FRAME_DURATION * 15).await;
    }
    call.answer().await;
    drop(line);
    let report = call.talk.await.expect("it ends");
    let reopened = report.decisions.iter().filter(|decision| decision.kind == DecisionKind::TurnReopened).count();
    assert_eq!((report.turns, reopened), (1, 0));
}

/// A speech-to-speech model that hears the caller begin, and waits for silence to detect the end of speech.
struct Hearing {
    heard: Arc<Mutex<Vec<(Instant, bool)>>>,
    commands: mpsc::UnboundedSender<RealtimeCommand>,
}

struct HearingSession {
    events: mpsc::Sender<RealtimeEvent>,
    heard: Arc<Mutex<Vec<(Instant, bool)>>>,
    commands: mpsc::UnboundedSender<RealtimeCommand>,
    speaking: bool,
}

#[async_trait]
impl Provider for Hearing {
    async fn open(
        &self,
        _: RealtimeOptions,
        events: mpsc::Sender<RealtimeEvent>,
    ) -> Result<Box<dyn RealtimeSession>, ProviderError> {
        let (heard, commands) = (self.heard.clone(), self.commands.clone());
        Ok(Box::new(HearingSession { events, heard, commands, speaking: false }))
    }
}

impl RealtimeSession for HearingSession {
    fn audio(&mut self, frame: &CallerAudio) {
        let loud = frame.0.rms_dbfs() > -45.0;
        if loud && !std::mem::replace(&mut self.speaking, true) {
            let _ = self.events.try_send(RealtimeEvent::SpeechStarted);
        }
        self.heard.lock().expect("whole").push((Instant::now(), loud));
    }

    fn probe(&mut self) {}

    fn send(&mut self, command: RealtimeCommand) {
        let _ = self.commands.send(command);
    }
}

#[tokio::test(start_paused = true)]
async fn a_speech_to_speech_model_hears_silence_where_nothing_comes_and_the_turn_ends() {
    let (sender, mut commands) = mpsc::unbounded_channel();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let provider = Arc::new(Hearing { heard: heard.clone(), commands: sender });
    let (line, media) = quiet_line();
    let mut agent = agent();
    agent.greeting.mode = switchhook_core::agent::GreetingMode::Wait;
    let pipeline = pipeline(&agent, Vec::new());
    let call = begin(agent, pipeline, vec![Model { provider, model: None, voice: None, rates: None }], media);
    says(&line).await;
    let stopped = Instant::now();
    while !matches!(commands.recv().await, Some(RealtimeCommand::EndTurn)) {}
    assert!(stopped.elapsed() < Duration::from_secs(5), "{:?}", stopped.elapsed());
    let silent = heard.lock().expect("whole").iter().filter(|(at, loud)| *at > stopped && !loud).count();
    assert!((50..250).contains(&silent), "{silent} frames of silence");
    call.talk.abort();
}
