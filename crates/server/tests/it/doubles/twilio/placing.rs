//! The request that places a call: every field is checked as the carrier does.

use std::ops::RangeInclusive;
use std::time::Duration;

use url::Url;

use super::flavour::Flavour;
use super::form::Form;
use super::twiml::{self, Verb};

/// How long it rings when the request does not say.
const RINGS: u64 = 60;
/// The longest inline document, in characters, and the longest address.
const LONGEST: usize = 4_000;

/// Fields that both carriers describe.
const KNOWN: &[&str] = &[
    "To",
    "From",
    "Url",
    "Method",
    "ApplicationSid",
    "FallbackUrl",
    "FallbackMethod",
    "StatusCallback",
    "StatusCallbackMethod",
    "StatusCallbackEvent",
    "Timeout",
    "SendDigits",
    "MachineDetection",
    "MachineDetectionTimeout",
    "MachineDetectionSpeechThreshold",
    "MachineDetectionSpeechEndThreshold",
    "MachineDetectionSilenceTimeout",
    "AsyncAmd",
    "AsyncAmdStatusCallback",
    "AsyncAmdStatusCallbackMethod",
    "CallerId",
];
/// Those that only one of them does.
const TWILIOS: &[&str] = &["Twiml", "TimeLimit", "CallReason"];
const SIGNALWIRES: &[&str] = &["MachineWordsThreshold", "AsyncAmdPartialResults", "MaxPricePerMinute"];

/// A call as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) document: Document,
    pub(crate) timeout: Duration,
    pub(crate) status_callback: Option<String>,
    pub(crate) events: Vec<String>,
    pub(crate) amd: Option<Amd>,
}

/// Instructions for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    /// This.
    Inline(Vec<Verb>),
    /// The document that this address returns.
    At(String),
}

/// Detect answering machines while the document is already followed.
#[derive(Clone, Debug)]
pub(crate) struct Amd {
    pub(crate) callback: String,
    /// Whether the end of the machine's greeting is awaited.
    pub(crate) awaits_end: bool,
}

/// Why a request is refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: u32,
    pub(crate) words: String,
    /// Whether the request is wrong in itself, not just the number to call.
    pub(crate) is_mistake: bool,
}

pub(crate) fn mistake(code: u32, words: impl Into<String>) -> Refusal {
    Refusal { status: 400, code, words: words.into(), is_mistake: true }
}

/// Reads it. `owns` says which numbers may be shown as calling.
pub(crate) fn read(flavour: Flavour, form: &Form, owns: impl Fn(&str) -> bool) -> Result<Placed, Refusal> {
    let more = if flavour == Flavour::Twilio { TWILIOS } else { SIGNALWIRES };
    if let Some(unknown) = form.unknown(&[KNOWN, more].concat()) {
        return Err(mistake(0, format!("there is no field {unknown}")));
    }
    let one = |name: &str, code: u32| form.one(name).map_err(|words| mistake(code, words));
    let to = one("To", 21201)?.ok_or_else(|| mistake(21201, "To is missing"))?;
    let from = one("From", 21213)?.ok_or_else(|| mistake(21213, "From is missing"))?;
    if !owns(from) {
        return Err(mistake(21210, "From is none of the account's numbers"));
    }
    if !(twiml::is_e164(to) || to.starts_with("sip:") || to.starts_with("client:")) || to == from {
        return Err(Refusal { status: 400, code: 21211, words: format!("To {to} is invalid"), is_mistake: false });
    }
    let document = document(flavour, form)?;
    let timeout = number(form, "Timeout", 21208, 1..=600)?.unwrap_or(RINGS);
    number(form, "TimeLimit", 21208, 1..=86_400)?;
    for method in ["Method", "FallbackMethod", "StatusCallbackMethod", "AsyncAmdStatusCallbackMethod"] {
        choice(form, method, 21209, &["GET", "POST"])?;
    }
    let status_callback = address(form, "StatusCallback")?;
    Ok(Placed {
        from: from.to_owned(),
        to: to.to_owned(),
        document,
        timeout: Duration::from_secs(timeout),
        events: events(form)?,
        status_callback,
        amd: amd(form)?,
    })
}

/// The document that a request names, in either way.
pub(crate) fn document(flavour: Flavour, form: &Form) -> Result<Document, Refusal> {
    match (form.one("Twiml"), form.one("Url")) {
        (Ok(Some(text)), Ok(None)) => inline(flavour, text).map(Document::Inline),
        (Ok(None), Ok(None)) => Err(mistake(21205, "neither Twiml nor Url")),
        (Ok(Some(_)), Ok(Some(_))) => Err(mistake(32019, "both Twiml and Url")),
        (Ok(None), Ok(Some(url))) => {
            choice(form, "Method", 21209, &["POST"])?;
            address(form, "Url").map_err(|refusal| Refusal { code: 21205, ..refusal })?;
            Ok(Document::At(url.to_owned()))
        }
        (Err(words), _) | (_, Err(words)) => Err(mistake(21205, words)),
    }
}

fn inline(flavour: Flavour, text: &str) -> Result<Vec<Verb>, Refusal> {
    if text.chars().count() > LONGEST {
        return Err(mistake(32018, "Twiml is too long"));
    }
    twiml::parse(flavour, text).map_err(|words| mistake(12100, words))
}

fn number(form: &Form, name: &str, code: u32, range: RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
    let Some(text) = form.one(name).map_err(|words| mistake(code, words))? else { return Ok(None) };
    match text.parse() {
        Ok(value) if range.contains(&value) => Ok(Some(value)),
        _ => Err(mistake(code, format!("{name} is {text}"))),
    }
}

fn choice<'a>(form: &'a Form, name: &str, code: u32, words: &[&str]) -> Result<Option<&'a str>, Refusal> {
    let value = form.one(name).map_err(|words| mistake(code, words))?;
    match value {
        Some(other) if !words.contains(&other) => Err(mistake(code, format!("{name} is {other}"))),
        known => Ok(known),
    }
}

/// An address to which something is posted.
pub(crate) fn address(form: &Form, name: &str) -> Result<Option<String>, Refusal> {
    let Some(text) = form.one(name).map_err(|words| mistake(21609, words))? else { return Ok(None) };
    let url = Url::parse(text).map_err(|error| mistake(21609, format!("{name} is {text}: {error}")))?;
    let host = url.host_str().unwrap_or_default();
    let fine = matches!(url.scheme(), "http" | "https") && !host.contains('_') && text.chars().count() <= LONGEST;
    if fine { Ok(Some(text.to_owned())) } else { Err(mistake(21609, format!("{name} is {text}"))) }
}

/// One field for each: joined, numbered or coded otherwise they are refused or lost.
fn events(form: &Form) -> Result<Vec<String>, Refusal> {
    let named = form.all("StatusCallbackEvent");
    if let Some(unknown) = named.iter().find(|name| !["initiated", "ringing", "answered", "completed"].contains(name)) {
        return Err(mistake(21626, format!("StatusCallbackEvent is {unknown}")));
    }
    if named.is_empty() {
        return Ok(vec!["completed".to_owned()]);
    }
    Ok(named.into_iter().map(str::to_owned).collect())
}

fn amd(form: &Form) -> Result<Option<Amd>, Refusal> {
    const WRONG: u32 = 21234;
    let mode = choice(form, "MachineDetection", WRONG, &["Enable", "DetectMessageEnd"])?;
    number(form, "MachineDetectionTimeout", WRONG, 3..=59)?;
    number(form, "MachineDetectionSpeechThreshold", WRONG, 1_000..=6_000)?;
    number(form, "MachineDetectionSpeechEndThreshold", WRONG, 500..=5_000)?;
    number(form, "MachineDetectionSilenceTimeout", WRONG, 2_000..=10_000)?;
    let is_async = choice(form, "AsyncAmd", WRONG, &["true", "false"])? == Some("true");
    let callback = address(form, "AsyncAmdStatusCallback")?;
    match (mode, is_async, callback) {
        (None, false, None) => Ok(None),
        (Some(mode), true, Some(callback)) => Ok(Some(Amd { callback, awaits_end: mode == "DetectMessageEnd" })),
        (None, _, _) => Err(mistake(WRONG, "what to do with machines that are not looked for")),
        (Some(_), false, _) => Err(mistake(WRONG, "whoever answers would hear nothing until machines are told apart")),
        (Some(_), true, None) => Err(mistake(WRONG, "nobody would be told about machines")),
    }
}

#[test]
fn requests_that_the_vendor_would_refuse_are_refused_with_its_code() {
    let good = super::signature::owned(&[
        ("To", "+12025550100"),
        ("From", "+12025550199"),
        ("Twiml", "<Response><Connect><Stream url=\"wss://a.example/m\"/></Connect></Response>"),
        ("StatusCallback", "https://a.example/status"),
        ("StatusCallbackEvent", "ringing"),
        ("StatusCallbackEvent", "completed"),
        ("Timeout", "30"),
    ]);
    let read_by = |flavour: Flavour, name: &str, values: &[&str]| {
        let mut fields: Vec<_> = good.iter().filter(|(known, _)| known != name).cloned().collect();
        fields.extend(values.iter().map(|value| (name.to_owned(), (*value).to_owned())));
        read(flavour, &Form(fields), |number| number == "+12025550199")
    };
    let read_with = |name: &str, values: &[&str]| read_by(Flavour::Twilio, name, values);
    let placed = read_with("Timeout", &["20"]).expect("it is good");
    assert_eq!(
        (placed.events, placed.timeout),
        (vec!["ringing".to_owned(), "completed".to_owned()], Duration::from_secs(20))
    );
    let long = format!("<Response><!--{}--></Response>", "x".repeat(LONGEST));
    let table: [(&str, &[&str], u32); 15] = [
        ("To", &[], 21201),
        ("To", &["2025550100"], 21211),
        ("To", &["+12025550199"], 21211),
        ("From", &[], 21213),
        ("From", &["+12025550198"], 21210),
        ("Twiml", &[], 21205),
        ("Twiml", &["<Response>"], 12100),
        ("Twiml", &[&long], 32018),
        ("Url", &["https://a.example/twiml"], 32019),
        ("StatusCallback", &["https://a_b.example/status"], 21609),
        ("StatusCallbackEvent", &["ringing completed"], 21626),
        ("StatusCallbackEvent[0]", &["ringing"], 0),
        ("Timeout", &["700"], 21208),
        ("StatusCallbackMethod", &["PUT"], 21209),
        ("MachineDetection", &["Enable"], 21234),
    ];
    for (name, values, code) in table {
        let refused = read_with(name, values).expect_err(name);
        assert_eq!(refused.code, code, "{name} {values:?}: {refused:?}");
    }
    let inline = read_by(Flavour::SignalWire, "Timeout", &["20"]).expect_err("SignalWire describes no Twiml");
    assert!(inline.words.contains("Twiml"), "{inline:?}");
}
