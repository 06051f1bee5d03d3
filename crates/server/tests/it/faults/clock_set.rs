//! The machine's clock is set while a call is live.

use std::time::{Duration, Instant};

use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;

use crate::harness::{TestService, text};

/// A number that answers and stays on the line.
const HOLDS: &str = "+12025550109";
const HOUR: Duration = Duration::from_secs(3_600);
const WORDS: &str = "Your taxi is here.";

/// Holds a call of at most a minute, sets the clock, has the agent say something, and hangs up.
async fn assert_outlived(set: impl Fn(Timestamp) -> Timestamp) {
    let clock = Clock::settable();
    let service = TestService::start_with(clock.clone()).await;
    let client = &service.client;
    let changes = json!({ "greeting": { "text": "Hello." }, "limits": { "max_duration_seconds": 60 } });
    let agent = client.scripted_agent(changes).await;
    let placed = Instant::now();
    let call = client.place(&agent, HOLDS).await;
    client.wait_for_words(&call).await;
    clock.set(set(clock.now()));

    // With each command and each line of the transcript, the runner checks the call's deadline.
    let (status, shown) = client.post(&format!("/v1/calls/{call}/say"), json!({ "text": WORDS })).await;
    assert_eq!(status, StatusCode::OK, "{shown}");
    let said = |shown: &Value| shown["data"].as_array().into_iter().flatten().any(|line| line["text"] == WORDS);
    client.look_until(&format!("/v1/calls/{call}/transcript"), said).await;
    let (status, shown) = client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert!(status.is_success(), "{shown}");

    let ended = client.wait_for_end(&call).await;
    let since_placed = placed.elapsed();
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    let at = |field: &str| Timestamp::parse(&text(&ended[field])).expect("a time");
    let lasted = at("ended_at").since(at("answered_at"));
    assert!(!lasted.is_zero() && lasted <= since_placed, "{lasted:?} of {since_placed:?}");
    let seconds = ended["duration_seconds"].as_f64().expect("a number");
    assert!((seconds - lasted.as_secs_f64()).abs() <= 0.5, "{seconds} s for {lasted:?}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_call_outlives_a_clock_that_is_set_forwards() {
    assert_outlived(|now| now + HOUR).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_call_outlives_a_clock_that_is_set_back() {
    assert_outlived(|now| now - HOUR).await;
}
