//! Tools of MCP servers (Model Context Protocol), over streamable HTTP.
//!
//! The server is connected while the phone rings, and lists its tools once. If it is down, the call goes without its tools and is
//! otherwise unaffected. The connection belongs to one call and is closed with it.

pub(crate) mod listing;
pub(crate) mod repair;
pub(crate) mod result;
pub(crate) mod transport;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, Implementation, PaginatedRequestParams,
    ProtocolVersion,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, Peer, RoleClient, RunningService, ServiceError, ServiceExt as _,
};
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};
use serde_json::{Map, Value};
use switchhook_core::agent::Tool;
use switchhook_core::id::{AgentId, CallId};
use switchhook_net::outbound::{Client, SendError};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

pub use self::listing::Lists;
use self::listing::{AVOIDED_FOR, LIST_VALID_FOR, MOST_LOOKED_AT, MOST_SCHEMAS, MOST_TOOLS, Whose};
pub(super) use self::listing::{Listed, called};
use self::transport::Transport;
use super::secrets::Secrets;
use super::{CALL_HEADER, Check, LATE, UNREACHABLE, error};
use crate::talk::strip_nul::strip_nul_value;

/// The timeout for connecting to a server and listing its tools. A caller may be waiting.
const LISTING_TIMEOUT: Duration = Duration::from_secs(4);
/// How much longer the transport waits than the tool's own timeout, so that the model learns that the tool was late.
const TRANSPORT_MARGIN: Duration = Duration::from_secs(1);
/// A server that fails faster than this is tried again by the next call.
const SLOW_FAILURE: Duration = Duration::from_millis(500);
/// The maximum number of pages of a list.
const MOST_PAGES: usize = 16;
/// The characters of a reason that are logged.
const REASON: usize = 300;
/// The characters of a tool's name that are logged.
const NAME: usize = 64;
/// The error for the model when a tool has responded with something that cannot be read.
const UNREADABLE: &str = "The tool responded, but its response cannot be read. Do not assume that nothing was done.";
/// The newest version of the protocol that begins with `initialize`; servers may choose an older one.
const VERSION: ProtocolVersion = ProtocolVersion::V_2025_11_25;

type McpSession = RunningService<RoleClient, ClientConfig>;

/// The tool lists that the calls of an agent share.
#[derive(Clone)]
pub struct Shared {
    /// The lists of all agents.
    pub lists: Arc<Lists>,
    /// The agent.
    pub agent: AgentId,
    /// Its version.
    pub version: i64,
}

/// A server of one call.
pub(super) struct Server {
    transport: Transport,
    whose: Whose,
    headers: HashMap<HeaderName, HeaderValue>,
    lists: Arc<Lists>,
    /// The timeout of one tool call.
    deadline: Duration,
    session: Mutex<Option<McpSession>>,
    /// The prefix for tools whose names are taken.
    pub(super) prefix: String,
    pub(super) filler: Option<String>,
}

/// Why a server is unusable; for people who operate agents, not for callers.
#[derive(Debug, thiserror::Error)]
enum McpError {
    #[error("{0}")]
    Transport(String),
    #[error("it refused with code {}", .0.code.0)]
    Refused(rmcp::ErrorData),
    #[error("it did not respond within {} s", .0.as_secs())]
    Late(Duration),
    #[error("it does not follow the protocol")]
    Protocol,
    /// In a tool call. The tool may have done its work.
    #[error("its response to a tool call cannot be read: {0}")]
    Unreadable(String),
}

impl Server {
    /// Creates the server of `tool`, whose address and headers are filled in and which may receive its secrets.
    pub(super) fn new(client: Client, tool: &Tool, secrets: Option<Secrets>, shared: &Shared, call: CallId) -> Self {
        let deadline = Duration::from_secs(tool.timeout_seconds().into());
        let url = tool.url.clone().unwrap_or_default();
        let host = url::Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let mut headers = BTreeMap::from([(CALL_HEADER.to_owned(), call.to_string())]);
        headers.extend(tool.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
        let parsed = headers.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
        let mut headers: HashMap<HeaderName, HeaderValue> = parsed.collect();
        headers.extend(
            secrets.iter().flat_map(|secrets| &secrets.headers).map(|(name, value)| (name.clone(), value.clone())),
        );
        let secrets = secrets.map(Arc::new);
        let whose = Whose {
            agent: shared.agent,
            version: shared.version,
            url,
            headers: tool.headers.clone(),
            secrets: secrets.as_ref().map(|secrets| secrets.version),
            chosen: tool.tools.clone(),
        };
        Self {
            transport: Transport {
                client,
                deadline: deadline.max(LISTING_TIMEOUT) + TRANSPORT_MARGIN,
                secrets,
                resumed: Arc::default(),
                requests: Arc::default(),
            },
            whose,
            headers,
            lists: shared.lists.clone(),
            deadline,
            session: Mutex::default(),
            prefix: tool.name.clone().or(host).unwrap_or_default(),
            filler: tool.filler.clone(),
        }
    }

    /// Returns the server's tools, limited to the chosen ones; none if it is down.
    pub(super) async fn tools(&self) -> Arc<Vec<Listed>> {
        if let Some(known) = self.lists.get(&self.whose, Instant::now()) {
            return known;
        }
        let begin = Instant::now();
        let listed = timeout(LISTING_TIMEOUT, self.list()).await.unwrap_or(Err(McpError::Late(LISTING_TIMEOUT)));
        match listed {
            Ok(tools) => {
                let tools = Arc::new(tools);
                self.lists.keep(self.whose.clone(), tools.clone(), LIST_VALID_FOR, Instant::now());
                tools
            }
            Err(error) => {
                tracing::warn!(server = %self.prefix, reason = %error, "the tools of an MCP server are missing in a call");
                let none = Arc::default();
                // Do not make every caller wait for it.
                if begin.elapsed() >= SLOW_FAILURE || matches!(error, McpError::Protocol) {
                    self.lists.keep(self.whose.clone(), Arc::clone(&none), AVOIDED_FOR, Instant::now());
                }
                none
            }
        }
    }

    async fn list(&self) -> Result<Vec<Listed>, McpError> {
        let peer = self.connected().await?;
        let mut tools: Vec<Listed> = Vec::new();
        let is_chosen =
            |name: &str| self.whose.chosen.is_empty() || self.whose.chosen.iter().any(|chosen| chosen == name);
        let mut left_out = LeftOut::default();
        let (mut bytes, mut looked_at) = (0, 0);
        let mut cursor = None;
        'pages: for _ in 0..MOST_PAGES {
            let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
            for tool in page.tools {
                if !is_chosen(&tool.name) || tools.iter().any(|known| known.name == tool.name) {
                    continue;
                }
                if tools.len() >= MOST_TOOLS || looked_at >= MOST_LOOKED_AT {
                    tracing::warn!(server = %self.prefix, most = MOST_TOOLS, "a server has too many tools: only the first are used");
                    break 'pages;
                }
                looked_at += 1;
                let words = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
                match Listed::new(&tool.name, words, &tool.input_schema).await {
                    Ok(listed) if bytes + listed.bytes() > MOST_SCHEMAS => {
                        tracing::warn!(
                            server = %self.prefix, most = MOST_SCHEMAS,
                            "the tools of a server are too long together: only the first are used"
                        );
                        break 'pages;
                    }
                    Ok(listed) => {
                        bytes += listed.bytes();
                        tools.push(listed);
                    }
                    Err(reason) => left_out.add(&tool.name, reason),
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        for (name, reason) in self.transport.take_malformed().into_iter().filter(|(name, _)| is_chosen(name)) {
            left_out.add(&name, reason.to_owned());
        }
        left_out.log(&self.prefix);
        for name in self.whose.chosen.iter().filter(|name| tools.iter().all(|tool| tool.name != **name)) {
            tracing::warn!(server = %self.prefix, tool = %name, "an agent wants a tool that its MCP server does not offer");
        }
        Ok(tools)
    }

    /// Connects before the first tool call.
    pub(super) async fn warm(&self) {
        // A tool call connects again and reports the error.
        let _ = timeout(LISTING_TIMEOUT, self.connected()).await;
    }

    /// Returns the session with the server, opening it if necessary.
    async fn connected(&self) -> Result<Peer<RoleClient>, McpError> {
        let mut session = self.session.lock().await;
        if let Some(open) = session.as_ref().filter(|open| !open.is_closed()) {
            return Ok(open.peer().clone());
        }
        let me = Implementation::new("switchhook", env!("CARGO_PKG_VERSION"));
        let me = ClientConfig::new(ClientCapabilities::default(), me).with_protocol_version(VERSION);
        let at = StreamableHttpClientTransportConfig::with_uri(self.whose.url.as_str())
            .custom_headers(self.headers.clone())
            .reinit_on_expired_session(true);
        let opened = me.serve(StreamableHttpClientTransport::with_client(self.transport.clone(), at)).await?;
        let peer = opened.peer().clone();
        // A session lists the tools once, and a cached page takes many times its length.
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        // Sessions of a newer version would store more, and were not requested.
        if peer.peer_info().is_none_or(|server| server.protocol_version.as_str() > VERSION.as_str()) {
            return Err(McpError::Protocol);
        }
        *session = Some(opened);
        Ok(peer)
    }

    async fn call(&self, tool: String, arguments: Map<String, Value>) -> Result<Value, McpError> {
        let peer = self.connected().await?;
        let result = peer.call_tool_once(CallToolRequestParams::new(tool).with_arguments(arguments)).await;
        match result.map_err(of_tool_call)? {
            CallToolResponse::Complete(result) => Ok(result::to_json(&result)),
            // Input and tasks need capabilities that we do not announce.
            _ => Err(McpError::Unreadable(McpError::Protocol.to_string())),
        }
    }
}

/// Unusable tools. A server may list hundreds, so a single log line names the first.
#[derive(Default)]
struct LeftOut {
    count: usize,
    first: Option<(String, String)>,
}

impl LeftOut {
    fn add(&mut self, tool: &str, reason: String) {
        self.count += 1;
        self.first.get_or_insert_with(|| (tool.chars().take(NAME).collect(), reason));
    }

    fn log(&self, server: &str) {
        if let Some((tool, reason)) = &self.first {
            tracing::warn!(
                server,
                count = self.count,
                tool,
                reason,
                "tools of a server are left out; this is the first"
            );
        }
    }
}

/// A prepared call of a server's tool.
pub(in crate::talk) struct McpCall {
    pub(super) server: Arc<Server>,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) check: Check,
}

impl McpCall {
    /// Returns the result for the model.
    pub(in crate::talk) async fn run(self) -> Value {
        if let Some(wrong) = self.check.wrong().await {
            return wrong;
        }
        let Self { server, tool, arguments, check: _ } = self;
        let called = timeout(server.deadline, server.call(tool, arguments)).await;
        strip_nul_value(match called.unwrap_or(Err(McpError::Late(server.deadline))) {
            Ok(result) => result,
            // The server's message is meant for the model.
            Err(McpError::Refused(refusal)) => {
                error(&format!("The tool refused: {}", result::truncate(&refusal.message)))
            }
            Err(failed) => {
                tracing::warn!(server = %server.prefix, reason = %failed, "a tool of an MCP server could not be used");
                error(match failed {
                    McpError::Late(_) => LATE,
                    McpError::Unreadable(_) => UNREADABLE,
                    _ => UNREACHABLE,
                })
            }
        })
    }
}

/// Returns a transport error for the log. Error messages of the server are not quoted: they may contain the request, including secrets
/// and what callers say.
fn on_the_way(error: &DynamicTransportError) -> McpError {
    let words = match error.error.downcast_ref::<StreamableHttpError<SendError>>() {
        Some(StreamableHttpError::ReinitializationFailed(_)) => "it refused to begin another session".to_owned(),
        Some(StreamableHttpError::UnexpectedContentType(_)) => "it responded with another content type".to_owned(),
        Some(StreamableHttpError::Deserialize(_)) => {
            "it responded with something that is not a JSON-RPC message".to_owned()
        }
        Some(known) => known.to_string(),
        None => "the connection failed".to_owned(),
    };
    McpError::Transport(words.replace(char::is_control, " ").chars().take(REASON).collect())
}

/// Returns the error of a tool call. The model must not take a response that cannot be read for a tool that was not reached.
fn of_tool_call(error: ServiceError) -> McpError {
    let responded = match &error {
        // A stream has ended without a result that can be read.
        ServiceError::TransportClosed => true,
        ServiceError::TransportSend(error) => matches!(
            error.error.downcast_ref::<StreamableHttpError<SendError>>(),
            Some(
                // The connection broke after the request.
                StreamableHttpError::Client(SendError::Broken(_))
                    | StreamableHttpError::Deserialize(_)
                    | StreamableHttpError::UnexpectedContentType(_)
                    | StreamableHttpError::ResponseBodyTooLarge { .. }
            )
        ),
        _ => false,
    };
    let error = McpError::from(error);
    if responded || matches!(error, McpError::Protocol) { McpError::Unreadable(error.to_string()) } else { error }
}

impl From<ClientInitializeError> for McpError {
    fn from(error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => on_the_way(&error),
            ClientInitializeError::JsonRpcError(refusal) => Self::Refused(refusal),
            ClientInitializeError::ConnectionClosed(_) => Self::Transport("the connection was closed".to_owned()),
            _ => Self::Protocol,
        }
    }
}

impl From<ServiceError> for McpError {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(refusal) => Self::Refused(refusal),
            ServiceError::TransportSend(error) => on_the_way(&error),
            ServiceError::TransportClosed => Self::Transport("the connection was closed".to_owned()),
            _ => Self::Protocol,
        }
    }
}
