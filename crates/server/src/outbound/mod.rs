//! Requests to addresses that customers choose. They go to the public internet, or where the operator allows, and
//! nowhere else.
//!
//! A name is resolved once, every address it has is judged, and the connection is made to one of the judged addresses,
//! so that a name server cannot answer the judge one thing and the connection another. Redirects are not followed and
//! proxies of the environment not used, since both would lead elsewhere.

mod clients;
mod dns;
mod names;
mod tenants;
mod tls;
pub mod ws;

pub use self::clients::Clients;
use self::clients::Opening;
pub use names::{LookupError, Names};
pub use tenants::{Exemptions, PerTenant};

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Method, Response};
use switchhook_core::header::is_framing;
use switchhook_core::webhook::{AddressPolicy, Refusal, UrlRefusal, judge_address, judge_url};

use crate::config::Config;
use crate::queues::Queue;

/// As much of an answer as is read, in bytes.
const READ_LIMIT: usize = 16 * 1024;
/// As much of it as is kept for people to look at, in bytes.
const EXCERPT: usize = 1024;
/// Idle connections are closed early: a receiver that closes its end just when a request is sent would cost an attempt.
const KEEP_IDLE: Duration = Duration::from_secs(2);
/// TLS sessions that a client can resume.
const SESSIONS: usize = 32;

/// What the clients under one address policy have in common: judged names and trusted authorities. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    guard: names::Guard,
    tls: rustls::ClientConfig,
}

impl ClientSettings {
    /// Reads what they need.
    ///
    /// # Errors
    /// When the file of extra certificate authorities cannot be used.
    pub fn new(config: &Config, policy: &AddressPolicy) -> anyhow::Result<Self> {
        // Tests and tools come here without `main`; whoever is first chooses, and everybody chooses ring.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let guard = names::Guard { names: Names::new(config), policy: policy.clone(), opening: None };
        Ok(Self { guard, tls: tls::settings(config)? })
    }

    /// Where its clients may go.
    #[must_use]
    pub fn policy(&self) -> &AddressPolicy {
        &self.guard.policy
    }

    /// The same with further exemptions.
    #[must_use]
    pub fn with(mut self, more: &AddressPolicy) -> Self {
        self.guard.policy = self.guard.policy.with(more);
        self
    }

    /// The same, with names judged for a port and scheme.
    fn judging_for(&self, opening: Opening) -> Self {
        let mut settings = self.clone();
        settings.guard.opening = Some(opening);
        settings
    }

    /// A client whose every connection is made under the address policy.
    ///
    /// Addresses that stand in a URL themselves are not looked up and so not judged here: judge URLs with [`judge_url`]
    /// before sending, as [`Client`] does.
    pub fn builder(&self) -> reqwest::ClientBuilder {
        self.offering(&[b"h2", b"http/1.1"])
    }

    /// The same for HTTP/1.1 only, without connections that are kept: a websocket never gives its own back.
    fn builder_for_websockets(&self) -> reqwest::ClientBuilder {
        self.offering(&[b"http/1.1"]).http1_only().pool_max_idle_per_host(0)
    }

    fn offering(&self, protocols: &[&[u8]]) -> reqwest::ClientBuilder {
        let mut tls = self.tls.clone();
        tls.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        // Sessions that are resumed belong to one client, like its connections.
        tls.resumption = rustls::client::Resumption::in_memory_sessions(SESSIONS);
        reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(self.guard.clone())
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .retry(reqwest::retry::never())
            .pool_idle_timeout(KEEP_IDLE)
            .user_agent(concat!("Switchhook/", env!("CARGO_PKG_VERSION")))
    }

    /// A client whose requests take at most `deadline`.
    ///
    /// # Errors
    /// When it cannot be made.
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

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The beginning of the body, as text; at most 1 KiB.
    pub excerpt: String,
}

/// What a tool asks.
pub struct Request {
    /// How.
    pub method: Method,
    /// Where.
    pub url: String,
    /// With which further headers.
    pub headers: HeaderMap,
    /// With which body.
    pub body: Option<Vec<u8>>,
}

/// What a tool's service answers.
pub struct Page {
    /// The HTTP status.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The body; at most 16 KiB.
    pub body: Vec<u8>,
    /// Whether that is all of it.
    pub whole: bool,
}

/// Why there is no answer. The words may be shown to the customer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The URL may not be used, or no longer.
    #[error("the URL {0}")]
    Url(#[from] UrlRefusal),
    /// The host has an address that may not be connected to.
    #[error("the host cannot be reached: {0}")]
    Refused(#[from] Refusal),
    /// The host has no address.
    #[error("the host name could not be resolved")]
    Unknown,
    /// The deadline passed.
    #[error("no response within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// No connection came about.
    #[error("connection failed: {0}")]
    Connect(String),
    /// The connection broke, or the answer was no HTTP.
    #[error("could not read the response: {0}")]
    Broken(String),
}

impl Client {
    /// A client under `policy`, whose requests take at most `deadline`.
    ///
    /// # Errors
    /// As [`ClientSettings::new`].
    pub fn new(config: &Config, policy: &AddressPolicy, deadline: Duration) -> anyhow::Result<Self> {
        ClientSettings::new(config, policy)?.client(deadline)
    }

    /// Sends `body` and reads the answer, at most 16 KiB of it.
    ///
    /// # Errors
    /// When nothing could be sent or no status came back. What goes wrong after the status is no error.
    pub async fn post(&self, url: &str, headers: HeaderMap, body: Vec<u8>) -> Result<Answer, SendError> {
        let url = judge_url(url, &self.policy)?;
        // The deadline is for everything, from the look-up of the name to the end of the body.
        let request = self.http.of(&url).post(url).headers(headers).body(body).timeout(self.deadline);
        let mut response = request.send().await.map_err(|error| explain(&error, self.deadline))?;
        check_peer(&response, &self.policy)?;
        Ok(Answer::read(&mut response).await)
    }

    /// Sends a request of a tool within `deadline` and reads the answer, at most 16 KiB of it.
    ///
    /// # Errors
    /// As [`Client::post`], and when the answer breaks off.
    pub async fn ask(&self, request: Request, deadline: Duration) -> Result<Page, SendError> {
        let mut response = self.open(request, deadline).await?;
        let mut page = Page {
            status: response.status().as_u16(),
            retry_after: retry_after(&response),
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

    /// Sends a request of a tool, and gives its answer with the body unread. `deadline` is for the body as well.
    ///
    /// # Errors
    /// As [`Client::post`].
    pub async fn open(&self, request: Request, deadline: Duration) -> Result<Response, SendError> {
        let Request { method, url, mut headers, body } = request;
        leave_out_framing(&mut headers);
        let url = judge_url(&url, &self.policy)?;
        let mut asked = self.http.of(&url).request(method, url).headers(headers).timeout(deadline);
        if let Some(body) = body {
            asked = asked.body(body);
        }
        let response = asked.send().await.map_err(|error| explain(&error, deadline))?;
        check_peer(&response, &self.policy)?;
        Ok(response)
    }

    /// The next piece of an answer that was asked for with this deadline; nothing at its end.
    ///
    /// # Errors
    /// When the answer breaks off.
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
    response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Headers that frame or route a request are the client's: agents that have some were stored before these were refused.
fn leave_out_framing(headers: &mut HeaderMap) {
    let framing: Vec<HeaderName> = headers.keys().filter(|name| is_framing(name.as_str())).cloned().collect();
    for name in framing {
        tracing::warn!(header = %name, "left out a header that frames or routes requests");
        headers.remove(name);
    }
}

/// The resolver gave vetted addresses only; this is the second lock on the same door.
fn check_peer(response: &Response, policy: &AddressPolicy) -> Result<(), SendError> {
    response.remote_addr().map_or(Ok(()), |peer| Ok(judge_address(response.url(), peer.ip(), policy)?))
}

/// What an error of the HTTP client comes to.
pub(crate) fn explain(error: &reqwest::Error, deadline: Duration) -> SendError {
    match LookupError::in_chain(error) {
        Some(LookupError::Refused(UrlRefusal::Address(refusal))) => SendError::Refused(*refusal),
        Some(LookupError::Refused(refusal)) => SendError::Url(*refusal),
        Some(LookupError::Unknown) => SendError::Unknown,
        None if error.is_timeout() => SendError::Timeout(deadline),
        None if error.is_connect() => SendError::Connect(innermost(error)),
        None => SendError::Broken(innermost(error)),
    }
}

/// The beginning of a body as text that both databases keep. Reading stops at the limit, the end, the deadline or an error.
async fn beginning(response: &mut Response) -> String {
    let (mut kept, mut read) = (Vec::new(), 0);
    while read < READ_LIMIT {
        let Ok(Some(chunk)) = response.chunk().await else { break };
        read += chunk.len();
        kept.extend_from_slice(&chunk[..chunk.len().min(EXCERPT - kept.len())]);
    }
    String::from_utf8_lossy(&kept).replace('\0', "\u{fffd}")
}

/// The words of the error at the bottom, such as `Connection refused`.
#[must_use]
pub fn innermost(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error).to_string()
}

#[cfg(test)]
mod tests;
