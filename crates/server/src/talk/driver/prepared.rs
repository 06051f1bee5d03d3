//! What is got ready while the phone rings.

use switchhook_core::conversation::{Conversation, Failure};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::speech::Greeting;
use super::{Driver, failure, lost};
use crate::carrier::Media;
use crate::providers::{ProviderError, SttEvent};
use crate::talk::hearing::Hearing;
use crate::talk::opening::Opening;
use crate::talk::pipeline::{Pipeline, Running};
use crate::talk::prepared::News;
use crate::talk::{Command, Note, Report, Settings};

/// The name in errors.
const VOICE: &str = "text to speech";

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
    /// Whether it was said that it is.
    ready: bool,
    getting_ready: Running,
}

impl Prepared {
    /// Starts getting ready.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline) -> Self {
        let (events, heard) = mpsc::channel(64);
        let hearing = pipeline.hear(events);
        let greeting = Conversation::opening(&settings.agent).map(|text| Greeting::begin(&pipeline, text));
        let getting_ready = {
            let pipeline = pipeline.clone();
            AbortOnDropHandle::new(tokio::spawn(async move { pipeline.get_ready().await }))
        };
        let voice = greeting.is_none().then(|| {
            let pipeline = pipeline.clone();
            Opening::start(async move { pipeline.warm_voice().await })
        });
        Self {
            settings,
            pipeline,
            hearing,
            heard: Heard { first: None, events: heard },
            greeting,
            voice,
            ready: false,
            getting_ready,
        }
    }

    /// That it is ready, once, or cannot begin. Never, when nothing more is to be known. May be dropped and called again.
    pub async fn news(&mut self) -> News {
        let Self { hearing, heard, greeting, voice, ready, .. } = self;
        let getting_ready = async {
            if let Some(greeting) = greeting
                && let Some(refused) = greeting.refused().await
            {
                return News::Failed(refused);
            }
            // Whatever else is wrong may be over when the phone is answered.
            if let Some(voice) = voice
                && let Err(error @ ProviderError::Config { .. }) = voice.wait(VOICE).await
            {
                return News::Failed(failure(error));
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

    /// Holds the conversation until it ends. `commands` may close at any time.
    pub async fn talk(self, media: Media, commands: mpsc::Receiver<Command>, notes: mpsc::Sender<Note>) -> Report {
        let mut driver = Driver::new(self.settings, self.pipeline, self.greeting, self.hearing, media, notes);
        driver.tools.push(self.getting_ready);
        let _connecting = self.voice;
        driver.run(self.heard, commands).await;
        driver.report().await
    }
}

/// What the recogniser says.
pub(super) struct Heard {
    /// What it said first, if that was looked at.
    first: Option<SttEvent>,
    events: mpsc::Receiver<SttEvent>,
}

impl Heard {
    /// That nobody will hear the caller. May be dropped and called again.
    async fn failed(&mut self) -> Failure {
        if self.first.is_none() {
            self.first = self.events.recv().await;
        }
        match &self.first {
            Some(SttEvent::Failed { code, words }) => lost(*code, words.clone()),
            _ => std::future::pending().await,
        }
    }

    /// The next event. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Option<SttEvent> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.events.recv().await,
        }
    }
}
