//! Requests to carriers. Errors distinguish whether a failed request may have been carried out.

use std::time::Duration;

use reqwest::RequestBuilder;
use reqwest::header::RETRY_AFTER;
use serde::de::DeserializeOwned;
use switchhook_core::retry_after::retry_after;
use switchhook_core::webhook::{AddressPolicy, entered_url, judge_url};
use switchhook_net::outbound::{self, ClientSettings, Clients};
use switchhook_net::queues::Queue;
use switchhook_runtime::clock::Clock;
use url::Url;

/// How long a request may take, from the DNS lookup to the end of the response. Shorter than callers wait.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// The longest response that is read, in bytes.
const READ_LIMIT: usize = 1 << 20;

/// Sends requests to carriers under the operator's address policy. Clones share connections.
#[derive(Clone)]
pub struct Rest {
    http: Clients,
    policy: AddressPolicy,
}

/// A response.
pub struct RestResponse {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The body.
    pub body: Vec<u8>,
}

impl RestResponse {
    /// Returns whether the status is a success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Parses the body as JSON; `None` if it is something else, such as the page of a proxy.
    #[must_use]
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestError {
    /// The carrier never received the request, so nothing happened.
    #[error("the carrier cannot be reached: {0}")]
    NotSent(String),
    /// The carrier may have received the request and carried it out.
    #[error("the carrier's answer was lost: {0}")]
    Lost(String),
}

impl Rest {
    /// Creates a client under the policy of these settings.
    ///
    /// # Errors
    /// When the client cannot be created.
    pub fn new(settings: &ClientSettings) -> anyhow::Result<Self> {
        let http = Clients::new(settings, |settings| settings.builder().connect_timeout(CONNECT_TIMEOUT))?;
        Ok(Self { http, policy: settings.policy().clone() })
    }

    /// Checks that requests may be sent below this URL. Returns it without a trailing slash.
    ///
    /// # Errors
    /// A sentence for the owner of the connection.
    pub fn base_url(&self, url: &str) -> Result<String, String> {
        let wrong = |refusal| format!("settings.base_url {refusal}.");
        let url = entered_url(url).map_err(wrong)?;
        judge_url(&url, &self.policy).map_err(wrong)?;
        Ok(url.trim_end_matches('/').to_owned())
    }

    /// Builds a request to `url`, which is below a URL that [`Rest::base_url`] approved.
    pub fn request(&self, method: reqwest::Method, url: &str) -> RequestBuilder {
        self.http.usual().request(method, url)
    }

    /// Sends a request and reads the whole response, with any status.
    ///
    /// # Errors
    /// When there is no response.
    pub async fn send(&self, request: RequestBuilder) -> Result<RestResponse, RestError> {
        let request = request.timeout(REQUEST_TIMEOUT).build().map_err(|error| RestError::NotSent(words(&error)))?;
        judge_url(request.url().as_str(), &self.policy).map_err(|error| RestError::NotSent(error.to_string()))?;
        let response = self.http.of(request.url()).execute(request).await.map_err(|error| {
            let never_left = error.is_connect() || error.is_builder();
            if never_left { RestError::NotSent(words(&error)) } else { RestError::Lost(words(&error)) }
        })?;
        let mut response = outbound::unpacked(response);
        let status = response.status().as_u16();
        let requested = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let retry_after = requested.and_then(|requested| retry_after(requested, Clock::system().now()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| RestError::Lost(words(&error)))? {
            if body.len() + chunk.len() > READ_LIMIT {
                Queue::CarrierBody.full();
                return Err(RestError::Lost(format!("the answer is longer than {READ_LIMIT} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(RestResponse { status, retry_after, body })
    }
}

/// Describes an error without the URL, which contains account and call.
fn words(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("no response within {} s", REQUEST_TIMEOUT.as_secs());
    }
    outbound::innermost(error)
}

/// Returns a URL with `segments` added to its path, percent-encoded: carriers' ids may contain any character.
#[must_use]
pub fn below(base: &str, segments: &[&str]) -> String {
    match Url::parse(base) {
        Ok(mut url) => {
            if let Ok(mut path) = url.path_segments_mut() {
                path.pop_if_empty().extend(segments);
            }
            url.into()
        }
        Err(_) => format!("{base}/{}", segments.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_carriers_are_escaped_in_paths() {
        assert_eq!(
            below("https://api.example.com/v2", &["calls", "v3:a/b?c=="]),
            "https://api.example.com/v2/calls/v3:a%2Fb%3Fc=="
        );
        assert_eq!(below("https://api.example.com/", &["x"]), "https://api.example.com/x");
    }
}
