//! A pooler that lends its sessions for each transaction, in turns, like PgBouncer.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// What a pooler lends, and what it keeps of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A session for each statement; transactions are refused.
    Statement,
    /// A session for each transaction, with the prepared statements of all connections.
    Transaction,
    /// The same, with the names of prepared statements made unique to each connection, as PgBouncer does since 1.21.
    TransactionWithStatements,
    /// The same, but all connections share what a session has prepared for the same text, also as PgBouncer does.
    SharedStatements,
    /// As `TransactionWithStatements`, before a server that refuses its first clients, because it is starting.
    Starting,
    /// No session is left for anybody.
    Full,
}

/// The clients that a server refuses while it is starting.
const WHILE_STARTING: usize = 3;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The session with PostgreSQL, and how it greets a client.
struct Session {
    stream: Box<dyn Stream>,
    greeting: Vec<u8>,
    /// The numbers of the shared statements that it has prepared.
    prepared: HashSet<usize>,
}

/// A message of PostgreSQL's protocol, version 3.
struct Message {
    kind: u8,
    body: Vec<u8>,
}

pub(super) struct Pooler {
    mode: Mode,
    server: PgConnectOptions,
    /// Those with PostgreSQL, once a client has come.
    sessions: Vec<Arc<Mutex<Option<Session>>>>,
    /// The number of transactions so far.
    lent: AtomicUsize,
    /// The numbers of shared statements, by text and types of parameters.
    shared: std::sync::Mutex<HashMap<Vec<u8>, usize>>,
}

/// The answer to the message that prepares a statement.
const PARSE_COMPLETE: [u8; 5] = [b'1', 0, 0, 0, 4];

impl Pooler {
    /// Starts a pooler with one session before the database at this address; returns its own address.
    pub(super) async fn start(direct: &str, mode: Mode) -> String {
        Self::start_with(direct, mode, 1).await
    }

    /// The same with several sessions.
    pub(super) async fn start_with(direct: &str, mode: Mode, sessions: usize) -> String {
        let server: PgConnectOptions = direct.parse().expect("an address");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (user, database) = (server.get_username(), server.get_database().expect("a database"));
        let url = format!("postgres://{user}@{address}/{database}?sslmode=disable");
        let pooler = Arc::new(Self {
            mode,
            server,
            sessions: (0..sessions).map(|_| Arc::default()).collect(),
            lent: AtomicUsize::new(0),
            shared: std::sync::Mutex::default(),
        });
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((client, _)) = listener.accept().await else { return };
                let pooler = pooler.clone();
                // A client that leaves ends its task.
                tokio::spawn(async move { pooler.serve(client, number).await.ok() });
            }
        });
        url
    }

    async fn serve(&self, mut client: TcpStream, number: usize) -> std::io::Result<()> {
        let length = client.read_u32().await?;
        let mut start = vec![0; length as usize - 4];
        client.read_exact(&mut start).await?;
        match self.mode {
            Mode::Full => return client.write_all(&error("FATAL", "XX000", "max clients reached")).await,
            Mode::Starting if number < WHILE_STARTING => {
                return client.write_all(&error("FATAL", "57P03", "the database system is starting up")).await;
            }
            _ => {}
        }
        for session in &self.sessions {
            self.greet(session, &start).await?;
        }
        let greeting = self.sessions[0].lock().await.as_ref().expect("greeted").greeting.clone();
        client.write_all(&greeting).await?;
        let mut lent: Option<OwnedMutexGuard<Option<Session>>> = None;
        let mut names = HashMap::new();
        loop {
            let mut message = Message::read(&mut client).await?;
            if message.kind == b'X' {
                return Ok(());
            }
            if self.mode == Mode::Statement && message.kind == b'Q' && message.body.starts_with(b"BEGIN") {
                let refused = error("ERROR", "08P01", "transaction blocks not allowed in statement pooling mode");
                client.write_all(&[&refused[..], b"Z", &5_u32.to_be_bytes(), b"I"].concat()).await?;
                continue;
            }
            if matches!(self.mode, Mode::TransactionWithStatements | Mode::Starting) {
                message.rename_statement(number);
            }
            let mut guard = match lent.take() {
                Some(guard) => guard,
                None => {
                    let turn = self.lent.fetch_add(1, Ordering::Relaxed) % self.sessions.len();
                    self.sessions[turn].clone().lock_owned().await
                }
            };
            // One that has ended is opened again for the next client.
            let Some(session) = guard.as_mut() else { return Ok(()) };
            if self.mode == Mode::SharedStatements && self.has_prepared(session, &mut message, &mut names) {
                client.write_all(&PARSE_COMPLETE).await?;
                lent = Some(guard);
                continue;
            }
            message.write(&mut session.stream).await?;
            // Query and Sync end with ReadyForQuery.
            let mut ends = false;
            if matches!(message.kind, b'Q' | b'S') {
                let answered = forward(&mut session.stream, &mut client).await;
                match answered {
                    Ok(state) => ends = state == b'I',
                    Err(error) => {
                        *guard = None;
                        return Err(error);
                    }
                }
            }
            if !ends {
                lent = Some(guard);
            }
        }
    }

    /// Opens a session as a client asked for it, unless it is open.
    async fn greet(&self, session: &Mutex<Option<Session>>, start: &[u8]) -> std::io::Result<()> {
        let mut session = session.lock().await;
        if session.is_some() {
            return Ok(());
        }
        let mut stream: Box<dyn Stream> = match self.server.get_socket() {
            Some(folder) => {
                Box::new(UnixStream::connect(folder.join(format!(".s.PGSQL.{}", self.server.get_port()))).await?)
            }
            None => Box::new(TcpStream::connect((self.server.get_host(), self.server.get_port())).await?),
        };
        let length = u32::try_from(start.len() + 4).expect("short");
        stream.write_all(&[&length.to_be_bytes(), start].concat()).await?;
        let mut greeting = Vec::new();
        loop {
            let message = Message::read(&mut stream).await?;
            let asks = message.kind == b'R' && message.body != 0_u32.to_be_bytes();
            assert!(!asks, "the server for tests must trust its clients, as that of ci/with-postgres.sh does");
            message.write(&mut greeting).await?;
            if message.kind == b'Z' {
                break;
            }
        }
        *session = Some(Session { stream, greeting, prepared: HashSet::new() });
        Ok(())
    }

    /// Replaces a client's name of a statement by the shared one. Returns whether the message would prepare what the session has prepared.
    fn has_prepared(&self, session: &mut Session, message: &mut Message, names: &mut HashMap<Vec<u8>, usize>) -> bool {
        let Some(at) = message.statement_at() else { return false };
        let name: Vec<u8> = message.body[at..].iter().copied().take_while(|byte| *byte != 0).collect();
        let end = at + name.len();
        if message.kind == b'P' && !name.is_empty() {
            let mut shared = self.shared.lock().expect("no panic");
            let next = shared.len();
            let number = *shared.entry(message.body[end..].to_vec()).or_insert(next);
            names.insert(name.clone(), number);
        }
        let Some(number) = names.get(&name).copied() else { return false };
        message.body.splice(at..end, format!("shared_{number}").into_bytes());
        message.kind == b'P' && !session.prepared.insert(number)
    }
}

/// Forwards the server's messages until it is ready; returns the state of its transaction, which is `I` outside of one.
async fn forward(server: &mut Box<dyn Stream>, client: &mut TcpStream) -> std::io::Result<u8> {
    loop {
        let message = Message::read(server).await?;
        message.write(client).await?;
        if message.kind == b'Z' {
            return Ok(message.body[0]);
        }
    }
}

/// An error with these fields.
fn error(severity: &str, state: &str, message: &str) -> Vec<u8> {
    let fields = format!("S{severity}\0V{severity}\0C{state}\0M{message}\0\0").into_bytes();
    let length = u32::try_from(fields.len() + 4).expect("short").to_be_bytes();
    [&b"E"[..], &length, &fields].concat()
}

impl Message {
    async fn read(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Self> {
        let kind = stream.read_u8().await?;
        let length = stream.read_u32().await?;
        let mut body = vec![0; length as usize - 4];
        stream.read_exact(&mut body).await?;
        Ok(Self { kind, body })
    }

    async fn write(&self, stream: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        let length = u32::try_from(self.body.len() + 4).expect("short");
        stream.write_all(&[&[self.kind], &length.to_be_bytes()[..], &self.body].concat()).await?;
        stream.flush().await
    }

    /// Where the name of a statement begins, in messages with one.
    fn statement_at(&self) -> Option<usize> {
        match (self.kind, self.body.first()) {
            (b'P', _) => Some(0),
            // The portal comes first.
            (b'B', _) => Some(self.body.iter().position(|byte| *byte == 0).expect("a string") + 1),
            (b'D' | b'C', Some(b'S')) => Some(1),
            _ => None,
        }
    }

    /// Gives a named statement a name that no other connection uses.
    fn rename_statement(&mut self, connection: usize) {
        let Some(at) = self.statement_at() else { return };
        if self.body[at] != 0 {
            self.body.splice(at..at, format!("c{connection}_").into_bytes());
        }
    }
}
