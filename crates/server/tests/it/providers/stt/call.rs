//! Whole calls, over the API.

use serde_json::{Value, json};

use super::caller::text;
use crate::doubles::deepgram_stt::Nova;
use crate::doubles::stt::{SttBehaviour, SttServer};
use crate::harness::{self, Agent, Client, TestService};

pub(super) const LOOPBACK: &str = "127.0.0.0/8,http";

/// Creates an agent that transcribes with Deepgram and is scripted otherwise.
async fn agent(client: &Client, double: &SttServer, key: &str) -> (Agent, Value) {
    let connection = json!({
        "name": "stt", "provider": "deepgram", "settings": { "base_url": double.url() }, "credentials": { "api_key": key },
    });
    let connection = client.create("/v1/connections", connection).await;
    let stt = json!({ "connection_id": connection["id"] });
    let agent = client.scripted_agent(json!({ "stt": stt, "limits": { "ring_timeout_seconds": 120 } })).await;
    (agent, connection)
}

#[tokio::test]
async fn a_conversation_is_held_over_a_provider_in_the_cloud() {
    let service = TestService::start_allowing(LOOPBACK).await;
    let double = SttServer::start([], Nova::default).await;
    let (agent, connection) = agent(&service.client, &double, "dg-key").await;
    let (_, tried) =
        service.client.post(&format!("/v1/connections/{}/test", connection["id"].as_str().unwrap()), json!({})).await;
    // The connection does not offer text to speech.
    let mut checks = tried["checks"].as_array().expect("a list").iter();
    assert!(checks.any(|check| check["name"] == "speech_to_text" && check["ok"] == true), "{tried}");

    let call = service.client.place(&agent, "+12025550100").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let (_, transcript) = service.client.get(&format!("/v1/calls/{call}/transcript")).await;
    let said: Vec<&str> =
        transcript["data"].as_array().unwrap().iter().filter_map(|line| line["text"].as_str()).collect();
    for line in ["name", "day"] {
        assert!(said.contains(&text(line)), "{line}: {said:?}");
    }
    assert_eq!(
        double.complaints(),
        ["404: there is no /v1/speak"],
        "only the test of the connection wants it to speak"
    );
    service.stop().await;
}

#[tokio::test]
async fn refused_key_ends_the_call_with_config_error() {
    let service = TestService::start_allowing(LOOPBACK).await;
    let double = SttServer::start([], Nova::default).await;
    let (agent, _) = agent(&service.client, &double, "wrong-key").await;
    let call = service.client.place(&agent, "+12025550100").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("config_error")), "{ended}");
    let words = ended["error"].as_str().unwrap_or_default();
    assert!(words.contains("Invalid credentials.") && !words.contains("wrong-key"), "{ended}");
    service.stop().await;
}

#[tokio::test]
async fn refused_message_fails_the_call_before_it_is_answered() {
    let service = TestService::start_allowing(LOOPBACK).await;
    let error = r#"{"type":"Error","variant":"SchemaError","description":"Could not parse your message."}"#;
    let double = SttServer::start([SttBehaviour::Ends(1, error, 4400)], Nova::default).await;
    let (agent, _) = agent(&service.client, &double, "dg-key").await;
    // The number never answers, so the call cannot be answered before the refusal is read.
    let call = service.client.place(&agent, "+12025550102").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["error_code"], &ended["answered_at"]), (&json!("config_error"), &json!(null)), "{ended}");
    assert!(ended["error"].as_str().is_some_and(|words| words.contains("Could not parse")), "{ended}");
    assert_eq!(double.connections(), 1);
    service.stop().await;
}

#[tokio::test]
async fn a_call_that_arrives_is_answered_when_the_agent_can_hear() {
    let service = TestService::start_allowing(LOOPBACK).await;
    let busy = SttBehaviour::Refuses(429, vec![("retry-after", "1")], r#"{"err_msg":"Too many requests."}"#);
    let double = SttServer::start([busy, SttBehaviour::Well], Nova::default).await;
    let (agent, _) = agent(&service.client, &double, "dg-key").await;
    let (_, numbers) = service.client.get("/v1/numbers").await;
    let number = format!("/v1/numbers/{}", harness::text(&numbers["data"][0]["id"]));
    service.client.patch(&number, json!({ "inbound_agent_id": agent.id })).await;
    let ring = json!({ "to": numbers["data"][0]["number"], "from": "+12025550100" });
    let call = harness::text(&service.client.create("/v1/simulator/inbound", ring).await["id"]);
    let answered = service.client.wait_for(&call, |call| !call["answered_at"].is_null()).await;
    assert_eq!(double.connections(), 2, "{answered}");
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    service.client.wait_for_end(&call).await;
    service.stop().await;
}
