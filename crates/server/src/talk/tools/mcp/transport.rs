//! Streamable HTTP of the Model Context Protocol (specification of 2025-11-25, "Transports"), from the client's side, over
//! the guarded client.
//!
//! Only responses to our own requests are read. The stream on which a server may speak first is not opened: nothing that it
//! could say there changes a call.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use switchhook_net::outbound::{Client, Request, SendError};
use switchhook_net::queues::Queue;

/// How much of one response is read, in bytes: a page of tools with their schemas fits.
const READ_LIMIT: usize = 1024 * 1024;
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Speaks to one server.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) client: Client,
    /// For one request and its whole response.
    pub(super) deadline: Duration,
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
        let request = Request { method, url: uri.to_owned(), headers, body };
        self.client.open(request, self.deadline).await.map_err(Error::Client)
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(piece) = self.client.more(&mut response, self.deadline).await.map_err(Error::Client)? {
            body.extend_from_slice(&piece);
            if body.len() > READ_LIMIT {
                Queue::McpBody.full();
                return Err(Error::ResponseBodyTooLarge { max_size: READ_LIMIT });
            }
        }
        Ok(body)
    }
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
        let response = self.send(Method::POST, &uri, session.as_deref(), headers, Some(body)).await?;
        let status = response.status();
        if matches!(status.as_u16(), 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status.as_u16() == 404 && session.is_some() {
            return Err(Error::SessionExpired);
        }
        let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let kind = header(&CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let session = header(&SESSION).map(str::to_owned);
        if !status.is_success() {
            // A refusal of the protocol's own says more than its status.
            let refusal = self.read(response).await.ok().and_then(|body| serde_json::from_slice(&body).ok());
            return match refusal {
                Some(refusal @ JsonRpcMessage::Error(_)) => Ok(StreamableHttpPostResponse::Json(refusal, session)),
                _ => Err(HttpStatusError::new(status.as_u16(), None).into()),
            };
        }
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let body = self.read(response).await?;
        let expects_nothing = !matches!(message, JsonRpcMessage::Request(_));
        if expects_nothing {
            // Some servers say 200 to notifications where 202 is meant.
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !kind.starts_with(JSON) {
            return Err(Error::UnexpectedContentType(Some(kind.chars().take(100).collect())));
        }
        // What could not be read may hold anything: it is not quoted.
        let unreadable = |_| Error::UnexpectedServerResponse(Cow::Borrowed("it is no JSON-RPC message"));
        let message: ServerJsonRpcMessage = serde_json::from_slice(&body).map_err(unreadable)?;
        Ok(StreamableHttpPostResponse::Json(message, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _authorization: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Error> {
        // Servers need not let their clients do this (405).
        self.send(Method::DELETE, &uri, Some(&session), headers, None).await.map(drop)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        _session: Option<Arc<str>>,
        _last_event: Option<String>,
        _authorization: Option<String>,
        _headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        Err(Error::ServerDoesNotSupportSse)
    }
}

/// The events of a response, up to the limit.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut read = 0;
    let limited = response.bytes_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        read += piece.len();
        if read > READ_LIMIT {
            Queue::McpBody.full();
            return Err(io::Error::other("the response is too long"));
        }
        Ok(piece)
    });
    SseStream::from_bytes_stream(limited).boxed()
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
