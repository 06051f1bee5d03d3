//! The STT server of a connection: its address, its key and its settings.

use reqwest::header::HeaderName;
use switchhook_core::private::Private;
use switchhook_net::outbound::ws;

use super::settings::{SttDefaults, SttSettings};
use crate::adapter_config::AdapterConfig;
use crate::websocket::Handshake;

/// The STT server of a connection.
pub(crate) struct SttServer {
    base: String,
    key: Option<Private<String>>,
    pub(crate) settings: SttSettings,
}

impl SttServer {
    /// Reads `base_url` and the settings of [`SttSettings::read`].
    ///
    /// # Errors
    /// A sentence that names the invalid setting.
    pub(crate) fn read(config: &AdapterConfig<'_>, usual_url: &str, defaults: &SttDefaults) -> Result<Self, String> {
        let (base, settings) = (config.base_url(usual_url)?, SttSettings::read(config, defaults)?);
        Ok(Self { base, key: config.key.clone(), settings })
    }

    /// Returns the handshake of a stream at `path`, with the connection's own parameters added to `query`, and the key after `scheme` in
    /// the header `key_header`.
    ///
    /// # Errors
    /// A sentence when the settings do not form a valid URL.
    pub(crate) fn handshake(
        &self,
        path: &str,
        query: Vec<(&str, String)>,
        key_header: &'static str,
        scheme: &str,
    ) -> Result<Handshake, String> {
        let url = ws::below(&self.base, path, &self.settings.parameters.in_query(query));
        let url = url.map_err(|error| format!("settings.base_url {error}."))?;
        Handshake::new(url, self.key.as_ref(), HeaderName::from_static(key_header), scheme)
    }
}
