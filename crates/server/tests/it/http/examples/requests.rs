//! The bodies of requests that the service takes as they are.

use reqwest::StatusCode;
use serde_json::{Map, Value, json};
use switchhook::webhooks::receiver::Receiver;
use switchhook_core::webhook::SigningSecret;

use super::{NUMBER, TALKS};
use crate::harness::{Client, text};

/// Sends requests, and keeps their bodies by the names of schemas.
pub(super) struct Requests<'c> {
    client: &'c Client,
    pub(super) sent: Map<String, Value>,
}

impl<'c> Requests<'c> {
    pub(super) fn new(client: &'c Client) -> Self {
        Self { client, sent: Map::new() }
    }

    pub(super) async fn post(&mut self, schema: &str, path: &str, body: Value) -> Value {
        let answer = self.client.post(path, body.clone()).await;
        self.keep(schema, body, answer)
    }

    async fn patch(&mut self, schema: &str, path: &str, body: Value) {
        let answer = self.client.patch(path, body.clone()).await;
        self.keep(schema, body, answer);
    }

    fn keep(&mut self, schema: &str, body: Value, (status, answer): (StatusCode, Value)) -> Value {
        assert!(status.is_success(), "{schema}: {status} {answer}");
        assert!(!answer["warnings"].to_string().contains("Unknown field"), "{schema}: {answer}");
        self.sent.insert(schema.to_owned(), body);
        answer
    }

    /// Registers a receiver for the ends of calls.
    pub(super) async fn receiver(&mut self) -> Receiver {
        let receiver = Receiver::start(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let webhook = json!({ "url": receiver.url(), "events": ["call.completed", "call.failed"] });
        let webhook = self.post("CreateWebhook", "/v1/webhooks", webhook).await;
        receiver.set_secret(SigningSecret::parse(&text(&webhook["secret"])).expect("a signing secret"));
        receiver
    }

    /// Sends commands to a live call.
    pub(super) async fn command(&mut self) {
        let ring = json!({ "from": TALKS, "to": NUMBER });
        let call = text(&self.post("SimulateCall", "/v1/simulator/inbound", ring).await["id"]);
        self.client.wait_for(&call, |call| call["status"] == "in_progress").await;
        for (schema, what, body) in [
            ("Say", "say", json!({ "text": "A colleague will join us in a minute." })),
            ("SendDtmf", "dtmf", json!({ "digits": "1w2#" })),
            ("TransferCall", "transfer", json!({ "to": "+12025550142" })),
        ] {
            self.post(schema, &format!("/v1/calls/{call}/{what}"), body).await;
        }
        // The service waits for live calls when it stops.
        self.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    }

    /// Changes what the story has made.
    pub(super) async fn change(&mut self, agent: &Value, connection: &Value, number: &Value, webhook: &Value) {
        let changed = json!({ "greeting": { "text": "Good morning!" }, "limits": { "max_duration_seconds": 600 } });
        self.patch("UpdateAgent", &format!("/v1/agents/{}", text(&agent["id"])), changed).await;
        let changed = json!({ "limits": { "max_concurrent": 10 } });
        self.patch("UpdateConnection", &format!("/v1/connections/{}", text(&connection["id"])), changed).await;
        let changed = json!({ "label": "Front desk", "inbound_agent_id": agent["id"] });
        self.patch("UpdateNumber", &format!("/v1/numbers/{}", text(&number["id"])), changed).await;
        let changed = json!({ "events": ["call.completed"] });
        self.patch("UpdateWebhook", &format!("/v1/webhooks/{}", text(&webhook["id"])), changed).await;
    }

    /// Lets another program and a person in.
    pub(super) async fn let_in(&mut self) {
        self.post("CreateApiKey", "/v1/api-keys", json!({ "name": "CRM", "expires_in_days": 90 })).await;
        let invited = json!({ "email": "ana@example.com", "role": "member" });
        let person = self.post("InvitePerson", "/v1/people", invited).await;
        let path = format!("/v1/people/{}", text(&person["id"]));
        self.patch("UpdatePerson", &path, json!({ "role": "viewer" })).await;
    }
}
