//! A model server: sends scripted responses, one per request, or fails as real servers do.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

/// Longer than any working test takes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The server side of one provider's API.
pub(crate) trait Protocol: Copy + Send + Sync + 'static {
    /// Returns what the real server would refuse.
    fn complaints(self, uri: &Uri, headers: &HeaderMap, body: &Value) -> Vec<String>;

    /// Returns the stream of a response, event by event, each with its empty line. Its usage is 12 tokens read, 4 of them from the cache,
    /// and 7 written.
    fn answer(self, pieces: &[Piece]) -> Vec<String>;

    /// Returns the stream of a response that reaches its token limit while it reasons, with the usage of [`Protocol::answer`].
    fn reasoning(self) -> Vec<String>;

    /// Returns the token limit in a request.
    fn limit(self, body: &Value) -> Option<u64>;

    /// Returns the body of a refusal.
    fn error(self, status: u16, words: &str) -> Value;

    /// Returns the status with which a wrong key is refused.
    fn wrong_key(self) -> StatusCode {
        StatusCode::UNAUTHORIZED
    }

    /// Returns an event that reports an error inside a response.
    fn error_event(self, words: &str) -> String;

    /// Creates the adapter.
    fn make(self, connect: &AdapterConfig<'_>) -> Result<Arc<dyn Llm>, String>;

    /// Returns the conversation in a request as (role, text), without the instructions. Calls are `call NAME ARGUMENTS`, results
    /// `result TEXT`.
    fn conversation(self, body: &Value) -> Vec<(&'static str, String)>;
}

/// A piece of a response.
#[derive(Clone)]
pub(crate) enum Piece {
    Text(&'static str),
    Tool { id: &'static str, name: &'static str, arguments: Value },
}

/// The reply to one request.
pub(crate) enum Reply {
    /// A complete response.
    Answer(Vec<Piece>),
    /// These events, and the end of the stream.
    Events(Vec<String>),
    /// These events, then nothing: the socket is dead.
    Stalls(Vec<String>),
    /// These events, then the connection breaks.
    Breaks(Vec<String>),
    /// A status, headers and a body.
    Refuses(u16, Vec<(&'static str, &'static str)>, Value),
    /// No response.
    Silence,
}

pub(crate) fn says(text: &'static str) -> Reply {
    Reply::Answer(vec![Piece::Text(text)])
}

struct Inner<P> {
    protocol: P,
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Value>>,
    /// The peers that connected for a warmup, and those that sent requests.
    greeted: Mutex<Vec<SocketAddr>>,
    askers: Mutex<Vec<SocketAddr>>,
    complaints: Mutex<Vec<String>>,
    freed: Notify,
}

/// A server that runs until [`Double::finish`].
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

    /// Creates the adapter with these settings. Its timeouts are short enough for tests.
    pub(crate) fn llm_with(&self, settings: Value) -> Arc<dyn Llm> {
        self.llm_of(settings, KEY)
    }

    /// Creates the adapter with this key.
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

    /// Returns the bodies of all requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.inner.asked.lock().expect("whole").clone()
    }

    /// Returns the connections opened ahead of a request, and those of the requests.
    pub(crate) fn connections(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let all = |peers: &Mutex<Vec<SocketAddr>>| peers.lock().expect("whole").clone();
        (all(&self.inner.greeted), all(&self.inner.askers))
    }

    /// Waits until a request that was not answered completely has lost its connection.
    pub(crate) async fn freed(&self) {
        tokio::time::timeout(TIMEOUT, self.inner.freed.notified()).await.expect("the connection is let go of");
    }

    /// Asserts that all scripted requests arrived, and none that the real server would refuse.
    pub(crate) fn finish(self) {
        self.server.abort();
        assert_eq!(*self.inner.complaints.lock().expect("whole"), Vec::<String>::new());
        assert!(self.inner.replies.lock().expect("whole").is_empty(), "it was asked less often than it should be");
    }
}

/// Reports that a request was dropped before its response was complete.
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
    // A path prefix, as behind a gateway, is accepted.
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

/// Splits events into pieces at unusual positions.
fn events(
    sent: Vec<String>,
    then: impl futures_util::Stream<Item = Result<Bytes, io::Error>> + Send + 'static,
) -> Response {
    let bytes = sent.concat().into_bytes();
    let pieces: Vec<_> = bytes.chunks(7).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
    // A break discards everything that has not been flushed, so yield between two pieces.
    let spaced = stream::iter(pieces).chain(then).then(|piece| async move {
        tokio::task::yield_now().await;
        piece
    });
    let mut response = Body::from_stream(spaced).into_response();
    response.headers_mut().insert("content-type", "text/event-stream".parse().expect("a value"));
    response
}

/// Formats an event as OpenAI does, without a name.
pub(crate) fn data(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Returns a header's text.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Collects a model's response.
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
