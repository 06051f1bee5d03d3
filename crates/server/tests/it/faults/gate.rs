//! A TCP proxy in front of a database server. When shut, it accepts connections and closes them; it can also be slow.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// The proxy. Open at first.
pub(crate) struct Gate {
    address: SocketAddr,
    state: watch::Sender<State>,
    restarts: watch::Sender<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Shut,
    /// Each answer of the server waits this long.
    Slow(Duration),
}

impl Gate {
    /// Creates a proxy for the server that listens on this Unix socket.
    pub(crate) async fn before(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (state, states) = watch::channel(State::Open);
        let restarts = watch::Sender::new(());
        let restarted = restarts.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(through(client, socket.clone(), states.clone(), restarted.subscribe()));
            }
        });
        Self { address, state, restarts }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection, and all new ones.
    pub(crate) fn shut(&self) {
        self.state.send_replace(State::Shut);
    }

    /// Closes every connection; new ones work.
    pub(crate) fn restart(&self) {
        self.restarts.send_replace(());
    }

    /// Delays each answer.
    pub(crate) fn slow_down(&self, by: Duration) {
        self.state.send_replace(State::Slow(by));
    }

    pub(crate) fn open(&self) {
        self.state.send_replace(State::Open);
    }
}

async fn through(
    mut client: TcpStream,
    socket: PathBuf,
    mut state: watch::Receiver<State>,
    mut restarts: watch::Receiver<()>,
) {
    if *state.borrow() == State::Shut {
        // The request is read, so that the client sees a close and not a reset.
        let _ = client.read(&mut [0; 64]).await;
        return;
    }
    // A server that restarts is as good as a gate that is shut.
    let Ok(server) = UnixStream::connect(socket).await else { return };
    let ((asks, answers), (to_client, to_server)) = {
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        ((from_client, from_server), (to_client, to_server))
    };
    let slow = state.clone();
    tokio::select! {
        // The test sees the error at the client that is cut off.
        _ = copy(asks, to_server, || None) => {}
        _ = copy(answers, to_client, || match *slow.borrow() {
            State::Slow(by) => Some(by),
            _ => None,
        }) => {}
        _ = state.wait_for(|state| *state == State::Shut) => {}
        _ = restarts.changed() => {}
    }
}

/// Copies until the end, each piece after the delay that holds then.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    delay: impl Fn() -> Option<Duration>,
) -> std::io::Result<()> {
    let mut piece = [0; 16 * 1024];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return Ok(());
        }
        if let Some(delay) = delay() {
            tokio::time::sleep(delay).await;
        }
        to.write_all(&piece[..length]).await?;
    }
}
