//! Stopping the service behind a load balancer.

use std::time::Duration;

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
