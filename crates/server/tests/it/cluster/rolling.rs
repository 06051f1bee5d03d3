//! A rolling update: one node after another is replaced while calls run.

use std::time::Duration;

use serde_json::json;

use super::balancer::Balancer;
use super::{Cluster, count, patient, place, recorder, until};
use crate::crash::load::{Load, Nodes};

const SOON: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_drops_no_call_and_refuses_no_request() {
    let cluster = Cluster::new(&["--rate-limit", "1000000", "--concurrent-calls", "150"]).await;
    let first = cluster.start();
    let agent = first.client.scripted_agent(patient()).await;
    let (recorder, webhook) = recorder(&first.client).await;
    // They are on the first node, because there is no other yet.
    let mut placed = place(&first.client, &agent.id, "+12025550109", 5).await;
    let held: Vec<String> = placed.iter().map(|one| one.call.clone()).collect();
    until("they talk", SOON, async || count(&first.client, "in_progress").await == 5).await;
    let mut members = vec![first, cluster.start(), cluster.start()];
    let balancer = Balancer::before(&members).await;
    let client = balancer.client(&cluster.key);
    let load = Load::start(4, &Nodes::of(vec![client.clone()]), &agent.id, 1);

    for round in 0..members.len() {
        let draining = members.remove(0);
        draining.process.signal("TERM");
        until("it is not ready", SOON, async || !draining.is_ready().await).await;
        balancer.serves(members.iter());
        if round == 0 {
            // It no longer dials, but it responds, and other nodes dial what it accepts.
            assert_eq!(draining.client.get("/readyz").await.0, 503);
            let accepted = place(&draining.client, &agent.id, "+12025550111", 1).await;
            assert_eq!(client.wait_for_end(&accepted[0].call).await["status"], "completed");
            placed.extend(accepted);
            for call in &held {
                assert_eq!(client.get(&format!("/v1/calls/{call}")).await.1["status"], "in_progress");
                client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
                assert_eq!(client.wait_for_end(call).await["end_reason"], "api_hangup");
            }
        }
        draining.process.ended().await;
        members.push(cluster.start());
        balancer.serves(members.iter());
    }
    let served = load.finish().await;
    assert_eq!((served.wrong, served.unanswered), (Vec::new(), 0));
    let answers: Vec<u16> = served.answers.into_keys().collect();
    assert!(answers.iter().all(|status| matches!(status, 200 | 201)), "{answers:?}");
    placed.extend(served.acknowledged);
    cluster.judge(&client, &webhook, placed, &recorder).await;
    for reason in ["error_code=pipeline_error,unknown_error,carrier_error", "end_reason=drained"] {
        let (_, dropped) = client.get(&format!("/v1/calls?{reason}")).await;
        assert_eq!(dropped["data"], json!([]), "{reason}");
    }
}
