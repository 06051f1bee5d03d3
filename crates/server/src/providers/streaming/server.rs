//! Where a connection's recogniser is, under which key, and how it is used.

use reqwest::header::{HeaderMap, HeaderValue};
use switchhook_core::private::Private;

use super::protocol::Target;
use super::settings::{Defaults, Tuning};
use crate::outbound::ws;
use crate::providers::connect::Connect;

/// One connection's server.
pub(crate) struct Server {
    base: String,
    key: Option<Private<String>>,
    pub(crate) tuning: Tuning,
}

impl Server {
    /// Reads `base_url` and all that [`Tuning::read`] reads.
    ///
    /// # Errors
    /// A sentence that names the setting.
    pub(crate) fn read(connect: &Connect<'_>, usual_url: &str, defaults: &Defaults) -> Result<Self, String> {
        let (base, tuning) = (connect.base_url(usual_url)?, Tuning::read(connect, defaults)?);
        Ok(Self { base, key: connect.key.clone(), tuning })
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
    ) -> Result<Target, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = HeaderValue::try_from(format!("{scheme}{}", key.reveal()));
            let mut value = value.map_err(|_| "credentials.api_key is not text of a key.")?;
            value.set_sensitive(true);
            headers.insert(key_header, value);
        }
        let url = ws::below(&self.base, path, &self.tuning.parameters.in_query(query));
        Ok(Target { url: url.map_err(|error| format!("settings.base_url {error}."))?, headers })
    }
}
