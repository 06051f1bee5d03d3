//! Deepgram's speech to text: Nova (`/v1/listen`) cuts where we say so, Flux (`/v2/listen`) judges turns itself. The model's name
//! decides between them.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use switchhook_core::private::Private;

use super::{flux, nova};
use crate::outbound::ws;
use crate::providers::connect::Connect;
use crate::providers::streaming::{Defaults, Dialect, Encoding, Protocol, StreamingStt, Style, Target, Terms, Tuning};
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
    let (base, tuning) = (connect.base_url(URL)?, Tuning::read(connect, &DEFAULTS)?);
    let key = connect.key.clone();
    Ok(Arc::new(StreamingStt::new(connect, Deepgram { base, key, tuning })))
}

struct Deepgram {
    base: String,
    key: Option<Private<String>>,
    tuning: Tuning,
}

impl Deepgram {
    fn model(&self, options: &SttOptions) -> String {
        self.tuning.model(options, USUAL_MODEL)
    }
}

fn is_flux(model: &str) -> bool {
    model.starts_with("flux")
}

impl Dialect for Deepgram {
    fn target(&self, options: &SttOptions) -> Result<Target, String> {
        let model = self.model(options);
        let (path, query) = if is_flux(&model) {
            (flux::PATH, flux::query(&model, options, &self.tuning))
        } else {
            (nova::PATH, nova::query(&model, options, &self.tuning))
        };
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = HeaderValue::try_from(format!("Token {}", key.reveal()));
            headers.insert(AUTHORIZATION, value.map_err(|_| "credentials.api_key is not text of a key.")?);
        }
        let url = ws::below(&self.base, path, &self.tuning.parameters.in_query(query));
        Ok(Target { url: url.map_err(|error| format!("settings.base_url {error}."))?, headers })
    }

    fn protocol(&self, options: &SttOptions) -> Box<dyn Protocol> {
        if is_flux(&self.model(options)) {
            Box::new(flux::Flux::new(self.tuning.finalize.unwrap_or(false)))
        } else {
            Box::new(nova::Nova::new(self.tuning.finalize.unwrap_or(true)))
        }
    }

    fn style(&self) -> Style {
        Style {
            name: PROVIDER,
            encoding: self.tuning.encoding,
            sample_rate: self.tuning.sample_rate,
            chunk: self.tuning.chunk,
            only_whole_chunks: false,
            only_speech: false,
            joiner: " ",
            patience: self.tuning.patience,
            patience_without_words: WITHOUT_WORDS.min(self.tuning.patience),
        }
    }
}
