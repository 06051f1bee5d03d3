//! OpenAI's Realtime API, speech to speech, with the event names of its general release.
//!
//! Its model speaks in tones, four times as fast as real time, and follows the test's script. Its STT recognises the simulated
//! caller's recordings; in silence it recognises what the test has scripted.

mod hearing;
mod session;
mod speaking;
mod wild;

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
use self::wild::WildRealtime;
use super::complaints::{Complaints, Guard};

pub(crate) const KEY: &str = "sk-key";

/// The model's reply in its turn.
#[derive(Clone)]
pub(crate) enum Reply {
    Says(&'static str),
    /// Says this, if anything, and calls a tool: id, name, arguments.
    Calls(Option<&'static str>, &'static str, &'static str, Value),
    /// Begins, but never continues.
    Nothing,
    Fails(&'static str),
    /// The connection breaks.
    Dies,
    /// The connection breaks in the middle of these words.
    Breaks(&'static str),
    /// Stops in the middle of these words, and reports it.
    Stops(&'static str),
    /// The session reaches its maximum age, and ends.
    Expires,
    /// Reports a non-fatal error with this code, then says this.
    Stumbles(&'static str, &'static str),
    /// Never sends anything again, not even the start of a response.
    Ignores,
    /// Sends a message that is not JSON.
    Garbage,
}

/// The outcome of a connection attempt; those after the last one succeed.
#[derive(Clone)]
pub(crate) enum Opening {
    Well,
    /// Status, `Retry-After`, code.
    Refused(u16, Option<&'static str>, &'static str),
    /// It opens, but no session begins.
    Mute,
    /// It opens, and the session is refused: code, type.
    Errs(&'static str, &'static str),
    /// It opens after this delay.
    Slow(Duration),
}

/// How the server hears callers.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Hears {
    Well,
    /// Only committed audio; its voice detection detects nothing.
    WhatIsCommitted,
    /// PCM only. It agrees to G.711, but treats that as PCM too.
    PcmOnly,
    /// Nothing, in any format.
    Nothing,
}

/// A turn recognised in silence: the pause after the last turn, its length, and its words.
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
    /// Set if it follows its documentation loosely.
    wild: Mutex<Option<WildRealtime>>,
    complaints: Complaints,
    /// All messages received except audio, including each session's configuration.
    told: Mutex<Vec<Value>>,
    /// The times of connection attempts.
    knocked: Mutex<Vec<Instant>>,
    open: watch::Sender<usize>,
    made: watch::Sender<usize>,
    /// The highest number of a session that is dead without the client having been informed.
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
            wild: Mutex::default(),
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
                // A message must not wait for the acknowledgement of the previous one.
                stream.set_nodelay(true).expect("a socket");
                tokio::spawn(serve(Arc::clone(&server), stream));
            }
        });
        Self { address, shared, _guard: Guard(complaints) }
    }

    /// Starts a server with this hearing.
    pub(crate) async fn that_hears(hears: Hears, replies: Vec<Reply>) -> Self {
        let double = Self::start(replies, vec![]).await;
        locked(&double.shared.hears, |how| *how = hears);
        double
    }

    /// Follows the documentation loosely from now on.
    pub(crate) fn go_wild(&self, seed: u64) {
        locked(&self.shared.wild, |wild| *wild = Some(WildRealtime::new(seed)));
    }

    /// Drops the complaints so far.
    pub(crate) fn ignore_complaints(&self) {
        self.shared.complaints.take();
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the received messages of this type.
    pub(crate) fn received(&self, kind: &str) -> Vec<Value> {
        locked(&self.shared.told, |told| told.iter().filter(|message| message["type"] == kind).cloned().collect())
    }

    /// Returns when each connection was attempted, relative to the first attempt.
    pub(crate) fn knocked(&self) -> Vec<Duration> {
        locked(&self.shared.knocked, |all| all.iter().map(|at| at.duration_since(all[0])).collect())
    }

    /// Returns the number of sessions so far.
    pub(crate) fn sessions(&self) -> usize {
        *self.shared.made.borrow()
    }

    /// Makes the server's side of open sessions disappear without a close.
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
