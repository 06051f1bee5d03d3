//! The one task of a call: the turn engine in the middle, media on one side, providers on the other.
//!
//! Outgoing sound runs on absolute deadlines of 20 ms: a tick that comes late does not make the next one late. Nothing here
//! waits for anything but the next thing to happen, so sound is never late because of a provider, a tool or a disk.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_core::call::ErrorCode;
use switchhook_core::conversation::{
    Conversation, Effect, End, Failure, FailureCode, Input, Speaker, ToolCall, TurnTimes,
};
use switchhook_media::dtmf::Dialer;
use switchhook_media::frame::{AgentAudio, CallerAudio, FRAME_DURATION, Frame};
use switchhook_media::vad::{Vad, VadEvent, VadSettings};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::task::AbortOnDropHandle;

use super::in_flight::InFlight;
use super::latency::{Latencies, Punctuality};
use super::machine::MachineDetector;
use super::pipeline::{Pipeline, Rendered, Running, Signal};
use super::plain::plain;
use super::playback::{Playback, Played};
use super::recorder::Recorder;
use super::{Command, Ended, Line, Note, Report, Settings};
use crate::carrier::{FromCarrier, Media, ToCarrier};
use crate::providers::{LlmEvent, ProviderError, SttEvent, SttSession, TtsAudio, Usage};

/// Frames of the caller that may wait to be recorded, against jitter: 200 ms.
const RECORDED_BEHIND: usize = 10;

/// Frames that are later than this are not sent after each other: what they would have played is played a little later.
const LATEST: Duration = Duration::from_millis(200);
/// How long the end of a recording is waited for.
const RECORDING_CLOSED: Duration = Duration::from_secs(1);

/// An open recogniser, and where its words arrive.
type Recogniser = (Box<dyn SttSession>, mpsc::Receiver<SttEvent>);
/// What running requests give, each with the number of its request.
type Signals<T> = (mpsc::Sender<(u32, Signal<T>)>, mpsc::Receiver<(u32, Signal<T>)>);
/// The greeting's words, and its sound in the making.
type Greeting = (String, AbortOnDropHandle<Result<Rendered, ProviderError>>);

/// How far the recogniser is.
enum Opening {
    UnderWay(AbortOnDropHandle<Result<Recogniser, ProviderError>>),
    Done(Result<Recogniser, ProviderError>),
}

impl Opening {
    /// Waits until it is done. May be dropped and called again.
    async fn wait(&mut self) -> &mut Result<Recogniser, ProviderError> {
        if let Self::UnderWay(opening) = self {
            let stopped =
                || ProviderError::Failed { provider: "speech to text", words: "it stopped unexpectedly".to_owned() };
            let opened = opening.await.unwrap_or_else(|_| Err(stopped()));
            *self = Self::Done(opened);
        }
        match self {
            Self::Done(opened) => opened,
            Self::UnderWay(_) => unreachable!("it was waited for above"),
        }
    }
}

/// A conversation that is being got ready while the phone rings: the recogniser is open, the greeting is spoken into memory.
pub struct Prepared {
    settings: Settings,
    pipeline: Pipeline,
    recogniser: Opening,
    greeting: Option<Greeting>,
}

impl Prepared {
    /// Starts getting ready.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline) -> Self {
        let recogniser = {
            let pipeline = pipeline.clone();
            Opening::UnderWay(AbortOnDropHandle::new(tokio::spawn(async move {
                let (events, heard) = mpsc::channel(64);
                Ok((pipeline.open_stt(events).await?, heard))
            })))
        };
        let greeting = Conversation::opening(&settings.agent).map(|text| {
            let rendering = pipeline.render(text.clone());
            (text, rendering)
        });
        Self { settings, pipeline, recogniser, greeting }
    }

    /// Why the conversation cannot begin, as soon as that is known. Never, when it can. May be dropped and called again.
    pub async fn not_ready(&mut self) -> Failure {
        match self.recogniser.wait().await {
            Err(error) => failure(error),
            Ok(_) => std::future::pending().await,
        }
    }

    /// Holds the conversation until it ends. `commands` may close at any time.
    pub async fn talk(mut self, media: Media, commands: mpsc::Receiver<Command>, notes: mpsc::Sender<Note>) -> Report {
        if let Err(error) = self.recogniser.wait().await {
            return stillborn(&self.settings, error);
        }
        let Opening::Done(Ok((session, heard))) = self.recogniser else { unreachable!("it has just opened") };
        let mut driver = Driver::new(self.settings, self.pipeline, self.greeting, session, media, notes);
        driver.run(heard, commands).await;
        driver.report().await
    }
}

/// Whether the recording is there. A slow disk goes on writing by itself: what is known of the call does not wait for it.
async fn written(recorder: Recorder) -> bool {
    match tokio::time::timeout(RECORDING_CLOSED, recorder.finish()).await {
        Ok(finished) => finished.inspect_err(|error| tracing::error!(%error, "a recording failed")).is_ok(),
        Err(_) => {
            tracing::warn!("the disk is slow: a recording is still being written");
            true
        }
    }
}

/// The report of a conversation that could not begin.
fn stillborn(settings: &Settings, error: &ProviderError) -> Report {
    let conversation = Conversation::new(&settings.agent, Timestamp::from_micros(0));
    Report {
        end: Ended::By(End::Failed(failure(error))),
        turns: 0,
        history: conversation.history(),
        latency: Latencies::default().summary(),
        usage: Usage::default(),
        recorded: false,
    }
}

fn failure(error: &ProviderError) -> Failure {
    let kind = match error.code() {
        ErrorCode::ProviderTimeout => FailureCode::ProviderTimeout,
        ErrorCode::ConfigError => FailureCode::Config,
        _ => FailureCode::Pipeline,
    };
    Failure::new(kind, plain(error.to_string()))
}

struct Driver {
    conversation: Conversation,
    pipeline: Pipeline,
    session: Box<dyn SttSession>,
    greeting: Option<Greeting>,
    media: Media,
    vad: Vad,
    machine: MachineDetector,
    segment: u32,
    playback: Playback,
    in_flight: InFlight,
    punctuality: Punctuality,
    dialer: Dialer,
    recorder: Option<Recorder>,
    unrecorded: VecDeque<CallerAudio>,
    /// Virtual time zero of the engine: it only ever sees time since then.
    began: Instant,
    /// Whether the agent has made any sound yet.
    greeted: bool,
    asks: HashMap<u32, Running>,
    speaking: HashMap<u32, Running>,
    answers: Signals<LlmEvent>,
    speech: Signals<TtsAudio>,
    latencies: Latencies,
    last_response: Option<i64>,
    usage: Usage,
    notes: mpsc::Sender<Note>,
    end: Option<Ended>,
}

/// What the engine is to be told; most happenings are one input or none.
type Inputs = Vec<Input>;

impl Driver {
    fn new(
        settings: Settings,
        pipeline: Pipeline,
        greeting: Option<Greeting>,
        session: Box<dyn SttSession>,
        media: Media,
        notes: mpsc::Sender<Note>,
    ) -> Self {
        Self {
            conversation: Conversation::new(&settings.agent, Timestamp::from_micros(0)),
            pipeline,
            session,
            greeting,
            media,
            vad: Vad::new(VadSettings::default()),
            machine: MachineDetector::new(settings.agent.answering_machine.mode),
            segment: 0,
            playback: Playback::default(),
            in_flight: InFlight::default(),
            punctuality: Punctuality::default(),
            dialer: Dialer::default(),
            recorder: settings.recording.map(Recorder::start),
            unrecorded: VecDeque::new(),
            began: Instant::now(),
            greeted: false,
            asks: HashMap::new(),
            speaking: HashMap::new(),
            answers: mpsc::channel(64),
            speech: mpsc::channel(64),
            latencies: Latencies::default(),
            last_response: None,
            usage: Usage::default(),
            notes,
            end: None,
        }
    }

    /// The engine's time: what has passed since the conversation began.
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0) + self.began.elapsed()
    }

    async fn run(&mut self, mut heard: mpsc::Receiver<SttEvent>, mut commands: mpsc::Receiver<Command>) {
        let mut ticks = tokio::time::interval(FRAME_DURATION);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        self.handle(Input::MediaStarted);
        while self.end.is_none() {
            let deadline = self.conversation.next_deadline().map(|at| self.began + at.since(Timestamp::from_micros(0)));
            let inputs = tokio::select! {
                biased;
                due = ticks.tick() => {
                    self.punctuality.tick(due.elapsed());
                    if due.elapsed() > LATEST { Inputs::new() } else { self.frame_out() }
                }
                frame = self.media.incoming.recv() => self.frame_in(frame),
                Some(event) = heard.recv() => self.recognised(event),
                Some((turn, signal)) = self.answers.1.recv() => self.answered(turn, signal),
                Some((utterance, signal)) = self.speech.1.recv() => self.spoken(utterance, signal),
                Some(command) = commands.recv() => vec![self.told(command)],
                () = tokio::time::sleep_until(deadline.unwrap_or(self.began)), if deadline.is_some() => vec![Input::Tick],
            };
            for input in inputs {
                self.handle(input);
            }
        }
    }

    fn told(&mut self, command: Command) -> Input {
        match command {
            Command::HangUp => Input::HangUpRequested,
            Command::Say { text, interrupt } => Input::Say { text, interrupt },
            Command::Dtmf(digits) => {
                self.dialer.press(&digits);
                Input::KeysStarted
            }
            Command::Machine { greeting_ended } => Input::MachineDetected { beep: greeting_ended },
            Command::TransferStarted => Input::TransferStarted,
            Command::TransferRefused => Input::TransferRefused,
        }
    }

    fn handle(&mut self, input: Input) {
        let now = self.now();
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.conversation.handle(now, input) {
                inputs.extend(self.perform(effect));
            }
        }
    }

    /// Does what the engine wants; what it is to be told of that at once comes back.
    fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Ask { turn, messages, .. } => {
                let running = self.pipeline.ask(turn, messages, self.answers.0.clone());
                self.asks.insert(turn, running);
            }
            Effect::CancelModel { turn } => drop(self.asks.remove(&turn)),
            Effect::Speak { utterance, text, .. } => self.speak(utterance, text),
            Effect::ClearPlayback => {
                self.playback.clear();
                self.in_flight.clear();
                self.speaking.clear();
                self.send(ToCarrier::Clear);
            }
            Effect::Pause => self.playback.pause(),
            Effect::Resume => self.playback.resume(),
            Effect::Transcript(entry) => {
                let by_agent = entry.speaker == Speaker::Agent;
                let line = Line {
                    by_agent,
                    text: entry.text,
                    start_ms: entry.start.as_millis(),
                    end_ms: entry.end.as_millis(),
                    interrupted: entry.interrupted,
                    latency_ms: if by_agent { self.last_response.take() } else { None },
                };
                // Whoever keeps notes may be slow or gone; the call is not.
                let _ = self.notes.try_send(Note::Line(line));
            }
            Effect::Turn(times) => self.measured(&times),
            Effect::HangUp { reason } => self.end = Some(Ended::By(reason)),
            Effect::RunTool { turn, call } => return Some(unknown_tool(turn, call)),
        }
        None
    }

    fn measured(&mut self, times: &TurnTimes) {
        let waited = times.first_audio_played.since(times.speech_ended);
        self.latencies.response(waited);
        // How long the line is, is not ours to answer for.
        let after_turn = times.first_audio_played.since(times.turn_ended);
        self.latencies.after_turn(after_turn.saturating_sub(self.in_flight.delay()));
        self.last_response = i64::try_from(waited.as_millis()).ok();
    }

    fn speak(&mut self, utterance: u32, text: String) {
        self.playback.announce(utterance);
        let signals = self.speech.0.clone();
        let running = match self.greeting.take_if(|(prepared, _)| *prepared == text) {
            Some((_, rendering)) => AbortOnDropHandle::new(tokio::spawn(async move {
                let signal = match rendering.await {
                    Ok(Ok(rendered)) => {
                        let piece = TtsAudio { samples: rendered.samples, words: rendered.words };
                        let _ = signals.send((utterance, Signal::Piece(piece))).await;
                        Signal::Done(rendered.usage)
                    }
                    Ok(Err(error)) => Signal::Failed(error),
                    Err(_) => return,
                };
                let _ = signals.send((utterance, signal)).await;
            })),
            None => self.pipeline.speak(utterance, text, signals),
        };
        self.speaking.insert(utterance, running);
    }

    /// 20 ms of the agent to the line: tones of keys, before which speech stands back, or the next of its speech.
    fn frame_out(&mut self) -> Inputs {
        if let Some(tone) = self.dialer.next_frame() {
            self.sound_out(Some(AgentAudio(tone)));
            return if self.dialer.is_idle() { vec![Input::KeysSent] } else { Inputs::new() };
        }
        let next = self.playback.next_frame();
        let sound = next.as_ref().and_then(|(frame, _)| *frame);
        if sound.is_some() && !self.greeted {
            self.greeted = true;
            self.latencies.greeting(self.began.elapsed());
        }
        self.sound_out(sound);
        let now = Instant::now();
        if let Some(mark) = next.and_then(|(_, played)| self.in_flight.sent(now, played)) {
            self.send(ToCarrier::Mark(mark));
        }
        self.in_flight.heard(now).into_iter().map(heard).collect()
    }

    /// The agent's sound to the line, and both sides to the recording.
    fn sound_out(&mut self, sound: Option<AgentAudio>) {
        if let Some(frame) = &sound {
            self.send(ToCarrier::Audio(*frame));
        }
        if let Some(recorder) = &mut self.recorder {
            let caller = self.unrecorded.pop_front().unwrap_or(CallerAudio(Frame::silence()));
            recorder.push(caller, sound.unwrap_or(AgentAudio(Frame::silence())));
        }
    }

    /// A full channel means that the line has taken nothing for seconds: it is broken. The end of one that is closed is told
    /// by its other direction.
    fn send(&mut self, message: ToCarrier) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.media.outgoing.try_send(message) {
            self.end.get_or_insert(Ended::MediaLost);
        }
    }

    /// Something from the line; nothing more comes when it is gone.
    fn frame_in(&mut self, message: Option<FromCarrier>) -> Inputs {
        match message {
            Some(FromCarrier::Audio(frame)) => self.caller(frame),
            Some(FromCarrier::Dtmf(digit)) => vec![Input::Dtmf { digit }],
            Some(FromCarrier::MarkPlayed(mark)) => {
                self.in_flight.returned(Instant::now(), mark);
                Inputs::new()
            }
            None => {
                self.end = Some(Ended::MediaLost);
                Inputs::new()
            }
        }
    }

    fn caller(&mut self, frame: CallerAudio) -> Inputs {
        self.usage.stt_audio_ms += u64::try_from(FRAME_DURATION.as_millis()).unwrap_or(0);
        self.session.audio(&frame);
        if self.recorder.is_some() {
            if self.unrecorded.len() >= RECORDED_BEHIND {
                self.unrecorded.pop_front();
            }
            self.unrecorded.push_back(frame);
        }
        let mut inputs = Inputs::new();
        match self.vad.push(&frame) {
            Some(VadEvent::SpeechStarted) => {
                self.session.speech_started();
                inputs.push(Input::SpeechStarted);
            }
            Some(VadEvent::SpeechStopped) => {
                let segment = self.segment;
                self.segment += 1;
                self.session.speech_stopped(segment);
                inputs.push(Input::SpeechStopped { segment });
            }
            None => {}
        }
        if self.machine.frame(&frame.0) {
            inputs.push(Input::MachineDetected { beep: true });
        }
        inputs
    }

    fn recognised(&mut self, event: SttEvent) -> Inputs {
        let machine = match &event {
            SttEvent::Partial { text } | SttEvent::Final { text, .. } => self.machine.words(text),
            _ => None,
        };
        let machine = machine.map(|beep| Input::MachineDetected { beep });
        std::iter::once(recognised(event)).chain(machine).collect()
    }

    fn answered(&mut self, turn: u32, signal: Signal<LlmEvent>) -> Inputs {
        vec![match signal {
            Signal::Piece(LlmEvent::Delta(text)) => Input::ModelDelta { turn, text: plain(text) },
            Signal::Piece(LlmEvent::ToolCall { id, name, arguments }) => {
                Input::ModelToolCall { turn, call: ToolCall { id, name, arguments } }
            }
            Signal::Done(usage) => {
                self.add(usage);
                self.asks.remove(&turn);
                Input::ModelDone { turn }
            }
            Signal::Failed(error) => {
                self.asks.remove(&turn);
                Input::ModelFailed { turn, failure: failure(&error) }
            }
        }]
    }

    fn spoken(&mut self, utterance: u32, signal: Signal<TtsAudio>) -> Inputs {
        if !self.speaking.contains_key(&utterance) {
            return Inputs::new(); // It was cleared while this was on its way.
        }
        vec![match signal {
            Signal::Piece(audio) => {
                let samples = self.playback.push(utterance, &audio.samples);
                Input::SpeechReady { utterance, samples, words: audio.words, complete: false }
            }
            Signal::Done(usage) => {
                self.add(usage);
                self.speaking.remove(&utterance);
                let samples = self.playback.complete(utterance);
                Input::SpeechReady { utterance, samples, words: Vec::new(), complete: true }
            }
            Signal::Failed(error) => {
                self.speaking.remove(&utterance);
                self.playback.complete(utterance);
                Input::SpeechFailed { utterance, failure: failure(&error) }
            }
        }]
    }

    fn add(&mut self, usage: Usage) {
        self.usage.stt_audio_ms += usage.stt_audio_ms;
        self.usage.llm_input_tokens += usage.llm_input_tokens;
        self.usage.llm_output_tokens += usage.llm_output_tokens;
        self.usage.tts_characters += usage.tts_characters;
    }

    async fn report(mut self) -> Report {
        // What was still in the air when the call ended belongs into the transcript as far as it was heard.
        let now = self.now();
        for effect in self.conversation.finish(now) {
            self.perform(effect);
        }
        let recorded = match self.recorder.take() {
            Some(recorder) => written(recorder).await,
            None => false,
        };
        Report {
            end: self.end.take().unwrap_or(Ended::MediaLost),
            turns: self.conversation.turns(),
            history: self.conversation.history(),
            latency: self.latencies.summary(),
            usage: self.usage,
            recorded,
        }
    }
}

fn heard(played: Played) -> Input {
    let Played { utterance, samples, finished } = played;
    if finished { Input::PlaybackFinished { utterance } } else { Input::Played { utterance, samples } }
}

/// The only tool of this version acts inside the engine, so a model that calls another one has made it up.
fn unknown_tool(turn: u32, call: ToolCall) -> Input {
    Input::ToolResult { turn, id: call.id, result: json!({ "error": "There is no such tool." }) }
}

fn recognised(event: SttEvent) -> Input {
    match event {
        SttEvent::Partial { text } => Input::Partial { text: plain(text) },
        SttEvent::Final { segment, text } => Input::Final { segment, text: plain(text) },
        SttEvent::TurnJudged => Input::TurnJudged,
        SttEvent::Failed { code, words } => {
            let kind = match code {
                ErrorCode::ProviderTimeout => FailureCode::ProviderTimeout,
                ErrorCode::ConfigError => FailureCode::Config,
                _ => FailureCode::Pipeline,
            };
            Input::RecogniserFailed(Failure::new(kind, plain(words)))
        }
    }
}
