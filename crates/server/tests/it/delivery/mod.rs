//! Deliveries under misbehaving receivers, name servers and customers.

mod fairness;
mod hostile;
mod lifecycle;
mod names;
mod order;
mod peer;
mod tls;
mod wild;
mod wild_peer;

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;

use crate::harness::{Client, TestService, text};

/// The timeout of one attempt in tests that wait for it.
const SHORT: Duration = Duration::from_secs(1);
/// The timeout in tests of attempts that end by themselves: longer than a test.
const NEVER: Duration = Duration::from_secs(3_600);

/// Returns a stopped clock, so that no retry happens before it is advanced.
fn standing_clock() -> Clock {
    Clock::manual(Timestamp::parse("2026-11-21T09:00:00Z").expect("a date"))
}

/// Starts a service with a stopped clock, whose attempts may take [`SHORT`].
async fn impatient() -> TestService {
    TestService::start_as(standing_clock(), |config| config.webhook_timeout = SHORT).await
}

/// The same with attempts that may take as long as the test.
async fn patient() -> TestService {
    TestService::start_as(standing_clock(), |config| config.webhook_timeout = NEVER).await
}

/// An endpoint as seen by the customer.
struct Endpoint<'a> {
    client: &'a Client,
    /// `/v1/webhooks/{id}`
    path: String,
    secret: String,
}

impl<'a> Endpoint<'a> {
    async fn register(client: &'a Client, url: &str) -> Self {
        let made = client.create("/v1/webhooks", json!({ "url": url })).await;
        Self { client, path: format!("/v1/webhooks/{}", text(&made["id"])), secret: text(&made["secret"]) }
    }

    /// Queues a test delivery. Returns its path.
    async fn test(&self) -> String {
        let made = self.client.create(&format!("{}/test", self.path), Value::Null).await;
        format!("{}/deliveries/{}", self.path, text(&made["id"]))
    }

    /// Returns the delivery at `path` once `attempts` have an outcome.
    async fn after(&self, path: &str, attempts: u64) -> Value {
        self.client.look_until(path, |shown| shown["attempts"] == attempts && shown["state"] != "sending").await
    }

    /// Returns the outcome of the only attempt of a new test delivery, with its delivery's state.
    async fn try_once(&self) -> Value {
        let path = self.test().await;
        let shown = self.after(&path, 1).await;
        let mut attempt = shown["attempt_log"][0].clone();
        attempt["state"] = shown["state"].clone();
        attempt
    }

    /// Makes a waiting delivery due immediately.
    async fn hasten(&self, path: &str) {
        let (status, same) = self.client.post(&format!("{path}/redeliver"), Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{same}");
    }

    async fn send(&self, method: Method, change: Value) -> StatusCode {
        let request = self.client.request(method, &self.path).json(&change);
        request.send().await.expect("the service answers").status()
    }
}
