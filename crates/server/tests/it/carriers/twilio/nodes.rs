//! Nodes that die, and requests of the carrier that reach another node than the call's own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::carriers::{Set, set_up};
use crate::doubles::twilio::TwilioDouble;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{FarEnd, Fate, Script};
use crate::harness::postgres::Server;
use crate::harness::process::{Node, Process, json_of};
use crate::harness::{Client, PATIENCE, text};

const RINGS: &str = "+12025550102";
const HOLDS: &str = "+12025550109";
const TALKS: &str = "+12025550100";
/// From the death of a node to the end of every line that it held.
const TAKEN_OVER: Duration = Duration::from_secs(30);
/// The same on every node: 32 bytes that are a secret nowhere.
const MASTER_KEY: &str = "c3dpdGNoaG9vayBrZXkgZm9yIHRlc3RzIG9ubHkhISE=";

/// The key of a new tenant.
fn tenant(node: &Node) -> String {
    let made = json_of(node.command().args(["tenant", "create", "acme", "--json", "--rate-limit", "100000"]));
    text(&made["api_key"]["key"])
}

fn start(node: &Node, key: &str) -> (Process, Client) {
    let process = tokio::task::block_in_place(|| node.serve());
    let client = Client::new(process.base.clone(), key.to_owned());
    (process, client)
}

fn allowing(node: Node) -> Node {
    node.with("SWITCHHOOK_OUTBOUND_ALLOW", "127.0.0.0/8,http")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_killed_leaves_no_line_open() {
    let double = TwilioDouble::start(Flavour::Twilio).await;
    let node = allowing(Node::new().await);
    let key = tenant(&node);
    let (process, client) = start(&node, &key);
    let set = set_up(&client, &double, json!({})).await;
    double.script(RINGS, Script { fate: Fate::RingsOn, ..Script::default() });
    let ringing = client.place(&set.agent, RINGS).await;
    client.wait_for(&ringing, |call| !call["ringing_at"].is_null()).await;
    let talking = client.place(&set.agent, HOLDS).await;
    client.wait_for(&talking, |call| call["status"] == "in_progress").await;

    process.kill();
    let killed = Instant::now();
    let (_process, client) = start(&node, &key);
    let rang = double.until(RINGS, "it is withdrawn", |call| call.is_over()).await;
    let talked = double.until(HOLDS, "its end is asked for", |call| call.asked_to_end > 0).await;
    assert!(killed.elapsed() < TAKEN_OVER, "{:?}", killed.elapsed());
    assert!(rang.ended_by_us.is_some() && talked.is_over(), "{rang:?} {talked:?}");
    for (call, code) in [(ringing, "carrier_error"), (talking, "pipeline_error")] {
        let ended = client.wait_for_end(&call).await;
        assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!(code)), "{ended}");
    }
    assert_eq!((double.asked(RINGS), double.asked(HOLDS)), (1, 1));
}

/// An address that leads to whatever it is pointed at.
struct Door {
    base: String,
    leads_to: Arc<Mutex<String>>,
}

impl Door {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let leads_to: Arc<Mutex<String>> = Arc::default();
        let to = leads_to.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let node = to.lock().unwrap_or_else(PoisonError::into_inner).clone();
                tokio::spawn(async move {
                    // A node that is gone ends the connection, and the client sees that.
                    if let Ok(mut node) = TcpStream::connect(node).await {
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut node).await;
                    }
                });
            }
        });
        Self { base, leads_to }
    }

    fn point_at(&self, process: &Process) {
        let address = process.base.trim_start_matches("http://").to_owned();
        *self.leads_to.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

/// Two nodes on one database. What the carrier wants of either reaches the other.
struct Crossed {
    _server: Server,
    doors: [Door; 2],
    nodes: [(Process, Client); 2],
    set: Set,
}

impl Crossed {
    async fn new(double: &TwilioDouble) -> Self {
        switchhook::lifecycle::install_tls();
        let server = tokio::task::block_in_place(Server::start);
        let database = server.database().await;
        let doors = [Door::open().await, Door::open().await];
        let node = |door: &Door| {
            let node = allowing(Node::on(Some(database.clone()))).with("SWITCHHOOK_MASTER_KEY", MASTER_KEY);
            node.with("SWITCHHOOK_PUBLIC_URL", door.base.clone())
        };
        let settings = [node(&doors[0]), node(&doors[1])];
        let key = tenant(&settings[0]);
        let nodes = [start(&settings[0], &key), start(&settings[1], &key)];
        doors[0].point_at(&nodes[1].0);
        doors[1].point_at(&nodes[0].0);
        let set = set_up(&nodes[0].1, double, json!({})).await;
        Self { _server: server, doors, nodes, set }
    }

    fn client(&self) -> &Client {
        &self.nodes[0].1
    }

    /// Which node has dialled.
    fn dialler(&self, double: &TwilioDouble, number: &str) -> usize {
        let reports = double.call(number).status_callback.expect("it was asked for");
        self.doors.iter().position(|door| reports.starts_with(&door.base)).expect("it is one of them")
    }

    /// Waits until so many calls run on this node.
    async fn until_live(&self, node: usize, calls: &str) {
        let looking = async {
            loop {
                let request = self.nodes[node].1.request(Method::GET, "/metrics");
                let shown = request.send().await.expect("an answer").text().await.expect("text");
                if shown.lines().find_map(|line| line.strip_prefix("switchhook_live_calls ")) == Some(calls) {
                    return;
                }
                // Between two looks at a service that runs in real time.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("{calls} calls on node {node}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_and_sound_may_reach_any_node_and_the_one_with_the_sound_talks() {
    let double = TwilioDouble::start(Flavour::Twilio).await;
    let crossed = Crossed::new(&double).await;
    let client = crossed.client();

    double.script(RINGS, Script { rings_for: Duration::from_secs(2), ..Script::ending("no-answer", Some(603)) });
    let rejected = client.place(&crossed.set.agent, RINGS).await;
    client.wait_for(&rejected, |call| !call["ringing_at"].is_null()).await;
    let ended = client.wait_for_end(&rejected).await;
    assert_eq!((&ended["error_code"], &ended["carrier"]["sip_code"]), (&json!("rejected"), &json!(603)), "{ended}");

    let held = client.place(&crossed.set.agent, HOLDS).await;
    client.wait_for(&held, |call| call["status"] == "in_progress").await;
    let dialler = crossed.dialler(&double, HOLDS);
    crossed.until_live(1 - dialler, "1").await;
    crossed.until_live(dialler, "0").await;
    client.post(&format!("/v1/calls/{held}/hangup"), json!({})).await;
    assert_eq!(client.wait_for_end(&held).await["end_reason"], "api_hangup");

    double.script(TALKS, Script::with(FarEnd::Diner));
    let talked = client.place(&crossed.set.agent, TALKS).await;
    let ended = client.wait_for_end(&talked).await;
    assert_eq!((&ended["end_reason"], &ended["outcome"]["people"]), (&json!("agent_hangup"), &json!(4)), "{ended}");
    let events = client.event_names(&talked).await;
    assert_eq!(events, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    for number in [RINGS, HOLDS, TALKS] {
        assert_eq!((double.asked(number), double.calls(number).len()), (1, 1), "{number}");
    }
}
