//! A conversation of either kind that is prepared while the phone rings.

mod cascade;
mod realtime;

use switchhook_carriers::Media;
use switchhook_core::Timestamp;
use switchhook_core::conversation::{Conversation, End, Failure};
use switchhook_core::histogram::Histogram;
use switchhook_providers::{Usage, UsageMeter};

use super::latency::Latencies;
use super::pipeline::Pipeline;
use super::realtime::Model;
use super::{Commands, Ended, Notes, Report, Settings};

/// The state of a preparation.
pub enum Preparation {
    /// The agent hears the caller, and will speak at once.
    Ready,
    /// It cannot begin.
    Failed(Failure),
}

/// A conversation that is being prepared.
pub enum Prepared {
    /// With an STT, an LLM and a TTS.
    Cascade(Box<cascade::PreparedCascade>),
    /// With one speech-to-speech model.
    Realtime(Box<realtime::PreparedRealtime>),
}

impl Prepared {
    /// Starts to prepare a conversation. If there are speech-to-speech `models`, in order of preference, they take the place of STT and LLM;
    /// the pipeline then only runs the post-call analysis, and its TTS speaks where the model cannot.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline, models: Vec<Model>) -> Self {
        if models.is_empty() {
            Self::Cascade(Box::new(cascade::PreparedCascade::new(settings, pipeline)))
        } else {
            Self::Realtime(Box::new(realtime::PreparedRealtime::new(settings, pipeline, models)))
        }
    }

    /// Waits until the conversation is ready, which is reported once, or cannot begin. Pends forever afterwards. Cancel safe.
    pub async fn progress(&mut self) -> Preparation {
        match self {
            Self::Cascade(prepared) => prepared.progress().await,
            Self::Realtime(prepared) => prepared.progress().await,
        }
    }

    /// Returns the cost of the preparation if the conversation never begins. The cost of a speech-to-speech model's greeting is unknown until
    /// it has been spoken.
    pub async fn cost(self) -> Usage {
        match self {
            Self::Cascade(prepared) => prepared.cost().await,
            Self::Realtime(_) => Usage::default(),
        }
    }

    /// Returns the usage of the conversation, which is updated while it runs.
    #[must_use]
    pub fn usage(&self) -> UsageMeter {
        match self {
            Self::Cascade(prepared) => prepared.usage(),
            Self::Realtime(prepared) => prepared.usage(),
        }
    }

    /// Runs the conversation until it ends or something in it panics. `commands` may close at any time.
    pub async fn talk(self, media: Media, commands: Commands, notes: Notes) -> Report {
        match self {
            Self::Cascade(prepared) => Box::pin(prepared.talk(media, commands, notes)).await,
            Self::Realtime(prepared) => Box::pin(prepared.talk(media, commands, notes)).await,
        }
    }
}

/// Returns the report of a conversation that could not begin.
pub(super) fn failed_report(settings: &Settings, failure: Failure) -> Report {
    let conversation = Conversation::cascade(&settings.agent, Timestamp::from_micros(0));
    Report {
        end: Ended::By(End::Failed(failure)),
        turns: 0,
        history: conversation.history(),
        latency: Latencies::default().summary(),
        responses: Histogram::default(),
        usage: Usage::default(),
        decisions: Vec::new(),
        inputs: None,
        ended: Timestamp::from_micros(0),
        recorded: false,
    }
}
