//! The service under load, killed again and again, and checked against the rules of its history.
//!
//! `just crash` runs it for a long time.

use std::fmt;
use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use switchhook_runtime::clock;

use super::load::{Load, Nodes};
use super::look;
use super::rng::Rng;
use super::webhook_recorder::WebhookRecorder;
use crate::cluster::until;
use crate::harness::process::{Node, json_of};
use crate::harness::{Client, text};

/// How often the service is killed, unless the environment overrides it.
const CYCLES: u64 = 6;
const CUSTOMERS: u64 = 5;
/// How long everything may take to finish after the last start. The calls of the last death are over within 30 s.
const TIMEOUT: Duration = Duration::from_secs(150);

#[tokio::test(flavor = "multi_thread")]
async fn whenever_the_service_is_killed_nothing_is_lost_and_nothing_happens_twice() {
    switchhook_net::install_tls();
    let cycles = from_environment("SWITCHHOOK_CRASH_CYCLES").unwrap_or(CYCLES);
    let seed = from_environment("SWITCHHOOK_CRASH_SEED").unwrap_or_else(|| u64::from_ne_bytes(clock::random()));
    say(format_args!("{cycles} cycles with SWITCHHOOK_CRASH_SEED={seed}"));
    let mut rng = Rng::new(seed);

    let folder = tempfile::tempdir().expect("a folder that outlives every process");
    let dial_log = folder.path().join("dials");
    let node = Node::new()
        .await
        .with("SWITCHHOOK_SIMULATOR_DIAL_LOG", dial_log.display().to_string())
        .with("SWITCHHOOK_WEBHOOK_RETRY_DELAYS", "200ms,500ms,1s,1s,2s,2s,2s")
        .with("SWITCHHOOK_WEBHOOK_TIMEOUT", "2s");
    let limits = ["--rate-limit", "1000000", "--concurrent-calls", "150"];
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--json"]).args(limits));
    let key = text(&tenant["api_key"]["key"]);

    let mut process = node.serve();
    let mut client = Client::new(process.base.clone(), key.clone());
    let agent = client.scripted_agent(json!({})).await;
    let recorder = WebhookRecorder::start(seed).await;
    let webhook = text(&client.create("/v1/webhooks", json!({ "url": recorder.url() })).await["id"]);
    let nodes = Nodes::of(vec![client.clone()]);
    let load = Load::start(CUSTOMERS, &nodes, &agent.id, seed);
    for cycle in 1..=cycles {
        tokio::time::sleep(life(&mut rng)).await;
        process.kill();
        process = tokio::task::block_in_place(|| node.serve());
        client = Client::new(process.base.clone(), key.clone());
        nodes.are(vec![client.clone()]);
        if cycle % 10 == 0 {
            say(format_args!("killed {cycle} times; {} POSTs so far", recorder.posts().len()));
        }
    }
    let accepted = async || client.get("/v1/tenant").await.1["monthly_calls"]["used"].as_u64().unwrap_or_default();
    // The lives of a slow service may have been too short for a load.
    until("more calls than cycles are accepted", TIMEOUT, async || accepted().await > cycles).await;
    let served = load.finish().await;
    say(format_args!("{} calls; {:?}, {} unanswered", served.acknowledged.len(), served.answers, served.unanswered));
    let rest = look::until_at_rest(&client, &webhook, TIMEOUT).await;
    let history =
        look::at_everything(&client, &webhook, served.acknowledged, recorder.posts(), &[dial_log.as_path()]).await;
    process.kill();

    say(format_args!("at rest after {rest:.1?}: {} dials, {} POSTs", history.dials.len(), history.posts.len()));
    assert_eq!(served.wrong, Vec::<String>::new(), "seed {seed}");
    assert!(history.calls.len() as u64 > cycles, "there was a load");
    let violations = history.violations();
    assert_eq!(violations, Vec::<String>::new(), "seed {seed}");
    assert!(!node.log().contains("panicked"), "seed {seed}: {}", node.log());
}

/// Returns a lifetime: mostly moments, occasionally long enough to clean up after the last death.
fn life(rng: &mut Rng) -> Duration {
    let millis = if rng.below(6) == 0 { 4_000 + rng.below(4_000) } else { rng.below(2_500) };
    Duration::from_millis(millis)
}

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")))
}

/// Prints progress.
fn say(words: fmt::Arguments<'_>) {
    // A closed stderr is fine.
    let _ = writeln!(std::io::stderr(), "crash: {words}");
}
