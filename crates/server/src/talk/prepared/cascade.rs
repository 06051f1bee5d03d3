//! What is got ready while the phone rings.

use switchhook_carriers::Media;
use switchhook_core::conversation::{Conversation, Failure};
use switchhook_providers::{ProviderError, Spent, Usage};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::Preparation;
use crate::talk::connecting::Connecting;
use crate::talk::driver::cascade::{Cascade, SttEvents};
use crate::talk::driver::presynthesis::PreparedSpeech;
use crate::talk::driver::{Driver, Models, failure};
use crate::talk::pipeline::Pipeline;
use crate::talk::stt::SpeechToText;
use crate::talk::{Commands, Notes, Report, Settings};

/// The names in errors.
const VOICE: &str = "text to speech";
const MODEL: &str = "language model";

/// A conversation that is being got ready while the phone rings: the STT is opened, the greeting is spoken into memory,
/// models, voices and servers of tools are connected to. It can begin before all that is done.
pub struct PreparedCascade {
    settings: Settings,
    pipeline: Pipeline,
    stt: SpeechToText,
    stt_events: SttEvents,
    greeting: Option<PreparedSpeech>,
    /// The connection to the voice, where there is no greeting.
    voice: Option<Connecting<()>>,
    /// The connections to the models.
    models: Connecting<()>,
    /// Whether it was said that it is.
    ready: bool,
    getting_ready: JoinSet<()>,
    /// What is used from now on.
    usage: Spent,
}

impl PreparedCascade {
    /// Starts getting ready.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline) -> Self {
        let (events, events_in) = mpsc::channel(64);
        let usage = Spent::default();
        let stt = pipeline.start_stt(events, &usage);
        let greeting = Conversation::greeting(&settings.agent).map(|text| PreparedSpeech::begin(&pipeline, text, None));
        let mut getting_ready = JoinSet::new();
        let tools = pipeline.tools.clone();
        getting_ready.spawn(async move { tools.get_ready().await }.in_current_span());
        let models = {
            let pipeline = pipeline.clone();
            Connecting::start(async move { pipeline.warm_models().await })
        };
        let voice = greeting.is_none().then(|| {
            let pipeline = pipeline.clone();
            Connecting::start(async move { pipeline.warm_voice().await })
        });
        Self {
            settings,
            pipeline,
            stt,
            stt_events: SttEvents::new(events_in),
            greeting,
            voice,
            models,
            ready: false,
            getting_ready,
            usage,
        }
    }

    /// That it is ready, once, or cannot begin. Never, when nothing more is to be known. May be dropped and called again.
    pub async fn progress(&mut self) -> Preparation {
        let Self { stt, stt_events, greeting, voice, models, ready, .. } = self;
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
                return Preparation::Failed(refused);
            }
            if *ready {
                std::future::pending::<()>().await;
            }
            stt.opened().await;
            *ready = true;
            Preparation::Ready
        };
        tokio::select! {
            biased;
            failure = stt_events.failed() => Preparation::Failed(failure),
            progress = getting_ready => progress,
        }
    }

    /// What getting ready has cost, if nobody is ever talked to.
    pub async fn cost(self) -> Usage {
        self.stt.end().await;
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
        let models = Models::Cascade(Box::new(Cascade::new(self.stt, self.stt_events, self.greeting)));
        let mut driver = Driver::new(&self.settings, self.pipeline, models, media, notes, self.usage);
        driver.tasks = self.getting_ready;
        let _connecting = (self.voice, self.models);
        driver.talk(commands).await
    }
}

/// Waits until a connection is made, and gives the reason if it is refused. Whatever else is wrong may be over when the phone is answered.
async fn refused(opening: &mut Connecting<()>, name: &'static str) -> Option<Failure> {
    match opening.wait(name).await {
        Err(error @ ProviderError::Config { .. }) => Some(failure(error)),
        _ => None,
    }
}
