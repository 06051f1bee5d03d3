//! Calls to the account's numbers.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::carriers::{Fixture, event_data};
use crate::doubles::twilio::OWN;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{FarEnd, Script};
use crate::harness::process::json_of;
use crate::harness::{private_folder, text};

const CALLER: &str = "+12025550100";

async fn calls(stage: &Fixture) -> Vec<Value> {
    let (_, calls) = stage.client().get("/v1/calls").await;
    calls["data"].as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_calls_a_number_is_answered_by_its_agent() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let voice = stage.answer_calls().await;
    stage.double.script(CALLER, Script::with(FarEnd::Diner));
    let answered = stage.double.call_in(&voice, CALLER, OWN).await;
    assert_eq!(answered.status, StatusCode::OK, "{answered:?}");
    let call = text(&calls(&stage).await[0]["id"]);
    let ended = stage.client().hang_up_after(&call, 2).await;
    assert_eq!((&ended["direction"], &ended["from"], &ended["to"]), (&json!("inbound"), &json!(CALLER), &json!(OWN)));
    assert_eq!(ended["carrier"]["call_id"], answered.call, "{ended}");
    let events = stage.client().event_names(&call).await;
    assert_eq!(events, ["call.received", "call.in_progress", "carrier.hangup", "call.completed"]);
    let hangup = event_data(stage.client(), &call, "carrier.hangup").await;
    assert_eq!((&hangup["cause"], &hangup["hung_up_by"]), (&json!("normal"), &json!("api")), "{hangup}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_without_a_number_who_hangs_up_is_reported_too() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let voice = stage.answer_calls().await;
    stage.double.script("anonymous", Script::with(FarEnd::HangsUpAfter(Duration::from_millis(800))));
    let answered = stage.double.call_in(&voice, "anonymous", OWN).await;
    assert_eq!(answered.status, StatusCode::OK, "{answered:?}");
    let call = text(&calls(&stage).await[0]["id"]);
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["from"]), (&json!("caller_hangup"), &json!("anonymous")), "{ended}");
    assert!(!event_data(stage.client(), &call, "carrier.hangup").await["cause"].is_null());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_announced_twice_is_one_call() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let voice = stage.answer_calls().await;
    let first = stage.double.call_in(&voice, CALLER, OWN).await;
    let again = stage.double.announce_again(&voice, &first.call).await;
    assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body), "it is told the same");
    let all = calls(&stage).await;
    assert_eq!(all.len(), 1, "{all:?}");
    let call = text(&all[0]["id"]);
    stage.client().wait_for(&call, |call| call["status"] == "in_progress").await;
    stage.double.hang_up(CALLER);
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn inbound_calls_without_an_agent_or_a_free_line_are_rejected() {
    let stage = Fixture::with(Flavour::Twilio, |config| config.concurrent_calls = 1).await;
    let voice = stage.answer_calls().await;
    let no_agent = json!({ "inbound_agent_id": null });
    stage.client().patch(&format!("/v1/numbers/{}", stage.set.number), no_agent).await;
    let unserved = stage.double.call_in(&voice, CALLER, OWN).await;
    assert_eq!(stage.double.rejects(&unserved.body), Some(false), "no agent: {unserved:?}");
    let unknown = stage.double.call_in(&voice, "+12025550102", "+12025550198").await;
    assert_eq!(stage.double.rejects(&unknown.body), Some(false), "no such number: {unknown:?}");
    assert_eq!(calls(&stage).await.len(), 0);

    stage.answer_calls().await;
    let busy = stage.talking("+12025550109").await;
    let one_too_many = stage.double.call_in(&voice, "+12025550101", OWN).await;
    assert_eq!(stage.double.rejects(&one_too_many.body), Some(true), "{one_too_many:?}");
    assert_eq!(stage.double.until("+12025550101", "it is over", |call| call.is_over()).await.status, "busy");
    assert_eq!(calls(&stage).await.len(), 1, "only the one that we placed");
    stage.client().post(&format!("/v1/calls/{busy}/hangup"), json!({})).await;
    stage.client().wait_for_end(&busy).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_is_pointed_at_us_where_that_is_wanted() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    assert_eq!(stage.double.inbound_urls(OWN), Some((String::new(), String::new())), "not unless that is asked for");
    let voice = stage.answer_calls().await;
    let (_, number) = client.get(&format!("/v1/numbers/{}", stage.set.number)).await;
    assert_eq!(number["inbound_url"], json!(voice), "{number}");
    assert_eq!(stage.double.inbound_urls(OWN), Some((voice.clone(), voice.replace("/voice", "/status"))));
    let other = json!({ "number": "+12025550198", "connection_id": stage.set.connection, "configure_carrier": true });
    let other = client.create("/v1/numbers", other).await;
    assert!(text(&other["warnings"][0]).contains("not on the account"), "{other}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_of_a_file_is_pointed_at_the_service() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let (_, carrier) = stage.client().get(&format!("/v1/connections/{}", stage.set.connection)).await;
    let (folder, name) = (private_folder(), text(&carrier["name"]));
    let file = folder.path().join("numbers.yaml");
    let number = json!({ "number": OWN, "connection": name, "agent": "Ava", "configure_carrier": true });
    std::fs::write(&file, json!({ "numbers": [number] }).to_string()).expect("JSON is YAML");
    let apply = || {
        let mut command = stage.service.command();
        command.env("SWITCHHOOK_OUTBOUND_ALLOW", "127.0.0.0/8,http").env("SWITCHHOOK_PUBLIC_URL", &stage.client().base);
        json_of(command.args(["apply", "--json", "-f"]).arg(&file))
    };
    assert_eq!(apply()["changed"][0]["fields"], json!(["agent"]));
    let (_, number) = stage.client().get(&format!("/v1/numbers/{}", stage.set.number)).await;
    let urls = stage.double.inbound_urls(OWN).expect("it is the account's");
    assert_eq!(json!(urls.0), number["inbound_url"], "{number}");
    assert_eq!(apply()["unchanged"], 1);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_of_an_application_or_a_trunk_is_taken_over() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let stage = Fixture::new(flavour).await;
        for to_a_trunk in [false, true, false] {
            stage.double.occupy(to_a_trunk);
            let voice = stage.answer_calls().await;
            let (_, number) = stage.client().get(&format!("/v1/numbers/{}", stage.set.number)).await;
            assert_eq!(number["inbound_url"], json!(voice), "{flavour:?}, {to_a_trunk}: {number}");
        }
        assert_eq!(stage.double.applications(), 4, "three of somebody else, and one of ours");
        stage.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_shows_only_a_valid_caller_id() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let voice = stage.answer_calls().await;
    for (caller, shown) in
        [(CALLER, CALLER), ("anonymous", OWN), ("+266696687", OWN), ("sip:bob@example.com", OWN), ("2025550100", OWN)]
    {
        stage.double.call_in(&voice, caller, OWN).await;
        let call = text(&calls(&stage).await[0]["id"]);
        stage.client().wait_for(&call, |call| call["status"] == "in_progress").await;
        let to = json!({ "to": "+12025550142" });
        let (status, answer) = stage.client().post(&format!("/v1/calls/{call}/transfer"), to).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let seen = stage.double.until(caller, "it is transferred", |call| call.dialled.is_some()).await;
        assert_eq!(seen.shown.as_deref(), Some(shown), "{caller}");
        assert_eq!(stage.client().wait_for_end(&call).await["end_reason"], "transferred");
    }
    stage.stop().await;
}
