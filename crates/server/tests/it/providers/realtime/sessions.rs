//! How sessions open, their configuration, and why they end.

use std::time::Duration;

use serde_json::json;

use super::{GREETING, SILENT, agent, goodbye, ready, said, who};
use crate::doubles::openai_realtime::{Double, KEY, Opening, Reply};
use crate::harness::{TestService, text};

/// Starts a service and an agent whose model's server gives these outcomes to connections.
async fn opening(openings: Vec<Opening>) -> (TestService, crate::harness::Agent, Double) {
    let double = Double::start_with(openings, vec![], vec![]).await;
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let agent = agent(&service.client, &double, KEY, json!({})).await;
    (service, agent, double)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_opened_yet_is_opened_a_moment_later() {
    let limited = Opening::Refused(429, Some("1"), "rate_limit_exceeded");
    let broken = Opening::Refused(500, None, "server_error");
    let full = Opening::Errs("rate_limit_exceeded", "requests");
    let moment = Duration::from_millis(200);
    for (first, least) in [(limited, Duration::from_secs(1)), (broken, moment), (full, moment)] {
        let (service, agent, double) = opening(vec![first]).await;
        let call = service.client.place(&agent, SILENT).await;
        super::wait_for_words(&service.client, &call, GREETING).await;
        let knocked = double.knocked();
        assert!(knocked.len() == 2 && knocked[1] >= least, "{knocked:?}");
        service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        service.client.wait_for_end(&call).await;
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_does_not_open_ends_the_call_with_the_reason() {
    let refused = |status, wait, code| Opening::Refused(status, wait, code);
    for (openings, code, tries) in [
        (vec![refused(429, Some("30"), "rate_limit_exceeded")], "pipeline_error", 1),
        (vec![refused(429, None, "insufficient_quota")], "config_error", 1),
        (vec![refused(404, None, "model_not_found")], "config_error", 1),
        (vec![refused(503, None, "server_error"), refused(503, None, "server_error")], "pipeline_error", 2),
        (vec![Opening::Mute], "provider_timeout", 1),
        (vec![Opening::Errs("invalid_value", "invalid_request_error")], "config_error", 1),
    ] {
        let (service, agent, double) = opening(openings).await;
        let call = service.client.place(&agent, SILENT).await;
        let ended = service.client.wait_for_end(&call).await;
        assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!(code)), "{ended}");
        assert_eq!((double.knocked().len(), double.sessions()), (tries, 0), "{ended}");
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn audio_is_a_law_in_both_directions_where_the_connection_says_so() {
    let double = Double::start(vec![Reply::Says("When would you like to come?")], vec![]).await;
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let connection = json!({
        "name": "model", "provider": "openai", "credentials": { "api_key": KEY },
        "settings": { "base_url": double.base_url(), "realtime_format": "pcma" },
    });
    let connection = text(&service.client.create("/v1/connections", connection).await["id"]);
    let changes = json!({ "greeting": { "text": GREETING }, "realtime": { "connection_id": connection }, "analysis": { "summary": false } });
    let agent = service.client.scripted_agent(changes).await;
    let call = service.client.place(&agent, "+12025550100").await;
    super::wait_for_words(&service.client, &call, "When would you like").await;
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    service.client.wait_for_end(&call).await;
    let session = &double.received("session.update")[0]["session"]["audio"];
    let formats = [&session["input"]["format"]["type"], &session["output"]["format"]["type"]];
    assert_eq!(formats, ["audio/pcma"; 2], "and the turn was heard to its end");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_that_is_not_fatal_changes_nothing() {
    let replies = vec![Reply::Stumbles("rate_limit_note", "At what time?"), goodbye()];
    let turns = vec![(4_500, 500, "A table, please."), (3_000, 500, "At seven.")];
    let (service, agent, double) = ready(replies, turns, json!({})).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], double.sessions()), (&json!("agent_hangup"), 1), "{ended}");
    assert!(said(&service.client, &call).await.iter().any(|(_, words)| words == "At what time?"));
    service.stop().await;
}

/// Local TTS fills waits when an agent names no other, and its models are not installed here.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_answers_ends_a_call_also_where_no_voice_can_speak() {
    let silent = json!({ "tts": null });
    let (service, agent, double) = ready(vec![Reply::Ignores], vec![(4_500, 500, "Hello?")], silent).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "provider_timeout", "{ended}");
    assert_eq!(who(&said(&service.client, &call).await), ["agent", "caller"], "tones are not written down");
    double.is_free().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_calls_in_before_there_is_a_session_is_greeted_when_there_is_one() {
    let (service, agent, _double) = opening(vec![Opening::Slow(Duration::from_secs(2))]).await;
    let (_, numbers) = service.client.get("/v1/numbers").await;
    let number = &numbers["data"][0];
    let path = format!("/v1/numbers/{}", text(&number["id"]));
    let (status, answer) = service.client.patch(&path, json!({ "inbound_agent_id": agent.id })).await;
    assert!(status.is_success(), "{answer}");
    let ring = json!({ "from": SILENT, "to": number["number"] });
    let call = text(&service.client.create("/v1/simulator/inbound", ring).await["id"]);
    super::wait_for_words(&service.client, &call, GREETING).await;
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    service.client.wait_for_end(&call).await;
    service.stop().await;
}
