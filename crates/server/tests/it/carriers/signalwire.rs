//! Calls over SignalWire, where it differs from Twilio.

use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::{Fixture, event_data};
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Answer, Delivery, DialOutcome, FarEnd, Script};
use crate::doubles::twilio::{OWN, Record, signature};
use crate::harness::text;

const CALLEE: &str = "+12025550100";
/// How long to listen to the agent.
const SOON: Duration = Duration::from_millis(2_000);

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_conversation_is_held_in_both_directions() {
    let stage = Fixture::new(Flavour::SignalWire).await;
    let client = stage.client();
    let voice = stage.answer_calls().await;
    stage.double.script(CALLEE, Script::with(FarEnd::Diner));
    stage.double.script("+12025550101", Script::with(FarEnd::Diner));
    let placed = stage.place(CALLEE).await;
    let taken = stage.double.call_in(&voice, "+12025550101", OWN).await;
    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
    let (_, inbound) = client.get("/v1/calls?direction=inbound").await;
    for call in [placed, text(&inbound["data"][0]["id"])] {
        let ended = client.wait_for_end(&call).await;
        assert_eq!((&ended["end_reason"], &ended["outcome"]["people"]), (&json!("agent_hangup"), &json!(4)), "{ended}");
        let seen = stage.double.call(if ended["direction"] == "inbound" { "+12025550101" } else { CALLEE });
        assert_eq!(
            (&ended["carrier"]["call_id"], &ended["carrier"]["provider"]),
            (&json!(seen.sid), &json!("signalwire"))
        );
        assert_eq!(ended["carrier"]["cause"], "normal", "{ended}");
        let fetched = usize::from(ended["direction"] == "outbound");
        assert_eq!(seen.fetched.len(), fetched, "a call that we place is told what to do when it is answered");
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_refusals_and_lost_answers_are_understood() {
    let stage = Fixture::new(Flavour::SignalWire).await;
    let client = stage.client();
    let lost = Script {
        outcome: DialOutcome::RingsOn,
        delivery: Delivery::Nothing,
        ..Script::answering(Answer::FailsAfterwards)
    };
    stage.double.script("+12025550110", Script::answering(Answer::Refuses(422, 10_000)));
    stage.double.script("+12025550111", Script::answering(Answer::Refuses(400, 4_001)));
    stage.double.script("+12025550112", Script::ending("busy", None));
    stage.double.script("+12025550114", Script::ending("busy", Some(603)));
    stage.double.script("+12025550113", lost);
    let table = [
        ("+12025550110", "invalid_number"),
        ("+12025550111", "carrier_error"),
        ("+12025550112", "busy"),
        ("+12025550114", "rejected"),
    ];
    for (number, code) in table {
        let call = stage.place(number).await;
        let ended = client.wait_for_end(&call).await;
        assert_eq!(ended["error_code"], code, "{ended}");
    }
    let found = stage.place("+12025550113").await;
    client.wait_for(&found, |call| !call["carrier"]["call_id"].is_null()).await;
    client.post(&format!("/v1/calls/{found}/hangup"), json!({})).await;
    assert_eq!(client.wait_for_end(&found).await["end_reason"], "canceled");
    let withdrawn = stage.double.until("+12025550113", "it is withdrawn", Record::is_over).await;
    assert_eq!(withdrawn.status, "canceled");

    let path = format!("/v1/connections/{}", stage.set.connection);
    client.patch(&path, json!({ "credentials": { "api_token": "an old one" } })).await;
    let call = stage.place(CALLEE).await;
    assert_eq!(client.wait_for_end(&call).await["error_code"], "carrier_unauthorized");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_it_has_signed_is_listened_to_and_only_its_streams_are_taken() {
    let stage = Fixture::new(Flavour::SignalWire).await;
    stage
        .double
        .script(CALLEE, Script { outcome: DialOutcome::RingsOn, delivery: Delivery::Nothing, ..Script::default() });
    let call = stage.place(CALLEE).await;
    stage.client().wait_for(&call, |call| !call["carrier"]["call_id"].is_null()).await;
    let url = stage.status_url(&call);
    let mut fields = stage.double.fields_of(&stage.double.call(CALLEE));
    fields.extend(signature::owned(&[("CallStatus", "ringing")]));
    for (key, status) in [("PT-the-api-token", StatusCode::FORBIDDEN), ("PSK_the_signing_key", StatusCode::NO_CONTENT)]
    {
        let answered = stage.double.report(&url, Some(&signature::of(key, &url, &fields)), &fields).await;
        assert_eq!(answered.status, status, "{key}: {answered:?}");
        let ringing = !stage.shown(&call).await["ringing_at"].is_null();
        assert!(!ringing || status != StatusCode::FORBIDDEN, "{key}");
    }
    stage.client().wait_for(&call, |call| !call["ringing_at"].is_null()).await;

    let media = stage.addresses().for_call("signalwire", call.parse().expect("an id")).media();
    let mut request = media.as_str().into_client_request().expect("an address");
    request.headers_mut().insert("Authorization", "Bearer another".parse().expect("text"));
    match tokio_tungstenite::connect_async(request).await {
        Err(Error::Http(refused)) => assert_eq!(refused.status(), 403),
        other => panic!("a wrong bearer token: {other:?}"),
    }
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_transferred_by_a_document_whose_address_tells_no_number() {
    let stage = Fixture::new(Flavour::SignalWire).await;
    for (callee, to) in [(CALLEE, "+12025550142"), ("+12025550109", "sip:desk&bell@example.com")] {
        let call = stage.talking(callee).await;
        let (status, answer) = stage.client().post(&format!("/v1/calls/{call}/transfer"), json!({ "to": to })).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let ended = stage.client().wait_for_end(&call).await;
        assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
        let seen = stage.double.until(callee, "it is transferred", |call| call.dialled.is_some()).await;
        assert_eq!((seen.dialled.as_deref(), seen.shown.as_deref()), (Some(to), Some(OWN)));
        assert_eq!(seen.fetched.len(), 2, "one document when it was answered, and this one");
        assert!(!seen.fetched[1].contains("2025550142") && !seen.fetched[1].contains("desk"), "{:?}", seen.fetched);
        assert!(seen.ended_by_us.is_none() && !seen.is_over(), "the line lives on: {seen:?}");
        stage.double.hang_up(callee);
        stage.double.until(callee, "it is over", Record::is_over).await;
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_as_json_is_read_like_a_form() {
    for flavour in [Flavour::SignalWire, Flavour::Twilio] {
        let stage = Fixture::new(flavour).await;
        let voice = stage.answer_calls().await;
        let (busy, caller) = ("+12025550101", "+12025550102");
        let answers = Arc::new(Notify::new());
        let hangs_up = Script { delivery: Delivery::Json, ..Script::with(FarEnd::HangsUpAfter(SOON)) };
        stage.double.script(CALLEE, Script { rings_until: Some(answers.clone()), ..hangs_up.clone() });
        stage.double.script(caller, hangs_up);
        stage.double.script(busy, Script { delivery: Delivery::Json, ..Script::ending("busy", Some(603)) });
        let machines = json!({ "answering_machine": { "mode": "detect" } });
        let placed = stage.place_with(CALLEE, machines).await;
        // The audio of the answer may overtake the report of ringing.
        stage.client().wait_for(&placed, |call| !call["ringing_at"].is_null()).await;
        answers.notify_one();
        let refused = stage.place(busy).await;
        let taken = stage.double.call_in(&voice, caller, OWN).await;
        assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
        let (_, inbound) = stage.client().get("/v1/calls?direction=inbound").await;
        for call in [&placed, &text(&inbound["data"][0]["id"])] {
            let ended = stage.client().wait_for_end(call).await;
            assert_eq!(ended["end_reason"], "caller_hangup", "{flavour:?}: {ended}");
            let hangup = event_data(stage.client(), call, "carrier.hangup").await;
            assert_eq!(
                (&hangup["cause"], &hangup["sip_code"]),
                (&json!("normal"), &json!(200)),
                "{flavour:?}: {hangup}"
            );
        }
        let shown = stage.shown(&placed).await;
        assert!(!shown["ringing_at"].is_null() && shown["answered_by"] == "human", "{flavour:?}: {shown}");
        let ended = stage.client().wait_for_end(&refused).await;
        assert_eq!(ended["error_code"], "rejected", "{flavour:?}: {ended}");
        stage.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_lasts_no_longer_than_it_may_though_the_carrier_sets_no_limit() {
    let stage = Fixture::new(Flavour::SignalWire).await;
    let limits = json!({ "overrides": { "limits": { "max_duration_seconds": 10 } } });
    let call = stage.place_with(CALLEE, limits).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("max_duration")), "{ended}");
    let seen = stage.double.until(CALLEE, "it is over", Record::is_over).await;
    assert!(seen.asked_to_end > 0, "{seen:?}");
    stage.stop().await;
}
