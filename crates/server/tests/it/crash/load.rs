//! Customers who keep placing calls, and retry until they get a response.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::history::Acknowledged;
use super::rng::Rng;
use crate::harness::{Client, text};

/// The pause between two calls of one customer, in milliseconds: a random value in this range.
const PAUSE_MS: std::ops::Range<u64> = 40..160;
/// The pause before a failed request is repeated.
const AGAIN: Duration = Duration::from_millis(50);
/// How long one request may take; a stopped node never responds.
const ONE_REQUEST: Duration = Duration::from_secs(15);

/// The nodes that accept requests now, in turn. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Nodes(Arc<Mutex<(Vec<Client>, usize)>>);

impl Nodes {
    pub(crate) fn of(clients: Vec<Client>) -> Self {
        Self(Arc::new(Mutex::new((clients, 0))))
    }

    /// Sets the nodes.
    pub(crate) fn are(&self, clients: Vec<Client>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = clients;
    }

    /// Returns the next node.
    pub(crate) fn next(&self) -> Client {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 += 1;
        state.0[state.1 % state.0.len()].clone()
    }
}

/// The results of a load.
#[derive(Default)]
pub(crate) struct Served {
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// How often each status was returned.
    pub(crate) answers: BTreeMap<u16, usize>,
    /// How often there was no response.
    pub(crate) unanswered: usize,
    /// Responses that must not occur.
    pub(crate) wrong: Vec<String>,
}

/// A running load.
pub(crate) struct Load {
    stop: CancellationToken,
    customers: JoinSet<Served>,
}

impl Load {
    pub(crate) fn start(customers: u64, nodes: &Nodes, agent: &str, seed: u64) -> Self {
        let stop = CancellationToken::new();
        let customer = |number| Customer {
            number,
            nodes: nodes.clone(),
            agent: agent.to_owned(),
            rng: Rng::new(seed ^ (number << 32)),
            served: Served::default(),
        };
        let customers = (1..=customers).map(|number| customer(number).live(stop.clone())).collect();
        Self { stop, customers }
    }

    /// Lets every customer finish the call that they are placing.
    pub(crate) async fn finish(mut self) -> Served {
        self.stop.cancel();
        let mut all = Served::default();
        while let Some(served) = self.customers.join_next().await {
            let served = served.expect("a customer does not panic");
            all.acknowledged.extend(served.acknowledged);
            all.wrong.extend(served.wrong);
            all.unanswered += served.unanswered;
            for (status, count) in served.answers {
                *all.answers.entry(status).or_default() += count;
            }
        }
        all
    }
}

struct Customer {
    number: u64,
    nodes: Nodes,
    agent: String,
    rng: Rng,
    served: Served,
}

impl Customer {
    async fn live(mut self, stop: CancellationToken) -> Served {
        let mut placed = 0;
        while !stop.is_cancelled() {
            placed += 1;
            let key = format!("customer-{}-call-{placed}", self.number);
            let to = self.pick_number();
            let body = json!({ "agent_id": self.agent, "to": to });
            let shown = self.insist("/v1/calls", Some(&key), &body, StatusCode::CREATED).await;
            let call = text(&shown["id"]);
            self.served.acknowledged.push(Acknowledged { key, call: call.clone() });
            if to == "+12025550109" {
                self.insist(&format!("/v1/calls/{call}/hangup"), None, &json!({}), StatusCode::OK).await;
            }
            let pause = PAUSE_MS.start + self.rng.below(PAUSE_MS.end - PAUSE_MS.start);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        self.served
    }

    /// Returns a number: mostly one that ends the call at once, else one that is busy, does not answer, or stays on the line.
    fn pick_number(&mut self) -> &'static str {
        match self.rng.below(100) {
            0..6 => "+12025550101",
            6..12 => "+12025550102",
            12..20 => "+12025550109",
            _ => "+12025550111",
        }
    }

    /// Repeats a request until it has succeeded.
    async fn insist(&mut self, path: &str, key: Option<&str>, body: &Value, success: StatusCode) -> Value {
        loop {
            let mut request = self.nodes.next().request(Method::POST, path).json(body).timeout(ONE_REQUEST);
            if let Some(key) = key {
                request = request.header("Idempotency-Key", key);
            }
            match request.send().await {
                Ok(answer) => {
                    if let Some(shown) = self.judge(answer, success).await {
                        return shown;
                    }
                }
                Err(_) => self.served.unanswered += 1,
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Returns the body of a success. A refusal is fine if it says that a retry may succeed.
    async fn judge(&mut self, answer: Response, success: StatusCode) -> Option<Value> {
        let status = answer.status();
        let retry_after = answer.headers().get("retry-after").is_some();
        let Ok(bytes) = answer.bytes().await else {
            self.served.unanswered += 1;
            return None;
        };
        *self.served.answers.entry(status.as_u16()).or_default() += 1;
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if status == success {
            return Some(body);
        }
        let worth_another_try = matches!(status.as_u16(), 409 | 429 | 503) && retry_after;
        let well_said = ["type", "title", "detail", "code", "request_id"].iter().all(|field| body[field].is_string());
        if !worth_another_try || !well_said {
            self.served.wrong.push(format!("{status}: {body}"));
        }
        None
    }
}
