//! What the JSON protocols of streaming providers share.

use serde_json::Value;

/// Why a stream ended, in the provider's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamError {
    /// The key, the model or a setting is refused: a retry would not help.
    Permanent(String),
    /// The connection or the server failed: another connection may do better.
    Retryable(String),
}

/// A message as JSON.
///
/// # Errors
/// When it is none.
pub(crate) fn json(message: &str) -> Result<Value, StreamError> {
    serde_json::from_str(message).map_err(|_| StreamError::Retryable("it sent a message that is not JSON".to_owned()))
}

/// A text field; empty when it is missing.
pub(crate) fn field<'a>(message: &'a Value, name: &str) -> &'a str {
    message.get(name).and_then(Value::as_str).unwrap_or_default()
}
