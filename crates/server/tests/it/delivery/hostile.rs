//! Receivers that drip, flood, hang up, redirect and violate the protocol.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, interval};

use super::peer::{Peer, read};
use super::*;
use crate::harness::closed_port;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n";

/// Sends `head` and then `piece` repeatedly, as fast as possible; counts the bytes.
async fn flood(mut stream: TcpStream, head: &[u8], piece: &[u8], sent: Arc<AtomicUsize>) {
    let _asked = read(&mut stream).await;
    let mut next = head;
    while stream.write_all(next).await.is_ok() {
        sent.fetch_add(next.len(), Ordering::SeqCst);
        next = piece;
    }
}

/// Sends `head` at once and then `x` repeatedly, ten per second.
async fn drip(mut stream: TcpStream, head: &[u8]) {
    let _asked = read(&mut stream).await;
    let mut bytes = head.to_vec();
    let mut ticks = interval(Duration::from_millis(100));
    while stream.write_all(&bytes).await.is_ok() {
        bytes = b"x".to_vec();
        ticks.tick().await;
    }
}

/// Sends `answer` and hangs up.
async fn answers(answer: &'static [u8]) -> Peer {
    Peer::start(move |mut stream| async move {
        let _asked = read(&mut stream).await;
        let _gone = stream.write_all(answer).await;
    })
    .await
}

/// Checks the outcome of one attempt: the delivery's state, the status, and part of the error.
fn check(name: &str, attempt: &Value, state: &str, status: Option<u16>, error: &str) {
    assert_eq!((&attempt["state"], &attempt["status"]), (&json!(state), &json!(status)), "{name}: {attempt}");
    let words = attempt["error"].as_str().unwrap_or_default();
    assert!(words.contains(error) && words.is_empty() == error.is_empty(), "{name}: {attempt}");
    assert!(attempt["duration_ms"].is_u64(), "{name}: {attempt}");
}

#[tokio::test]
async fn an_attempt_ends_in_time_whatever_the_receiver_does_and_what_it_is_decides_at_the_headers() {
    let service = impatient().await;
    let try_once = async |url: &str| Endpoint::register(&service.client, url).await.try_once().await;
    let timeout = "no response within 1 s";

    let peer = Peer::start(|stream| drip(stream, b"HTTP/1.1 200 O")).await;
    check("dripping headers", &try_once(&peer.url()).await, "pending", None, timeout);
    let peer = Peer::start(|stream| drip(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")).await;
    check("dripping body", &try_once(&peer.url()).await, "succeeded", Some(200), "");
    let peer = Peer::start(|stream| drip(stream, b"HTTP/1.1 500 No\r\ncontent-length: 100000\r\n\r\n")).await;
    check("dripping error", &try_once(&peer.url()).await, "pending", Some(500), "the receiver responded with 500");
    check("silence", &try_once(&Peer::silent().await.url()).await, "pending", None, timeout);
    let silent = Peer::silent().await;
    check("no handshake", &try_once(&format!("https://{}/", silent.address)).await, "pending", None, timeout);
}

#[tokio::test]
async fn an_attempt_that_the_receiver_breaks_off_ends_by_itself() {
    let service = patient().await;
    let try_once = async |url: &str| Endpoint::register(&service.client, url).await.try_once().await;
    let refused = "connection failed";
    let (_socket, closed) = closed_port();
    let closed = format!("http://{closed}/");
    check("nobody there", &try_once(&closed).await, "pending", None, refused);
    let broken = "could not read the response";
    for (name, answer) in [
        ("hanging up", b"".as_slice()),
        ("hanging up in the headers", b"HTTP/1.1 200 OK\r\ncontent-"),
        ("not HTTP", b"220 mail.example.com ESMTP\r\n"),
        ("HTTP of another kind", b"HTTP/9.9 200 OK\r\n\r\n"),
        ("no status", b"HTTP/1.1 abc\r\n\r\n"),
        ("two lengths", b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"),
    ] {
        check(name, &try_once(&answers(answer).await.url()).await, "pending", None, broken);
    }
    let cut = answers(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nonly this").await;
    let attempt = try_once(&cut.url()).await;
    check("a body cut short", &attempt, "succeeded", Some(200), "");
    assert_eq!(attempt["response_excerpt"], "only this");
    let upgrade = answers(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n").await;
    check("another protocol", &try_once(&upgrade.url()).await, "pending", Some(101), "the receiver responded with 101");
}

#[tokio::test]
async fn gigabytes_are_not_read() {
    let service = patient().await;
    let line = [b"x-filler: ".as_slice(), &[b'x'; 4_000], b"\r\n"].concat();
    for (name, head, piece, state, status, error) in [
        ("a body without end", [OK, b"\r\n"].concat(), vec![b'x'; 65_536], "succeeded", Some(200), ""),
        ("headers without end", OK.to_vec(), line, "pending", None, "could not read the response"),
        (
            "one header without end",
            [OK, b"x: "].concat(),
            vec![b'x'; 65_536],
            "pending",
            None,
            "could not read the response",
        ),
    ] {
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = sent.clone();
        let peer = Peer::start(move |stream| {
            let (head, piece, counted) = (head.clone(), piece.clone(), counted.clone());
            async move { flood(stream, &head, &piece, counted).await }
        })
        .await;
        let start = Instant::now();
        let attempt = Endpoint::register(&service.client, &peer.url()).await.try_once().await;
        check(name, &attempt, state, status, error);
        assert!(attempt["response_excerpt"].as_str().unwrap_or_default().len() <= 1024, "{name}");
        // The kernel buffers a few megabytes between two sockets; a second of flood would be gigabytes.
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < 32 * 1024 * 1024, "{name}: {sent} bytes in {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn non_2xx_status_is_a_failure_and_redirects_are_not_followed() {
    let service = patient().await;
    let elsewhere = Peer::answering("200 OK").await;
    for status in ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent"] {
        let head = format!("{status}\r\nlocation: {}", elsewhere.url());
        let peer = Peer::answering(head.leak()).await;
        let attempt = Endpoint::register(&service.client, &peer.url()).await.try_once().await;
        let code = status[..3].parse().expect("a status");
        let error = format!("the receiver responded with {code}, and redirects are not followed");
        check(status, &attempt, "pending", Some(code), &error);
        assert_eq!(peer.connections(), 1);
    }
    assert_eq!(elsewhere.connections(), 0);
    for (head, code, state) in [
        ("200 OK", 200, "succeeded"),
        ("204 No Content", 204, "succeeded"),
        ("299 Fine", 299, "succeeded"),
        ("304 Not Modified", 304, "pending"),
        ("404 Not Found", 404, "pending"),
        ("410 Gone", 410, "pending"),
        ("503 Busy", 503, "pending"),
    ] {
        let peer = Peer::answering(head).await;
        let attempt = Endpoint::register(&service.client, &peer.url()).await.try_once().await;
        assert_eq!((&attempt["status"], &attempt["state"]), (&json!(code), &json!(state)), "{attempt}");
    }
}
