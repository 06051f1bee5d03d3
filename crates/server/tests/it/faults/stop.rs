//! Stopping the service behind a load balancer.

use std::time::Duration;

use serde_json::json;

use super::tenant_of;
use crate::cluster::until;
use crate::harness::Client;
use crate::harness::process::Node;

#[tokio::test(flavor = "multi_thread")]
async fn the_port_stays_open_for_a_while_after_the_service_is_no_longer_ready() {
    let node = Node::new().await.with("SWITCHHOOK_SHUTDOWN_DELAY", "1h");
    let service = node.serve();
    switchhook_net::install_tls();
    let client = Client::with_a_connection_for_each_request(service.base.clone(), String::new());
    service.signal("TERM");
    client.look_until("/readyz", |ready| ready["code"] == "draining").await;
    // A balancer that has not noticed yet keeps sending requests; idle work ends within a second.
    let mut requests = tokio::time::interval(Duration::from_millis(200));
    for _ in 0..15 {
        requests.tick().await;
        let (status, body) = client.get("/healthz").await;
        assert_eq!((status.as_u16(), &body["status"]), (200, &"ok".into()));
    }
    service.signal("TERM");
    service.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_of_log_rotation_and_reloads_leave_calls_alone_and_quit_drains() {
    let node = Node::new().await.with("SWITCHHOOK_SHUTDOWN_DELAY", "1h");
    let service = node.serve();
    let client = tenant_of(&node, &service);
    let agent = client.scripted_agent(json!({ "silence": { "hangup_after_seconds": null } })).await;
    let live = client.place(&agent, "+12025550109").await;
    client.wait_for(&live, |call| call["status"] == "in_progress").await;
    for signal in ["HUP", "USR1", "USR2"] {
        service.signal(signal);
        let line = format!("SIG{signal} has no effect");
        until("the signal is logged", Duration::from_secs(30), async || node.log().contains(&line)).await;
    }
    // A service that drains is never ready again, while one whose database was slow for a moment is.
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    let (_, call) = client.get(&format!("/v1/calls/{live}")).await;
    assert_eq!(call["status"], "in_progress", "{call}");
    service.signal("QUIT");
    client.look_until("/readyz", |ready| ready["code"] == "draining").await;
    service.signal("QUIT");
    service.ended().await;
}
