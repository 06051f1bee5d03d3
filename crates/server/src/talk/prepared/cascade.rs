//! A conversation with STT, LLM and TTS that is prepared while the phone rings.

use switchhook_carriers::Media;
use switchhook_core::conversation::{Conversation, Failure};
use switchhook_providers::{ProviderError, Usage, UsageMeter};
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

/// The names of the stages in errors.
const VOICE: &str = "text to speech";
const MODEL: &str = "language model";

/// A conversation that is being prepared while the phone rings: the STT is opened, the greeting is synthesized, and models, TTS voices
/// and MCP servers are connected. It can begin before all that is done.
pub struct PreparedCascade {
    settings: Settings,
    pipeline: Pipeline,
    stt: SpeechToText,
    stt_events: SttEvents,
    greeting: Option<PreparedSpeech>,
    /// The connection to the TTS if there is no greeting.
    voice: Option<Connecting<()>>,
    /// The connections to the models.
    models: Connecting<()>,
    /// Whether it was reported as ready.
    ready: bool,
    getting_ready: JoinSet<()>,
    /// The usage so far.
    usage: UsageMeter,
}

impl PreparedCascade {
    /// Starts to prepare a conversation.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline) -> Self {
        let (events, events_in) = mpsc::channel(64);
        let usage = UsageMeter::default();
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

    /// Waits until the conversation is ready, which is reported once, or cannot begin. Pends forever afterwards. Cancel safe.
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

    /// Returns the cost of the preparation if the conversation never begins.
    pub async fn cost(self) -> Usage {
        self.stt.end().await;
        let heard = self.usage.usage();
        self.greeting.map_or(heard, |greeting| heard + greeting.cost())
    }

    /// Returns the usage of the conversation, which is updated while it runs.
    #[must_use]
    pub fn usage(&self) -> UsageMeter {
        self.usage.clone()
    }

    /// Runs the conversation until it ends. `commands` may close at any time.
    pub async fn talk(self, media: Media, commands: Commands, notes: Notes) -> Report {
        let models = Models::Cascade(Box::new(Cascade::new(self.stt, self.stt_events, self.greeting)));
        let mut driver = Driver::new(&self.settings, self.pipeline, models, media, notes, self.usage);
        driver.tasks = self.getting_ready;
        let _connecting = (self.voice, self.models);
        driver.talk(commands).await
    }
}

/// Waits for a connection and returns the failure if it is permanent; any other may be over when the phone is answered.
async fn refused(opening: &mut Connecting<()>, name: &'static str) -> Option<Failure> {
    match opening.wait(name).await {
        Err(error @ ProviderError::Config { .. }) => Some(failure(error)),
        _ => None,
    }
}
