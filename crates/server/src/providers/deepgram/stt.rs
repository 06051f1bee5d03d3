//! Deepgram's speech to text: Nova (`/v1/listen`) cuts where we say so, Flux (`/v2/listen`) judges turns itself. The model's name
//! decides between them.

use std::sync::Arc;

use super::{flux, nova};
use crate::providers::connect::Connect;
use crate::providers::streaming::{Defaults, Dialect, Encoding, Protocol, Server, Style, Target, Terms, recogniser};
use crate::providers::{Stt, SttOptions, is_english};

/// The name by which errors speak of us.
pub(super) const PROVIDER: &str = "deepgram";
const URL: &str = "https://api.deepgram.com";
/// When neither the agent nor the connection names a model.
pub(crate) const USUAL_MODEL: &str = "nova-3";
/// 80 ms in a message, as Flux wants it.
const DEFAULTS: Defaults = Defaults {
    encodings: &[Encoding::Mulaw, Encoding::Alaw, Encoding::Linear16],
    chunk: 4,
    patience_ms: 1_500,
    // A Finalize with nothing left to tell may not be answered; one with words is, in 350 ms at the 99th percentile.
    without_words_ms: Some(700),
};

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

    /// Whether our ears say where a segment ends; Flux judges better.
    fn finalizes(&self, options: &SttOptions) -> bool {
        self.server.tuning.finalize.unwrap_or(!is_flux(&self.model(options)))
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
        let finalize = self.finalizes(options);
        if is_flux(&self.model(options)) {
            Box::new(flux::Flux::new(finalize))
        } else {
            Box::new(nova::Nova::new(finalize))
        }
    }

    fn style(&self, options: &SttOptions) -> Style {
        Style::of(PROVIDER, &self.server.tuning, self.finalizes(options))
    }

    fn not_taken(&self, options: &SttOptions) -> Vec<String> {
        let (model, language) = (self.model(options), self.server.tuning.language(options));
        let deaf = model == flux::ENGLISH && !is_english(&language);
        let language = deaf.then(|| format!("understands English only with the model {model}, not {language:?}"));
        language.into_iter().chain(TERMS.left_out(options)).collect()
    }
}
