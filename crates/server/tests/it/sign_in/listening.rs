//! People who listen to a call from the dashboard.

use reqwest::{Method, StatusCode};
use serde_json::json;
use switchhook_runtime::clock::Clock;

use super::{joined, signed_in, with_provider};
use crate::harness::{Client, text};
use crate::listening::Player;

#[tokio::test(flavor = "multi_thread")]
async fn a_person_listens_until_they_sign_out_and_a_viewer_does_not() {
    let (service, oidc) = with_provider(Clock::system(), |config| config.rate_limit_per_minute = 100_000).await;
    let mut ana = signed_in(&service, &oidc, "ana").await;
    let (_, key) = ana.ask(Method::POST, "/v1/api-keys", Some(json!({}))).await;
    let client = Client::new(service.client.base.clone(), text(&key["key"]));
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let call = client.place(&agent, "+12025550109").await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;

    let bob = joined(&service, &oidc, &ana, "bob", "viewer").await;
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
