//! Tools that the model may call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema;
use super::validate::Check;
use crate::header::is_framing;
use crate::id::ConnectionId;
use crate::phone_number::PhoneNumber;

/// How long a tool may take when it does not say, in seconds.
const USUAL_TIMEOUT: u32 = 8;
const MAX_HEADERS: usize = 20;
const MAX_DESTINATIONS: usize = 20;
/// Tools that are chosen of one MCP server; as many as it may add.
const MAX_CHOSEN: usize = 64;
/// The longest address, in bytes.
const MAX_URL: usize = 2_048;

/// A tool the model may call. Which fields a tool has depends on its `type`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tool {
    /// What it does.
    #[serde(rename = "type")]
    pub kind: ToolKind,
    /// When the model should use it. Tools of an `mcp` server come with their own.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    pub description: Option<String>,
    /// Of `http`: what the model calls it by; letters, digits, `_` and `-`. Of `mcp`: what is put in front of the names of
    /// its tools where they are taken; the server's host when absent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$", example = "free_tables"))]
    pub name: Option<String>,
    /// Of `http`: JSON Schema of its arguments, an object; none when absent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub parameters: Option<Value>,
    /// Of `http` and `mcp`: where it is asked. `{{variable}}` is replaced by the call's variable, percent-encoded.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 2048, example = "https://example.com/tables"))]
    pub url: Option<String>,
    /// Of `http`: `POST` sends the arguments as a JSON body, `GET` as query parameters.
    #[serde(default)]
    pub method: Option<HttpMethod>,
    /// Of `http` and `mcp`: a connection to `http`, whose credentials are sent as further headers. Nobody can read those.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    pub connection_id: Option<ConnectionId>,
    /// Of `http` and `mcp`: further headers, in which `{{variable}}` is replaced. Whoever may read the agent may read them:
    /// secrets belong into a connection.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Of `http` and `mcp`: how long it may take, in seconds, 1 to 10; 8 when absent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10))]
    pub timeout_seconds: Option<u32>,
    /// Of `http` and `mcp`: said while it runs, unless the model has said something itself.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 1_000, example = "Let me look that up."))]
    pub filler: Option<String>,
    /// Of `mcp`: the names of the server's tools that are used; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    pub tools: Vec<String>,
    /// Of `transfer`: whom the caller may be passed on to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 20))]
    pub destinations: Vec<Destination>,
}

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Ends the call once the goodbye has been heard. Every agent has it; listing it changes its description.
    EndCall,
    /// Asks a web service, and tells the model what it answers.
    Http,
    /// Adds the tools of an MCP server, which is asked over streamable HTTP.
    Mcp,
    /// Passes the caller on, once what the agent says has been heard.
    Transfer,
    /// Presses keys.
    SendDtmf,
}

/// How a tool's service is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// The arguments are query parameters.
    Get,
    /// The arguments are the body, as JSON.
    #[default]
    Post,
}

/// Somebody whom a caller can be passed on to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Destination {
    /// What the model calls it by.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200, example = "reception"))]
    pub name: String,
    /// In E.164 form, or a `sip:` URI.
    #[cfg_attr(
        feature = "openapi",
        schema(
            max_length = 255,
            pattern = r"^(\+[1-9][0-9]{6,14}|sips?:([!-?A-~]+@)?[0-9A-Za-z\[][!-?A-~]*)$",
            example = "+12025550142"
        )
    )]
    pub number: String,
}

impl Tool {
    /// A tool of this kind and nothing else.
    #[must_use]
    pub fn new(kind: ToolKind) -> Self {
        Self {
            kind,
            description: None,
            name: None,
            parameters: None,
            url: None,
            method: None,
            connection_id: None,
            headers: BTreeMap::new(),
            timeout_seconds: None,
            filler: None,
            tools: Vec::new(),
            destinations: Vec::new(),
        }
    }

    /// What the model calls it by; the tools of an `mcp` server have names of their own.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.kind {
            ToolKind::EndCall => "end_call",
            ToolKind::Transfer => "transfer",
            ToolKind::SendDtmf => "send_dtmf",
            ToolKind::Http | ToolKind::Mcp => self.name.as_deref().unwrap_or_default(),
        }
    }

    /// How long it may take, in seconds.
    #[must_use]
    pub fn timeout_seconds(&self) -> u32 {
        self.timeout_seconds.unwrap_or(USUAL_TIMEOUT)
    }

    pub(super) fn check(&self, path: &str, check: &mut Check) {
        check.text(&format!("{path}.description"), self.description.as_deref().unwrap_or_default());
        self.check_belonging(path, check);
        match self.kind {
            ToolKind::Http => self.check_http(path, check),
            ToolKind::Mcp => self.check_mcp(path, check),
            ToolKind::Transfer => self.check_transfer(path, check),
            ToolKind::EndCall | ToolKind::SendDtmf => {}
        }
    }

    /// Fields of another type would have no effect, and whoever wrote them thinks they have one.
    fn check_belonging(&self, path: &str, check: &mut Check) {
        let http = self.kind == ToolKind::Http;
        let asks = http || self.kind == ToolKind::Mcp;
        for (field, given, fits, kinds) in [
            ("name", self.name.is_some(), asks, "http and mcp"),
            ("parameters", self.parameters.is_some(), http, "http"),
            ("url", self.url.is_some(), asks, "http and mcp"),
            ("method", self.method.is_some(), http, "http"),
            ("connection_id", self.connection_id.is_some(), asks, "http and mcp"),
            ("headers", !self.headers.is_empty(), asks, "http and mcp"),
            ("timeout_seconds", self.timeout_seconds.is_some(), asks, "http and mcp"),
            ("filler", self.filler.is_some(), asks, "http and mcp"),
            ("tools", !self.tools.is_empty(), self.kind == ToolKind::Mcp, "mcp"),
        ] {
            check.that(&format!("{path}.{field}"), fits || !given, &format!("belongs to tools of type {kinds}"));
        }
        let described = self.kind == ToolKind::Mcp && self.description.is_some();
        check.that(&format!("{path}.description"), !described, "is what the server says of its tools");
        let fits = self.kind == ToolKind::Transfer || self.destinations.is_empty();
        check.that(&format!("{path}.destinations"), fits, "belongs to tools of type transfer");
    }

    fn check_http(&self, path: &str, check: &mut Check) {
        let at = |field: &str| format!("{path}.{field}");
        let own = ["end_call", "transfer", "send_dtmf"].contains(&self.name());
        let words = "must be 1 to 64 letters, digits, _ and -, not begin with a digit or -, and not be a type of tool";
        check.that(&at("name"), is_name(self.name()) && !own, words);
        self.check_service(path, check);
        if let Some(parameters) = &self.parameters {
            check.0.extend(schema::check(&at("parameters"), parameters));
            let object = parameters.get("type").is_some_and(|kind| kind == "object");
            check.that(&at("parameters.type"), object || !parameters.is_object(), "must be object");
        }
    }

    fn check_mcp(&self, path: &str, check: &mut Check) {
        let words = "must be 1 to 64 letters, digits, _ and -, and not begin with a digit or -";
        check.that(&format!("{path}.name"), self.name.as_deref().is_none_or(is_name), words);
        self.check_service(path, check);
        let path = format!("{path}.tools");
        check.that(&path, self.tools.len() <= MAX_CHOSEN, &format!("may have at most {MAX_CHOSEN} entries"));
        for (i, name) in self.tools.iter().enumerate().take(MAX_CHOSEN) {
            check.word(&format!("{path}.{i}"), Some(name));
            check.that(&format!("{path}.{i}"), !self.tools[..i].contains(name), "is in the list already");
        }
    }

    /// Where and how a service is asked.
    fn check_service(&self, path: &str, check: &mut Check) {
        let at = |field: &str| format!("{path}.{field}");
        let url = self.url.as_deref().unwrap_or_default();
        // What its variables are filled in with is judged when it is asked.
        let parses = url::Url::parse(&url.replace("{{", "").replace("}}", ""));
        let fits = url.len() <= MAX_URL && parses.is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        check.that(&at("url"), fits, "must be an http or https address");
        // A variable is anybody's who may place a call, and would take the secrets along.
        let host =
            url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '\\', '?', '#']).next().unwrap_or_default());
        let fixed = self.connection_id.is_none() || !host.contains("{{");
        check.that(&at("url"), fixed, "must have no variable in its host when it comes with a connection_id");
        check.optional(&at("timeout_seconds"), self.timeout_seconds, 1..=10);
        let filler = self.filler.as_deref().unwrap_or_default();
        check.that(&at("filler"), filler.chars().count() <= 1_000, "must be at most 1000 characters");
        check.that(
            &at("headers"),
            self.headers.len() <= MAX_HEADERS,
            &format!("may have at most {MAX_HEADERS} entries"),
        );
        for (name, value) in self.headers.iter().take(MAX_HEADERS) {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let named = !name.is_empty() && name.len() <= 200 && name.bytes().all(token);
            let written = value.len() <= 4_096 && value.bytes().all(|byte| (b' '..0x7f).contains(&byte));
            let path = at(&format!("headers.{name}"));
            check.that(&path, named && written, "must be an HTTP header of visible characters");
            check.that(&path, !is_framing(name), "frames or routes the request, which is not for a tool to say");
        }
    }

    fn check_transfer(&self, path: &str, check: &mut Check) {
        let path = format!("{path}.destinations");
        let count = self.destinations.len();
        let words = format!("must have 1 to {MAX_DESTINATIONS} entries");
        check.that(&path, (1..=MAX_DESTINATIONS).contains(&count), &words);
        for (i, destination) in self.destinations.iter().enumerate().take(MAX_DESTINATIONS) {
            check.word(&format!("{path}.{i}.name"), Some(&destination.name));
            let number = destination.number.parse::<PhoneNumber>();
            let words = "must be a phone number in E.164 form, such as +12025550100, or a sip: URI";
            check.that(&format!("{path}.{i}.number"), number.is_ok(), words);
            let again = self.destinations[..i].iter().any(|earlier| earlier.name == destination.name);
            check.that(&format!("{path}.{i}.name"), !again, "is in the list already");
        }
    }
}

/// What every provider takes as the name of a tool.
fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    first && name.len() <= 64 && name.bytes().all(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::AgentConfig;

    fn errors(tools: Value) -> Vec<String> {
        let mut agent = AgentConfig::new("x");
        agent.tools = serde_json::from_value(tools).expect("tools");
        agent.validate().into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn tools_have_what_their_type_needs_and_nothing_else() {
        let table = json!({ "type": "http", "name": "tables", "url": "https://example.com/{{branch}}/tables" });
        let reception = json!({ "name": "reception", "number": "+12025550142" });
        let id = "0198c6a0-0000-7000-8000-000000000000";
        let fine = json!([
            table, { "type": "end_call" }, { "type": "send_dtmf" }, { "type": "transfer", "destinations": [reception] },
            { "type": "mcp", "url": "https://mcp.example.com/{{branch}}", "tools": ["book"], "filler": "One moment." },
            {
                "type": "mcp", "name": "crm", "url": "https://mcp.example.com/{{branch}}", "timeout_seconds": 5,
                "connection_id": id,
            },
        ]);
        assert_eq!(errors(fine), [""; 0]);
        let with = |field: &str, value: Value| {
            let mut tool = table.clone();
            tool[field] = value;
            json!([tool])
        };
        let mcp = json!({ "type": "mcp", "url": "https://mcp.example.com" });
        let mcp_with = |field: &str, value: Value| {
            let mut tool = mcp.clone();
            tool[field] = value;
            tool
        };
        for (tools, path) in [
            (json!([{ "type": "http", "url": "https://example.com" }]), "tools.0.name"),
            (with("name", json!("end_call")), "tools.0.name"),
            (with("url", json!("ftp://example.com")), "tools.0.url"),
            (with("timeout_seconds", json!(11)), "tools.0.timeout_seconds"),
            (with("headers", json!({ "a b": "x" })), "tools.0.headers.a b"),
            (with("headers", json!({ "a": "x\r\nb: y" })), "tools.0.headers.a"),
            (with("headers", json!({ "Content-Length": "1" })), "tools.0.headers.Content-Length"),
            (
                json!([mcp_with("headers", json!({ "proxy-authorization": "a" }))]),
                "tools.0.headers.proxy-authorization",
            ),
            (with("parameters", json!({ "type": "string" })), "tools.0.parameters.type"),
            (with("destinations", json!([reception])), "tools.0.destinations"),
            (json!([table, table]), "tools.1.name"),
            (json!([{ "type": "end_call" }, { "type": "end_call" }]), "tools.1.type"),
            (json!([{ "type": "end_call", "url": "https://example.com" }]), "tools.0.url"),
            (json!([{ "type": "end_call", "connection_id": id }]), "tools.0.connection_id"),
            (
                json!([{ "type": "mcp", "url": "https://{{shop}}.example.com/{{branch}}", "connection_id": id }]),
                "tools.0.url",
            ),
            (json!([{ "type": "transfer" }]), "tools.0.destinations"),
            (with("tools", json!(["book"])), "tools.0.tools"),
            (json!([{ "type": "mcp" }]), "tools.0.url"),
            (json!([mcp, mcp]), "tools.1.url"),
            (json!([mcp_with("name", json!("1 2"))]), "tools.0.name"),
            (json!([table, mcp_with("name", json!("tables"))]), "tools.1.name"),
            (json!([mcp_with("description", json!("Books."))]), "tools.0.description"),
            (json!([mcp_with("parameters", json!({ "type": "object" }))]), "tools.0.parameters"),
            (json!([mcp_with("tools", json!(["book", "book"]))]), "tools.0.tools.1"),
            (
                json!([{ "type": "transfer", "destinations": [{ "name": "a", "number": "12" }] }]),
                "tools.0.destinations.0.number",
            ),
            (json!([{ "type": "transfer", "destinations": [reception, reception] }]), "tools.0.destinations.1.name"),
        ] {
            assert_eq!(errors(tools.clone()), [path], "{tools}");
        }
    }
}
