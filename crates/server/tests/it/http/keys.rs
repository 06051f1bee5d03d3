//! Guessing API keys is slow, fails, and does not disturb other clients.

use std::time::{Duration, Instant};

use reqwest::Method;
use switchhook_core::api_key::{ApiKey, Environment};
use switchhook_runtime::clock;

use crate::harness::TestService;

/// More than an address may try at once, and far less than it takes to be in the way.
const FLOOD: usize = 400;

#[tokio::test]
async fn a_flood_of_wrong_keys_is_refused_later_and_later_while_a_customer_at_the_same_address_is_served() {
    let service = TestService::start().await;
    let client = service.client.clone();
    // The customer has been here before.
    assert_eq!(client.get("/v1/tenant").await.0, 200);

    let began = Instant::now();
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..FLOOD {
        let mut attacker = client.clone();
        attacker.key = ApiKey::generate(Environment::Dev, || clock::random::<1>()[0]).reveal().to_owned();
        flood.spawn(async move { attacker.get("/v1/tenant").await });
    }
    let mut left = String::new();
    for _ in 0..50 {
        let answer = client.request(Method::GET, "/v1/tenant").send().await.expect("an answer");
        assert_eq!(answer.status(), 200);
        left = answer.headers()["ratelimit"].to_str().expect("text").to_owned();
    }
    // The one before, and these fifty: no wrong key has cost the tenant anything.
    assert!(left.contains(&format!("r={}", 100_000 - 51)), "{left}");

    while let Some(answer) = flood.join_next().await {
        let (status, body) = answer.expect("it ran");
        assert_eq!((status.as_u16(), body["code"].as_str()), (401, Some("unauthorized")));
    }
    assert!(began.elapsed() > Duration::from_secs(4), "{FLOOD} keys were tried in {:?}", began.elapsed());
    service.stop().await;
}
