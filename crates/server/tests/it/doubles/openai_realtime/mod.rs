//! OpenAI's Realtime interface, speech to speech, in the event names that are generally available.
//!
//! Its model speaks in tones, four times as fast as it is heard, and says what the test wants. Its STT understands the simulated
//! caller's recordings; on a silent line it hears what the test wants.

mod hearing;
mod session;
mod speaking;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use self::session::Session;
use super::complaints::{Complaints, Guard};

pub(crate) const KEY: &str = "sk-key";

/// What the model does when it is its turn.
#[derive(Clone)]
pub(crate) enum Reply {
    Says(&'static str),
    /// Says this, if anything, and calls a tool: id, name, arguments.
    Calls(Option<&'static str>, &'static str, &'static str, Value),
    /// Begins, and nothing ever comes of it.
    Nothing,
    Fails(&'static str),
    /// The connection breaks.
    Dies,
    /// The same in the middle of these words.
    Breaks(&'static str),
    /// Breaks off in the middle of these words, and says so.
    Stops(&'static str),
    /// The session is as old as one may be, and ends.
    Expires,
    /// Reports an error with this code, which is not fatal, and says this.
    Stumbles(&'static str, &'static str),
    /// Never again says anything, not even that it begins.
    Ignores,
    /// Sends what is not JSON.
    Garbage,
}

/// What becomes of a connection that somebody wants to open; those after the last one open well.
#[derive(Clone)]
pub(crate) enum Opening {
    Well,
    /// Status, `Retry-After`, code.
    Refused(u16, Option<&'static str>, &'static str),
    /// It opens, and there is no session.
    Mute,
    /// It opens, and the session is refused: code, type.
    Errs(&'static str, &'static str),
    /// It opens well after so long.
    Slow(Duration),
}

/// How the server hears callers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Hears {
    Well,
    /// What it is told to take as a turn; its voice detection notices nobody.
    WhatIsCommitted,
    /// PCM only. It agrees to G.711, and takes that for PCM too.
    PcmOnly,
    /// Nothing, whatever the format.
    Nothing,
}

/// What is heard on a silent line: so long after the last turn, for so long, these words.
pub(crate) type Turn = (u32, u32, &'static str);

pub(crate) struct Double {
    address: SocketAddr,
    shared: Arc<Shared>,
    _guard: Guard,
}

struct Shared {
    openings: Mutex<VecDeque<Opening>>,
    replies: Mutex<VecDeque<Reply>>,
    turns: Mutex<VecDeque<Turn>>,
    hears: Mutex<Hears>,
    complaints: Complaints,
    /// Everything it was sent but audio, and of each session its setting up.
    told: Mutex<Vec<Value>>,
    /// When somebody wanted to open a connection.
    knocked: Mutex<Vec<Instant>>,
    open: watch::Sender<usize>,
    made: watch::Sender<usize>,
    /// Sessions up to this one are dead, and nobody has said so.
    frozen: watch::Sender<usize>,
}

fn locked<T, R>(mutex: &Mutex<T>, with: impl FnOnce(&mut T) -> R) -> R {
    with(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Double {
    pub(crate) async fn start(replies: Vec<Reply>, turns: Vec<Turn>) -> Self {
        Self::start_with(vec![], replies, turns).await
    }

    pub(crate) async fn start_with(openings: Vec<Opening>, replies: Vec<Reply>, turns: Vec<Turn>) -> Self {
        let complaints = Complaints::default();
        let shared = Arc::new(Shared {
            openings: Mutex::new(openings.into()),
            replies: Mutex::new(replies.into()),
            turns: Mutex::new(turns.into()),
            hears: Mutex::new(Hears::Well),
            complaints: complaints.clone(),
            told: Mutex::default(),
            knocked: Mutex::default(),
            open: watch::Sender::new(0),
            made: watch::Sender::new(0),
            frozen: watch::Sender::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let server = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&server), stream));
            }
        });
        Self { address, shared, _guard: Guard(complaints) }
    }

    /// The same with a server that hears callers so.
    pub(crate) async fn that_hears(hears: Hears, replies: Vec<Reply>) -> Self {
        let double = Self::start(replies, vec![]).await;
        locked(&double.shared.hears, |how| *how = hears);
        double
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was told under this name.
    pub(crate) fn received(&self, kind: &str) -> Vec<Value> {
        locked(&self.shared.told, |told| told.iter().filter(|message| message["type"] == kind).cloned().collect())
    }

    /// How long after the first try to open a connection each of them was made.
    pub(crate) fn knocked(&self) -> Vec<Duration> {
        locked(&self.shared.knocked, |all| all.iter().map(|at| at.duration_since(all[0])).collect())
    }

    /// How many sessions there have been.
    pub(crate) fn sessions(&self) -> usize {
        *self.shared.made.borrow()
    }

    /// The far end of the sessions that are open goes away without a word.
    pub(crate) fn freeze(&self) {
        self.shared.frozen.send_replace(self.sessions());
    }

    /// Waits until no session is open.
    pub(crate) async fn is_free(&self) {
        self.shared.open.subscribe().wait_for(|open| *open == 0).await.expect("the server lives");
    }
}

#[expect(clippy::result_large_err, reason = "the websocket server's own type")]
async fn serve(shared: Arc<Shared>, stream: TcpStream) {
    locked(&shared.knocked, |knocked| knocked.push(Instant::now()));
    let what = locked(&shared.openings, VecDeque::pop_front).unwrap_or(Opening::Well);
    if let Opening::Slow(wait) = what {
        tokio::time::sleep(wait).await;
    }
    let opened = tokio_tungstenite::accept_hdr_async(stream, |request: &Request, response| {
        opening(&shared, &what, request, response)
    });
    let Ok(mut socket) = opened.await else { return };
    if matches!(what, Opening::Mute) {
        while let Some(Ok(_)) = socket.next().await {}
        return;
    }
    if let Opening::Errs(code, kind) = what {
        let error = json!({ "type": "error", "error": { "type": kind, "code": code, "message": "Not now." } });
        let _ = socket.send(Message::text(error.to_string())).await;
        while let Some(Ok(_)) = socket.next().await {}
        return;
    }
    shared.made.send_modify(|made| *made += 1);
    shared.open.send_modify(|open| *open += 1);
    Session::new(Arc::clone(&shared), socket).await.run().await;
    shared.open.send_modify(|open| *open -= 1);
}

#[expect(clippy::result_large_err, reason = "the websocket server's own type")]
fn opening(shared: &Shared, what: &Opening, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let refuse = |status: u16, body: Value| {
        let mut refusal = ErrorResponse::new(Some(body.to_string()));
        *refusal.status_mut() = status.try_into().expect("a status");
        refusal
    };
    if !header("openai-beta").is_empty() {
        shared.complaints.add("the beta interface is gone");
    }
    if request.uri().path() != "/v1/realtime" || !request.uri().query().unwrap_or_default().starts_with("model=") {
        shared.complaints.add(format!("there is no {}", request.uri()));
        return Err(refuse(404, json!({})));
    }
    if header("authorization") != format!("Bearer {KEY}") {
        let message = format!("Incorrect API key provided: {}.", header("authorization").trim_start_matches("Bearer "));
        return Err(refuse(401, json!({ "error": { "message": message, "code": "invalid_api_key" } })));
    }
    if let Opening::Refused(status, retry_after, code) = what {
        let mut refusal = refuse(*status, json!({ "error": { "message": "Not now.", "code": code } }));
        if let Some(seconds) = retry_after {
            refusal.headers_mut().insert("retry-after", seconds.parse().expect("a header"));
        }
        return Err(refusal);
    }
    Ok(response)
}
