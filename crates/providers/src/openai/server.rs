//! The address of a server with OpenAI's APIs, and what every request to it carries.

use reqwest::header::{AUTHORIZATION, HeaderName};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Map, Value};
use switchhook_core::header::is_framing;
use switchhook_core::private::Private;
use switchhook_net::outbound::ws;

use super::OPENAI_URL;
use crate::adapter_config::{AdapterConfig, signed, versioned};
use crate::extras::Extras;
use crate::websocket::Handshake;

/// The speech server of a connection.
#[derive(Clone)]
pub(super) struct SpeechServer {
    http: Client,
    base: String,
    key: Option<Private<String>>,
    key_header: Option<HeaderName>,
    extras: Extras,
}

impl SpeechServer {
    /// Reads `base_url`, `key_header`, `headers` and `query`.
    pub(super) fn read(config: &AdapterConfig<'_>) -> Result<Self, String> {
        Ok(Self {
            http: config.http.clone(),
            base: versioned(&config.base_url(OPENAI_URL)?, "v1"),
            key: config.key.clone(),
            key_header: key_header(config.settings)?,
            extras: Extras::read(config.settings)?,
        })
    }

    pub(super) fn key(&self) -> Option<&Private<String>> {
        self.key.as_ref()
    }

    /// Builds a POST request to `path`.
    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        let post = self.extras.post(&self.http, &format!("{}{path}", self.base));
        signed(post, self.key(), self.key_header.as_ref())
    }

    /// Builds a GET request to `path`.
    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        let get = self.extras.request(&self.http, Method::GET, &format!("{}{path}", self.base));
        signed(get, self.key(), self.key_header.as_ref())
    }

    /// Builds the handshake of a websocket at `path`.
    pub(super) fn websocket(&self, path: &str, query: &[(&str, String)]) -> Result<Handshake, String> {
        let url = ws::below(&self.base, path, query).map_err(|error| format!("settings.base_url {error}."))?;
        let mut handshake = match &self.key_header {
            Some(name) => Handshake::new(url, self.key(), name, "")?,
            None => Handshake::new(url, self.key(), AUTHORIZATION, "Bearer ")?,
        };
        self.extras.add(&mut handshake.url, &mut handshake.headers);
        Ok(handshake)
    }
}

/// Reads `settings.key_header`: the header of the key where it is not a bearer token.
pub(super) fn key_header(settings: &Map<String, Value>) -> Result<Option<HeaderName>, String> {
    match settings.get("key_header") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if is_framing(name) => Err(format!("settings.key_header must not be {name}.")),
        Some(Value::String(name)) if let Ok(name) = name.parse() => Ok(Some(name)),
        Some(_) => Err("settings.key_header is no name of an HTTP header.".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchhook_core::webhook::AddressPolicy;
    use switchhook_net::outbound::NetworkSettings;
    use switchhook_net::outbound::ws::WebSockets;

    use super::*;

    #[test]
    fn speech_is_asked_for_with_all_that_the_connection_adds() {
        switchhook_net::install_tls();
        let settings = json!({
            "base_url": "https://speech.example.com", "key_header": "api-key", "headers": { "X-Team": "harbor" },
            "query": { "api-version": "2026-01-01" },
        });
        let addresses = AddressPolicy::default();
        let config = AdapterConfig {
            http: &Client::new(),
            websockets: &WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client"),
            addresses: &addresses,
            settings: settings.as_object().expect("an object"),
            key: Some(Private::new("s3cret".to_owned())),
        };
        let server = SpeechServer::read(&config).expect("good settings");
        let post = server.post("/audio/speech").build().expect("a request");
        assert_eq!(post.url().as_str(), "https://speech.example.com/v1/audio/speech?api-version=2026-01-01");
        let opened = server.websocket("/realtime", &[("intent", "transcription".to_owned())]).expect("an address");
        let query = opened.url.query().unwrap_or_default();
        assert_eq!(query, "intent=transcription&api-version=2026-01-01");
        for headers in [post.headers(), &opened.headers] {
            assert_eq!(
                (&headers["api-key"], &headers["x-team"]),
                (&"s3cret".parse().unwrap(), &"harbor".parse().unwrap())
            );
            assert!(!headers.contains_key(AUTHORIZATION));
        }
    }
}
