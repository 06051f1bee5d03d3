//! Who may listen, for how long, and how many at once.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::json;
use switchhook_runtime::clock::Clock;

use super::player::{Player, address};
use super::{HOLDS, talking};
use crate::cluster::until;
use crate::harness::{Client, TIMEOUT, TestService, text};

/// Returns changes of an agent that waits for a silent caller.
fn patient() -> serde_json::Value {
    json!({ "silence": { "hangup_after_seconds": null } })
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_tenant_of_a_live_call_may_listen() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(patient()).await;
    let call = talking(client, &agent, HOLDS).await;
    let ask = async |client: &Client, call: &str| {
        let (status, error) = client.post(&format!("/v1/calls/{call}/listen"), json!({})).await;
        (status, text(&error["code"]))
    };
    let missing = (StatusCode::NOT_FOUND, "not_found".to_owned());
    assert_eq!(ask(&service.another_tenant().await, &call).await, missing);
    assert_eq!(ask(client, "0198c6a0-0000-7000-8000-000000000000").await, missing);
    let silent = (StatusCode::CONFLICT, "call_not_in_progress".to_owned());
    let later = Clock::system().now() + Duration::from_secs(86_400);
    let queued = client.create("/v1/calls", json!({ "agent_id": agent.id, "to": HOLDS, "schedule_at": later })).await;
    assert_eq!(ask(client, &text(&queued["id"])).await, silent);

    let url = address(client, &call).await;
    let (_, token) = url.rsplit_once('/').expect("a token");
    for wrong in [format!("{url}0"), url.replace(token, "x"), url.replace(token, &token[1..])] {
        assert_eq!(Player::at(&wrong).await.err(), Some(404), "{wrong}");
    }
    let plain = client.request(Method::GET, &format!("/media/listen/{token}")).send().await.expect("an answer");
    assert_eq!(plain.status(), StatusCode::UPGRADE_REQUIRED);
    let mut player = Player::at(&url).await.expect("none of that has used it");
    assert_eq!(Player::at(&url).await.err(), Some(409), "it is used");
    player.frames(5).await;
    player.say("hello?").await;
    assert_eq!(player.until_closed().await, 1008, "listeners say nothing");

    let unused = address(client, &call).await;
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    client.wait_for_end(&call).await;
    assert_eq!(ask(client, &call).await, silent);
    assert_eq!(Player::at(&unused).await.err(), Some(409), "the call has ended");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_token_expires_after_a_minute() {
    let clock = Clock::manual(Clock::system().now());
    let service = TestService::start_with(clock.clone()).await;
    let client = &service.client;
    let agent = client.scripted_agent(patient()).await;
    let call = talking(client, &agent, HOLDS).await;
    let url = address(client, &call).await;
    clock.advance(Duration::from_secs(61));
    assert_eq!(Player::at(&url).await.err(), Some(409));
    Player::open(client, &call).await.frames(1).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_listen_and_the_sixth_waits_for_one_to_leave() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(patient()).await;
    let call = talking(client, &agent, HOLDS).await;
    let sixth = address(client, &call).await;
    let mut players = Vec::new();
    for _ in 0..5 {
        players.push(Player::open(client, &call).await);
    }
    let (status, error) = client.post(&format!("/v1/calls/{call}/listen"), json!({})).await;
    assert_eq!((status, &error["code"]), (StatusCode::CONFLICT, &json!("too_many_listeners")), "{error}");
    assert!(text(&error["detail"]).contains('5'), "{error}");
    assert_eq!(Player::at(&sixth).await.err(), Some(409));

    players.pop().expect("five").leave().await;
    let mut joined = None;
    until("the service has noticed that one has left", TIMEOUT, async || {
        match Player::at(&sixth).await {
            Ok(player) => joined = Some(player),
            Err(status) => assert_eq!(status, 409),
        }
        joined.is_some()
    })
    .await;
    let mut joined = joined.expect("one has left");
    joined.frames(5).await;
    for player in &mut players {
        player.frames(5).await;
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_listener_stops_hearing_and_the_call_continues() {
    let service = TestService::start().await;
    let owner = &service.client;
    let agent = owner.scripted_agent(patient()).await;
    let call = talking(owner, &agent, HOLDS).await;
    let key = owner.create("/v1/api-keys", json!({})).await;
    let guest = Client::new(owner.base.clone(), text(&key["key"]));
    let mut heard = Player::open(&guest, &call).await;
    let unused = address(&guest, &call).await;
    let mut kept = Player::open(owner, &call).await;
    heard.frames(5).await;
    let revoke = owner.request(Method::DELETE, &format!("/v1/api-keys/{}", text(&key["id"])));
    let revoked = heard.while_open(revoke.send()).await;
    assert_eq!(revoked.expect("an answer").status(), StatusCode::NO_CONTENT);
    let before = heard.frames;
    assert_eq!(Player::at(&unused).await.err(), Some(401), "at once");
    assert_eq!(heard.until_closed().await, 1008, "within seconds");
    let after = heard.frames - before;
    assert!(after < 500, "{after} frames");
    kept.frames(50).await;
    assert_eq!(owner.get(&format!("/v1/calls/{call}")).await.1["status"], "in_progress");
    service.stop().await;
}
