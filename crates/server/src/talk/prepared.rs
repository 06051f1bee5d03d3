//! A conversation of either kind that is being got ready while the phone rings.

mod cascade;
mod realtime;

use switchhook_carriers::Media;
use switchhook_core::Timestamp;
use switchhook_core::conversation::{Conversation, End, Failure};
use switchhook_core::histogram::Histogram;
use switchhook_providers::{Spent, Usage};

use super::latency::Latencies;
use super::pipeline::Pipeline;
use super::realtime::Model;
use super::{Commands, Ended, Notes, Report, Settings};

/// What is known of a conversation that is being got ready.
pub enum Preparation {
    /// The caller can be heard, and will hear the agent at once.
    Ready,
    /// It cannot begin.
    Failed(Failure),
}

/// A conversation that is being got ready.
pub enum Prepared {
    /// By STT, language model and voice.
    Cascade(Box<cascade::PreparedCascade>),
    /// By one model that hears and speaks.
    Realtime(Box<realtime::PreparedRealtime>),
}

impl Prepared {
    /// Starts getting ready. Speech-to-speech models, the first one preferred, come before STT and language model; the pipeline then
    /// only looks back on the call, and its voice speaks where the model cannot.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline, models: Vec<Model>) -> Self {
        if models.is_empty() {
            Self::Cascade(Box::new(cascade::PreparedCascade::new(settings, pipeline)))
        } else {
            Self::Realtime(Box::new(realtime::PreparedRealtime::new(settings, pipeline, models)))
        }
    }

    /// That it is ready, once, or cannot begin. Never, when nothing more is to be known. May be dropped and called again.
    pub async fn progress(&mut self) -> Preparation {
        match self {
            Self::Cascade(prepared) => prepared.progress().await,
            Self::Realtime(prepared) => prepared.progress().await,
        }
    }

    /// What getting ready has cost, if nobody is ever talked to. What a speech-to-speech model charges for a greeting is not known before it
    /// has been spoken.
    pub async fn cost(self) -> Usage {
        match self {
            Self::Cascade(prepared) => prepared.cost().await,
            Self::Realtime(_) => Usage::default(),
        }
    }

    /// What the conversation uses, also while it goes on.
    #[must_use]
    pub fn usage(&self) -> Spent {
        match self {
            Self::Cascade(prepared) => prepared.usage(),
            Self::Realtime(prepared) => prepared.usage(),
        }
    }

    /// Holds the conversation until it ends, or something in it panics. `commands` may close at any time.
    pub async fn talk(self, media: Media, commands: Commands, notes: Notes) -> Report {
        match self {
            Self::Cascade(prepared) => Box::pin(prepared.talk(media, commands, notes)).await,
            Self::Realtime(prepared) => Box::pin(prepared.talk(media, commands, notes)).await,
        }
    }
}

/// The report of a conversation that could not begin.
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
