//! Requests to URLs that customers choose. They reach only the public internet and what the operator allows.
//!
//! A name is resolved once, every address it has is checked, and the connection is made to a checked address, so that a name server
//! cannot return one thing to the check and another to the connection. Environment proxies are ignored, and redirects are followed on
//! the same origin only, if at all, because both would bypass the check.

mod clients;
mod dns;
mod encoding;
mod names;
pub mod redirects;
mod tenants;
mod tls;
pub mod ws;

pub use self::clients::Clients;
use self::clients::Opening;
pub use self::encoding::unpacked;
pub use names::{LookupError, Names};
pub use tenants::{Exemptions, PerTenant};
pub use tls::has_system_authorities;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Response};
use switchhook_core::header::is_framing;
use switchhook_core::webhook::{AddressPolicy, Refusal, UrlRefusal, judge_address, judge_url};

use crate::queues::Queue;
use crate::text::{content_type, text};

/// Maximum bytes of a response to read.
const READ_LIMIT: usize = 16 * 1024;
/// Maximum bytes of a response to keep for display.
const EXCERPT: usize = 1024;
/// Maximum bytes of a `Retry-After` header: a date has 29.
const MAX_RETRY_AFTER: usize = 64;
/// Closes idle connections early: a receiver that closes its end just as a request is sent would cost an attempt.
const KEEP_IDLE: Duration = Duration::from_secs(2);
/// Maximum resumable TLS sessions per client.
const SESSIONS: usize = 32;

/// Where names are looked up and whose certificates are trusted. The default asks the system for both.
#[derive(Clone, Debug, Default)]
pub struct NetworkSettings {
    /// The name server to ask instead of the system's resolver.
    pub dns: Option<SocketAddr>,
    /// A PEM file of certificate authorities to trust in addition to the system's.
    pub extra_ca: Option<PathBuf>,
}

/// Shared settings of clients under one address policy: checked names and trusted authorities. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    guard: names::Guard,
    tls: rustls::ClientConfig,
}

impl ClientSettings {
    /// Loads the settings.
    ///
    /// # Errors
    /// If the file of extra certificate authorities cannot be used.
    pub fn new(network: &NetworkSettings, policy: &AddressPolicy) -> anyhow::Result<Self> {
        // Tests and tools start without `main`; the first caller installs ring.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let guard = names::Guard { names: Names::new(network), policy: policy.clone(), opening: None };
        Ok(Self { guard, tls: tls::settings(network)? })
    }

    /// Returns the address policy.
    #[must_use]
    pub fn policy(&self) -> &AddressPolicy {
        &self.guard.policy
    }

    /// Adds exemptions.
    #[must_use]
    pub fn with(mut self, more: &AddressPolicy) -> Self {
        self.guard.policy = self.guard.policy.with(more);
        self
    }

    /// Checks names for a port and scheme.
    fn judging_for(&self, opening: Opening) -> Self {
        let mut settings = self.clone();
        settings.guard.opening = Some(opening);
        settings
    }

    /// Returns a builder for clients that enforce the address policy on every connection.
    ///
    /// IP addresses in a URL are not resolved and not checked here: check URLs with [`judge_url`]
    /// before sending, as [`Client`] does. Responses are read through [`unpacked`].
    pub fn builder(&self) -> reqwest::ClientBuilder {
        let mut offered = HeaderMap::new();
        offered.insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding::ACCEPTED));
        self.offering(&[b"h2", b"http/1.1"]).default_headers(offered)
    }

    /// The same for HTTP/1.1 only and without pooling, because a WebSocket never returns its connection.
    fn builder_for_websockets(&self) -> reqwest::ClientBuilder {
        self.offering(&[b"http/1.1"]).http1_only().pool_max_idle_per_host(0).redirect(redirects::on_same_origin())
    }

    fn offering(&self, protocols: &[&[u8]]) -> reqwest::ClientBuilder {
        let mut tls = self.tls.clone();
        tls.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        // Resumable sessions belong to one client, like its connections.
        tls.resumption = rustls::client::Resumption::in_memory_sessions(SESSIONS);
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(self.guard.apart())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .retry(reqwest::retry::never())
            .pool_idle_timeout(KEEP_IDLE)
            .user_agent(concat!("Switchhook/", env!("CARGO_PKG_VERSION")))
    }

    /// Builds a client with a total `deadline` per request.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn client(&self, deadline: Duration) -> anyhow::Result<Client> {
        let http = Clients::new(self, Self::builder)?;
        Ok(Client { http, policy: self.policy().clone(), deadline })
    }
}

/// Sends requests to customers' URLs.
#[derive(Clone, Debug)]
pub struct Client {
    http: Clients,
    policy: AddressPolicy,
    deadline: Duration,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The start of the body, as text; at most 1 KiB.
    pub excerpt: String,
}

/// A tool's request.
pub struct Request {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: String,
    /// Additional headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// A tool's response.
pub struct Page {
    /// The HTTP status.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The `Content-Type` header.
    pub content_type: Option<String>,
    /// The body, decompressed; at most 16 KiB.
    pub body: Vec<u8>,
    /// Whether the body is complete.
    pub whole: bool,
}

impl Page {
    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        text(self.content_type.as_deref(), &self.body)
    }
}

/// Why there is no response. Safe to show to the customer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The URL is not allowed, or no longer.
    #[error("the URL {0}")]
    Url(#[from] UrlRefusal),
    /// The host has a forbidden address.
    #[error("the host cannot be reached: {0}")]
    Refused(#[from] Refusal),
    /// The host has no address.
    #[error("the host name could not be resolved")]
    Unknown,
    /// The deadline passed.
    #[error("no response within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The connection failed.
    #[error("connection failed: {0}")]
    Connect(String),
    /// The connection broke, or the response was not HTTP.
    #[error("could not read the response: {0}")]
    Broken(String),
}

impl Client {
    /// Creates a client under `policy` with a total `deadline` per request.
    ///
    /// # Errors
    /// Like [`ClientSettings::new`].
    pub fn new(network: &NetworkSettings, policy: &AddressPolicy, deadline: Duration) -> anyhow::Result<Self> {
        ClientSettings::new(network, policy)?.client(deadline)
    }

    /// Posts `body` and reads up to 16 KiB of the response.
    ///
    /// # Errors
    /// If nothing could be sent or no status arrived. Failures after the status are not errors.
    pub async fn post(&self, url: &str, headers: HeaderMap, body: Vec<u8>) -> Result<Answer, SendError> {
        let url = judge_url(url, &self.policy)?;
        // The deadline covers everything, from DNS to the end of the body.
        let request = self.http.of(&url).post(url).headers(headers).body(body).timeout(self.deadline);
        let response = request.send().await.map_err(|error| explain(&error, self.deadline))?;
        let mut response = unpacked(response);
        check_peer(&response, &self.policy)?;
        Ok(Answer::read(&mut response).await)
    }

    /// Sends a tool's request within `deadline` and reads up to 16 KiB of the response.
    ///
    /// # Errors
    /// Like [`Client::post`], and if the response breaks off.
    pub async fn ask(&self, request: Request, deadline: Duration) -> Result<Page, SendError> {
        let mut response = self.open(request, deadline).await?;
        let mut page = Page {
            status: response.status().as_u16(),
            retry_after: retry_after(&response),
            content_type: content_type(response.headers()).map(str::to_owned),
            body: Vec::new(),
            whole: false,
        };
        while page.body.len() <= READ_LIMIT {
            match self.more(&mut response, deadline).await? {
                Some(chunk) => page.body.extend_from_slice(&chunk),
                None => return Ok(Page { whole: true, ..page }),
            }
        }
        Queue::ToolBody.full();
        page.body.truncate(READ_LIMIT);
        Ok(page)
    }

    /// Sends a tool's request and returns the response with an unread body. `deadline` also covers the body.
    ///
    /// # Errors
    /// Like [`Client::post`].
    pub async fn open(&self, request: Request, deadline: Duration) -> Result<Response, SendError> {
        let Request { method, url, mut headers, body } = request;
        leave_out_framing(&mut headers);
        let url = judge_url(&url, &self.policy)?;
        let mut asked = self.http.of(&url).request(method, url).headers(headers).timeout(deadline);
        if let Some(body) = body {
            asked = asked.body(body);
        }
        let response = unpacked(asked.send().await.map_err(|error| explain(&error, deadline))?);
        check_peer(&response, &self.policy)?;
        Ok(response)
    }

    /// Returns the next chunk of a response; `None` at its end.
    ///
    /// # Errors
    /// If the response breaks off.
    pub async fn more(&self, response: &mut Response, deadline: Duration) -> Result<Option<Bytes>, SendError> {
        response.chunk().await.map_err(|error| explain(&error, deadline))
    }
}

impl Answer {
    async fn read(response: &mut Response) -> Self {
        let retry_after = retry_after(response);
        Self { status: response.status().as_u16(), retry_after, excerpt: beginning(response).await }
    }
}

fn retry_after(response: &Response) -> Option<String> {
    let value = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    value.filter(|value| value.len() <= MAX_RETRY_AFTER).map(str::to_owned)
}

/// Removes headers that frame or route a request; agents of earlier versions may contain some.
fn leave_out_framing(headers: &mut HeaderMap) {
    let framing: Vec<HeaderName> = headers.keys().filter(|name| is_framing(name.as_str())).cloned().collect();
    for name in framing {
        tracing::warn!(header = %name, "left out a header that frames or routes requests");
        headers.remove(name);
    }
}

/// Checks the peer's address again, in addition to the resolver.
fn check_peer(response: &Response, policy: &AddressPolicy) -> Result<(), SendError> {
    response.remote_addr().map_or(Ok(()), |peer| Ok(judge_address(response.url(), peer.ip(), policy)?))
}

/// Converts an error of the HTTP client.
#[must_use]
pub fn explain(error: &reqwest::Error, deadline: Duration) -> SendError {
    match LookupError::in_chain(error) {
        Some(LookupError::Refused(UrlRefusal::Address(refusal))) => SendError::Refused(*refusal),
        Some(LookupError::Refused(refusal)) => SendError::Url(*refusal),
        Some(LookupError::Unknown) => SendError::Unknown,
        None if error.is_timeout() => SendError::Timeout(deadline),
        None if error.is_connect() => SendError::Connect(innermost(error)),
        None => SendError::Broken(innermost(error)),
    }
}

/// Reads the start of a body as text that both databases can store. Stops at the limit, the end, the deadline or an error.
async fn beginning(response: &mut Response) -> String {
    let (mut kept, mut read) = (Vec::new(), 0);
    while read < READ_LIMIT {
        let Ok(Some(chunk)) = response.chunk().await else { break };
        read += chunk.len();
        kept.extend_from_slice(&chunk[..chunk.len().min(EXCERPT - kept.len())]);
    }
    text(content_type(response.headers()), &kept).replace('\0', "\u{fffd}")
}

/// Returns the root cause, such as `Connection refused`.
#[must_use]
pub fn innermost(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error).to_string()
}

#[cfg(test)]
mod tests;
