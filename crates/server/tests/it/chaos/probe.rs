//! Checks that `/readyz` is true: when it is 200, a call placed then is dialled and its webhook leaves.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::crash::history::Acknowledged;
use crate::crash::load::Nodes;
use crate::crash::webhook_recorder::WebhookRecorder;
use crate::harness::{Client, text};

/// The time from `/readyz` to the arrival of the webhook that says that the call is dialled. It passes in steps of [`AGAIN`], which take longer
/// on a busy machine.
const WITHIN: Duration = Duration::from_secs(10);
/// The pause between two probes.
const PAUSE: Duration = Duration::from_millis(700);
/// The pause before a failed request is repeated, or the webhooks are read again.
const AGAIN: Duration = Duration::from_millis(100);
/// A probe that began within this time after a change can have asked before it.
const ASKED: Duration = Duration::from_secs(1);

/// The findings of all probes.
#[derive(Default)]
pub(super) struct Probed {
    pub(super) acknowledged: Vec<Acknowledged>,
    /// The number of probes during which no fault was thrown or lifted.
    pub(super) judged: usize,
    /// Those of them for which `/readyz` was untrue.
    pub(super) untrue: Vec<String>,
    /// Why calls failed during a change, which is no fault.
    pub(super) excused: Vec<String>,
}

/// Asks one node after the other whether it is ready, and then places a call there.
pub(super) struct Prober {
    stop: CancellationToken,
    changes: Vec<Instant>,
    running: JoinHandle<Vec<Probe>>,
}

struct Probe {
    began: Instant,
    /// When the webhook arrived, or the failure was certain.
    ended: Instant,
    acknowledged: Acknowledged,
    /// Why the call was not dialled in time.
    failure: Option<String>,
}

impl Prober {
    pub(super) fn start(nodes: Nodes, agent: &str, recorder: WebhookRecorder) -> Self {
        let stop = CancellationToken::new();
        let running = tokio::spawn(probe_until(stop.clone(), nodes, agent.to_owned(), recorder));
        Self { stop, changes: Vec::new(), running }
    }

    /// Notes that a fault is about to be thrown or lifted, or has been.
    pub(super) fn change(&mut self) {
        self.changes.push(Instant::now());
    }

    /// Lets all probes finish.
    pub(super) async fn finish(self) -> Probed {
        self.stop.cancel();
        let mut probed = Probed::default();
        for probe in self.running.await.expect("no panic") {
            let during = |change: &Instant| *change + ASKED > probe.began && *change < probe.ended;
            if self.changes.iter().any(during) {
                probed.excused.extend(probe.failure);
            } else {
                probed.judged += 1;
                probed.untrue.extend(probe.failure);
            }
            probed.acknowledged.push(probe.acknowledged);
        }
        probed
    }
}

async fn probe_until(stop: CancellationToken, nodes: Nodes, agent: String, recorder: WebhookRecorder) -> Vec<Probe> {
    let mut probes = JoinSet::new();
    for number in 1.. {
        if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
            break;
        }
        let node = nodes.next();
        if is_ready(&node).await {
            let key = format!("probe-{number}");
            probes.spawn(probe(node, nodes.clone(), key, agent.clone(), recorder.clone()));
        }
    }
    probes.join_all().await
}

async fn is_ready(node: &Client) -> bool {
    let asked = node.request(Method::GET, "/readyz").timeout(ASKED).send().await;
    asked.is_ok_and(|answer| answer.status() == StatusCode::OK)
}

async fn probe(node: Client, nodes: Nodes, key: String, agent: String, recorder: WebhookRecorder) -> Probe {
    let began = Instant::now();
    let body = json!({ "agent_id": agent, "to": "+12025550111" });
    let placed = place(&node, &key, &body).await;
    let failure = match &placed {
        Err(why) => Some(format!("{} is ready, but: {why}", node.base)),
        Ok(call) if is_dialled(call, &recorder).await => None,
        Ok(call) => {
            Some(format!("{} is ready, but no webhook says after {WITHIN:?} that call {call} is dialled", node.base))
        }
    };
    let ended = Instant::now();
    let call = match placed {
        Ok(call) => call,
        Err(_) => insist(&nodes, &key, &body).await,
    };
    Probe { began, ended, acknowledged: Acknowledged { key, call }, failure }
}

/// Waits for the webhook that says that a call is dialled; returns whether it arrived in time.
async fn is_dialled(call: &str, recorder: &WebhookRecorder) -> bool {
    for _ in 0..WITHIN.as_millis() / AGAIN.as_millis() {
        if recorder.posts().iter().any(|post| post.call == call && post.event == "call.dialing") {
            return true;
        }
        tokio::time::sleep(AGAIN).await;
    }
    false
}

/// Places a call; returns its id, or why it was refused.
async fn place(node: &Client, key: &str, body: &Value) -> Result<String, String> {
    let request = node.request(Method::POST, "/v1/calls").json(body).header("Idempotency-Key", key).timeout(WITHIN);
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let shown: Value = answer.json().await.map_err(|error| error.to_string())?;
    if status == StatusCode::CREATED { Ok(text(&shown["id"])) } else { Err(format!("{status}: {shown}")) }
}

/// Places the call wherever it can be placed: it may exist already.
async fn insist(nodes: &Nodes, key: &str, body: &Value) -> String {
    loop {
        if let Ok(call) = place(&nodes.next(), key, body).await {
            return call;
        }
        tokio::time::sleep(AGAIN).await;
    }
}
