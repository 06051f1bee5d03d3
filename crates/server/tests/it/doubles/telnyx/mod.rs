//! Telnyx as its documentation describes it: its API, its signed webhooks, its media websocket. The dialled number selects the script
//! of a call.

mod call;
mod checks;
mod far_end;
mod media;
mod playout;
mod rest;
mod webhooks;

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use switchhook_runtime::clock;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use uuid::Uuid;

pub(crate) use self::far_end::FarEnd;
pub(crate) use self::webhooks::Forgery;

use self::media::Stream;
use super::complaints::{Complaints, Guard};

/// The only key of the account.
pub(crate) const API_KEY: &str = "KEY0123456789abcdef-of-the-double";
/// Its only Voice API application.
pub(crate) const APPLICATION: &str = "1293384261075731499";

/// The outcome of a dial.
#[derive(Clone)]
pub(crate) enum Script {
    /// The dial is refused with this status and error.
    Refused { status: u16, code: &'static str, pointer: Option<&'static str> },
    /// The response is not in Telnyx's format, and no phone rings.
    Broken,
    /// The call is not answered; these causes are reported.
    Unanswered { cause: &'static str, sip: &'static str },
    /// It rings until we hang up.
    Rings,
    /// The call is answered.
    Answered(FarEnd),
    /// The call is answered, but the response to the dial is cut off.
    AnswerLost(FarEnd),
    /// The number of a transfer answers and hangs up before it is connected.
    HangsUpAtOnce,
}

/// How webhooks are delivered.
#[derive(Clone, Copy, Default)]
pub(crate) struct Delivery {
    /// Sends each twice at once, and all of them again after the end.
    pub(crate) twice: bool,
    /// Sends the second before the first, the fourth before the third, and so on.
    pub(crate) swapped: bool,
}

/// The double. Panics when dropped with complaints.
pub(crate) struct Telnyx {
    double: Arc<Double>,
    address: SocketAddr,
    _guard: Guard,
}

/// State shared by its parts.
struct Double {
    signer: Ed25519KeyPair,
    http: reqwest::Client,
    complaints: Complaints,
    ids: AtomicU64,
    state: Mutex<Account>,
}

/// The account.
#[derive(Default)]
struct Account {
    scripts: HashMap<String, VecDeque<Script>>,
    delivery: Delivery,
    /// The types of events that are not reported.
    lost: &'static [&'static str],
    legs: Vec<Arc<Leg>>,
    /// The numbers that the account asked to dial, refused or not.
    asked: Vec<String>,
    /// The numbers that were dialled, and the `command_id` of each.
    rung: Vec<(String, String)>,
    /// Commands that were accepted, and their bodies.
    commands: Vec<(String, Value)>,
    /// The ids of accepted commands, with the leg's.
    command_ids: HashSet<(String, String)>,
    /// The codec and rate of streams, where they differ from the requested ones.
    format: Option<(&'static str, u64)>,
    application: Value,
    numbers: Vec<Value>,
    /// The statuses of the service's responses to webhooks.
    answers: Vec<u16>,
}

/// One leg of a call.
struct Leg {
    id: String,
    session: Uuid,
    from: String,
    to: String,
    inbound: bool,
    client_state: Option<String>,
    /// The URL of its webhooks.
    report_to: String,
    orders: mpsc::UnboundedSender<Order>,
    progress: Mutex<Progress>,
}

#[derive(Clone, Default)]
struct Progress {
    answered: bool,
    /// Whether its stream was requested.
    streamed: bool,
    answered_at: Option<Instant>,
    /// The duration since the answer, in seconds.
    duration: u64,
    ended: bool,
    transferred: bool,
    /// Whether all events have been reported.
    over: bool,
    /// Webhooks that were sent, to be repeated.
    told: Vec<(String, String)>,
    /// A webhook held back until the next one was sent.
    held: Option<(String, String)>,
    seen: Seen,
}

/// Audio and keys that the far end of a leg received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Frames with the agent's voice.
    pub(crate) voiced: u32,
    /// Keys sent by `send_dtmf`.
    pub(crate) keys: String,
}

/// A command for a leg.
enum Order {
    Answer(Option<Stream>),
    Stream(Stream),
    Reject(String),
    HangUp,
    Transfer(Value),
    /// The person at the far end hangs up.
    FarEndHangsUp,
}

impl Telnyx {
    /// Starts on a free port of the loopback interface.
    pub(crate) async fn start() -> Self {
        switchhook_net::install_tls();
        let signer = Ed25519KeyPair::from_seed_unchecked(&clock::random::<32>()).expect("32 bytes are a seed");
        let application = json!({
            "id": APPLICATION, "record_type": "call_control_application", "application_name": "double", "active": true,
            "webhook_event_url": "https://example.com/before", "webhook_api_version": "2",
            "outbound": { "outbound_voice_profile_id": "1293384261075731461" },
        });
        let complaints = Complaints::default();
        let double = Arc::new(Double {
            signer,
            http: reqwest::Client::builder().no_proxy().build().expect("a client"),
            complaints: complaints.clone(),
            ids: AtomicU64::new(1),
            state: Mutex::new(Account { application, ..Account::default() }),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let router = Router::new().fallback(rest::handle).with_state(double.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { double, address, _guard: Guard(complaints) }
    }

    /// Returns the base URL of its API.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v2", self.address)
    }

    /// Returns the account's public key, as the portal shows it.
    pub(crate) fn public_key(&self) -> String {
        BASE64_STANDARD.encode(self.double.signer.public_key())
    }

    /// Sets the scripts of dials to this number, in order; the last one is for all further dials.
    pub(crate) fn script(&self, number: &str, scripts: impl IntoIterator<Item = Script>) {
        let scripts = scripts.into_iter().collect();
        self.double.with(|account| account.scripts.insert(number.to_owned(), scripts));
    }

    /// Sets how webhooks are delivered from now on.
    pub(crate) fn deliver(&self, delivery: Delivery) {
        self.double.with(|account| account.delivery = delivery);
    }

    /// Makes streams use this format, regardless of the requested one.
    pub(crate) fn stream_in(&self, codec: &'static str, rate: u64) {
        self.double.with(|account| account.format = Some((codec, rate)));
    }

    /// Adds a number that belongs to `connection` to the account.
    pub(crate) fn add_number(&self, number: &str, connection: Option<&str>) {
        let id = self.double.uuid();
        let number =
            json!({ "id": id, "record_type": "phone_number", "phone_number": number, "connection_id": connection });
        self.double.with(|account| account.numbers.push(number));
    }

    /// Activates or deactivates the application.
    pub(crate) fn activate(&self, active: bool) {
        self.double.with(|account| account.application["active"] = json!(active));
    }

    /// Returns how often this number rang.
    pub(crate) fn rung(&self, number: &str) -> usize {
        self.double.with(|account| account.rung.iter().filter(|(to, _)| to == number).count())
    }

    /// Returns how often a dial to this number was requested.
    pub(crate) fn asked(&self, number: &str) -> usize {
        self.double.with(|account| account.asked.iter().filter(|to| *to == number).count())
    }

    /// Returns the bodies of commands with this name, in order.
    pub(crate) fn commands(&self, name: &str) -> Vec<Value> {
        self.double.with(|account| {
            account.commands.iter().filter(|(command, _)| command == name).map(|(_, body)| body.clone()).collect()
        })
    }

    /// Returns what the far end of the only leg with this number received.
    pub(crate) fn seen(&self, number: &str) -> Seen {
        self.leg(number).with(|progress| progress.seen.clone())
    }

    /// Calls one of the account's numbers.
    pub(crate) fn call_in(&self, from: &str, to: &str, person: FarEnd) {
        call::arrive(&self.double, from, to, person);
    }

    /// Makes the person on the only leg with this number hang up.
    pub(crate) fn hang_up(&self, number: &str) {
        // A leg that has ended ignores commands.
        let _ = self.leg(number).orders.send(Order::FarEndHangsUp);
    }

    /// Returns the duration in the record of the only leg with this number, in seconds.
    pub(crate) fn duration(&self, number: &str) -> u64 {
        self.leg(number).with(|progress| progress.duration)
    }

    /// Stops reporting events of these types.
    pub(crate) fn lose(&self, lost: &'static [&'static str]) {
        self.double.with(|account| account.lost = lost);
    }

    /// Waits until the only leg with this number has ended and all its events have been reported.
    pub(crate) async fn ended(&self, number: &str) {
        let ended = async {
            while !self.leg(number).with(|progress| progress.over) {
                // Polls a leg that runs in real time.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(crate::harness::TIMEOUT, ended).await.expect("the leg ends within a minute");
    }

    /// Sends a forged report that the only leg with this number has ended, with such a signature. Returns the status of the response.
    pub(crate) async fn forge(&self, number: &str, forgery: Forgery) -> u16 {
        self.double.forge(&self.leg(number), forgery).await
    }

    /// Sends any webhook, signed by this account. Returns the status and the body of the response.
    pub(crate) async fn report(&self, url: &str, body: &Value) -> (u16, String) {
        self.double.report(url, &body.to_string()).await
    }

    /// Returns the statuses of the responses to all webhooks except forged ones.
    pub(crate) fn answers(&self) -> Vec<u16> {
        self.double.with(|account| account.answers.clone())
    }

    /// Returns the URL of the application's webhooks.
    pub(crate) fn application_url(&self) -> String {
        self.double.with(|account| account.application["webhook_event_url"].as_str().unwrap_or_default().to_owned())
    }

    fn leg(&self, number: &str) -> Arc<Leg> {
        let legs: Vec<_> =
            self.double.with(|account| account.legs.iter().filter(|leg| leg.far_end() == number).cloned().collect());
        assert_eq!(legs.len(), 1, "there is one leg with {number}");
        legs[0].clone()
    }
}

impl Double {
    /// Returns the script of the number in the body of a transfer.
    fn script_of(&self, body: &Value) -> Option<Script> {
        let to = body["to"].as_str()?;
        self.with(|account| account.scripts.get(to)?.front().cloned())
    }

    fn with<T>(&self, use_it: impl FnOnce(&mut Account) -> T) -> T {
        use_it(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn number(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.number()) << 64)
    }

    /// Returns an id with characters that must be escaped in paths.
    fn call_control_id(&self) -> String {
        format!("v3:N/{}?x%==", self.number())
    }

    fn complain(&self, complaint: impl Into<String>) {
        self.complaints.add(complaint);
    }
}

impl Leg {
    fn with<T>(&self, use_it: impl FnOnce(&mut Progress) -> T) -> T {
        use_it(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn far_end(&self) -> &str {
        if self.inbound { &self.from } else { &self.to }
    }
}
