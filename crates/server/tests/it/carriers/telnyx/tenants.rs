//! Webhooks and streams about a call that the account of another tenant signs.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{Rig, THEM, merge, set_up};
use crate::carriers::addresses_of;
use crate::carriers::tenants_apart::{Answer, DESK, Line, assert_untouched, open_stream};
use crate::doubles::telnyx::{APPLICATION, FarEnd, Script, Telnyx};

/// The number that the other tenant calls.
const RINGS: &str = "+12025550124";

/// Returns the types of events, and their fields.
fn reports() -> [(&'static str, Value); 7] {
    let hangup = json!({ "hangup_cause": "user_busy", "hangup_source": "callee", "sip_hangup_cause": "486" });
    [
        ("call.answered", json!({})),
        ("call.bridged", json!({})),
        ("call.machine.detection.ended", json!({ "result": "machine" })),
        ("streaming.started", json!({})),
        ("streaming.failed", json!({ "failure_reason": "connection_failed", "stream_type": "websocket" })),
        ("call.recording.saved", json!({ "recording_urls": { "wav": "https://example.com/recording.wav" } })),
        ("call.hangup", hangup),
    ]
}

/// A call of another tenant, which rings over an account of its own.
async fn another_line(rig: &Rig, theirs: &Telnyx) -> Line {
    // Takes an id, so that the calls of the two accounts have different ones.
    theirs.add_number(RINGS, None);
    theirs.script(RINGS, [Script::Rings]);
    let client = rig.service.another_tenant().await;
    let (agent, connection) = set_up(&client, theirs, json!({}), json!({})).await;
    let call = client.place(&agent, RINGS).await;
    Line::of(&client, call, &connection, &addresses_of(&rig.service)).await
}

/// Returns the `client_state` that the service gave to this call.
fn state(line: &Line) -> String {
    BASE64_STANDARD.encode(line.to_call.token())
}

/// Sends everything that the other tenant's account can sign about the owner's call, which it names by its id or its state.
async fn attack(theirs: &Telnyx, owner: &Line, other: &Line) -> Vec<Answer> {
    let mut answers = Vec::new();
    for (leg, (event_type, fields)) in
        [&*owner.carrier_call_id, "v3:another-leg"].into_iter().flat_map(|leg| reports().map(|report| (leg, report)))
    {
        let mut payload = json!({
            "call_control_id": leg, "connection_id": APPLICATION, "client_state": state(owner), "to": THEM,
        });
        merge(&mut payload, fields);
        let data = json!({ "record_type": "event", "event_type": event_type, "id": "x", "payload": payload });
        let body = json!({ "data": data, "meta": { "attempt": 1 } });
        for (to, expected) in [
            (other.to_call.report("events"), 204),
            (other.to_connection.report("events"), 204),
            (other.to_connection.report("recording"), 404),
            (owner.to_call.report("events"), 403),
            (owner.to_connection.report("events"), 403),
            // The token of a call is none of a connection.
            (owner.to_call.report("events").replace("/calls/", "/connections/"), 404),
        ] {
            let (status, body) = theirs.report(&to, &body).await;
            answers.push(Answer { to, expected, status, body });
        }
    }
    for (to, call, client_state, expected) in
        [(owner, owner, owner, 403), (other, owner, other, 101), (other, other, owner, 101)]
    {
        let bearer = format!("Bearer {}", other.to_call.token());
        let start = json!({
            "call_control_id": call.carrier_call_id, "client_state": state(client_state),
            "media_format": { "encoding": "PCMU", "sample_rate": 8000, "channels": 1 },
        });
        let start = json!({ "event": "start", "sequence_number": "1", "stream_id": "another", "start": start });
        answers.push(open_stream(to.to_call.media(), ("authorization", bearer.as_str()), &start, expected).await);
    }
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_tenants_account_signs_changes_nothing_of_a_call() {
    let agent = json!({ "answering_machine": { "mode": "detect" }, "silence": { "hangup_after_seconds": null } });
    let rig = Rig::start_with(json!({}), agent, |_| {}).await;
    let theirs = Telnyx::start().await;
    let other = another_line(&rig, &theirs).await;
    rig.telnyx.script(THEM, [Script::Answered(FarEnd::Listener)]);
    rig.telnyx.script(DESK, [Script::Unanswered { cause: "user_busy", sip: "486" }]);
    let call = rig.talk_to(THEM).await;
    let owner = Line::of(rig.client(), call, &rig.connection, &addresses_of(&rig.service)).await;
    // The transfer lasts until the service looks the other leg up.
    rig.telnyx.lose(&["call.hangup"]);
    let attack = Box::pin(async {
        let answers = attack(&theirs, &owner, &other).await;
        rig.telnyx.lose(&[]);
        answers
    });
    assert_untouched(&owner, &other, attack).await;
    rig.telnyx.ended(THEM).await;
    rig.service.stop().await;
}
