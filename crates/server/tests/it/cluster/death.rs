//! Nodes that die, and nodes that only seem to.

use std::time::{Duration, Instant};

use serde_json::json;
use switchhook::store::{Store, tenants};

use super::{Cluster, TIMEOUT, count, patient, place, recorder, shown, tell, until};

/// The time from the death of a node to the end of every call that it owned.
const TAKEN_OVER: Duration = Duration::from_secs(30);
/// How long a node is stopped, unless the environment overrides it; longer than its leases.
const STOPPED: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_killed_with_fifty_live_calls_and_all_are_over_within_thirty_seconds() {
    let cluster = Cluster::new(&["--rate-limit", "100000", "--concurrent-calls", "60"]).await;
    let doomed = cluster.start();
    let agent = doomed.client.scripted_agent(patient()).await;
    let (recorder, webhook) = recorder(&doomed.client).await;
    let placed = place(&doomed.client, &agent.id, "+12025550109", 50).await;
    until("all are live", TIMEOUT, async || count(&doomed.client, "in_progress").await == 50).await;
    let others = [cluster.start(), cluster.start()];
    assert_eq!(doomed.live_calls().await, 50);

    doomed.process.kill();
    let client = &others[0].client;
    let took =
        until("all have ended", TAKEN_OVER, async || count(client, "queued,dialing,in_progress").await == 0).await;
    tell(&format!("50 calls of a node that was killed ended after {took:.1?}"));
    let history = cluster.judge(client, &webhook, placed, &recorder).await;
    assert_eq!(history.calls.len(), 50);
    assert!(history.calls.iter().all(|call| call.status == "failed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_stopped_for_a_while_changes_nothing_and_lets_go_of_its_calls() {
    let cluster = Cluster::new(&["--rate-limit", "100000", "--concurrent-calls", "60"]).await;
    let stopped = cluster.start();
    let agent = stopped.client.scripted_agent(patient()).await;
    let (recorder, webhook) = recorder(&stopped.client).await;
    let mut placed = place(&stopped.client, &agent.id, "+12025550109", 8).await;
    until("they talk", TIMEOUT, async || count(&stopped.client, "in_progress").await == 8).await;
    // These lines are silent, so the node learns only from the lease that it lost them.
    let quiet = place(&stopped.client, &agent.id, "+12025550105", 4).await;
    for one in &quiet {
        stopped.client.wait_for(&one.call, |call| !call["answered_at"].is_null()).await;
    }
    placed.extend(quiet);
    let other = cluster.start();
    // These are about to change state when the node is stopped, and it will try to write that when it continues.
    placed.extend(place(&stopped.client, &agent.id, "+12025550102", 8).await);
    stopped.process.signal("STOP");
    let since = Instant::now();

    let client = &other.client;
    let took =
        until("all have ended", TAKEN_OVER, async || count(client, "queued,dialing,in_progress").await == 0).await;
    tell(&format!("the calls of a node that was stopped ended after {took:.1?}"));
    let mut before = Vec::new();
    for one in &placed {
        before.push(shown(client, &one.call).await);
    }
    let seconds = std::env::var("SWITCHHOOK_STOP_SECONDS").ok().map(|text| text.parse().expect("a whole number"));
    let stop = seconds.map_or(STOPPED, Duration::from_secs);
    tokio::time::sleep(stop.saturating_sub(since.elapsed())).await;
    stopped.process.signal("CONT");

    // If it did not notice that its leases are lost, it would hold the silent calls until the media timeout.
    let took = until("it lets go", TIMEOUT, async || stopped.live_calls().await == 0).await;
    tell(&format!("a node that went on let go of its calls after {took:.1?}"));
    let afterwards = place(&stopped.client, &agent.id, "+12025550111", 5).await;
    for one in &afterwards {
        assert_eq!(stopped.client.wait_for_end(&one.call).await["status"], "completed", "it works on");
    }
    for (one, before) in placed.iter().zip(before) {
        assert_eq!(shown(client, &one.call).await, before);
    }
    placed.extend(afterwards);
    cluster.judge(client, &webhook, placed, &recorder).await;
    assert!(!stopped.node.log().contains("panicked"), "{}", stopped.node.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn node_stalled_inside_a_transaction_does_not_block_others() {
    let cluster = Cluster::new(&["--rate-limit", "100000"]).await;
    let node = cluster.start();
    let agent = node.client.scripted_agent(patient()).await;
    // Like a process that is stopped between two statements.
    let store = Store::open(&cluster.database).await.expect("the database is there");
    let mut tx = store.begin().await.expect("a transaction");
    let tenant = cluster.tenant.parse().expect("an id");
    tenants::lock(&mut tx, tenant).await.expect("nobody else has it").expect("it is there");

    let body = json!({ "agent_id": agent.id, "to": "+12025550111" });
    let answered = tokio::time::timeout(Duration::from_secs(15), node.client.post("/v1/calls", body)).await;
    let (status, call) = answered.expect("the lock is taken from who stands still");
    assert_eq!(status, 201, "{call}");
    assert!(tenants::lock(&mut tx, tenant).await.is_err(), "what was held is lost");
}
