//! The one task of a call that a speech-to-speech model holds: the engine in the middle, media on one side, the model's session on
//! the other. As in [`super::driver`], nothing here waits for anything but the next thing to happen.

mod acts;
mod prepared;
mod session;
#[cfg(test)]
mod tests;

pub use self::prepared::Prepared;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use switchhook_core::Timestamp;
use switchhook_core::conversation::Speaker;
use switchhook_core::conversation::realtime::{Input, Realtime as Engine};
use switchhook_media::frame::{CallerAudio, FRAME_DURATION};
use switchhook_media::vad::{Vad, VadEvent, VadSettings};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use self::session::{Choice, KEPT, Opened, Ready, Reopening};
use super::handset::{Arrived, Handset};
use super::latency::Latencies;
use super::machine::MachineDetector;
use super::pipeline::{Pipeline, Request, Signal};
use super::playback::Played;
use super::recorder::Recorder;
use super::{Command, Commands, Ended, Line, Note, Notes, Report, Settings, panicked};
use crate::carrier::{FromCarrier, Media};
use crate::panics::caught_now;
use crate::providers::prices::Rates;
use crate::providers::realtime::{Realtime, RealtimeSession};
use crate::providers::{Spent, TtsAudio};

/// The model that holds a conversation.
#[derive(Clone)]
pub struct Model {
    /// Its provider.
    pub provider: Arc<dyn Realtime>,
    /// The provider's model name.
    pub model: Option<String>,
    /// The provider's voice name.
    pub voice: Option<String>,
    /// What it charges.
    pub rates: Option<Rates>,
}

/// What the other voice gives, each with the number of its utterance.
type Signals = (mpsc::Sender<(u32, Signal<TtsAudio>)>, mpsc::Receiver<(u32, Signal<TtsAudio>)>);
/// The id of a tool's call, and what it answered.
type Results = (mpsc::Sender<(String, Value)>, mpsc::Receiver<(String, Value)>);

/// A sentence of the other voice in the making.
struct Covering {
    request: Request,
    /// When its first sound has to be here, while there is none.
    due: Option<Instant>,
}

struct Driver {
    engine: Engine,
    settings: Settings,
    pipeline: Pipeline,
    /// The first one preferred.
    models: Vec<Model>,
    /// Which session is asked for, or open.
    choice: Choice,
    handset: Handset,
    vad: Vad,
    machine: MachineDetector,
    /// Nothing while there is none.
    session: Option<Box<dyn RealtimeSession>>,
    /// When the last one was opened.
    opened_at: Option<Instant>,
    /// It is responding, and has not said what that used.
    responding: bool,
    reopening: Option<Reopening>,
    /// How many in a row, none of which lasted.
    reopened: u32,
    /// Since the last session understood nothing of the caller.
    replacing: bool,
    /// The last seconds of the caller, and when they came.
    recent: VecDeque<(Timestamp, CallerAudio)>,
    /// The utterances of items.
    items: HashMap<String, u32>,
    covering: HashMap<u32, Covering>,
    covers: Signals,
    /// Tools that run.
    tasks: JoinSet<()>,
    results: Results,
    began: Instant,
    greeted: bool,
    latencies: Latencies,
    last_response: Option<i64>,
    usage: Spent,
    notes: Notes,
    end: Option<Ended>,
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
        models: Vec<Model>,
        media: Media,
        notes: Notes,
        usage: Spent,
    ) -> Self {
        Self {
            engine: Engine::new(&settings.agent, Timestamp::from_micros(0)),
            pipeline,
            models,
            choice: Choice::default(),
            handset: Handset::new(media, settings.recording.clone().map(Recorder::start)),
            vad: Vad::new(VadSettings::default()),
            machine: MachineDetector::new(&settings.agent),
            settings,
            session: None,
            opened_at: None,
            responding: false,
            reopening: None,
            reopened: 0,
            replacing: false,
            recent: VecDeque::with_capacity(KEPT),
            items: HashMap::new(),
            covering: HashMap::new(),
            covers: mpsc::channel(64),
            tasks: JoinSet::new(),
            results: mpsc::channel(64),
            began: Instant::now(),
            greeted: false,
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

    async fn run(&mut self, ready: Ready, mut commands: Commands) {
        let mut ticks = tokio::time::interval(FRAME_DURATION);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        self.handle(Input::MediaStarted);
        let mut events = self.begin(ready);
        while self.end.is_none() {
            let deadline = self.engine.next_deadline().map(|at| self.began + at.since(Timestamp::from_micros(0)));
            let inputs = tokio::select! {
                biased;
                due = ticks.tick() => self.frame_out(due).into_iter().chain(overdue(deadline)).collect(),
                frame = self.handset.media.incoming.recv() => self.frame_in(frame),
                event = events.recv(), if self.session.is_some() => self.told_by_model(event),
                Some((utterance, signal)) = self.covers.1.recv() => self.covered(utterance, signal),
                Some((id, result)) = self.results.1.recv() => vec![Input::ToolResult { id, result }],
                Some(command) = commands.recv() => vec![self.told(command)],
                Some(done) = self.tasks.join_next() => { self.ended(&done); Inputs::new() }
                opened = session::reopened(&mut self.reopening) => match opened {
                    Ok(Opened { session, events: new, choice }) => {
                        events = new;
                        self.choice = choice;
                        self.resume(session)
                    }
                    Err(error) => self.lost_for_good(error),
                },
                () = tokio::time::sleep_until(deadline.unwrap_or(self.began)), if deadline.is_some() => vec![Input::Tick],
            };
            for input in inputs {
                self.handle(input);
            }
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
            for effect in self.engine.handle(now, input) {
                inputs.extend(self.perform(effect));
            }
        }
    }

    fn write_down(&mut self, entry: switchhook_core::conversation::Entry) {
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

    fn frame_out(&mut self, due: Instant) -> Inputs {
        let sent = self.handset.tick(due);
        if sent.speech && !self.greeted {
            self.greeted = true;
            self.latencies.greeting(self.began.elapsed());
        }
        let keys = sent.keys_sent.then_some(Input::KeysSent);
        let late = self.give_up_covers();
        keys.into_iter().chain(sent.heard.into_iter().map(heard)).chain(late).collect()
    }

    fn frame_in(&mut self, message: Option<FromCarrier>) -> Inputs {
        match self.handset.arrived(message) {
            Arrived::Sound(frame) => self.caller(frame),
            Arrived::Key(digit) => vec![Input::Dtmf { digit }],
            Arrived::Nothing => Inputs::new(),
            Arrived::Gone => {
                self.end = Some(Ended::MediaLost);
                Inputs::new()
            }
            Arrived::Broken => {
                self.end = Some(panicked());
                Inputs::new()
            }
        }
    }

    fn caller(&mut self, frame: CallerAudio) -> Inputs {
        self.hear(frame);
        let voice = match self.vad.push(&frame) {
            Some(VadEvent::SpeechStarted) => Some(Input::VoiceStarted),
            Some(VadEvent::SpeechStopped) => {
                // A dead session has not heard it, and would never say so.
                if let Some(session) = &mut self.session {
                    session.probe();
                }
                Some(Input::VoiceStopped)
            }
            None => None,
        };
        let beep = self.machine.frame(&frame.0).then_some(Input::MachineDetected { beep: true });
        voice.into_iter().chain(beep).collect()
    }

    async fn report(mut self) -> Report {
        // What was still in the air when the call ended belongs into the transcript as far as it was heard.
        let now = self.now();
        let finished = caught_now(|| {
            for effect in self.engine.finish(now) {
                self.perform(effect);
            }
        });
        if finished.is_err() {
            self.end = Some(panicked());
        }
        self.stop_covering();
        self.guess_usage();
        let recorded = self.handset.written().await;
        Report {
            end: self.end.take().unwrap_or(Ended::MediaLost),
            turns: self.engine.turns(),
            history: self.engine.history(),
            latency: self.latencies.summary(),
            usage: self.usage.usage(),
            recorded,
        }
    }
}

fn heard(played: Played) -> Input {
    let Played { utterance, samples, finished } = played;
    if finished { Input::PlaybackFinished { utterance } } else { Input::Played { utterance, samples } }
}
