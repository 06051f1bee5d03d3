//! Outcomes of a dial other than a conversation.

use serde_json::json;

use super::{Rig, THEM};
use crate::doubles::telnyx::{FarEnd, Script};
use crate::harness::text;

/// Fewer than a tenant's limit of concurrent calls.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_and_each_end_has_its_error_code() {
    let rig = Rig::start().await;
    let refused = |status, code, pointer| Script::Refused { status, code, pointer };
    let unanswered = |cause, sip| Script::Unanswered { cause, sip };
    let table = [
        (refused(401, "10009", None), "carrier_unauthorized"),
        (refused(404, "10005", None), "carrier_unauthorized"),
        (refused(404, "10005", Some("/connection_id")), "carrier_error"),
        (refused(402, "20100", None), "carrier_error"),
        (refused(403, "20012", None), "carrier_error"),
        (refused(403, "D13", None), "carrier_error"),
        (refused(403, "D25", None), "carrier_unauthorized"),
        (refused(422, "10016", Some("/to")), "invalid_number"),
        (refused(422, "10016", Some("/from")), "carrier_error"),
        (unanswered("user_busy", "486"), "busy"),
        (unanswered("user_busy", "603"), "rejected"),
        (unanswered("user_busy", "486 D56"), "carrier_error"),
        (unanswered("timeout", "487"), "no_answer"),
        (unanswered("no_answer", "480"), "no_answer"),
        (unanswered("call_rejected", "603"), "rejected"),
        (unanswered("call_rejected", "403 D35"), "carrier_error"),
        (unanswered("call_rejected", "403 D26"), "carrier_unauthorized"),
        (unanswered("not_found", "404"), "invalid_number"),
        (unanswered("unspecified", "503"), "carrier_error"),
        (unanswered("unspecified", "unspecified"), "unknown_error"),
        (unanswered("something_new", "unspecified"), "unknown_error"),
    ];
    let rows: Vec<_> = (100..).map(|number| format!("+12025550{number}")).zip(table).collect();
    for rows in rows.chunks(AT_ONCE) {
        let mut calls = Vec::new();
        for (number, (script, code)) in rows {
            rig.telnyx.script(number, [script.clone()]);
            calls.push((rig.place(number).await, script, code));
        }
        for (call, script, code) in calls {
            let ended = rig.client().wait_for_end(&call).await;
            assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!(code)), "{ended}");
            let events = rig.client().event_names(&call).await;
            let reported = matches!(script, Script::Unanswered { .. });
            assert_eq!(events.iter().any(|event| event == "carrier.hangup"), reported, "{events:?}");
            if let Script::Refused { code, .. } = script {
                assert!(text(&ended["error"]).contains(code), "{ended}");
            }
        }
    }
    assert!(rows.iter().all(|(number, _)| rig.telnyx.asked(number) == 1));
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_cannot_be_opened_is_no_media_and_the_line_is_ended() {
    let rig = Rig::start().await;
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::WithoutStream)]);
    let call = rig.place(THEM).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "no_media", "{ended}");
    assert!(text(&ended["error"]).contains("connection_failed"), "{ended}");
    rig.telnyx.ended(THEM).await;
    assert_eq!(rig.telnyx.commands("hangup").len(), 1);
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_off_ends_the_call_and_the_line() {
    let rig = Rig::start().await;
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::StreamBreaks)]);
    let call = rig.place(THEM).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["ended_by"]), (&json!("completed"), &json!("carrier")), "{ended}");
    rig.telnyx.ended(THEM).await;
    assert_eq!(rig.telnyx.commands("hangup").len(), 1);
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_without_a_report_ends_the_call_by_the_carriers_record() {
    let rig = Rig::start().await;
    rig.telnyx.lose(&["call.hangup"]);
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::HangsUp)]);
    let call = rig.place(THEM).await;
    rig.client().wait_for(&call, |call| call["status"] == "in_progress").await;
    rig.telnyx.ended(THEM).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["ended_by"]), (&json!("caller_hangup"), &json!("caller")), "{ended}");
    assert_eq!(ended["duration_seconds"], rig.telnyx.duration(THEM), "{ended}");
    let events = rig.client().event_names(&call).await;
    assert_eq!(events[2..], ["call.in_progress", "carrier.hangup", "call.completed"]);
    assert!(rig.telnyx.commands("hangup").is_empty(), "there was nothing left to hang up");
    rig.service.stop().await;
}
