//! How large an agent may be.

use serde_json::Value;
use switchhook_core::agent::AgentConfig;

use crate::http::error::ApiError;

/// Maximum size of an agent, in bytes of JSON. Every change stores all of it.
const MAX_BYTES: usize = 256 * 1024;

/// Blames the largest field of an agent that is too large.
///
/// # Errors
/// 422 if it is.
pub(super) fn check(config: &AgentConfig) -> Result<(), ApiError> {
    let bytes = serde_json::to_vec(config).map_err(anyhow::Error::from)?.len();
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let Value::Object(fields) = serde_json::to_value(config).map_err(anyhow::Error::from)? else {
        return Err(ApiError::internal());
    };
    let sizes = fields.into_iter().map(|(name, value)| (value.to_string().len(), name));
    let (largest, name) = sizes.max().unwrap_or_default();
    let message = format!("takes {largest} of the agent's {bytes} bytes of JSON; an agent has at most {MAX_BYTES}");
    Err(ApiError::invalid_field(name, message))
}
