//! Calls over Telnyx, by its double.

mod control;
mod inbound;
mod outbound;
mod outcomes;
mod tenants;
mod transfers;

use serde_json::{Value, json};
use switchhook::config::Config;
use switchhook_runtime::clock::Clock;

use crate::doubles::telnyx::{API_KEY, APPLICATION, Telnyx};
use crate::harness::{Agent, Client, TestService, text};

/// Our number.
const OURS: &str = "+12025550199";
/// The far end's number.
const THEM: &str = "+12025550123";

/// A service with a scripted agent, and Telnyx.
struct Rig {
    service: TestService,
    telnyx: Telnyx,
    agent: Agent,
    /// The id of its connection to Telnyx.
    connection: String,
}

impl Rig {
    async fn start() -> Self {
        Self::start_with(json!({}), json!({}), |_| {}).await
    }

    /// Starts with these settings of the connection and fields of the agent.
    async fn start_with(settings: Value, agent: Value, change: impl FnOnce(&mut Config)) -> Self {
        let telnyx = Telnyx::start().await;
        let service = TestService::start_as(Clock::system(), |config| {
            config.outbound_allow = "127.0.0.0/8,http".parse().expect("valid");
            change(config);
        })
        .await;
        let (agent, connection) = set_up(&service.client, &telnyx, settings, agent).await;
        Self { telnyx, agent, connection, service }
    }

    /// Waits until the agent has said that a transfer failed.
    async fn says_sorry(&self, call: &str) {
        let (heard, sorry) = (format!("/v1/calls/{call}/transcript"), ["put you through", "putting you through"]);
        self.client().look_until(&heard, |said| sorry.iter().any(|sorry| said.to_string().contains(sorry))).await;
    }

    fn client(&self) -> &Client {
        &self.service.client
    }

    async fn place(&self, to: &str) -> String {
        self.client().place(&self.agent, to).await
    }

    /// Places a call and waits until the agent has spoken.
    async fn talk_to(&self, to: &str) -> String {
        let call = self.place(to).await;
        self.client().wait_for(&call, |call| call["status"] == "in_progress").await;
        self.client().wait_for_words(&call).await;
        call
    }
}

/// Creates a connection with these settings, an agent without any model with these fields, and a number. Returns the agent, and the id of
/// the connection.
async fn set_up(client: &Client, telnyx: &Telnyx, settings: Value, agent: Value) -> (Agent, String) {
    let connection = client.create("/v1/connections", connection(telnyx, settings)).await;
    let scripted = client.create("/v1/connections", json!({ "name": "scripted", "provider": "scripted" })).await;
    let by = json!({ "connection_id": scripted["id"] });
    let mut described = json!({
        "name": "Ava", "instructions": "Book a table.", "stt": by, "llm": by, "tts": by,
        "greeting": { "text": "Hello, this is Ava from Harbor Table. May I have your name, please?" },
    });
    merge(&mut described, agent);
    let agent = client.create("/v1/agents", described).await;
    let number = json!({ "number": OURS, "connection_id": connection["id"], "inbound_agent_id": agent["id"] });
    client.create("/v1/numbers", number).await;
    (Agent { id: text(&agent["id"]) }, text(&connection["id"]))
}

/// Returns a connection to the double.
fn connection(telnyx: &Telnyx, settings: Value) -> Value {
    let mut connection = json!({
        "name": "telnyx", "provider": "telnyx",
        "settings": { "base_url": telnyx.base_url(), "connection_id": APPLICATION },
        "credentials": { "api_key": API_KEY, "public_key": telnyx.public_key() },
    });
    merge(&mut connection["settings"], settings);
    connection
}

fn merge(into: &mut Value, fields: Value) {
    for (field, value) in fields.as_object().expect("an object") {
        into[field] = value.clone();
    }
}
