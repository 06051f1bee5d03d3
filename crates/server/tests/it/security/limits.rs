//! How much a tenant may store, request at once, and start.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::{Map, Value, json};
use switchhook_runtime::clock::Clock;

use crate::harness::{Client, TestService, text};

/// A number that answers and stays silent until the call is hung up.
const HOLDS: &str = "+12025550109";
/// A number that answers and ends normally at once.
const ENDS: &str = "+12025550111";

/// Asserts a 422 that names this field.
fn assert_blamed(answer: &(StatusCode, Value), field: &str) {
    let (status, error) = answer;
    assert_eq!(*status, StatusCode::UNPROCESSABLE_ENTITY, "{error}");
    assert_eq!(error["errors"][0]["path"], field, "{error}");
}

fn map(keys: usize, value: &Value) -> Value {
    (0..keys).map(|key| (format!("key-{key}"), value.clone())).collect::<Map<_, _>>().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn maps_have_at_most_50_keys_and_16_kib() {
    let (service, agent) = TestService::ready().await;
    let client = &service.client;
    let call = |field: &str, map: Value| {
        let mut call = json!({ "agent_id": agent.id, "to": ENDS, "dry_run": true });
        call[field] = map;
        call
    };
    for field in ["metadata", "variables"] {
        for fits in [map(50, &json!("x")), map(1, &json!("x".repeat(16_300)))] {
            assert_eq!(client.post("/v1/calls", call(field, fits)).await.0, StatusCode::OK, "{field}");
        }
        for wrong in [map(51, &json!("x")), map(1, &json!("x".repeat(16_384))), map(50, &json!("x".repeat(400)))] {
            assert_blamed(&client.post("/v1/calls", call(field, wrong)).await, field);
        }
    }
    let nested = map(1, &json!(vec![json!({}); 8_000]));
    assert_blamed(&client.post("/v1/calls", call("metadata", nested)).await, "metadata");

    let agents = format!("/v1/agents/{}", agent.id);
    let defaults = map(50, &json!({ "default": "x".repeat(400) }));
    assert_blamed(&client.patch(&agents, json!({ "variables": defaults })).await, "variables");
    let fits = map(50, &json!({ "default": "x".repeat(200) }));
    assert_eq!(client.patch(&agents, json!({ "variables": fits })).await.0, StatusCode::OK);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_racing_requests_20_register_a_webhook() {
    let service = TestService::start().await;
    let client = &service.client;
    let answers = join_all((0..40).map(async |n| {
        let url = format!("http://127.0.0.1:9/{n}");
        client.post("/v1/webhooks", json!({ "url": url })).await
    }))
    .await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(status, _)| *status == StatusCode::CREATED);
    assert_eq!((made.len(), refused.len()), (20, 20));
    refused.iter().for_each(|answer| assert_blamed(answer, "url"));

    let other = service.another_tenant().await;
    other.create("/v1/webhooks", json!({ "url": "http://127.0.0.1:9/" })).await;
    let gone = format!("/v1/webhooks/{}", text(&made[0].1["id"]));
    client.request(reqwest::Method::DELETE, &gone).send().await.expect("an answer");
    client.create("/v1/webhooks", json!({ "url": "http://127.0.0.1:9/" })).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_takes_a_bounded_number_of_filters() {
    let service = TestService::start().await;
    let client = &service.client;
    let metadata = |count: usize| (0..count).map(|n| format!("metadata[k{n}]=v")).collect::<Vec<_>>().join("&");
    let numbers = |count: usize| (0..count).map(|n| format!("%2B1202555{n:04}")).collect::<Vec<_>>().join(",");
    for fine in [metadata(10), format!("to={}", numbers(100)), format!("metadata[k]={}", "v".repeat(2_000))] {
        let (status, page) = client.get(&format!("/v1/calls?{fine}")).await;
        assert_eq!((status, &page["data"]), (StatusCode::OK, &json!([])), "{page}");
    }
    for (query, field) in [
        (metadata(11), "metadata"),
        (metadata(2_000), "metadata"),
        (format!("metadata[k]={}", "v".repeat(2_048)), "metadata"),
        (format!("to={}", numbers(101)), "to"),
        (format!("from={}", numbers(2_000)), "from"),
        (format!("status={}", ["queued"; 101].join(",")), "status"),
    ] {
        assert_blamed(&client.get(&format!("/v1/calls?{query}")).await, field);
    }
    // Repeated parameters form one list, with the same limit.
    assert_blamed(&client.get(&format!("/v1/calls?{}", ["status=queued"; 101].join("&"))).await, "status");
    for repeated in ["limit=1&limit=2", "cursor=x&cursor=y"] {
        let (status, error) = client.get(&format!("/v1/calls?{repeated}")).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{repeated}: {error}");
    }
    service.stop().await;
}

/// Returns every row of a list, and the number of its pages.
async fn pages(client: &Client, path: &str) -> (Vec<String>, usize) {
    let (mut ids, mut count, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let (status, page) = client.get(&format!("{path}?limit=100{cursor}")).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        assert!(page.to_string().len() < 5 << 20, "a page is of a bounded size");
        let rows = page["data"].as_array().expect("a list");
        assert!(!rows.is_empty(), "no page is empty");
        ids.extend(rows.iter().map(|row| text(&row["id"])));
        count += 1;
        assert_eq!(page["has_more"] == json!(true), !page["next_cursor"].is_null(), "{}", page["next_cursor"]);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (ids, count),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_large_rows_are_shorter_and_show_every_row_once() {
    let service = TestService::start_as(Clock::system(), |config| config.concurrent_calls = 100).await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({})).await;
    let large = "x".repeat(90_000);
    let tomorrow = Clock::system().now() + Duration::from_secs(24 * 3_600);
    let mut calls = Vec::new();
    for _ in 0..60 {
        let call = json!({
            "agent_id": agent.id, "to": ENDS, "schedule_at": tomorrow,
            "overrides": { "instructions": large }, "metadata": { "order": "7", "words": "x".repeat(16_000) },
        });
        calls.push(text(&client.create("/v1/calls", call).await["id"]));
    }
    calls.reverse();
    let (listed, count) = pages(client, "/v1/calls").await;
    assert_eq!(listed, calls);
    assert!(count > 2, "6 MB of calls stand on {count} pages");
    let by_filter: Vec<String> = {
        let (status, page) = client.get("/v1/calls?limit=100&metadata[order]=7").await;
        assert_eq!((status, &page["has_more"]), (StatusCode::OK, &json!(true)));
        page["data"].as_array().expect("a list").iter().map(|row| text(&row["id"])).collect()
    };
    assert_eq!(by_filter, calls[..by_filter.len()], "with a filter too");

    let mut agents = vec![agent.id];
    for n in 0..60 {
        let body = json!({ "name": format!("n{n}"), "instructions": large });
        agents.push(text(&client.create("/v1/agents", body).await["id"]));
    }
    agents.reverse();
    let (listed, count) = pages(client, "/v1/agents").await;
    assert!(listed == agents && count > 2, "5 MB of agents stand on {count} pages");

    let (made, _) = pages(client, "/v1/connections").await;
    let mut connections = Vec::new();
    let secrets: Map<_, _> = (0..14).map(|n| (format!("secret-{n}"), json!("x".repeat(15_000)))).collect();
    for n in 0..30 {
        let body = json!({ "name": format!("n{n}"), "provider": "openai", "credentials": secrets });
        connections.push(text(&client.create("/v1/connections", body).await["id"]));
    }
    connections.reverse();
    connections.extend(made);
    let (listed, count) = pages(client, "/v1/connections").await;
    assert!(listed == connections && count > 2, "6 MB of connections stand on {count} pages");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_every_kind_count_against_one_limit_however_many_come_at_once() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.scripted_agent(json!({})).await;
    let (_, numbers) = client.get("/v1/numbers").await;
    let number = format!("/v1/numbers/{}", text(&numbers["data"][0]["id"]));
    assert_eq!(client.patch(&number, json!({ "inbound_agent_id": agent.id })).await.0, StatusCode::OK);
    let placed = json!({ "agent_id": agent.id, "to": HOLDS });
    let arriving = json!({ "to": "+12025550199", "from": HOLDS });
    let answers = join_all((0..40).map(async |n| match n % 2 {
        0 => client.post("/v1/calls", placed.clone()).await,
        _ => client.post("/v1/simulator/inbound", arriving.clone()).await,
    }))
    .await;
    let count = |status: StatusCode| answers.iter().filter(|(answered, _)| *answered == status).count();
    assert_eq!((count(StatusCode::CREATED), count(StatusCode::TOO_MANY_REQUESTS)), (10, 30));
    assert!(answers.iter().all(|(status, body)| status.is_success() || body["code"] == "quota_exceeded"));

    let refused = client.request(reqwest::Method::POST, "/v1/simulator/inbound").json(&arriving).send().await;
    let refused = refused.expect("an answer");
    assert_eq!(
        (refused.status(), &refused.headers()["retry-after"]),
        (StatusCode::TOO_MANY_REQUESTS, &"5".parse().expect("a value"))
    );
    let (_, tenant) = client.get("/v1/tenant").await;
    assert_eq!(tenant["concurrent_calls"]["in_use"], 10, "{tenant}");
    service.stop().await;
}
