//! An identity provider that answers as far as a sign-in needs to begin: never with a token, and with nothing once it is silent.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const DISCOVERY: &str = "/.well-known/openid-configuration";

/// Listens until the process ends.
pub(crate) struct Issuer {
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    url: String,
    seen: Mutex<Seen>,
}

/// The requests so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    is_silent: bool,
    open: usize,
    most_open: usize,
    connections: usize,
    discoveries: usize,
    tokens: usize,
}

impl Issuer {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State { url: url.clone(), seen: Mutex::default() });
        tokio::spawn(listen(listener, state.clone()));
        Ok(Self { url, state })
    }

    /// Accepts connections from now on, and answers nothing.
    pub(crate) fn fall_silent(&self) {
        self.state.note(|seen| seen.is_silent = true);
    }

    pub(crate) fn seen(&self) -> Seen {
        self.state.note(|seen| *seen)
    }
}

async fn listen(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        state.note(|seen| {
            seen.open += 1;
            seen.most_open = seen.most_open.max(seen.open);
            seen.connections += 1;
        });
        let state = state.clone();
        tokio::spawn(async move {
            // However it ends, it is no longer open.
            let _ = attend(stream, &state).await;
            state.note(|seen| seen.open -= 1);
        });
    }
}

/// One request for each connection.
async fn attend(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = String::from_utf8_lossy(&request);
    let path = line.split(' ').nth(1).unwrap_or_default();
    let Some(answer) = state.answer(path) else {
        // Until the client gives up.
        return tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.map(drop);
    };
    let (body, head) = (answer.to_string(), "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json");
    stream.write_all(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await
}

impl State {
    fn note<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// `None` if it keeps the client waiting.
    fn answer(&self, path: &str) -> Option<Value> {
        let seen = self.note(|seen| {
            seen.discoveries += usize::from(path == DISCOVERY);
            seen.tokens += usize::from(path == "/token");
            *seen
        });
        match path {
            _ if seen.is_silent => None,
            DISCOVERY => Some(self.configuration()),
            "/jwks" => Some(json!({ "keys": [] })),
            _ => None,
        }
    }

    fn configuration(&self) -> Value {
        let issuer = &self.url;
        json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { most_open, connections, discoveries, tokens, .. } = self;
        write!(
            f,
            "at the provider connections {connections}, at once {most_open}, discoveries {discoveries}, token requests {tokens}"
        )
    }
}
