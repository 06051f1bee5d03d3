//! The double alone, against requests and messages written by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{OriginalUri, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::form::Form;
use super::script::{Delivery, Script};
use super::{Flavour, OWN, TwilioDouble, signature};
use crate::harness::{TIMEOUT, text};

const CALLEE: &str = "+12025550100";

/// A client that places calls: takes reports and audio.
struct Customer {
    base: String,
    reports: Arc<Mutex<Vec<Form>>>,
    streams: mpsc::Receiver<WebSocket>,
}

#[derive(Clone)]
struct Shared {
    base: String,
    reports: Arc<Mutex<Vec<Form>>>,
    streams: mpsc::Sender<WebSocket>,
}

impl Customer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (sender, streams) = mpsc::channel(4);
        let shared = Shared { base: base.clone(), reports: Arc::default(), streams: sender };
        let reports = shared.reports.clone();
        let router =
            Router::new().route("/status", post(take_report)).route("/media", get(take_audio)).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, reports, streams }
    }

    fn told(&self) -> Vec<(String, String)> {
        let of = |form: &Form, name| form.one(name).expect("once").unwrap_or_default().to_owned();
        let reports = self.reports.lock().expect("nobody panicked");
        reports.iter().map(|form| (of(form, "SequenceNumber"), of(form, "CallStatus"))).collect()
    }

    async fn told_all(&self, count: usize) -> Vec<String> {
        let looking = async {
            while self.told().len() < count {
                // Between two looks at what comes over a socket.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, looking).await.expect("every report within a minute");
        self.told().into_iter().map(|(number, status)| format!("{number} {status}")).collect()
    }

    fn fields(&self) -> Vec<(String, String)> {
        let media = format!("{}/media", self.base.replacen("http", "ws", 1));
        let document = format!(
            "<Response><Connect><Stream url=\"{media}\"><Parameter name=\"token\" value=\"t\"/></Stream></Connect></Response>"
        );
        let events = ["initiated", "ringing", "answered", "completed"].map(|event| ("StatusCallbackEvent", event));
        let status = format!("{}/status", self.base);
        let mut fields = vec![("To", CALLEE), ("From", OWN), ("Twiml", &document), ("StatusCallback", &status)];
        fields.extend(events);
        signature::owned(&fields)
    }
}

async fn take_report(
    State(shared): State<Shared>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: String,
) -> StatusCode {
    let form = Form::parse(body.as_bytes());
    let expected = signature::of(Flavour::Twilio.signing_key(), &format!("{}{uri}", shared.base), &form.0);
    assert_eq!(headers["x-twilio-signature"], expected.as_str());
    shared.reports.lock().expect("nobody panicked").push(form);
    StatusCode::NO_CONTENT
}

async fn take_audio(
    State(shared): State<Shared>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> axum::response::Response {
    let url = format!("{}/media", shared.base.replacen("http", "ws", 1));
    assert_eq!(headers["x-twilio-signature"], signature::of(Flavour::Twilio.signing_key(), &url, &[]).as_str());
    upgrade.on_upgrade(move |socket| async move { drop(shared.streams.send(socket).await) })
}

/// The next message that is no audio.
async fn next(socket: &mut WebSocket) -> Value {
    loop {
        let message = tokio::time::timeout(TIMEOUT, socket.recv()).await.expect("a message within a minute");
        if let Some(Ok(Message::Text(text))) = message {
            let message: Value = serde_json::from_str(&text).expect("JSON");
            if message["event"] != "media" {
                return message;
            }
        }
    }
}

async fn say(socket: &mut WebSocket, message: Value) {
    socket.send(Message::Text(message.to_string().into())).await.expect("it is open");
}

/// Posts to the account's calls, or to one of them.
async fn ask(double: &TwilioDouble, call: &str, fields: &[(String, String)]) -> (u16, Value) {
    let url = format!("http://{}/2010-04-01/Accounts/{}/Calls{call}.json", double.address, Flavour::Twilio.account());
    let (user, secret) = Flavour::Twilio.secrets()[0];
    let request = double.network.http.post(url).basic_auth(user, Some(secret));
    let request = request.header("Content-Type", "application/x-www-form-urlencoded").body(Form::encode(fields));
    let answer = request.send().await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.expect("JSON"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_reported_in_order_and_its_marks_come_back() {
    let double = TwilioDouble::start(Flavour::Twilio).await;
    let mut customer = Customer::start().await;
    let (status, call) = ask(&double, "", &customer.fields()).await;
    assert_eq!((status, &call["status"], &call["duration"]), (201, &json!("queued"), &Value::Null), "{call}");
    let sid = text(&call["sid"]);

    let mut socket = customer.streams.recv().await.expect("it is answered");
    assert_eq!(next(&mut socket).await, json!({ "event": "connected", "protocol": "Call", "version": "1.0.0" }));
    let start = next(&mut socket).await;
    assert_eq!((&start["sequenceNumber"], &start["start"]["callSid"]), (&json!("1"), &json!(sid)), "{start}");
    assert_eq!(start["start"]["customParameters"], json!({ "token": "t" }));
    let stream = start["streamSid"].clone();
    let payload = STANDARD.encode([0x20; 1600]);
    say(&mut socket, json!({ "event": "media", "streamSid": stream, "media": { "payload": payload } })).await;
    say(&mut socket, json!({ "event": "mark", "streamSid": stream, "mark": { "name": "1" } })).await;
    let mark = next(&mut socket).await;
    assert_eq!((&mark["event"], &mark["mark"]), (&json!("mark"), &json!({ "name": "1" })));
    assert_eq!(double.call(CALLEE).played, 10, "a mark comes back when what was before it has been played");

    let (status, _) = ask(&double, &format!("/{sid}"), &signature::owned(&[("Status", "completed")])).await;
    assert_eq!((status, &next(&mut socket).await["event"]), (200, &json!("stop")));
    let told = customer.told_all(4).await;
    assert_eq!(told, ["0 initiated", "1 ringing", "2 in-progress", "3 completed"]);
    let (status, refused) = ask(&double, &format!("/{sid}"), &signature::owned(&[("Status", "completed")])).await;
    assert_eq!((status, &refused["code"]), (400, &json!(21220)), "it is over: {refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_can_be_late_doubled_and_out_of_order() {
    let double = TwilioDouble::start(Flavour::Twilio).await;
    let customer = Customer::start().await;
    double.script(CALLEE, Script { delivery: Delivery::Chaotic, ..Script::ending("busy", Some(486)) });
    ask(&double, "", &customer.fields()).await;
    let told = customer.told_all(8).await;
    assert_eq!(told[..4], ["1 ringing", "1 ringing", "0 initiated", "0 initiated"]);
    assert_eq!(told[4..], ["2 busy", "2 busy", "1 ringing", "0 initiated"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_carrier_would_not_take_is_complained_about() {
    let double = TwilioDouble::start(Flavour::Twilio).await;
    let mut customer = Customer::start().await;
    let (status, _) = ask(&double, "/CA12", &signature::owned(&[("Status", "completed")])).await;
    assert_eq!((status, double.complaints().len()), (404, 1), "no id");
    let joined: Vec<_> = customer.fields().into_iter().filter(|(name, _)| name != "StatusCallbackEvent").collect();
    let joined = [joined, signature::owned(&[("StatusCallbackEvent", "ringing completed")])].concat();
    let (status, refused) = ask(&double, "", &joined).await;
    assert_eq!((status, &refused["code"], double.complaints().len()), (400, &json!(21626), 1));

    ask(&double, "", &customer.fields()).await;
    let mut socket = customer.streams.recv().await.expect("it is answered");
    next(&mut socket).await;
    let stream = next(&mut socket).await["streamSid"].clone();
    let payload = STANDARD.encode([0x20; 160]);
    let wrong = [
        json!({ "event": "media", "streamSid": stream, "media": { "payload": payload }, "chunk": 1 }),
        json!({ "event": "media", "streamSid": stream, "media": { "payload": payload, "track": "outbound" } }),
        json!({ "event": "media", "streamSid": stream, "media": { "payload": "!" } }),
        json!({ "event": "media", "streamSid": "MZ1", "media": { "payload": payload } }),
        json!({ "event": "media", "media": { "payload": payload } }),
        json!({ "event": "mark", "streamSid": stream }),
        json!({ "event": "dtmf", "streamSid": stream, "dtmf": { "digit": "5" } }),
    ];
    let count = wrong.len();
    for message in wrong {
        say(&mut socket, message).await;
    }
    socket.send(Message::Binary(vec![0x20; 160].into())).await.expect("it is open");
    // Everything sent before it has been handled when this returns.
    say(&mut socket, json!({ "event": "mark", "streamSid": stream, "mark": { "name": "done" } })).await;
    assert_eq!(next(&mut socket).await["mark"]["name"], "done");
    let complaints = double.complaints();
    assert_eq!(complaints.len(), count + 1, "{complaints:#?}");

    ask(&double, "", &customer.fields()).await;
    double.look_for_second_rings();
    let complaints = double.complaints();
    assert!(complaints.len() == 1 && complaints[0].contains("rung 2 times"), "{complaints:?}");
    // It would say so again when it is dropped.
    double.network.with(|state| state.calls.clear());
}
