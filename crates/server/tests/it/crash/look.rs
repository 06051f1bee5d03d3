//! Reads a [`History`] from a service in which nothing moves.

use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use serde_json::Value;
use switchhook_core::Timestamp;

use super::history::{Acknowledged, History, Post, SeenCall, SeenDelivery, Usage};
use crate::harness::{Client, text};

/// Concurrent requests.
const AT_ONCE: usize = 16;
/// The polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Waits until every call has ended and every delivery is done. Returns how long that took.
pub(crate) async fn until_at_rest(client: &Client, webhook: &str, patience: Duration) -> Duration {
    let start = Instant::now();
    let calls = "/v1/calls?status=queued,dialing,in_progress&limit=1".to_owned();
    let deliveries = format!("/v1/webhooks/{webhook}/deliveries?state=pending,sending&limit=1");
    for path in [calls, deliveries] {
        loop {
            let (status, list) = client.get(&path).await;
            if status == 200 && list["data"].as_array().is_some_and(Vec::is_empty) {
                break;
            }
            assert!(start.elapsed() < patience, "there is still something after {patience:?}: {list}");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    start.elapsed()
}

/// Reads everything that can be observed.
pub(crate) async fn at_everything(
    client: &Client,
    webhook: &str,
    acknowledged: Vec<Acknowledged>,
    posts: Vec<Post>,
    dial_logs: &[&Path],
) -> History {
    let calls = every(client, "/v1/calls?").await;
    let path = format!("/v1/webhooks/{webhook}/deliveries");
    let deliveries = every(client, &format!("{path}?")).await;
    let (_, tenant) = client.get("/v1/tenant").await;
    let count = |value: &Value| value.as_u64().expect("a number");
    History {
        acknowledged,
        posts,
        dials: dial_logs.iter().flat_map(|log| dialled(log)).collect(),
        calls: stream::iter(calls).map(|call| seen_call(client, call)).buffer_unordered(AT_ONCE).collect().await,
        deliveries: stream::iter(deliveries)
            .map(|delivery| seen_delivery(client, format!("{path}/{}", text(&delivery["id"]))))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await,
        usage: Usage {
            concurrent_calls: count(&tenant["concurrent_calls"]["in_use"]),
            concurrent_limit: count(&tenant["concurrent_calls"]["limit"]),
            monthly_calls: count(&tenant["monthly_calls"]["used"]),
        },
    }
}

fn dialled(log: &Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Returns all pages of a list.
async fn every(client: &Client, path: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, page) = client.get(&format!("{path}limit=100{cursor}")).await;
        assert_eq!(status, 200, "{page}");
        all.extend(page["data"].as_array().expect("a list").clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

async fn seen_call(client: &Client, call: Value) -> SeenCall {
    let id = text(&call["id"]);
    let (status, events) = client.get(&format!("/v1/calls/{id}/events")).await;
    assert_eq!(status, 200, "{events}");
    let events = events["data"].as_array().expect("a list").iter();
    let time = |value: &Value| value.as_str().map(|text| Timestamp::parse(text).expect("a time"));
    SeenCall {
        id,
        status: text(&call["status"]),
        created_at: time(&call["created_at"]).expect("a call has a beginning"),
        ended_at: time(&call["ended_at"]),
        dialing: !call["dialing_at"].is_null(),
        answered: !call["answered_at"].is_null(),
        events: events.map(|e| (e["sequence"].as_u64().expect("a number"), text(&e["event"]))).collect(),
    }
}

async fn seen_delivery(client: &Client, path: String) -> SeenDelivery {
    let (status, delivery) = client.get(&path).await;
    assert_eq!(status, 200, "{delivery}");
    let log = delivery["attempt_log"].as_array().expect("a list").iter();
    let attempts: Vec<u64> = log.map(|row| row["number"].as_u64().expect("a number")).collect();
    assert_eq!(delivery["attempts"], attempts.len(), "{delivery}");
    SeenDelivery { id: text(&delivery["id"]), state: text(&delivery["state"]), attempts }
}
