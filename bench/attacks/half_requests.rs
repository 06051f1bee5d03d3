//! Connections that begin a request and stay.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::Target;
use crate::flood::Answers;
use crate::support::{connect_from, loopback, request};
use crate::watch::{Row, Watch};

/// As many as two addresses may have by default.
const CONNECTIONS: usize = 2_000;
const ADDRESSES: usize = 2;
const BODY: usize = 64 * 1024;
/// Longer than the time for a header, and than that for a body.
const HEADER_TIME: Duration = Duration::from_secs(12);
const BODY_TIME: Duration = Duration::from_secs(22);

pub(crate) async fn headers(target: &Target) -> anyhow::Result<Row> {
    hold(target, b"GET /v1/tenant HTTP/1.1\r\nHost: bench\r\nAuthorization: Bea", HEADER_TIME).await
}

pub(crate) async fn bodies(target: &Target) -> anyhow::Result<Row> {
    let (_, key) = target.tenant("bodies").await?;
    let whole = request("POST", "/v1/agents", &key, "", &" ".repeat(BODY));
    hold(target, &whole[..whole.len() - BODY / 2], BODY_TIME).await
}

async fn hold(target: &Target, beginning: &[u8], lasts: Duration) -> anyhow::Result<Row> {
    let (watch, end) = (Watch::begin(&target.node)?, Instant::now() + lasts);
    let mut held = Vec::new();
    for number in 0..CONNECTIONS {
        // None from the bench's own address, so that its own requests have a place.
        let mut stream = connect_from(loopback(1 + number % ADDRESSES), &target.node.address).await?;
        // One that was refused is counted where it is read from.
        let _ = stream.write_all(beginning).await;
        held.push(stream);
    }
    let (mut answers, mut stayed) = (Answers::default(), 0);
    for answer in join_all(held.iter_mut().map(|stream| timeout_at(end, answer(stream)))).await {
        match answer {
            Ok(status) => answers.add(status, 1),
            Err(_) => stayed += 1,
        }
    }
    watch.end(format!("{answers}; still open × {stayed}")).await
}

/// The status, or 0, once the service has closed the connection.
async fn answer(stream: &mut TcpStream) -> u16 {
    let mut answer = Vec::new();
    // A response that arrives before a reset counts too.
    let _ = stream.read_to_end(&mut answer).await;
    let status = answer.get(9..12).and_then(|status| std::str::from_utf8(status).ok());
    status.and_then(|status| status.parse().ok()).unwrap_or(0)
}
