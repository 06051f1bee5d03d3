//! Language models over the API.

use serde_json::{Value, json};

use crate::doubles::anthropic_llm::Anthropic;
use crate::doubles::gemini_llm::Gemini;
use crate::doubles::model::{Double, KEY, Protocol, Reply, says};
use crate::doubles::openai_llm::OpenAi;
use crate::harness::{Client, TestService, text};

/// Creates a connection to a double.
async fn connect<P: Protocol>(client: &Client, provider: &str, double: &Double<P>, settings: Value) -> Value {
    let mut settings = settings;
    settings["base_url"] = json!(double.base_url());
    let connection = json!({
        "name": provider, "provider": provider, "settings": settings, "credentials": { "api_key": KEY },
    });
    client.create("/v1/connections", connection).await["id"].clone()
}

async fn is_tried<P: Protocol>(client: &Client, provider: &str, protocol: P) {
    let refusal = Reply::Refuses(401, Vec::new(), protocol.error(401, &format!("Wrong key: {KEY}")));
    let double = Double::start(protocol, vec![says("Yes."), refusal]).await;
    let id = connect(client, provider, &double, json!({ "kinds": ["llm"] })).await;
    let path = format!("/v1/connections/{}/test", text(&id));
    let (_, tested) = client.post(&path, json!({})).await;
    assert_eq!((&tested["ok"], &tested["checks"][0]["name"]), (&json!(true), &json!("language_model")), "{tested}");
    let (_, tested) = client.post(&path, json!({})).await;
    let detail = text(&tested["checks"][0]["detail"]);
    assert!(tested["ok"] == false && detail.contains("Wrong key") && !detail.contains(KEY), "{provider}: {detail}");
    let (_, changed) =
        client.patch(&format!("/v1/connections/{}", text(&id)), json!({ "settings": { "headers": 7 } })).await;
    assert_eq!(changed["settings"]["headers"], 7);
    let (_, tested) = client.post(&path, json!({})).await;
    assert!(text(&tested["checks"][0]["detail"]).contains("settings.headers"), "{tested}");
    double.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_connection_is_tried_with_a_token() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    is_tried(&service.client, "openai", OpenAi).await;
    is_tried(&service.client, "anthropic", Anthropic).await;
    is_tried(&service.client, "gemini", Gemini).await;
    service.stop().await;
}
