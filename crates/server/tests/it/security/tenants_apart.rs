//! Connections kept for reuse belong to one tenant, for every kind of request.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{Client, TIMEOUT, TestService, text};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
const TENANTS: [&str; 2] = ["first-tenant", "second-tenant"];

/// The data received on each connection.
type Brought = Arc<Mutex<Vec<String>>>;

/// Starts a server that many customers use: it answers every request and keeps its connections open.
async fn server() -> (SocketAddr, Brought) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, brought) = (listener.local_addr().expect("bound"), Brought::default());
    let noted = brought.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = {
                let mut noted = noted.lock().expect("whole");
                noted.push(String::new());
                noted.len() - 1
            };
            tokio::spawn(connection(stream, number, noted.clone()));
        }
    });
    (address, brought)
}

async fn connection(mut stream: TcpStream, number: usize, noted: Brought) {
    let (mut piece, mut pending) = ([0; 16 * 1024], String::new());
    while let Ok(read @ 1..) = stream.read(&mut piece).await {
        let text = String::from_utf8_lossy(&piece[..read]).into_owned();
        noted.lock().expect("whole")[number].push_str(&text);
        pending.push_str(&text);
        while let Some(end) = whole_request(&pending) {
            pending.drain(..end);
            if stream.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}

/// Returns the end of the first request, once it is complete.
fn whole_request(text: &str) -> Option<usize> {
    let (head, _) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let end = head.len() + 4 + length.unwrap_or(0_usize);
    (text.len() >= end).then_some(end)
}

/// Makes every feature of a tenant connect to a server at an address that customers choose, and waits until all have.
async fn use_it(client: &Client, name: &str, address: SocketAddr, brought: &Brought) {
    let base_url = format!("http://{address}/{name}");
    for (provider, credentials) in [("http", json!({ "x-key": "k" })), ("openai", json!({ "api_key": "k" }))] {
        let connection = json!({
            "name": provider, "provider": provider, "settings": { "base_url": base_url }, "credentials": credentials,
        });
        let connection = client.create("/v1/connections", connection).await;
        client.post(&format!("/v1/connections/{}/test", text(&connection["id"])), json!({})).await;
    }
    client.create("/v1/webhooks", json!({ "url": format!("{base_url}/hook") })).await;
    let agent = client.scripted_agent(json!({})).await;
    let call = client.place(&agent, "+12025550101").await;
    client.wait_for_end(&call).await;
    let hook = format!("POST /{name}/hook");
    let delivered = async {
        while !brought.lock().expect("whole").iter().any(|bytes| bytes.contains(&hook) && bytes.contains("call.failed"))
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, delivered).await.expect("the last event is delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_providers_and_webhooks_of_two_tenants_share_no_connection() {
    let service = TestService::start_allowing("127.0.0.0/8,http").await;
    let (address, brought) = server().await;
    use_it(&service.client, TENANTS[0], address, &brought).await;
    use_it(&service.another_tenant().await, TENANTS[1], address, &brought).await;
    let brought = brought.lock().expect("whole").clone();
    for bytes in &brought {
        let of: Vec<&str> = TENANTS.into_iter().filter(|name| bytes.contains(name)).collect();
        assert!(of.len() <= 1, "one connection carried requests of two tenants: {bytes}");
    }
    for name in TENANTS {
        let reused = |bytes: &&String| bytes.matches(&format!(" /{name}")).count() > 1;
        assert!(brought.iter().any(|bytes| reused(&bytes)), "connections of {name} are kept, or this proves nothing");
    }
    service.stop().await;
}
