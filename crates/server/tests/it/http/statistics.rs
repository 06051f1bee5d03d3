//! `/v1/statistics`, `/v1/usage` and `/v1/attention`.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{TestService, text};

/// Hangs up in the middle of the agent's sentence; is busy; the carrier refuses the credentials.
const HANGS_UP: &str = "+12025550108";
const BUSY: &str = "+12025550101";
const REFUSED: &str = "+12025550106";

fn kinds(attention: &Value) -> Vec<String> {
    attention["data"].as_array().expect("a list").iter().map(|item| text(&item["kind"])).collect()
}

#[tokio::test]
async fn ended_calls_are_counted_by_time_agent_and_connection() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({})).await;
    let (_, connections) = client.get("/v1/connections").await;
    let voice = connections["data"].as_array().expect("a list").iter().find(|one| one["provider"] == "scripted");
    let prices = json!({ "settings": { "prices": { "*": { "tts_characters_million": 1000 } } } });
    let voice = format!("/v1/connections/{}", text(&voice.expect("made")["id"]));
    assert_eq!(client.patch(&voice, prices).await.0, StatusCode::OK);
    for to in [HANGS_UP, BUSY, BUSY] {
        let call = client.place(&agent, to).await;
        client.wait_for_end(&call).await;
    }

    let (status, all) = client.get("/v1/statistics").await;
    assert_eq!((status, &all["interval"]), (StatusCode::OK, &json!("hour")), "{all}");
    let totals = &all["totals"];
    assert_eq!((&totals["calls"], &totals["completed"], &totals["failed"]), (&json!(3), &json!(1), &json!(2)), "{all}");
    assert!(totals["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{totals}");
    let buckets = all["buckets"].as_array().expect("a list");
    assert!((24..=25).contains(&buckets.len()), "{} buckets", buckets.len());
    let sum: i64 = buckets.iter().filter_map(|bucket| bucket["calls"].as_i64()).sum();
    assert_eq!((sum, &buckets[0]["calls"], &buckets[0]["start"]), (3, &json!(0), &all["after"]));
    assert_eq!(buckets[0]["response_ms"], json!({ "p50": null, "p95": null, "n": 0 }));
    let (_, days) = client.get("/v1/statistics?interval=day").await;
    assert_eq!(days["totals"], *totals, "the same calls by day");

    let (_, none) = client.get(&format!("/v1/statistics?agent_id={}", "0".repeat(32))).await;
    assert_eq!((&none["totals"]["calls"], &none["totals"]["cost_usd"]), (&json!(0), &json!(0.0)));
    let (_, own) = client.get(&format!("/v1/statistics?agent_id={}", agent.id)).await;
    assert_eq!(own["totals"], *totals);

    let (_, usage) = client.get("/v1/usage").await;
    assert_eq!((&usage["totals"]["calls"], &usage["totals"]["cost_usd"]), (&json!(3), &totals["cost_usd"]), "{usage}");
    let days = usage["days"].as_array().expect("a list");
    assert_eq!(days.iter().filter_map(|day| day["calls"].as_i64()).sum::<i64>(), 3);
    assert_eq!((&usage["agents"][0]["name"], &usage["agents"][0]["calls"]), (&json!("Ava"), &json!(3)));
    let carrier = &usage["connections"][0];
    assert_eq!((&carrier["provider"], &carrier["name"]), (&json!("simulator"), &json!("simulator")));

    let stranger = service.another_tenant().await;
    assert_eq!(stranger.get("/v1/statistics").await.1["totals"]["calls"], 0);
    assert_eq!(stranger.get("/v1/usage").await.1["agents"], json!([]));
    for wrong in [
        "statistics?interval=week",
        "statistics?after=yesterday",
        "statistics?agent_id=7",
        "statistics?after=2026-01-02T00:00:00Z&before=2026-01-01T00:00:00Z",
        "statistics?after=2026-01-01T00:00:00Z&before=2026-02-02T00:00:00Z",
        "usage?after=2024-01-01T00:00:00Z&before=2026-01-01T00:00:00Z",
    ] {
        assert_eq!(client.get(&format!("/v1/{wrong}")).await.0, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
    service.stop().await;
}

#[tokio::test]
async fn what_needs_attention_is_named_until_it_is_mended() {
    let service = TestService::start().await;
    let client = &service.client;
    assert_eq!(client.get("/v1/attention").await.1, json!({ "data": [] }));
    let agent = client.scripted_agent(json!({})).await;
    let (_, attention) = client.get("/v1/attention").await;
    assert_eq!(kinds(&attention), ["number_without_agent"]);
    assert_eq!(attention["data"][0]["subject"]["name"], "+12025550199", "{attention}");

    client.create("/v1/webhooks", json!({ "url": "http://127.0.0.1:9/hook" })).await;
    let call = client.place(&agent, REFUSED).await;
    client.wait_for_end(&call).await;
    let failing = |shown: &Value| kinds(shown).contains(&"webhook_failing".to_owned());
    let attention = client.look_until("/v1/attention", failing).await;
    assert_eq!(kinds(&attention), ["credentials_refused", "webhook_failing", "number_without_agent"]);
    let refused = &attention["data"][0];
    assert_eq!((&refused["subject"]["type"], &refused["count"]), (&json!("connection"), &json!(1)), "{refused}");
    assert!(text(&refused["detail"]).starts_with("simulator refuses the credentials of \"simulator\""), "{refused}");
    let webhook = &attention["data"][1];
    assert!(webhook["count"].as_i64().is_some_and(|waiting| waiting > 0), "{webhook}");
    assert!(text(&webhook["detail"]).starts_with("127.0.0.1"), "{webhook}");

    let connection = text(&refused["subject"]["id"]);
    let (_, tested) = client.post(&format!("/v1/connections/{connection}/test"), json!({})).await;
    assert_eq!(tested["ok"], true, "{tested}");
    assert!(!kinds(&client.get("/v1/attention").await.1).contains(&"credentials_refused".to_owned()), "it works");
    let call = client.place(&agent, REFUSED).await;
    client.wait_for_end(&call).await;
    assert!(kinds(&client.get("/v1/attention").await.1).contains(&"credentials_refused".to_owned()));
    client.patch(&format!("/v1/connections/{connection}"), json!({ "settings": { "time_scale": 0.06 } })).await;
    assert!(!kinds(&client.get("/v1/attention").await.1).contains(&"credentials_refused".to_owned()), "it was changed");

    let hooks = client.get("/v1/webhooks").await.1;
    let hook = format!("/v1/webhooks/{}", text(&hooks["data"][0]["id"]));
    client.request(Method::DELETE, &hook).send().await.expect("an answer");
    let numbers = client.get("/v1/numbers").await.1;
    let number = format!("/v1/numbers/{}", text(&numbers["data"][0]["id"]));
    client.patch(&number, json!({ "inbound_agent_id": agent.id })).await;
    assert_eq!(client.get("/v1/attention").await.1, json!({ "data": [] }), "all is mended");
    for _ in 0..8 {
        client.place(&agent, "+12025550109").await;
    }
    let (_, attention) = client.get("/v1/attention").await;
    assert_eq!(kinds(&attention), ["limit_near"]);
    assert_eq!(
        attention["data"][0]["limit"],
        json!({ "name": "concurrent_calls", "used": 8.0, "limit": 10.0 }),
        "{attention}"
    );
    assert_eq!(service.another_tenant().await.get("/v1/attention").await.1, json!({ "data": [] }));
    service.stop().await;
}
