//! Deepgram's speech to text: Nova (`/v1/listen`) finalizes on request, Flux (`/v2/listen`) has its own endpointing. The model name
//! selects one of them.

use std::sync::Arc;

use super::{KEYTERM_LIMITS, PROVIDER, flux, nova};
use crate::adapter_config::AdapterConfig;
use crate::stt::{Encoding, SttAdapter, SttDefaults, SttProtocol, SttServer, SttStreamConfig, streaming_stt};
use crate::websocket::Handshake;
use crate::{Stt, SttOptions, is_english};

const URL: &str = "https://api.deepgram.com";
/// The model when neither the agent nor the connection names one.
pub(crate) const DEFAULT_MODEL: &str = "nova-3";
/// Messages hold 80 ms, as Flux recommends.
const DEFAULTS: SttDefaults = SttDefaults {
    encodings: &[Encoding::Mulaw, Encoding::Alaw, Encoding::Linear16],
    chunk: 4,
    finalize_timeout_ms: 1_500,
    // A Finalize without pending words may stay unconfirmed; one with words is confirmed within 350 ms at the 99th percentile.
    finalize_timeout_without_words_ms: Some(700),
};

/// Creates speech to text for a connection.
///
/// # Errors
/// A sentence that names the invalid setting.
pub fn connect(config: &AdapterConfig<'_>) -> Result<Arc<dyn Stt>, String> {
    Ok(streaming_stt(config, Deepgram { server: SttServer::read(config, URL, &DEFAULTS)? }))
}

struct Deepgram {
    server: SttServer,
}

impl Deepgram {
    fn model(&self, options: &SttOptions) -> String {
        self.server.settings.model(options, DEFAULT_MODEL)
    }

    /// Returns whether our VAD ends segments; the endpointing of Flux is better.
    fn finalizes(&self, options: &SttOptions) -> bool {
        self.server.settings.finalize.unwrap_or(!is_flux(&self.model(options)))
    }
}

fn is_flux(model: &str) -> bool {
    model.starts_with("flux")
}

impl SttAdapter for Deepgram {
    fn handshake(&self, options: &SttOptions) -> Result<Handshake, String> {
        let model = self.model(options);
        let (path, query) = if is_flux(&model) {
            (flux::PATH, flux::query(&model, options, &self.server.settings))
        } else {
            (nova::PATH, nova::query(&model, options, &self.server.settings))
        };
        self.server.handshake(path, query, "authorization", "Token ")
    }

    fn protocol(&self, options: &SttOptions) -> Box<dyn SttProtocol> {
        let finalize = self.finalizes(options);
        if is_flux(&self.model(options)) {
            Box::new(flux::Flux::new(finalize))
        } else {
            Box::new(nova::Nova::new(finalize))
        }
    }

    fn stream_config(&self, options: &SttOptions) -> SttStreamConfig {
        SttStreamConfig::of(PROVIDER, &self.server.settings, self.finalizes(options))
    }

    fn unsupported_options(&self, options: &SttOptions) -> Vec<String> {
        let (model, language) = (self.model(options), self.server.settings.language(options));
        let deaf = model == flux::ENGLISH && !is_english(&language);
        let language = deaf.then(|| format!("understands English only with the model {model}, not {language:?}"));
        language.into_iter().chain(KEYTERM_LIMITS.omitted_keyterms(options)).collect()
    }
}
