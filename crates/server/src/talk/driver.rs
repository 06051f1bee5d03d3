//! The only task of a call: the conversation in the middle, media on one side, models on the other.
//!
//! Outgoing audio runs on absolute deadlines of 20 ms: a late tick does not delay the next one. The loop only ever waits for the next
//! event, so a slow provider, tool or disk never delays audio.
//!
//! Calls differ in their [`Models`]: STT and LLM ([`cascade`]), or the session of a speech-to-speech model ([`realtime`]). Media,
//! recording, TTS, tools, latency and the transcript are the same for all.

mod audio;
pub(super) mod cascade;
pub(super) mod presynthesis;
pub(super) mod realtime;
mod synthesis;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::VecDeque;

use serde_json::Value;
use switchhook_carriers::media::ResponseTiming;
use switchhook_carriers::{CallInfo, Media};
use switchhook_core::Timestamp;
use switchhook_core::conversation::realtime::RealtimeInput;
use switchhook_core::conversation::{
    Conversation, Decision, DecisionKind, Effect, Entry, Failure, FailureCode, Input, MachineEvidence, ResponseStages,
    Speaker, TurnTimes,
};
use switchhook_core::replay::InputLogWriter;
use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::CallerAudio;
use switchhook_media::vad::{Vad, VadSettings};
use switchhook_providers::{ProviderError, TtsAudio, Usage, UsageMeter};
use switchhook_runtime::panics::{caught, caught_now};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use self::cascade::Cascade;
use self::presynthesis::PhraseWarmup;
use self::realtime::Realtime;
use self::synthesis::Synthesis;
use self::tools::ToolRun;
use super::latency::Latencies;
use super::machine::MachineDetector;
use super::media_session::MediaSession;
use super::pipeline::{Pipeline, Signal};
use super::recorder::Recorder;
use super::strip_nul::strip_nul;
use super::{CarrierRequest, Command, Commands, Ended, Note, Notes, Report, Settings, TranscriptLine, panicked};

/// The number of decisions kept per call; later ones are dropped. An hour of conversation has about a thousand.
pub(crate) const MAX_DECISIONS: usize = 4_000;

/// The channel of signals from running requests, each with the number of its request.
type Signals<T> = (mpsc::Sender<(u32, Signal<T>)>, mpsc::Receiver<(u32, Signal<T>)>);
/// The turn of a tool call, the call, and its result. Boxed: the channel has room for many.
type ToolResult = Box<(u32, ToolRun, Value)>;

pub(super) fn failure(error: &ProviderError) -> Failure {
    let kind = match error {
        ProviderError::Timeout { .. } => FailureCode::ProviderTimeout,
        ProviderError::Config { .. } => FailureCode::Config,
        ProviderError::Refused { .. } => FailureCode::Refused,
        ProviderError::Busy { .. } | ProviderError::Failed { .. } => FailureCode::Pipeline,
    };
    Failure::new(kind, strip_nul(error.to_string()))
}

/// The models that understand the caller and generate the agent's speech.
pub(super) enum Models {
    /// An STT and an LLM; a TTS speaks.
    Cascade(Box<Cascade>),
    /// A speech-to-speech model; a TTS stands in for it.
    Realtime(Box<Realtime>),
}

/// An event reported by the models.
enum ModelEvent {
    Cascade(cascade::Event),
    Realtime(realtime::Event),
}

impl Models {
    /// Returns the next event. Cancel safe.
    async fn next(&mut self) -> ModelEvent {
        match self {
            Self::Cascade(cascade) => ModelEvent::Cascade(cascade.next().await),
            Self::Realtime(realtime) => ModelEvent::Realtime(realtime.next().await),
        }
    }

    /// Sends the models 20 ms of the caller's audio; `listening` is whether the conversation listens to the caller.
    fn caller_audio(&mut self, frame: &CallerAudio, listening: bool, now: Timestamp) {
        match self {
            Self::Cascade(cascade) => cascade.stt.audio(frame),
            Self::Realtime(realtime) => realtime.caller_audio(frame, listening, now),
        }
    }

    fn speech_started(&mut self) {
        match self {
            Self::Cascade(cascade) => cascade.stt.speech_started(),
            Self::Realtime(_) => {}
        }
    }

    fn speech_stopped(&mut self, segment: u32) {
        match self {
            Self::Cascade(cascade) => cascade.stt.speech_stopped(segment),
            Self::Realtime(realtime) => realtime.speech_stopped(),
        }
    }

    /// Handles that playback was cleared: the caller does not hear queued audio.
    fn playback_cleared(&mut self) {
        match self {
            Self::Cascade(_) => {}
            Self::Realtime(realtime) => realtime.playback_cleared(),
        }
    }

    /// Ends all work and adds its cost to `usage`.
    async fn end(self, usage: &UsageMeter) {
        match self {
            Self::Cascade(cascade) => cascade.end(usage).await,
            Self::Realtime(mut realtime) => realtime.estimate_usage(usage),
        }
    }
}

pub(super) struct Driver {
    conversation: Conversation,
    pipeline: Pipeline,
    models: Models,
    media_session: MediaSession,
    vad: Vad,
    /// Whether the conversation knows that speech may be starting.
    speech_pending: bool,
    machine: MachineDetector,
    segment: u32,
    /// When the conversation's clock is zero: it only sees the time since then.
    began: Instant,
    /// Whether the agent's first audio has been sent.
    greeted: bool,
    synthesis: Synthesis,
    tts_signals: Signals<TtsAudio>,
    /// The phrases still to be synthesized into the cache.
    phrases: PhraseWarmup,
    /// Tasks beside the conversation: tools, and synthesis into the cache.
    pub(super) tasks: JoinSet<()>,
    results: (mpsc::Sender<ToolResult>, mpsc::Receiver<ToolResult>),
    /// Tool calls that requested a transfer, while it is unknown what became of it.
    transfers: Vec<ToolRun>,
    /// Tool calls whose request to a service is open.
    services: Vec<ToolRun>,
    latencies: Latencies,
    last_response: Option<ResponseStages>,
    decisions: Vec<Decision>,
    inputs: Option<InputLogWriter>,
    usage: UsageMeter,
    notes: Notes,
    end: Option<Ended>,
}

/// The inputs caused by one event; most events cause one or none.
type Inputs = Vec<Input>;

/// Returns a tick if `deadline` was missed by a frame because other events kept the loop busy, such as audio that arrives faster than
/// it is played.
fn overdue(deadline: Option<Instant>) -> Option<Input> {
    deadline.filter(|at| *at + FRAME_DURATION <= Instant::now()).map(|_| Input::Tick)
}

impl Driver {
    pub(super) fn new(
        settings: &Settings,
        pipeline: Pipeline,
        models: Models,
        media: Media,
        notes: Notes,
        usage: UsageMeter,
    ) -> Box<Self> {
        let (agent, format, zero) = (&settings.agent, settings.format, Timestamp::from_micros(0));
        let recorder = settings.recording.clone().map(|recording| Recorder::start(recording, format));
        let (conversation, phrases) = match &models {
            Models::Cascade(_) => (Conversation::cascade(agent, zero), Conversation::phrases(agent)),
            Models::Realtime(_) => (Conversation::realtime(agent, zero), Vec::new()),
        };
        Box::new(Self {
            conversation,
            pipeline,
            models,
            media_session: MediaSession::new(media, format, recorder, settings.audience.open(format)),
            vad: Vad::new(VadSettings::default()),
            speech_pending: false,
            machine: MachineDetector::new(agent),
            segment: 0,
            began: Instant::now(),
            greeted: false,
            synthesis: Synthesis::new(),
            tts_signals: mpsc::channel(64),
            phrases: PhraseWarmup::new(phrases, usage.clone()),
            tasks: JoinSet::new(),
            results: mpsc::channel(64),
            transfers: Vec::new(),
            services: Vec::new(),
            latencies: Latencies::default(),
            last_response: None,
            decisions: Vec::new(),
            inputs: settings.log_inputs.then(InputLogWriter::default),
            usage,
            notes,
            end: None,
        })
    }

    /// Runs the conversation until it ends or something in it panics. Boxed, since a future reserves space for each move of its parts.
    pub(super) async fn talk(mut self: Box<Self>, commands: Commands) -> Report {
        if caught(self.run(commands)).await.is_err() {
            self.end = Some(panicked());
        }
        self.report().await
    }

    /// Returns the conversation's time since it began. In whole milliseconds, since that makes most steps of a log alike, and rounded up, so
    /// that deadlines have passed when they are acted on.
    fn now(&self) -> Timestamp {
        let micros = self.began.elapsed().as_micros().div_ceil(1_000) * 1_000;
        Timestamp::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    async fn run(&mut self, mut commands: Commands) {
        let mut ticks = tokio::time::interval(FRAME_DURATION);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        self.start();
        while self.end.is_none() {
            let deadline = self.conversation.next_deadline().map(|at| self.began + at.since(Timestamp::from_micros(0)));
            let inputs = tokio::select! {
                biased;
                due = ticks.tick() => self.frame_out(due).into_iter().chain(overdue(deadline)).collect(),
                // Before the line: that a transfer has begun comes before the end of the line that it brings about.
                Some(command) = commands.recv() => self.command_inputs(command),
                frame = self.media_session.media.incoming.recv() => self.frame_in(frame),
                event = self.models.next() => self.on_model_event(event),
                Some((utterance, signal)) = self.tts_signals.1.recv() => self.on_tts_signal(utterance, signal),
                Some(ended) = self.results.1.recv() => {
                    let (turn, run, result) = *ended;
                    vec![self.tool_ended(turn, run, result)]
                }
                Some(done) = self.tasks.join_next() => { self.ended(&done); Inputs::new() }
                () = tokio::time::sleep_until(deadline.unwrap_or(self.began)), if deadline.is_some() => vec![Input::Tick],
            };
            for input in inputs {
                self.handle(input);
            }
            self.begin_speaking();
            if self.media_session.is_broken() {
                self.end.get_or_insert(Ended::MediaLost);
            }
        }
    }

    fn start(&mut self) {
        let greeting = match &self.models {
            Models::Cascade(cascade) => cascade.greeting.is_some(),
            Models::Realtime(_) => true,
        };
        if !greeting {
            self.phrases.begin(&self.pipeline, &self.synthesis.slots, &mut self.tasks);
        }
        self.handle(Input::MediaStarted);
        if let Models::Realtime(realtime) = &self.models
            && !realtime.has_session()
        {
            self.handle(RealtimeInput::SessionConnecting.into());
        }
        self.begin_speaking();
    }

    fn on_model_event(&mut self, event: ModelEvent) -> Inputs {
        match event {
            ModelEvent::Cascade(event) => self.on_cascade_event(event),
            ModelEvent::Realtime(event) => self.on_realtime_event(event),
        }
    }

    /// Handles the end of a task. If it panicked, ends the call: the caller may be waiting for its result.
    fn ended(&mut self, done: &Result<(), JoinError>) {
        if done.as_ref().is_err_and(JoinError::is_panic) {
            self.end.get_or_insert_with(panicked);
        }
    }

    fn command_inputs(&mut self, command: Command) -> Inputs {
        vec![match command {
            Command::HangUp => Input::HangUpRequested,
            Command::Say { text, interrupt } => Input::Say { text, interrupt },
            Command::Dtmf(digits) => {
                self.media_session.dialer.press(&digits);
                Input::DtmfSendStarted
            }
            Command::Machine { greeting_ended } => {
                Input::MachineDetected { beep: greeting_ended, by: MachineEvidence::Carrier }
            }
            Command::Human => Input::HumanDetected,
            Command::TransferStarted => Input::TransferStarted,
            Command::TransferFailed => Input::TransferFailed,
            Command::LineReturned(media) => {
                self.media_session.reconnect(*media);
                return Inputs::new();
            }
        }]
    }

    fn handle(&mut self, input: Input) {
        let now = self.now();
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            if let Some(log) = &mut self.inputs {
                log.record(now, &input);
            }
            for effect in self.conversation.handle(now, input) {
                inputs.extend(self.perform(effect));
            }
        }
    }

    /// Performs an effect and returns its immediate result, if any.
    fn perform(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Speak { utterance, text, source, .. } => return self.speak(utterance, text, source),
            Effect::ClearPlayback => {
                self.media_session.clear();
                self.models.playback_cleared();
                self.stop_speaking();
            }
            Effect::PausePlayback => self.media_session.pause(),
            Effect::ResumePlayback => self.media_session.playback.resume(),
            Effect::RunTool { turn, call } => return self.run_tool(turn, call),
            Effect::Transfer { number } => self.request_of_carrier(CarrierRequest::Transfer(number)),
            Effect::NotTransferred { id, error } => self.transfer_failed(&id, &error),
            Effect::Transcript(entry) => self.write_transcript(entry),
            Effect::Turn(times) => self.measured(&times),
            Effect::Decision(decision) => self.note_decision(*decision),
            Effect::Cascade(effect) => self.perform_cascade(effect),
            Effect::Realtime(effect) => return self.perform_realtime(effect),
            Effect::HangUp { reason } => self.end = Some(Ended::By(reason)),
        }
        None
    }

    fn note_decision(&mut self, decision: Decision) {
        if decision.kind == DecisionKind::TurnEnded {
            self.media_session.inform(|| CallInfo::TurnEnded);
        }
        if self.decisions.len() < MAX_DECISIONS {
            self.decisions.push(decision);
        }
    }

    fn write_transcript(&mut self, entry: Entry) {
        let by_agent = entry.speaker == Speaker::Agent;
        let stages = if by_agent { self.last_response.take() } else { None };
        let text = || entry.text.clone().into();
        self.media_session.inform(|| CallInfo::Said { by_agent, text: text(), is_final: true });
        if !by_agent && matches!(self.models, Models::Realtime(_)) {
            // A speech-to-speech model detects the end of a turn itself, and its transcript is the first sign of it.
            self.media_session.inform(|| CallInfo::TurnEnded);
        }
        let line = TranscriptLine {
            by_agent,
            text: entry.text,
            start_ms: entry.start.as_millis(),
            end_ms: entry.end.as_millis(),
            interrupted: entry.interrupted,
            latency_ms: stages.map(|stages| stages.latency_ms()),
            stages,
        };
        // The receiver may be gone; the call continues.
        let _ = self.notes.send(Note::Transcript(Box::new(line)));
    }

    fn measured(&mut self, times: &TurnTimes) {
        let waited = times.first_audio_played.since(times.speech_ended);
        self.latencies.response(waited);
        // Exclude network delay.
        let after_turn = times.first_audio_played.since(times.turn_ended);
        self.latencies.after_turn(after_turn.saturating_sub(self.media_session.in_flight.delay()));
        self.last_response = Some(times.stages(matches!(self.models, Models::Cascade(_))));
        let since_start = |at: Timestamp| at.since(Timestamp::from_micros(0));
        self.media_session.inform(|| {
            CallInfo::Responded(ResponseTiming {
                end_of_speech: since_start(times.speech_ended),
                end_of_turn: since_start(times.turn_ended),
                first_token: since_start(times.first_token),
                first_audio: since_start(times.first_audio_ready),
                heard: since_start(times.first_audio_played),
            })
        });
    }

    fn add(&mut self, usage: Usage) {
        self.usage.add(usage);
    }

    async fn report(mut self: Box<Self>) -> Report {
        // Speech in flight when the call ended belongs in the transcript as far as it was heard.
        let now = self.now();
        let finished = caught_now(|| {
            for effect in self.conversation.finish(now) {
                self.perform(effect);
            }
        });
        if finished.is_err() {
            self.end = Some(panicked());
        }
        self.note_open_tools();
        self.stop_speaking();
        self.phrases.stop();
        let recorded = self.media_session.written().await;
        self.models.end(&self.usage).await;
        Report {
            end: self.end.take().unwrap_or(Ended::MediaLost),
            turns: self.conversation.turns(),
            history: self.conversation.history(),
            latency: self.latencies.summary(),
            responses: self.latencies.histogram(),
            usage: self.usage.usage(),
            decisions: self.decisions,
            inputs: self.inputs,
            ended: now,
            recorded,
        }
    }
}
