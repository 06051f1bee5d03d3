//! Deepgram's speech to text: Nova (`/v1/listen`) cuts where we say so, Flux (`/v2/listen`) judges turns itself. The model's name
//! decides between them.

use std::sync::Arc;
use std::time::Duration;

use super::{flux, nova};
use crate::providers::connect::Connect;
use crate::providers::streaming::{Defaults, Dialect, Encoding, Protocol, Server, Style, Target, Terms, recogniser};
use crate::providers::{Stt, SttOptions};

/// The name by which errors speak of us.
pub(super) const PROVIDER: &str = "deepgram";
const URL: &str = "https://api.deepgram.com";
/// When neither the agent nor the connection names a model.
pub(crate) const USUAL_MODEL: &str = "nova-3";
/// 80 ms in a message, as Flux wants it.
const DEFAULTS: Defaults =
    Defaults { encodings: &[Encoding::Mulaw, Encoding::Alaw, Encoding::Linear16], chunk: 4, patience_ms: 1_500 };
/// A Finalize with nothing left to tell may not be answered; one with words is, in 350 ms at the 99th percentile.
const WITHOUT_WORDS: Duration = Duration::from_millis(700);

/// 500 tokens in all.
pub(super) const TERMS: Terms = Terms { most: 100, longest: 200, together: 1_500 };

/// The recogniser of a connection.
///
/// # Errors
/// A sentence that names the setting that is of no use.
pub fn connect(connect: &Connect<'_>) -> Result<Arc<dyn Stt>, String> {
    Ok(recogniser(connect, Deepgram { server: Server::read(connect, URL, &DEFAULTS)? }))
}

struct Deepgram {
    server: Server,
}

impl Deepgram {
    fn model(&self, options: &SttOptions) -> String {
        self.server.tuning.model(options, USUAL_MODEL)
    }
}

fn is_flux(model: &str) -> bool {
    model.starts_with("flux")
}

impl Dialect for Deepgram {
    fn target(&self, options: &SttOptions) -> Result<Target, String> {
        let model = self.model(options);
        let (path, query) = if is_flux(&model) {
            (flux::PATH, flux::query(&model, options, &self.server.tuning))
        } else {
            (nova::PATH, nova::query(&model, options, &self.server.tuning))
        };
        self.server.target(path, query, "authorization", "Token ")
    }

    fn protocol(&self, options: &SttOptions) -> Box<dyn Protocol> {
        if is_flux(&self.model(options)) {
            Box::new(flux::Flux::new(self.server.tuning.finalize.unwrap_or(false)))
        } else {
            Box::new(nova::Nova::new(self.server.tuning.finalize.unwrap_or(true)))
        }
    }

    fn style(&self) -> Style {
        let tuning = &self.server.tuning;
        Style { patience_without_words: WITHOUT_WORDS.min(tuning.patience), ..Style::of(PROVIDER, tuning) }
    }
}
