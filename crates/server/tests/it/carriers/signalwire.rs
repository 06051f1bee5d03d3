//! Calls over SignalWire, where it differs from Twilio.

use reqwest::StatusCode;
use serde_json::json;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use super::Stage;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Answer, Delivery, FarEnd, Fate, Script};
use crate::doubles::twilio::{OWN, signature};
use crate::harness::text;

const CALLEE: &str = "+12025550100";

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_conversation_is_held_in_both_directions() {
    let stage = Stage::new(Flavour::SignalWire).await;
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
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_refusals_and_lost_answers_are_understood() {
    let stage = Stage::new(Flavour::SignalWire).await;
    let client = stage.client();
    let lost =
        Script { fate: Fate::RingsOn, delivery: Delivery::Nothing, ..Script::answering(Answer::FailsAfterwards) };
    stage.double.script("+12025550110", Script::answering(Answer::Refuses(422, 10_000)));
    stage.double.script("+12025550111", Script::answering(Answer::Refuses(400, 4_001)));
    stage.double.script("+12025550112", Script::ending("busy", None));
    stage.double.script("+12025550113", lost);
    let table = [("+12025550110", "invalid_number"), ("+12025550111", "carrier_error"), ("+12025550112", "busy")];
    for (number, code) in table {
        let call = stage.place(number).await;
        let ended = client.wait_for_end(&call).await;
        assert_eq!(ended["error_code"], code, "{ended}");
    }
    let found = stage.place("+12025550113").await;
    client.wait_for(&found, |call| !call["carrier"]["call_id"].is_null()).await;
    client.post(&format!("/v1/calls/{found}/hangup"), json!({})).await;
    assert_eq!(client.wait_for_end(&found).await["end_reason"], "canceled");
    assert_eq!(stage.double.call("+12025550113").status, "canceled");

    let path = format!("/v1/connections/{}", stage.set.connection);
    client.patch(&path, json!({ "credentials": { "api_token": "an old one" } })).await;
    let call = stage.place(CALLEE).await;
    assert_eq!(client.wait_for_end(&call).await["error_code"], "carrier_unauthorized");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_it_has_signed_is_listened_to_and_only_its_streams_are_taken() {
    let stage = Stage::new(Flavour::SignalWire).await;
    stage.double.script(CALLEE, Script { fate: Fate::RingsOn, delivery: Delivery::Nothing, ..Script::default() });
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
