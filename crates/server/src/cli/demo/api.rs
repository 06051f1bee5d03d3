//! The public API, as a customer's program uses it.

use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::{Method, Response};
use serde_json::Value;

/// More than a local service ever needs.
const DEADLINE: Duration = Duration::from_secs(20);

pub(super) struct Api {
    http: reqwest::Client,
    base: String,
    key: String,
}

impl Api {
    pub(super) fn new(base: &str, key: &str) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(DEADLINE).build()?;
        Ok(Self { http, base: base.to_owned(), key: key.to_owned() })
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(self.send(Method::GET, path, None).await?.json().await?)
    }

    /// The `data` of a list.
    pub(super) async fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        match self.get(path).await?["data"].take() {
            Value::Array(items) => Ok(items),
            _ => bail!("{path} has no list"),
        }
    }

    pub(super) async fn bytes(&self, path: &str) -> anyhow::Result<Vec<u8>> {
        Ok(self.send(Method::GET, path, None).await?.bytes().await?.to_vec())
    }

    pub(super) async fn create(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        Ok(self.send(Method::POST, path, Some(body)).await?.json().await?)
    }

    /// The id of what was made.
    pub(super) async fn create_id(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let created = self.create(path, body).await?;
        created["id"].as_str().map(str::to_owned).with_context(|| format!("{path} gave no id"))
    }

    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Response> {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.with_context(|| format!("the service did not answer {path}"))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let refused: Value = response.json().await.unwrap_or_default();
        bail!("{path} was answered with {status}: {}", refused["detail"].as_str().unwrap_or("no reason was given"))
    }
}
