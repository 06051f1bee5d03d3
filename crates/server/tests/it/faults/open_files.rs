//! Clients hold more connections than the process may have open files.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::json;

use super::tenant_of;
use crate::harness::deliveries_of;
use crate::harness::process::Node;

/// More than the limit under which the service starts.
const HELD: usize = 400;

/// Opens connections that have received a response and stay open. Some may be refused.
fn hold_connections(base: &str) -> Vec<TcpStream> {
    let address: SocketAddr = base.trim_start_matches("http://").parse().expect("an address");
    let held = (0..HELD).map(|_| {
        let mut stream = TcpStream::connect(address).expect("the port is open");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
        // Refused ones are closed; ones that are not accepted are silent.
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        let answered = stream.read(&mut [0; 4096]);
        (stream, answered)
    });
    // The first connection without a response is enough: later ones are not accepted either.
    let mut streams = Vec::new();
    for (stream, answered) in held {
        streams.push(stream);
        if answered.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock) {
            break;
        }
    }
    streams
}

/// Checks that under `limit`, while one address holds many connections, another one places a call whose webhooks are sent.
async fn a_call_beside_held_connections(limit: &str) {
    let node = Node::new().await;
    let service = node.serve_after(limit);
    let client = tenant_of(&node, &service).at_address([127, 0, 0, 2]);
    let base = service.base.clone();
    let held = tokio::task::spawn_blocking(move || hold_connections(&base)).await.expect("no panic");
    client.look_until("/readyz", |ready| ready["status"] == "ready").await;
    let agent = client.scripted_agent(json!({})).await;
    let mut receiver = client.receiver().await;
    let call = client.place(&agent, "+12025550100").await;
    client.hang_up_after(&call, 1).await;
    assert_ne!(deliveries_of(&mut receiver, &call).await.len(), 0);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_soft_limit_of_open_files_is_raised() {
    a_call_beside_held_connections("ulimit -Sn 256").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_does_not_take_all_files_under_a_hard_limit() {
    a_call_beside_held_connections("ulimit -n 256").await;
}
