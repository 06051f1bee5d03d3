//! Secrets of tools: the credentials of an `http` connection are headers, which are only sent to its `base_url`.

use std::collections::HashSet;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use switchhook_core::header::is_framing;
use switchhook_core::id::ConnectionId;
use switchhook_core::private::Credentials;
use switchhook_core::webhook::entered_url;
use switchhook_net::outbound::{Client, Request};
use switchhook_providers::check::Check;
use switchhook_vault::Vault;
use url::Url;

use crate::store::connections::ConnectionRow;

/// The provider name of such connections in the API. MCP servers use it too: they are called over HTTP.
pub const PROVIDER: &str = "http";
/// The name of the connection test.
const CHECK: &str = "service";
/// Headers that every request sets itself: another value would break it.
const NOT_THEIRS: &[&str] = &["accept", "content-type", "mcp-protocol-version", "mcp-session-id", "x-voice-call"];

/// The headers that a connection adds to the requests of a tool. `Debug` does not show the values.
#[derive(Clone, Debug)]
pub struct Secrets {
    /// The connection and its version, since other secrets may give access to other data.
    pub(super) version: (ConnectionId, i64),
    pub(super) headers: HeaderMap,
    base: Option<Url>,
}

impl Secrets {
    /// Returns the secrets of a connection.
    ///
    /// # Errors
    /// A sentence if they cannot be read or are invalid.
    pub fn of(row: &ConnectionRow, vault: &Vault) -> Result<Self, String> {
        let credentials = row.open(vault).map_err(|error| format!("its credentials cannot be read: {error}."))?;
        let mut headers = HeaderMap::new();
        for (name, value) in credentials.reveal() {
            if is_framing(name) {
                // It was stored before such headers were refused.
                tracing::warn!(
                    header = name,
                    "a header of a connection frames or routes requests and is left out of them"
                );
                continue;
            }
            let parsed = header(name, value).map_err(|words| format!("credentials.{name} {words}."))?;
            headers.insert(parsed.0, parsed.1);
        }
        let base = base(&row.settings).map_err(|words| format!("settings.base_url {words}."))?;
        Ok(Self { version: (ConnectionId::from_uuid(row.id), row.updated_at), headers, base })
    }

    /// Checks that they may be sent to `url`.
    ///
    /// # Errors
    /// The reason against it, as a sentence part.
    pub(super) fn fit(&self, url: &str) -> Result<(), String> {
        within(self.base.as_ref(), url)
    }

    /// Tests them with a request to `base_url`; any response but a refusal of the credentials passes.
    pub async fn check(&self, client: &Client, deadline: Duration) -> Check {
        Check::within(deadline, CHECK, async {
            let Some(base) = &self.base else {
                return Ok("Nothing was tried: settings.base_url says where the headers may go.".to_owned());
            };
            let url = base.to_string();
            let request = Request { method: Method::GET, url, headers: self.headers.clone(), body: None };
            let page = client.ask(request, deadline).await.map_err(|error| format!("settings.base_url: {error}."))?;
            match page.status {
                status @ (401 | 403) => {
                    Err(format!("The service refuses the headers: it responded with status {status}."))
                }
                status => Ok(format!("The service responded with status {status}.")),
            }
        })
        .await
    }
}

/// Checks that secrets of a connection with these settings may be sent to `url`.
///
/// # Errors
/// The reason against it, as a sentence part.
pub fn fit(settings: &Map<String, Value>, url: &str) -> Result<(), String> {
    within(base(settings)?.as_ref(), url)
}

fn base(settings: &Map<String, Value>) -> Result<Option<Url>, String> {
    settings.get("base_url").and_then(Value::as_str).map(base_url).transpose()
}

fn within(base: Option<&Url>, url: &str) -> Result<(), String> {
    let fits = base.is_none_or(|base| Url::parse(url).is_ok_and(|url| is_below(&url, base)));
    if fits { Ok(()) } else { Err("does not begin with settings.base_url of its connection".to_owned()) }
}

/// Parses a header from a credential.
///
/// # Errors
/// The problem with it, as a sentence part.
fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let name = name.parse::<HeaderName>().map_err(|_| "is no name of an HTTP header".to_owned())?;
    if NOT_THEIRS.contains(&name.as_str()) || is_framing(name.as_str()) {
        return Err("is a header that requests have by themselves".to_owned());
    }
    let visible = value.bytes().all(|byte| (b' '..0x7f).contains(&byte)) && value.trim() == value;
    let parsed = HeaderValue::from_str(value).ok().filter(|_| visible);
    let mut value = parsed.ok_or("must be visible characters, without spaces at its ends")?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Returns the names of credentials that are invalid as headers, each with the problem as a sentence part.
#[must_use]
pub fn unusable(credentials: &Credentials) -> Vec<(String, String)> {
    let mut seen = HashSet::new();
    let wrong = credentials.iter().filter_map(|(name, value)| {
        let again = !seen.insert(name.to_ascii_lowercase());
        let again = again.then(|| "is there already: headers are the same in upper and lower case".to_owned());
        Some((name.clone(), header(name, value).err().or(again)?))
    });
    wrong.collect()
}

/// Parses an address below which secrets may be sent.
///
/// # Errors
/// The problem with it, as a sentence part.
pub fn base_url(text: &str) -> Result<Url, String> {
    let text = entered_url(text).map_err(|refusal| refusal.to_string())?;
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or("must be an http or https address")?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must have neither ? nor #: it is the beginning of addresses".to_owned());
    }
    Ok(url)
}

/// Returns whether `url` has the scheme, host and port of `base`, and its path or one below it. Both are parsed, so dot segments are resolved.
fn is_below(url: &Url, base: &Url) -> bool {
    let same = url.origin() == base.origin() && url.username().is_empty() && url.password().is_none();
    let rest = url.path().strip_prefix(base.path().trim_end_matches('/'));
    same && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_below_their_address_and_nowhere_else() {
        let base = base_url("https://api.example.com/v1/").expect("an address");
        let below = |url: &str| is_below(&Url::parse(url).expect("a URL"), &base);
        for fine in [
            "https://api.example.com/v1",
            "https://API.example.com:443/v1/tables?day=1",
            "https://api.example.com/v1/a/../b",
        ] {
            assert!(below(fine), "{fine}");
        }
        for elsewhere in [
            "https://api.example.com/v12",
            "https://api.example.com/v1/../admin",
            "https://api.example.com/v1/%2e%2E/admin",
            "https://api.example.com/",
            "https://api.example.com:8443/v1",
            "http://api.example.com/v1",
            "https://api.example.com.evil.example/v1",
            "https://api.example.com@evil.example/v1",
            "https://me@api.example.com/v1",
        ] {
            assert!(!below(elsewhere), "{elsewhere}");
        }
        for wrong in ["wss://api.example.com", "api.example.com", "https://api.example.com/?a=b", "https://"] {
            assert!(base_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn credentials_are_headers_of_their_own() {
        let wrong = |credentials: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            unusable(&credentials.iter().map(own).collect()).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(wrong(&[("Authorization", "Bearer a b"), ("X-Api-Key", "c")]), [""; 0]);
        assert_eq!(
            wrong(&[("Host", "a"), ("Proxy-Authorization", "a"), ("a b", "c"), ("x", "a\r\nb: c"), ("y", "a ")]),
            ["Host", "Proxy-Authorization", "a b", "x", "y"]
        );
        assert_eq!(wrong(&[("X-Key", "a"), ("x-key", "b")]), ["x-key"]);
        let (_, value) = header("x-key", "hush").expect("a header");
        assert!(!format!("{value:?}").contains("hush"));
    }
}
