//! Nodes that die, and requests of the carrier that reach another node than the call's own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

use crate::carriers::set_up;
use crate::doubles::twilio::TwilioDouble;
use crate::doubles::twilio::flavour::Flavour;
use crate::doubles::twilio::script::{DialOutcome, FarEnd, Script};
use crate::harness::postgres::Server;
use crate::harness::process::{Node, Process, json_of};
use crate::harness::{Client, TIMEOUT, text};

const RINGS: &str = "+12025550102";
const HOLDS: &str = "+12025550109";
const TALKS: &str = "+12025550100";
/// Numbers of transfers: one answers, the other is busy.
const DESK: &str = "+12025550142";
const AWAY: &str = "+12025550143";
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
    double.script(RINGS, Script { outcome: DialOutcome::RingsOn, ..Script::default() });
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

/// An address that leads to a node, once it is pointed at one: until then, clients wait.
struct Door {
    base: String,
    leads_to: watch::Sender<String>,
}

impl Door {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("it is bound"));
        let leads_to = watch::Sender::new(String::new());
        let mut to = leads_to.subscribe();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let Ok(node) = to.wait_for(|node| !node.is_empty()).await.map(|node| node.clone()) else { return };
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
        self.leads_to.send_replace(process.base.trim_start_matches("http://").to_owned());
    }
}

/// Two nodes with one database, neither started.
struct Cluster {
    nodes: [Node; 2],
    /// Their public URL.
    door: Door,
    _server: Server,
}

impl Cluster {
    async fn new() -> Self {
        let server = tokio::task::block_in_place(Server::start);
        let (database, door) = (server.database().await, Door::open().await);
        let node = || {
            let node = allowing(Node::on(Some(database.clone()))).with("SWITCHHOOK_MASTER_KEY", MASTER_KEY);
            node.with("SWITCHHOOK_PUBLIC_URL", door.base.clone())
        };
        Self { nodes: [node(), node()], door, _server: server }
    }
}

/// Waits until so many calls run on this node.
async fn until_live(node: &Client, calls: &str) {
    let looking = async {
        loop {
            let request = node.request(Method::GET, "/metrics");
            let shown = request.send().await.expect("an answer").text().await.expect("text");
            if shown.lines().find_map(|line| line.strip_prefix("switchhook_live_calls ")) == Some(calls) {
                return;
            }
            // Between two looks at a service that runs in real time.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, looking).await.unwrap_or_else(|_| panic!("{calls} calls on {}", node.base));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_and_audio_may_reach_any_node_and_the_one_with_the_audio_talks() {
    let double = TwilioDouble::start(Flavour::Twilio).await;
    let Cluster { nodes: [dialler, other], door, _server } = Cluster::new().await;
    let key = tenant(&dialler);
    let (_dialler, client) = start(&dialler, &key);
    let set = set_up(&client, &double, json!({})).await;
    let stops = [(); 3].map(|()| Arc::new(Notify::new()));
    let [rings, holds, talks] = stops.each_ref().map(|stop| Some(stop.clone()));
    double.script(RINGS, Script { rings_until: rings, ..Script::ending("no-answer", Some(603)) });
    double.script(HOLDS, Script { rings_until: holds, ..Script::default() });
    let leaves = Script::with(FarEnd::HangsUpAfter(Duration::from_secs(1)));
    double.script(TALKS, Script { rings_until: talks, ..leaves });
    let mut calls = Vec::new();
    for number in [RINGS, HOLDS, TALKS] {
        calls.push(client.place(&set.agent, number).await);
        double.until(number, "it rings", |call| call.status == "ringing").await;
    }

    // No other node could dial. From now on the carrier meets the other node only.
    let (process, others_client) = start(&other, &key);
    door.point_at(&process);
    // Not earlier: the carrier waits only seconds for a stream to open.
    stops.iter().for_each(|stop| stop.notify_one());
    let rejected = client.wait_for_end(&calls[0]).await;
    assert!(!rejected["ringing_at"].is_null(), "{rejected}");
    assert_eq!((&rejected["error_code"], &rejected["carrier"]["sip_code"]), (&json!("rejected"), &json!(603)));

    client.wait_for(&calls[1], |call| call["status"] == "in_progress").await;
    let talked = client.wait_for_end(&calls[2]).await;
    assert_eq!((&talked["status"], &talked["ended_by"]), (&json!("completed"), &json!("caller")), "{talked}");
    let events = client.event_names(&calls[2]).await;
    assert_eq!(events, ["call.queued", "call.dialing", "call.in_progress", "carrier.hangup", "call.completed"]);
    assert!(double.call(TALKS).played > 0, "it was talked to");

    until_live(&others_client, "1").await;
    until_live(&client, "0").await;
    client.post(&format!("/v1/calls/{}/hangup", calls[1]), json!({})).await;
    assert_eq!(client.wait_for_end(&calls[1]).await["end_reason"], "api_hangup");
    for number in [RINGS, HOLDS, TALKS] {
        assert_eq!((double.asked(number), double.calls(number).len()), (1, 1), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_put_through_while_no_node_lived_talks_on_and_who_was_not_is_hung_up() {
    let double = TwilioDouble::start(Flavour::Twilio).await;
    let Cluster { nodes: [first, second], door, _server } = Cluster::new().await;
    let key = tenant(&first);
    let (process, client) = start(&first, &key);
    door.point_at(&process);
    let set = set_up(&client, &double, json!({})).await;
    let [answers, is_busy] = [(); 2].map(|()| Arc::new(Notify::new()));
    double.script(DESK, Script { rings_until: Some(answers.clone()), ..Script::default() });
    double.script(AWAY, Script { rings_until: Some(is_busy.clone()), ..Script::ending("busy", Some(486)) });
    let mut calls = Vec::new();
    for (number, to) in [(HOLDS, DESK), (TALKS, AWAY)] {
        let call = client.place(&set.agent, number).await;
        client.wait_for(&call, |call| call["status"] == "in_progress").await;
        client.post(&format!("/v1/calls/{call}/transfer"), json!({ "to": to })).await;
        double.until(number, "the other phone rings", |call| call.dialled.is_some()).await;
        calls.push(call);
    }
    process.kill();
    let (process, client) = start(&second, &key);
    door.point_at(&process);
    // The calls have no owner until their leases end, and a report that reaches no node is not repeated.
    answers.notify_one();
    is_busy.notify_one();

    let ended = client.wait_for_end(&calls[0]).await;
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("transferred")), "{ended}");
    let talked = double.call(HOLDS);
    assert!(talked.bridged && talked.asked_to_end == 0 && !talked.is_over(), "nobody hangs up on them: {talked:?}");
    let ended = client.wait_for_end(&calls[1]).await;
    assert_eq!((&ended["status"], &ended["error_code"]), (&json!("failed"), &json!("pipeline_error")), "{ended}");
    double.until(TALKS, "it is over", |call| call.is_over()).await;
}
