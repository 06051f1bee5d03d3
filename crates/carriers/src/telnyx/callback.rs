//! Telnyx's webhooks as carrier events.
//!
//! They arrive twice, late and in any order; the call's state machine handles that, so neither their ids nor their times are
//! used. Keys are not read from `call.dtmf.received`, since the websocket delivers them too.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::causes;
use crate::CarrierEvent;
use crate::callback::{Callback, CallbackError, IncomingCall, Reply, e164};

#[derive(Deserialize)]
struct Envelope {
    data: Event,
}

#[derive(Deserialize)]
struct Event {
    event_type: String,
    payload: Payload,
}

/// The fields of any event. Other events have other types in them, and proxies write numbers for text.
#[derive(Deserialize)]
struct Payload(Map<String, Value>);

impl Payload {
    fn text(&self, field: &str) -> Option<Cow<'_, str>> {
        match self.0.get(field)? {
            Value::String(text) => Some(text.into()),
            Value::Number(number) => Some(number.to_string().into()),
            _ => None,
        }
    }
}

/// Parses a webhook's body.
///
/// # Errors
/// When it is not an event of a call.
pub(super) fn read(body: &[u8]) -> Result<Callback, CallbackError> {
    let malformed = |words: &str| CallbackError::Malformed(words.to_owned());
    let Envelope { data: Event { event_type, payload } } =
        serde_json::from_slice(body).map_err(|_| malformed("The body is no event of Telnyx's API version 2."))?;
    let carrier_call_id =
        payload.text("call_control_id").ok_or_else(|| malformed("The event has no call_control_id."))?;
    let carrier_call_id = carrier_call_id.into_owned();
    let incoming = event_type == "call.initiated" && payload.text("direction").as_deref() == Some("incoming");
    let party = |field| payload.text(field).unwrap_or_default();
    let called = |to: &str| e164(to).unwrap_or_else(|| to.to_owned());
    let incoming = incoming.then(|| IncomingCall { from: number(&party("from")), to: called(&party("to")) });
    let events = events(&event_type, &payload);
    // Incoming calls have none.
    let reference = payload.text("client_state").as_deref().and_then(token_of);
    Ok(Callback { carrier_call_id, events, reference, incoming, wants_instructions: false, reply: Reply::Empty })
}

/// Returns the token in a `client_state` of ours.
pub(super) fn token_of(client_state: &str) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(client_state).ok()?).ok()
}

/// Returns a number in E.164 with its `+`, which Telnyx applications can be configured to omit.
fn number(text: &str) -> String {
    let bare = (7..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if bare { format!("+{text}") } else { text.to_owned() }
}

fn events(event_type: &str, payload: &Payload) -> Vec<CarrierEvent> {
    let (result, cause) = (payload.text("result"), payload.text("hangup_cause"));
    let result = result.as_deref();
    let events = match event_type {
        "call.answered" => Some(CarrierEvent::Answered),
        "call.hangup" => Some(CarrierEvent::Hangup(causes::of_hangup(
            cause.as_deref().unwrap_or_default(),
            payload.text("sip_hangup_cause").as_deref(),
            payload.text("hangup_source").as_deref(),
            payload.text("client_state").is_some(),
        ))),
        "call.bridged" => Some(CarrierEvent::Bridged),
        "streaming.failed" => Some(CarrierEvent::NoMedia(no_media(payload.text("failure_reason").as_deref()))),
        "call.machine.detection.ended" | "call.machine.premium.detection.ended" => detected(result),
        "call.machine.greeting.ended" | "call.machine.premium.greeting.ended" => greeting(result),
        _ => None,
    };
    events.into_iter().collect()
}

fn no_media(reason: Option<&str>) -> String {
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("Telnyx could not open the media stream{reason}. Check that it can reach the public URL by wss.")
}

fn detected(result: Option<&str>) -> Option<CarrierEvent> {
    match result? {
        "human" | "human_residence" | "human_business" => Some(CarrierEvent::Human),
        "machine" | "fax_detected" => Some(CarrierEvent::Machine { greeting_ended: false }),
        _ => None,
    }
}

fn greeting(result: Option<&str>) -> Option<CarrierEvent> {
    match result? {
        "beep_detected" | "ended" => Some(CarrierEvent::Machine { greeting_ended: true }),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"data":{"record_type":"event","event_type":"call.hangup","id":"x","occurred_at":"2026-01-01T00:00:00Z","payload":{"call_control_id":"v3:x","client_state":"eA==","from":"+12025550199","to":"+12025550100","hangup_cause":"user_busy","hangup_source":"callee","sip_hangup_cause":"486"}},"meta":{"attempt":1}}"##,
            r##"{"data":{"event_type":"call.initiated","payload":{"call_control_id":"v3:x","direction":"incoming","state":"parked","client_state":null,"from":"12025550123","to":"+12025550100"}}}"##,
            r##"{"data":{"event_type":"call.machine.premium.detection.ended","payload":{"call_control_id":"v3:x","result":"human_residence"}}}"##,
            r##"{"data":{"event_type":"streaming.failed","payload":{"call_control_id":"v3:x","failure_reason":"connection_failed"}}}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |body| {
            read(body).map(|callback| callback.carrier_call_id.len() + callback.events.len())
        })
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchhook_core::call::{CarrierCause, EndedBy, Hangup};

    use super::*;

    fn event(event_type: &str, fields: Value) -> Callback {
        let mut payload =
            json!({ "call_control_id": "v3:x", "client_state": "eA==", "from": "+12025550199", "to": "+12025550100" });
        for (field, value) in fields.as_object().expect("an object") {
            payload[field] = value.clone();
        }
        let id = "0ccc7b54-4df3-4bca-a65a-3da1ecc777f0";
        let data = json!({ "record_type": "event", "event_type": event_type, "id": id, "payload": payload });
        read(json!({ "data": data, "meta": { "attempt": 1 } }).to_string().as_bytes()).expect("an event")
    }

    #[test]
    fn each_event_is_reported_in_the_words_of_all_carriers() {
        let busy = Hangup {
            sip_code: Some(486),
            carrier_code: Some("user_busy".to_owned()),
            hung_up_by: Some(EndedBy::Caller),
            ..Hangup::new(CarrierCause::Busy)
        };
        let hangup = json!({ "hangup_cause": "user_busy", "sip_hangup_cause": "486", "hangup_source": "callee" });
        let mut loose = hangup.clone();
        (loose["sip_hangup_cause"], loose["to"], loose["result"]) =
            (json!(486), json!(["+12025550100"]), json!({ "a": 1 }));
        let machine = |greeting_ended| vec![CarrierEvent::Machine { greeting_ended }];
        let table = [
            ("call.initiated", json!({ "direction": "outgoing", "state": "bridging" }), vec![]),
            ("call.answered", json!({}), vec![CarrierEvent::Answered]),
            ("call.hangup", hangup, vec![CarrierEvent::Hangup(busy.clone())]),
            ("call.hangup", loose, vec![CarrierEvent::Hangup(busy)]),
            ("call.machine.detection.ended", json!({ "result": "human" }), vec![CarrierEvent::Human]),
            ("call.machine.detection.ended", json!({ "result": "machine" }), machine(false)),
            ("call.machine.detection.ended", json!({ "result": "not_sure" }), vec![]),
            ("call.machine.greeting.ended", json!({ "result": "beep_detected" }), machine(true)),
            ("call.machine.greeting.ended", json!({ "result": "ended" }), machine(true)),
            ("call.machine.greeting.ended", json!({ "result": "not_sure" }), vec![]),
            ("call.machine.premium.detection.ended", json!({ "result": "human_business" }), vec![CarrierEvent::Human]),
            ("call.machine.premium.detection.ended", json!({ "result": "fax_detected" }), machine(false)),
            ("call.machine.premium.detection.ended", json!({ "result": "silence" }), vec![]),
            ("call.machine.premium.greeting.ended", json!({ "result": "beep_detected" }), machine(true)),
            ("call.bridged", json!({}), vec![CarrierEvent::Bridged]),
            ("streaming.started", json!({}), vec![]),
            ("call.dtmf.received", json!({ "digit": "1" }), vec![]),
            ("call.cost", json!({}), vec![]),
        ];
        for (event_type, fields, events) in table {
            let callback = event(event_type, fields.clone());
            assert_eq!((callback.events, callback.incoming), (events, None), "{event_type} {fields}");
            assert_eq!(callback.carrier_call_id, "v3:x");
        }
        let failed = event("streaming.failed", json!({ "failure_reason": "connection_failed" })).events;
        assert!(
            matches!(&failed[..], [CarrierEvent::NoMedia(words)] if words.contains("connection_failed")),
            "{failed:?}"
        );
    }

    #[test]
    fn incoming_call_has_numbers_in_e164() {
        let arriving =
            json!({ "direction": "incoming", "state": "parked", "client_state": null, "from": "12025550123" });
        let incoming = event("call.initiated", arriving).incoming.expect("somebody calls");
        assert_eq!((incoming.from.as_str(), incoming.to.as_str()), ("+12025550123", "+12025550100"));
        let hidden = json!({ "direction": "incoming", "from": "anonymous" });
        assert_eq!(event("call.initiated", hidden).incoming.expect("somebody calls").from, "anonymous");
    }

    #[test]
    fn the_called_number_is_in_e164_form_however_it_is_written() {
        for (to, expected) in [
            ("+12025550100", "+12025550100"),
            ("12025550100", "+12025550100"),
            ("sip:+12025550100@acme.sip.telnyx.com", "+12025550100"),
            ("sip:%2B12025550100@acme.sip.telnyx.com:5061;transport=tls", "+12025550100"),
            ("+12025550100@acme.sip.telnyx.com", "+12025550100"),
            ("sip:reception@acme.sip.telnyx.com", "sip:reception@acme.sip.telnyx.com"),
            ("reception@acme.sip.telnyx.com", "reception@acme.sip.telnyx.com"),
            ("1000", "1000"),
            ("", ""),
        ] {
            let arriving = json!({ "direction": "incoming", "from": "sip:ava@a.example", "to": to });
            let incoming = event("call.initiated", arriving).incoming.expect("somebody calls");
            assert_eq!((incoming.from.as_str(), incoming.to.as_str()), ("sip:ava@a.example", expected), "{to}");
        }
    }

    #[test]
    fn what_is_no_event_of_a_call_is_refused() {
        for body in ["", "{}", "[]", r#"{"data":{"event_type":"call.answered","payload":{}}}"#] {
            assert!(matches!(read(body.as_bytes()), Err(CallbackError::Malformed(_))), "{body}");
        }
    }
}
