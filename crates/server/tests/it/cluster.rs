//! Several nodes on one PostgreSQL database, each a separate process, behind a round-robin balancer.
//!
//! Every test starts its own PostgreSQL server, regardless of the database of other tests: SQLite supports only one node, and some
//! of these tests restart the database.

mod anywhere;
mod balancer;
mod database;
mod death;
mod limits;
mod rolling;

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::crash::history::{Acknowledged, History};
use crate::crash::look;
use crate::crash::webhook_recorder::WebhookRecorder;
use crate::harness::postgres::Server;
use crate::harness::process::{Node, Process, json_of};
use crate::harness::{Client, text};

/// The same on every node: 32 bytes that are not used anywhere else.
const MASTER_KEY: &str = "c3dpdGNoaG9vayBrZXkgZm9yIHRlc3RzIG9ubHkhISE=";
/// How long everything may take to finish.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A database, the nodes' shared files, and a tenant.
pub(crate) struct Cluster {
    server: Server,
    database: String,
    /// Recordings, and the dial log.
    shared: TempDir,
    tenant: String,
    key: String,
}

/// One node.
pub(crate) struct Member {
    node: Node,
    process: Process,
    pub(crate) client: Client,
}

impl Cluster {
    /// Creates a cluster with a tenant with these limits.
    pub(crate) async fn new(limits: &[&str]) -> Self {
        switchhook_net::install_tls();
        let server = tokio::task::block_in_place(Server::start);
        let database = server.database().await;
        let shared = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(shared.path().join("recordings")).expect("a folder");
        let mut cluster = Self { server, database, shared, tenant: String::new(), key: String::new() };
        (cluster.tenant, cluster.key) = cluster.tenant(limits);
        cluster
    }

    /// Creates a tenant. Returns its id and key.
    fn tenant(&self, limits: &[&str]) -> (String, String) {
        let node = self.node();
        let made = json_of(node.command().args(["tenant", "create", "acme", "--json"]).args(limits));
        (text(&made["tenant"]["id"]), text(&made["api_key"]["key"]))
    }

    fn node(&self) -> Node {
        let node = Node::on(Some(self.database.clone()))
            .with("SWITCHHOOK_MASTER_KEY", MASTER_KEY)
            .with("SWITCHHOOK_SIMULATOR_DIAL_LOG", self.dial_log().display().to_string())
            // The default for a service: a node without calls stays reachable until its balancer has seen that it drains.
            .with("SWITCHHOOK_SHUTDOWN_DELAY", "5s")
            .with("SWITCHHOOK_WEBHOOK_RETRY_DELAYS", "200ms,500ms,1s,1s,2s,2s,2s")
            .with("SWITCHHOOK_WEBHOOK_TIMEOUT", "2s")
            .with("SWITCHHOOK_MEDIA_TIMEOUT", "5m");
        let recordings = self.shared.path().join("recordings");
        std::os::unix::fs::symlink(recordings, node.data_dir().join("recordings")).expect("a new folder");
        node
    }

    fn dial_log(&self) -> PathBuf {
        self.shared.path().join("dials")
    }

    /// Starts a node.
    pub(crate) fn start(&self) -> Member {
        let node = self.node();
        let process = tokio::task::block_in_place(|| node.serve());
        let client = Client::new(process.base.clone(), self.key.clone());
        Member { node, process, client }
    }

    fn three(&self) -> [Member; 3] {
        [self.start(), self.start(), self.start()]
    }

    /// Waits until nothing moves, and checks everything that happened to the tenant against the rules.
    async fn judge(
        &self,
        by: &Client,
        webhook: &str,
        acknowledged: Vec<Acknowledged>,
        recorder: &WebhookRecorder,
    ) -> History {
        look::until_at_rest(by, webhook, TIMEOUT).await;
        let log = self.dial_log();
        let history = look::at_everything(by, webhook, acknowledged, recorder.posts(), &[log.as_path()]).await;
        assert_eq!(history.violations(), Vec::<String>::new());
        history
    }
}

impl Member {
    /// Returns whether a balancer would send requests there. A node that has stopped refuses the connection.
    async fn is_ready(&self) -> bool {
        let asked = self.client.request(reqwest::Method::GET, "/readyz").send().await;
        asked.is_ok_and(|response| response.status().is_success())
    }

    /// Returns how many calls run there.
    pub(crate) async fn live_calls(&self) -> u64 {
        let request = self.client.request(reqwest::Method::GET, "/metrics");
        let shown = request.send().await.expect("an answer").text().await.expect("text");
        let value = shown.lines().find_map(|line| line.strip_prefix("switchhook_live_calls "));
        value.expect("the metric is there").parse().expect("a number")
    }
}

/// Returns changes of an agent that keep silent callers on the line for as long as a test takes.
fn patient() -> Value {
    json!({ "silence": { "hangup_after_seconds": null } })
}

/// Creates a receiver for all events, and returns it with the id of its endpoint.
async fn recorder(client: &Client) -> (WebhookRecorder, String) {
    let recorder = WebhookRecorder::start(1).await;
    let webhook = client.create("/v1/webhooks", json!({ "url": recorder.url() })).await;
    (recorder, text(&webhook["id"]))
}

/// Places calls to `to`, each with its own idempotency key. Returns them.
async fn place(client: &Client, agent: &str, to: &str, count: usize) -> Vec<Acknowledged> {
    let mut placed = Vec::new();
    for number in 0..count {
        let call = text(&client.create("/v1/calls", json!({ "agent_id": agent, "to": to })).await["id"]);
        placed.push(Acknowledged { key: format!("{to}-{number}"), call });
    }
    placed
}

/// Returns how many calls of the tenant have one of these statuses, up to 100.
async fn count(client: &Client, statuses: &str) -> usize {
    let (status, list) = client.get(&format!("/v1/calls?limit=100&status={statuses}")).await;
    assert_eq!(status, 200, "{list}");
    list["data"].as_array().expect("a list").len()
}

/// Polls until `done`, for at most `patience`. Returns how long it took.
pub(crate) async fn until(what: &str, patience: Duration, mut done: impl AsyncFnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !done().await {
        assert!(start.elapsed() < patience, "{what} within {patience:?}");
        // Polls services that run in real time.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    start.elapsed()
}

/// Returns a call and its events from the API.
async fn shown(client: &Client, call: &str) -> (Value, Value) {
    let (_, resource) = client.get(&format!("/v1/calls/{call}")).await;
    let (_, events) = client.get(&format!("/v1/calls/{call}/events")).await;
    (resource, events)
}

/// Prints a measurement.
fn tell(words: &str) {
    // A closed stderr is fine.
    let _ = writeln!(std::io::stderr(), "cluster: {words}");
}
