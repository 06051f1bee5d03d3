//! Reports and streams about a call that the account of another tenant signs.

use std::sync::Arc;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::carriers::tenants_apart::{Answer, DESK, Line, assert_untouched, open_stream};
use crate::carriers::{Fixture, set_up};
use crate::doubles::twilio::TwilioDouble;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{Delivery, DialOutcome, Script};
use crate::doubles::twilio::signature;

const CALLEE: &str = "+12025550100";
/// The number that the other tenant calls.
const RINGS: &str = "+12025550101";
/// The auth token of the other tenant's account.
const THEIR_TOKEN: &str = "the auth token of another account";

type Fields = &'static [(&'static str, &'static str)];

/// Topics, the fields of reports, and the status with which an account's own addresses answer them.
const REPORTS: [(&str, Fields, u16); 11] = [
    ("status", &[("CallStatus", "in-progress")], 204),
    ("status", &[("CallStatus", "completed"), ("CallDuration", "5"), ("SipResponseCode", "200")], 204),
    ("status", &[("CallStatus", "busy"), ("SipResponseCode", "486")], 204),
    ("amd", &[("AnsweredBy", "machine_end_beep")], 204),
    ("stream", &[("StreamEvent", "stream-started"), ("StreamSid", "MZ1")], 204),
    ("stream", &[("StreamEvent", "stream-error"), ("StreamError", "No stream.")], 204),
    ("voice", &[("CallStatus", "in-progress")], 200),
    ("transfer?transfer=1", &[("CallStatus", "in-progress")], 204),
    ("transfer?transfer=1", &[("CallStatus", "in-progress"), ("DialCallStatus", "completed")], 200),
    ("transfer?transfer=1", &[("CallStatus", "completed"), ("DialCallStatus", "busy")], 200),
    ("recording", &[("RecordingStatus", "completed"), ("RecordingUrl", "https://example.com/RE1")], 404),
];

/// A call of another tenant, which rings over an account of its own.
async fn another_line(stage: &Fixture, theirs: &TwilioDouble) -> Line {
    let client = stage.service.another_tenant().await;
    let set = set_up(&client, theirs, json!({})).await;
    let (key, secret) = Flavour::Twilio.secrets()[1];
    let credentials = json!({ "auth_token": THEIR_TOKEN, "api_key_sid": key, "api_key_secret": secret });
    let path = format!("/v1/connections/{}", set.connection);
    let (status, changed) = client.patch(&path, json!({ "credentials": credentials })).await;
    assert_eq!(status, StatusCode::OK, "{changed}");
    theirs.script(RINGS, Script { outcome: DialOutcome::RingsOn, delivery: Delivery::Nothing, ..Script::default() });
    let call = client.place(&set.agent, RINGS).await;
    Line::of(&client, call, &set.connection, &stage.addresses()).await
}

/// Sends everything that the other tenant's account can sign, with these fields of the owner's call.
async fn attack(theirs: &TwilioDouble, owner: &Line, other: &Line, fields: &[(String, String)]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for (topic, further, status) in REPORTS {
        let fields = [fields, &signature::owned(further)].concat();
        for (to, expected) in [
            (other.to_call.report(topic), status),
            (other.to_connection.report(topic), status),
            (owner.to_call.report(topic), 403),
            (owner.to_connection.report(topic), 403),
            // The token of a call is none of a connection.
            (owner.to_call.report(topic).replace("/calls/", "/connections/"), 404),
        ] {
            let signed = signature::of(THEIR_TOKEN, &to, &fields);
            let answered = theirs.report(&to, Some(&signed), &fields).await;
            answers.push(Answer { to, expected, status: answered.status.as_u16(), body: answered.body });
        }
    }
    for (to, call, token, expected) in
        [(owner, owner, owner, 403), (other, owner, other, 101), (other, other, owner, 101)]
    {
        let url = to.to_call.media();
        let signed = signature::of(THEIR_TOKEN, &url, &[]);
        let start = start(&call.carrier_call_id, token.to_call.token());
        answers.push(open_stream(url, (Flavour::Twilio.signature_header(), signed.as_str()), &start, expected).await);
    }
    answers
}

/// Returns the first message of a stream that says that it is of this call.
fn start(call: &str, token: &str) -> Value {
    let stream = format!("MZ{}", "0".repeat(32));
    let start = json!({
        "accountSid": Flavour::Twilio.account(), "streamSid": stream, "callSid": call, "tracks": ["inbound"],
        "mediaFormat": { "encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1 },
        "customParameters": { "token": token },
    });
    json!({ "event": "start", "sequenceNumber": "1", "start": start, "streamSid": stream })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_tenants_account_signs_changes_nothing_of_a_call() {
    let stage = Fixture::new(Flavour::Twilio).await;
    let theirs = TwilioDouble::start(Flavour::Twilio).await;
    let other = another_line(&stage, &theirs).await;
    // Rings while the other tenant attacks.
    let is_busy = Arc::new(Notify::new());
    let busy = Script { rings_until: Some(is_busy.clone()), ..Script::ending("busy", Some(486)) };
    stage.double.script(DESK, busy);
    let call = stage.place_with(CALLEE, json!({ "answering_machine": { "mode": "detect" } })).await;
    stage.double.until(CALLEE, "a person is recognised", |call| call.answered_by.is_some()).await;
    stage.client().wait_for(&call, |call| call["status"] == "in_progress").await;
    let owner = Line::of(stage.client(), call, &stage.set.connection, &stage.addresses()).await;
    let fields = stage.double.fields_of(&stage.double.call(CALLEE));
    let attack = Box::pin(async {
        let answers = attack(&theirs, &owner, &other, &fields).await;
        is_busy.notify_one();
        answers
    });
    assert_untouched(&owner, &other, attack).await;
    stage.stop().await;
}
