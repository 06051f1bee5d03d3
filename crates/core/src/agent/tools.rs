//! Tools that the model can call.

mod typed;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub(super) use self::typed::TypedTool;
use super::schema;
use super::validate::Check;
use crate::entered::trimmed;
use crate::header::is_framing;
use crate::id::ConnectionId;
use crate::phone_number::PhoneNumber;
use crate::webhook::{UrlRefusal, entered_url};

/// The tool that presses keys.
pub const SEND_DTMF: &str = "send_dtmf";
/// Default timeout of a tool, in seconds.
const USUAL_TIMEOUT: u32 = 8;
const MAX_HEADERS: usize = 20;
const MAX_DESTINATIONS: usize = 20;
/// Maximum tools selected from one MCP server.
const MAX_CHOSEN: usize = 64;
/// Maximum length of a URL, in bytes.
const MAX_URL: usize = 2_048;

/// A tool for the model, as it was entered: `type` decides which fields apply, and validation refuses the others. It is returned as a
/// [`TypedTool`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "TypedTool")]
pub struct Tool {
    /// Type of the tool.
    #[serde(rename = "type")]
    pub kind: ToolKind,
    /// When the model should use it; tools of an `mcp` server have their own.
    #[serde(default)]
    pub description: Option<String>,
    /// For `http`: the tool's name. For `mcp`: prefix for names already taken; defaults to the server's host.
    #[serde(default)]
    pub name: Option<String>,
    /// For `http`: JSON Schema of the arguments.
    #[serde(default)]
    pub parameters: Option<Value>,
    /// For `http` and `mcp`.
    #[serde(default, deserialize_with = "as_used")]
    pub url: Option<String>,
    /// For `http`.
    #[serde(default)]
    pub method: Option<HttpMethod>,
    /// For `http` and `mcp`: an `http` connection whose credentials are sent as headers.
    #[serde(default)]
    pub connection_id: Option<ConnectionId>,
    /// For `http` and `mcp`: extra headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// For `http` and `mcp`.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
    /// For `http` and `mcp`: spoken while the tool runs, unless the model already spoke.
    #[serde(default)]
    pub filler: Option<String>,
    /// For `mcp`: tools to use; all if empty.
    #[serde(default)]
    pub tools: Vec<String>,
    /// For `transfer`: the targets.
    #[serde(default)]
    pub destinations: Vec<Destination>,
}

/// The type of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Ends the call once the caller has heard the goodbye. Every agent has it; list it to change its description.
    EndCall,
    /// Calls a web service and gives the response to the model.
    Http,
    /// Adds the tools of an MCP server, over streamable HTTP.
    Mcp,
    /// Transfers the caller once they have heard the agent's words.
    Transfer,
    /// Sends DTMF.
    SendDtmf,
}

/// The HTTP method of a tool's request: `POST`, the default, sends arguments as JSON, `GET` as query parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// Sends the arguments as query parameters.
    Get,
    /// Sends the arguments as a JSON body.
    #[default]
    Post,
}

/// A transfer target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Destination {
    /// Name for the model.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200, example = "reception"))]
    pub name: String,
    /// E.164 number or `sip:` URI.
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

/// An address as requests use it. One with variables, or that [`Tool::check_service`] refuses, only loses the blanks around it.
fn as_used<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| match entered_url(&text) {
        Ok(url) if !text.contains("{{") => url,
        _ => trimmed(&text).to_owned(),
    }))
}

/// An address whose `{{variables}}` are their names.
fn without_braces(url: &str) -> String {
    let mut plain = String::new();
    let mut rest = url;
    while let Some((before, (name, behind))) =
        rest.split_once("{{").and_then(|(before, behind)| Some((before, behind.split_once("}}")?)))
    {
        plain.push_str(before);
        plain.push_str(name.trim());
        rest = behind;
    }
    plain + rest
}

impl Tool {
    /// Creates a tool of this type without other fields.
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

    /// Returns the name that the model uses; tools of an `mcp` server have their own names.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.kind {
            ToolKind::EndCall => "end_call",
            ToolKind::Transfer => "transfer",
            ToolKind::SendDtmf => SEND_DTMF,
            ToolKind::Http | ToolKind::Mcp => self.name.as_deref().unwrap_or_default(),
        }
    }

    /// Returns its timeout in seconds.
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

    /// Rejects fields that have no effect for this type.
    fn check_belonging(&self, path: &str, check: &mut Check) {
        let http = self.kind == ToolKind::Http;
        let remote = http || self.kind == ToolKind::Mcp;
        for (field, given, fits, kinds) in [
            ("name", self.name.is_some(), remote, "http and mcp"),
            ("parameters", self.parameters.is_some(), http, "http"),
            ("url", self.url.is_some(), remote, "http and mcp"),
            ("method", self.method.is_some(), http, "http"),
            ("connection_id", self.connection_id.is_some(), remote, "http and mcp"),
            ("headers", !self.headers.is_empty(), remote, "http and mcp"),
            ("timeout_seconds", self.timeout_seconds.is_some(), remote, "http and mcp"),
            ("filler", self.filler.is_some(), remote, "http and mcp"),
            ("tools", !self.tools.is_empty(), self.kind == ToolKind::Mcp, "mcp"),
        ] {
            check.that(&format!("{path}.{field}"), fits || !given, &format!("applies only to tools of type {kinds}"));
        }
        let described = self.kind == ToolKind::Mcp && self.description.is_some();
        check.that(&format!("{path}.description"), !described, "is not allowed: the server describes its tools");
        let fits = self.kind == ToolKind::Transfer || self.destinations.is_empty();
        check.that(&format!("{path}.destinations"), fits, "applies only to tools of type transfer");
    }

    fn check_http(&self, path: &str, check: &mut Check) {
        let at = |field: &str| format!("{path}.{field}");
        let own = ["end_call", "transfer", "send_dtmf"].contains(&self.name());
        let words =
            "must be 1 to 64 letters, digits, _ and -, must not start with a digit or -, and must not be a tool type";
        check.that(&at("name"), is_name(self.name()) && !own, words);
        self.check_service(path, check);
        if let Some(parameters) = &self.parameters {
            check.0.extend(schema::check(&at("parameters"), parameters));
            let object = parameters.get("type").is_some_and(|kind| kind == "object");
            check.that(&at("parameters.type"), object || !parameters.is_object(), "must be object");
        }
    }

    fn check_mcp(&self, path: &str, check: &mut Check) {
        let words = "must be 1 to 64 letters, digits, _ and -, and must not start with a digit or -";
        check.that(&format!("{path}.name"), self.name.as_deref().is_none_or(is_name), words);
        self.check_service(path, check);
        let path = format!("{path}.tools");
        check.that(&path, self.tools.len() <= MAX_CHOSEN, &format!("must have at most {MAX_CHOSEN} entries"));
        for (i, name) in self.tools.iter().enumerate().take(MAX_CHOSEN) {
            check.word(&format!("{path}.{i}"), Some(name));
            check.that(&format!("{path}.{i}"), !self.tools[..i].contains(name), "is a duplicate");
        }
    }

    /// Validates the request of a tool.
    fn check_service(&self, path: &str, check: &mut Check) {
        let at = |field: &str| format!("{path}.{field}");
        let url = self.url.as_deref().unwrap_or_default();
        // The values of its variables are checked when it is called.
        let entered = entered_url(&without_braces(url));
        if entered == Err(UrlRefusal::Characters) {
            check.that(&at("url"), false, &UrlRefusal::Characters.to_string());
        } else {
            let parses = entered.is_ok_and(|url| url.starts_with("http://") || url.starts_with("https://"));
            check.that(&at("url"), url.len() <= MAX_URL && parses, "must be an http or https address");
        }
        // Anyone who can place a call could set the variable and redirect the secrets.
        let host =
            url.split_once("://").map_or("", |(_, rest)| rest.split(['/', '\\', '?', '#']).next().unwrap_or_default());
        let fixed = self.connection_id.is_none() || !host.contains("{{");
        check.that(&at("url"), fixed, "must not have a variable in its host if a connection is set");
        check.optional(&at("timeout_seconds"), self.timeout_seconds, 1..=10);
        let filler = self.filler.as_deref().unwrap_or_default();
        check.that(&at("filler"), filler.chars().count() <= 1_000, "must be at most 1000 characters");
        check.that(
            &at("headers"),
            self.headers.len() <= MAX_HEADERS,
            &format!("must have at most {MAX_HEADERS} entries"),
        );
        for (name, value) in self.headers.iter().take(MAX_HEADERS) {
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let named = !name.is_empty() && name.len() <= 200 && name.bytes().all(token);
            let written = value.len() <= 4_096 && value.bytes().all(|byte| (b' '..0x7f).contains(&byte));
            let path = at(&format!("headers.{name}"));
            check.that(&path, named && written, "must be an HTTP header of visible characters");
            check.that(&path, !is_framing(name), "frames or routes the request and cannot be set");
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
            check.that(&format!("{path}.{i}.name"), !again, "is a duplicate");
        }
    }
}

/// Whether every provider accepts this tool name.
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
    fn an_address_is_kept_as_requests_use_it() {
        for (entered, kept) in [
            (" https://Example.com/a/../tables\n", "https://example.com/tables"),
            ("https://example.com", "https://example.com"),
            (" https://example.com/{{branch}}/../tables ", "https://example.com/{{branch}}/../tables"),
            ("not an address", "not an address"),
        ] {
            let tool = json!({ "type": "http", "name": "tables", "url": entered });
            let tool: Tool = serde_json::from_value(tool).expect("a tool");
            assert_eq!(tool.url.as_deref(), Some(kept), "{entered:?}");
        }
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
