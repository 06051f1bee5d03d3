//! The database is restarted under load.

use serde_json::json;

use super::balancer::Balancer;
use super::{Cluster, recorder, tell, until};
use crate::crash::load::{Load, Nodes};
use crate::harness::postgres::Stop;
use crate::harness::{Client, TIMEOUT};

/// Calls between two restarts.
const LOAD: u64 = 20;

/// Waits until more calls have been accepted.
async fn load_continues(client: &Client) {
    let accepted = async || client.get("/v1/tenant").await.1["monthly_calls"]["used"].as_u64().unwrap_or_default();
    let goal = accepted().await + LOAD;
    until("more calls are accepted", TIMEOUT, async || accepted().await >= goal).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_is_restarted_under_load_and_nothing_that_was_acknowledged_is_lost() {
    let cluster = Cluster::new(&["--rate-limit", "1000000", "--concurrent-calls", "150"]).await;
    let members = cluster.three();
    let balancer = Balancer::before(&members).await;
    let client = balancer.client(&cluster.key);
    let agent = client.scripted_agent(json!({})).await;
    let (recorder, webhook) = recorder(&client).await;
    let load = Load::start(5, &Nodes::of(vec![client.clone()]), &agent.id, 1);
    for how in [Stop::Immediate, Stop::Fast] {
        load_continues(&client).await;
        tokio::task::block_in_place(|| cluster.server.restart(how));
        let took = until("every node serves again", TIMEOUT, async || {
            let mut served = true;
            for member in &members {
                served &= member.client.get("/v1/tenant").await.0 == 200;
            }
            served
        });
        tell(&format!("back after {:.1?} ({how:?})", took.await));
    }
    load_continues(&client).await;
    let served = load.finish().await;
    tell(&format!("{} calls; {:?}, {} unanswered", served.acknowledged.len(), served.answers, served.unanswered));
    assert_eq!((served.wrong, served.unanswered), (Vec::new(), 0));
    let history = cluster.judge(&client, &webhook, served.acknowledged, &recorder).await;
    assert!(history.calls.len() > 20, "there was a load");
    for member in &members {
        assert!(!member.node.log().contains("panicked"), "{}", member.node.log());
    }
}
