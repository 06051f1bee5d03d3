//! What is got ready while the phone rings: the session, and in it the greeting.

use switchhook_core::Timestamp;
use switchhook_core::conversation::realtime::Realtime as Engine;
use tokio::sync::mpsc;

use super::session::{Opened, open};
use super::{Driver, Model};
use crate::carrier::Media;
use crate::providers::realtime::Order;
use crate::talk::driver::failure;
use crate::talk::opening::Opening;
use crate::talk::pipeline::Pipeline;
use crate::talk::prepared::{News, stillborn};
use crate::talk::{Command, Note, Report, Settings};

/// The name in errors.
const MODEL: &str = "speech to speech";

/// A conversation that is being got ready while the phone rings.
pub struct Prepared {
    settings: Settings,
    pipeline: Pipeline,
    model: Model,
    opening: Opening<Opened>,
    /// Whether it was said that it is.
    ready: bool,
}

impl Prepared {
    /// Starts getting ready.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline, model: Model) -> Self {
        let history = Engine::new(&settings.agent, Timestamp::from_micros(0)).history();
        let opened = open(&model, &settings.agent, pipeline.tools.clone(), history);
        let greeting = Engine::opening(&settings.agent);
        let opening = Opening::start(async move {
            let mut opened = opened.await?;
            if let Some(direction) = greeting {
                opened.session.order(Order::Respond { wish: 1, direction });
            }
            Ok(opened)
        });
        Self { settings, pipeline, model, opening, ready: false }
    }

    /// That it is ready, once, or cannot begin. Never, when nothing more is to be known. May be dropped and called again.
    pub async fn news(&mut self) -> News {
        match self.opening.wait(MODEL).await {
            Err(error) => News::Failed(failure(error)),
            Ok(_) if self.ready => std::future::pending().await,
            Ok(_) => {
                self.ready = true;
                News::Ready
            }
        }
    }

    /// Holds the conversation until it ends. `commands` may close at any time.
    pub async fn talk(mut self, media: Media, commands: mpsc::Receiver<Command>, notes: mpsc::Sender<Note>) -> Report {
        if let Err(error) = self.opening.wait(MODEL).await {
            return stillborn(&self.settings, failure(error));
        }
        let Opening::Done(Ok(Opened { session, events })) = self.opening else { unreachable!("it has just opened") };
        let mut driver = Driver::new(self.settings, self.pipeline, self.model, session, media, notes);
        driver.run(events, commands).await;
        driver.report().await
    }
}
