//! A server of the Model Context Protocol over streamable HTTP, as the specification of 2025-06-18 describes it. It complains about
//! clients that violate it.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use super::model::header;
use super::wild_mcp;

/// The version that this server speaks, even if a newer one is requested.
const VERSION: &str = "2025-06-18";
/// Longer than any working test takes.
const TIMEOUT: Duration = Duration::from_secs(20);

/// When clients may resume a stream.
const RETRY: Duration = Duration::from_millis(20);

/// The behaviour of a tool when it is called.
#[derive(Clone)]
pub(crate) enum Does {
    /// Responds with this result, as one JSON object.
    Says(Value),
    /// Responds with this result as the last of several events.
    Streams(Value),
    /// Ends the stream before the result this many times, and sends the result when it is resumed behind its last event.
    Interrupts(Value, u32),
    /// Responds in a form that this seed determines.
    Wild(u64),
    /// Responds with this `Content-Type`, if any, and this text, in which `$ID` is the id of the request.
    Sends(Option<&'static str>, &'static str),
    /// Refuses with this code and message.
    Refuses(i64, &'static str),
    /// Refuses with this status and message before it reads the request, and so with this id.
    Denies(u16, Value, &'static str),
    /// Responds with this status and these headers.
    Fails(u16, &'static [(&'static str, &'static str)]),
    /// Begins to respond, and the connection breaks.
    Breaks,
    /// Responds with something that is not JSON.
    Garbage,
    /// Ends a stream after an event that is not JSON.
    StreamsGarbage,
    /// Does not respond.
    Nothing,
}

/// A tool of the server.
#[derive(Clone)]
pub(crate) struct Has {
    pub(crate) tool: Value,
    pub(crate) does: Does,
}

/// Creates a tool without arguments.
pub(crate) fn has(name: &str, does: Does) -> Has {
    let schema = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object" });
    Has { tool: json!({ "name": name, "description": format!("It is {name}."), "inputSchema": schema }), does }
}

pub(crate) fn words(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A stream that was ended before its message, which is interrupted `left` times more.
#[derive(Clone)]
struct Interrupted {
    message: Value,
    left: u32,
    since: Instant,
}

/// A session: whether the client has reported that it is ready, and the ids that it has used.
#[derive(Default)]
struct Session {
    ready: bool,
    used: HashSet<String>,
}

#[derive(Default)]
struct Inner {
    pages: Vec<Vec<Has>>,
    sessions: Mutex<HashMap<String, Session>>,
    opened: Mutex<u32>,
    closed: Mutex<u32>,
    listed: Mutex<u32>,
    /// The status and body with which the session is forgotten.
    forgetful: Mutex<Option<(u16, String)>>,
    /// The call and the authorization of each request.
    known_by: Mutex<HashSet<String>>,
    called: Mutex<Vec<(String, Value)>>,
    /// By the id of their last event.
    interrupted: Mutex<HashMap<String, Interrupted>>,
    resumed: Mutex<u32>,
    complaints: Mutex<Vec<String>>,
    ended: Notify,
    /// Tool calls that clients wait for.
    awaited: watch::Sender<usize>,
}

/// A tool call, until its client disconnects.
struct Awaited<'a>(&'a Inner);

impl<'a> Awaited<'a> {
    fn new(inner: &'a Inner) -> Self {
        inner.awaited.send_modify(|awaited| *awaited += 1);
        Self(inner)
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.awaited.send_modify(|awaited| *awaited -= 1);
    }
}

/// A server that runs until [`McpDouble::finish`].
pub(crate) struct McpDouble {
    inner: Arc<Inner>,
    address: SocketAddr,
    server: tokio::task::JoinHandle<()>,
}

impl McpDouble {
    /// Starts a server with these pages of tools.
    pub(crate) async fn start(pages: Vec<Vec<Has>>) -> Self {
        Self::start_at("127.0.0.1:0", pages).await
    }

    pub(crate) async fn start_at(address: &str, pages: Vec<Vec<Has>>) -> Self {
        let inner = Arc::new(Inner { pages, ..Inner::default() });
        let moved = || async { ([("location", "/slash")], StatusCode::TEMPORARY_REDIRECT) };
        let slash = || async { ([("location", "mcp")], StatusCode::PERMANENT_REDIRECT) };
        let router = Router::new()
            .route("/mcp", axum::routing::any(serve))
            .route("/moved", axum::routing::any(moved))
            .route("/slash", axum::routing::any(slash))
            .with_state(inner.clone());
        let listener = tokio::net::TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("serves") });
        Self { inner, address, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns another URL, from which two redirects lead to the server.
    pub(crate) fn moved_url(&self) -> String {
        format!("http://{}/moved", self.address)
    }

    /// Forgets the session at the next tool call, as a restarted server does, and responds with this.
    pub(crate) fn forget_once(&self, status: u16, body: &str) {
        *self.inner.forgetful.lock().expect("whole") = Some((status, body.to_owned()));
    }

    /// Returns how often a client connected, and listed tools from the first page.
    pub(crate) fn opened_and_listed(&self) -> (u32, u32) {
        (*self.inner.opened.lock().expect("whole"), *self.inner.listed.lock().expect("whole"))
    }

    /// Returns the tools that were called, with their arguments.
    pub(crate) fn called(&self) -> Vec<(String, Value)> {
        self.inner.called.lock().expect("whole").clone()
    }

    /// How often a stream was resumed.
    pub(crate) fn resumed(&self) -> u32 {
        *self.inner.resumed.lock().expect("whole")
    }

    /// The `X-Voice-Call` and `Authorization` that requests came with.
    pub(crate) fn known_by(&self) -> HashSet<String> {
        self.inner.known_by.lock().expect("whole").clone()
    }

    /// Waits until this many sessions have been closed by their clients.
    pub(crate) async fn closed(&self, count: u32) {
        let waiting = async {
            while *self.inner.closed.lock().expect("whole") < count {
                self.inner.ended.notified().await;
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.expect("sessions are closed");
    }

    /// Waits until clients wait for this many tool calls.
    pub(crate) async fn awaited(&self, count: usize) {
        let mut awaited = self.inner.awaited.subscribe();
        let waiting = awaited.wait_for(|awaited| *awaited == count);
        tokio::time::timeout(TIMEOUT, waiting).await.expect("it comes to that").expect("the server lives");
    }

    /// Asserts that no request was one that a real server would refuse.
    pub(crate) fn finish(self) {
        self.server.abort();
        assert_eq!(*self.inner.complaints.lock().expect("whole"), Vec::<String>::new());
    }
}

impl Inner {
    fn complain(&self, words: impl Into<String>) {
        self.complaints.lock().expect("whole").push(words.into());
    }

    fn refuse(&self, status: StatusCode, words: &str) -> Response {
        self.complain(words);
        (status, words.to_owned()).into_response()
    }

    fn initialise(&self, headers: &HeaderMap, params: &Value) -> Response {
        if headers.contains_key("mcp-session-id") {
            self.complain("initialize comes with a session");
        }
        let whole = params["protocolVersion"].is_string()
            && params["capabilities"].is_object()
            && params["clientInfo"]["name"].is_string()
            && params["clientInfo"]["version"].is_string();
        if !whole {
            self.complain(format!("initialize lacks something: {params}"));
        }
        let mut opened = self.opened.lock().expect("whole");
        *opened += 1;
        let id = format!("session-{opened}");
        self.sessions.lock().expect("whole").insert(id.clone(), Session::default());
        let result = json!({
            "protocolVersion": VERSION, "capabilities": { "tools": {} }, "serverInfo": { "name": "double", "version": "1" },
        });
        ([("mcp-session-id", id)], axum::Json(result)).into_response()
    }

    /// Continues after the last event of a stream that was ended. No other stream is offered.
    fn resume(&self, headers: &HeaderMap) -> Response {
        let last = header(headers, "last-event-id");
        let Some(Interrupted { message, left, since }) = self.interrupted.lock().expect("whole").get(last).cloned()
        else {
            return StatusCode::METHOD_NOT_ALLOWED.into_response();
        };
        if !self.sessions.lock().expect("whole").contains_key(header(headers, "mcp-session-id")) {
            return self.refuse(StatusCode::NOT_FOUND, "a stream is resumed in no open session");
        }
        if !header(headers, "accept").contains("text/event-stream")
            || header(headers, "mcp-protocol-version") != VERSION
        {
            self.complain("a stream is resumed in another version, or not as events");
        }
        if since.elapsed() < RETRY {
            self.complain("a stream is resumed before its time");
        }
        *self.resumed.lock().expect("whole") += 1;
        self.stream_rest(message, left)
    }

    /// The message, or an event behind which the stream ends.
    fn stream_rest(&self, message: Value, left: u32) -> Response {
        let id = format!("{}-{left}", message["id"]);
        let events = match left.checked_sub(1) {
            None => format!("event: message\nid: {id}\ndata: {message}\n\n"),
            Some(left) => {
                let interrupted = Interrupted { message, left, since: Instant::now() };
                self.interrupted.lock().expect("whole").insert(id.clone(), interrupted);
                format!("id: {id}\nretry: {}\ndata: \n\n", RETRY.as_millis())
            }
        };
        ([("content-type", "text/event-stream")], events).into_response()
    }

    fn list(&self, params: &Value) -> Result<Value, (i64, String)> {
        let page = match &params["cursor"] {
            Value::Null => {
                *self.listed.lock().expect("whole") += 1;
                0
            }
            cursor => {
                cursor.as_str().and_then(|cursor| cursor.strip_prefix("page-")?.parse().ok()).unwrap_or(usize::MAX)
            }
        };
        let Some(tools) = self.pages.get(page) else {
            self.complain(format!("there is no such cursor: {params}"));
            return Err((-32_602, "Invalid cursor".to_owned()));
        };
        let mut result = json!({ "tools": tools.iter().map(|has| has.tool.clone()).collect::<Vec<_>>() });
        if page + 1 < self.pages.len() {
            result["nextCursor"] = json!(format!("page-{}", page + 1));
        }
        Ok(result)
    }
}

/// The body of one request.
struct McpRequest {
    id: Value,
    method: String,
    params: Value,
}

async fn serve(State(inner): State<Arc<Inner>>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let known = format!("{} {}", header(&headers, "x-voice-call"), header(&headers, "authorization"));
    inner.known_by.lock().expect("whole").insert(known);
    let session = header(&headers, "mcp-session-id").to_owned();
    match method {
        Method::POST => {}
        Method::DELETE => {
            if inner.sessions.lock().expect("whole").remove(&session).is_none() {
                return inner.refuse(StatusCode::NOT_FOUND, "a session is closed that is not open");
            }
            *inner.closed.lock().expect("whole") += 1;
            inner.ended.notify_one();
            return StatusCode::NO_CONTENT.into_response();
        }
        Method::GET => return inner.resume(&headers),
        _ => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
    let accept = header(&headers, "accept");
    if !accept.contains("application/json") || !accept.contains("text/event-stream") {
        inner.complain(format!("both forms of an answer must be accepted: {accept:?}"));
    }
    if header(&headers, "content-type") != "application/json" {
        inner.complain("the body is not called JSON");
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (Some(method), true) = (message["method"].as_str(), message["jsonrpc"] == "2.0") else {
        return inner.refuse(StatusCode::BAD_REQUEST, "it is no JSON-RPC request");
    };
    let asked = McpRequest { id: message["id"].clone(), method: method.to_owned(), params: message["params"].clone() };
    if asked.method == "initialize" {
        return with_id(&asked.id, inner.initialise(&headers, &asked.params)).await;
    }
    if let Err(response) = in_session(&inner, &headers, &session, &asked) {
        return *response;
    }
    answer(&inner, &session, asked).await
}

/// Checks whether a message is allowed now.
fn in_session(inner: &Inner, headers: &HeaderMap, session: &str, asked: &McpRequest) -> Result<(), Box<Response>> {
    if session.is_empty() {
        return Err(Box::new(inner.refuse(StatusCode::BAD_REQUEST, "a message comes without a session")));
    }
    if header(headers, "mcp-protocol-version") != VERSION {
        inner.complain(format!("{} does not say which version was agreed upon", asked.method));
    }
    let mut sessions = inner.sessions.lock().expect("whole");
    // The status reports that the session is gone; asking anyway is not a violation.
    let Some(open) = sessions.get_mut(session) else { return Err(Box::new(StatusCode::NOT_FOUND.into_response())) };
    if asked.id.is_null() {
        open.ready |= asked.method == "notifications/initialized";
        return Err(Box::new(StatusCode::ACCEPTED.into_response()));
    }
    if !open.ready {
        inner.complain(format!("{} comes before notifications/initialized", asked.method));
    }
    if !open.used.insert(asked.id.to_string()) {
        inner.complain(format!("the id {} was used before", asked.id));
    }
    Ok(())
}

async fn answer(inner: &Inner, session: &str, asked: McpRequest) -> Response {
    match asked.method.as_str() {
        "tools/list" => match inner.list(&asked.params) {
            Ok(result) => whole(&asked.id, &result),
            Err((code, words)) => refused(&asked.id, code, &words),
        },
        "tools/call" => {
            let name = asked.params["name"].as_str().unwrap_or_default().to_owned();
            let arguments = asked.params["arguments"].clone();
            if !arguments.is_object() {
                inner.complain(format!("the arguments of {name} are no object: {arguments}"));
            }
            let forgets = inner.forgetful.lock().expect("whole").take();
            if let Some((status, body)) = forgets {
                inner.sessions.lock().expect("whole").remove(session);
                return (StatusCode::from_u16(status).expect("a status"), body).into_response();
            }
            inner.called.lock().expect("whole").push((name.clone(), arguments));
            let has = inner.pages.iter().flatten().find(|has| has.tool["name"] == name.as_str());
            match has.map(|has| has.does.clone()) {
                None => {
                    inner.complain(format!("there is no tool {name}"));
                    refused(&asked.id, -32_602, "Unknown tool")
                }
                Some(Does::Says(result)) => whole(&asked.id, &result),
                Some(Does::Wild(seed)) => wild_mcp::respond(seed, &asked.id),
                Some(Does::Streams(result)) => streamed(&asked.id, &result),
                Some(Does::Interrupts(result, times)) => {
                    inner.stream_rest(json!({ "jsonrpc": "2.0", "id": asked.id, "result": result }), times)
                }
                Some(Does::Sends(kind, body)) => {
                    let mut response = body.replace("$ID", &asked.id.to_string()).into_response();
                    response.headers_mut().remove("content-type");
                    if let Some(kind) = kind {
                        response.headers_mut().insert("content-type", kind.parse().expect("a header"));
                    }
                    response
                }
                Some(Does::Refuses(code, words)) => refused(&asked.id, code, words),
                Some(Does::Denies(status, id, words)) => {
                    (StatusCode::from_u16(status).expect("a status"), refused(&id, -32_000, words)).into_response()
                }
                Some(Does::Fails(status, headers)) => {
                    let mut response = StatusCode::from_u16(status).expect("a status").into_response();
                    for (name, value) in headers {
                        response.headers_mut().insert(*name, value.parse().expect("a header"));
                    }
                    response
                }
                Some(Does::Breaks) => {
                    let torn = [Ok("{\"jsonrpc\":"), Err(std::io::Error::other("torn"))];
                    ([("content-type", "application/json")], Body::from_stream(stream::iter(torn))).into_response()
                }
                Some(Does::Garbage) => ([("content-type", "application/json")], "{\"jsonrpc\":").into_response(),
                Some(Does::StreamsGarbage) => {
                    ([("content-type", "text/event-stream")], "data: {\"jsonrpc\":\n\n").into_response()
                }
                Some(Does::Nothing) => {
                    let _awaited = Awaited::new(inner);
                    std::future::pending().await
                }
            }
        }
        other => {
            inner.complain(format!("nobody needs to ask for {other}"));
            refused(&asked.id, -32_601, "Method not found")
        }
    }
}

/// Completes the response to `initialize`, whose headers are created first.
async fn with_id(id: &Value, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let result = axum::body::to_bytes(body, usize::MAX).await.expect("in memory");
    let result: Value = serde_json::from_slice(&result).expect("JSON");
    let mut response = whole(id, &result);
    if let Some(session) = parts.headers.get("mcp-session-id") {
        response.headers_mut().insert("mcp-session-id", session.clone());
    }
    response
}

fn whole(id: &Value, result: &Value) -> Response {
    axum::Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}

fn refused(id: &Value, code: i64, words: &str) -> Response {
    axum::Json(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } })).into_response()
}

/// Formats events: a comment, an event without data, a notification, the response.
fn streamed(id: &Value, result: &Value) -> Response {
    let news = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": "Looking." } });
    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let events = format!(
        ": ping\n\nid: 1\ndata: \n\nevent: message\nid: 2\ndata: {news}\n\nevent: message\nid: 3\ndata: {answer}\n\n"
    );
    ([("content-type", "text/event-stream")], events).into_response()
}
