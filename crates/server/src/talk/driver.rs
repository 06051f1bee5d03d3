//! The one task of a call: the turn engine in the middle, media on one side, providers on the other.
//!
//! Outgoing sound runs on absolute deadlines of 20 ms: a tick that comes late does not make the next one late. Nothing here
//! waits for anything but the next thing to happen, so sound is never late because of a provider, a tool or a disk.

mod prepared;
mod sound;
mod speaking;
mod speech;
#[cfg(test)]
mod tests;
mod tools;

use self::prepared::Heard;
pub use self::prepared::Prepared;

use std::collections::{HashMap, VecDeque};

use serde_json::Value;
use switchhook_core::Timestamp;
use switchhook_core::call::ErrorCode;
use switchhook_core::conversation::{Conversation, Effect, Failure, FailureCode, Input, Speaker, TurnTimes};
use switchhook_media::frame::FRAME_DURATION;
use switchhook_media::vad::{Vad, VadSettings};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use self::speaking::Speech;
use self::speech::{Greeting, Phrases};
use super::handset::Handset;
use super::hearing::Hearing;
use super::latency::Latencies;
use super::machine::MachineDetector;
use super::pipeline::{Pipeline, Request, Signal};
use super::plain::plain;
use super::recorder::Recorder;
use super::{Command, Commands, Ended, Line, Note, Notes, Report, Settings, panicked};
use crate::carrier::Media;
use crate::panics::caught_now;
use crate::providers::{LlmEvent, ProviderError, Spent, SttEvent, TtsAudio, Usage};

/// What running requests give, each with the number of its request.
type Signals<T> = (mpsc::Sender<(u32, Signal<T>)>, mpsc::Receiver<(u32, Signal<T>)>);
/// The turn of a tool, the id of its call, and what it answered.
type ToolResult = (u32, String, Value);

pub(super) fn failure(error: &ProviderError) -> Failure {
    let kind = match error {
        ProviderError::Timeout { .. } => FailureCode::ProviderTimeout,
        ProviderError::Config { .. } => FailureCode::Config,
        ProviderError::Refused { .. } => FailureCode::Refused,
        ProviderError::Busy { .. } | ProviderError::Failed { .. } => FailureCode::Pipeline,
    };
    Failure::new(kind, plain(error.to_string()))
}

struct Driver {
    conversation: Conversation,
    pipeline: Pipeline,
    hearing: Hearing,
    greeting: Option<Greeting>,
    handset: Handset,
    vad: Vad,
    machine: MachineDetector,
    segment: u32,
    /// Virtual time zero of the engine: it only ever sees time since then.
    began: Instant,
    /// Whether the agent has made any sound yet.
    greeted: bool,
    asks: HashMap<u32, Asked>,
    speech: Speech,
    answers: Signals<LlmEvent>,
    /// What voices give.
    signals: Signals<TtsAudio>,
    /// What is still to be said into memory.
    phrases: Phrases,
    /// What runs beside the conversation: tools, and what is said into memory.
    tasks: JoinSet<()>,
    results: (mpsc::Sender<ToolResult>, mpsc::Receiver<ToolResult>),
    /// The number that the caller is passed on to once they have heard what is being said.
    pass_on: Option<String>,
    latencies: Latencies,
    last_response: Option<i64>,
    usage: Spent,
    notes: Notes,
    end: Option<Ended>,
}

/// A question to the model that is being answered, and the characters of its answer so far.
struct Asked {
    request: Request,
    written: usize,
}

/// What the engine is to be told; most happenings are one input or none.
type Inputs = Vec<Input>;

/// A deadline that was missed by a frame since there is always something else to do, such as audio that comes faster than it is spoken.
fn overdue(deadline: Option<Instant>) -> Option<Input> {
    deadline.filter(|at| *at + FRAME_DURATION <= Instant::now()).map(|_| Input::Tick)
}

impl Driver {
    fn new(
        settings: Settings,
        pipeline: Pipeline,
        greeting: Option<Greeting>,
        hearing: Hearing,
        media: Media,
        notes: Notes,
        usage: Spent,
    ) -> Self {
        Self {
            conversation: Conversation::new(&settings.agent, Timestamp::from_micros(0)),
            pipeline,
            hearing,
            greeting,
            handset: Handset::new(media, settings.recording.map(Recorder::start)),
            vad: Vad::new(VadSettings::default()),
            machine: MachineDetector::new(&settings.agent),
            segment: 0,
            began: Instant::now(),
            greeted: false,
            asks: HashMap::new(),
            speech: Speech::new(),
            answers: mpsc::channel(64),
            signals: mpsc::channel(64),
            phrases: Phrases::new(Conversation::phrases(&settings.agent)),
            tasks: JoinSet::new(),
            results: mpsc::channel(64),
            pass_on: None,
            latencies: Latencies::default(),
            last_response: None,
            usage,
            notes,
            end: None,
        }
    }

    /// The engine's time: what has passed since the conversation began.
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0) + self.began.elapsed()
    }

    async fn run(&mut self, mut heard: Heard, mut commands: Commands) {
        let mut ticks = tokio::time::interval(FRAME_DURATION);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        if self.greeting.is_none() {
            self.phrases.begin(&self.pipeline, &self.speech.places, &mut self.tasks);
        }
        self.handle(Input::MediaStarted);
        self.begin_speaking();
        while self.end.is_none() {
            let deadline = self.conversation.next_deadline().map(|at| self.began + at.since(Timestamp::from_micros(0)));
            let inputs = tokio::select! {
                biased;
                due = ticks.tick() => self.frame_out(due).into_iter().chain(overdue(deadline)).collect(),
                frame = self.handset.media.incoming.recv() => self.frame_in(frame),
                event = heard.next() => self.recognised(event),
                Some((turn, signal)) = self.answers.1.recv() => self.answered(turn, signal),
                Some((utterance, signal)) = self.signals.1.recv() => self.spoken(utterance, signal),
                Some(usage) = self.phrases.spent.recv() => { self.add(usage); Inputs::new() }
                Some((turn, id, result)) = self.results.1.recv() => vec![Input::ToolResult { turn, id, result }],
                Some(command) = commands.recv() => vec![self.told(command)],
                Some(done) = self.tasks.join_next() => { self.ended(&done); Inputs::new() }
                () = tokio::time::sleep_until(deadline.unwrap_or(self.began)), if deadline.is_some() => vec![Input::Tick],
            };
            for input in inputs {
                self.handle(input);
            }
            self.begin_speaking();
            self.pass_on_when_silent();
            if self.handset.is_broken() {
                self.end.get_or_insert(Ended::MediaLost);
            }
        }
    }

    /// A task has ended. What one that panicked was to do may be what the caller waits for.
    fn ended(&mut self, done: &Result<(), JoinError>) {
        if done.as_ref().is_err_and(JoinError::is_panic) {
            self.end.get_or_insert_with(panicked);
        }
    }

    fn told(&mut self, command: Command) -> Input {
        match command {
            Command::HangUp => Input::HangUpRequested,
            Command::Say { text, interrupt } => Input::Say { text, interrupt },
            Command::Dtmf(digits) => {
                self.handset.dialer.press(&digits);
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
                self.pass_on = None; // The model has been told that it took too long.
                let request = self.pipeline.ask(turn, messages, self.answers.0.clone());
                self.asks.insert(turn, Asked { request, written: 0 });
            }
            Effect::CancelModel { turn } => self.take_back(turn),
            Effect::Speak { utterance, text, ready_only, .. } => return self.speak(utterance, text, ready_only),
            Effect::ClearPlayback => {
                self.handset.clear();
                self.stop_speaking();
                self.pass_on = None;
            }
            Effect::Pause => self.handset.pause(),
            Effect::Resume => self.handset.playback.resume(),
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
                // Whoever keeps notes may be gone; the call is not.
                let _ = self.notes.send(Note::Line(line));
            }
            Effect::Turn(times) => self.measured(&times),
            Effect::HangUp { reason } => self.end = Some(Ended::By(reason)),
            Effect::RunTool { turn, call } => return self.run_tool(turn, call),
        }
        None
    }

    fn measured(&mut self, times: &TurnTimes) {
        let waited = times.first_audio_played.since(times.speech_ended);
        self.latencies.response(waited);
        // How long the line is, is not ours to answer for.
        let after_turn = times.first_audio_played.since(times.turn_ended);
        self.latencies.after_turn(after_turn.saturating_sub(self.handset.in_flight.delay()));
        self.last_response = i64::try_from(waited.as_millis()).ok();
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
            Signal::Piece(LlmEvent::Delta(text)) => {
                if let Some(asked) = self.asks.get_mut(&turn) {
                    asked.written += text.chars().count();
                }
                Input::ModelDelta { turn, text: plain(text) }
            }
            Signal::Piece(LlmEvent::ToolCall(call)) => {
                let filler = self.pipeline.tools.filler(&call.name);
                Input::ModelToolCall { turn, call, filler }
            }
            Signal::Done(usage) => {
                self.add(usage);
                self.asks.remove(&turn);
                Input::ModelDone { turn }
            }
            Signal::Failed(error) => {
                self.take_back(turn);
                Input::ModelFailed { turn, failure: failure(&error) }
            }
        }]
    }

    /// Cancels a question. What has been read and written is paid for all the same.
    fn take_back(&mut self, turn: u32) {
        if let Some(Asked { request, written }) = self.asks.remove(&turn) {
            self.add(request.cost(written));
        }
    }

    fn add(&mut self, usage: Usage) {
        self.usage.add(usage);
    }

    async fn report(mut self) -> Report {
        // What was still in the air when the call ended belongs into the transcript as far as it was heard.
        let now = self.now();
        let finished = caught_now(|| {
            for effect in self.conversation.finish(now) {
                self.perform(effect);
            }
        });
        if finished.is_err() {
            self.end = Some(panicked());
        }
        for turn in self.asks.keys().copied().collect::<Vec<_>>() {
            self.take_back(turn);
        }
        self.stop_speaking();
        self.phrases.end(&self.usage);
        let recorded = self.handset.written().await;
        self.hearing.end().await;
        Report {
            end: self.end.take().unwrap_or(Ended::MediaLost),
            turns: self.conversation.turns(),
            history: self.conversation.history(),
            latency: self.latencies.summary(),
            usage: self.usage.usage(),
            recorded,
        }
    }
}

fn recognised(event: SttEvent) -> Input {
    match event {
        SttEvent::Partial { text } => Input::Partial { text: plain(text) },
        SttEvent::Final { segment, text } => Input::Final { segment, text: plain(text) },
        SttEvent::TurnJudged => Input::TurnJudged,
        SttEvent::Failed { code, words } => Input::RecogniserFailed(lost(code, words)),
    }
}

/// The recogniser is gone.
fn lost(code: ErrorCode, words: String) -> Failure {
    let kind = match code {
        ErrorCode::ProviderTimeout => FailureCode::ProviderTimeout,
        ErrorCode::ConfigError => FailureCode::Config,
        _ => FailureCode::Pipeline,
    };
    Failure::new(kind, plain(words))
}
