//! Calls over the doubles of real carriers, placed through the API.

mod signalwire;
mod telnyx;
mod tenants_apart;
mod twilio;

use reqwest::StatusCode;
use serde_json::{Value, json};
use switchhook::config::Config;
use switchhook_carriers::address::Addresses;
use switchhook_runtime::clock::Clock;

use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::{OWN, TwilioDouble};
use crate::harness::{Agent, Client, TestService, text};

/// A service, a carrier, an agent without any model, and a number.
pub(crate) struct Fixture {
    service: TestService,
    pub(crate) double: TwilioDouble,
    set: Set,
}

/// The resources created through the API.
struct Set {
    agent: Agent,
    connection: String,
    number: String,
}

impl Fixture {
    async fn new(flavour: Flavour) -> Self {
        Self::with(flavour, |_| {}).await
    }

    /// Starts with another configuration.
    pub(crate) async fn with(flavour: Flavour, change: impl FnOnce(&mut Config)) -> Self {
        Self::by(Clock::system(), flavour, change).await
    }

    /// Starts with this clock.
    async fn by(clock: Clock, flavour: Flavour, change: impl FnOnce(&mut Config)) -> Self {
        let double = TwilioDouble::start(flavour).await;
        let service = TestService::start_as(clock, |config| {
            config.outbound_allow = "127.0.0.0/8,http".parse().expect("valid");
            config.concurrent_calls = 100;
            change(config);
        })
        .await;
        let set = set_up(&service.client, &double, json!({})).await;
        Self { service, double, set }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.service.client
    }

    async fn place(&self, to: &str) -> String {
        self.client().place(&self.set.agent, to).await
    }

    /// Places a call with additional fields.
    async fn place_with(&self, to: &str, more: Value) -> String {
        let mut request = json!({ "agent_id": self.set.agent.id, "to": to });
        for (field, value) in more.as_object().expect("an object") {
            request[field] = value.clone();
        }
        text(&self.client().create("/v1/calls", request).await["id"])
    }

    async fn talking(&self, to: &str) -> String {
        let call = self.place(to).await;
        self.client().wait_for(&call, |call| call["status"] == "in_progress").await;
        call
    }

    async fn shown(&self, call: &str) -> Value {
        self.client().get(&format!("/v1/calls/{call}")).await.1
    }

    /// Assigns the agent to the account's number, and has the carrier send its calls here. Returns the URL that they are sent to.
    pub(crate) async fn answer_calls(&self) -> String {
        let change = json!({ "inbound_agent_id": self.set.agent.id, "configure_carrier": true });
        let (status, changed) = self.client().patch(&format!("/v1/numbers/{}", self.set.number), change).await;
        assert_eq!((status, &changed["warnings"]), (StatusCode::OK, &Value::Null), "{changed}");
        self.double.inbound_urls(OWN).expect("it is the account's").0
    }

    /// Returns the URL for status callbacks of a call.
    fn status_url(&self, call: &str) -> String {
        self.addresses().for_call(self.double.flavour().provider(), call.parse().expect("an id")).report("status")
    }

    fn addresses(&self) -> Addresses {
        addresses_of(&self.service)
    }

    pub(crate) async fn stop(self) {
        self.service.stop().await;
    }
}

/// Returns the addresses that the service gives to carriers.
fn addresses_of(service: &TestService) -> Addresses {
    let vault = Config::for_tests(service.data_dir()).open_vault().expect("the service has made a key");
    Addresses::new(service.client.base.clone(), &vault)
}

/// Creates an agent without any model, and a number at the carrier.
async fn set_up(client: &Client, double: &TwilioDouble, changes: Value) -> Set {
    let scripted = client.create("/v1/connections", json!({ "name": "scripted", "provider": "scripted" })).await;
    let carrier = client.create("/v1/connections", double.connection()).await;
    assert!(carrier["warnings"].is_null(), "{carrier}");
    let by = json!({ "connection_id": scripted["id"] });
    let mut agent = json!({
        "name": "Ava", "instructions": "Book a table.", "stt": by, "llm": by, "tts": by,
        "greeting": { "text": "Hello, this is Ava from Harbor Table. May I have your name, please?" },
        "silence": { "hangup_after_seconds": null },
    });
    for (field, value) in changes.as_object().expect("an object") {
        agent[field] = value.clone();
    }
    let agent = client.create("/v1/agents", agent).await;
    let number = client.create("/v1/numbers", json!({ "number": OWN, "connection_id": carrier["id"] })).await;
    Set { agent: Agent { id: text(&agent["id"]) }, connection: text(&carrier["id"]), number: text(&number["id"]) }
}

/// Returns the data of the call's event of this kind.
async fn event_data(client: &Client, call: &str, event: &str) -> Value {
    let (_, events) = client.get(&format!("/v1/calls/{call}/events")).await;
    let all = events["data"].as_array().expect("a list");
    all.iter().find(|one| one["event"] == event).unwrap_or_else(|| panic!("{event} in {events}"))["data"].clone()
}
