//! Transfers of which Telnyx does not report everything.

use serde_json::json;

use super::{Rig, THEM};
use crate::doubles::telnyx::{FarEnd, Script};

const DESK: &str = "+12025550142";

/// Answers and is transferred to the desk, which has this script, while these events are lost. Returns the call's id.
async fn transferred(rig: &Rig, desk: Script, lost: &'static [&'static str]) -> String {
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Listener)]);
    rig.telnyx.script(DESK, [desk]);
    let call = rig.talk_to(THEM).await;
    rig.telnyx.lose(lost);
    rig.client().post(&format!("/v1/calls/{call}/transfer"), json!({ "to": DESK })).await;
    call
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_not_reported_is_looked_up() {
    let rig = Rig::start().await;
    let call = transferred(&rig, Script::Answered(FarEnd::Listener), &["call.bridged", "call.hangup"]).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
    assert_eq!(rig.telnyx.commands("hangup").len(), 0, "the two talk");
    rig.telnyx.hang_up(THEM);
    rig.telnyx.ended(THEM).await;
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_ends_without_a_report_gives_the_caller_back_to_the_agent() {
    const HANGUPS: &[&str] = &["call.hangup"];
    const NOTHING: &[&str] = &[];
    let busy = Script::Unanswered { cause: "user_busy", sip: "486" };
    for (desk, lost) in [(busy, HANGUPS), (Script::HangsUpAtOnce, NOTHING), (Script::HangsUpAtOnce, HANGUPS)] {
        let rig = Rig::start().await;
        let call = transferred(&rig, desk, lost).await;
        rig.says_sorry(&call).await;
        let (_, shown) = rig.client().get(&format!("/v1/calls/{call}")).await;
        assert_eq!(shown["status"], "in_progress", "{shown}");
        rig.telnyx.lose(NOTHING);
        rig.client().post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
        assert_eq!(rig.client().wait_for_end(&call).await["end_reason"], "api_hangup");
        rig.service.stop().await;
    }
}
