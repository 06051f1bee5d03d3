//! The session of a call with a speech-to-speech model: its events, the commands to it, and its replacement when it is lost.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use switchhook_core::Timestamp;
use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::Input;
use switchhook_core::conversation::realtime::{RealtimeEffect, RealtimeInput};
use switchhook_media::frame::{CallerAudio, Frame};
use switchhook_providers::prices::Rates;
use switchhook_providers::realtime::{RealtimeEvent, RealtimeSession};
use switchhook_providers::{ProviderError, Usage, UsageMeter};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{Driver, Inputs, Models, failure};
use crate::talk::realtime::{Choice, Connecting, Model, Opened, Ready, SessionEvents, open};
use crate::talk::strip_nul::strip_nul;

#[cfg(test)]
mod tests;

/// How many times in a row a lost session is replaced.
const MAX_RECONNECTS: u32 = 2;
/// A session that lasted this long ends the row of lost sessions, as a completed response does.
const STABLE_SESSION: Duration = Duration::from_secs(60);
/// The caller's audio that is replayed to a new session, in frames: 10 s.
const REPLAY_FRAMES: usize = 500;

/// The session, and what is needed to open another one.
pub(in crate::talk) struct Realtime {
    agent: AgentConfig,
    /// In order of preference.
    models: Vec<Model>,
    /// The session that is being opened or is open.
    choice: Choice,
    /// `None` while no session is open.
    session: Option<Box<dyn RealtimeSession>>,
    events: SessionEvents,
    /// When the last session was opened.
    opened_at: Option<Instant>,
    /// Whether the model is responding and has not reported the usage yet.
    responding: bool,
    connecting: Option<Connecting>,
    /// Replaced sessions in a row, none of which lasted or responded.
    reconnects: u32,
    /// Set when the session is replaced because it understood nothing of the caller.
    replacing: bool,
    /// The last seconds of the caller's audio, and when it arrived.
    recent: VecDeque<(Timestamp, CallerAudio)>,
    /// The utterances of items.
    items: HashMap<String, u32>,
}

/// An event of the session, or the result of opening another one.
pub(super) enum Event {
    Session(RealtimeEvent),
    Connected(Result<Opened, ProviderError>),
}

fn gone() -> ProviderError {
    ProviderError::Failed { provider: "speech to speech", message: "the session stopped unexpectedly".to_owned() }
}

fn understands_nothing() -> ProviderError {
    let words = "it understood nothing of what the caller said in two turns; if it takes G.711 for PCM, set \
        settings.realtime_format to pcm";
    ProviderError::Failed { provider: "speech to speech", message: words.to_owned() }
}

impl Realtime {
    /// Takes the first session, or starts without one while it is being opened.
    pub(in crate::talk) fn new(agent: AgentConfig, models: Vec<Model>, ready: Ready) -> Self {
        let mut new = Self {
            agent,
            models,
            choice: Choice::default(),
            session: None,
            events: mpsc::channel(1).1,
            opened_at: None,
            responding: false,
            connecting: None,
            reconnects: 0,
            replacing: false,
            recent: VecDeque::with_capacity(REPLAY_FRAMES),
            items: HashMap::new(),
        };
        match ready {
            Ready::Opened(opened) => new.take(opened),
            Ready::Connecting(connecting) => new.connecting = Some(connecting),
        }
        new
    }

    fn take(&mut self, opened: Opened) {
        (self.session, self.events, self.choice) = (Some(opened.session), opened.events, opened.choice);
        self.opened_at = Some(Instant::now());
        self.replacing = false;
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Returns the next event. Cancel safe.
    pub(super) async fn next(&mut self) -> Event {
        tokio::select! {
            biased;
            event = self.events.recv(), if self.session.is_some() => {
                Event::Session(event.unwrap_or_else(|| RealtimeEvent::Lost(gone())))
            }
            opened = connected(&mut self.connecting) => Event::Connected(opened),
        }
    }

    /// Sends 20 ms of the caller's audio. The model gets silence while the conversation is not listening.
    pub(super) fn caller_audio(&mut self, frame: &CallerAudio, listening: bool, now: Timestamp) {
        let frame = if listening { frame.clone() } else { CallerAudio(Frame::silence(frame.0.format())) };
        if let Some(session) = &mut self.session {
            session.audio(&frame);
        }
        if self.recent.len() >= REPLAY_FRAMES {
            self.recent.pop_front();
        }
        self.recent.push_back((now, frame));
    }

    /// Probes the session: a dead one did not receive the speech, and would never report that.
    pub(super) fn speech_stopped(&mut self) {
        if let Some(session) = &mut self.session {
            session.probe();
        }
    }

    pub(super) fn playback_cleared(&mut self) {
        self.items.clear();
    }

    /// Marks the usage as an estimate if a response is still running: its usage is unknown.
    pub(super) fn estimate_usage(&mut self, usage: &UsageMeter) {
        if std::mem::take(&mut self.responding) {
            usage.add(Usage { llm_estimated: true, ..Usage::default() });
        }
    }
}

/// Waits for a session that is being opened; pends forever if none is.
async fn connected(connecting: &mut Option<Connecting>) -> Result<Opened, ProviderError> {
    let Some(running) = connecting else { return std::future::pending().await };
    let opened = running.await;
    *connecting = None;
    opened.unwrap_or_else(|_| Err(gone()))
}

/// Accesses the session of a call that uses a speech-to-speech model.
macro_rules! realtime {
    ($driver:ident) => {
        match &mut $driver.models {
            Models::Realtime(realtime) => realtime,
            Models::Cascade(_) => return,
        }
    };
    ($driver:ident, $otherwise:expr) => {
        match &mut $driver.models {
            Models::Realtime(realtime) => realtime,
            Models::Cascade(_) => return $otherwise,
        }
    };
}

impl Driver {
    pub(super) fn on_realtime_event(&mut self, event: Event) -> Inputs {
        let input = match event {
            Event::Session(RealtimeEvent::Audio { response, item, samples }) => {
                self.response_audio(response, item, &samples);
                return Inputs::new();
            }
            Event::Session(RealtimeEvent::TurnTranscribed { item, text, usage }) => {
                self.add(usage);
                let machine = self.machine.words(&text, true);
                let said = RealtimeInput::TurnTranscribed { item, text: strip_nul(text) };
                return std::iter::once(said.into()).chain(machine).collect();
            }
            Event::Session(RealtimeEvent::Lost(error)) => return self.session_lost(error),
            Event::Session(event) => self.session_input(event),
            Event::Connected(Ok(opened)) => self.session_ready(opened),
            Event::Connected(Err(error)) => self.session_failed(error),
        };
        input.map(Input::from).into_iter().collect()
    }

    fn session_input(&mut self, event: RealtimeEvent) -> Option<RealtimeInput> {
        let realtime = realtime!(self, None);
        Some(match event {
            RealtimeEvent::SpeechStarted => RealtimeInput::SpeechStarted,
            RealtimeEvent::SpeechStopped => RealtimeInput::SpeechStopped,
            RealtimeEvent::TurnCommitted { item } => RealtimeInput::TurnCommitted { item },
            RealtimeEvent::ResponseStarted { response, request } => {
                realtime.responding = true;
                RealtimeInput::ResponseStarted { response, request }
            }
            RealtimeEvent::Busy { request } => RealtimeInput::Busy { request },
            RealtimeEvent::Text { response, item, text } => {
                RealtimeInput::Text { response, item, text: strip_nul(text) }
            }
            RealtimeEvent::AudioDone { item } => RealtimeInput::AudioDone { item },
            RealtimeEvent::ToolCall { response, call } => {
                let filler = self.pipeline.tools.filler(&call.name);
                RealtimeInput::ToolCall { response, call, filler }
            }
            RealtimeEvent::ResponseRefused { response, left_out, usage } => {
                tracing::warn!("a content filter withheld the response of a speech-to-speech model");
                self.response_over(usage);
                RealtimeInput::ResponseRefused { response, left_out }
            }
            RealtimeEvent::ResponseDone { response, failed, retry_after, usage } => {
                if failed.is_some() {
                    // The error message may quote the caller.
                    tracing::warn!("a speech-to-speech model failed to respond");
                } else {
                    realtime.reconnects = 0;
                }
                self.response_over(usage);
                let retry_after_ms = retry_after.and_then(|pause| u64::try_from(pause.as_millis()).ok());
                RealtimeInput::ResponseDone { response, failed: failed.map(strip_nul), retry_after_ms }
            }
            RealtimeEvent::Audio { .. } | RealtimeEvent::TurnTranscribed { .. } | RealtimeEvent::Lost(_) => {
                return None;
            }
        })
    }

    /// Counts the usage of a response that is over.
    fn response_over(&mut self, usage: Usage) {
        let realtime = realtime!(self);
        realtime.responding = false;
        let cost = Rates::price(realtime.models[realtime.choice.model].rates.as_ref(), usage);
        self.add(cost);
    }

    fn response_audio(&mut self, response: String, item: String, samples: &[i16]) {
        let audio = self.media_session.playback.length(samples.len() as u64);
        self.handle(RealtimeInput::Audio { response, item: item.clone(), audio }.into());
        // The conversation has queued it, unless it does not want it.
        if let Some(utterance) = realtime!(self).items.get(&item) {
            self.media_session.playback.push(*utterance, samples);
        }
    }

    pub(super) fn perform_realtime(&mut self, effect: RealtimeEffect) -> Option<Input> {
        let realtime = realtime!(self, None);
        match effect {
            RealtimeEffect::Send(command) => {
                // Without a session the command is dropped; the conversation repeats it for the next session.
                if let Some(session) = &mut realtime.session {
                    session.send(command);
                }
            }
            RealtimeEffect::ReplaceSession => return self.replace_session().map(Input::from),
            RealtimeEffect::QueueItem { utterance, item } => {
                realtime.items.insert(item, utterance);
                self.media_session.playback.queue_last(utterance);
            }
            RealtimeEffect::ItemComplete { utterance } => drop(self.media_session.playback.complete(utterance)),
        }
        None
    }

    fn session_lost(&mut self, error: ProviderError) -> Inputs {
        let realtime = realtime!(self, Inputs::new());
        realtime.session = None;
        realtime.estimate_usage(&self.usage);
        if realtime.opened_at.is_some_and(|at| at.elapsed() >= STABLE_SESSION) {
            realtime.reconnects = 0;
        }
        let again = (realtime.reconnects < MAX_RECONNECTS).then_some(realtime.choice);
        let Some(choice) = again.or_else(|| realtime.choice.fallback(&realtime.models)) else {
            return self.session_failed(error).map(Input::from).into_iter().collect();
        };
        // The error message may quote the caller.
        let code = error.code().as_str();
        tracing::warn!(code, "a speech-to-speech session was lost in mid-call; opening another one");
        realtime.reconnects = if again.is_some() { realtime.reconnects + 1 } else { 0 };
        // The loss settles everything that was outstanding in the session.
        self.handle(RealtimeInput::SessionLost.into());
        self.connect(choice);
        Inputs::new()
    }

    fn connect(&mut self, choice: Choice) {
        let realtime = realtime!(self);
        let (tools, history) = (self.pipeline.tools.clone(), self.conversation.history_with_queued());
        let format = self.media_session.playback.format();
        let opening = open(&realtime.models, choice, &realtime.agent, format, tools, history);
        realtime.connecting = Some(AbortOnDropHandle::new(tokio::spawn(opening.in_current_span())));
    }

    /// Drops a session that understands nothing and opens another one. Returns the failure if no model is left.
    fn replace_session(&mut self) -> Option<RealtimeInput> {
        let realtime = realtime!(self, None);
        realtime.session = None;
        realtime.estimate_usage(&self.usage);
        let Some(choice) = realtime.choice.replacement(&realtime.models) else {
            return Some(RealtimeInput::SessionFailed(failure(&understands_nothing())));
        };
        tracing::warn!(
            "a speech-to-speech session understands nothing of the caller; opening another one. If that one does, set \
             realtime_format of the connection to pcm"
        );
        (realtime.replacing, realtime.reconnects) = (true, 0);
        self.connect(choice);
        None
    }

    /// Reports a session that could not be opened. A refusal after an earlier success is a failure, not a wrong setting.
    fn session_failed(&mut self, error: ProviderError) -> Option<RealtimeInput> {
        let realtime = realtime!(self, None);
        let error = match (realtime.replacing, realtime.opened_at) {
            (true, _) => understands_nothing(),
            (false, Some(_)) => error.of_proven(),
            (false, None) => error,
        };
        Some(RealtimeInput::SessionFailed(failure(&error)))
    }

    fn session_ready(&mut self, mut opened: Opened) -> Option<RealtimeInput> {
        let since = self.conversation.unheard_since();
        let realtime = realtime!(self, None);
        for (_, frame) in realtime.recent.iter().filter(|(at, _)| *at >= since) {
            opened.session.audio(frame);
        }
        realtime.take(opened);
        Some(RealtimeInput::SessionReady)
    }
}
