//! A tool as the API returns it: the fields that apply to its type. The document's `Tool` is made from these types.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Destination, HttpMethod, Tool, ToolKind};
use crate::id::ConnectionId;

/// A tool for the model.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Tool))]
#[serde(tag = "type", rename_all = "snake_case")]
pub(in crate::agent) enum TypedTool {
    EndCall(EndCallTool),
    Http(HttpTool),
    Mcp(McpTool),
    SendDtmf(SendDtmfTool),
    Transfer(TransferTool),
}

/// Ends the call once the caller has heard the goodbye. Every agent has it; list it to change its description.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(in crate::agent) struct EndCallTool {
    /// When the model should use it.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    description: Option<String>,
}

/// Sends DTMF.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(in crate::agent) struct SendDtmfTool {
    /// When the model should use it.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    description: Option<String>,
}

/// Transfers the caller once they have heard the agent's words.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(in crate::agent) struct TransferTool {
    /// When the model should use it.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    description: Option<String>,
    /// The targets.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 20))]
    destinations: Vec<Destination>,
}

/// Calls a web service and gives the response to the model.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(in crate::agent) struct HttpTool {
    /// Its name for the model; not the type of a tool.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$", example = "free_tables"))]
    name: String,
    /// When the model should use it.
    #[cfg_attr(feature = "openapi", schema(max_length = 100_000))]
    description: Option<String>,
    /// JSON Schema of the arguments, of type `object`; none if absent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    parameters: Option<Value>,
    /// `{{variable}}` is replaced, percent-encoded.
    #[cfg_attr(feature = "openapi", schema(max_length = 2048, example = "https://example.com/tables"))]
    url: String,
    /// The HTTP method of a tool's request.
    method: Option<HttpMethod>,
    /// An `http` connection whose credentials are sent as headers.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    connection_id: Option<ConnectionId>,
    /// Extra headers; `{{variable}}` is replaced. Visible to anyone who can read the agent: keep secrets in a connection.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Default 8.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10))]
    timeout_seconds: Option<u32>,
    /// Spoken while the tool runs, unless the model already spoke.
    #[cfg_attr(feature = "openapi", schema(max_length = 1_000, example = "Let me look that up."))]
    filler: Option<String>,
}

/// Adds the tools of an MCP server, over streamable HTTP. The server describes them.
#[derive(Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub(in crate::agent) struct McpTool {
    /// Prefix for names already taken; defaults to the server's host.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$", example = "crm"))]
    name: Option<String>,
    /// `{{variable}}` is replaced, percent-encoded.
    #[cfg_attr(feature = "openapi", schema(max_length = 2048, example = "https://mcp.example.com"))]
    url: String,
    /// An `http` connection whose credentials are sent as headers.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<uuid::Uuid>))]
    connection_id: Option<ConnectionId>,
    /// As for `http`.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Default 8.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10))]
    timeout_seconds: Option<u32>,
    /// Spoken while the tool runs, unless the model already spoke.
    #[cfg_attr(feature = "openapi", schema(max_length = 1_000, example = "Let me look that up."))]
    filler: Option<String>,
    /// Tools to use; all if empty.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 64))]
    tools: Vec<String>,
}

impl From<Tool> for TypedTool {
    fn from(tool: Tool) -> Self {
        let Tool {
            kind,
            description,
            name,
            parameters,
            url,
            method,
            connection_id,
            headers,
            timeout_seconds,
            filler,
            tools,
            destinations,
        } = tool;
        // Validation has made sure of it.
        let (required_name, required_url) = (name.clone().unwrap_or_default(), url.unwrap_or_default());
        match kind {
            ToolKind::EndCall => Self::EndCall(EndCallTool { description }),
            ToolKind::SendDtmf => Self::SendDtmf(SendDtmfTool { description }),
            ToolKind::Transfer => Self::Transfer(TransferTool { description, destinations }),
            ToolKind::Http => Self::Http(HttpTool {
                name: required_name,
                description,
                parameters,
                url: required_url,
                method,
                connection_id,
                headers,
                timeout_seconds,
                filler,
            }),
            ToolKind::Mcp => {
                Self::Mcp(McpTool { name, url: required_url, connection_id, headers, timeout_seconds, filler, tools })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::AgentConfig;

    /// A value for each field.
    fn values() -> Vec<(&'static str, Value)> {
        vec![
            ("description", json!("Books.")),
            ("name", json!("tables")),
            ("parameters", json!({ "type": "object" })),
            ("url", json!("https://example.com")),
            ("method", json!("GET")),
            ("connection_id", json!("0198c6a0-0000-7000-8000-000000000000")),
            ("headers", json!({ "a": "b" })),
            ("timeout_seconds", json!(5)),
            ("filler", json!("One moment.")),
            ("tools", json!(["book"])),
            ("destinations", json!([{ "name": "reception", "number": "+12025550142" }])),
        ]
    }

    fn of_type(kind: &str) -> Value {
        let mut tool = json!({ "type": kind });
        let needed: &[&str] = match kind {
            "http" => &["name", "url"],
            "mcp" => &["url"],
            "transfer" => &["destinations"],
            _ => &[],
        };
        values().into_iter().filter(|(name, _)| needed.contains(name)).for_each(|(name, value)| tool[name] = value);
        tool
    }

    fn errors(tool: &Value) -> Vec<String> {
        let mut agent = AgentConfig::new("x");
        agent.tools = vec![serde_json::from_value(tool.clone()).expect("a tool")];
        agent.validate().into_iter().map(|error| error.path).collect()
    }

    #[test]
    fn a_tool_is_returned_with_every_field_that_its_type_takes_and_no_other() {
        for kind in ["end_call", "http", "mcp", "send_dtmf", "transfer"] {
            let tool: Tool = serde_json::from_value(of_type(kind)).expect("a tool");
            let returned = json!(tool);
            assert_eq!(returned["type"], kind);
            for (name, value) in values() {
                let mut with = of_type(kind);
                with[name] = value.clone();
                let taken = errors(&with).is_empty();
                assert_eq!(returned.get(name).is_some(), taken, "{kind}.{name}: {returned}");
                let tool: Tool = serde_json::from_value(with).expect("a tool");
                assert!(!taken || json!(tool)[name] == value, "{kind}.{name}");
            }
        }
    }

    #[test]
    fn what_is_returned_can_be_sent_again_and_so_can_nulls_of_other_types() {
        for kind in ["end_call", "http", "mcp", "send_dtmf", "transfer"] {
            let tool: Tool = serde_json::from_value(of_type(kind)).expect("a tool");
            assert_eq!(serde_json::from_value::<Tool>(json!(tool)).expect("a tool"), tool);
            let mut nulls = of_type(kind);
            for (name, _) in
                values().into_iter().filter(|(name, _)| !["headers", "tools", "destinations"].contains(name))
            {
                nulls.as_object_mut().expect("an object").entry(name).or_insert(Value::Null);
            }
            assert_eq!(serde_json::from_value::<Tool>(nulls).expect("a tool"), tool);
        }
    }
}
