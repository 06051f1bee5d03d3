//! A client of the public API.

use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::header::{ACCEPT, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use switchhook_runtime::clock;

use crate::config::has_loopback_host;

/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout of an event stream, longer than any call.
const STREAM_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// An API client with one key. Clones share connections.
#[derive(Clone)]
pub(super) struct Api {
    http: reqwest::Client,
    base: String,
    key: String,
}

/// The service rejected a request.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub(super) struct Refused {
    /// The response status.
    pub(super) status: StatusCode,
    /// The `Retry-After` delay.
    pub(super) retry_after: Option<Duration>,
    words: String,
}

impl Api {
    /// Creates a client for a base URL such as `http://127.0.0.1:8080`.
    pub(super) fn new(base: &str, key: &str) -> anyhow::Result<Self> {
        let base = base.trim_end_matches('/');
        let url: url::Url = base.parse().with_context(|| format!("{base:?} is not a URL"))?;
        if !url.has_host() {
            bail!("{base:?} has no host");
        }
        let builder = reqwest::Client::builder().timeout(REQUEST_TIMEOUT);
        let http = if has_loopback_host(&url) { builder.no_proxy() } else { builder }.build()?;
        Ok(Self { http, base: base.to_owned(), key: key.to_owned() })
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self.send(self.request(Method::GET, path)).await?.json().await?)
    }

    /// Returns the `data` of a list.
    pub(super) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        match self.get(path).await?["data"].take() {
            Value::Array(items) => Ok(items),
            _ => bail!("{path} returned no list"),
        }
    }

    pub(super) async fn bytes(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        Ok(self.send(self.request(Method::GET, path)).await?.bytes().await?.to_vec())
    }

    pub(super) async fn create(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        Ok(self.send(self.request(Method::POST, path).json(&body)).await?.json().await?)
    }

    /// Like [`Api::create`], but retries once without a response. The idempotency key prevents a second execution.
    pub(super) async fn create_once(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        let key = uuid::Builder::from_random_bytes(clock::random()).into_uuid().to_string();
        let request = || self.request(Method::POST, path).header("Idempotency-Key", &key).json(&body);
        let response = match self.send(request()).await {
            Err(error) if error.is::<Refused>() => return Err(error),
            Err(_) => self.send(request()).await?,
            Ok(response) => response,
        };
        Ok(response.json().await?)
    }

    /// Creates a resource and returns its id.
    pub(super) async fn create_id(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let created = self.create(path, body).await?;
        created["id"].as_str().map(str::to_owned).with_context(|| format!("{path} returned no id"))
    }

    /// Opens a stream of server-sent events after event number `seen`.
    pub(super) async fn follow(&self, path: &str, seen: i64) -> anyhow::Result<Response> {
        let request = self.request(Method::GET, path).header(ACCEPT, "text/event-stream");
        self.send(request.header("Last-Event-ID", seen).timeout(STREAM_TIMEOUT)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key)
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let silent = || {
            format!("no service responds at {}: start one with `switchhook serve`, or set another address", self.base)
        };
        let response = request.send().await.map_err(reqwest::Error::without_url).with_context(silent)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let refused: Value = response.json().await.unwrap_or_default();
        let reason = refused["detail"].as_str().unwrap_or("no reason was given").trim_end_matches('.');
        let words = format!("the service rejected the request ({status}): {reason}");
        Err(Refused { status, retry_after: seconds.map(Duration::from_secs), words }.into())
    }
}
