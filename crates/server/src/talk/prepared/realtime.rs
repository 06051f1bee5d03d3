//! A conversation with a speech-to-speech model that is prepared while the phone rings: the session, and in it the greeting.

use futures_util::FutureExt as _;
use switchhook_carriers::Media;
use switchhook_core::Timestamp;
use switchhook_core::conversation::{Conversation, realtime};
use switchhook_providers::UsageMeter;
use switchhook_providers::realtime::RealtimeCommand;

use super::{Preparation, failed_report};
use crate::talk::connecting::Connecting;
use crate::talk::driver::realtime::Realtime;
use crate::talk::driver::{Driver, Models, failure};
use crate::talk::pipeline::Pipeline;
use crate::talk::realtime::{Choice, Model, Opened, Ready, open};
use crate::talk::{Commands, Notes, Report, Settings};

/// The name of the stage in errors.
const MODEL: &str = "speech to speech";

/// A conversation that is being prepared while the phone rings.
pub struct PreparedRealtime {
    settings: Settings,
    pipeline: Pipeline,
    models: Vec<Model>,
    opening: Connecting<Opened>,
    /// Whether it was reported as ready.
    ready: bool,
    /// The usage so far.
    usage: UsageMeter,
}

impl PreparedRealtime {
    /// Starts to prepare a conversation. There is at least one model; they are in order of preference.
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
        Self { settings, pipeline, models, opening, ready: false, usage: UsageMeter::default() }
    }

    /// Waits until the conversation is ready, which is reported once, or cannot begin. Pends forever afterwards. Cancel safe.
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

    /// Returns the usage of the conversation, which is updated while it runs.
    #[must_use]
    pub fn usage(&self) -> UsageMeter {
        self.usage.clone()
    }

    /// Runs the conversation until it ends, even if the session is not open yet. `commands` may close at any time.
    pub async fn talk(mut self, media: Media, commands: Commands, notes: Notes) -> Report {
        // The session may have opened since the last poll.
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
