//! How much a tenant may store.

use reqwest::StatusCode;
use serde_json::json;

use crate::harness::{TestService, text};

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
    let body =
        |bytes: usize| json!({ "name": "model", "provider": "openai", "settings": { "note": "x".repeat(bytes) } });
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
    let (status, error) = client.patch(&path, json!({ "settings": { "more": "x".repeat(100) } })).await;
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
