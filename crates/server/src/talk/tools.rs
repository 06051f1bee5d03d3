//! The tools that the model may call. They never delay audio: slow ones run as separate tasks, and those that the carrier performs
//! become requests to the call's runner.
//!
//! Arguments are validated against the tool's JSON Schema first; the model gets the errors and can try again.

pub(crate) mod mcp;
pub mod secrets;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use switchhook_core::agent::{AgentConfig, HttpMethod, Tool, ToolKind, fill_in};
use switchhook_core::conversation::ToolCall;
use switchhook_core::id::{CallId, ConnectionId};
use switchhook_net::lenient_json;
use switchhook_net::outbound::{Client, Page, Request, SendError};
use switchhook_providers::ToolSpec;
use switchhook_providers::json_schema::Schema;
use switchhook_providers::model_schema::for_model;
use tokio::sync::OnceCell;

pub use self::mcp::{Lists, Shared};
use self::secrets::Secrets;
use super::CarrierRequest;
use super::strip_nul::strip_nul_value;

/// The part of an error, or of a response that is not JSON, that the model gets, in characters.
const MAX_TEXT: usize = 2_000;
/// The errors of a service that times out, and of one that cannot be reached.
const LATE: &str = "The service did not respond in time.";
const UNREACHABLE: &str = "The service could not be reached.";
/// The error of a request that was not sent, since another node may have the call.
pub(crate) const NOT_SENT: &str = "The request was not sent, because the call is ending. Nothing was done.";
/// The error of a request that was open when the call ended.
pub(crate) const CUT_OFF: &str = "The call ended before the tool responded. It may have done its work.";
/// Identifies the call to the services behind tools.
const CALL_HEADER: &str = "x-voice-call";
/// The maximum number of tools in one request; some models refuse more.
const MOST_TOOLS: usize = 128;

/// The tools of one call.
pub struct Toolbox {
    client: Client,
    tools: Vec<Ready>,
    servers: Vec<Arc<mcp::Server>>,
    /// The tools of MCP servers, once they are listed.
    remote: OnceCell<Vec<Remote>>,
    call: CallId,
}

/// A tool of an MCP server.
struct Remote {
    server: Arc<mcp::Server>,
    /// Its name on the server.
    name: String,
    spec: ToolSpec,
    schema: Schema,
}

/// A tool with its variables filled in.
#[derive(Debug)]
struct Ready {
    tool: Tool,
    spec: ToolSpec,
    /// The schema of its arguments, if it compiled.
    parameters: Option<Schema>,
    secrets: Option<Secrets>,
}

/// The outcome of a tool call.
pub(super) enum ToolOutcome {
    /// The result, known at once.
    Result(Value),
    /// A request to a service, which takes a while.
    Http(Box<HttpCall>),
    /// A call to a tool of an MCP server, which takes a while.
    Mcp(mcp::McpCall),
    /// A request to the carrier, and the result for the model.
    CarrierRequest(CarrierRequest, Value),
    /// Transfer the caller, once they have heard the current speech.
    Transfer(String),
}

/// A request to a service.
pub(super) struct HttpCall {
    client: Client,
    request: Request,
    deadline: Duration,
    check: Check,
}

/// Arguments, and the schema that they must match.
pub(super) struct Check {
    schema: Option<Schema>,
    arguments: Value,
}

impl Check {
    /// Returns an error for the model if the arguments do not match.
    async fn wrong(&self) -> Option<Value> {
        let problems = self.schema.as_ref()?.problems(&self.arguments).await;
        wrong(&problems)
    }
}

impl Toolbox {
    /// Creates the agent's tools for one call, with its variables and the secrets of the connections that they name. `schemas` are the
    /// compiled schemas of the tools' arguments, by tool name.
    #[must_use]
    pub fn new(
        client: Client,
        shared: &Shared,
        agent: &AgentConfig,
        variables: &BTreeMap<String, String>,
        secrets: &HashMap<ConnectionId, Secrets>,
        schemas: &HashMap<String, Schema>,
        call: CallId,
    ) -> Self {
        let secrets = |tool: &Tool| tool.connection_id.and_then(|id| secrets.get(&id)).cloned();
        let tools = own(agent).map(|tool| Ready::new(&tool, variables, secrets(&tool), schemas)).collect();
        let server = |tool: &Tool| {
            let (filled, secrets) = (filled_in(tool, variables), secrets(tool));
            if let Err(reason) = fits(&filled, secrets.as_ref()) {
                tracing::warn!(reason, "the tools of an MCP server are missing in a call");
                return None;
            }
            Some(Arc::new(mcp::Server::new(client.clone(), &filled, secrets, shared, call)))
        };
        let servers = agent.tools.iter().filter(|tool| tool.kind == ToolKind::Mcp).filter_map(server).collect();
        Self { client, tools, servers, remote: OnceCell::new(), call }
    }

    /// Connects to the MCP servers and lists their tools.
    pub async fn get_ready(&self) {
        self.remote().await;
        // Servers whose tools were cached have not been connected to yet.
        let useful = self.servers.iter().filter(|server| self.offers(server));
        futures_util::future::join_all(useful.map(|server| server.warm())).await;
    }

    /// Returns the tools as the model sees them. Waits for MCP servers that have not listed theirs yet.
    pub async fn specs(&self) -> Vec<ToolSpec> {
        let remote = self.remote().await.iter().map(|remote| &remote.spec);
        self.tools.iter().map(|ready| &ready.spec).chain(remote).cloned().collect()
    }

    /// Returns the filler to say while a tool runs.
    #[must_use]
    pub fn filler(&self, name: &str) -> Option<String> {
        let own = self.tools.iter().find(|ready| ready.tool.name() == name).map(|ready| &ready.tool.filler);
        let remote = || self.remote.get()?.iter().find(|remote| remote.spec.name == name).map(|r| &r.server.filler);
        own.or_else(remote).cloned().flatten()
    }

    fn offers(&self, server: &Arc<mcp::Server>) -> bool {
        self.remote.get().is_some_and(|remote| remote.iter().any(|remote| Arc::ptr_eq(&remote.server, server)))
    }

    async fn remote(&self) -> &[Remote] {
        self.remote.get_or_init(|| self.list()).await
    }

    async fn list(&self) -> Vec<Remote> {
        let lists = futures_util::future::join_all(self.servers.iter().map(|server| server.tools())).await;
        let mut taken: HashSet<String> = self.tools.iter().map(|ready| ready.tool.name().to_owned()).collect();
        let mut all = Vec::new();
        for (server, listed) in self.servers.iter().zip(lists) {
            for tool in listed.iter() {
                let name = mcp::called(&tool.name, &server.prefix, &taken);
                taken.insert(name.clone());
                let (description, parameters) = (tool.description.clone(), tool.parameters.clone());
                let spec = ToolSpec { name, description, parameters };
                let (server, name, schema) = (server.clone(), tool.name.clone(), tool.schema.clone());
                all.push(Remote { server, name, spec, schema });
            }
        }
        all.truncate(MOST_TOOLS.saturating_sub(self.tools.len()));
        all
    }

    /// Runs a tool call, or prepares it if it takes a while.
    pub(super) fn run(&self, call: &ToolCall) -> ToolOutcome {
        if let Some(wrong) = not_an_object(&call.arguments) {
            return ToolOutcome::Result(wrong);
        }
        let remote = self.remote.get().and_then(|remote| remote.iter().find(|remote| remote.spec.name == call.name));
        if let Some(remote) = remote {
            return remote.run(&call.arguments);
        }
        let Some(ready) = self.tools.iter().find(|ready| ready.tool.name() == call.name) else {
            return ToolOutcome::Result(error("There is no such tool."));
        };
        // The schemas of HTTP tools are customers' own: their arguments are validated later, before the request.
        let own = ready.parameters.as_ref().filter(|_| ready.tool.kind != ToolKind::Http);
        if let Some(wrong) = own.and_then(|schema| wrong(&schema.problems_at_once(&call.arguments))) {
            return ToolOutcome::Result(wrong);
        }
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        match ready.tool.kind {
            ToolKind::EndCall => ToolOutcome::Result(json!({ "ok": true })),
            ToolKind::SendDtmf => {
                ToolOutcome::CarrierRequest(CarrierRequest::SendDtmf(text("digits").to_owned()), json!({ "ok": true }))
            }
            ToolKind::Transfer => {
                let named = |name: &str| ready.tool.destinations.iter().find(|to| to.name == name);
                match named(text("destination")) {
                    Some(destination) => ToolOutcome::Transfer(destination.number.clone()),
                    None => ToolOutcome::Result(error("There is no such destination.")),
                }
            }
            ToolKind::Http => match ready.request(&call.arguments, self.call) {
                Ok(request) => {
                    let deadline = Duration::from_secs(ready.tool.timeout_seconds().into());
                    let check = Check { schema: ready.parameters.clone(), arguments: call.arguments.clone() };
                    ToolOutcome::Http(Box::new(HttpCall { client: self.client.clone(), request, deadline, check }))
                }
                Err(words) => ToolOutcome::Result(error(&words)),
            },
            // The server's tools have their own names.
            ToolKind::Mcp => ToolOutcome::Result(error("There is no such tool.")),
        }
    }
}

/// Returns an error for the model if the arguments are not an object; a string holds text that is not valid JSON.
fn not_an_object(arguments: &Value) -> Option<Value> {
    match arguments {
        Value::Object(_) => None,
        Value::String(text) => {
            let reason = serde_json::from_str::<Value>(text).err().map(|error| error.to_string());
            let reason = reason.unwrap_or_else(|| "it is no object".to_owned());
            Some(error(&format!("The arguments are not JSON: {reason}. Call the tool again with one JSON object.")))
        }
        _ => Some(error("The arguments must be a JSON object. Call the tool again with one.")),
    }
}

/// Returns the error for the model if there are problems with the arguments.
fn wrong(problems: &[String]) -> Option<Value> {
    (!problems.is_empty()).then(|| error(&format!("The arguments are wrong: {}.", problems.join("; "))))
}

/// Checks that a tool with its address filled in may use its secrets: its connection exists, and permits that address.
fn fits(tool: &Tool, secrets: Option<&Secrets>) -> Result<(), String> {
    match (tool.connection_id, secrets) {
        (None, _) => Ok(()),
        (Some(_), None) => Err("its connection is missing".to_owned()),
        (Some(_), Some(secrets)) => secrets.fit(tool.url.as_deref().unwrap_or_default()),
    }
}

/// Returns the tool with the variables in its address and headers filled in.
fn filled_in(tool: &Tool, variables: &BTreeMap<String, String>) -> Tool {
    let encoded = variables.iter().map(|(name, value)| (name.clone(), percent_encoded(value))).collect();
    let mut tool = tool.clone();
    tool.url = tool.url.map(|url| fill_in(&url, &encoded));
    for value in tool.headers.values_mut() {
        *value = fill_in(value, variables);
    }
    tool
}

impl Remote {
    fn run(&self, arguments: &Value) -> ToolOutcome {
        match arguments {
            Value::Object(fields) => {
                let check = Check { schema: Some(self.schema.clone()), arguments: arguments.clone() };
                let (server, tool, arguments) = (self.server.clone(), self.name.clone(), fields.clone());
                ToolOutcome::Mcp(mcp::McpCall { server, tool, arguments, check })
            }
            other => ToolOutcome::Result(not_an_object(other).unwrap_or_else(|| error("There is no such tool."))),
        }
    }
}

impl Ready {
    fn new(
        tool: &Tool,
        variables: &BTreeMap<String, String>,
        secrets: Option<Secrets>,
        schemas: &HashMap<String, Schema>,
    ) -> Self {
        let tool = filled_in(tool, variables);
        let (spec, original) = (spec(&tool), parameters(&tool));
        let compiled = schemas.get(tool.name()).filter(|_| tool.kind == ToolKind::Http);
        let parameters = compiled.cloned().or_else(|| Schema::new(&original).ok());
        Self { tool, spec, parameters, secrets }
    }

    fn request(&self, arguments: &Value, call: CallId) -> Result<Request, String> {
        let unusable = |what: &str| format!("The tool cannot be used: its {what} of no use.");
        if let Err(reason) = fits(&self.tool, self.secrets.as_ref()) {
            tracing::warn!(reason, tool = self.tool.name(), "a tool cannot be used");
            return Err(unusable("address is"));
        }
        let method = self.tool.method.unwrap_or_default();
        let mut url =
            self.tool.url.as_deref().and_then(|url| url::Url::parse(url).ok()).ok_or_else(|| unusable("address is"))?;
        let mut headers = HeaderMap::new();
        headers.insert(CALL_HEADER, HeaderValue::from_str(&call.to_string()).map_err(|_| unusable("call is"))?);
        for (name, value) in &self.tool.headers {
            let parsed = name.parse::<HeaderName>().ok().zip(HeaderValue::from_str(value).ok());
            let (name, value) = parsed.ok_or_else(|| unusable("headers are"))?;
            headers.insert(name, value);
        }
        headers.extend(self.secrets.iter().flat_map(|secrets| secrets.headers.clone()));
        let body = match method {
            HttpMethod::Get => {
                let pairs = arguments.as_object().into_iter().flatten().map(|(name, value)| (name, in_query(value)));
                let pairs: Vec<(&String, String)> = pairs.collect();
                if !pairs.is_empty() {
                    url.query_pairs_mut().extend_pairs(pairs);
                }
                None
            }
            HttpMethod::Post => {
                headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
                Some(arguments.to_string().into_bytes())
            }
        };
        let method = if method == HttpMethod::Get { Method::GET } else { Method::POST };
        Ok(Request { method, url: url.into(), headers, body })
    }
}

impl HttpCall {
    /// Returns whether the request may have effects, by its method (RFC 9110 section 9.2.1).
    pub(super) fn has_effects(&self) -> bool {
        !self.request.method.is_safe()
    }

    /// Returns the result for the model.
    pub(super) async fn run(self) -> Value {
        if let Some(wrong) = self.check.wrong().await {
            return wrong;
        }
        match self.client.ask(self.request, self.deadline).await {
            Ok(page) => strip_nul_value(tool_result(&page)),
            // The message may name the address, which the caller must not hear.
            Err(failure) => {
                tracing::warn!(error = %failure, "could not reach a tool's service");
                error(if matches!(failure, SendError::Timeout(_)) { LATE } else { UNREACHABLE })
            }
        }
    }
}

/// Returns JSON as it is, anything else as text.
fn tool_result(page: &Page) -> Value {
    let body = page.text();
    let text = || body.chars().take(MAX_TEXT).collect::<String>();
    let read = || lenient_json::from_str::<Value>(&body).ok().filter(|_| page.whole);
    match page.status {
        204 => json!({ "ok": true }),
        200..=299 if page.body.is_empty() => json!({ "ok": true }),
        200..=299 => {
            read().unwrap_or_else(|| json!({ "text": text(), "whole": page.whole && body.chars().count() <= MAX_TEXT }))
        }
        status => {
            let mut result = json!({ "error": format!("The service responded with status {status}."), "text": text() });
            if let Some(when) = &page.retry_after {
                result["retry_after"] = json!(when);
            }
            result
        }
    }
}

fn error(words: &str) -> Value {
    json!({ "error": words })
}

fn usual_description(tool: &Tool) -> &'static str {
    match tool.kind {
        ToolKind::EndCall => {
            "Ends the phone call. Say goodbye in the same answer, and use this only when the caller is done."
        }
        ToolKind::Transfer => {
            "Passes the caller on to somebody else and ends your part of the call. Say in the same answer that you are \
             putting them through."
        }
        ToolKind::SendDtmf => "Presses keys on the phone, for example in the menu of a machine that answered.",
        ToolKind::Http | ToolKind::Mcp => "",
    }
}

fn parameters(tool: &Tool) -> Value {
    let object = |properties: Value| {
        let required: Vec<String> =
            properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    match tool.kind {
        ToolKind::EndCall => object(json!({})),
        ToolKind::Transfer => {
            let names: Vec<&str> = tool.destinations.iter().map(|to| to.name.as_str()).collect();
            object(json!({ "destination": { "type": "string", "enum": names } }))
        }
        ToolKind::SendDtmf => {
            let words = "0 to 9, *, #, A to D; w is a pause of half a second.";
            object(json!({ "digits": { "type": "string", "pattern": "^[0-9*#A-Dw]{1,64}$", "description": words } }))
        }
        ToolKind::Http | ToolKind::Mcp => tool.parameters.clone().unwrap_or_else(|| object(Value::Object(Map::new()))),
    }
}

/// Returns a tool in the form that the model sees.
fn spec(tool: &Tool) -> ToolSpec {
    ToolSpec {
        name: tool.name().to_owned(),
        description: tool.description.clone().unwrap_or_else(|| usual_description(tool).to_owned()),
        parameters: for_model(&parameters(tool)),
    }
}

/// Returns the tools that requests of an agent's calls have, except those of MCP servers, which are listed when a call begins.
#[must_use]
pub fn own_specs(agent: &AgentConfig) -> Vec<ToolSpec> {
    own(agent).map(|tool| spec(&tool)).collect()
}

/// Returns the agent's tools except MCP servers. Every agent can end the call.
fn own(agent: &AgentConfig) -> impl Iterator<Item = Cow<'_, Tool>> {
    let ends = agent.tools.iter().any(|tool| tool.kind == ToolKind::EndCall);
    let added = (!ends).then(|| Cow::Owned(Tool::new(ToolKind::EndCall)));
    added.into_iter().chain(agent.tools.iter().filter(|tool| tool.kind != ToolKind::Mcp).map(Cow::Borrowed))
}

/// Returns text as it is, everything else as JSON.
fn in_query(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Encodes everything but unreserved characters (RFC 3986 section 2.3), so that a value cannot change the path.
fn percent_encoded(text: &str) -> String {
    if matches!(text, "." | "..") {
        return String::new();
    }
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| if unreserved(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || switchhook_fuzz::each_alone(&[r##"{"ok":true,"day":"Friday"}"##, r##"Booked."##, r##"[1,2,3]"##]),
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |body| {
            let page = |status, retry_after: Option<&str>| Page {
                status,
                retry_after: retry_after.map(str::to_owned),
                content_type: None,
                body: body.to_vec(),
                whole: true,
            };
            let results = [tool_result(&page(200, None)), tool_result(&page(503, Some("3")))];
            Ok::<_, ()>(results.into_iter().map(|result| strip_nul_value(result).to_string().len()).sum())
        })
    },
};

#[cfg(test)]
mod tests {
    use switchhook_core::agent::Destination;
    use switchhook_core::id::AgentId;
    use uuid::Uuid;

    use super::*;
    use crate::config::Config;

    fn toolbox(tools: Vec<Tool>, variables: &[(&str, &str)]) -> Toolbox {
        let config = Config::for_tests("/nonexistent");
        let client =
            Client::new(&config.network(), &"127.0.0.0/8,http".parse().expect("valid"), Duration::from_secs(5));
        let agent = AgentConfig { tools, ..AgentConfig::new("x") };
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let agent_id = AgentId::from_uuid(Uuid::nil());
        let shared = Shared { lists: Arc::default(), agent: agent_id, version: 1 };
        Toolbox::new(
            client.expect("a client"),
            &shared,
            &agent,
            &variables,
            &HashMap::new(),
            &HashMap::new(),
            CallId::from_uuid(Uuid::nil()),
        )
    }

    fn called(toolbox: &Toolbox, name: &str, arguments: Value) -> ToolOutcome {
        let (id, signature) = ("c".to_owned(), None);
        toolbox.run(&ToolCall { id, name: name.to_owned(), arguments, signature })
    }

    fn wrong(outcome: ToolOutcome) -> String {
        match outcome {
            ToolOutcome::Result(value) => value["error"].as_str().expect("an error").to_owned(),
            _ => panic!("nothing is to be done"),
        }
    }

    #[tokio::test]
    async fn arguments_are_checked_before_anything_is_done() {
        let reception = Destination { name: "reception".to_owned(), number: "+12025550142".to_owned() };
        let transfer = Tool { destinations: vec![reception], ..Tool::new(ToolKind::Transfer) };
        let schema = json!({ "type": "object", "required": ["day"], "properties": { "day": { "type": "string" } } });
        let url = Some("https://example.com/{{branch}}".to_owned());
        let tables =
            Tool { name: Some("tables".to_owned()), url, parameters: Some(schema), ..Tool::new(ToolKind::Http) };
        let get =
            Tool { name: Some("get".to_owned()), method: Some(HttpMethod::Get), parameters: None, ..tables.clone() };
        let get = Tool { parameters: Some(json!({ "type": "object" })), ..get };
        let tools = vec![transfer, Tool::new(ToolKind::SendDtmf), tables, get];
        let toolbox = toolbox(tools, &[("branch", "../a b?c=d")]);
        let names: Vec<String> = toolbox.specs().await.into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, ["end_call", "transfer", "send_dtmf", "tables", "get"], "every agent can end the call");

        assert!(
            matches!(called(&toolbox, "transfer", json!({ "destination": "reception" })), ToolOutcome::Transfer(to) if to == "+12025550142")
        );
        assert!(wrong(called(&toolbox, "transfer", json!({ "destination": "+12025550199" }))).contains("/destination"));
        let keys = called(&toolbox, "send_dtmf", json!({ "digits": "1w2#" }));
        assert!(matches!(keys, ToolOutcome::CarrierRequest(CarrierRequest::SendDtmf(keys), _) if keys == "1w2#"));
        assert!(wrong(called(&toolbox, "send_dtmf", json!({ "digits": "one" }))).contains("/digits"));
        let ToolOutcome::Http(asking) = called(&toolbox, "tables", json!({ "day": 1 })) else {
            panic!("it is to be asked")
        };
        assert!(
            wrong(ToolOutcome::Result(asking.run().await)).contains("/day"),
            "and is not, since it has no such argument"
        );
        assert!(wrong(called(&toolbox, "made_up", json!({}))).contains("no such tool"));
        for (written, words) in [
            (json!("{\"day\":\"Fri"), "not JSON: EOF while parsing a string at line 1 column 11"),
            (json!("{\"day\":1}{\"day\":1}"), "not JSON: trailing characters"),
            (json!(["Friday"]), "must be a JSON object"),
        ] {
            for name in ["tables", "get", "transfer", "send_dtmf"] {
                let error = wrong(called(&toolbox, name, written.clone()));
                assert!(error.contains(words) && error.contains("again"), "{name}: {error}");
            }
        }

        let ToolOutcome::Http(asking) = called(&toolbox, "tables", json!({ "day": "Friday" })) else {
            panic!("it is asked")
        };
        assert_eq!(asking.request.url, "https://example.com/..%2Fa%20b%3Fc%3Dd", "a variable leads nowhere else");
        assert_eq!(asking.request.body.as_deref(), Some(&br#"{"day":"Friday"}"#[..]));
        let ToolOutcome::Http(asking) = called(&toolbox, "get", json!({ "day": "Fri & Sat", "n": [1] })) else {
            panic!("asked")
        };
        assert!(asking.request.url.ends_with("?day=Fri+%26+Sat&n=%5B1%5D") && asking.request.body.is_none());
    }

    #[test]
    fn answers_are_reported_as_json_or_text_and_no_more_than_fits() {
        let page = |status, body: &str, whole| {
            tool_result(&Page { status, retry_after: None, content_type: None, body: body.as_bytes().to_vec(), whole })
        };
        assert_eq!(page(200, "{\"free\":7}", true), json!({ "free": 7 }));
        assert_eq!(page(200, "\u{feff}{\"free\":7}", true), json!({ "free": 7 }), "a byte order mark is no part of it");
        let half = page(200, r#"{"said":"Booked \ud83d"}"#, true);
        assert_eq!(half, json!({ "said": "Booked \u{fffd}" }), "half a character hides nothing else");
        assert_eq!(page(200, "seven", true), json!({ "text": "seven", "whole": true }));
        assert_eq!(page(204, "", true), json!({ "ok": true }));
        assert_eq!(page(500, "Oh.", true), json!({ "error": "The service responded with status 500.", "text": "Oh." }));
        let long = page(200, &"x".repeat(5_000), false);
        assert_eq!((long["whole"].as_bool(), long["text"].as_str().map(str::len)), (Some(false), Some(MAX_TEXT)));
    }
}
