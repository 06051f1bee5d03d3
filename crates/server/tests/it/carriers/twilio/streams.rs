//! Audio that does not come, or not as it should. On each of these lines no conversation begins.

use std::time::Duration;

use serde_json::json;
use switchhook_core::id::CallId;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::carriers::Fixture;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Delivery, FarEnd, MediaBehaviour, Script};
use crate::doubles::twilio::{Record, records, signature};

const CALLEE: &str = "+12025550100";

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_does_not_prove_whose_it_is_carries_nothing() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let behaviours = [
        MediaBehaviour::Unsigned,
        MediaBehaviour::SignedWrongly,
        MediaBehaviour::OtherCall,
        MediaBehaviour::OtherToken,
        MediaBehaviour::NeverStarts,
    ];
    let mut calls = Vec::new();
    for (number, behaviour) in (2_025_550_110_u64..).zip(behaviours) {
        let number = format!("+1{number}");
        stage.double.script(&number, Script::with_media(behaviour));
        calls.push((stage.place(&number).await, number, behaviour));
    }
    for (call, number, behaviour) in calls {
        let ended = stage.client().wait_for_end(&call).await;
        assert_eq!(
            (&ended["status"], &ended["error_code"]),
            (&json!("failed"), &json!("no_media")),
            "{behaviour:?}: {ended}"
        );
        let seen = stage.double.call(&number);
        let refused = matches!(behaviour, MediaBehaviour::Unsigned | MediaBehaviour::SignedWrongly);
        assert_eq!((seen.streams == 0, seen.played), (refused, 0), "{behaviour:?}");
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_off_ends_the_call_in_order() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script("+12025550100", Script::with_media(MediaBehaviour::BreaksOff(100)));
    let call = stage.place("+12025550100").await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("caller_hangup")), "{ended}");
    let events = stage.client().event_names(&call).await;
    assert_eq!(events, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_without_a_report_ends_the_call_by_the_carriers_record() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let leaves = Script::with(FarEnd::HangsUpAfter(Duration::from_millis(1_200)));
    stage.double.script(CALLEE, Script { delivery: Delivery::WithoutEnd, ..leaves });
    let call = stage.place(CALLEE).await;
    let seen = stage.double.until(CALLEE, "it is over", Record::is_over).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("caller_hangup"), &json!("caller")), "{ended}");
    assert_eq!(ended["duration_seconds"], records::seconds(&seen), "{ended}");
    assert_eq!(ended["carrier"]["cause"], "normal", "{ended}");
    let events = stage.client().event_names(&call).await;
    assert_eq!(events[2..], ["call.in_progress", "carrier.hangup", "call.completed"]);
    assert_eq!(stage.double.call(CALLEE).asked_to_end, 0, "there was nothing left to hang up");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_stream_on_the_same_websocket_is_neither_answered_nor_heard() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let leaves = Script::with(FarEnd::HangsUpAfter(Duration::from_millis(2_500)));
    stage.double.script(CALLEE, Script { media: MediaBehaviour::Intruded(20), ..leaves });
    let call = stage.place(CALLEE).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["turns"]), (&json!("caller_hangup"), &json!(0)), "{ended}");
    let (_, transcript) = stage.client().get(&format!("/v1/calls/{call}/transcript")).await;
    let said = transcript["data"].as_array().expect("a list");
    assert!(said.iter().all(|line| line["role"] == "agent"), "{transcript}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_was_not_given_out_takes_no_stream() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let unknown = CallId::from_uuid(uuid::Uuid::from_u128(7));
    let known = stage.talking("+12025550100").await;
    let wrong = stage.addresses().for_call("twilio", unknown).media();
    let right = stage.addresses().for_call("twilio", known.parse().expect("an id")).media();
    let (start, last) = right.strip_suffix("/media").expect("it ends so").split_at(right.len() - "x/media".len());
    let altered = format!("{start}{}/media", if last == "0" { '1' } else { '0' });
    for (url, status) in [(wrong, 404), (altered, 404), (right.replace("/twilio/", "/telnyx/"), 404), (right, 403)] {
        let refused = tokio_tungstenite::connect_async(&url).await.expect_err("it is not signed");
        let tokio_tungstenite::tungstenite::Error::Http(answer) = refused else { panic!("{url}: {refused}") };
        assert_eq!(answer.status().as_u16(), status, "{url}");
    }
    stage.client().post(&format!("/v1/calls/{known}/hangup"), json!({})).await;
    stage.client().wait_for_end(&known).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_stream_of_a_call_is_refused_while_the_first_one_is_open() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let call = stage.talking(CALLEE).await;
    let url = stage.addresses().for_call("twilio", call.parse().expect("an id")).media();
    let mut request = url.as_str().into_client_request().expect("an address");
    let signed = signature::of(Flavour::Twilio.signing_key(), &url, &[]);
    request.headers_mut().insert(Flavour::Twilio.signature_header(), signed.parse().expect("base64 is text"));
    let refused = tokio_tungstenite::connect_async(request).await.expect_err("there is one");
    let tokio_tungstenite::tungstenite::Error::Http(answer) = refused else { panic!("{refused}") };
    assert_eq!(answer.status().as_u16(), 409);
    assert_eq!(stage.shown(&call).await["status"], "in_progress", "the first one is as it was");
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}
