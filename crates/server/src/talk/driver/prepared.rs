//! What is got ready while the phone rings.

use switchhook_core::Timestamp;
use switchhook_core::conversation::{Conversation, End, Failure};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::{Driver, Greeting, Recogniser, failure};
use crate::carrier::Media;
use crate::providers::{ProviderError, Usage};
use crate::talk::latency::Latencies;
use crate::talk::pipeline::Pipeline;
use crate::talk::{Command, Ended, Note, Report, Settings};

/// How far the recogniser is.
enum Opening {
    UnderWay(AbortOnDropHandle<Result<Recogniser, ProviderError>>),
    Done(Result<Recogniser, ProviderError>),
}

impl Opening {
    /// Waits until it is done. May be dropped and called again.
    async fn wait(&mut self) -> &mut Result<Recogniser, ProviderError> {
        if let Self::UnderWay(opening) = self {
            let stopped =
                || ProviderError::Failed { provider: "speech to text", words: "it stopped unexpectedly".to_owned() };
            let opened = opening.await.unwrap_or_else(|_| Err(stopped()));
            *self = Self::Done(opened);
        }
        match self {
            Self::Done(opened) => opened,
            Self::UnderWay(_) => unreachable!("it was waited for above"),
        }
    }
}

/// A conversation that is being got ready while the phone rings: the recogniser is open, the greeting is spoken into memory.
pub struct Prepared {
    settings: Settings,
    pipeline: Pipeline,
    recogniser: Opening,
    greeting: Option<Greeting>,
}

impl Prepared {
    /// Starts getting ready.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline) -> Self {
        let recogniser = {
            let pipeline = pipeline.clone();
            Opening::UnderWay(AbortOnDropHandle::new(tokio::spawn(async move {
                let (events, heard) = mpsc::channel(64);
                let (session, rates) = pipeline.open_stt(events).await?;
                Ok((session, rates, heard))
            })))
        };
        let greeting = Conversation::opening(&settings.agent).map(|text| {
            let rendering = pipeline.render(text.clone());
            (text, rendering)
        });
        Self { settings, pipeline, recogniser, greeting }
    }

    /// Why the conversation cannot begin, as soon as that is known. Never, when it can. May be dropped and called again.
    pub async fn not_ready(&mut self) -> Failure {
        match self.recogniser.wait().await {
            Err(error) => failure(error),
            Ok(_) => std::future::pending().await,
        }
    }

    /// Holds the conversation until it ends. `commands` may close at any time.
    pub async fn talk(mut self, media: Media, commands: mpsc::Receiver<Command>, notes: mpsc::Sender<Note>) -> Report {
        if let Err(error) = self.recogniser.wait().await {
            return stillborn(&self.settings, error);
        }
        let Opening::Done(Ok((session, rates, heard))) = self.recogniser else { unreachable!("it has just opened") };
        let mut driver = Driver::new(self.settings, self.pipeline, self.greeting, session, media, notes);
        driver.heard_at = rates;
        driver.run(heard, commands).await;
        driver.report().await
    }
}

/// The report of a conversation that could not begin.
fn stillborn(settings: &Settings, error: &ProviderError) -> Report {
    let conversation = Conversation::new(&settings.agent, Timestamp::from_micros(0));
    Report {
        end: Ended::By(End::Failed(failure(error))),
        turns: 0,
        history: conversation.history(),
        latency: Latencies::default().summary(),
        usage: Usage::default(),
        recorded: false,
    }
}
