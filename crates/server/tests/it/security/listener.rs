//! Clients that hold connections without using them. The timeouts are those of the service, shortened.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use switchhook::config::Config;
use switchhook::listener::{Bounds, Timeouts};
use switchhook::webhooks::receiver::Receiver;
use switchhook_runtime::clock::Clock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{TIMEOUT, TestService};

const SHORT: Duration = Duration::from_millis(300);
const TIMEOUTS: Timeouts = Timeouts { header: SHORT, body: SHORT, idle: SHORT, write: SHORT };
/// Longer than a test. One of them is shortened where a client that is not slow must not be taken for one that is.
const PATIENT: Timeouts = Timeouts { header: TIMEOUT, body: TIMEOUT, idle: TIMEOUT, write: TIMEOUT };
const REQUEST: &[u8] = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
/// A number that answers and stays silent until the call is hung up.
const HOLDS: &str = "+12025550109";

fn impatient(config: &mut Config) {
    config.connection_timeouts = TIMEOUTS;
}

/// The ports that the service can open: the API's and the one for webhooks.
struct Ports {
    service: TestService,
    receiver: Receiver,
}

impl Ports {
    async fn open(timeouts: Timeouts) -> Self {
        let change = |config: &mut Config| config.connection_timeouts = timeouts;
        let service = TestService::start_as(Clock::system(), change).await;
        let bounds = Bounds { timeouts, ..Bounds::default() };
        let receiver = Receiver::start_within(([127, 0, 0, 1], 0).into(), bounds).await.expect("a free port");
        Self { service, receiver }
    }

    fn addresses(&self) -> [SocketAddr; 2] {
        [address(&self.service.client.base), address(&self.receiver.url())]
    }
}

fn address(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address")
}

async fn connect(to: SocketAddr) -> TcpStream {
    TcpStream::connect(to).await.expect("it listens")
}

/// Reads until the server closes the connection, which it must do on its own initiative.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    // Closing a connection with unread data resets it.
    let _ = timeout(TIMEOUT, stream.read_to_end(&mut read)).await.expect("it is closed in time");
    String::from_utf8_lossy(&read).into_owned()
}

/// Reads until `word` has arrived.
async fn read_until(stream: &mut TcpStream, word: &str) -> String {
    let mut read = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&read).contains(word) {
            assert!(stream.read_buf(&mut read).await.expect("the connection lives") > 0, "it has not ended");
        }
    };
    timeout(TIMEOUT, reading).await.expect("in time");
    String::from_utf8_lossy(&read).into_owned()
}

#[tokio::test]
async fn a_connection_without_a_whole_header_is_closed() {
    let ports = Ports::open(TIMEOUTS).await;
    for port in ports.addresses() {
        for beginning in [&b""[..], b"GET / HTTP/1.1\r\nHost: x\r\n"] {
            let mut stream = connect(port).await;
            stream.write_all(beginning).await.expect("sent");
            assert_eq!(read_to_end(&mut stream).await, "", "{port}");
        }
    }
    ports.service.stop().await;
}

#[tokio::test]
async fn a_header_that_comes_byte_by_byte_gains_no_time() {
    let ports = Ports::open(TIMEOUTS).await;
    for port in ports.addresses() {
        let stream = connect(port).await;
        let (mut reader, mut writer) = stream.into_split();
        let trickle = tokio::spawn(async move {
            writer.write_all(b"GET / HTTP/1.1\r\n").await?;
            loop {
                writer.write_all(b"x: y\r\n").await?;
                // The pace of the attack.
                tokio::time::sleep(SHORT / 6).await;
            }
            #[expect(unreachable_code, reason = "says what fails")]
            Ok::<(), std::io::Error>(())
        });
        let mut read = Vec::new();
        let _ = timeout(TIMEOUT, reader.read_to_end(&mut read)).await.expect("it is closed in time");
        assert_eq!(String::from_utf8_lossy(&read), "", "more than a hundred headers would be a 431");
        trickle.abort();
    }
    ports.service.stop().await;
}

#[tokio::test]
async fn half_a_body_is_answered_408_and_the_connection_closed() {
    let ports = Ports::open(Timeouts { body: SHORT, ..PATIENT }).await;
    let key = &ports.service.client.key;
    for port in ports.addresses() {
        let mut stream = connect(port).await;
        let header = format!(
            "POST /v1/agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
             Content-Length: 100\r\n\r\n{{\"name\":"
        );
        stream.write_all(header.as_bytes()).await.expect("sent");
        let answer = read_to_end(&mut stream).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(matches!(status, "408" | "400"), "{port}: {answer}");
        if port == address(&ports.service.client.base) {
            assert!(answer.contains(r#""code":"body_timeout""#), "{answer}");
        }
    }
    ports.service.stop().await;
}

#[tokio::test]
async fn a_response_before_the_end_of_a_body_reaches_clients_that_send_all_of_it() {
    let service = TestService::start().await;
    let body = vec![b' '; 12 * 1024 * 1024];
    let mut stream = connect(address(&service.client.base)).await;
    let header = format!("POST /v1/calls HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(header.as_bytes()).await.expect("sent");
    let sent = timeout(TIMEOUT, stream.write_all(&body)).await.expect("in time");
    sent.expect("the connection is not reset");
    let response = read_to_end(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
    service.stop().await;
}

#[tokio::test]
async fn a_client_that_takes_no_answers_is_cut_off() {
    let service = TestService::start_as(Clock::system(), impatient).await;
    let mut stream = connect(address(&service.client.base)).await;
    // Once the buffers in between are full, the service no longer reads either, and only its closing ends this.
    let asking = async { while stream.write_all(REQUEST).await.is_ok() {} };
    timeout(TIMEOUT, asking).await.expect("it is closed in time");
    service.stop().await;
}

#[tokio::test]
async fn a_connection_serves_one_request_after_another() {
    let ports = Ports::open(PATIENT).await;
    for port in ports.addresses() {
        let mut stream = connect(port).await;
        for _ in 0..2 {
            ask_for_nothing(&mut stream).await;
        }
    }
    ports.service.stop().await;
}

#[tokio::test]
async fn a_connection_without_another_request_is_closed_after_a_while() {
    let ports = Ports::open(Timeouts { idle: SHORT, ..PATIENT }).await;
    for port in ports.addresses() {
        let mut stream = connect(port).await;
        ask_for_nothing(&mut stream).await;
        read_to_end(&mut stream).await;
    }
    ports.service.stop().await;
}

/// Requests an address where there is nothing, and reads up to the beginning of the response.
async fn ask_for_nothing(stream: &mut TcpStream) {
    stream.write_all(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("sent");
    read_until(stream, "HTTP/1.1 ").await;
}

#[tokio::test]
async fn silent_event_stream_is_not_cut_off() {
    let service = TestService::start_as(Clock::system(), impatient).await;
    let agent = service.client.scripted_agent(json!({})).await;
    let call = service.client.place(&agent, HOLDS).await;
    let mut stream = connect(address(&service.client.base)).await;
    let request = format!(
        "GET /v1/calls/{call}/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\r\n",
        service.client.key
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    read_until(&mut stream, "event: call.in_progress").await;
    // Longer than any of the timeouts.
    tokio::time::sleep(SHORT * 3).await;
    service.client.post(&format!("/v1/calls/{call}/hangup"), json!({})).await;
    read_until(&mut stream, "event: call.completed").await;
    service.stop().await;
}

#[tokio::test]
async fn too_many_connections_of_an_address_are_closed_at_once_and_counted() {
    let service = TestService::start_as(Clock::system(), |config| config.max_connections_per_address = 3).await;
    let port = address(&service.client.base);
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(port).await;
        stream.write_all(REQUEST).await.expect("sent");
        read_until(&mut stream, "HTTP/1.1 200").await;
        held.push(stream);
    }
    assert_eq!(read_to_end(&mut connect(port).await).await, "");

    // Open connections continue, and a released place can be taken.
    let mut one = held.pop().expect("three");
    one.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.expect("sent");
    let metrics = read_to_end(&mut one).await;
    assert!(metrics.contains(r#"switchhook_connections_refused_total{bound="address"} 1"#), "{metrics}");
    let again = async {
        while service.client.request(Method::GET, "/v1/tenant").send().await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, again).await.expect("its place is free");
    service.stop().await;
}

#[tokio::test]
async fn cookies_of_other_applications_on_the_domain_may_be_large() {
    let service = TestService::start().await;
    let cookies = format!("theirs={}", "x".repeat(48 * 1024));
    let client = reqwest::Client::new();
    let request = client.get(format!("{}/healthz", service.client.base)).header("cookie", cookies);
    let status = request.send().await.expect("a response").status();
    assert!(status.is_success(), "{status}");
    service.stop().await;
}

#[tokio::test]
async fn a_header_that_is_too_large_or_has_too_many_lines_is_a_431() {
    let ports = Ports::open(PATIENT).await;
    let large = format!("X-Large: {}\r\n", "x".repeat(97 * 1024));
    let many = "X-Many: x\r\n".repeat(101);
    for port in ports.addresses() {
        for headers in [&large, &many] {
            let mut stream = connect(port).await;
            // The response may arrive, and the connection close, before everything is sent.
            let _ = stream.write_all(format!("GET / HTTP/1.1\r\nHost: x\r\n{headers}\r\n").as_bytes()).await;
            let answer = read_to_end(&mut stream).await;
            assert!(answer.starts_with("HTTP/1.1 431 "), "{port}: {answer}");
        }
    }
    ports.service.stop().await;
}
