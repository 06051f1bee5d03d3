//! A tenant's text to speech that sends audio without end while phones ring.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::Target;
use crate::support::Connection;
use crate::watch::{Row, Watch};

const CALLS: usize = 20;
/// Rings until the ring timeout.
const RINGS: &str = "+12025550102";
const RING_SECONDS: u64 = 10;
const LASTS: Duration = Duration::from_secs(RING_SECONDS + 5);
/// Audio in one message, in bytes: eight seconds.
const SOUND: usize = 64 * 1024;

pub(crate) async fn endless(target: &Target) -> anyhow::Result<Row> {
    let (mut api, key) = target.tenant("voice").await?;
    let voice = Voice::start().await?;
    let agent = api.scripted_agent(&key).await?;
    let connection = json!({
        "name": "voice", "provider": "cartesia", "settings": { "base_url": voice.url }, "credentials": { "api_key": "k" },
    });
    let connection = api.json("POST", "/v1/connections", &key, &connection).await?;
    let speaks = json!({ "tts": { "connection_id": connection["id"] } });
    api.json("PATCH", &format!("/v1/agents/{agent}"), &key, &speaks).await?;
    let call = json!({ "agent_id": agent, "to": RINGS, "ring_timeout_seconds": RING_SECONDS });
    let watch = Watch::begin(&target.node)?;
    for _ in 0..CALLS {
        api.json("POST", "/v1/calls", &key, &call).await?;
    }
    tokio::time::sleep(LASTS).await;
    let (sent, sockets) = (voice.sent.load(Ordering::Relaxed) >> 20, voice.sockets.load(Ordering::Relaxed));
    let ends = ends(&mut api, &key).await?;
    watch.end(format!("took {sent} MiB on {sockets} sockets; calls {ends}")).await
}

/// Returns the number of calls by status and error.
async fn ends(api: &mut Connection, key: &str) -> anyhow::Result<String> {
    let list = api.json("GET", "/v1/calls?limit=100", key, &json!({})).await?;
    let mut ends = BTreeMap::<_, usize>::new();
    for call in list["data"].as_array().context("a list")? {
        let word = |field: &str| call[field].as_str().unwrap_or("none").to_owned();
        *ends.entry(format!("{}, {}", word("status"), word("error_code"))).or_default() += 1;
    }
    Ok(ends.into_iter().map(|(end, calls)| format!("{end} × {calls}")).collect::<Vec<_>>().join("; "))
}

/// Speaks Cartesia's protocol until the process ends.
struct Voice {
    url: String,
    /// Bytes of messages that were taken.
    sent: Arc<AtomicU64>,
    sockets: Arc<AtomicU64>,
}

impl Voice {
    async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let voice = Self { url, sent: Arc::default(), sockets: Arc::default() };
        let (sent, sockets) = (voice.sent.clone(), voice.sockets.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                sockets.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(speak(stream, sent.clone()));
            }
        });
        Ok(voice)
    }
}

/// Sends audio for each request, in turn, until the service has closed the connection.
async fn speak(stream: TcpStream, sent: Arc<AtomicU64>) -> Option<()> {
    let mut socket = tokio_tungstenite::accept_async(stream).await.ok()?;
    let mut chunks = Vec::new();
    loop {
        take_requests(&mut socket, &mut chunks).await?;
        for chunk in &chunks {
            socket.send(Message::Text(chunk.clone())).await.ok()?;
            sent.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        }
    }
}

/// Those that have come; waits for the first. Cancelling is not listened to.
async fn take_requests(socket: &mut WebSocketStream<TcpStream>, chunks: &mut Vec<Utf8Bytes>) -> Option<()> {
    loop {
        let message = match chunks.is_empty() {
            true => socket.next().await,
            false => match socket.next().now_or_never() {
                Some(message) => message,
                None => return Some(()),
            },
        };
        let Message::Text(text) = message?.ok()? else { continue };
        let request: Value = serde_json::from_str(&text).ok()?;
        if request["transcript"].is_string() {
            let chunk =
                json!({ "type": "chunk", "context_id": request["context_id"], "data": STANDARD.encode([0x7f; SOUND]) });
            chunks.push(chunk.to_string().into());
        }
    }
}
