//! TTS within the service: created from a connection, tested, and used in a call.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::Kind;
use crate::doubles::tts::{KEY, Refusal, Seen, TtsBehaviour, TtsState};
use crate::harness::{TestService, text};

const KINDS: [(Kind, &str); 4] = [
    (Kind::Cartesia, "cartesia"),
    (Kind::Deepgram, "deepgram"),
    (Kind::ElevenLabs, "elevenlabs"),
    (Kind::OpenAi, "openai"),
];

/// A number that rings and does not answer.
const NOBODY: &str = "+12025550102";

/// Creates a connection to the double of `kind`.
async fn connection(service: &TestService, kind: Kind, provider: &str, state: &TtsState) -> Value {
    let base_url = kind.serve(state).await;
    let connection = json!({
        "name": provider, "provider": provider, "settings": { "base_url": base_url }, "credentials": { "api_key": KEY },
    });
    service.client.create("/v1/connections", connection).await
}

#[tokio::test]
async fn a_connection_is_tested_by_speaking_a_word() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    for (kind, provider) in KINDS {
        let state = TtsState::default();
        let connection = connection(&service, kind, provider, &state).await;
        let test = format!("/v1/connections/{}/test", text(&connection["id"]));
        let find = |tested: &Value| {
            let checks = tested["checks"].as_array().expect("a list").clone();
            checks.into_iter().find(|check| check["name"] == "text_to_speech").expect("it was tried")
        };
        let (_, tested) = service.client.post(&test, json!({})).await;
        assert_eq!(find(&tested)["ok"], true, "{provider}: {tested}");
        assert_eq!(state.seen(|seen| seen.spoken.clone()), ["Hello."]);

        let (_, tested) = service.client.post(&test, json!({})).await;
        assert_eq!(find(&tested)["ok"], true, "{provider}: {tested}");
        if kind != Kind::OpenAi {
            assert_eq!(state.seen(|seen| seen.connections), 1, "{provider} is kept open between tests");
        }

        let refused =
            Refusal { status: 401, retry_after: None, body: json!({ "message": format!("{KEY} is unknown") }) };
        // An open socket needs no key; it ends, and the next one is refused.
        state.next(if kind == Kind::OpenAi { None } else { Some(TtsBehaviour::Die(0)) });
        state.refuse([refused]);
        let (_, tested) = service.client.post(&test, json!({})).await;
        let check = find(&tested);
        assert_eq!(
            (&check["ok"], &check["detail"]),
            (&json!(false), &json!(format!("{provider}: •••• is unknown (status 401).")))
        );
        assert_eq!(state.complaints(), Vec::<String>::new(), "{provider}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_greets_with_a_voice_of_the_cloud_and_what_was_not_heard_is_not_written_down() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let greeting = "Good evening, this is Ava from Harbor Table. ".repeat(8);
    let agent = client.scripted_agent(json!({ "greeting": { "text": greeting } })).await;
    let mut calls = Vec::new();
    for (kind, provider) in KINDS {
        let state = TtsState::default();
        let voice = connection(&service, kind, provider, &state).await;
        let tts = json!({ "tts": { "connection_id": voice["id"], "voice": "aura-ava" } });
        let (status, changed) = client.patch(&format!("/v1/agents/{}", agent.id), tts).await;
        assert_eq!(status, StatusCode::OK, "{changed}");
        // This number hangs up in the middle of a sentence.
        calls.push((client.place(&agent, "+12025550108").await, provider, state));
    }
    for (call, provider, state) in calls {
        let ended = client.wait_for_end(&call).await;
        assert_eq!(ended["end_reason"], "caller_hangup", "{provider}: {ended}");
        counted(&state, &ended).await;
        let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
        let heard = text(&transcript["data"][0]["text"]);
        assert!(greeting.starts_with(heard.trim_end()), "{provider}: {heard}");
        assert!(!heard.is_empty() && heard.len() < greeting.trim_end().len(), "{provider}: {heard}");
        assert_eq!(state.complaints(), Vec::<String>::new(), "{provider}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_when_the_caller_goes_is_stopped_and_counted() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let state = TtsState::default();
    let voice = connection(&service, Kind::Cartesia, "cartesia", &state).await;
    let agent = client.scripted_agent(json!({ "tts": { "connection_id": voice["id"] } })).await;
    let call = client.place(&agent, "+12025550109").await;
    client.wait_for(&call, |call| call["status"] == "in_progress").await;
    let words = "This is never said to its end.";
    state.always(words, TtsBehaviour::Stall(2));
    client.post(&format!("/v1/calls/{call}/say"), json!({ "text": words })).await;
    state.until("saying", |seen| seen.spoken.iter().any(|text| text == words)).await;
    client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let ended = client.wait_for_end(&call).await;
    state.until("stopping", |seen| seen.stopped == 1).await;
    counted(&state, &ended).await;
    assert_eq!(state.complaints(), Vec::<String>::new());
    service.stop().await;
}

/// Waits until the double has received as many characters as the call counts: the last requests may still be on their way.
async fn counted(state: &TtsState, ended: &Value) {
    let characters = |seen: &Seen| -> usize { seen.spoken.iter().map(|text| text.chars().count()).sum() };
    state
        .until(&format!("counting {}", ended["usage"]), |seen| ended["usage"]["tts_characters"] == characters(seen))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_that_stops_is_covered_by_phrases_from_memory_and_given_up_with_a_word() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let state = TtsState::default();
    let voice = connection(&service, Kind::Cartesia, "cartesia", &state).await;
    let agent = client.scripted_agent(json!({ "tts": { "connection_id": voice["id"] } })).await;
    let call = client.place(&agent, "+12025550109").await;
    let technical = "Sorry, I cannot go on because of a technical problem. Please call again later.";
    state.until("keeping phrases", |seen| seen.spoken.iter().any(|text| text.starts_with("Sorry, I lost"))).await;
    let kept = state.seen(|seen| seen.spoken.clone());
    assert!(kept.iter().any(|text| text == technical), "{kept:?}");
    let words = "This is never said to its end.";
    state.always(words, TtsBehaviour::Stall(2));
    let (say, path) = (format!("/v1/calls/{call}/say"), format!("/v1/calls/{call}/transcript"));
    client.post(&say, json!({ "text": words })).await;
    // One failure is tolerated.
    client.look_until(&path, |shown| shown.to_string().contains("Sorry, I lost")).await;
    client.post(&say, json!({ "text": words })).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("provider_timeout")), "{ended}");
    // What comes from memory costs nothing.
    counted(&state, &ended).await;
    let (_, transcript) = client.get(&path).await;
    let said: Vec<String> =
        transcript["data"].as_array().expect("lines").iter().map(|line| text(&line["text"])).collect();
    let lost = "Sorry, I lost my thread. Could you say that again?";
    assert_eq!(said[1..], ["One moment.", "This is", lost, "One moment.", "This is", technical]);
    let again = client.place(&agent, "+12025550109").await;
    client.wait_for(&again, |call| call["status"] == "in_progress").await;
    client.post(&format!("/v1/calls/{again}/hangup"), json!({})).await;
    client.wait_for_end(&again).await;
    let repeated = state.seen(|seen| seen.spoken.iter().filter(|text| *text == "One moment.").count());
    assert_eq!(repeated, 1, "once for all calls");
    assert_eq!(state.complaints(), Vec::<String>::new());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_voice_is_connected_to_while_the_phone_rings_and_nothing_is_spoken() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let settings = json!({ "greeting": { "mode": "wait" }, "limits": { "ring_timeout_seconds": 120 } });
    let agent = client.scripted_agent(settings).await;
    for (kind, provider) in KINDS {
        let state = TtsState::default();
        let voice = connection(&service, kind, provider, &state).await;
        let tts = json!({ "tts": { "connection_id": voice["id"] } });
        let (status, changed) = client.patch(&format!("/v1/agents/{}", agent.id), tts).await;
        assert_eq!(status, StatusCode::OK, "{changed}");
        let call = client.place(&agent, NOBODY).await;
        state.until("connecting", |seen| seen.connections == 1).await;
        client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        let ended = client.wait_for_end(&call).await;
        assert_eq!(ended["answered_at"], Value::Null, "{provider}: {ended}");
        assert_eq!((state.seen(|seen| (seen.connections, seen.spoken.len()))), (1, 0), "{provider}");
        assert_eq!(state.complaints(), Vec::<String>::new(), "{provider}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_refused_ends_the_call_before_anybody_answers() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let client = &service.client;
    let state = TtsState::default();
    let voice = connection(&service, Kind::Cartesia, "cartesia", &state).await;
    let agent = client.scripted_agent(json!({ "tts": { "connection_id": voice["id"] } })).await;
    for mode in ["speak", "wait", "generate"] {
        state.refuse([Refusal { status: 401, retry_after: None, body: json!({ "message": "Who are you?" }) }]);
        // It rings for longer than the refusal takes.
        let greeting = json!({ "greeting": { "mode": mode }, "limits": { "ring_timeout_seconds": 120 } });
        let (status, changed) = client.patch(&format!("/v1/agents/{}", agent.id), greeting).await;
        assert_eq!(status, StatusCode::OK, "{changed}");
        let call = client.place(&agent, NOBODY).await;
        let ended = client.wait_for_end(&call).await;
        let how = (&ended["status"], &ended["error_code"]);
        assert_eq!(how, (&json!("failed"), &json!("config_error")), "{mode}: {ended}");
        assert!(text(&ended["error"]).contains("Who are you?"), "{mode}: {ended}");
    }
    service.stop().await;
}
