//! People who listen to a call from the dashboard.

use reqwest::{Method, StatusCode};
use serde_json::json;
use switchhook_runtime::clock::Clock;

use super::{browser, with_provider};
use crate::harness::{Client, text};
use crate::listening::Player;

#[tokio::test(flavor = "multi_thread")]
async fn a_person_listens_until_they_sign_out_and_a_viewer_does_not() {
    let (service, oidc) = with_provider(Clock::system(), |config| config.rate_limit_per_minute = 100_000).await;
    let mut ana = browser(&service);
    ana.sign_in(&oidc, json!({ "sub": "ana", "email": "ana@example.com", "name": "ana" })).await;
    let (_, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    let client = Client::new(service.client.base.clone(), text(&key["key"]));
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let call = client.place(&agent, "+12025550109").await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;

    let body = json!({ "email": "bob@example.com", "role": "viewer" });
    ana.ask(Method::POST, "/v1/people", Some(body)).await;
    let mut bob = browser(&service);
    bob.sign_in(&oidc, json!({ "sub": "bob", "email": "bob@example.com", "name": "bob" })).await;
    let path = format!("/v1/calls/{call}/listen");
    let (status, refused) = bob.ask(Method::POST, &path, Some(json!({}))).await;
    assert_eq!((status, &refused["code"]), (StatusCode::FORBIDDEN, &json!("role_forbids")), "{refused}");

    let (status, given) = ana.ask(Method::POST, &path, None).await;
    assert_eq!(status, StatusCode::OK, "{given}");
    let mut player = Player::at(&text(&given["url"])).await.expect("the token is good");
    player.frames(5).await;
    let logout = ana.api(Method::POST, "/auth/logout");
    ana.send(logout).await;
    assert_eq!(player.until_closed().await, 1008);
    assert_eq!(client.get(&format!("/v1/calls/{call}")).await.1["status"], "in_progress");
    service.stop().await;
}
