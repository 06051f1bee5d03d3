//! The API's edges: what every answer looks like, also to those who do not keep to HTTP's manners.

mod base_path;
mod call_deliveries;
mod errors;
mod event_tokens;
mod examples;
mod follow;
mod keys;
mod lists;
mod live;
mod pasted;
mod recording;
mod secrets;
mod statistics;
mod versions;
mod voices;

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Longer than any answer takes.
const TIMEOUT: Duration = Duration::from_secs(40);

/// Reads an event stream up to a word, or until it ends.
pub(crate) async fn read_until(stream: &mut Response, word: &str) -> String {
    let mut read = String::new();
    let reading = async {
        while !read.contains(word) {
            let Some(bytes) = stream.chunk().await.expect("an open stream") else { break };
            read.push_str(std::str::from_utf8(&bytes).expect("text"));
        }
    };
    tokio::time::timeout(TIMEOUT, reading).await.expect("in time");
    read
}

/// An answer as it came over the wire.
struct RawAnswer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl RawAnswer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// Sends exactly these bytes on a new connection and reads one response.
async fn send_raw(base: &str, request: &[u8]) -> RawAnswer {
    let mut stream = TcpStream::connect(base.strip_prefix("http://").expect("an address")).await.expect("it listens");
    let exchange = async {
        // What was not wanted need not be taken: an answer may come, and the connection close, before all is sent.
        let _ = stream.write_all(request).await;
        read_answer(&mut stream, request.starts_with(b"HEAD ")).await
    };
    tokio::time::timeout(TIMEOUT, exchange).await.expect("an answer in time")
}

async fn read_answer(stream: &mut TcpStream, without_body: bool) -> RawAnswer {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        if let Some(answer) = parse(&bytes, without_body) {
            return answer;
        }
        let read = stream.read(&mut buffer).await.unwrap_or_else(|error| panic!("{error} after {} bytes", bytes.len()));
        assert!(read > 0, "the connection ended after {}", String::from_utf8_lossy(&bytes));
        bytes.extend(&buffer[..read]);
    }
}

/// A whole answer; answers of this API say how long they are.
fn parse(bytes: &[u8], without_body: bool) -> Option<RawAnswer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).expect("text");
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length").map_or(0, |length| length.parse().expect("a number"));
    let body = bytes[end + 4..].to_vec();
    (without_body || body.len() >= length).then_some(RawAnswer { status, headers, body })
}
