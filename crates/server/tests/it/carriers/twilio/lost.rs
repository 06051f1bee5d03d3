//! Dials whose answer was lost: the call is found, and no phone rings twice. The double counts.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use switchhook_runtime::clock::Clock;

use crate::carriers::Fixture;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Answer, Delivery, DialOutcome, Script};
use crate::doubles::twilio::signature;
use crate::harness::TIMEOUT;

const CALLEE: &str = "+12025550100";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_never_comes_is_known_by_its_reports() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::answering(Answer::NeverComes));
    let call = stage.talking(CALLEE).await;
    let shown = stage.shown(&call).await;
    assert_eq!(shown["carrier"]["call_id"], stage.double.call(CALLEE).sid, "{shown}");
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert_eq!(stage.client().wait_for_end(&call).await["end_reason"], "api_hangup");
    assert_eq!(stage.double.asked(CALLEE), 1);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_answer_is_lost_is_found_in_the_carriers_list() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let silent = Script { outcome: DialOutcome::RingsOn, delivery: Delivery::Nothing, ..Script::default() };
    let later = Duration::from_millis(1_500);
    let table = [
        ("+12025550111", Script { answer: Answer::BreaksOff, ..silent.clone() }),
        ("+12025550112", Script { answer: Answer::FailsAfterwards, ..silent.clone() }),
        ("+12025550113", Script { answer: Answer::FailsAfterwards, listed_after: later, ..silent }),
    ];
    for (callee, script) in table {
        // Which is not taken for this one.
        stage.double.remember_a_call_to(callee);
        stage.double.script(callee, script);
        let call = stage.place(callee).await;
        let shown = stage.client().wait_for(&call, |call| !call["carrier"]["call_id"].is_null()).await;
        let calls = stage.double.calls(callee);
        assert_eq!((calls.len(), &shown["carrier"]["call_id"]), (2, &json!(calls[1].sid)), "{callee}: {shown}");
        stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        let ended = stage.client().wait_for_end(&call).await;
        assert_eq!(ended["end_reason"], "canceled", "{ended}");
        assert_eq!(stage.double.asked(callee), 1);
        stage.double.until(callee, "it is withdrawn", |call| call.ended_by_us.is_some()).await;
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_without_room_is_asked_again_and_rings_once() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::answering(Answer::TooMany(2)));
    let call = stage.talking(CALLEE).await;
    assert_eq!((stage.double.asked(CALLEE), stage.double.calls(CALLEE).len()), (3, 1));
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    stage.client().wait_for_end(&call).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_before_the_dial_is_answered_is_hung_up_when_it_is_found() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let script =
        Script { outcome: DialOutcome::RingsOn, delivery: Delivery::Nothing, ..Script::answering(Answer::NeverComes) };
    stage.double.script(CALLEE, script);
    let call = stage.place(CALLEE).await;
    stage.double.until(CALLEE, "it rings", |call| call.status == "ringing").await;
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    assert_eq!(stage.client().wait_for_end(&call).await["end_reason"], "canceled");
    let seen = stage.double.until(CALLEE, "it is withdrawn", |call| call.is_over()).await;
    assert_eq!((seen.status, stage.double.asked(CALLEE)), ("canceled", 1));
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_the_same_two_numbers_are_distinguished() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let silent = Script { outcome: DialOutcome::RingsOn, delivery: Delivery::Nothing, ..Script::default() };
    stage.double.script(CALLEE, silent.clone());
    let first = stage.place(CALLEE).await;
    stage.client().wait_for(&first, |call| !call["carrier"]["call_id"].is_null()).await;
    stage.double.script(CALLEE, Script { answer: Answer::BreaksOff, ..silent });
    let second = stage.place(CALLEE).await;
    let found = stage.client().wait_for(&second, |call| !call["carrier"]["call_id"].is_null()).await;
    let calls = stage.double.calls(CALLEE);
    assert_eq!((calls.len(), &found["carrier"]["call_id"]), (2, &json!(calls[1].sid)), "{found}");
    for call in [first, second] {
        stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        stage.client().wait_for_end(&call).await;
    }
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_has_lost_a_call_asks_a_carrier_without_room_no_more() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::answering(Answer::TooMany(1_000)));
    let call = stage.place(CALLEE).await;
    stage.double.until_asked(CALLEE, 2).await;
    stage.service.abandon(&call);
    let before = stage.double.asked(CALLEE);
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "carrier_error", "{ended}");
    // One request may have been on its way.
    let asked = stage.double.asked(CALLEE);
    assert!(asked <= before + 1, "asked {before} times, and then {asked}");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_turns_up_after_the_end_of_its_call_is_hung_up() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let script = Script {
        outcome: DialOutcome::RingsOn,
        delivery: Delivery::Nothing,
        listed_after: TIMEOUT,
        ..Script::answering(Answer::BreaksOff)
    };
    stage.double.script(CALLEE, script);
    let call = stage.place(CALLEE).await;
    let ringing = stage.double.until(CALLEE, "it rings", |call| call.status == "ringing").await;
    stage.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    stage.client().wait_for_end(&call).await;
    assert!(stage.double.call(CALLEE).ended_by_us.is_none(), "nobody knows its id yet");

    let (url, mut fields) = (stage.status_url(&call), stage.double.fields_of(&ringing));
    fields.push(("CallStatus".to_owned(), "ringing".to_owned()));
    let signature = signature::of(Flavour::Twilio.signing_key(), &url, &fields);
    let taken = stage.double.report(&url, Some(&signature), &fields).await;
    assert_eq!(taken.status, StatusCode::NO_CONTENT);
    stage.double.until(CALLEE, "it is hung up", |call| call.ended_by_us.is_some()).await;
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_without_room_is_asked_for_as_long_as_the_call_may_ring() {
    let stage = Fixture::new(Flavour::Twilio).await;
    stage.double.script(CALLEE, Script::answering(Answer::TooMany(u32::MAX)));
    let call = stage.place_with(CALLEE, json!({ "ring_timeout_seconds": 5 })).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "carrier_error", "{ended}");
    // The pauses double from half a second at least: a fifth request would come after 7.5 s.
    let asked = stage.double.asked(CALLEE);
    assert!((2..=4).contains(&asked), "it is asked again, but not for longer: {asked} times");
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_gets_the_id_of_another_one_ends_at_once_and_leaves_the_other_alone() {
    // It stands still: a call that waited for a deadline or for the end of its lease would not end.
    let clock = Clock::manual(Clock::system().now());
    let stage = Fixture::by(clock, Flavour::Twilio, |_| {}).await;
    let other = stage.talking("+12025550109").await;
    stage.double.script(CALLEE, Script::answering(Answer::RepeatsAnId));
    let call = stage.place(CALLEE).await;
    let ended = stage.client().wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "carrier_error", "{ended}");
    assert!(ended["error"].as_str().is_some_and(|words| words.contains("the id of another call")), "{ended}");
    assert_eq!(stage.double.asked(CALLEE), 1);

    // Nor when a report arrives under that id.
    let (url, mut fields) = (stage.status_url(&call), stage.double.fields_of(&stage.double.call("+12025550109")));
    fields.push(("CallStatus".to_owned(), "ringing".to_owned()));
    let signature = signature::of(Flavour::Twilio.signing_key(), &url, &fields);
    let taken = stage.double.report(&url, Some(&signature), &fields).await;
    assert_eq!(taken.status, StatusCode::NO_CONTENT);
    assert_eq!(stage.shown(&other).await["status"], "in_progress");
    stage.client().post(&format!("/v1/calls/{other}/say"), json!({ "text": "Are you still there?" })).await;
    let heard = format!("/v1/calls/{other}/transcript");
    stage.client().look_until(&heard, |said| said.to_string().contains("still there")).await;
    assert_eq!(stage.double.call("+12025550109").asked_to_end, 0, "nobody hung up");
    stage.client().post(&format!("/v1/calls/{other}/hangup"), json!({})).await;
    stage.client().wait_for_end(&other).await;
    stage.stop().await;
}
