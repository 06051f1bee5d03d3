//! Web calls on several nodes.

use serde_json::json;

use super::{Browser, ended, place};
use crate::cluster::Cluster;

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_reaches_another_node_than_the_call_was_placed_on_talks_there() {
    let cluster = Cluster::new(&["--rate-limit", "100000"]).await;
    let (one, other) = (cluster.start(), cluster.start());
    let agent = one.client.scripted_agent(json!({})).await;
    let (call, url) = place(&one.client, &agent).await;
    let path = url.split("/media/").nth(1).expect("a path");
    let elsewhere = format!("{}/media/{path}", other.client.base.replacen("http", "ws", 1));
    let mut browser = Browser::connect(&elsewhere).await;
    browser.hear_agent().await;
    assert_eq!((one.live_calls().await, other.live_calls().await), (0, 1));
    assert_eq!(Browser::open(&url).await.err(), Some(409), "the token is used on every node");
    browser.say("name").await;
    browser.hear_agent().await;
    // Through the node that does not run it.
    one.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    let end = browser.end().await;
    ended(&one.client, &call, &end, "api_hangup").await;
}
