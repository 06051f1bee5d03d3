//! Calls that go well, and what is done to them.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::carriers::{Fixture, event_data};
use crate::doubles::twilio::Record;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{DialOutcome, FarEnd, Script};
use crate::harness::{deliveries_of, text};

const CALLEE: &str = "+12025550100";

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_conversation_is_held_and_every_event_is_delivered_in_order() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    stage.double.script(CALLEE, Script::with(FarEnd::Diner));
    let mut receiver = client.receiver().await;
    let call = stage.place(CALLEE).await;
    let ended = client.wait_for_end(&call).await;

    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("agent_hangup")), "{ended}");
    assert_eq!(ended["outcome"]["people"], 4, "{ended}");
    assert!(text(&ended["outcome"]["name"]).contains("Miller"), "{ended}");
    assert!(!ended["latency"].is_null(), "{ended}");
    let received = deliveries_of(&mut receiver, &call).await;
    let names: Vec<_> = received.iter().map(|delivery| delivery.event.as_str()).collect();
    assert_eq!(names, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    let hangup = &received[3].body["data"];
    assert_eq!((&hangup["cause"], &hangup["sip_code"]), (&json!("normal"), &json!(200)), "{hangup}");
    assert_eq!((&hangup["hung_up_by"], &hangup["carrier_code"]), (&json!("agent"), &json!("completed")), "{hangup}");
    let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
    let said = transcript["data"].as_array().expect("a list");
    assert!(
        said.iter().any(|line| line["role"] == "caller" && text(&line["text"]).contains("Sarah Miller")),
        "{said:?}"
    );

    let seen = stage.double.call(CALLEE);
    assert_eq!((&ended["carrier"]["call_id"], &ended["carrier"]["provider"]), (&json!(seen.sid), &json!("twilio")));
    assert_eq!(seen.events, ["initiated", "ringing", "answered", "completed"]);
    assert_eq!((seen.streams, seen.timeout), (1, Duration::from_secs(30)));
    assert!(seen.asked_to_end > 0 && seen.played > 100 && seen.marks > 0, "{seen:?}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_withdrawn_while_it_rings_and_hung_up_when_it_is_answered() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    stage.double.script(CALLEE, Script { outcome: DialOutcome::RingsOn, ..Script::default() });
    let ringing = stage.place(CALLEE).await;
    client.wait_for(&ringing, |call| !call["ringing_at"].is_null()).await;
    let answered = stage.talking("+12025550109").await;
    for call in [&ringing, &answered] {
        let (status, _) = client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        assert_eq!(status, StatusCode::OK);
    }
    for (call, reason, cause) in [(&ringing, "canceled", "canceled"), (&answered, "api_hangup", "normal")] {
        let ended = client.wait_for_end(call).await;
        assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!(reason)), "{ended}");
        assert_eq!((&ended["carrier"]["cause"], &ended["ended_by"]), (&json!(cause), &json!("api")), "{ended}");
    }
    assert_eq!(stage.double.call(CALLEE).status, "canceled");
    assert_eq!(stage.double.call("+12025550109").status, "completed");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_on_the_agent_ends_the_call() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::with(FarEnd::HangsUpAfter(Duration::from_millis(1_200))));
    let call = stage.place(CALLEE).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("caller_hangup")), "{ended}");
    assert_eq!(ended["ended_by"], "caller", "{ended}");
    assert_eq!(stage.double.call(CALLEE).asked_to_end, 0, "there was nothing left to hang up");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_transferred_to_a_number_or_a_sip_address() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    for (callee, to) in [(CALLEE, "+12025550142"), ("+12025550109", "sip:desk&bell@example.com")] {
        let call = stage.talking(callee).await;
        let (status, answer) = client.post(&format!("/v1/calls/{call}/transfer"), json!({ "to": to })).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let ended = client.wait_for_end(&call).await;
        assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
        let seen = stage.double.until(callee, "it is transferred", |call| call.dialled.is_some()).await;
        assert_eq!(seen.dialled.as_deref(), Some(to));
        assert!(seen.ended_by_us.is_none() && !seen.is_over(), "the line lives on: {seen:?}");
        stage.double.hang_up(callee);
        stage.double.until(callee, "it is over", Record::is_over).await;
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_heard_in_both_directions() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    stage.double.script("+12025550109", Script::with(FarEnd::Presses("47#")));
    let out = stage.talking(CALLEE).await;
    let (status, _) = client.post(&format!("/v1/calls/{out}/dtmf"), json!({ "digits": "12w3#" })).await;
    assert_eq!(status, StatusCode::OK);
    stage.double.until(CALLEE, "the keys are heard", |call| call.keys == "123#").await;

    let into = stage.talking("+12025550109").await;
    let pressed = |said: &serde_json::Value| {
        said["data"].as_array().is_some_and(|lines| lines.iter().any(|line| line["role"] == "caller"))
    };
    let transcript = client.look_until(&format!("/v1/calls/{into}/transcript"), pressed).await;
    let lines = transcript["data"].as_array().expect("a list");
    let keys = lines.iter().find(|line| line["role"] == "caller").expect("it was looked for");
    assert!(text(&keys["text"]).contains("47"), "{keys}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_carrier_has_not_played_yet_is_thrown_away_on_an_interruption() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let call = stage.talking(CALLEE).await;
    let path = format!("/v1/calls/{call}/say");
    let long = "The table by the window is free, and so is the one beside the fireplace, which is a little larger.";
    stage.client().post(&path, json!({ "text": long })).await;
    let before = stage.double.until(CALLEE, "it speaks", |call| call.played > 25).await;
    stage.client().post(&path, json!({ "text": "Your taxi is here.", "interrupt": true })).await;
    stage.double.until(CALLEE, "it is cleared", |call| call.clears > before.clears).await;
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn machines_that_the_carrier_tells_of_are_hung_up_on_or_hear_the_message() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    let message = "This is Harbor Table. Please call us back about your table.";
    let leave = json!({ "mode": "detect", "on_machine": "leave_message", "message": message });
    let detect = json!({ "mode": "detect" });
    let table = [
        ("+12025550111", "machine_start", &detect, Some("voicemail"), false),
        ("+12025550112", "machine_end_beep", &leave, Some("voicemail"), true),
        ("+12025550113", "machine_end_silence", &leave, Some("voicemail"), true),
        ("+12025550114", "human", &detect, None, false),
        ("+12025550115", "a new word", &leave, None, false),
    ];
    let mut calls = Vec::new();
    for (callee, answered_by, machine, _, _) in table {
        stage.double.script(callee, Script { answered_by, ..Script::default() });
        calls.push(stage.place_with(callee, json!({ "answering_machine": machine })).await);
    }
    for (call, (callee, word, machine, reason, heard)) in calls.iter().zip(table) {
        stage.double.until(callee, "it is told who answered", |call| call.answered_by == Some(word)).await;
        let awaits_end = *machine == leave;
        assert_eq!(stage.double.call(callee).awaits_end, Some(awaits_end), "{word}");
        let Some(reason) = reason else {
            client.wait_for(call, |call| call["status"] == "in_progress").await;
            client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
            let ended = client.wait_for_end(call).await;
            assert_eq!(ended["end_reason"], "api_hangup", "{word}: {ended}");
            let known = if word == "human" { json!("human") } else { json!(null) };
            assert_eq!(ended["answered_by"], known, "{word}: {ended}");
            continue;
        };
        let ended = client.wait_for_end(call).await;
        assert_eq!(
            (&ended["end_reason"], &ended["answered_by"]),
            (&json!(reason), &json!("voicemail")),
            "{word}: {ended}"
        );
        let waited = ended["duration_seconds"].as_i64() >= Some(30);
        assert!(!waited, "{word}: the message is left when the carrier says so, not when no beep has come: {ended}");
        let (_, transcript) = client.get(&format!("/v1/calls/{call}/transcript")).await;
        let lines = transcript["data"].as_array().expect("a list");
        assert_eq!(lines.iter().any(|line| line["text"] == message), heard, "{word}: {transcript}");
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_that_comes_in_the_middle_of_a_conversation_is_noted_and_changes_nothing() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    let finds_out = Arc::new(Notify::new());
    let script =
        Script { answered_by: "machine_start", finds_out: Some(finds_out.clone()), ..Script::with(FarEnd::Diner) };
    stage.double.script(CALLEE, script);
    let call = stage.place_with(CALLEE, json!({ "answering_machine": { "mode": "detect" } })).await;
    let by_agent = |lines: &Value| {
        let lines = lines["data"].as_array().expect("a list");
        lines.iter().filter(|line| line["role"] == "agent").count()
    };
    client.look_until(&format!("/v1/calls/{call}/transcript"), |lines| by_agent(lines) >= 3).await;
    finds_out.notify_one();
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["answered_by"]), (&json!("agent_hangup"), &json!("human")), "{ended}");
    assert_eq!(ended["outcome"]["people"], 4, "{ended}");
    assert_eq!(stage.double.call(CALLEE).answered_by, Some("machine_start"));
    let (_, decisions) = client.get(&format!("/v1/calls/{call}/decisions")).await;
    assert!(decisions.to_string().contains("machine_ignored"), "{decisions}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_tried_without_ringing_anybody() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    let path = format!("/v1/connections/{}", stage.set.connection);
    let (status, tried) = client.post(&format!("{path}/test"), json!({})).await;
    assert_eq!((status, &tried["ok"]), (StatusCode::OK, &json!(true)), "{tried}");
    assert!(tried.to_string().contains("Full"), "the kind of account is told: {tried}");
    client.patch(&path, json!({ "credentials": { "auth_token": "an old one" } })).await;
    let (_, tried) = client.post(&format!("{path}/test"), json!({})).await;
    assert_eq!(tried["ok"], false, "{tried}");
    let call = stage.place(CALLEE).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "carrier_unauthorized", "{ended}");
    let key = json!({ "api_key_sid": "SK00000000000000000000000000000001", "api_key_secret": "the secret of the key" });
    client.patch(&path, json!({ "credentials": key })).await;
    let (_, tried) = client.post(&format!("{path}/test"), json!({})).await;
    assert_eq!(tried["ok"], true, "a key does, whatever the token is: {tried}");
    assert_eq!(stage.double.calls(CALLEE).len(), 0);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_carrier_reports_twice_is_taken_once() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::ending("no-answer", Some(603)));
    let call = stage.place(CALLEE).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["error_code"], &ended["carrier"]["sip_code"]), (&json!("rejected"), &json!(603)), "{ended}");
    let hangup = event_data(stage.client(), &call, "carrier.hangup").await;
    assert_eq!((&hangup["cause"], &hangup["hung_up_by"]), (&json!("rejected"), &json!("carrier")), "{hangup}");
    stage.stop().await;
}
