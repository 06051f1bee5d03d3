//! Transfers: the number answers or does not, and the reports about it come once, twice, late or not at all.

use std::sync::Arc;

use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook_carriers::address::CallAddress;
use tokio::sync::Notify;

use crate::carriers::Fixture;
use crate::doubles::twilio::Record;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Answer, Delivery, DialOutcome, FarEnd, MediaBehaviour, Script};
use crate::doubles::twilio::signature;

const CALLEE: &str = "+12025550100";
const DESK: &str = "+12025550142";
const AWAY: &str = "+12025550143";

async fn transfer(stage: &Fixture, call: &str, to: &str) {
    let (status, answer) = stage.client().post(&format!("/v1/calls/{call}/transfer"), json!({ "to": to })).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

/// Answers, and is then transferred to a number with this script. Returns the call's id.
async fn transferring(stage: &Fixture, to: &str, script: Script) -> String {
    stage.double.script(to, script);
    let call = stage.talking(CALLEE).await;
    transfer(stage, &call, to).await;
    call
}

/// Waits until the agent has said so often that the caller could not be put through.
async fn until_sorry(stage: &Fixture, call: &str, times: usize) {
    let sorry = |line: &&Value| {
        let text = line["text"].as_str().unwrap_or_default();
        ["put you through", "putting you through"].iter().any(|sorry| text.contains(sorry))
    };
    let said = |said: &Value| said["data"].as_array().expect("a list").iter().filter(sorry).count() >= times;
    stage.client().look_until(&format!("/v1/calls/{call}/transcript"), said).await;
}

async fn until_dialled(stage: &Fixture, to: &str) {
    stage.double.until(CALLEE, "the number rings", |call| call.dialled.as_deref() == Some(to)).await;
}

async fn assert_transferred(stage: &Fixture, call: &str) {
    let ended = stage.client().wait_for_end(call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
    let seen = stage.double.call(CALLEE);
    assert!(seen.bridged && seen.ended_by_us.is_none() && !seen.is_over(), "the line lives on: {seen:?}");
}

fn address(stage: &Fixture, call: &str) -> CallAddress {
    stage.addresses().for_call(stage.double.flavour().provider(), call.parse().expect("an id"))
}

/// Reports the end of a transfer, signed with this key; how that is answered.
async fn report(stage: &Fixture, call: &str, number: u32, status: &str, key: Option<&str>) -> (StatusCode, String) {
    let url = format!("{}?transfer={number}", address(stage, call).report("transfer"));
    let mut fields = stage.double.fields_of(&stage.double.call(CALLEE));
    fields.extend(signature::owned(&[("CallStatus", "in-progress"), ("DialCallStatus", status)]));
    let signed = key.map(|key| signature::of(key, &url, &fields));
    let answered = stage.double.report(&url, signed.as_deref(), &fields).await;
    (answered.status, answered.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_transfer_returns_the_caller_to_the_agent() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let stage = Fixture::new(flavour).await;
        let call = stage.talking(CALLEE).await;
        let ends = ["busy", "no-answer", "failed", "canceled"];
        for (status, times) in ends.into_iter().zip(1..) {
            // Each report twice, and a third time when the caller is back.
            stage.double.script(AWAY, Script { delivery: Delivery::Chaotic, ..Script::ending(status, None) });
            transfer(&stage, &call, AWAY).await;
            until_sorry(&stage, &call, times).await;
            assert_eq!(stage.shown(&call).await["status"], "in_progress", "{flavour:?} {status}");
        }
        let before = stage.double.call(CALLEE);
        assert_eq!((before.streams, before.ended_by_us), (5, None), "each time over a new stream");

        transfer(&stage, &call, DESK).await;
        assert_transferred(&stage, &call).await;
        stage.double.other_end_hangs_up(CALLEE);
        let over = stage.double.until(CALLEE, "it is over", Record::is_over).await;
        assert_eq!(over.streams, 5, "{flavour:?}: the agent does not come back to a caller who was put through");
        stage.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conversation_continues_over_a_new_stream_after_a_failed_transfer() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::with(FarEnd::Presses("47#")));
    let call = transferring(&stage, AWAY, Script::ending("busy", Some(486))).await;
    until_sorry(&stage, &call, 1).await;
    let transcript = format!("/v1/calls/{call}/transcript");
    let pressed = |said: &Value| said.to_string().matches("47").count() > 0;
    stage.client().look_until(&transcript, pressed).await;
    let played = stage.double.call(CALLEE).played;
    stage.client().post(&format!("/v1/calls/{call}/say"), json!({ "text": "Is there anything else?" })).await;
    stage.client().look_until(&transcript, |said| said.to_string().contains("anything else")).await;
    stage.double.until(CALLEE, "it was heard", |call| call.played > played).await;
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "api_hangup", "{ended}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_transferred_when_the_number_answers_and_not_before() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let answers = Arc::new(Notify::new());
    let script = Script { rings_until: Some(answers.clone()), ..Script::default() };
    let call = transferring(&stage, DESK, script).await;
    until_dialled(&stage, DESK).await;
    assert_eq!(stage.shown(&call).await["status"], "in_progress");
    answers.notify_one();
    assert_transferred(&stage, &call).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_told_only_by_its_end_is_a_transfer() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let call = transferring(&stage, DESK, Script { delivery: Delivery::Nothing, ..Script::default() }).await;
    stage.double.until(CALLEE, "they talk", |call| call.bridged).await;
    stage.double.other_end_hangs_up(CALLEE);
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "transferred", "{ended}");
    stage.double.until(CALLEE, "it is over", Record::is_over).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hangs_up_while_the_other_phone_rings_ends_the_call() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let call = transferring(&stage, AWAY, Script { outcome: DialOutcome::RingsOn, ..Script::default() }).await;
    until_dialled(&stage, AWAY).await;
    stage.double.hang_up(CALLEE);
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("caller_hangup"), &json!("caller")), "{ended}");
    stage.stop().await;

    let stage = Fixture::new(Flavour::SignalWire).await;
    let call = transferring(&stage, AWAY, Script { outcome: DialOutcome::RingsOn, ..Script::default() }).await;
    until_dialled(&stage, AWAY).await;
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert_eq!(stage.client().wait_for_end(&call).await["end_reason"], "api_hangup");
    let seen = stage.double.until(CALLEE, "it is over", Record::is_over).await;
    assert!(seen.ended_by_us.is_some() && !seen.bridged, "{seen:?}");
    stage.stop().await;
}

/// The number whose script says how the carrier answers a transfer to the desk: SignalWire fetches the document with the desk's later.
fn answering_number(flavour: Flavour) -> &'static str {
    if flavour == Flavour::Twilio { DESK } else { CALLEE }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_whose_answer_is_lost_rings_one_person_once() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        for answer in [Answer::BreaksOff, Answer::FailsAfterwards, Answer::NeverComes] {
            let stage = Fixture::new(flavour).await;
            let call = stage.talking(CALLEE).await;
            stage.double.script(answering_number(flavour), Script::answering(answer));
            transfer(&stage, &call, DESK).await;
            assert_transferred(&stage, &call).await;
            stage.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_the_carrier_does_not_make_leaves_the_caller_with_the_agent() {
    for flavour in [Flavour::Twilio, Flavour::SignalWire] {
        let stage = Fixture::new(flavour).await;
        let call = stage.talking(CALLEE).await;
        let answers = [Answer::Fails, Answer::Refuses(400, 21_211), Answer::TooMany(u32::MAX)];
        for (answer, times) in answers.into_iter().zip(1..) {
            stage.double.script(answering_number(flavour), Script::answering(answer));
            transfer(&stage, &call, DESK).await;
            until_sorry(&stage, &call, times).await;
        }
        let seen = stage.double.call(CALLEE);
        assert_eq!(
            (seen.dialled, seen.streams),
            (None, 1),
            "{flavour:?}: the agent is back on the line that never ended"
        );
        stage.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_is_forged_or_of_another_transfer_changes_nothing() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let call = stage.talking(CALLEE).await;
    stage.double.script(AWAY, Script::ending("busy", Some(486)));
    transfer(&stage, &call, AWAY).await;
    until_sorry(&stage, &call, 1).await;

    let answers = Arc::new(Notify::new());
    stage.double.script(DESK, Script { rings_until: Some(answers.clone()), ..Script::default() });
    transfer(&stage, &call, DESK).await;
    until_dialled(&stage, DESK).await;
    for key in [None, Some("another key")] {
        let (status, body) = report(&stage, &call, 2, "completed", key).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{key:?}: {body}");
    }
    let key = Some(Flavour::Twilio.signing_key());
    for number in [1, 3] {
        for word in ["busy", "completed"] {
            assert_eq!(report(&stage, &call, number, word, key).await.0, StatusCode::OK, "{number} {word}");
        }
    }
    assert_eq!(stage.shown(&call).await["status"], "in_progress");
    assert!(!stage.double.call(CALLEE).bridged, "it rings");
    answers.notify_one();
    assert_transferred(&stage, &call).await;
    let (status, body) = report(&stage, &call, 2, "busy", key).await;
    assert!(status == StatusCode::OK && body.contains("<Hangup/>"), "late, of a call that has ended: {body}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_does_not_come_back_is_hung_up() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::with_media(MediaBehaviour::NeverAgain));
    let call = transferring(&stage, AWAY, Script::ending("busy", Some(486))).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    let seen = stage.double.until(CALLEE, "it is over", Record::is_over).await;
    assert!(seen.ended_by_us.is_some(), "{seen:?}");
    stage.stop().await;
}
