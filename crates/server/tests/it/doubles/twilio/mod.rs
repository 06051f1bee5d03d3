//! A carrier that speaks Twilio's protocol, or SignalWire's: an API, signed reports, audio over websockets.
//!
//! It complains about everything that the real one would refuse, warn about or silently drop, and about numbers that are rung twice for
//! one call. Complaints fail the test that caused them, at its end.

mod applications;
mod callbacks;
mod dial;
mod far_end;
pub(crate) mod flavour;
mod form;
mod leg;
mod network;
mod placing;
mod playout;
pub(crate) mod records;
mod rest;
pub(crate) mod script;
#[cfg(test)]
mod self_test;
pub(crate) mod signature;
mod stream;
mod twiml;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use self::flavour::{Flavour, Prefix};
use self::leg::Order;
pub(crate) use self::network::Record;
use self::network::{Application, Network, Number};
use self::script::{Delivery, Script};
use self::twiml::Verb;
use super::complaints::{Complaints, Guard};
use crate::harness::TIMEOUT;

/// The number that every account has.
pub(crate) const OWN: &str = "+12025550199";

/// A running carrier. What it complains about fails the test when it is dropped.
pub(crate) struct TwilioDouble {
    network: Network,
    address: SocketAddr,
    _guard: Guard,
}

/// Response to a request of the carrier.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) body: String,
    /// The carrier's id of the call that it was about.
    pub(crate) call: String,
}

impl TwilioDouble {
    pub(crate) async fn start(flavour: Flavour) -> Self {
        switchhook_net::install_tls();
        let complaints = Complaints::default();
        let network = Network::new(flavour, complaints.clone());
        let own = Number {
            sid: flavour.id(Prefix::Number),
            number: OWN.to_owned(),
            voice_url: String::new(),
            status_callback: String::new(),
            application: None,
            trunk: None,
        };
        network.with(|state| state.numbers.push(own));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let router = rest::router(network.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { network, address, _guard: Guard(complaints) }
    }

    /// A connection to it, as it is made through the API.
    pub(crate) fn connection(&self) -> Value {
        let flavour = self.network.flavour;
        let base_url = format!("http://{}", self.address);
        json!({
            "name": "carrier", "provider": flavour.provider(), "settings": { "base_url": base_url },
            "credentials": flavour.credentials(),
        })
    }

    /// Says what happens when `number` is dialled, or calls.
    pub(crate) fn script(&self, number: &str, script: Script) {
        self.network.with(|state| state.scripts.insert(number.to_owned(), script));
    }

    /// The only call to or from this number.
    pub(crate) fn call(&self, number: &str) -> Record {
        let calls = self.calls(number);
        assert_eq!(calls.len(), 1, "calls of {number}");
        calls.into_iter().next().expect("there is one")
    }

    /// All calls to or from this number.
    pub(crate) fn calls(&self, number: &str) -> Vec<Record> {
        let of_number = |call: &&Record| call.to == number || call.from == number;
        self.network.look(|state| state.calls.iter().filter(of_number).cloned().collect())
    }

    /// How often a call to this number was asked for, refusals included.
    pub(crate) fn asked(&self, number: &str) -> u32 {
        self.network.look(|state| state.asked.get(number).copied().unwrap_or_default())
    }

    /// Waits until a call to this number was asked for so often, refusals included.
    pub(crate) async fn until_asked(&self, number: &str, times: u32) {
        let asked = self.network.wait_for(|state| (state.asked.get(number).copied() >= Some(times)).then_some(()));
        tokio::time::timeout(TIMEOUT, asked).await.unwrap_or_else(|_| panic!("{number}: asked for {times} times"));
    }

    /// Waits until the only call of this number is so, and shows it.
    pub(crate) async fn until(&self, number: &str, what: &str, done: impl Fn(&Record) -> bool) -> Record {
        let is_it = |call: &&Record| (call.to == number || call.from == number) && done(call);
        let looking = self.network.wait_for(|state| state.calls.iter().find(is_it).cloned());
        let found = tokio::time::timeout(TIMEOUT, looking).await;
        found.unwrap_or_else(|_| panic!("{number}: {what}, within a minute: {:?}", self.calls(number)))
    }

    /// The far end of this number's call hangs up.
    pub(crate) fn hang_up(&self, number: &str) {
        // A call that has ended meanwhile needs no orders.
        let _ = self.call(number).orders.send(Order::FarEndHangsUp);
    }

    /// Has the phone that this number's call was transferred to hang up.
    pub(crate) fn other_end_hangs_up(&self, number: &str) {
        // As above.
        let _ = self.call(number).orders.send(Order::OtherEndHangsUp);
    }

    /// Calls `to` from the number `from`, and follows the document in the answer.
    pub(crate) async fn call_in(&self, voice_url: &str, from: &str, to: &str) -> Answered {
        let mut record = self.network.new_record(from, to, "ringing");
        record.inbound = true;
        let script = self.network.look(|state| state.scripts.get(from).cloned()).unwrap_or_default();
        let answered = self.announce(voice_url, &record, script.delivery).await;
        if answered.status != StatusCode::OK {
            return answered;
        }
        let verbs = match twiml::parse(self.network.flavour, &answered.body) {
            Ok(verbs) => verbs,
            Err(words) => {
                self.network.complaints.add(format!("{words}: {}", answered.body));
                return answered;
            }
        };
        record.status_callback = self.inbound_urls(to).map(|(_, status)| status).filter(|url| !url.is_empty());
        record.events = vec!["completed".to_owned()];
        self.network.arrive(record, verbs, script);
        answered
    }

    /// Asks again what to do with a call that was announced: the first answer was lost.
    pub(crate) async fn announce_again(&self, voice_url: &str, call: &str) -> Answered {
        let record = self.network.record(call).expect("it was announced");
        self.announce(voice_url, &Record { status: "ringing", ..record }, Delivery::Faithful).await
    }

    async fn announce(&self, voice_url: &str, record: &Record, delivery: Delivery) -> Answered {
        let mut fields = callbacks::of_call(&self.network, record);
        fields.push(("CallStatus".to_owned(), "ringing".to_owned()));
        let answer = callbacks::post(&self.network, voice_url, &fields, delivery).await;
        let answer = answer.expect("the service answers");
        let status = answer.status();
        let kind = answer.headers().get(CONTENT_TYPE).map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        let is_xml =
            kind.as_ref().is_some_and(|kind| kind.starts_with("text/xml") || kind.starts_with("application/xml"));
        if status == StatusCode::OK && !is_xml {
            self.network.complaints.add(format!("12300: a document of type {kind:?}"));
        }
        Answered { status, body: answer.text().await.unwrap_or_default(), call: record.sid.clone() }
    }

    /// Where the account's `number` announces its calls, and where it reports their ends.
    pub(crate) fn inbound_urls(&self, number: &str) -> Option<(String, String)> {
        self.network.look(|state| {
            let known = state.numbers.iter().find(|known| known.number == number)?;
            let Some(wins) = known.trunk.as_ref().or(known.application.as_ref()) else {
                return Some((known.voice_url.clone(), known.status_callback.clone()));
            };
            let application = state.applications.iter().find(|application| application.sid == *wins)?;
            Some((application.voice_url.clone(), application.status_callback.clone()))
        })
    }

    /// Has the account's number belong to an application or trunk that the service did not make.
    pub(crate) fn occupy(&self, to_a_trunk: bool) {
        let theirs = Application {
            sid: self.network.flavour.id(Prefix::Application),
            name: "of somebody else".to_owned(),
            voice_url: "https://elsewhere.example/voice".to_owned(),
            status_callback: String::new(),
        };
        self.network.with(|state| {
            let own = &mut state.numbers[0];
            own.trunk = to_a_trunk.then(|| theirs.sid.replacen("AP", "TK", 1));
            own.application = (!to_a_trunk).then(|| theirs.sid.clone());
            state.applications.push(theirs);
        });
    }

    /// How many applications the account has.
    pub(crate) fn applications(&self) -> usize {
        self.network.look(|state| state.applications.len())
    }

    /// Complaints that the test has caused on purpose.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.network.complaints.take()
    }

    /// There was a call to this number a minute ago.
    pub(crate) fn remember_a_call_to(&self, number: &str) {
        let mut record = self.network.new_record(OWN, number, "completed");
        record.created -= Duration::from_secs(60);
        self.network.with(|state| state.calls.push(record));
    }

    /// Posts a report with this signature, or with none.
    pub(crate) async fn report(&self, url: &str, signature: Option<&str>, fields: &[(String, String)]) -> Answered {
        let mut request = self.network.http.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(signature) = signature {
            request = request.header(self.network.flavour.signature_header(), signature);
        }
        let answer = request.body(form::Form::encode(fields)).send().await.expect("the service answers");
        Answered { status: answer.status(), body: answer.text().await.unwrap_or_default(), call: String::new() }
    }

    /// Fields of every report about this call.
    pub(crate) fn fields_of(&self, record: &Record) -> Vec<(String, String)> {
        callbacks::of_call(&self.network, record)
    }

    pub(crate) fn flavour(&self) -> Flavour {
        self.network.flavour
    }

    /// The documents that say what is done with a call, each for what it is.
    pub(crate) fn rejects(&self, document: &str) -> Option<bool> {
        match twiml::parse(self.network.flavour, document).ok()?.first()? {
            Verb::Reject { busy } => Some(*busy),
            _ => None,
        }
    }

    /// Asserts that no call rang twice: no two calls report to the same address.
    fn look_for_second_rings(&self) {
        let mut rung: HashMap<String, u32> = HashMap::new();
        let calls = self.network.look(|state| state.calls.clone());
        for url in calls.into_iter().filter(|call| !call.inbound).filter_map(|call| call.status_callback) {
            *rung.entry(url).or_default() += 1;
        }
        for (url, times) in rung.into_iter().filter(|(_, times)| *times > 1) {
            self.network.complaints.add(format!("somebody was rung {times} times for one call: {url}"));
        }
    }
}

impl Drop for TwilioDouble {
    fn drop(&mut self) {
        self.look_for_second_rings();
    }
}
