//! Who may open the socket of a web call, and how often.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use switchhook_runtime::clock::Clock;

use super::{Browser, ended, place};
use crate::harness::{TestService, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_one_socket() {
    let (service, agent) = TestService::ready().await;
    let (call, url) = place(&service.client, &agent).await;
    for wrong in [format!("{url}0"), url.replace("/media/web/", "/media/web/x"), url[..url.len() - 1].to_owned()] {
        assert_eq!(Browser::open(&wrong).await.err(), Some(404), "{wrong}");
    }
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent_begin().await;
    assert_eq!(Browser::open(&url).await.err(), Some(409));
    browser.hear_agent().await;
    browser.send(json!({ "type": "hangup" })).await;
    let end = browser.end().await;
    ended(&service.client, &call, &end, "caller_hangup").await;
    assert_eq!(Browser::open(&url).await.err(), Some(409));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn web_call_not_joined_within_a_minute_ends_as_no_answer() {
    let clock = Clock::manual(Clock::system().now());
    let service = TestService::start_with(clock.clone()).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let (call, url) = place(&service.client, &agent).await;
    clock.advance(Duration::from_secs(59));
    let (_, waiting) = service.client.get(&format!("/v1/calls/{call}")).await;
    assert_eq!(waiting["status"], "queued", "{waiting}");
    clock.advance(Duration::from_secs(2));
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("no_answer")), "{ended}");
    assert_eq!(Browser::open(&url).await.err(), Some(409));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_call_has_no_number_no_schedule_and_replays_with_its_address() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    for (field, value) in [("from", json!("+12025550199")), ("schedule_at", json!("2099-01-01T00:00:00Z"))] {
        let body = json!({ "agent_id": agent.id, "to": "web", field: value });
        let (status, refused) = client.post("/v1/calls", body).await;
        assert_eq!(
            (status, &refused["errors"][0]["path"]),
            (StatusCode::UNPROCESSABLE_ENTITY, &json!(field)),
            "{refused}"
        );
    }
    let body = json!({ "agent_id": agent.id, "to": "web" });
    let once = async || {
        let request = client.request(reqwest::Method::POST, "/v1/calls").header("Idempotency-Key", "web-1");
        request.json(&body).send().await.expect("an answer").json::<serde_json::Value>().await.expect("JSON")
    };
    let (first, second) = (once().await, once().await);
    assert_eq!((&first["id"], &first["web"]), (&second["id"], &second["web"]));
    let canceled = client.post(&format!("/v1/calls/{}/hangup", text(&first["id"])), json!({})).await;
    assert_eq!(canceled.1["end_reason"], "canceled", "{canceled:?}");
    assert_eq!(Browser::open(&text(&first["web"]["url"])).await.err(), Some(409));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_floods_or_talks_nonsense_is_closed() {
    let (service, agent) = TestService::ready().await;
    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent_begin().await;
    for _ in 0..600 {
        browser.send_audio(&[0; 320]).await;
    }
    browser.refused().await;
    assert_eq!(service.client.wait_for_end(&call).await["end_reason"], "caller_hangup");

    let (call, url) = place(&service.client, &agent).await;
    let mut browser = Browser::connect(&url).await;
    browser.hear_agent_begin().await;
    browser.send(json!({ "type": "start", "sample_rate": 48_000 })).await;
    browser.refused().await;
    assert_eq!(service.client.wait_for_end(&call).await["end_reason"], "caller_hangup");
    service.stop().await;
}
