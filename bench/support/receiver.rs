//! A webhook endpoint that answers 200 as soon as a delivery has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Listens until the process ends.
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: Arc<AtomicU64>,
}

impl Receiver {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/hook", listener.local_addr()?);
        let received = Arc::new(AtomicU64::new(0));
        tokio::spawn(receive(listener, received.clone()));
        Ok(Self { url, received })
    }

    /// Deliveries so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

async fn receive(listener: TcpListener, received: Arc<AtomicU64>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let received = received.clone();
        tokio::spawn(async move {
            let mut buffer = Vec::with_capacity(8_192);
            loop {
                buffer.clear();
                while !super::is_complete(&buffer) {
                    if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                received.fetch_add(1, Ordering::Relaxed);
                if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.is_err() {
                    return;
                }
            }
        });
    }
}
