//! Streamable HTTP of the Model Context Protocol (specification of 2025-11-25, "Transports"), from the client's side, over
//! the guarded client.
//!
//! Only responses to our own requests are read, and a limited number of other messages in them. A response that the server
//! interrupts is resumed where it stopped. The stream for messages that a server starts is not
//! opened: nothing that it could send there would change a call.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use switchhook_net::lenient_json;
use switchhook_net::outbound::{Client, Request, SendError};
use switchhook_net::queues::Queue;
use switchhook_net::text::{content_type, text};
use url::Url;

use super::repair::{Malformed, Requests, misses_session};
use crate::talk::tools::secrets::Secrets;

/// The maximum size of a response, in bytes: a page of tools with their schemas fits.
const READ_LIMIT: usize = 1024 * 1024;
/// The maximum number of JSON values in a response: in memory each takes many times its length.
const MOST_VALUES: usize = 100_000;
/// The maximum number of the server's own requests and notifications per response. Each becomes a task, and is answered with a request.
const MOST_OWN: usize = 8;
/// The characters of an address that are logged.
const SHOWN: usize = 100;
/// The maximum number of redirects per request: servers add or remove a slash.
const MOST_REDIRECTS: usize = 3;
/// Interrupted responses of one server in one call that are resumed.
const MOST_RESUMED: usize = 32;
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// A client for one server.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) client: Client,
    /// The timeout of one request with its whole response.
    pub(super) deadline: Duration,
    /// The secrets in the headers, which are only sent to permitted addresses.
    pub(super) secrets: Option<Arc<Secrets>>,
    /// How many interrupted responses were resumed.
    pub(super) resumed: Arc<AtomicUsize>,
    /// The requests, which decide how responses are repaired.
    pub(super) requests: Arc<Mutex<Requests>>,
}

type Error = StreamableHttpError<SendError>;

impl Transport {
    async fn send(
        &self,
        method: Method,
        uri: &str,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
        body: Option<Vec<u8>>,
    ) -> Result<Response, Error> {
        let mut headers: HeaderMap = headers.into_iter().collect();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        if let Some(session) = session {
            let unusable = || Error::UnexpectedServerResponse("a session id that is no header".into());
            headers.insert(SESSION, HeaderValue::from_str(session).map_err(|_| unusable())?);
        }
        let mut url = uri.to_owned();
        for _ in 0..=MOST_REDIRECTS {
            let request =
                Request { method: method.clone(), url: url.clone(), headers: headers.clone(), body: body.clone() };
            let response = self.client.open(request, self.deadline).await.map_err(Error::Client)?;
            let Some(target) = redirect(&response) else { return Ok(response) };
            url = followed(response.url(), response.status().as_u16(), &target).map_err(unexpected)?;
            if let Some(secrets) = &self.secrets {
                secrets.fit(&url).map_err(|words| unexpected(format!("it redirects to an address that {words}")))?;
            }
        }
        Err(unexpected(format!("it redirects more than {MOST_REDIRECTS} times")))
    }

    async fn read(&self, response: Response) -> Result<Vec<u8>, Error> {
        self.read_behind(Bytes::new(), response).await
    }

    /// Reads a body whose beginning was read.
    async fn read_behind(&self, beginning: Bytes, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = beginning.to_vec();
        while let Some(piece) = self.client.more(&mut response, self.deadline).await.map_err(Error::Client)? {
            body.extend_from_slice(&piece);
            if body.len() > READ_LIMIT {
                Queue::McpBody.full();
                return Err(Error::ResponseBodyTooLarge { max_size: READ_LIMIT });
            }
        }
        let body = text(content_type(response.headers()), &body).into_bytes();
        if values(&body) > MOST_VALUES {
            Queue::McpBody.full();
            return Err(unreadable("it has too many values"));
        }
        Ok(body)
    }

    /// Reads the beginning of a body, up to its first character that is no white space.
    async fn beginning(&self, response: &mut Response) -> Result<Bytes, Error> {
        let mut beginning = Vec::new();
        while beginning.len() < READ_LIMIT
            && let Some(piece) = self.client.more(response, self.deadline).await.map_err(Error::Client)?
        {
            beginning.extend_from_slice(&piece);
            if !beginning.trim_ascii_start().is_empty() {
                break;
            }
        }
        Ok(beginning.into())
    }

    /// Returns the malformed tools that were left out of lists since the last time.
    pub(super) fn take_malformed(&self) -> Vec<Malformed> {
        locked(&self.requests).take_malformed()
    }

    /// Returns the JSON-RPC error in the body of a response with an error status. It responds to `request`: servers that refuse a request
    /// before they read it do not know its id.
    fn refusal(&self, body: &[u8], request: Option<RequestId>) -> Option<ServerJsonRpcMessage> {
        let mut message: Value = lenient_json::from_slice(body).ok()?;
        locked(&self.requests).repair(&mut message, request.as_ref());
        let JsonRpcMessage::Error(mut error) = serde_json::from_value::<ServerJsonRpcMessage>(message).ok()? else {
            return None;
        };
        error.id = request.or(error.id);
        Some(JsonRpcMessage::Error(error))
    }

    /// Returns the events of a response, up to the limits, with repaired data. Of events that are not admitted only the data is left out,
    /// so that the response is resumed behind them. `request` is the request whose response it is, if that is known.
    fn events(
        &self,
        beginning: Bytes,
        response: Response,
        request: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let (mut read, resumed) = (0, self.resumed.clone());
        let requests = self.requests.clone();
        let pieces = stream::iter([Ok(beginning)]).chain(response.bytes_stream());
        let limited = pieces.map(move |piece| {
            let piece = piece.map_err(io::Error::other)?;
            read += piece.len();
            if read > READ_LIMIT {
                Queue::McpBody.full();
                // Resumed, it would be as long again.
                resumed.store(MOST_RESUMED, Ordering::Relaxed);
                return Err(io::Error::other("the response is too long"));
            }
            Ok(piece)
        });
        let mut own = 0;
        let admitted = move |event: Result<Sse, SseError>| {
            event.map(|mut event| {
                let data = event.data.take_if(|data| admits(data, &mut own));
                event.data = data.map(|data| repaired_text(&requests, data, request.as_ref()));
                event
            })
        };
        SseStream::from_bytes_stream(limited).map(admitted).boxed()
    }
}

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Events,
}

impl Form {
    /// Recognises it by its beginning; `None` if that shows neither.
    fn of(beginning: &[u8]) -> Option<Self> {
        let beginning = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
        let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
        match beginning.first()? {
            b'{' | b'[' => Some(Self::Json),
            _ if fields.iter().any(|field| beginning.starts_with(field)) => Some(Self::Events),
            _ => None,
        }
    }
}

/// Repairs the message in an event.
fn repaired_text(requests: &Mutex<Requests>, data: String, request: Option<&RequestId>) -> String {
    let Ok(message) = lenient_json::from_str::<Value>(&data) else { return data };
    locked(requests).response(message, request).to_string()
}

/// Locks the requests, which are consistent at every step.
fn locked(requests: &Mutex<Requests>) -> MutexGuard<'_, Requests> {
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the error of a response that has begun. An unreadable message may contain anything: it is not quoted.
fn unreadable(reason: &str) -> Error {
    Error::Deserialize(serde_json::Error::custom(reason))
}

fn unexpected(words: String) -> Error {
    Error::UnexpectedServerResponse(words.into())
}

/// Returns the redirect target of a response.
fn redirect(response: &Response) -> Option<String> {
    let target = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    Some(String::from_utf8_lossy(target.as_bytes()).into_owned())
}

/// Returns the address of a redirect that keeps method and body (RFC 9110 sections 15.4.8 and 15.4.9) and stays on the same origin.
///
/// # Errors
/// The reason why it is not followed, with the address without its query.
fn followed(from: &Url, status: u16, target: &str) -> Result<String, String> {
    let to = from.join(target).map_err(|_| format!("it redirects with status {status} to no address"))?;
    if matches!(status, 307 | 308) && to.origin() == from.origin() {
        return Ok(to.into());
    }
    let place: String = format!("{}{}", to.origin().ascii_serialization(), to.path()).chars().take(SHOWN).collect();
    Err(format!(
        "it redirects with status {status} to {place}, which is not followed: set the tool's url to where it is"
    ))
}

impl StreamableHttpClient for Transport {
    type Error = SendError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let body = serde_json::to_vec(&message)?;
        let request = locked(&self.requests).add(&message);
        let mut response = self.send(Method::POST, &uri, session.as_deref(), headers, Some(body)).await?;
        let status = response.status();
        if matches!(status.as_u16(), 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let in_session = session.is_some();
        if status.as_u16() == 404 && in_session {
            return Err(Error::SessionExpired);
        }
        let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let kind = header(&CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let session = header(&SESSION).map(str::to_owned);
        if !status.is_success() {
            let body = self.read(response).await.unwrap_or_default();
            if status.as_u16() == 400 && in_session && misses_session(&body, request.as_ref()) {
                return Err(Error::SessionExpired);
            }
            // A JSON-RPC error says more than the HTTP status.
            return match self.refusal(&body, request) {
                Some(refusal) => Ok(StreamableHttpPostResponse::Json(refusal, session)),
                None => Err(HttpStatusError::new(status.as_u16(), None).into()),
            };
        }
        if request.is_none() {
            // Some servers send 200 for notifications instead of 202. The body is not read: it could contain requests.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let beginning = self.beginning(&mut response).await?;
        // Some servers send one in the other's type, or without any.
        let events = match Form::of(&beginning) {
            Some(form) => form == Form::Events,
            None => kind.starts_with(EVENTS),
        };
        if events {
            return Ok(StreamableHttpPostResponse::Sse(self.events(beginning, response, request), session));
        }
        let body = self.read_behind(beginning, response).await?;
        let malformed = |_| match kind.starts_with(JSON) {
            true => unreadable("it is not a JSON-RPC message"),
            false => Error::UnexpectedContentType(Some(kind.chars().take(100).collect())),
        };
        let message: Value = lenient_json::from_slice(&body).map_err(malformed)?;
        let message = locked(&self.requests).response(message, request.as_ref());
        let message: ServerJsonRpcMessage = serde_json::from_value(message).map_err(malformed)?;
        Ok(StreamableHttpPostResponse::Json(message, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error> {
        // Servers may refuse this (405).
        self.send(Method::DELETE, &uri, Some(&session), headers, None).await.map(drop)
    }

    /// Resumes a response behind its last event.
    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _authorization: Option<String>,
        mut headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        // Of all errors this one is final.
        let Some(last_event) = last_event else { return Err(Error::ServerDoesNotSupportSse) };
        if self.resumed.fetch_add(1, Ordering::Relaxed) >= MOST_RESUMED {
            return Err(Error::ServerDoesNotSupportSse);
        }
        let last_event = HeaderValue::from_str(&last_event).map_err(|_| Error::ServerDoesNotSupportSse)?;
        headers.insert(LAST_EVENT, last_event);
        let response = self.send(Method::GET, &uri, session.as_deref(), headers, None).await?;
        let status = response.status();
        let streams = content_type(response.headers()).unwrap_or_default().to_ascii_lowercase().starts_with(EVENTS);
        if status.is_client_error() || (status.is_success() && !streams) {
            return Err(Error::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(HttpStatusError::new(status.as_u16(), None).into());
        }
        Ok(self.events(Bytes::new(), response, None))
    }
}

/// Returns an upper bound for the number of values in JSON: counts the separators outside of strings.
fn values(json: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' | b',' | b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Returns whether to read the data of an event. Counts the server's own messages in `own`.
fn admits(data: &str, own: &mut usize) -> bool {
    #[derive(Deserialize)]
    struct Message {
        method: Option<IgnoredAny>,
    }
    let is_own = serde_json::from_str::<Message>(data).is_ok_and(|message| message.method.is_some());
    *own += usize::from(is_own);
    let admits = (!is_own || *own <= MOST_OWN) && values(data.as_bytes()) <= MOST_VALUES;
    if !admits {
        Queue::McpBody.full();
    }
    admits
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r##"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}}"##,
            r##"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"book","description":"Books.","inputSchema":{"type":"object"}}],"nextCursor":"x"}}"##,
            r##"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"Booked."}],"isError":false}}"##,
            r##"{"jsonrpc":"2.0","id":"4","error":{"code":-32602,"message":"Unknown tool","data":{"x":1}}}"##,
            r##"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"##,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |body| {
            let message: ServerJsonRpcMessage = serde_json::from_slice(body)?;
            serde_json::to_vec(&message).map(|written| written.len())
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_those_in_strings_are_not() {
        assert_eq!(values(br#"{"a":[1,2,{"b":null}]}"#), 8);
        assert_eq!(values(br#"{"text":"a,b,c:[{\",,,\\"}"#), 3);
        let small = format!("[{}]", vec![r#"{"":0}"#; 140_000].join(","));
        assert!(small.len() < READ_LIMIT && values(small.as_bytes()) > MOST_VALUES);
    }

    #[test]
    fn a_body_is_recognised_by_its_beginning() {
        for (beginning, form) in [
            ("{\"jsonrpc\"", Some(Form::Json)),
            ("\n [{", Some(Form::Json)),
            ("\u{feff}{", Some(Form::Json)),
            (": ping\n", Some(Form::Events)),
            ("\n\ndata: {}", Some(Form::Events)),
            ("event: message", Some(Form::Events)),
            ("<html>", None),
            ("dat", None),
            ("", None),
        ] {
            assert_eq!(Form::of(beginning.as_bytes()), form, "{beginning}");
        }
    }

    #[test]
    fn of_a_servers_own_messages_the_first_few_are_read() {
        let (mut own, ping) = (0, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let read = (0..1_000).filter(|_| admits(ping, &mut own)).count();
        assert_eq!(read, MOST_OWN);
        assert!(admits(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, &mut own), "what was asked for");
    }

    #[test]
    fn redirects_are_followed_with_their_method_on_the_same_origin() {
        let from: Url = "https://mcp.example.com/mcp?key=s3cret".parse().expect("an address");
        for (status, target, expected) in [
            (307, "/mcp/", Ok("https://mcp.example.com/mcp/")),
            (308, "https://mcp.example.com:443/v2?a=b", Ok("https://mcp.example.com/v2?a=b")),
            (307, "mcp/", Ok("https://mcp.example.com/mcp/")),
            (302, "/mcp/", Err("status 302 to https://mcp.example.com/mcp/")),
            (307, "http://mcp.example.com/mcp/?key=s3cret", Err("status 307 to http://mcp.example.com/mcp/,")),
            (308, "https://other.example.com/mcp", Err("status 308 to https://other.example.com/mcp")),
            (307, "https://", Err("to no address")),
        ] {
            match (followed(&from, status, target), expected) {
                (Ok(to), Ok(expected)) => assert_eq!(to, expected),
                (Err(words), Err(expected)) => {
                    assert!(words.contains(expected) && !words.contains("s3cret"), "{words}");
                }
                (other, _) => panic!("{status} {target}: {other:?}"),
            }
        }
    }
}
