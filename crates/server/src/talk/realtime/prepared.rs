//! What is got ready while the phone rings: the session, and in it the greeting.

use futures_util::FutureExt as _;
use switchhook_core::Timestamp;
use switchhook_core::conversation::realtime::Realtime as Engine;

use super::session::{Choice, Opened, Ready, open};
use super::{Driver, Model};
use crate::carrier::Media;
use crate::panics::caught;
use crate::providers::Spent;
use crate::providers::realtime::Order;
use crate::talk::driver::failure;
use crate::talk::opening::Opening;
use crate::talk::pipeline::Pipeline;
use crate::talk::prepared::{News, stillborn};
use crate::talk::{Commands, Notes, Report, Settings, panicked};

/// The name in errors.
const MODEL: &str = "speech to speech";

/// A conversation that is being got ready while the phone rings.
pub struct Prepared {
    settings: Settings,
    pipeline: Pipeline,
    models: Vec<Model>,
    opening: Opening<Opened>,
    /// Whether it was said that it is.
    ready: bool,
    /// What is used from now on.
    usage: Spent,
}

impl Prepared {
    /// Starts getting ready. There is at least one model, the first one preferred.
    #[must_use]
    pub fn new(settings: Settings, pipeline: Pipeline, models: Vec<Model>) -> Self {
        let history = Engine::new(&settings.agent, Timestamp::from_micros(0)).history();
        let opened = open(&models, Choice::default(), &settings.agent, pipeline.tools.clone(), history);
        let greeting = Engine::opening(&settings.agent);
        let opening = Opening::start(async move {
            let mut opened = opened.await?;
            if let Some(direction) = greeting {
                opened.session.order(Order::Respond { wish: 1, direction });
            }
            Ok(opened)
        });
        Self { settings, pipeline, models, opening, ready: false, usage: Spent::default() }
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
            Opening::Done(Err(error)) => return stillborn(&self.settings, failure(&error)),
            Opening::Done(Ok(opened)) => Ready::Opened(opened),
            Opening::UnderWay(opening) => Ready::Opening(opening),
        };
        let mut driver = Driver::new(self.settings, self.pipeline, self.models, media, notes, self.usage);
        if caught(driver.run(ready, commands)).await.is_err() {
            driver.end = Some(panicked());
        }
        driver.report().await
    }
}
