//! Faults of machines and databases, thrown and lifted under load, and checked against the rules of the service's history.
//!
//! Each test throws each of its faults once, in the same order; `just chaos` throws them at random for hours. While no fault is thrown or
//! lifted, `/readyz` must be true: when it is 200, a call placed then is dialled and its webhook leaves within 10 s. Only `just chaos` fails if
//! it is not: beside other tests a machine may be too busy for that; they print what they saw.

mod fault;
mod fixture;
mod probe;

use std::fmt;
use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use self::fault::{Fault, LONG};
use self::fixture::Fixture;
use self::probe::Prober;
use crate::crash::load::Load;
use crate::crash::look;
use crate::crash::rng::Rng;
use crate::crash::webhook_recorder::WebhookRecorder;
use crate::harness::text;

const CUSTOMERS: u64 = 3;
const SHORT: Duration = Duration::from_secs(2);
/// How long everything may take to finish after the last fault. Calls of a killed node are over within 30 s.
const TIMEOUT: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_survive_faults_of_their_database() {
    survive(Fixture::on_postgres().await, &Fault::OF_DATABASES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_survive_faults_of_their_machines() {
    survive(Fixture::on_postgres().await, &Fault::OF_MACHINES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_survives_faults_of_its_machine() {
    survive(Fixture::on_sqlite(), &[&Fault::OF_MACHINES[..], &[Fault::DiskFull]].concat()).await;
}

async fn survive(mut fixture: Fixture, faults: &[Fault]) {
    let client = fixture.client();
    let agent = client.scripted_agent(json!({})).await;
    let recorder = WebhookRecorder::start(fixture.seed()).await;
    let webhook = text(&client.create("/v1/webhooks", json!({ "url": recorder.url() })).await["id"]);
    let load = Load::start(CUSTOMERS, &fixture.nodes(), &agent.id, fixture.seed());
    let mut prober = Prober::start(fixture.nodes(), &agent.id, recorder.clone());
    for (fault, held, calm) in schedule(faults, fixture.seed()) {
        say(format_args!("{fault:?} for {held:.1?}"));
        prober.change();
        let since = Instant::now();
        fixture.throw(fault).await;
        prober.change();
        // How long a fault lasts is its nature: nothing is awaited.
        tokio::time::sleep(held.saturating_sub(since.elapsed())).await;
        prober.change();
        fixture.lift(fault).await;
        prober.change();
        tokio::time::sleep(calm).await;
    }
    for client in fixture.clients() {
        client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    }
    let probed = prober.finish().await;
    let mut served = load.finish().await;
    say(format_args!("{} calls; {:?}, {} unanswered", served.acknowledged.len(), served.answers, served.unanswered));
    say(format_args!("{} of {} probes were judged", probed.judged, probed.acknowledged.len()));
    say(format_args!("untrue: {:#?}", probed.untrue));
    say(format_args!("during changes: {:#?}", probed.excused));
    served.acknowledged.extend(probed.acknowledged);
    let client = fixture.client();
    look::until_at_rest(&client, &webhook, TIMEOUT).await;
    let dials = fixture.dial_log();
    let history =
        look::at_everything(&client, &webhook, served.acknowledged, recorder.posts(), &[dials.as_path()]).await;
    let errors: Vec<_> = fixture.logs().flat_map(|log| errors(&log)).collect();
    assert_eq!(served.wrong, Vec::<String>::new(), "{errors:#?}");
    assert_eq!(history.violations(), Vec::<String>::new());
    if rounds().is_some() {
        assert_eq!(probed.untrue, Vec::<String>::new(), "{errors:#?}");
        assert!(probed.judged >= faults.len(), "only {} probes fell between two changes", probed.judged);
    }
    for log in fixture.logs() {
        assert!(!log.contains("panicked"), "{log}");
    }
}

/// Returns the faults to throw, how long each lasts, and how long the calm after it is. `SWITCHHOOK_CHAOS_ROUNDS` makes it random.
fn schedule(faults: &[Fault], seed: u64) -> Vec<(Fault, Duration, Duration)> {
    let Some(rounds) = rounds() else {
        return faults.iter().map(|fault| (*fault, fault.lasts(), SHORT)).chain([(faults[0], SHORT, LONG)]).collect();
    };
    say(format_args!("{rounds} rounds with SWITCHHOOK_CHAOS_SEED={seed}"));
    let mut rng = Rng::new(seed);
    let moment = |rng: &mut Rng| if rng.below(2) == 0 { LONG } else { Duration::from_millis(rng.below(6_000)) };
    (0..rounds).map(|_| (rng.any(faults), moment(&mut rng), moment(&mut rng))).collect()
}

/// Returns how many random faults to throw, if they should be random.
fn rounds() -> Option<u64> {
    std::env::var("SWITCHHOOK_CHAOS_ROUNDS").ok().map(|text| text.parse().expect("a whole number"))
}

/// Returns the first errors in a log.
fn errors(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains("ERROR")).take(20).map(str::to_owned).collect()
}

/// Prints progress.
fn say(message: fmt::Arguments<'_>) {
    // A closed stderr is fine.
    let _ = writeln!(std::io::stderr(), "chaos: {message}");
}
