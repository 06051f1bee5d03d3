//! How much a tenant may store.

use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use switchhook::store::bounds::Stored;
use switchhook::store::tenants;
use switchhook_core::Timestamp;

use crate::harness::{Client, TestService, text};

/// Creates one of a kind of resource.
type Make = fn(usize, &Value) -> (&'static str, Value);

async fn tenant_of(client: &Client) -> Value {
    client.get("/v1/tenant").await.1
}

/// Sets a limit as `switchhook tenant set` does.
async fn set(service: &TestService, of: Stored, limit: i64) {
    let tenant = text(&tenant_of(&service.client).await["id"]).parse().expect("an id");
    let mut tx = service.store().begin().await.expect("a transaction");
    tenants::set_bounds_for_operator(&mut tx, tenant, &[(of, Some(limit))], Timestamp::from_micros(1))
        .await
        .expect("set");
    tx.commit().await.expect("committed");
}

/// Asserts a 422 that names the field and what the operator can do.
fn assert_refused(answer: &(StatusCode, Value), of: Stored, words: &str) {
    let (status, error) = answer;
    let bound = of.bound();
    assert_eq!(*status, StatusCode::UNPROCESSABLE_ENTITY, "{error}");
    assert_eq!(error["errors"][0]["path"], bound.field, "{error}");
    let message = text(&error["errors"][0]["message"]);
    assert!(message.contains(words) && message.contains(&format!("--{} N", bound.option)), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_racing_requests_as_many_succeed_as_the_limit_allows() {
    let service = TestService::start().await;
    let client = &service.client;
    let carrier = client.create("/v1/connections", json!({ "name": "carrier", "provider": "simulator" })).await;
    let table: [(Stored, Make); 6] = [
        (Stored::Agents, |n, _| ("/v1/agents", json!({ "name": format!("Ava {n}"), "instructions": "Hi." }))),
        (Stored::Connections, |n, _| ("/v1/connections", json!({ "name": format!("n{n}"), "provider": "scripted" }))),
        (Stored::Numbers, |n, carrier| {
            ("/v1/numbers", json!({ "number": format!("+120255501{n:02}"), "connection_id": carrier["id"] }))
        }),
        (Stored::Webhooks, |n, _| ("/v1/webhooks", json!({ "url": format!("http://127.0.0.1:9/{n}") }))),
        (Stored::People, |n, _| ("/v1/people", json!({ "email": format!("ana{n}@example.com") }))),
        (Stored::ApiKeys, |n, _| ("/v1/api-keys", json!({ "name": format!("key {n}") }))),
    ];
    for (of, make) in table {
        set(&service, of, 5).await;
        let there = tenant_of(client).await["stored"][of.bound().name]["in_use"].as_u64().expect("a number");
        let answers = join_all((0..12).map(async |n| {
            let (path, body) = make(n, &carrier);
            client.post(path, body).await
        }))
        .await;
        let (made, refused): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|(status, _)| *status == StatusCode::CREATED);
        assert_eq!(made.len() as u64 + there, 5, "{of:?}: {refused:?}");
        refused.iter().for_each(|answer| assert_refused(answer, of, "5 of 5 in use"));
        let stored = &tenant_of(client).await["stored"][of.bound().name];
        assert_eq!(*stored, json!({ "limit": 5, "in_use": 5 }), "{of:?}");

        let (path, body) = make(50, &carrier);
        let gone = format!("{path}/{}", text(&made[0].1["id"]));
        client.request(Method::DELETE, &gone).send().await.expect("an answer");
        client.create(path, body).await;
    }
    let other = service.another_tenant().await;
    other.create("/v1/agents", json!({ "name": "Ava", "instructions": "Hi." })).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_changes_of_an_agent_do_not_store_more_bytes_than_the_limit() {
    const LIMIT: i64 = 60_000;
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.create("/v1/agents", json!({ "name": "Ava", "instructions": "Hi." })).await;
    let path = format!("/v1/agents/{}", text(&agent["id"]));
    set(&service, Stored::AgentBytes, LIMIT).await;
    let patch = |n: usize| json!({ "instructions": format!("{n} {}", "x".repeat(10_000)) });
    let answers = join_all((0..12).map(|n| client.patch(&path, patch(n)))).await;
    let refused: Vec<_> = answers.iter().filter(|(status, _)| *status != StatusCode::OK).collect();
    assert!((6..12).contains(&refused.len()), "{answers:?}");
    refused.iter().for_each(|answer| assert_refused(answer, Stored::AgentBytes, "of 60000 in use"));
    let (_, shown) = client.get(&path).await;
    assert_eq!(shown["version"], 13 - refused.len(), "what is refused is not stored");
    let in_use = tenant_of(client).await["stored"]["agent_bytes"]["in_use"].as_i64().expect("a number");
    assert!((LIMIT - 15_000..=LIMIT).contains(&in_use), "{in_use}");
    assert_refused(&client.post("/v1/agents", patch_of_new(&patch(1))).await, Stored::AgentBytes, "in use");
    service.stop().await;
}

fn patch_of_new(fields: &Value) -> Value {
    let mut agent = fields.clone();
    agent["name"] = json!("Eve");
    agent
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_has_at_most_256_kib_and_the_largest_field_is_named() {
    let service = TestService::start().await;
    let client = &service.client;
    let tools = |count: usize| {
        let tool = |n: usize| {
            json!({ "type": "http", "name": format!("t{n}"), "description": "x".repeat(15_000),
                "url": "https://example.com/", "parameters": { "type": "object" } })
        };
        (0..count).map(tool).collect::<Vec<_>>()
    };
    let body = |count: usize| json!({ "name": "Ava", "instructions": "y".repeat(20_000), "tools": tools(count) });
    let (status, error) = client.post("/v1/agents", body(20)).await;
    assert_eq!((status, &error["errors"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("tools")), "{error}");
    let message = text(&error["errors"][0]["message"]);
    assert!(message.starts_with("takes 30") && message.ends_with("an agent has at most 262144"), "{message}");

    let agent = client.create("/v1/agents", body(10)).await;
    let path = format!("/v1/agents/{}", text(&agent["id"]));
    let (status, error) = client.patch(&path, json!({ "tools": tools(16), "language": "en-GB" })).await;
    assert_eq!((status, &error["errors"][0]["path"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("tools")), "{error}");
    assert_eq!(client.get(&path).await.1["version"], 1);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_a_connection_have_at_most_16_kib() {
    let service = TestService::start().await;
    let client = &service.client;
    let body = |bytes: usize| json!({ "name": "model", "provider": "openai", "settings": { "request": { "note": "x".repeat(bytes) } } });
    let (status, error) = client.post("/v1/connections", body(16_384)).await;
    assert_eq!(
        (status, &error["errors"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("settings")),
        "{error}"
    );
    let mut fits = body(16_300);
    fits["credentials"] = json!({ "api_key": "sk-0123456789" });
    let made = client.create("/v1/connections", fits).await;
    let path = format!("/v1/connections/{}", text(&made["id"]));
    let (status, error) = client.patch(&path, json!({ "settings": { "request": { "more": "x".repeat(100) } } })).await;
    assert_eq!(
        (status, &error["errors"][0]["path"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("settings")),
        "{error}"
    );
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_of_a_connection_that_changes_nothing_writes_nothing() {
    let service = TestService::start().await;
    let client = &service.client;
    let body = json!({ "name": "model", "provider": "openai", "settings": { "model": "gpt" },
        "credentials": { "api_key": "sk-0123456789" }, "limits": { "max_concurrent": 3 } });
    let made = client.create("/v1/connections", body.clone()).await;
    let path = format!("/v1/connections/{}", text(&made["id"]));
    let same = json!({ "name": "model", "settings": { "model": "gpt" }, "credentials": made["credentials"] });
    for patch in [json!({}), same, body] {
        let (status, patched) = client.patch(&path, patch).await;
        assert_eq!((status, &patched["updated_at"]), (StatusCode::OK, &made["updated_at"]), "{patched}");
    }
    let mut before = made;
    for patch in [
        json!({ "name": "Model" }),
        json!({ "settings": { "model": "gpt-5" } }),
        json!({ "limits": { "max_concurrent": 4 } }),
        json!({ "credentials": { "api_key": "sk-9876543210" } }),
    ] {
        let (_, patched) = client.patch(&path, patch.clone()).await;
        assert_ne!(patched["updated_at"], before["updated_at"], "{patch}");
        before = patched;
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_was_pruned_is_as_one_that_never_was() {
    let service = TestService::start().await;
    let client = &service.client;
    let agent = client.create("/v1/agents", json!({ "name": "Ava", "instructions": "Hi." })).await;
    let path = format!("/v1/agents/{}", text(&agent["id"]));
    for n in 0..101 {
        assert_eq!(client.patch(&path, json!({ "instructions": format!("Hi {n}.") })).await.0, StatusCode::OK);
    }
    let never = client.get(&format!("{path}/versions/900")).await;
    assert_eq!(never.0, StatusCode::NOT_FOUND);
    for version in [1, 2] {
        let (status, gone) = client.get(&format!("{path}/versions/{version}")).await;
        assert_eq!((status, &gone["detail"]), (StatusCode::NOT_FOUND, &never.1["detail"]));
        let (status, _) = client.post(&format!("{path}/versions/{version}/restore"), json!({})).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
    let (_, page) = client.get(&format!("{path}/versions?limit=100")).await;
    assert_eq!((page["data"].as_array().map(Vec::len), &page["has_more"]), (Some(100), &json!(false)));
    let (status, restored) = client.post(&format!("{path}/versions/3/restore"), json!({})).await;
    assert_eq!((status, &restored["version"]), (StatusCode::OK, &json!(103)));
    service.stop().await;
}
