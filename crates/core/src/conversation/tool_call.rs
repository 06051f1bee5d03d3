//! Tool calls of a model.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool called by the model.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, repeated with the result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// A JSON object.
    pub arguments: Value,
    /// A signature that the provider requires back unchanged whenever it is shown this call again.
    pub signature: Option<String>,
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolCall({})", self.name)
    }
}
