//! Outbound calls, from the dial to the goodbye.

use std::collections::HashMap;

use reqwest::Method;
use serde_json::json;
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;
use switchhook_media::g711::Law;
use switchhook_media::level::VOICED_DBFS;

use super::{Rig, THEM};
use crate::doubles::telnyx::{Delivery, FarEnd, Script};
use crate::harness::{deliveries_of, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_booked_over_telnyx_and_every_event_is_delivered() {
    let rig = Rig::start_with(json!({}), json!({ "recording": { "enabled": true } }), |_| {}).await;
    let mut receiver = rig.client().receiver().await;
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Diner)]);
    let call = rig.place(THEM).await;
    let ended = rig.client().wait_for_end(&call).await;

    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("agent_hangup")), "{ended}");
    assert!(text(&ended["outcome"]["name"]).contains("Miller"), "{ended}");
    assert_eq!(ended["outcome"]["people"], 4, "{ended}");
    assert_eq!(ended["carrier"]["provider"], "telnyx");
    let received = deliveries_of(&mut receiver, &call).await;
    let names: Vec<_> = received.iter().map(|delivery| delivery.event.as_str()).collect();
    assert_eq!(names, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    let hangup = &received[3].body["data"];
    assert_eq!((&hangup["cause"], &hangup["hung_up_by"]), (&json!("normal"), &json!("agent")), "{hangup}");
    assert_eq!(hangup["carrier_code"], "normal_clearing");
    assert_eq!((rig.telnyx.rung(THEM), rig.telnyx.commands("hangup").len()), (1, 1));

    // One in ten chunks from Telnyx is overtaken by the next.
    let recording = rig.client().request(Method::GET, &text(&ended["recording_url"])).send().await.expect("an answer");
    let heard = order_heard(&recording.bytes().await.expect("a whole body"), "name");
    assert!(heard.len() >= 20 && heard.is_sorted(), "{heard:?}");
    rig.service.stop().await;
}

/// Returns, in the order of a stereo recording, the positions within the caller's recorded line of those of its frames that are loud
/// and unique.
fn order_heard(wav: &[u8], line: &str) -> Vec<usize> {
    let line = switchhook_caller_audio::recording(line).expect("shipped");
    let frames = line.bytes().chunks_exact(160).map(|bytes| Law::Mu.decode_frame(bytes).expect("whole frames"));
    let mut places: HashMap<Vec<i16>, Vec<usize>> = HashMap::new();
    for (place, frame) in frames.enumerate().filter(|(_, frame)| frame.rms_dbfs() > VOICED_DBFS) {
        places.entry(frame.samples().to_vec()).or_default().push(place);
    }
    let caller: Vec<i16> = wav[44..].chunks_exact(4).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    let heard = caller.chunks_exact(160).map(|samples| Frame::from_slice(AudioFormat::Narrowband, samples));
    heard
        .filter_map(|frame| places.get(frame.samples()))
        .filter(|places| places.len() == 1)
        .map(|places| places[0])
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_that_come_twice_late_and_in_the_wrong_order_change_nothing() {
    let rig = Rig::start().await;
    rig.telnyx.deliver(Delivery { twice: true, swapped: true });
    let busy = "+12025550124";
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::HangsUp)]);
    rig.telnyx.script(busy, [Script::Unanswered { cause: "user_busy", sip: "486" }]);
    let (talked, refused) = (rig.place(THEM).await, rig.place(busy).await);
    for (number, call, reason) in [(THEM, &talked, "caller_hangup"), (busy, &refused, "busy")] {
        let ended = rig.client().wait_for_end(call).await;
        let events = rig.client().event_names(call).await;
        // Everything has been reported again, long after the end.
        rig.telnyx.ended(number).await;
        let (_, shown) = rig.client().get(&format!("/v1/calls/{call}")).await;
        assert_eq!(shown, ended);
        assert!([&ended["end_reason"], &ended["error_code"]].contains(&&json!(reason)), "{ended}");
        assert_eq!(rig.client().event_names(call).await, events);
        assert_eq!(events.iter().filter(|event| *event == "carrier.hangup").count(), 1, "{events:?}");
    }
    // Three times: initiated, answered, streaming.started, streaming.stopped and hangup of one call; initiated and hangup of the
    // other. Those that were held back until the end arrived twice.
    assert!(rig.telnyx.answers().len() >= 19, "{:?}", rig.telnyx.answers());
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_without_room_is_asked_again_until_it_rings_once() {
    let rig = Rig::start().await;
    let refused = |status, code| Script::Refused { status, code, pointer: None };
    rig.telnyx.script(THEM, [refused(429, "10011"), refused(403, "D1"), Script::Answered(FarEnd::HangsUp)]);
    let call = rig.place(THEM).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "caller_hangup", "{ended}");
    assert_eq!((rig.telnyx.asked(THEM), rig.telnyx.rung(THEM)), (3, 1));
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dial_whose_answer_is_lost_is_found_and_not_repeated() {
    let rig = Rig::start().await;
    rig.telnyx.script(THEM, [Script::AnswerLost(FarEnd::HangsUp)]);
    let call = rig.place(THEM).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!(ended["end_reason"], "caller_hangup", "{ended}");
    assert_eq!((rig.telnyx.asked(THEM), rig.telnyx.rung(THEM)), (1, 1));
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dial_with_unknown_outcome_fails_and_is_not_repeated() {
    let rig = Rig::start().await;
    rig.telnyx.script(THEM, [Script::Broken]);
    let body = json!({ "agent_id": rig.agent.id, "to": THEM, "ring_timeout_seconds": 5 });
    let call = text(&rig.client().create("/v1/calls", body).await["id"]);
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!(ended["error_code"], "carrier_error", "{ended}");
    assert_eq!((rig.telnyx.asked(THEM), rig.telnyx.rung(THEM)), (1, 0));
    rig.service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_is_heard_in_every_codec() {
    for codec in ["PCMU", "PCMA", "L16"] {
        let rig = Rig::start_with(json!({ "codec": codec }), json!({}), |_| {}).await;
        rig.telnyx.script(THEM, [Script::Answered(FarEnd::HangsUp)]);
        let call = rig.place(THEM).await;
        let ended = rig.client().wait_for_end(&call).await;
        assert_eq!(ended["end_reason"], "caller_hangup", "{codec}: {ended}");
        assert!(rig.telnyx.seen(THEM).voiced >= 10, "{codec}: {:?}", rig.telnyx.seen(THEM));
        rig.service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_telnyx_recognises_gets_its_message() {
    let machines = json!({ "mode": "detect", "on_machine": "leave_message", "message": "Please call us back." });
    let rig = Rig::start_with(json!({}), json!({ "answering_machine": machines }), |_| {}).await;
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Machine)]);
    let call = rig.place(THEM).await;
    let ended = rig.client().wait_for_end(&call).await;
    assert_eq!((&ended["end_reason"], &ended["answered_by"]), (&json!("voicemail"), &json!("voicemail")), "{ended}");
    let (_, said) = rig.client().get(&format!("/v1/calls/{call}/transcript")).await;
    assert!(said.to_string().contains("Please call us back."), "{said}");
    rig.service.stop().await;
}
