//! What is got ready while the phone rings: the session, and in it the greeting.

use futures_util::FutureExt as _;
use switchhook_carriers::Media;
use switchhook_core::Timestamp;
use switchhook_core::conversation::{Conversation, realtime};
use switchhook_providers::Spent;
use switchhook_providers::realtime::RealtimeCommand;

use super::{Preparation, failed_report};
use crate::talk::connecting::Connecting;
use crate::talk::driver::realtime::Realtime;
use crate::talk::driver::{Driver, Models, failure};
use crate::talk::pipeline::Pipeline;
use crate::talk::realtime::{Choice, Model, Opened, Ready, open};
use crate::talk::{Commands, Notes, Report, Settings};

/// The name in errors.
const MODEL: &str = "speech to speech";

/// A conversation that is being got ready while the phone rings.
pub struct PreparedRealtime {
    settings: Settings,
    pipeline: Pipeline,
    models: Vec<Model>,
    opening: Connecting<Opened>,
    /// Whether it was said that it is.
    ready: bool,
    /// What is used from now on.
    usage: Spent,
}

impl PreparedRealtime {
    /// Starts getting ready. There is at least one model, the first one preferred.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline, models: Vec<Model>) -> Self {
        let history = Conversation::realtime(&settings.agent, Timestamp::from_micros(0)).history();
        let opened =
            open(&models, Choice::default(), &settings.agent, settings.format, pipeline.tools.clone(), history);
        let greeting = realtime::greeting(&settings.agent);
        let opening = Connecting::start(async move {
            let mut opened = opened.await?;
            if let Some(instructions) = greeting {
                opened.session.send(RealtimeCommand::Respond { request: 1, instructions });
            }
            Ok(opened)
        });
        Self { settings, pipeline, models, opening, ready: false, usage: Spent::default() }
    }

    /// That it is ready, once, or cannot begin. Never, when nothing more is to be known. May be dropped and called again.
    pub async fn progress(&mut self) -> Preparation {
        match self.opening.wait(MODEL).await {
            Err(error) => Preparation::Failed(failure(error)),
            Ok(_) if self.ready => std::future::pending().await,
            Ok(_) => {
                self.ready = true;
                Preparation::Ready
            }
        }
    }

    /// What the conversation uses, also while it goes on.
    #[must_use]
    pub fn usage(&self) -> Spent {
        self.usage.clone()
    }

    /// Holds the conversation until it ends. `commands` may close at any time. A caller who is on the line before there is a
    /// session is talked to all the same.
    pub async fn talk(mut self, media: Media, commands: Commands, notes: Notes) -> Report {
        // It may be done without anybody having looked.
        let _ = self.opening.wait(MODEL).now_or_never();
        let ready = match self.opening {
            Connecting::Done(Err(error)) => return failed_report(&self.settings, failure(&error)),
            Connecting::Done(Ok(opened)) => Ready::Opened(opened),
            Connecting::InProgress(opening) => Ready::Connecting(opening),
        };
        let realtime = Realtime::new(self.settings.agent.clone(), self.models, ready);
        let models = Models::Realtime(Box::new(realtime));
        Driver::new(&self.settings, self.pipeline, models, media, notes, self.usage).talk(commands).await
    }
}
