//! The input of an adapter: outbound clients, and one connection's settings and key.

use std::ops::RangeInclusive;

use reqwest::RequestBuilder;
use reqwest::header::HeaderName;
use serde_json::{Map, Value};
use switchhook_core::private::Private;
use switchhook_core::webhook::{AddressPolicy, entered_url, judge_url};
use switchhook_net::outbound::ws::{WebSockets, http_address};

/// The longest text of a setting, in characters.
const LONGEST_TEXT: usize = 2_000;

/// A connection to a cloud provider, or to a server with the same protocol.
pub struct AdapterConfig<'a> {
    /// The client for requests.
    pub http: &'a reqwest::Client,
    /// The client for streams.
    pub websockets: &'a WebSockets,
    /// The addresses that both may reach.
    pub addresses: &'a AddressPolicy,
    /// The connection's settings.
    pub settings: &'a Map<String, Value>,
    /// The connection's `api_key`; self-hosted servers may need none.
    pub key: Option<Private<String>>,
}

/// Errors are sentences that name the setting.
impl<'a> AdapterConfig<'a> {
    /// Returns `base_url` without a trailing slash, or `default` if it is not set. The scheme is HTTP's even for websockets.
    ///
    /// # Errors
    /// When it is not a valid URL, or not an allowed one.
    pub fn base_url(&self, default: &str) -> Result<String, String> {
        let wrong = |refusal| format!("settings.base_url {refusal}.");
        let base = entered_url(&http_address(self.text("base_url")?.unwrap_or(default).trim())).map_err(wrong)?;
        judge_url(&base, self.addresses).map_err(wrong)?;
        Ok(base.trim_end_matches('/').to_owned())
    }

    /// Reads a text; an empty one counts as missing.
    ///
    /// # Errors
    /// When it is not a text, or too long.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.chars().count() <= LONGEST_TEXT => Ok(Some(text.as_str())),
            Some(_) => Err(format!("settings.{name} must be text of at most {LONGEST_TEXT} characters.")),
        }
    }

    /// Reads one of `choices`.
    ///
    /// # Errors
    /// When it is not one of them.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, String> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let chosen = choices.iter().find(|(word, _)| value.as_str() == Some(*word));
        let words = || choices.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        chosen.map(|(_, chosen)| Some(*chosen)).ok_or_else(|| format!("settings.{name} must be one of {}.", words()))
    }

    /// Reads a number within `range`.
    ///
    /// # Errors
    /// When it is not a number, or out of range.
    pub fn number(&self, name: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, String> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| range.contains(number));
        number
            .map(Some)
            .ok_or_else(|| format!("settings.{name} must be a number from {} to {}.", range.start(), range.end()))
    }

    /// Reads an integer within `range`.
    ///
    /// # Errors
    /// When it is not an integer, or out of range.
    pub fn integer(&self, name: &str, range: RangeInclusive<u32>) -> Result<Option<u32>, String> {
        let Some(value) = self.given(name) else { return Ok(None) };
        let number =
            value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| range.contains(number));
        number
            .map(Some)
            .ok_or_else(|| format!("settings.{name} must be a whole number from {} to {}.", range.start(), range.end()))
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(format!("settings.{name} must be true or false.")),
        }
    }

    /// Returns a setting; `null` and empty text count as missing.
    fn given(&self, name: &str) -> Option<&'a Value> {
        self.settings.get(name).filter(|value| !value.is_null() && value.as_str() != Some(""))
    }
}

/// Returns a base URL with `/` and `version` appended if it has no path.
pub(crate) fn versioned(base: &str, version: &str) -> String {
    let has_path = base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    if has_path { base.to_owned() } else { format!("{base}/{version}") }
}

/// Returns a base URL with `/` and `version` appended unless its path contains a version such as `v1` or `v1beta`.
pub(crate) fn with_version(base: &str, version: &str) -> String {
    let is_version = |segment: &str| {
        let digits = segment.strip_prefix('v').map(|rest| rest.chars().take_while(char::is_ascii_digit).count());
        digits.is_some_and(|digits| digits > 0 && segment[1 + digits..].chars().all(char::is_alphanumeric))
    };
    let path = base.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    if path.split('/').any(is_version) { base.to_owned() } else { format!("{base}/{version}") }
}

/// Adds the key to a request, if there is one: in this header, or as a bearer token.
pub(crate) fn signed(
    request: RequestBuilder,
    key: Option<&Private<String>>,
    header: Option<&HeaderName>,
) -> RequestBuilder {
    match (key, header) {
        (None, _) => request,
        (Some(key), None) => request.bearer_auth(key.reveal()),
        (Some(key), Some(header)) => request.header(header, key.reveal()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use switchhook_net::outbound::NetworkSettings;

    #[test]
    fn a_setting_of_the_wrong_kind_is_named_in_a_sentence() {
        let settings = json!({
            "base_url": "wss://eu.example.com/", "model": "m", "language": 7, "encoding": "mp3", "speed": 9.5,
            "rate": 8000.5, "smart": "yes", "empty": "", "nothing": null,
        });
        let addresses = AddressPolicy::default();
        let websockets = WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client");
        let config = AdapterConfig {
            http: &reqwest::Client::new(),
            websockets: &websockets,
            addresses: &addresses,
            settings: settings.as_object().expect("an object"),
            key: None,
        };
        assert_eq!(config.base_url("https://api.example.com"), Ok("https://eu.example.com".to_owned()));
        assert_eq!(config.text("model"), Ok(Some("m")));
        assert_eq!(
            (config.text("empty"), config.flag("nothing"), config.number("none", 0.0..=1.0)),
            (Ok(None), Ok(None), Ok(None))
        );
        assert_eq!(
            config.text("language"),
            Err("settings.language must be text of at most 2000 characters.".to_owned())
        );
        let laws = [("mulaw", 1), ("alaw", 2)];
        assert_eq!(config.choice("encoding", &laws), Err("settings.encoding must be one of mulaw, alaw.".to_owned()));
        assert_eq!(config.number("speed", 0.5..=2.0), Err("settings.speed must be a number from 0.5 to 2.".to_owned()));
        assert_eq!(
            config.integer("rate", 1..=9000),
            Err("settings.rate must be a whole number from 1 to 9000.".to_owned())
        );
        assert_eq!(config.flag("smart"), Err("settings.smart must be true or false.".to_owned()));
    }

    #[test]
    fn a_version_is_added_where_there_is_none() {
        for (base, version, expected) in [
            ("https://a.com", "v1", "https://a.com/v1"),
            ("https://a.com/v1", "v1", "https://a.com/v1"),
            ("https://a.com/anthropic", "v1", "https://a.com/anthropic/v1"),
            ("https://a.com/anthropic/v1", "v1", "https://a.com/anthropic/v1"),
            ("https://v1.a.com", "v1beta", "https://v1.a.com/v1beta"),
            ("https://a.com/v1alpha", "v1beta", "https://a.com/v1alpha"),
            (
                "https://a.com/v1/projects/p/publishers/google",
                "v1beta",
                "https://a.com/v1/projects/p/publishers/google",
            ),
            ("https://a.com/vertex", "v1beta", "https://a.com/vertex/v1beta"),
        ] {
            assert_eq!(with_version(base, version), expected);
        }
    }

    #[test]
    fn an_address_that_may_not_be_used_is_refused_at_once() {
        let settings = json!({ "base_url": "ws://127.0.0.1:9/" });
        let addresses: AddressPolicy = "192.0.2.0/24,http".parse().expect("a policy");
        let websockets = WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client");
        let settings = settings.as_object().expect("an object");
        let http = reqwest::Client::new();
        let config = AdapterConfig { http: &http, websockets: &websockets, addresses: &addresses, settings, key: None };
        let refused = config.base_url("https://api.example.com").expect_err("the loopback interface");
        assert!(refused.starts_with("settings.base_url "), "{refused}");
    }
}
