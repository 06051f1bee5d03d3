//! The STT server of a connection: its address, its key and its settings.

use reqwest::header::{HeaderMap, HeaderValue};
use switchhook_core::private::Private;

use super::protocol::Handshake;
use super::settings::{SttDefaults, SttSettings};
use crate::outbound::ws;
use crate::providers::adapter_config::AdapterConfig;

/// One connection's server.
pub(crate) struct SttServer {
    base: String,
    key: Option<Private<String>>,
    pub(crate) settings: SttSettings,
}

impl SttServer {
    /// Reads `base_url` and all that [`SttSettings::read`] reads.
    ///
    /// # Errors
    /// A sentence that names the setting.
    pub(crate) fn read(config: &AdapterConfig<'_>, usual_url: &str, defaults: &SttDefaults) -> Result<Self, String> {
        let (base, settings) = (config.base_url(usual_url)?, SttSettings::read(config, defaults)?);
        Ok(Self { base, key: config.key.clone(), settings })
    }

    /// A stream at `path`, with the connection's own parameters added to `query`, and the key behind `scheme` in the header `key_header`.
    ///
    /// # Errors
    /// A sentence when the settings make no address.
    pub(crate) fn target(
        &self,
        path: &str,
        query: Vec<(&str, String)>,
        key_header: &'static str,
        scheme: &str,
    ) -> Result<Handshake, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = HeaderValue::try_from(format!("{scheme}{}", key.reveal()));
            let mut value = value.map_err(|_| "credentials.api_key is not text of a key.")?;
            value.set_sensitive(true);
            headers.insert(key_header, value);
        }
        let url = ws::below(&self.base, path, &self.settings.parameters.in_query(query));
        Ok(Handshake { url: url.map_err(|error| format!("settings.base_url {error}."))?, headers })
    }
}
