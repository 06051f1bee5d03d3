//! What is got ready while the phone rings.

use switchhook_core::conversation::{Conversation, Failure};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::speech::Greeting;
use super::{Driver, Ears, failure};
use crate::carrier::Media;
use crate::providers::ProviderError;
use crate::talk::opening::Opening;
use crate::talk::pipeline::{Pipeline, Running};
use crate::talk::prepared::stillborn;
use crate::talk::{Command, Note, Report, Settings};

/// The names in errors.
const RECOGNISER: &str = "speech to text";
const VOICE: &str = "text to speech";

/// A conversation that is being got ready while the phone rings: the recogniser is open, the greeting is spoken into memory,
/// models, voices and servers of tools are connected to.
pub struct Prepared {
    settings: Settings,
    pipeline: Pipeline,
    recogniser: Opening<Ears>,
    greeting: Option<Greeting>,
    /// The connection to the voice, where there is no greeting.
    voice: Option<Opening<()>>,
    getting_ready: Running,
}

impl Prepared {
    /// Starts getting ready.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline) -> Self {
        let recogniser = {
            let pipeline = pipeline.clone();
            Opening::start(async move {
                let (events, heard) = mpsc::channel(64);
                Ok((pipeline.open_stt(events).await?, heard))
            })
        };
        let greeting = Conversation::opening(&settings.agent).map(|text| Greeting::begin(&pipeline, text));
        let getting_ready = {
            let pipeline = pipeline.clone();
            AbortOnDropHandle::new(tokio::spawn(async move { pipeline.get_ready().await }))
        };
        let voice = greeting.is_none().then(|| {
            let pipeline = pipeline.clone();
            Opening::start(async move { pipeline.warm_voice().await })
        });
        Self { settings, pipeline, recogniser, greeting, voice, getting_ready }
    }

    /// Why the conversation cannot begin, as soon as that is known. Never, when it can. May be dropped and called again.
    pub async fn not_ready(&mut self) -> Failure {
        let Self { recogniser, greeting, voice, .. } = self;
        let deaf = async {
            match recogniser.wait(RECOGNISER).await {
                Err(error) => failure(error),
                Ok(_) => std::future::pending().await,
            }
        };
        let dumb = async {
            match (greeting, voice) {
                (Some(greeting), _) => greeting.refused().await,
                (None, Some(voice)) => match voice.wait(VOICE).await {
                    // Whatever else is wrong may be over when the phone is answered.
                    Err(error @ ProviderError::Config { .. }) => failure(error),
                    _ => std::future::pending().await,
                },
                (None, None) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            failure = deaf => failure,
            failure = dumb => failure,
        }
    }

    /// Holds the conversation until it ends. `commands` may close at any time.
    pub async fn talk(mut self, media: Media, commands: mpsc::Receiver<Command>, notes: mpsc::Sender<Note>) -> Report {
        if let Err(error) = self.recogniser.wait(RECOGNISER).await {
            return stillborn(&self.settings, failure(error));
        }
        let Opening::Done(Ok((hearing, heard))) = self.recogniser else { unreachable!("it has just opened") };
        let mut driver = Driver::new(self.settings, self.pipeline, self.greeting, hearing, media, notes);
        driver.tools.push(self.getting_ready);
        let _connecting = self.voice;
        driver.run(heard, commands).await;
        driver.report().await
    }
}
