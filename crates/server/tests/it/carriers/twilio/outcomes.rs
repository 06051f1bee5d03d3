//! Calls that fail: what the carrier says, and which of the eleven codes it becomes.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use switchhook_core::Timestamp;
use switchhook_runtime::clock::Clock;
use tokio::net::TcpListener;

use crate::carriers::{Fixture, event_data};
use crate::doubles::twilio::Record;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Answer, Delivery, DialOutcome, FarEnd, MediaBehaviour, Script};
use crate::harness::text;

const CALLEE: &str = "+12025550100";

fn failed(sip: Option<u16>, error: Option<u32>) -> Script {
    Script { outcome: DialOutcome::Ends { status: "failed", sip, error }, ..Script::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_of_an_unanswered_call_has_its_code() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let table = [
        (Script::ending("busy", Some(486)), "busy", "busy"),
        (Script::ending("busy", None), "busy", "busy"),
        (Script::ending("busy", Some(603)), "rejected", "rejected"),
        (Script::ending("no-answer", Some(487)), "no_answer", "no_answer"),
        (Script::ending("no-answer", Some(603)), "rejected", "rejected"),
        (Script::ending("no-answer", None), "no_answer", "no_answer"),
        (failed(Some(404), None), "invalid_number", "invalid_number"),
        (failed(None, Some(13_224)), "invalid_number", "invalid_number"),
        (failed(Some(480), None), "no_answer", "no_answer"),
        (failed(Some(486), None), "busy", "busy"),
        (failed(Some(603), None), "rejected", "rejected"),
        (failed(Some(503), None), "carrier_error", "failed"),
        (failed(Some(407), None), "carrier_unauthorized", "failed"),
        (failed(None, None), "carrier_error", "failed"),
        (Script::ending("canceled", Some(487)), "no_answer", "canceled"),
        (Script { delivery: Delivery::Chaotic, ..Script::ending("busy", Some(486)) }, "busy", "busy"),
    ];
    let mut calls = Vec::new();
    for (number, (script, code, cause)) in (2_025_550_110_u64..).zip(table) {
        let number = format!("+1{number}");
        stage.double.script(&number, script.clone());
        calls.push((stage.place(&number).await, number, script, code, cause));
    }
    for (call, number, script, code, cause) in calls {
        let ended = stage.client().wait_for_end(&call).await;
        let (said, reported) = (&ended["error_code"], &ended["carrier"]["cause"]);
        assert_eq!((said, reported), (&json!(code), &json!(cause)), "{:?}: {ended}", script.outcome);
        let DialOutcome::Ends { status, sip, error } = script.outcome else { panic!("all of them end") };
        let hangup = event_data(stage.client(), &call, "carrier.hangup").await;
        let raw = error.map_or_else(|| status.to_owned(), |code| code.to_string());
        assert_eq!((&hangup["sip_code"], &hangup["carrier_code"]), (&json!(sip), &json!(raw)), "{hangup}");
        assert_eq!((stage.double.asked(&number), stage.double.calls(&number).len()), (1, 1), "{:?}", script.outcome);
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refused_dial_has_its_error_code_and_never_rings() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let table = [
        (Answer::Refuses(401, 20_003), "carrier_unauthorized"),
        (Answer::Refuses(403, 20_003), "carrier_unauthorized"),
        (Answer::Refuses(403, 20_005), "carrier_error"),
        (Answer::Refuses(400, 21_211), "invalid_number"),
        (Answer::Refuses(400, 21_214), "invalid_number"),
        (Answer::Refuses(400, 21_215), "carrier_error"),
        (Answer::Refuses(400, 21_219), "carrier_error"),
        // Its outcome is unknown, so it is not asked for again.
        (Answer::Fails, "carrier_error"),
        (Answer::TooMany(u32::MAX), "carrier_error"),
    ];
    let mut calls = Vec::new();
    for (number, (answer, code)) in (2_025_550_110_u64..).zip(table) {
        let number = format!("+1{number}");
        stage.double.script(&number, Script::answering(answer));
        calls.push((stage.place_with(&number, json!({ "ring_timeout_seconds": 5 })).await, number, answer, code));
    }
    for (call, number, answer, code) in calls {
        let ended = stage.client().wait_for_end(&call).await;
        assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!(code)), "{answer:?}: {ended}");
        assert_eq!(stage.double.calls(&number).len(), 0, "{answer:?}");
        let again = matches!(answer, Answer::TooMany(_));
        assert_eq!(stage.double.asked(&number) > 1, again, "{answer:?}: only who has no room is asked again");
        if let Answer::Refuses(_, carriers_code) = answer {
            assert!(text(&ended["error"]).contains(&carriers_code.to_string()), "{ended}");
        }
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_rings_on_is_no_answer_and_a_line_without_audio_no_media() {
    let stage = Fixture::with(Flavour::Twilio, |config| config.media_timeout = Duration::from_secs(2)).await;
    stage.double.script(CALLEE, Script { outcome: DialOutcome::RingsOn, ..Script::default() });
    stage.double.script("+12025550105", Script::with_media(MediaBehaviour::Never));
    let unanswered = stage.place_with(CALLEE, json!({ "ring_timeout_seconds": 5 })).await;
    let silent = stage.place("+12025550105").await;
    assert_eq!(stage.client().wait_for_end(&unanswered).await["error_code"], "no_answer");
    assert_eq!(stage.double.call(CALLEE).timeout, Duration::from_secs(5));
    assert_eq!(stage.client().wait_for_end(&silent).await["error_code"], "no_media");
    let hung_up = |call: &Record| call.is_over() && call.ended_by_us.is_some();
    stage.double.until("+12025550105", "it is hung up", hung_up).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_or_fails_on_our_side_has_its_code_too() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    // Its local speech is not installed.
    let mute = client.create("/v1/agents", json!({ "name": "Mute", "instructions": "Talk." })).await;
    let request = json!({ "agent_id": mute["id"], "to": "+12025550101" });
    let no_speech = text(&client.create("/v1/calls", request).await["id"]);
    assert_eq!(client.wait_for_end(&no_speech).await["error_code"], "config_error");

    // It takes connections and never says a word.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
    let connection = json!({
        "name": "slow", "provider": "openai", "settings": { "base_url": base_url }, "credentials": { "api_key": "k" },
    });
    let slow = client.create("/v1/connections", connection).await;
    let (_, mut agent) = client.get(&format!("/v1/agents/{}", stage.set.agent.id)).await;
    agent["name"] = json!("Slow");
    agent["llm"] = json!({ "connection_id": slow["id"], "model": "any" });
    let slow = client.create("/v1/agents", agent).await;
    stage.double.script(CALLEE, Script::with(FarEnd::Diner));
    let request = json!({ "agent_id": slow["id"], "to": CALLEE });
    let unanswered = text(&client.create("/v1/calls", request).await["id"]);

    let left = stage.talking("+12025550109").await;
    stage.service.abandon(&left);
    assert_eq!(client.wait_for_end(&left).await["error_code"], "pipeline_error");
    let found = |call: &Record| call.is_over() && call.asked_to_end > 0;
    stage.double.until("+12025550109", "whoever finds it hangs it up", found).await;
    let ended = client.wait_for_end(&unanswered).await;
    assert_eq!(ended["error_code"], "provider_timeout", "{ended}");
    stage.double.until(CALLEE, "it is hung up", found).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn call_waiting_too_long_for_capacity_is_not_dialled() {
    let clock = Clock::manual(Timestamp::parse("2026-01-05T12:00:00Z").expect("a time"));
    let stage = Fixture::by(clock.clone(), Flavour::Twilio, |_| {}).await;
    let client = stage.client();
    let one = json!({ "limits": { "max_concurrent": 1 } });
    let (status, _) = client.patch(&format!("/v1/connections/{}", stage.set.connection), one).await;
    assert_eq!(status, StatusCode::OK);
    let first = stage.talking("+12025550109").await;
    let second = stage.place(CALLEE).await;
    clock.advance(Duration::from_secs(301));
    client.post(&format!("/v1/calls/{first}/hangup"), json!({})).await;
    assert_eq!(client.wait_for_end(&second).await["error_code"], "unknown_error");
    assert_eq!(stage.double.asked(CALLEE), 0);
    client.wait_for_end(&first).await;
    stage.stop().await;
}
