//! TwiML documents: what a carrier is to do with a call.

use std::fmt::Write as _;

use switchhook_core::phone_number::PhoneNumber;

use super::{Flavour, LONGEST_AFTER_TRANSFER, TRANSFER_RINGS, topics};
use crate::address::CallAddress;
use crate::callback::Decline;

/// The parameter of a stream that repeats the call's token.
pub(super) const TOKEN: &str = "token";

/// Connects a call to its media websocket, both ways. The call ends when we close that.
///
/// The token is in the path and in a parameter: a query would be dropped.
pub(super) fn connect(flavour: Flavour, call: &CallAddress) -> String {
    let mut stream = String::from("<Connect><Stream");
    attribute(&mut stream, "url", &call.media());
    attribute(&mut stream, "statusCallback", &call.report(topics::STREAM));
    attribute(&mut stream, "statusCallbackMethod", "POST");
    if flavour == Flavour::SignalWire {
        attribute(&mut stream, "authBearerToken", call.token());
    }
    stream.push_str("><Parameter");
    attribute(&mut stream, "name", TOKEN);
    attribute(&mut stream, "value", call.token());
    stream.push_str("/></Stream></Connect>");
    document(&stream)
}

/// Transfers the call to `to`, showing `caller_id`, or else the far end's own number. Both the answer and the end are posted to `report`,
/// which says what follows the end.
pub(super) fn dial(to: &PhoneNumber, caller_id: Option<&PhoneNumber>, report: &str) -> String {
    let noun = if to.is_e164() { "Number" } else { "Sip" };
    let mut dial = String::from("<Dial");
    attribute(&mut dial, "action", report);
    attribute(&mut dial, "method", "POST");
    attribute(&mut dial, "timeout", TRANSFER_RINGS);
    attribute(&mut dial, "timeLimit", LONGEST_AFTER_TRANSFER);
    if let Some(caller_id) = caller_id {
        attribute(&mut dial, "callerId", caller_id.reveal());
    }
    write!(dial, "><{noun}").expect("writing to a string does not fail");
    attribute(&mut dial, "statusCallback", report);
    attribute(&mut dial, "statusCallbackEvent", "answered");
    attribute(&mut dial, "statusCallbackMethod", "POST");
    write!(dial, ">{}</{noun}></Dial>", escaped(to.reveal())).expect("writing to a string does not fail");
    document(&dial)
}

/// Refuses a call without answering it.
pub(super) fn reject(why: Decline) -> String {
    let reason = match why {
        Decline::Busy => "busy",
        Decline::NotServed => "rejected",
    };
    document(&format!(r#"<Reject reason="{reason}"/>"#))
}

/// Ends a call.
pub(super) fn hang_up() -> String {
    document("<Hangup/>")
}

fn document(verbs: &str) -> String {
    format!(r#"<?xml version="1.0" encoding="UTF-8"?><Response>{verbs}</Response>"#)
}

fn attribute(tag: &mut String, name: &str, value: &str) {
    write!(tag, r#" {name}="{}""#, escaped(value)).expect("writing to a string does not fail");
}

/// Text as it stands in XML 1.0, between tags and in attributes. What XML cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => {}
            control if control.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use switchhook_core::id::CallId;
    use uuid::Uuid;

    use super::*;
    use crate::address::Addresses;
    use switchhook_vault::Vault;

    fn call() -> CallAddress {
        let addresses = Addresses::new("https://voice.example.com/a&b".to_owned(), &Vault::for_tests([1; 32]));
        addresses.for_call("twilio", CallId::from_uuid(Uuid::from_u128(7)))
    }

    #[test]
    fn a_call_is_connected_to_its_websocket() {
        let token = call().token().to_owned();
        let base = format!("voice.example.com/a&amp;b/carrier/twilio/calls/{token}");
        let expected = format!(
            r#"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://{base}/media" statusCallback="https://{base}/stream" statusCallbackMethod="POST"><Parameter name="token" value="{token}"/></Stream></Connect></Response>"#
        );
        assert_eq!(connect(Flavour::Twilio, &call()), expected);
        let bearer = format!(r#" authBearerToken="{token}"><Parameter"#);
        assert!(connect(Flavour::SignalWire, &call()).contains(&bearer), "SignalWire repeats it in the handshake");
    }

    #[test]
    fn transfer_target_cannot_inject_verbs() {
        let number = "+12025550100".parse().expect("valid");
        let ours = "+12025550199".parse().expect("valid");
        let report = "https://a.example/transfer?transfer=1";
        let callback =
            format!(r#" statusCallback="{report}" statusCallbackEvent="answered" statusCallbackMethod="POST">"#);
        let verb = format!(r#"<Dial action="{report}" method="POST" timeout="30" timeLimit="14400""#);
        let dialled = format!("<Response>{verb}><Number{callback}+12025550100</Number></Dial></Response>");
        assert!(dial(&number, None, report).ends_with(&dialled));
        let shown = format!(r#"{verb} callerId="+12025550199"><Number"#);
        assert!(dial(&number, Some(&ours), report).contains(&shown));
        let sip = "sip:a@example.com;x=</Sip><Hangup/>&\"'".parse().expect("graphic");
        let inner = "sip:a@example.com;x=&lt;/Sip&gt;&lt;Hangup/&gt;&amp;&quot;&apos;";
        assert!(dial(&sip, None, report).ends_with(&format!("><Sip{callback}{inner}</Sip></Dial></Response>")));
        assert_eq!(escaped("a\u{0}b\u{ffff}c"), "abc");
    }

    #[test]
    fn a_call_is_refused_with_its_reason() {
        assert!(reject(Decline::Busy).ends_with(r#"<Response><Reject reason="busy"/></Response>"#));
        assert!(reject(Decline::NotServed).ends_with(r#"<Response><Reject reason="rejected"/></Response>"#));
    }
}
