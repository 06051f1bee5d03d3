//! Reads the documents that say what is done with a call, as strictly as the real one: names are case-sensitive and known,
//! nothing stands where it may not.

use std::time::Duration;

use roxmltree::{Document, Node};
use url::Url;

use super::flavour::Flavour;

/// Longest name and value of a stream's parameter together, in characters.
const LONGEST_PARAMETER: usize = 499;

/// One thing to be done with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Audio in both directions, over our websocket.
    Connect(Stream),
    /// Passes the call on to a number or a SIP address.
    Dial(Dial),
    /// Refuses a call that has not been answered.
    Reject {
        busy: bool,
    },
    Hangup,
    Pause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dial {
    pub(crate) to: String,
    pub(crate) caller_id: Option<String>,
    pub(crate) timeout: Duration,
    /// Where what follows is asked for.
    pub(crate) action: Option<String>,
    /// Where the answer is reported.
    pub(crate) answered: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) url: String,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) bearer: Option<String>,
}

/// Reads a whole document.
pub(crate) fn parse(flavour: Flavour, text: &str) -> Result<Vec<Verb>, String> {
    let document = Document::parse(text).map_err(|error| format!("12100: it is no XML: {error}"))?;
    let root = document.root_element();
    if root.tag_name().name() != "Response" {
        return Err(format!("12100: the root is {}, not Response", root.tag_name().name()));
    }
    attributes(root, &[])?;
    let verbs: Result<Vec<Verb>, String> = children(root)?.into_iter().map(|node| verb(flavour, node)).collect();
    let verbs = verbs?;
    if verbs.iter().skip(1).any(|verb| matches!(verb, Verb::Reject { .. })) {
        return Err("12200: Reject is not the first verb".to_owned());
    }
    Ok(verbs)
}

fn verb(flavour: Flavour, node: Node<'_, '_>) -> Result<Verb, String> {
    match node.tag_name().name() {
        "Connect" => {
            attributes(node, &["action", "method"])?;
            match children(node)?[..] {
                [only] => stream(flavour, only).map(Verb::Connect),
                ref others => Err(format!("12200: Connect has {} children", others.len())),
            }
        }
        "Dial" => dial(node),
        "Reject" => {
            attributes(node, &["reason"])?;
            childless(node)?;
            match node.attribute("reason") {
                Some("busy") => Ok(Verb::Reject { busy: true }),
                None | Some("rejected") => Ok(Verb::Reject { busy: false }),
                Some(other) => Err(format!("12200: the reason {other} is none")),
            }
        }
        "Hangup" => {
            attributes(node, &[])?;
            childless(node).map(|()| Verb::Hangup)
        }
        "Pause" => {
            attributes(node, &["length"])?;
            childless(node).map(|()| Verb::Pause)
        }
        other => Err(format!("12200: there is no verb {other}")),
    }
}

fn stream(flavour: Flavour, node: Node<'_, '_>) -> Result<Stream, String> {
    if node.tag_name().name() != "Stream" {
        return Err(format!("12200: {} in Connect", node.tag_name().name()));
    }
    attributes(node, flavour.stream_attributes())?;
    if node.attribute("track").is_some_and(|track| track != "inbound_track") {
        return Err("31941: only the inbound track is streamed in both directions".to_owned());
    }
    let url = node.attribute("url").ok_or("12200: a Stream without url")?;
    check_address(url)?;
    let parameters: Result<_, String> = children(node)?.into_iter().map(parameter).collect();
    let bearer = node.attribute("authBearerToken").map(str::to_owned);
    Ok(Stream { url: url.to_owned(), parameters: parameters?, bearer })
}

/// On this machine, and only there, websockets need no TLS.
fn check_address(address: &str) -> Result<(), String> {
    let url = Url::parse(address).map_err(|error| format!("31923: {address}: {error}"))?;
    let here = url.host_str() == Some("127.0.0.1");
    if url.scheme() != "wss" && !(url.scheme() == "ws" && here) {
        return Err(format!("31922: the scheme of {address}"));
    }
    if address.contains(['?', '#']) {
        return Err(format!("the query of {address} would be dropped"));
    }
    Ok(())
}

fn parameter(node: Node<'_, '_>) -> Result<(String, String), String> {
    if node.tag_name().name() != "Parameter" {
        return Err(format!("12200: {} in Stream", node.tag_name().name()));
    }
    attributes(node, &["name", "value"])?;
    childless(node)?;
    let of = |name| node.attribute(name).map(str::to_owned).ok_or(format!("12200: a Parameter without {name}"));
    let (name, value) = (of("name")?, of("value")?);
    if name.chars().count() + value.chars().count() > LONGEST_PARAMETER {
        return Err(format!("the parameter {name} is too long"));
    }
    Ok((name, value))
}

fn dial(node: Node<'_, '_>) -> Result<Verb, String> {
    let known = [
        "action",
        "method",
        "timeout",
        "timeLimit",
        "callerId",
        "answerOnBridge",
        "record",
        "hangupOnStar",
        "referUrl",
    ];
    attributes(node, &known)?;
    let callees: Vec<_> = node.children().filter(Node::is_element).collect();
    let [callee] = callees[..] else { return Err(format!("12200: Dial has {} callees", callees.len())) };
    attributes(callee, &["statusCallback", "statusCallbackEvent", "statusCallbackMethod"])?;
    let posted = |node: Node<'_, '_>, url: &str, method: &str| match (node.attribute(url), node.attribute(method)) {
        (_, Some(other)) if other != "POST" => Err(format!("12200: {method} is {other}")),
        (url, _) => Ok(url.map(str::to_owned)),
    };
    let to = callee.text().unwrap_or_default();
    let callback = posted(callee, "statusCallback", "statusCallbackMethod")?;
    let events = callee.attribute("statusCallbackEvent").unwrap_or_default();
    let dial = Verb::Dial(Dial {
        to: to.to_owned(),
        caller_id: node.attribute("callerId").map(str::to_owned),
        timeout: Duration::from_secs(
            node.attribute("timeout").map_or(Ok(30), str::parse).map_err(|_| "12200: timeout")?,
        ),
        action: posted(node, "action", "method")?,
        answered: callback.filter(|_| events.split(' ').any(|event| event == "answered")),
    });
    match callee.tag_name().name() {
        "Number" if is_e164(to) => Ok(dial),
        "Sip" if to.starts_with("sip:") || to.starts_with("sips:") => Ok(dial),
        other => Err(format!("13224: {other} with {to}")),
    }
}

/// Whether this is a number that can be dialled.
pub(crate) fn is_e164(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    (7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0')
}

/// The elements inside, between which nothing but space may stand.
fn children<'a, 'input>(node: Node<'a, 'input>) -> Result<Vec<Node<'a, 'input>>, String> {
    let stray = node.children().filter(Node::is_text).any(|text| !text.text().unwrap_or_default().trim().is_empty());
    if stray {
        return Err(format!("12200: text in {}", node.tag_name().name()));
    }
    Ok(node.children().filter(Node::is_element).collect())
}

fn childless(node: Node<'_, '_>) -> Result<(), String> {
    if node.has_children() { Err(format!("12200: content in {}", node.tag_name().name())) } else { Ok(()) }
}

fn attributes(node: Node<'_, '_>, known: &[&str]) -> Result<(), String> {
    match node.attributes().find(|attribute| !known.contains(&attribute.name())) {
        Some(unknown) => Err(format!("12200: {} has no attribute {}", node.tag_name().name(), unknown.name())),
        None => Ok(()),
    }
}

#[test]
fn documents_that_the_vendor_would_refuse_are_refused() {
    let good = r#"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://a.example/m"><Parameter name="token" value="a&amp;b"/></Stream></Connect></Response>"#;
    let stream = Stream {
        url: "wss://a.example/m".to_owned(),
        parameters: vec![("token".to_owned(), "a&b".to_owned())],
        bearer: None,
    };
    assert_eq!(parse(Flavour::Twilio, good), Ok(vec![Verb::Connect(stream)]));
    let dialled = "<Response><Dial callerId=\"+12025550199\"><Number>+12025550142</Number></Dial></Response>";
    let dial = Dial {
        to: "+12025550142".to_owned(),
        caller_id: Some("+12025550199".to_owned()),
        timeout: Duration::from_secs(30),
        action: None,
        answered: None,
    };
    assert_eq!(parse(Flavour::Twilio, dialled), Ok(vec![Verb::Dial(dial)]));
    let long = format!("value=\"{}\"", "x".repeat(500));
    let table = [
        good.replace("Response>", "response>"),
        good.replace("</Stream>", ""),
        good.replace("&amp;", "&"),
        good.replace("wss:", "https:"),
        good.replace("wss:", "ws:"),
        good.replace("/m\"", "/m?token=1\""),
        good.replace("<Stream", "<Stream colour=\"1\""),
        good.replace("<Stream", "<Stream authBearerToken=\"1\""),
        good.replace("<Stream", "<Stream track=\"both_tracks\""),
        good.replace("value=\"a&amp;b\"", &long),
        good.replace("<Connect>", "<Connect>now"),
        good.replace("<Connect>", "<Speak/><Connect>"),
        good.replace("</Response>", "<Reject/></Response>"),
        dialled.replace("+1202", "1202"),
        dialled.replace("<Number", "<Number action=\"https://a.example/next\""),
        dialled.replace("<Dial", "<Dial action=\"https://a.example/next\" method=\"PUT\""),
    ];
    for document in table {
        assert!(parse(Flavour::Twilio, &document).is_err(), "{document}");
    }
    let with_bearer = good.replace("<Stream", "<Stream authBearerToken=\"1\"");
    assert!(parse(Flavour::SignalWire, &with_bearer).is_ok(), "the other carrier knows it");
}
