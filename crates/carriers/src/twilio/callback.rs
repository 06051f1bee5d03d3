//! Parsing of the carrier's callbacks.

use std::borrow::Cow;
use std::collections::HashMap;

use axum::http::Method;
use serde_json::Value;
use url::form_urlencoded;

use super::causes::{self, CallEnd};
use super::topics::{AMD, DOCUMENT, STATUS, STREAM, TRANSFER, VOICE};
use super::{Flavour, twiml};
use crate::CarrierEvent;
use crate::address::Addresses;
use crate::callback::{Callback, CallbackError, CallbackRequest, IncomingCall, Reply, e164};

/// Reads a request whose signature was checked.
///
/// # Errors
/// When it is not one that the carrier sends.
pub(super) fn read(
    flavour: Flavour,
    addresses: &Addresses,
    request: &CallbackRequest<'_>,
) -> Result<Callback, CallbackError> {
    let fields = Fields::of(request)?;
    let id = fields.required("CallSid")?;
    let about = |events| Callback {
        carrier_call_id: id.to_owned(),
        events,
        reference: None,
        incoming: None,
        wants_instructions: false,
        reply: Reply::Empty,
    };
    match request.topic {
        STATUS => Ok(about(status(flavour, &fields)?)),
        AMD => Ok(about(answered_by(fields.required("AnsweredBy")?))),
        STREAM => Ok(about(stream(flavour, &fields)?)),
        VOICE => voice(flavour, &fields, about),
        TRANSFER => transfer(request, &fields, about),
        DOCUMENT => Ok(Callback { reply: Reply::Xml(document(addresses, request)?), ..about(vec![]) }),
        _ => Err(CallbackError::NotFound),
    }
}

/// The document that the address itself holds.
fn document(addresses: &Addresses, request: &CallbackRequest<'_>) -> Result<String, CallbackError> {
    let call = request.token().and_then(|token| addresses.call_of(token)).ok_or(CallbackError::NotFound)?;
    let opened = request.query(DOCUMENT).and_then(|sealed| addresses.open(call, &sealed));
    opened.map(|document| document.reveal().clone()).ok_or(CallbackError::NotFound)
}

/// The first value of each field.
struct Fields<'a>(HashMap<Cow<'a, str>, Cow<'a, str>>);

impl<'a> Fields<'a> {
    /// Of the body, or of the query where the carrier was configured to use GET: what the signature covers.
    fn of(request: &CallbackRequest<'a>) -> Result<Self, CallbackError> {
        let text = match *request.method {
            Method::GET => request.url.split_once('?').map_or("", |(_, query)| query).as_bytes(),
            _ if request.is_of_type("application/json") => return Self::of_json(request.body),
            _ => request.body,
        };
        let mut fields = HashMap::new();
        for (name, value) in form_urlencoded::parse(text) {
            fields.entry(name).or_insert(value);
        }
        Ok(Self(fields))
    }

    /// The same names as in a form, with text, numbers or booleans. What is nested is none of these fields.
    fn of_json(body: &[u8]) -> Result<Self, CallbackError> {
        let malformed = |_| CallbackError::Malformed("The body is no JSON object.".to_owned());
        let object: serde_json::Map<String, Value> = serde_json::from_slice(body).map_err(malformed)?;
        let fields = object.into_iter().filter_map(|(name, value)| {
            let value = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                Value::Bool(truth) => truth.to_string(),
                _ => return None,
            };
            Some((Cow::Owned(name), Cow::Owned(value)))
        });
        Ok(Self(fields.collect()))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| &**value).filter(|value| !value.is_empty())
    }

    fn required(&self, name: &str) -> Result<&str, CallbackError> {
        self.get(name).ok_or_else(|| CallbackError::Malformed(format!("{name} is missing.")))
    }
}

fn status(flavour: Flavour, fields: &Fields<'_>) -> Result<Vec<CarrierEvent>, CallbackError> {
    let status = fields.required("CallStatus")?;
    let end = CallEnd {
        status,
        // As Twilio calls it, and as SignalWire does.
        sip_code: fields
            .get("SipResponseCode")
            .or_else(|| fields.get("SipResultCode"))
            .and_then(|code| code.parse().ok()),
        code: fields.get("ErrorCode"),
    };
    Ok(match status {
        "queued" | "initiated" => Vec::new(),
        "ringing" | "ringing_forwarded" | "ringing_queued" => vec![CarrierEvent::Ringing],
        "in-progress" | "answered" => vec![CarrierEvent::Answered],
        known if causes::is_terminal(known) => end.events(flavour),
        // A word of the future ends a call only when it comes with what ends of calls come with.
        _ if fields.get("CallDuration").is_some() || end.sip_code.is_some() => end.events(flavour),
        _ => {
            tracing::warn!("the carrier reports a call status that is not known here");
            Vec::new()
        }
    })
}

/// A fax is a machine whose greeting never ends. `unknown` says nothing: the transcript decides.
fn answered_by(word: &str) -> Vec<CarrierEvent> {
    match word {
        "human" => vec![CarrierEvent::Human],
        "machine_end_beep" | "machine_end_silence" | "machine_end_other" => {
            vec![CarrierEvent::Machine { greeting_ended: true }]
        }
        "fax" => vec![CarrierEvent::Machine { greeting_ended: false }],
        machine if machine.starts_with("machine") => vec![CarrierEvent::Machine { greeting_ended: false }],
        _ => Vec::new(),
    }
}

fn stream(flavour: Flavour, fields: &Fields<'_>) -> Result<Vec<CarrierEvent>, CallbackError> {
    Ok(match fields.required("StreamEvent")? {
        "stream-error" => {
            let why = fields.get("StreamError").or_else(|| fields.get("ErrorCode")).unwrap_or("no reason given");
            vec![causes::no_media(flavour, why)]
        }
        _ => Vec::new(),
    })
}

/// The number of a transfer has answered, says its own leg; or the transfer is over, says the call, which asks what follows.
fn transfer(
    request: &CallbackRequest<'_>,
    fields: &Fields<'_>,
    about: impl FnOnce(Vec<CarrierEvent>) -> Callback,
) -> Result<Callback, CallbackError> {
    let number = request.query(TRANSFER).and_then(|number| number.parse().ok()).ok_or(CallbackError::NotFound)?;
    let ended = |bridged| CarrierEvent::TransferEnded { number, bridged };
    let Some(dialled) = fields.get("DialCallStatus") else {
        let answered = matches!(fields.required("CallStatus")?, "in-progress" | "answered");
        return Ok(about(if answered { vec![ended(true)] } else { vec![] }));
    };
    let bridged = match fields.get("DialBridged").map(str::to_ascii_lowercase).as_deref() {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(dialled, "completed" | "answered"),
    };
    // Nothing follows on a call that is over, whose end its status tells.
    let over = fields.get("CallStatus").is_some_and(causes::is_terminal);
    let reply = Reply::Xml(twiml::hang_up());
    Ok(Callback { wants_instructions: !bridged && !over, reply, ..about(vec![ended(bridged)]) })
}

/// Returns the called number in E.164 form, also where it is the address of a SIP domain or of WhatsApp.
fn called(to: &str) -> String {
    e164(to.strip_prefix("whatsapp:").unwrap_or(to)).unwrap_or_else(|| to.to_owned())
}

/// Handles an incoming call, or the answer of a call that we placed.
fn voice(
    flavour: Flavour,
    fields: &Fields<'_>,
    about: impl FnOnce(Vec<CarrierEvent>) -> Callback,
) -> Result<Callback, CallbackError> {
    let reply = Reply::Xml(twiml::hang_up());
    if fields.get("Direction").is_some_and(|direction| direction != "inbound") {
        let events = if fields.get("CallStatus").is_some() { status(flavour, fields)? } else { Vec::new() };
        return Ok(Callback { wants_instructions: true, reply, ..about(events) });
    }
    let (from, to) = (fields.get("From").or_else(|| fields.get("Caller")), fields.required("To")?);
    let incoming = IncomingCall { from: from.unwrap_or("anonymous").to_owned(), to: called(to) };
    Ok(Callback { incoming: Some(incoming), reply, ..about(Vec::new()) })
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"CallSid=CA1&CallStatus=completed&CallDuration=15&Duration=1&SipResponseCode=200&SequenceNumber=3"##,
            r##"CallSid=CA1&CallStatus=ringing&Direction=inbound&From=%2B12025550123&To=%2B12025550199&Called=x"##,
            r##"CallSid=CA1&AnsweredBy=machine_end_beep&MachineDetectionDuration=3000"##,
            r##"CallSid=CA1&StreamEvent=stream-error&StreamError=No.&StreamSid=MZ1"##,
            r##"CallSid=CA1&CallStatus=in-progress&DialCallStatus=busy&DialCallSid=CA2&DialBridged=false"##,
            r##"{"CallSid":"CA1","CallStatus":"busy","SipResultCode":486,"CallDuration":0,"x":{"y":[1]},"z":null}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |body| {
            let addresses =
                Addresses::new("https://voice.example.com".to_owned(), &switchhook_vault::Vault::for_tests([1; 32]));
            let kind = if body.starts_with(b"{") { "application/json" } else { "application/x-www-form-urlencoded" };
            let kind = (axum::http::header::CONTENT_TYPE, axum::http::HeaderValue::from_static(kind));
            let url = format!("https://voice.example.com/x/document?transfer=1&{}", String::from_utf8_lossy(body));
            let read = |topic| {
                let headers = &axum::http::HeaderMap::from_iter([kind.clone()]);
                let request = CallbackRequest { method: &Method::POST, url: &url, headers, body, topic, now: 0 };
                [Flavour::Twilio, Flavour::SignalWire].map(|flavour| read(flavour, &addresses, &request))
            };
            let topics = [STATUS, AMD, STREAM, VOICE, TRANSFER, DOCUMENT];
            let read = topics.into_iter().flat_map(read).flatten().map(|callback| callback.carrier_call_id.len() + 1);
            read.max().ok_or(())
        })
    },
};

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};
    use switchhook_core::call::{CarrierCause, ErrorCode, Hangup};
    use switchhook_core::id::CallId;
    use uuid::Uuid;

    use super::*;
    use switchhook_vault::Vault;

    fn read(topic: &str, form: &str) -> Result<Callback, CallbackError> {
        read_at("https://voice.example.com/x", topic, "application/x-www-form-urlencoded; charset=UTF-8", form)
    }

    fn read_at(url: &str, topic: &str, kind: &'static str, body: &str) -> Result<Callback, CallbackError> {
        let method = &Method::POST;
        let headers = &HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().expect("text"))]);
        let request = CallbackRequest { method, url, headers, body: body.as_bytes(), topic, now: 0 };
        super::read(Flavour::SignalWire, &addresses(), &request)
    }

    fn addresses() -> Addresses {
        Addresses::new("https://voice.example.com".to_owned(), &Vault::for_tests([1; 32]))
    }

    fn events(topic: &str, form: &str) -> Vec<CarrierEvent> {
        read(topic, &format!("CallSid=CA1&{form}")).expect("readable").events
    }

    #[test]
    fn a_call_is_followed_from_ringing_to_its_end() {
        assert_eq!(events(STATUS, "CallStatus=queued"), []);
        assert_eq!(events(STATUS, "CallStatus=initiated&SequenceNumber=0&CallbackSource=call-progress-events"), []);
        assert_eq!(events(STATUS, "CallStatus=ringing"), [CarrierEvent::Ringing]);
        assert_eq!(events(STATUS, "CallStatus=in-progress"), [CarrierEvent::Answered]);
        let word = Some("completed".to_owned());
        let completed = Hangup { sip_code: Some(200), carrier_code: word, ..Hangup::new(CarrierCause::Normal) };
        let form = "CallStatus=completed&CallDuration=15&Duration=1&SipResponseCode=200";
        assert_eq!(events(STATUS, form), [CarrierEvent::Hangup(completed)]);
        let callback = read(STATUS, "CallSid=CA1&CallStatus=ringing").expect("readable");
        assert_eq!((callback.carrier_call_id.as_str(), callback.reply), ("CA1", Reply::Empty));
    }

    #[test]
    fn a_word_that_is_not_known_ends_a_call_only_when_it_looks_like_an_end() {
        assert_eq!(events(STATUS, "CallStatus=on-hold"), []);
        let ended = Hangup {
            carrier_code: Some("evaporated".to_owned()),
            error_code: Some(ErrorCode::UnknownError),
            ..Hangup::new(CarrierCause::Failed)
        };
        assert_eq!(events(STATUS, "CallStatus=evaporated&CallDuration=0"), [CarrierEvent::Hangup(ended)]);
    }

    #[test]
    fn machines_are_distinguished_from_people() {
        let machine = |greeting_ended| vec![CarrierEvent::Machine { greeting_ended }];
        let table = [
            ("human", vec![CarrierEvent::Human]),
            ("machine_start", machine(false)),
            ("machine_end_beep", machine(true)),
            ("machine_end_silence", machine(true)),
            ("machine_end_other", machine(true)),
            ("fax", machine(false)),
            ("machine_of_the_future", machine(false)),
            ("unknown", vec![]),
            ("martian", vec![]),
        ];
        for (word, expected) in table {
            assert_eq!(events(AMD, &format!("AnsweredBy={word}&MachineDetectionDuration=2400")), expected, "{word}");
        }
    }

    #[test]
    fn a_stream_that_fails_brings_no_audio() {
        assert_eq!(events(STREAM, "StreamEvent=stream-started&StreamSid=MZ1"), []);
        assert_eq!(events(STREAM, "StreamEvent=stream-stopped&StreamSid=MZ1"), []);
        let CarrierEvent::NoMedia(words) =
            events(STREAM, "StreamEvent=stream-error&StreamError=connection_refused").remove(0)
        else {
            panic!("something else was events");
        };
        assert!(words.contains("connection_refused"), "{words}");
    }

    #[test]
    fn ringing_inbound_call_is_an_incoming_call() {
        let form = "CallSid=CA1&From=%2B12025550100&To=%2B12025550199&Direction=inbound&CallStatus=ringing";
        let callback = read(VOICE, form).expect("readable");
        assert!(callback.events.is_empty());
        let number = |number: &str| number.to_owned();
        let incoming = Some(IncomingCall { from: number("+12025550100"), to: number("+12025550199") });
        assert_eq!(callback.incoming, incoming);
        let hidden = read(VOICE, "CallSid=CA1&From=anonymous&To=%2B12025550199&Direction=inbound").expect("readable");
        assert_eq!(hidden.incoming.map(|incoming| incoming.from).as_deref(), Some("anonymous"));
        assert!(!hidden.wants_instructions);
    }

    #[test]
    fn the_called_number_is_in_e164_form_however_it_is_written() {
        for (to, expected) in [
            ("%2B12025550199", "+12025550199"),
            ("12025550199", "+12025550199"),
            // A plus sign that is not escaped is a blank.
            ("+12025550199", "+12025550199"),
            ("sip:%2B12025550199%40acme.sip.twilio.com", "+12025550199"),
            ("sip:%2B12025550199%40acme.sip.twilio.com%3Buser%3Dphone", "+12025550199"),
            ("sips:%252B12025550199%40acme.sip.twilio.com:5061", "+12025550199"),
            ("whatsapp:%2B12025550199", "+12025550199"),
            ("sip:reception%40acme.sip.twilio.com", "sip:reception@acme.sip.twilio.com"),
            ("sip:1000%40acme.sip.twilio.com", "sip:1000@acme.sip.twilio.com"),
            ("client:ava", "client:ava"),
            ("whatsapp:", "whatsapp:"),
            ("12345", "12345"),
            ("02025550199", "02025550199"),
            ("1234567890123456", "1234567890123456"),
        ] {
            let form = format!("CallSid=CA1&From=sip:%2B12025550100%40a.example&To={to}&Direction=inbound");
            let incoming = read(VOICE, &form).expect("readable").incoming.expect("a call");
            assert_eq!(
                (incoming.from.as_str(), incoming.to.as_str()),
                ("sip:+12025550100@a.example", expected),
                "{to}"
            );
        }
    }

    #[test]
    fn a_call_of_ours_that_was_answered_wants_instructions() {
        let asked =
            |fields: &str| read(VOICE, &format!("CallSid=CA1&Direction=outbound-api{fields}")).expect("readable");
        let answered = asked("&CallStatus=in-progress");
        assert_eq!(
            (answered.incoming, answered.events, answered.wants_instructions),
            (None, vec![CarrierEvent::Answered], true)
        );
        assert_eq!(asked("").reply, Reply::Xml(twiml::hang_up()), "of a call that has ended meanwhile");
    }

    #[test]
    fn a_transfer_has_ended_when_its_number_answers_or_its_verb_is_over() {
        let parsed = |query: &str, fields: &str| {
            let url = format!("https://voice.example.com/x/transfer{query}");
            read_at(&url, TRANSFER, "application/x-www-form-urlencoded", &format!("CallSid=CA1&{fields}"))
        };
        let ended = |number, bridged| vec![CarrierEvent::TransferEnded { number, bridged }];
        let table = [
            ("CallStatus=in-progress", ended(2, true), false),
            ("CallStatus=answered", ended(2, true), false),
            ("CallStatus=ringing", vec![], false),
            ("CallStatus=in-progress&DialCallStatus=completed&DialCallDuration=7", ended(2, true), false),
            ("CallStatus=in-progress&DialCallStatus=answered", ended(2, true), false),
            ("CallStatus=in-progress&DialCallStatus=completed&DialBridged=false", ended(2, false), true),
            ("CallStatus=in-progress&DialCallStatus=busy&DialBridged=False", ended(2, false), true),
            ("CallStatus=in-progress&DialCallStatus=no-answer", ended(2, false), true),
            ("DialCallStatus=failed", ended(2, false), true),
            ("DialCallStatus=a-word-of-the-future", ended(2, false), true),
            ("CallStatus=completed&DialCallStatus=canceled", ended(2, false), false),
            ("CallStatus=completed&DialCallStatus=completed", ended(2, true), false),
        ];
        for (fields, events, asks) in table {
            let callback = parsed("?transfer=2", fields).expect(fields);
            assert_eq!((callback.events, callback.wants_instructions), (events, asks), "{fields}");
            let reply = if fields.contains("Dial") { Reply::Xml(twiml::hang_up()) } else { Reply::Empty };
            assert_eq!(callback.reply, reply, "{fields}");
        }
        for query in ["", "?transfer=", "?transfer=-1", "?transfer=x", "?x=2"] {
            assert_eq!(parsed(query, "DialCallStatus=busy"), Err(CallbackError::NotFound), "{query}");
        }
        assert!(matches!(parsed("?transfer=2", "x=1"), Err(CallbackError::Malformed(_))));
    }

    #[test]
    fn a_document_in_an_address_is_given_for_its_call_only() {
        let call = CallId::from_uuid(Uuid::from_u128(7));
        let at = |of: u128, sealed: &str| {
            let address = addresses().for_call("signalwire", CallId::from_uuid(Uuid::from_u128(of)));
            let url = format!("{}?a=1&{DOCUMENT}={sealed}", address.report(DOCUMENT));
            read_at(&url, DOCUMENT, "application/x-www-form-urlencoded", "CallSid=CA1&CallStatus=in-progress")
        };
        let sealed = addresses().seal(call, "<Response/>");
        let given = at(7, &sealed).expect("readable");
        assert_eq!((given.events, given.reply), (vec![], Reply::Xml("<Response/>".to_owned())));
        assert_eq!(at(8, &sealed), Err(CallbackError::NotFound));
        assert_eq!(at(7, "x"), Err(CallbackError::NotFound));
    }

    #[test]
    fn json_says_the_same_as_a_form() {
        let json = |body: &str| read_at("https://voice.example.com/x", STATUS, "application/json; charset=utf-8", body);
        let events = json(
            r#"{"CallSid":"CA1","CallStatus":"busy","SipResultCode":486,"CallDuration":0,"x":{"y":[1]},"z":null}"#,
        );
        let busy =
            Hangup { sip_code: Some(486), carrier_code: Some("busy".to_owned()), ..Hangup::new(CarrierCause::Busy) };
        assert_eq!(events.expect("readable").events, [CarrierEvent::Hangup(busy)]);
        for body in ["", "[]", "CallSid=CA1&CallStatus=busy", r#"{"CallSid":["CA1"],"CallStatus":"busy"}"#] {
            assert!(matches!(json(body), Err(CallbackError::Malformed(_))), "{body}");
        }
    }

    #[test]
    fn what_the_carrier_never_sends_is_refused() {
        assert!(matches!(read(STATUS, "CallStatus=ringing"), Err(CallbackError::Malformed(_))), "no call");
        assert!(matches!(read(STATUS, "CallSid=CA1"), Err(CallbackError::Malformed(_))), "no status");
        assert!(matches!(read(STATUS, r#"{"CallSid":"CA1"}"#), Err(CallbackError::Malformed(_))), "no form");
        assert!(matches!(read("else", "CallSid=CA1"), Err(CallbackError::NotFound)));
    }
}
