//! Commands for a running call, who may send them, and tests of connections.

use serde_json::{Value, json};

use super::{Rig, THEM, connection};
use crate::doubles::telnyx::{Delivery, FarEnd, Forgery, Script};
use crate::harness::text;

#[tokio::test(flavor = "multi_thread")]
async fn what_telnyx_did_not_sign_is_refused_and_changes_nothing_and_the_api_hangs_up() {
    let rig = Rig::start().await;
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Listener)]);
    let call = rig.talk_to(THEM).await;
    for forgery in [Forgery::OtherKey, Forgery::Unsigned, Forgery::Old] {
        assert_eq!(rig.telnyx.forge(THEM, forgery).await, 403, "{forgery:?}");
    }
    let (_, shown) = rig.client().get(&format!("/v1/calls/{call}")).await;
    assert_eq!(shown["status"], "in_progress", "{shown}");
    rig.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    let events = rig.client().event_names(&call).await;
    assert_eq!(events, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    rig.telnyx.ended(THEM).await;
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_rings_is_cancelled() {
    let rig = Rig::start().await;
    rig.telnyx.script(THEM, [Script::Rings]);
    let call = rig.place(THEM).await;
    rig.client().wait_for(&call, |call| call["carrier"]["call_id"].is_string()).await;
    rig.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("canceled")), "{ended}");
    assert_eq!(rig.telnyx.commands("hangup").len(), 1);
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_both_ways() {
    let rig = Rig::start().await;
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Presses("4711#"))]);
    let call = rig.talk_to(THEM).await;
    let transcript = format!("/v1/calls/{call}/transcript");
    rig.client().look_until(&transcript, |said| said.to_string().contains("4711")).await;
    rig.client().post(&format!("/v1/calls/{call}/dtmf"), json!({ "digits": "12w3#" })).await;
    let pressed = async {
        while rig.telnyx.seen(THEM).keys != "12w3#" {
            // Polls a service that runs in real time.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(crate::harness::TIMEOUT, pressed).await.expect("Telnyx is asked to press them");
    rig.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    rig.client().wait_for_end(&call).await;
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_is_transferred_is_no_longer_ours() {
    let rig = Rig::start().await;
    let (desk, barred) = ("+12025550142", "+12025550143");
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Listener)]);
    rig.telnyx.script(barred, [Script::Refused { status: 403, code: "10010", pointer: None }]);
    let call = rig.talk_to(THEM).await;
    let transfer = format!("/v1/calls/{call}/transfer");
    rig.client().post(&transfer, json!({ "to": barred })).await;
    rig.says_sorry(&call).await;

    rig.client().post(&transfer, json!({ "to": desk })).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
    assert_eq!(transfers(&rig), [(json!(desk), json!(super::OURS))]);
    let events = rig.client().event_names(&call).await;
    rig.telnyx.hang_up(THEM);
    rig.telnyx.ended(THEM).await;
    assert_eq!(rig.client().event_names(&call).await, events, "the line lived on without us");
    assert_eq!(rig.telnyx.commands("hangup"), Vec::<Value>::new());
    rig.service.stop().await;
}

/// Returns the targets of transfers, and the requested caller IDs.
pub(super) fn transfers(rig: &Rig) -> Vec<(Value, Value)> {
    rig.telnyx.commands("transfer").iter().map(|body| (body["to"].clone(), body["from"].clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_transfer_returns_the_caller_to_the_agent() {
    let rig = Rig::start().await;
    rig.telnyx.deliver(Delivery { twice: true, swapped: false });
    let (busy, desk) = ("+12025550143", "+12025550142");
    rig.telnyx.script(busy, [Script::Unanswered { cause: "user_busy", sip: "486" }]);
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Listener)]);
    let call = rig.talk_to(THEM).await;
    let transfer = format!("/v1/calls/{call}/transfer");
    rig.client().post(&transfer, json!({ "to": busy })).await;
    rig.says_sorry(&call).await;
    let (_, shown) = rig.client().get(&format!("/v1/calls/{call}")).await;
    assert_eq!(shown["status"], "in_progress", "{shown}");

    rig.client().post(&transfer, json!({ "to": desk })).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
    rig.telnyx.hang_up(THEM);
    rig.telnyx.ended(THEM).await;
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_tried_without_ringing_anybody() {
    let rig = Rig::start().await;
    let test = async |connection: Value| {
        let id = text(&rig.client().create("/v1/connections", connection).await["id"]);
        let (_, tested) = rig.client().post(&format!("/v1/connections/{id}/test"), json!({})).await;
        (tested["ok"] == true, text(&tested["checks"][0]["detail"]))
    };
    let named = |name: &str, settings: Value| {
        let mut connection = connection(&rig.telnyx, settings);
        connection["name"] = json!(name);
        connection
    };
    let (ok, detail) = test(named("right", json!({}))).await;
    assert!(ok && detail.contains("12.30 USD"), "{detail}");
    let mut wrong_key = named("wrong key", json!({}));
    wrong_key["credentials"]["api_key"] = json!("KEY-of-somebody-else");
    let (ok, detail) = test(wrong_key).await;
    assert!(!ok && detail.contains("10009") && !detail.contains("somebody"), "{detail}");
    for (name, settings, words) in [
        ("unknown application", json!({ "connection_id": "1" }), "connection_id"),
        ("no application", json!({ "connection_id": "" }), "connection_id"),
        ("wrong codec", json!({ "codec": "pcmu" }), "PCMU, PCMA or L16"),
    ] {
        let (ok, detail) = test(named(name, settings)).await;
        assert!(!ok && detail.contains(words), "{name}: {detail}");
    }
    let mut wrong_public_key = named("wrong public key", json!({}));
    wrong_public_key["credentials"]["public_key"] = json!("not a key");
    let (ok, detail) = test(wrong_public_key).await;
    assert!(!ok && detail.contains("public_key"), "{detail}");
    rig.telnyx.activate(false);
    let (ok, detail) = test(named("switched off", json!({}))).await;
    assert!(!ok && detail.contains("switched off"), "{detail}");
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_whose_answer_is_lost_rings_one_person_once() {
    let rig = Rig::start().await;
    let desk = "+12025550142";
    rig.telnyx.script(desk, [Script::AnswerLost(FarEnd::Listener)]);
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Listener)]);
    let call = rig.talk_to(THEM).await;
    rig.client().post(&format!("/v1/calls/{call}/transfer"), json!({ "to": desk })).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
    assert_eq!(transfers(&rig).len(), 1);
    assert_eq!(rig.telnyx.commands("hangup").len(), 0, "the caller goes on talking to them");
    rig.telnyx.hang_up(THEM);
    rig.telnyx.ended(THEM).await;
    rig.service.stop().await;
}
