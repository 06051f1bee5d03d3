//! Reports of what happens on a call, signed and sent from a separate task: they race the audio, as in reality.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::form::Form;
use super::network::{Network, Record, now};
use super::script::Delivery;
use super::twiml::{self, Verb};
use super::{records, signature};

type Fields = Vec<(String, String)>;

/// Sends the status callbacks of one call.
pub(crate) struct Callbacks {
    network: Network,
    sid: String,
    url: Option<String>,
    sequence: u32,
    reports: mpsc::UnboundedSender<Fields>,
}

impl Callbacks {
    pub(crate) fn new(network: Network, record: &Record, delivery: Delivery) -> Self {
        let (reports, waiting) = mpsc::unbounded_channel();
        if let Some(url) = record.status_callback.clone() {
            tokio::spawn(post_all(network.clone(), url, waiting, delivery));
        }
        Self { network, sid: record.sid.clone(), url: record.status_callback.clone(), sequence: 0, reports }
    }

    /// Sets the status, and reports it where that was asked for; with these parameters too.
    pub(crate) fn send(&mut self, status: &'static str, further: &[(&str, String)]) {
        self.network.change(&self.sid, |record| record.status = if status == "initiated" { "queued" } else { status });
        let Some(record) = self.network.record(&self.sid) else { return };
        let event = match status {
            "initiated" | "ringing" => status,
            "in-progress" => "answered",
            _ => "completed",
        };
        if self.url.is_none() || !record.events.iter().any(|wanted| wanted == event) {
            return;
        }
        let mut fields = of_call(&self.network, &record);
        fields.extend(signature::owned(&[("CallStatus", status), ("CallbackSource", "call-progress-events")]));
        fields.push(("SequenceNumber".to_owned(), self.sequence.to_string()));
        fields.push(("Timestamp".to_owned(), records::date(now())));
        if record.is_over() {
            let seconds = records::seconds(&record);
            fields.push(("CallDuration".to_owned(), seconds.to_string()));
            fields.push(("Duration".to_owned(), (seconds / 60 + 1).to_string()));
        }
        fields.extend(further.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self.sequence += 1;
        // The task ends before us only when the test is over.
        let _ = self.reports.send(fields);
    }
}

/// Fields of every request about a call.
pub(crate) fn of_call(network: &Network, record: &Record) -> Fields {
    let direction = if record.inbound { "inbound" } else { "outbound-api" };
    signature::owned(&[
        ("AccountSid", network.flavour.account()),
        ("ApiVersion", "2010-04-01"),
        ("CallSid", &record.sid),
        ("Called", &record.to),
        ("Caller", &record.from),
        ("Direction", direction),
        ("From", &record.from),
        ("FromCity", ""),
        ("To", &record.to),
        ("ToCountry", "US"),
    ])
}

async fn post_all(network: Network, url: String, mut waiting: mpsc::UnboundedReceiver<Fields>, delivery: Delivery) {
    let (mut held, mut sent): (Option<Fields>, Vec<Fields>) = (None, Vec::new());
    while let Some(fields) = waiting.recv().await {
        match delivery {
            Delivery::Nothing => {}
            Delivery::WithoutEnd if is_the_end(&fields) => {}
            Delivery::Faithful | Delivery::Json | Delivery::WithoutEnd => {
                report(&network, &url, &fields, delivery).await;
            }
            Delivery::Chaotic => match held.take() {
                None => held = Some(fields),
                Some(earlier) => {
                    for fields in [fields, earlier] {
                        report(&network, &url, &fields, delivery).await;
                        report(&network, &url, &fields, delivery).await;
                        sent.push(fields);
                    }
                }
            },
        }
    }
    for fields in held.iter().chain(&held).chain(&sent) {
        report(&network, &url, fields, delivery).await;
    }
}

/// Only the last report of a call says how long it lasted.
fn is_the_end(fields: &Fields) -> bool {
    fields.iter().any(|(name, _)| name == "CallDuration")
}

pub(crate) async fn report(network: &Network, url: &str, fields: &Fields, delivery: Delivery) {
    let Ok(answer) = post(network, url, fields, delivery).await else {
        // A service that is gone, which tests cause on purpose.
        return;
    };
    let status = answer.status();
    let xml = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/xml"));
    let fine = status == StatusCode::NO_CONTENT || (status == StatusCode::OK && xml);
    if !fine {
        let words = answer.text().await.unwrap_or_default();
        network.complaints.add(format!("15003: a report to {url} was answered with {status}: {words}"));
    }
}

/// Asks at `url` what to do with a call; nothing when there is no document.
pub(crate) async fn fetch(network: &Network, sid: &str, url: &str, delivery: Delivery) -> Vec<Verb> {
    network.change(sid, |record| record.fetched.push(url.to_owned()));
    let Some(record) = network.record(sid) else { return Vec::new() };
    let mut fields = of_call(network, &record);
    fields.push(("CallStatus".to_owned(), record.status.to_owned()));
    ask(network, url, &fields, delivery).await
}

/// Posts fields to `url` and reads the document that is answered.
pub(crate) async fn ask(network: &Network, url: &str, fields: &Fields, delivery: Delivery) -> Vec<Verb> {
    // A service that is gone, which tests cause on purpose.
    let Ok(answer) = post(network, url, fields, delivery).await else { return Vec::new() };
    let status = answer.status();
    let xml = answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/xml"));
    let text = answer.text().await.unwrap_or_default();
    let read = if status == StatusCode::OK && xml {
        twiml::parse(network.flavour, &text)
    } else {
        Err(format!("11200: {status}"))
    };
    read.unwrap_or_else(|words| {
        network.complaints.add(format!("a document at {url}: {words}: {text}"));
        Vec::new()
    })
}

/// Posts fields, signed, as a form or as JSON.
pub(crate) async fn post(
    network: &Network,
    url: &str,
    fields: &Fields,
    delivery: Delivery,
) -> reqwest::Result<Response> {
    let (flavour, key) = (network.flavour, network.flavour.signing_key());
    let (url, kind, body, signature) = if delivery == Delivery::Json {
        let body = json(fields);
        let (url, signature) = signature::of_json(flavour, key, url, &body);
        (url, "application/json", body, signature)
    } else {
        let kind = "application/x-www-form-urlencoded; charset=UTF-8";
        (url.to_owned(), kind, Form::encode(fields), signature::of(key, url, fields))
    };
    let request = network.http.post(url).header(CONTENT_TYPE, kind).header(flavour.signature_header(), signature);
    request.body(body).send().await
}

/// An object, in which counts are numbers.
fn json(fields: &Fields) -> String {
    let value = |name: &str, text: &String| match name {
        "SequenceNumber" | "CallDuration" | "MachineDetectionDuration" => {
            json!(text.parse::<u64>().unwrap_or_default())
        }
        _ => json!(text),
    };
    let object: Map<String, Value> = fields.iter().map(|(name, text)| (name.clone(), value(name, text))).collect();
    Value::Object(object).to_string()
}
