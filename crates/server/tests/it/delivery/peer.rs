//! A receiver that treats its connections as a test requires.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Listens until the test ends.
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Peer {
    /// Passes every connection to `serve`.
    pub(super) async fn start<S, F>(serve: S) -> Self
    where
        S: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_at("127.0.0.1:0".parse().expect("an address"), serve).await
    }

    pub(super) async fn start_at<S, F>(address: SocketAddr, serve: S) -> Self
    where
        S: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream));
            }
        });
        Self { address, connections }
    }

    /// Reads every request and responds with `head`, without a body.
    pub(super) async fn answering(head: &'static str) -> Self {
        Self::start(move |mut stream| async move {
            if read(&mut stream).await.is_some() {
                let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                let _gone = stream.write_all(answer.as_bytes()).await;
            }
        })
        .await
    }

    /// Accepts connections and never responds.
    pub(super) async fn silent() -> Self {
        Self::start(|mut stream| async move { while stream.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {} })
            .await
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns the number of connections so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads one request; returns `None` if the connection ends first.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length: usize = head.split("content-length: ").nth(1)?.split("\r\n").next()?.parse().ok()?;
            if bytes.len() >= end + 4 + length {
                return Some(Request { head, body: bytes.split_off(end + 4) });
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

impl Request {
    /// Returns a header by its lower-case name.
    pub(super) fn header(&self, name: &str) -> &str {
        let lines = self.head.split("\r\n").filter_map(|line| line.split_once(": "));
        lines.filter(|(given, _)| *given == name).map(|(_, value)| value).next().unwrap_or_default()
    }
}
