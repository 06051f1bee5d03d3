//! Turn-taking, and how much of the agent's audio is heard.

use serde_json::json;

use super::{GREETING, SILENT, agent, goodbye, ready, said, wait_for_words, who};
use crate::doubles::openai_realtime::{Double, Reply};
use crate::harness::{TestService, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_conversation_is_held_written_down_recorded_and_charged() {
    let questions =
        ["When would you like to come?", "At what time, please?", "And for how many people?", "Shall I book that?"];
    let replies = questions.into_iter().map(Reply::Says).chain([goodbye()]).collect();
    let (service, agent, double) = ready(replies, vec![], json!({ "recording": { "enabled": true } })).await;
    let call = service.client.place(&agent, "+12025550100").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("agent_hangup"), &json!(5)), "{ended}");

    let mut expected = vec![("agent".to_owned(), GREETING.to_owned())];
    let answers = questions.into_iter().chain(["Thank you. Goodbye."]);
    for (line, answer) in ["name", "day", "time", "people", "yes"].into_iter().zip(answers) {
        let words = switchhook_caller_audio::recording(line).expect("shipped").text;
        expected.extend([("caller".to_owned(), words.to_owned()), ("agent".to_owned(), answer.to_owned())]);
    }
    assert_eq!(said(&service.client, &call).await, expected, "in the order in which it was said");

    // The greeting and five responses, at the prices of gpt-realtime-2.
    let usage = &ended["usage"];
    let tokens =
        ["llm_input_tokens", "llm_cached_tokens", "llm_output_tokens", "audio_input_tokens", "audio_output_tokens"];
    assert_eq!(tokens.map(|name| usage[name].as_u64()), [600, 240, 60, 1_200, 180].map(Some), "{usage}");
    let each = 60.0 * 4.0 + 40.0 * 0.4 + 10.0 * 24.0 + 150.0 * 32.0 + 50.0 * 0.4 + 30.0 * 64.0;
    let cost = usage["cost_usd"].as_f64().expect("a number") * 1_000_000.0;
    assert!((cost - 6.0 * each).abs() < 1e-3 && usage["unpriced"] == false, "{usage}");
    let latency = &ended["latency"];
    assert_eq!(latency["response_ms"]["n"], 5, "{latency}");
    assert!(latency["greeting_ms"].is_u64(), "{latency}");
    assert!(ended["recording_url"].is_string(), "{ended}");
    let session = &double.received("session.update")[0]["session"];
    assert_eq!(
        (&session["audio"]["output"]["voice"], &session["tools"][0]["name"]),
        (&json!("cedar"), &json!("end_call"))
    );
    double.is_free().await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_interrupts_hears_no_more_and_the_model_knows_what_was_heard() {
    let long = "We have tables at six, at seven, at eight and at nine, inside, outside, and at the bar, which is the nicest place of all.";
    let turns = vec![(5_000, 400, "What do you have?"), (3_000, 600, "Seven, please.")];
    let (service, agent, double) = ready(vec![Reply::Says(long), goodbye()], turns, json!({})).await;
    let call = service.client.place(&agent, SILENT).await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("agent_hangup"), &json!(2)), "{ended}");

    let lines = said(&service.client, &call).await;
    assert_eq!(who(&lines), ["agent", "caller", "agent\u{2026}", "caller", "agent"], "{lines:?}");
    let heard = &lines[2].1;
    assert!(long.starts_with(heard.as_str()), "{heard}");
    let truncated = double.received("conversation.item.truncate");
    let [truncated] = &truncated[..] else { panic!("{truncated:?}") };
    let heard_ms = truncated["audio_end_ms"].as_u64().expect("a number");
    let said_by_then = long.chars().take(usize::try_from(heard_ms).expect("small") / 60).collect::<String>();
    assert!(heard.len() <= said_by_then.len() && heard.len() + 12 > said_by_then.len(), "{heard} of {said_by_then}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_interrupt_is_answered_afterwards_and_the_greeting_can_be_protected() {
    let protected = json!({ "greeting": { "text": GREETING, "interruptible": false } });
    let turns = vec![(1_000, 600, "never heard"), (4_500, 500, "Hello?")];
    let (service, agent, double) = ready(vec![goodbye()], turns, protected).await;
    let call = service.client.place(&agent, SILENT).await;
    wait_for_words(&service.client, &call, GREETING).await;
    assert_eq!(double.received("conversation.item.truncate"), Vec::<serde_json::Value>::new());
    let lines = said(&service.client, &call).await;
    assert!(who(&lines).iter().all(|who| *who != "agent\u{2026}"), "{lines:?}");
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    service.client.wait_for_end(&call).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_has_things_said_and_a_silent_caller_is_asked_and_let_go() {
    let silence = json!({ "silence": { "reprompt_after_seconds": 2, "max_reprompts": 1, "hangup_after_seconds": 6 } });
    let (service, agent, double) = ready(vec![Reply::Says("Are you there?")], vec![], silence).await;
    let call = service.client.place(&agent, SILENT).await;
    wait_for_words(&service.client, &call, GREETING).await;
    let (status, answer) =
        service.client.post(&format!("/v1/calls/{call}/say"), json!({ "text": "Your table is free." })).await;
    assert!(status.is_success(), "{answer}");
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("silence"), &json!(0)), "{ended}");
    let lines: Vec<String> = said(&service.client, &call).await.into_iter().map(|(_, words)| words).collect();
    assert_eq!(lines, [GREETING, "Your table is free.", "Are you there?"]);
    assert_eq!(double.received("response.create").len(), 3);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_tried_and_must_offer_speech_to_speech() {
    let (service, _, double) = ready(vec![], vec![], json!({})).await;
    let (_, connections) = service.client.get("/v1/connections").await;
    let id = |name: &str| {
        let all = connections["data"].as_array().expect("a list");
        text(&all.iter().find(|connection| connection["name"] == name).expect("there is one")["id"])
    };
    let (_, tried) = service.client.post(&format!("/v1/connections/{}/test", id("model")), json!({})).await;
    let check = tried["checks"].as_array().expect("a list").iter().find(|check| check["name"] == "speech_to_speech");
    assert_eq!(check.map(|check| &check["ok"]), Some(&json!(true)), "{tried}");
    double.is_free().await;

    let other = json!({ "name": "x", "instructions": "x", "realtime": { "connection_id": id("scripted") } });
    let (status, error) = service.client.post("/v1/agents", other).await;
    assert_eq!((status.as_u16(), &error["errors"][0]["path"]), (422, &json!("realtime.connection_id")), "{error}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_key_fails_the_call_before_it_is_answered() {
    let double = Double::start(vec![], vec![]).await;
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let patient = json!({ "limits": { "ring_timeout_seconds": 120 } });
    let agent = agent(&service.client, &double, "sk-wrong", patient).await;
    // The number never answers, so the call cannot be answered before the refusal is read.
    let call = service.client.place(&agent, "+12025550102").await;
    let ended = service.client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("config_error")), "{ended}");
    let words = ended["error"].as_str().unwrap_or_default();
    assert!(words.contains("Incorrect API key") && !words.contains("sk-wrong"), "{ended}");
    assert_eq!((double.sessions(), &ended["answered_at"]), (0, &json!(null)));
    service.stop().await;
}
