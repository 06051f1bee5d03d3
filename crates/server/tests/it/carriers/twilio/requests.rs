//! Requests that claim to come from the carrier, and reports that come late, twice or in the wrong order.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::carriers::Fixture;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Delivery, DialOutcome, FarEnd, Script};
use crate::doubles::twilio::signature;

const CALLEE: &str = "+12025550100";
/// Where the carrier reaches the service, which itself listens elsewhere.
const PUBLIC: &str = "https://voice.example.com";

/// The caller has heard enough.
const SOON: Duration = Duration::from_millis(1_000);

/// A call that keeps ringing, without reports unless a test sends them.
async fn ringing(stage: &Fixture) -> String {
    stage
        .double
        .script(CALLEE, Script { outcome: DialOutcome::RingsOn, delivery: Delivery::Nothing, ..Script::default() });
    let call = stage.place(CALLEE).await;
    stage.client().wait_for(&call, |call| !call["carrier"]["call_id"].is_null()).await;
    call
}

fn with(fields: &[(String, String)], more: &[(&str, &str)]) -> Vec<(String, String)> {
    [fields, &signature::owned(more)].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_the_carrier_has_signed_for_the_public_address_is_listened_to() {
    let stage = Fixture::with(Flavour::Twilio, |config| config.public_url = Some(PUBLIC.to_owned())).await;
    let call = ringing(&stage).await;
    let posted = stage.status_url(&call);
    let path = posted.strip_prefix(&stage.client().base).expect("it begins so").to_owned();
    let seen = stage.double.call(CALLEE);
    assert_eq!(seen.status_callback, Some(format!("{PUBLIC}{path}")), "the carrier was told the public address");
    let fields = with(
        &stage.double.fields_of(&seen),
        &[("CallStatus", "ringing"), ("AFieldOfTheFuture", "It's 1+1=2 & more"), ("Blank", "")],
    );
    let key = Flavour::Twilio.signing_key();
    let signed = |url: &str| signature::of(key, url, &fields);
    let right = signed(&format!("{PUBLIC}{path}"));
    let table = [
        (None, "no signature"),
        (Some(String::new()), "an empty one"),
        (Some("not base64".to_owned()), "no base64"),
        (Some(signature::of("another key", &format!("{PUBLIC}{path}"), &fields)), "another key"),
        (Some(signed(&posted)), "where the service listens"),
        (Some(signed(&format!("https://voice.example.com:8443{path}"))), "another port"),
        (Some(signed(&format!("{PUBLIC}{path}?a=1"))), "another query"),
        (Some(signature::of(key, &format!("{PUBLIC}{path}"), &fields[1..])), "a field fewer"),
        (Some(signature::of(key, &format!("{PUBLIC}{path}"), &[])), "no fields"),
        (Some(right[..right.len() - 1].to_owned()), "a part of it"),
    ];
    for (signature, what) in table {
        let refused = stage.double.report(&posted, signature.as_deref(), &fields).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{what}");
        let problem: Value = serde_json::from_str(&refused.body).expect("JSON");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{what}: {problem}");
    }
    let shown = stage.shown(&call).await;
    assert_eq!((&shown["ringing_at"], &shown["status"]), (&json!(null), &json!("dialing")), "nothing has changed");

    for url in [format!("{PUBLIC}{path}"), format!("https://voice.example.com:443{path}")] {
        let taken = stage.double.report(&posted, Some(&signed(&url)), &fields).await;
        assert_eq!(taken.status, StatusCode::NO_CONTENT, "{url}: {taken:?}");
    }
    stage.client().wait_for(&call, |call| !call["ringing_at"].is_null()).await;
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_of_another_call_or_with_words_of_the_future_change_nothing() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let call = ringing(&stage).await;
    let (url, key) = (stage.status_url(&call), Flavour::Twilio.signing_key());
    let fields = stage.double.fields_of(&stage.double.call(CALLEE));
    let other: Vec<_> = fields.iter().filter(|(name, _)| name != "CallSid").cloned().collect();
    let other = with(&other, &[("CallSid", "CA00000000000000000000000000000009")]);
    let odd = [
        with(&other, &[("CallStatus", "completed"), ("SipResponseCode", "200")]),
        with(&fields, &[("CallStatus", "levitating")]),
        with(&fields, &[("CallStatus", "initiated"), ("SequenceNumber", "many"), ("Timestamp", "yesterday")]),
    ];
    for fields in odd {
        let taken = stage.double.report(&url, Some(&signature::of(key, &url, &fields)), &fields).await;
        assert_eq!(taken.status, StatusCode::NO_CONTENT, "{fields:?}");
    }
    let unreadable = with(&[], &[("CallStatus", "completed")]);
    let refused = stage.double.report(&url, Some(&signature::of(key, &url, &unreadable)), &unreadable).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "of no call: {refused:?}");

    let fields = with(&fields, &[("CallStatus", "ringing")]);
    stage.double.report(&url, Some(&signature::of(key, &url, &fields)), &fields).await;
    let shown = stage.client().wait_for(&call, |call| !call["ringing_at"].is_null()).await;
    assert_eq!(shown["status"], "dialing", "what came before this was taken for nothing");
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_that_are_late_doubled_or_out_of_order_change_neither_facts_nor_events() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let client = stage.client();
    stage.double.script(CALLEE, Script { delivery: Delivery::Chaotic, ..Script::with(FarEnd::HangsUpAfter(SOON)) });
    let call = stage.place(CALLEE).await;
    let ended = client.wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("caller_hangup")), "{ended}");
    let events = client.event_names(&call).await;
    assert_eq!(events, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);

    let (url, key) = (stage.status_url(&call), Flavour::Twilio.signing_key());
    let fields = stage.double.fields_of(&stage.double.call(CALLEE));
    for (status, sip) in
        [("ringing", ""), ("in-progress", ""), ("failed", "404"), ("busy", "486"), ("completed", "200")]
    {
        let fields = with(&fields, &[("CallStatus", status), ("SipResponseCode", sip)]);
        let taken = stage.double.report(&url, Some(&signature::of(key, &url, &fields)), &fields).await;
        assert_eq!(taken.status, StatusCode::NO_CONTENT, "{status}");
    }
    assert_eq!(stage.shown(&call).await, ended, "what has ended stays as it ended");
    assert_eq!(client.event_names(&call).await, events);
    stage.stop().await;
}
