//! Helpers shared by the JSON protocols of streaming providers.

use serde_json::Value;
use switchhook_net::lenient_json;

/// Why a stream ended, with the provider's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamError {
    /// The key, the model or a setting is refused: a retry would not help.
    Permanent(String),
    /// The connection or the server failed: a new connection may succeed.
    Retryable(String),
}

/// Parses a message as JSON.
///
/// # Errors
/// When it is not JSON.
pub(crate) fn json(message: &str) -> Result<Value, StreamError> {
    lenient_json::from_str(message).map_err(|_| StreamError::Retryable("it sent a message that is not JSON".to_owned()))
}

/// Returns a text field; empty when it is missing.
pub(crate) fn field<'a>(message: &'a Value, name: &str) -> &'a str {
    message.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_ends_no_session() {
        let message = json(r#"{"transcript":"Hello \ud83d"}"#).expect("a message");
        assert_eq!(field(&message, "transcript"), "Hello \u{fffd}");
        assert!(json("Hello").is_err(), "other text does");
    }
}
