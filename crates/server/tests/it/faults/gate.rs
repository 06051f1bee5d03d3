//! A TCP proxy in front of a database server. When shut, it accepts connections and closes them; it can also be slow, and lose an answer.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// The proxy. Open at first.
pub(crate) struct Gate {
    address: SocketAddr,
    state: watch::Sender<State>,
    restarts: watch::Sender<()>,
    to_lose: ToLose,
}

/// The transaction whose commit loses its answer: the first one in which the server says these bytes.
type ToLose = Arc<Mutex<Option<Vec<u8>>>>;

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
        let (restarted, to_lose) = (restarts.clone(), ToLose::default());
        let losing = to_lose.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (states, restarted) = (states.clone(), restarted.subscribe());
                tokio::spawn(through(client, socket.clone(), states, restarted, losing.clone()));
            }
        });
        Self { address, state, restarts, to_lose }
    }

    /// Commits the next transaction in which the server says `bytes`, but closes the connection instead of answering.
    pub(crate) fn lose_commit_of(&self, bytes: &[u8]) {
        *self.to_lose.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes.to_vec());
    }

    /// Returns whether that has happened.
    pub(crate) fn has_lost(&self) -> bool {
        self.to_lose.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Returns the URL of a database of the server through the proxy; `database` is its URL without it.
    pub(crate) fn url_of(&self, database: &str) -> String {
        let (_, name) = database.split_once("@localhost/").expect("an address of the harness");
        let name = name.split('?').next().unwrap_or_default();
        format!("postgres://postgres@{}/{name}?sslmode=disable", self.address)
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
    to_lose: ToLose,
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
    let transaction = Mutex::new(Transaction::Other);
    tokio::select! {
        // The test sees the error at the client that is cut off.
        _ = copy(asks, to_server, |asked| {
            transaction.lock().unwrap_or_else(PoisonError::into_inner).asks(asked);
            Then::Pass
        }) => {}
        _ = copy(answers, to_client, |answer| {
            let mut transaction = transaction.lock().unwrap_or_else(PoisonError::into_inner);
            match *slow.borrow() {
                _ if transaction.loses(answer, &to_lose) => Then::Close,
                State::Slow(by) => Then::Wait(by),
                _ => Then::Pass,
            }
        }) => {}
        _ = state.wait_for(|state| *state == State::Shut) => {}
        _ = restarts.changed() => {}
    }
}

/// The transaction of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transaction {
    Other,
    /// The one whose commit loses its answer.
    Marked,
    /// Its commit was asked for.
    Committing,
}

impl Transaction {
    fn asks(&mut self, asked: &[u8]) {
        if contains(asked, b"BEGIN") {
            *self = Self::Other;
        } else if *self == Self::Marked && contains(asked, b"COMMIT") {
            *self = Self::Committing;
        }
    }

    /// Returns whether this answer is the one to lose.
    fn loses(&mut self, answer: &[u8], to_lose: &ToLose) -> bool {
        let mut wanted = to_lose.lock().unwrap_or_else(PoisonError::into_inner);
        if *self == Self::Committing && wanted.take().is_some() {
            return true;
        }
        if wanted.as_ref().is_some_and(|bytes| contains(answer, bytes)) {
            *self = Self::Marked;
        }
        false
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// What happens to a piece of data.
enum Then {
    Pass,
    Wait(Duration),
    Close,
}

/// Copies until the end, and decides about each piece.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    decide: impl Fn(&[u8]) -> Then,
) -> std::io::Result<()> {
    let mut piece = [0; 16 * 1024];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return Ok(());
        }
        match decide(&piece[..length]) {
            Then::Pass => {}
            // What is simulated: a slow server.
            Then::Wait(delay) => tokio::time::sleep(delay).await,
            Then::Close => return Ok(()),
        }
        to.write_all(&piece[..length]).await?;
    }
}
