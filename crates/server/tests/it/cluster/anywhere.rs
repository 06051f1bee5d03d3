//! Any request can go to any node.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;

use super::balancer::Balancer;
use super::{Cluster, TIMEOUT, shown, until};
use crate::harness::{Client, text};

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_round_robin_three_nodes_are_one_service() {
    let cluster = Cluster::new(&["--rate-limit", "100000"]).await;
    let members = cluster.three();
    let balancer = Balancer::before(&members).await;
    let client = balancer.client(&cluster.key);
    let agent = client.scripted_agent(json!({ "recording": { "enabled": true } })).await;

    let call = client.place(&agent, "+12025550109").await;
    let followers = join_all(members.iter().map(|member| follow(&member.client, &call)));
    let talk = async {
        client.wait_for(&call, |call| call["status"] == "in_progress").await;
        client.wait_for_words(&call).await;
        // Through each node, though only one of them runs the call.
        for member in &members {
            let (status, _) = member.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
            assert_eq!(status, 200);
        }
        client.wait_for_end(&call).await
    };
    let (followed, ended) = tokio::join!(followers, talk);
    assert_eq!((&ended["status"], &ended["end_reason"]), (&json!("completed"), &json!("api_hangup")), "{ended}");
    let events = client.event_names(&call).await;
    assert_eq!(events.last().map(String::as_str), Some("call.completed"));
    let recording = format!("/v1/calls/{call}/recording");
    // A call does not wait for a slow disk.
    until("the recording is there", TIMEOUT, async || {
        client.request(Method::GET, &recording).send().await.expect("an answer").status() == 200
    })
    .await;
    for (member, followed) in members.iter().zip(followed) {
        assert_eq!(followed, events, "every node tells all of it");
        assert_eq!(shown(&member.client, &call).await, shown(&client, &call).await);
        let audio = member.client.request(Method::GET, &recording).send().await.expect("an answer");
        assert_eq!(audio.status(), 200, "recordings are on storage that all nodes share");
    }
    std::fs::remove_dir_all(cluster.shared.path().join("recordings")).expect("it is ours");
    let (status, missing) = members[0].client.get(&recording).await;
    assert_eq!(status, 404);
    assert!(text(&missing["detail"]).contains("files of the node that held the call"), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_revoked_on_one_node_is_refused_by_the_others_at_once() {
    let cluster = Cluster::new(&["--rate-limit", "100000"]).await;
    let members = cluster.three();
    for (revoker, member) in members.iter().enumerate() {
        let made = member.client.create("/v1/api-keys", json!({})).await;
        let by_key = |index: usize| Client::new(members[index].process.base.clone(), text(&made["key"]));
        let others = [by_key((revoker + 1) % 3), by_key((revoker + 2) % 3)];
        for other in &others {
            assert_eq!(other.get("/v1/tenant").await.0, 200);
        }
        let path = format!("/v1/api-keys/{}", text(&made["id"]));
        let revoked = member.client.request(Method::DELETE, &path).send().await.expect("an answer");
        assert_eq!(revoked.status(), 204);
        for other in &others {
            assert_eq!(other.get("/v1/tenant").await.0, 401);
        }
    }
}

/// Follows a call's events at one node until the last. Returns their kinds.
async fn follow(client: &Client, call: &str) -> Vec<String> {
    let request = client.request(Method::GET, &format!("/v1/calls/{call}/events"));
    let stream = request.header("Accept", "text/event-stream").send().await.expect("an answer");
    let told = stream.text().await.expect("a stream that ends with the call");
    told.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
}
