//! Webhooks: signed, and delivered as unreliably as Telnyx documents.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::signature::Ed25519KeyPair;
use serde_json::{Value, json};
use switchhook_runtime::clock::{self, Clock};

use super::{APPLICATION, Double, Leg};

/// Flaw of a forged webhook.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forgery {
    /// It is signed with another key.
    OtherKey,
    /// It is not signed.
    Unsigned,
    /// It was signed ten minutes ago.
    Old,
}

impl Double {
    /// Sends an event according to [`super::Delivery`].
    pub(super) async fn tell(&self, leg: &Leg, event_type: &str, fields: Value) {
        if self.with(|account| account.lost.contains(&event_type)) {
            return;
        }
        let webhook = (leg.report_to.clone(), self.event(leg, event_type, fields));
        let delivery = self.with(|account| account.delivery);
        if !delivery.swapped {
            return self.deliver(leg, webhook, delivery.twice).await;
        }
        let Some(first) = leg.with(|progress| progress.held.take()) else {
            return leg.with(|progress| progress.held = Some(webhook));
        };
        self.deliver(leg, webhook, delivery.twice).await;
        self.deliver(leg, first, delivery.twice).await;
    }

    /// After the end of a leg, sends what is still held back and, if webhooks arrive twice, everything again.
    pub(super) async fn tell_the_rest(&self, leg: &Leg) {
        if let Some(held) = leg.with(|progress| progress.held.take()) {
            self.deliver(leg, held, false).await;
        }
        if self.with(|account| account.delivery.twice) {
            for (url, body) in leg.with(|progress| progress.told.clone()) {
                self.send(&url, &body).await;
            }
        }
    }

    async fn deliver(&self, leg: &Leg, (url, body): (String, String), twice: bool) {
        if twice {
            tokio::join!(self.send(&url, &body), self.send(&url, &body));
        } else {
            self.send(&url, &body).await;
        }
        leg.with(|progress| progress.told.push((url, body)));
    }

    fn event(&self, leg: &Leg, event_type: &str, fields: Value) -> String {
        let mut payload = json!({
            "call_control_id": leg.id, "connection_id": APPLICATION, "call_leg_id": leg.session,
            "call_session_id": leg.session, "client_state": leg.client_state, "from": leg.from, "to": leg.to,
        });
        for (field, value) in fields.as_object().into_iter().flatten() {
            payload[field] = value.clone();
        }
        let at = Clock::system().now().to_string();
        let data = json!({ "record_type": "event", "event_type": event_type, "id": self.uuid(), "occurred_at": at, "payload": payload });
        json!({ "data": data, "meta": { "attempt": 1, "delivered_to": leg.report_to } }).to_string()
    }

    async fn send(&self, url: &str, body: &str) {
        let (status, _) = self.report(url, body).await;
        self.with(|account| account.answers.push(status));
        if !(200..300).contains(&status) {
            self.complain(format!("a webhook was answered with {status}: {body}"));
        }
    }

    /// Sends a webhook that the account signs. Returns the status and the body of the response.
    pub(super) async fn report(&self, url: &str, body: &str) -> (u16, String) {
        self.post(url, body, Some((&self.signer, Clock::system().now().as_seconds()))).await
    }

    /// Sends a forged report that a leg has ended.
    pub(super) async fn forge(&self, leg: &Leg, forgery: Forgery) -> u16 {
        let hangup = json!({ "hangup_cause": "user_busy", "hangup_source": "callee", "sip_hangup_cause": "486" });
        let body = self.event(leg, "call.hangup", hangup);
        let stranger = Ed25519KeyPair::from_seed_unchecked(&clock::random::<32>()).expect("32 bytes are a seed");
        let now = Clock::system().now().as_seconds();
        let signed = match forgery {
            Forgery::OtherKey => Some((&stranger, now)),
            Forgery::Unsigned => None,
            Forgery::Old => Some((&self.signer, now - 600)),
        };
        self.post(&leg.report_to, &body, signed).await.0
    }

    async fn post(&self, url: &str, body: &str, signed: Option<(&Ed25519KeyPair, i64)>) -> (u16, String) {
        let mut request =
            self.http.post(url).header("user-agent", "telnyx-webhooks").header("content-type", "application/json");
        if let Some((signer, at)) = signed {
            let signature = signer.sign(format!("{at}|{body}").as_bytes());
            request = request.header("telnyx-timestamp", at);
            request = request.header("telnyx-signature-ed25519", BASE64_STANDARD.encode(signature.as_ref()));
        }
        match request.body(body.to_owned()).send().await {
            Ok(answer) => (answer.status().as_u16(), answer.text().await.unwrap_or_default()),
            Err(error) => {
                self.complain(format!("a webhook was not answered: {error}"));
                (0, String::new())
            }
        }
    }
}
