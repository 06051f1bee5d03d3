//! Stored credentials are sent only where their owner allowed, and one tenant's connection tests do not delay those of others.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::harness::{Client, TestService, text};

async fn connection(client: &Client, provider: &str, settings: Value, credentials: Value) -> String {
    let new = json!({ "name": provider, "provider": provider, "settings": settings, "credentials": credentials });
    text(&client.create("/v1/connections", new).await["id"])
}

#[tokio::test]
async fn changing_the_credentials_destination_requires_them_again() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let model = connection(
        client,
        "openai",
        json!({ "base_url": "https://example.com/v1" }),
        json!({ "api_key": "sk-0123456789" }),
    )
    .await;
    let space = json!({ "project_id": "p-0123456789", "api_token": "t-0123456789", "signing_key": "k-0123456789" });
    let carrier = connection(client, "signalwire", json!({ "space": "ours" }), space.clone()).await;
    let open = connection(client, "local", json!({}), json!({})).await;
    let elsewhere = json!({ "base_url": "https://evil.example.com/v1" });
    for (id, settings, credentials) in [
        (&model, elsewhere.clone(), json!({})),
        (&model, elsewhere.clone(), json!({ "api_key": "••••6789" })),
        (&model, elsewhere.clone(), json!({ "other": "secret-words" })),
        (&model, json!({ "base_url": "http://example.com/v1" }), json!({})),
        (&model, json!({ "base_url": "https://example.com:8443/v1" }), json!({})),
        (&model, json!({ "base_url": null }), json!({})),
        (&carrier, json!({ "space": "theirs" }), json!({})),
        (&carrier, json!({ "space": "theirs" }), json!({ "project_id": "p", "api_token": "t" })),
        (&carrier, elsewhere.clone(), json!({})),
        (&carrier, json!({ "host": "evil.example.com" }), json!({})),
    ] {
        let patch = json!({ "settings": settings, "credentials": credentials });
        let (status, refused) = client.patch(&format!("/v1/connections/{id}"), patch.clone()).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{patch}: {refused}");
        assert_eq!(refused["errors"][0]["path"], "credentials", "{patch}: {refused}");
        assert!(text(&refused["detail"]).contains("sent again"), "{refused}");
    }
    for (id, patch) in [
        // Another path of the same server, and a setting that is not a URL.
        (&model, json!({ "settings": { "base_url": "https://EXAMPLE.com:443/v2", "model": "m" }, "name": "renamed" })),
        (&model, json!({ "settings": elsewhere, "credentials": { "api_key": "sk-9876543210" } })),
        (&model, json!({ "settings": { "base_url": "https://example.org" }, "credentials": null })),
        (&model, json!({ "settings": { "base_url": "https://example.net" } })),
        (&carrier, json!({ "settings": { "space": "theirs" }, "credentials": space })),
        (&open, json!({ "settings": { "base_url": "https://example.com" } })),
    ] {
        let (status, changed) = client.patch(&format!("/v1/connections/{id}"), patch.clone()).await;
        assert_eq!(status, StatusCode::OK, "{patch}: {changed}");
    }
    service.stop().await;
}

#[tokio::test]
async fn secrets_of_tools_that_may_go_anywhere_are_warned_of() {
    let service = TestService::start().await;
    let new = |settings: Value| json!({ "name": settings.to_string(), "provider": "http", "settings": settings, "credentials": { "X-Key": "secret" } });
    let bound = service.client.create("/v1/connections", new(json!({ "base_url": "https://example.com" }))).await;
    assert_eq!(bound["warnings"], Value::Null, "{bound}");
    let unbound = service.client.create("/v1/connections", new(json!({}))).await;
    assert!(unbound["warnings"].to_string().contains("settings.base_url"), "{unbound}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_tests_one_connection_at_a_time_and_leaves_room_for_others() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let (greedy, other) = (service.client.clone(), service.another_tenant().await);
    // Accepts connections and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/v1", silent.local_addr().expect("bound"));
    let slow = connection(&greedy, "openai", json!({ "base_url": address }), json!({ "api_key": "k" })).await;
    let path = format!("/v1/connections/{slow}/test");
    let testing = tokio::spawn({
        let (greedy, path) = (greedy.clone(), path.clone());
        async move { greedy.post(&path, json!({})).await }
    });
    let (_held, _) = silent.accept().await.expect("the test has begun");
    let again = greedy.request(reqwest::Method::POST, &path).send().await.expect("an answer");
    assert_eq!(again.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(again.headers().contains_key("retry-after"));

    let scripted = connection(&other, "scripted", json!({}), json!({})).await;
    let (status, tried) = other.post(&format!("/v1/connections/{scripted}/test"), json!({})).await;
    assert_eq!((status, &tried["ok"]), (StatusCode::OK, &json!(true)), "{tried}");
    let (status, _) = testing.await.expect("no panic");
    assert_eq!(status, StatusCode::OK);
    let (status, _) = greedy.post(&format!("/v1/connections/{scripted}/test"), json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "its turn is over, and this is another tenant's");
    service.stop().await;
}
