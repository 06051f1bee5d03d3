//! Sessions of speech-to-speech models: opens them, and chooses the model.

use std::sync::Arc;

use switchhook_core::agent::AgentConfig;
use switchhook_core::conversation::Message;
use switchhook_media::format::AudioFormat;
use switchhook_providers::ProviderError;
use switchhook_providers::prices::Rates;
use switchhook_providers::realtime::{Realtime, RealtimeEvent, RealtimeOptions, RealtimeSession};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::tools::Toolbox;

/// The events that may be queued: a long response arrives all at once.
const INPUT_CAPACITY: usize = 4_096;
/// A speech-to-speech model.
#[derive(Clone)]
pub struct Model {
    /// Its provider.
    pub provider: Arc<dyn Realtime>,
    /// The provider's model name.
    pub model: Option<String>,
    /// The provider's voice name.
    pub voice: Option<String>,
    /// Its prices.
    pub rates: Option<Rates>,
}

pub(in crate::talk) type SessionEvents = mpsc::Receiver<RealtimeEvent>;
/// A session that is being opened.
pub(in crate::talk) type Connecting = AbortOnDropHandle<Result<Opened, ProviderError>>;

/// The session to open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::talk) struct Choice {
    /// The position of its model in the list.
    pub(in crate::talk) model: usize,
    /// Whether to request PCM from a model that normally uses another format.
    pcm: bool,
}

impl Choice {
    /// Returns the next model.
    pub(in crate::talk) fn fallback(self, models: &[Model]) -> Option<Self> {
        let model = self.model + 1;
        (model < models.len()).then_some(Self { model, pcm: false })
    }

    /// Returns the replacement of a session that understands nothing: some servers take G.711 for PCM.
    pub(in crate::talk) fn replacement(self, models: &[Model]) -> Option<Self> {
        let pcm = !self.pcm && models[self.model].provider.can_use_pcm();
        if pcm { Some(Self { pcm, ..self }) } else { self.fallback(models) }
    }
}

/// An open session and its events.
pub(in crate::talk) struct Opened {
    pub(in crate::talk) session: Box<dyn RealtimeSession>,
    pub(in crate::talk) events: SessionEvents,
    pub(in crate::talk) choice: Choice,
}

/// The state of the first session when the conversation begins.
pub(in crate::talk) enum Ready {
    Opened(Opened),
    Connecting(Connecting),
}

/// Opens a session with the history so far: the chosen one, or one of the next model that can be reached.
pub(in crate::talk) fn open(
    models: &[Model],
    mut choice: Choice,
    agent: &AgentConfig,
    format: AudioFormat,
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
        format,
    };
    let models = models.to_vec();
    async move {
        options.tools = tools.specs().await;
        loop {
            let Model { provider, model, voice, .. } = &models[choice.model];
            let (sender, events) = mpsc::channel(INPUT_CAPACITY);
            let options =
                RealtimeOptions { model: model.clone(), voice: voice.clone(), pcm: choice.pcm, ..options.clone() };
            let error = match provider.open(options, sender).await {
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
