//! A model server: answers as it is told, one answer for each request, or breaks off as real ones do.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::{Value, json};
use switchhook_core::private::Private;
use switchhook_core::webhook::AddressPolicy;
use switchhook_net::outbound::NetworkSettings;
use switchhook_net::outbound::ws::WebSockets;
use switchhook_providers::Llm;
use switchhook_providers::adapter_config::AdapterConfig;
use tokio::sync::{Notify, mpsc};

use super::without_delay;

/// The key that every double accepts.
pub(crate) const KEY: &str = "sk-0123456789abcdef";

/// Longer than anything here takes when it works.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One provider's interface, from the other side.
pub(crate) trait Protocol: Copy + Send + Sync + 'static {
    /// What the real server would refuse.
    fn complaints(self, uri: &Uri, headers: &HeaderMap, body: &Value) -> Vec<String>;

    /// The stream of an answer, event by event, each with its empty line. It has read 12 tokens, 4 of them from its cache, and
    /// written 7.
    fn answer(self, pieces: &[Piece]) -> Vec<String>;

    /// The body of a refusal.
    fn error(self, status: u16, words: &str) -> Value;

    /// The status with which a wrong key is refused.
    fn wrong_key(self) -> StatusCode {
        StatusCode::UNAUTHORIZED
    }

    /// An event that says that something went wrong inside an answer.
    fn error_event(self, words: &str) -> String;

    /// The adapter.
    fn make(self, connect: &AdapterConfig<'_>) -> Result<Arc<dyn Llm>, String>;

    /// What of a request is a conversation, as (by whom, what), instructions left out. Calls are `call NAME ARGUMENTS`, results
    /// `result TEXT`.
    fn conversation(self, body: &Value) -> Vec<(&'static str, String)>;
}

/// A piece of an answer.
#[derive(Clone)]
pub(crate) enum Piece {
    Text(&'static str),
    Tool { id: &'static str, name: &'static str, arguments: Value },
}

/// What is done with one request.
pub(crate) enum Reply {
    /// A whole answer.
    Answer(Vec<Piece>),
    /// These events, and the end of the stream.
    Events(Vec<String>),
    /// These events, and nothing more: the socket is dead.
    Stalls(Vec<String>),
    /// These events, and the connection is torn.
    Breaks(Vec<String>),
    /// A status, headers and a body.
    Refuses(u16, Vec<(&'static str, &'static str)>, Value),
    /// Nothing at all.
    Silence,
}

pub(crate) fn says(text: &'static str) -> Reply {
    Reply::Answer(vec![Piece::Text(text)])
}

struct Inner<P> {
    protocol: P,
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Value>>,
    asked_at: Mutex<Vec<Instant>>,
    /// Who connected to be greeted, and who asked.
    greeted: Mutex<Vec<SocketAddr>>,
    askers: Mutex<Vec<SocketAddr>>,
    complaints: Mutex<Vec<String>>,
    freed: Notify,
}

/// A server that listens until it is finished with.
pub(crate) struct Double<P: Protocol> {
    inner: Arc<Inner<P>>,
    address: SocketAddr,
    server: tokio::task::JoinHandle<()>,
}

impl<P: Protocol> Double<P> {
    pub(crate) async fn start(protocol: P, replies: Vec<Reply>) -> Self {
        let inner = Arc::new(Inner {
            protocol,
            replies: Mutex::new(replies.into()),
            asked: Mutex::default(),
            asked_at: Mutex::default(),
            greeted: Mutex::default(),
            askers: Mutex::default(),
            complaints: Mutex::default(),
            freed: Notify::new(),
        });
        let router = Router::new()
            .fallback(serve::<P>)
            .with_state(inner.clone())
            .into_make_service_with_connect_info::<SocketAddr>();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = tokio::spawn(async move { axum::serve(without_delay(listener), router).await.expect("serves") });
        Self { inner, address, server }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The adapter with these settings. A dead socket is found out in the time of a test.
    pub(crate) fn llm_with(&self, settings: Value) -> Arc<dyn Llm> {
        self.llm_of(settings, KEY)
    }

    /// The adapter with this key.
    pub(crate) fn llm_with_key(&self, key: &str) -> Arc<dyn Llm> {
        self.llm_of(json!({}), key)
    }

    fn llm_of(&self, settings: Value, key: &str) -> Arc<dyn Llm> {
        let mut settings = settings.as_object().expect("an object").clone();
        settings.entry("timeouts_ms").or_insert(json!({ "first_byte": 1_000, "first_word": 1_000, "gap": 500 }));
        settings.entry("base_url").or_insert_with(|| json!(self.base_url()));
        let addresses: AddressPolicy = "127.0.0.0/8,http".parse().expect("a policy");
        switchhook_net::install_tls();
        let connect = AdapterConfig {
            http: &reqwest::Client::builder().no_proxy().build().expect("a client"),
            websockets: &WebSockets::new(&NetworkSettings::default(), &addresses).expect("a client"),
            addresses: &addresses,
            settings: &settings,
            key: Some(Private::new(key.to_owned())),
        };
        self.inner.protocol.make(&connect).expect("good settings")
    }

    pub(crate) fn llm(&self) -> Arc<dyn Llm> {
        self.llm_with(json!({}))
    }

    /// The bodies of all requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.inner.asked.lock().expect("whole").clone()
    }

    /// When each of them came.
    pub(crate) fn asked_at(&self) -> Vec<Instant> {
        self.inner.asked_at.lock().expect("whole").clone()
    }

    /// The connections that were made ahead of a question, and those of the questions.
    pub(crate) fn connections(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let all = |peers: &Mutex<Vec<SocketAddr>>| peers.lock().expect("whole").clone();
        (all(&self.inner.greeted), all(&self.inner.askers))
    }

    /// Waits until a request that was not answered to its end has lost its connection.
    pub(crate) async fn freed(&self) {
        tokio::time::timeout(TIMEOUT, self.inner.freed.notified()).await.expect("the connection is let go of");
    }

    /// Everything was asked that should be, and nothing that the real server would refuse.
    pub(crate) fn finish(self) {
        self.server.abort();
        assert_eq!(*self.inner.complaints.lock().expect("whole"), Vec::<String>::new());
        assert!(self.inner.replies.lock().expect("whole").is_empty(), "it was asked less often than it should be");
    }
}

/// Tells that a request is gone before its answer was whole.
struct Unfinished<P>(Arc<Inner<P>>);

impl<P> Drop for Unfinished<P> {
    fn drop(&mut self) {
        self.0.freed.notify_one();
    }
}

async fn serve<P: Protocol>(
    State(inner): State<Arc<Inner<P>>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if method == Method::GET {
        inner.greeted.lock().expect("whole").push(peer);
        let authorized = headers.values().any(|value| value.to_str().is_ok_and(|value| value.contains(KEY)));
        if !uri.path().ends_with("/models") || uri.to_string().contains(KEY) {
            inner.complaints.lock().expect("whole").push(format!("a greeting that would be refused: {uri}"));
        }
        if !authorized {
            let body = axum::Json(inner.protocol.error(401, "Wrong key."));
            return (inner.protocol.wrong_key(), body).into_response();
        }
        return axum::Json(json!({ "data": ["x".repeat(10_000)] })).into_response();
    }
    inner.askers.lock().expect("whole").push(peer);
    // Whatever is behind a gateway is served there.
    let uri = match uri.to_string().strip_prefix("/gateway") {
        Some(rest) => rest.parse().expect("an address"),
        None => uri,
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut complaints = inner.protocol.complaints(&uri, &headers, &body);
    if headers.get("content-type").is_none_or(|kind| kind != "application/json") {
        complaints.push("the body is not called JSON".to_owned());
    }
    inner.complaints.lock().expect("whole").extend(complaints);
    inner.asked.lock().expect("whole").push(body);
    inner.asked_at.lock().expect("whole").push(Instant::now());
    let next = inner.replies.lock().expect("whole").pop_front();
    match next {
        None => {
            inner.complaints.lock().expect("whole").push("it was asked too often".to_owned());
            StatusCode::IM_A_TEAPOT.into_response()
        }
        Some(Reply::Answer(pieces)) => events(inner.protocol.answer(&pieces), stream::empty()),
        Some(Reply::Events(sent)) => events(sent, stream::empty()),
        Some(Reply::Breaks(sent)) => events(sent, stream::iter([Err(io::Error::other("torn"))])),
        Some(Reply::Stalls(sent)) => {
            let guard = Unfinished(inner);
            let stalling = stream::pending().map(move |piece| {
                let _ = &guard;
                piece
            });
            events(sent, stalling)
        }
        Some(Reply::Silence) => {
            let _guard = Unfinished(inner);
            std::future::pending().await
        }
        Some(Reply::Refuses(status, headers, body)) => {
            let mut response = (StatusCode::from_u16(status).expect("a status"), axum::Json(body)).into_response();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().expect("a value"));
            }
            response
        }
    }
}

/// Events in pieces that nobody would cut them into.
fn events(
    sent: Vec<String>,
    then: impl futures_util::Stream<Item = Result<Bytes, io::Error>> + Send + 'static,
) -> Response {
    let bytes = sent.concat().into_bytes();
    let pieces: Vec<_> = bytes.chunks(7).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    // What breaks takes everything with it that has not been flushed, which happens between two pieces.
    let spaced = stream::iter(pieces).chain(then).then(|piece| async move {
        tokio::task::yield_now().await;
        piece
    });
    let mut response = Body::from_stream(spaced).into_response();
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a value"));
    response
}

/// An event of OpenAI's kind, without a name.
pub(crate) fn data(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A header's text.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Collects what a model gives.
pub(crate) async fn ask(
    llm: &dyn Llm,
    request: switchhook_providers::LlmRequest,
) -> (Vec<switchhook_providers::LlmEvent>, Result<switchhook_providers::Usage, switchhook_providers::ProviderError>) {
    let (events, mut given) = mpsc::channel(64);
    let gathering = async {
        let mut all = Vec::new();
        while let Some(event) = given.recv().await {
            all.push(event);
        }
        all
    };
    let (result, all) = tokio::join!(llm.respond(request, events), gathering);
    (all, result)
}
