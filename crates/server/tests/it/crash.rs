//! `kill -9`, and what a restart makes of it.

use std::collections::HashSet;

use serde_json::json;

use crate::harness::process::{Node, json_of};
use crate::harness::{Client, deliveries_of, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_process_is_killed_ends_once_and_its_receiver_hears_of_it_once() {
    switchhook::lifecycle::install_tls();
    let node = Node::new().await;
    let tenant = json_of(node.command().args(["tenant", "create", "acme", "--rate-limit", "100000", "--json"]));
    let key = text(&tenant["api_key"]["key"]);

    let service = node.serve();
    let client = Client::new(service.base.clone(), key.clone());
    let agent = client.scripted_agent(json!({})).await;
    let mut receiver = client.receiver().await;
    let talking = client.place(&agent, "+12025550109").await;
    let ringing = client.place(&agent, "+12025550102").await;
    client.wait_for(&talking, |call| call["status"] == "in_progress").await;
    client.wait_for(&ringing, |call| call["status"] != "queued").await;
    service.kill();

    let service = node.serve();
    let client = Client::new(service.base.clone(), key);
    for (call, codes) in [(&talking, ["pipeline_error"; 2]), (&ringing, ["carrier_error", "no_answer"])] {
        let ended = client.wait_for_end(call).await;
        assert_eq!(ended["status"], "failed", "{ended}");
        assert!(codes.contains(&text(&ended["error_code"]).as_str()), "{ended}");
        let terminal = client.event_names(call).await.into_iter().filter(|event| event.starts_with("call.failed")).count();
        assert_eq!(terminal, 1);
    }
    let received = deliveries_of(&mut receiver, &talking).await;
    let failed: HashSet<_> = received.iter().filter(|d| d.event == "call.failed").map(|d| d.id.clone()).collect();
    assert_eq!(failed.len(), 1, "one delivery, however often it was posted");
    let (_, tenant) = client.get("/v1/tenant").await;
    assert_eq!(tenant["concurrent_calls"]["in_use"], 0, "no slot is lost");
    service.kill();
}
