//! The model's session: what it says, and another one when it is lost.

use std::sync::Arc;
use std::time::Duration;

use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::Message;
use switchhook_core::conversation::realtime::Input;
use switchhook_media::frame::{CallerAudio, Frame};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::{Driver, Inputs, Model};
use crate::providers::prices::Rates;
use crate::providers::realtime::{RealtimeEvent, RealtimeOptions, RealtimeSession};
use crate::providers::{ProviderError, Usage};
use crate::talk::driver::failure;
use crate::talk::plain::plain;
use crate::talk::tools::Toolbox;

/// What a model may say ahead: a long answer comes at once.
const WAITING: usize = 4_096;
/// How often in a row a lost session is replaced.
const REOPENED: u32 = 2;
/// A session that lasted so long was a good one, and the next in no row.
const GOOD: Duration = Duration::from_secs(60);
/// As much of the caller as is kept for another session, in frames: 10 s.
pub(super) const KEPT: usize = 500;

pub(super) type Events = mpsc::Receiver<RealtimeEvent>;
/// Another session under way.
pub(super) type Reopening = AbortOnDropHandle<Result<Opened, ProviderError>>;

/// Which session is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Choice {
    /// The place of its model in the list.
    model: usize,
    /// Whether it is asked for in PCM where it usually has another format.
    pcm: bool,
}

impl Choice {
    /// The next model.
    fn fallback(self, models: &[Model]) -> Option<Self> {
        let model = self.model + 1;
        (model < models.len()).then_some(Self { model, pcm: false })
    }

    /// In place of a session that understands nothing: there are servers that take G.711 for PCM.
    fn replacement(self, models: &[Model]) -> Option<Self> {
        let pcm = !self.pcm && models[self.model].provider.can_use_pcm();
        if pcm { Some(Self { pcm, ..self }) } else { self.fallback(models) }
    }
}

/// A session, and where its events arrive.
pub(super) struct Opened {
    pub(super) session: Box<dyn RealtimeSession>,
    pub(super) events: Events,
    pub(super) choice: Choice,
}

/// How far the first session is when the conversation begins.
pub(super) enum Ready {
    Opened(Opened),
    Opening(Reopening),
}

/// Opens a session that knows what was said so far: the one that is asked for, or one of the next model that can be reached.
pub(super) fn open(
    models: &[Model],
    mut choice: Choice,
    agent: &AgentConfig,
    tools: Arc<Toolbox>,
    messages: Vec<Message>,
) -> impl Future<Output = Result<Opened, ProviderError>> + Send + use<> {
    let mut options = RealtimeOptions {
        model: None,
        voice: None,
        language: agent.language.clone(),
        messages,
        tools: Vec::new(),
        interruptible: agent.interruption.enabled,
        min_silence_ms: agent.turn_taking.min_silence_ms,
        max_silence_ms: agent.turn_taking.max_silence_ms,
        pcm: false,
    };
    let models = models.to_vec();
    async move {
        options.tools = tools.specs().await;
        loop {
            let Model { provider, model, voice, .. } = &models[choice.model];
            let (told, events) = mpsc::channel(WAITING);
            let options =
                RealtimeOptions { model: model.clone(), voice: voice.clone(), pcm: choice.pcm, ..options.clone() };
            let error = match provider.open(options, told).await {
                Ok(session) => return Ok(Opened { session, events, choice }),
                Err(error) => error,
            };
            let Some(next) = choice.fallback(&models) else { return Err(error) };
            tracing::warn!(
                code = error.code().as_str(),
                "a speech-to-speech model cannot be reached; trying the next one"
            );
            choice = next;
        }
    }
}

/// What came of opening another session. Never, when none is being opened.
pub(super) async fn reopened(reopening: &mut Option<Reopening>) -> Result<Opened, ProviderError> {
    let Some(running) = reopening else { return std::future::pending().await };
    let opened = running.await;
    *reopening = None;
    opened.unwrap_or_else(|_| Err(gone()))
}

fn gone() -> ProviderError {
    ProviderError::Failed { provider: "speech to speech", words: "the session stopped unexpectedly".to_owned() }
}

fn understands_nothing() -> ProviderError {
    let words = "it understood nothing of what the caller said in two turns; if it takes G.711 for PCM, set \
        settings.realtime_format to pcm";
    ProviderError::Failed { provider: "speech to speech", words: words.to_owned() }
}

impl Driver {
    /// Takes the first session, or goes without one as long as it is being opened. Gives where its events arrive.
    pub(super) fn begin(&mut self, ready: Ready) -> Events {
        match ready {
            Ready::Opened(Opened { session, events, choice }) => {
                (self.session, self.choice) = (Some(session), choice);
                self.opened_at = Some(Instant::now());
                events
            }
            Ready::Opening(opening) => {
                self.reopening = Some(opening);
                self.handle(Input::Opening);
                mpsc::channel(1).1
            }
        }
    }

    pub(super) fn told_by_model(&mut self, event: Option<RealtimeEvent>) -> Inputs {
        let input = match event.unwrap_or_else(|| RealtimeEvent::Lost(gone())) {
            RealtimeEvent::SpeechStarted => Input::SpeechStarted,
            RealtimeEvent::SpeechStopped => Input::SpeechStopped,
            RealtimeEvent::TurnTaken { item } => Input::TurnTaken { item },
            RealtimeEvent::CallerSaid { item, text, usage } => {
                self.usage.add(usage);
                let machine = self.machine.words(&text).map(|beep| Input::MachineDetected { beep });
                return std::iter::once(Input::CallerSaid { item, text: plain(text) }).chain(machine).collect();
            }
            RealtimeEvent::ResponseStarted { response, wish } => {
                self.responding = true;
                Input::ResponseStarted { response, wish }
            }
            RealtimeEvent::Busy { wish } => Input::Busy { wish },
            RealtimeEvent::Sound { response, item, samples } => {
                self.sound(response, &item, &samples);
                return Inputs::new();
            }
            RealtimeEvent::Words { response, item, text } => Input::Words { response, item, text: plain(text) },
            RealtimeEvent::SoundDone { item } => Input::SoundDone { item },
            RealtimeEvent::ToolCall { response, call } => {
                let filler = self.pipeline.tools.filler(&call.name);
                Input::ToolCall { response, call, filler }
            }
            RealtimeEvent::ResponseDone { response, failed, usage } => {
                self.responding = false;
                self.usage.add(Rates::price(self.models[self.choice.model].rates.as_ref(), usage));
                if failed.is_some() {
                    // Its words may quote the caller.
                    tracing::warn!("a speech-to-speech model failed to respond");
                }
                Input::ResponseDone { response, failed: failed.map(plain) }
            }
            RealtimeEvent::Lost(error) => return self.lost(error),
        };
        vec![input]
    }

    fn sound(&mut self, response: String, item: &str, samples: &[i16]) {
        let count = u64::try_from(samples.len()).unwrap_or(0);
        self.handle(Input::Sound { response, item: item.to_owned(), samples: count });
        // The engine has announced it, unless nobody wants it.
        if let Some(utterance) = self.items.get(item) {
            self.handset.playback.push(*utterance, samples);
        }
    }

    /// 20 ms of the caller. While nothing that they say may change anything the model hears silence.
    pub(super) fn hear(&mut self, frame: CallerAudio) {
        let frame = if self.engine.listens() { frame } else { CallerAudio(Frame::silence()) };
        if let Some(session) = &mut self.session {
            session.audio(&frame);
        }
        if self.recent.len() >= KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back((self.now(), frame));
    }

    /// What a response used that was not told to its end is not known.
    pub(super) fn guess_usage(&mut self) {
        if std::mem::take(&mut self.responding) {
            self.usage.add(Usage { llm_estimated: true, ..Usage::default() });
        }
    }

    fn lost(&mut self, error: ProviderError) -> Inputs {
        self.session = None;
        self.guess_usage();
        if self.opened_at.is_some_and(|at| at.elapsed() >= GOOD) {
            self.reopened = 0;
        }
        let again = (self.reopened < REOPENED).then_some(self.choice);
        let Some(choice) = again.or_else(|| self.choice.fallback(&self.models)) else {
            return self.lost_for_good(error);
        };
        // Its words may quote the caller.
        let code = error.code().as_str();
        tracing::warn!(code, "a speech-to-speech session was lost in mid-call; opening another one");
        self.reopened = if again.is_some() { self.reopened + 1 } else { 0 };
        // What is to be known of it settles with the loss.
        self.handle(Input::Lost);
        self.reopen(choice);
        Inputs::new()
    }

    fn reopen(&mut self, choice: Choice) {
        let tools = self.pipeline.tools.clone();
        let opening = open(&self.models, choice, &self.settings.agent, tools, self.engine.so_far());
        self.reopening = Some(AbortOnDropHandle::new(tokio::spawn(opening)));
    }

    /// Lets go of a session that understands nothing, and opens another one. Gives the failure when there is none left.
    pub(super) fn replace(&mut self) -> Option<Input> {
        self.session = None;
        self.guess_usage();
        let Some(choice) = self.choice.replacement(&self.models) else {
            return Some(Input::Failed(failure(&understands_nothing())));
        };
        tracing::warn!(
            "a speech-to-speech session understands nothing of the caller; opening another one. If that one does, set \
             realtime_format of the connection to pcm"
        );
        (self.replacing, self.reopened) = (true, 0);
        self.reopen(choice);
        None
    }

    /// What is refused now and worked before is a failure and no wrong setting.
    pub(super) fn lost_for_good(&mut self, error: ProviderError) -> Inputs {
        let error = match (self.replacing, self.opened_at) {
            (true, _) => understands_nothing(),
            (false, Some(_)) => error.of_proven(),
            (false, None) => error,
        };
        vec![Input::Failed(failure(&error))]
    }

    pub(super) fn resume(&mut self, mut session: Box<dyn RealtimeSession>) -> Inputs {
        let since = self.engine.unheard_since();
        for (_, frame) in self.recent.iter().filter(|(at, _)| *at >= since) {
            session.audio(frame);
        }
        self.session = Some(session);
        self.opened_at = Some(Instant::now());
        self.replacing = false;
        vec![Input::Resumed]
    }
}
