//! A TCP proxy in front of a database server. When shut, it accepts connections and closes them.

use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// The proxy. Open at first.
pub(crate) struct Gate {
    address: SocketAddr,
    open: watch::Sender<bool>,
}

impl Gate {
    /// Creates a proxy for the server that listens on this Unix socket.
    pub(crate) async fn before(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (open, state) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(through(client, socket.clone(), state.clone()));
            }
        });
        Self { address, open }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection, and all new ones.
    pub(crate) fn shut(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }
}

async fn through(mut client: TcpStream, socket: PathBuf, mut open: watch::Receiver<bool>) {
    if !*open.borrow() {
        // The request is read, so that the client sees a close and not a reset.
        let _ = client.read(&mut [0; 64]).await;
        return;
    }
    let mut server = UnixStream::connect(socket).await.expect("the server runs");
    tokio::select! {
        // The test sees the error at the client that is cut off.
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = open.wait_for(|open| !open) => {}
    }
}
