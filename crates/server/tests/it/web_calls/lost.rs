//! Sockets that are lost.

use serde_json::json;

use super::{Browser, hang_up_understood, place};
use crate::harness::TestService;

#[tokio::test(flavor = "multi_thread")]
async fn lost_socket_resumes_with_a_single_use_token() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let (call, url) = place(client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    let first = browser.resume_token().await;
    browser.hear_agent().await;
    browser.say("name").await;
    browser.hear_agent().await;
    browser.lose().await;

    let mut browser = Browser::resume(&url, &first).await;
    let second = browser.resume_token().await;
    assert_ne!(first, second);
    browser.say("day").await;
    browser.hear_agent().await;
    browser.lose().await;

    let mut stranger = Browser::resume(&url, &first).await;
    stranger.refused().await;
    let mut browser = Browser::resume(&url, &second).await;
    browser.say("time").await;
    browser.hear_agent().await;
    hang_up_understood(client, &call, &mut browser, &["name", "day", "time"]).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_does_not_come_back_ends_the_call() {
    let (service, agent) = TestService::ready().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent().await;
    browser.lose().await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("caller_hangup")), "{ended}");
    assert_eq!(Browser::open(&url).await.err(), Some(409), "a call that is over takes no socket");
    service.stop().await;
}
