//! What is got ready while the phone rings.

use switchhook_core::call::ErrorCode;
use switchhook_core::conversation::{Conversation, Failure};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::speech::Greeting;
use super::{Driver, failure, lost};
use crate::carrier::Media;
use crate::panics::caught;
use crate::providers::{ProviderError, Spent, SttEvent, Usage};
use crate::talk::hearing::{Hearing, RECOGNISER};
use crate::talk::opening::Opening;
use crate::talk::pipeline::Pipeline;
use crate::talk::prepared::News;
use crate::talk::{Commands, Notes, Report, Settings, panicked};

/// The names in errors.
const VOICE: &str = "text to speech";
const MODEL: &str = "language model";

/// A conversation that is being got ready while the phone rings: the recogniser is opened, the greeting is spoken into memory,
/// models, voices and servers of tools are connected to. It can begin before all that is done.
pub struct Prepared {
    settings: Settings,
    pipeline: Pipeline,
    hearing: Hearing,
    heard: Heard,
    greeting: Option<Greeting>,
    /// The connection to the voice, where there is no greeting.
    voice: Option<Opening<()>>,
    /// The connections to the models.
    models: Opening<()>,
    /// Whether it was said that it is.
    ready: bool,
    getting_ready: JoinSet<()>,
    /// What is used from now on.
    usage: Spent,
}

impl Prepared {
    /// Starts getting ready.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline) -> Self {
        let (events, heard) = mpsc::channel(64);
        let usage = Spent::default();
        let hearing = pipeline.hear(events, &usage);
        let greeting = Conversation::opening(&settings.agent).map(|text| Greeting::begin(&pipeline, text));
        let mut getting_ready = JoinSet::new();
        let tools = pipeline.tools.clone();
        getting_ready.spawn(async move { tools.get_ready().await });
        let models = {
            let pipeline = pipeline.clone();
            Opening::start(async move { pipeline.warm_models().await })
        };
        let voice = greeting.is_none().then(|| {
            let pipeline = pipeline.clone();
            Opening::start(async move { pipeline.warm_voice().await })
        });
        Self {
            settings,
            pipeline,
            hearing,
            heard: Heard::new(heard),
            greeting,
            voice,
            models,
            ready: false,
            getting_ready,
            usage,
        }
    }

    /// That it is ready, once, or cannot begin. Never, when nothing more is to be known. May be dropped and called again.
    pub async fn news(&mut self) -> News {
        let Self { hearing, heard, greeting, voice, models, ready, .. } = self;
        let getting_ready = async {
            let voice = async {
                match (greeting, voice) {
                    (Some(greeting), _) => greeting.refused().await,
                    (None, Some(voice)) => refused(voice, VOICE).await,
                    (None, None) => None,
                }
                .map_or(Ok(()), Err)
            };
            let models = async { refused(models, MODEL).await.map_or(Ok(()), Err) };
            if let Err(refused) = tokio::try_join!(voice, models) {
                return News::Failed(refused);
            }
            if *ready {
                std::future::pending::<()>().await;
            }
            hearing.opened().await;
            *ready = true;
            News::Ready
        };
        tokio::select! {
            biased;
            failure = heard.failed() => News::Failed(failure),
            news = getting_ready => news,
        }
    }

    /// What getting ready has cost, if nobody is ever talked to.
    pub async fn cost(self) -> Usage {
        self.hearing.end().await;
        let heard = self.usage.usage();
        self.greeting.map_or(heard, |greeting| heard + greeting.cost())
    }

    /// What the conversation uses, also while it goes on.
    #[must_use]
    pub fn usage(&self) -> Spent {
        self.usage.clone()
    }

    /// Holds the conversation until it ends. `commands` may close at any time.
    pub async fn talk(self, media: Media, commands: Commands, notes: Notes) -> Report {
        let mut driver =
            Driver::new(self.settings, self.pipeline, self.greeting, self.hearing, media, notes, self.usage);
        driver.tasks = self.getting_ready;
        let _connecting = (self.voice, self.models);
        if caught(driver.run(self.heard, commands)).await.is_err() {
            driver.end = Some(panicked());
        }
        driver.report().await
    }
}

/// Waits until a connection is made, and gives the reason if it is refused. Whatever else is wrong may be over when the phone is answered.
async fn refused(opening: &mut Opening<()>, name: &'static str) -> Option<Failure> {
    match opening.wait(name).await {
        Err(error @ ProviderError::Config { .. }) => Some(failure(error)),
        _ => None,
    }
}

/// What the recogniser says.
pub(super) struct Heard {
    /// What it said first, if that was looked at.
    first: Option<SttEvent>,
    events: mpsc::Receiver<SttEvent>,
    /// Whether nothing more will come.
    over: bool,
}

impl Heard {
    pub(super) fn new(events: mpsc::Receiver<SttEvent>) -> Self {
        Self { first: None, events, over: false }
    }

    /// That nobody will hear the caller. May be dropped and called again.
    async fn failed(&mut self) -> Failure {
        if self.first.is_none() {
            self.first = Some(self.received().await);
        }
        match &self.first {
            Some(SttEvent::Failed { code, words }) => lost(*code, words.clone()),
            _ => std::future::pending().await,
        }
    }

    /// The next event. May be dropped and called again.
    pub(super) async fn next(&mut self) -> SttEvent {
        match self.first.take() {
            Some(first) => first,
            None => self.received().await,
        }
    }

    /// A recogniser that ends without a word, as one that panics does, has failed.
    async fn received(&mut self) -> SttEvent {
        if self.over {
            return std::future::pending().await;
        }
        let stopped =
            || SttEvent::Failed { code: ErrorCode::PipelineError, words: format!("{RECOGNISER} stopped unexpectedly") };
        let event = self.events.recv().await.unwrap_or_else(stopped);
        self.over = matches!(event, SttEvent::Failed { .. });
        event
    }
}
