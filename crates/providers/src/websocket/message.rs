//! Helpers shared by the JSON protocols of streaming providers.

use serde_json::Value;
use switchhook_net::lenient_json;
use switchhook_net::outbound::ws::Message;

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

/// Returns the text of a message that is JSON: relays forward text in binary frames. `None` for anything else, and for empty messages,
/// which keep a connection open.
pub(crate) fn text_of(message: &Message) -> Option<&str> {
    let text = match message {
        Message::Text(text) => text.as_str(),
        Message::Binary(bytes) if is_braced(bytes) => std::str::from_utf8(bytes).ok()?,
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Returns whether bytes look like a JSON object. Audio may, too.
fn is_braced(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii();
    bytes.starts_with(b"{") && bytes.ends_with(b"}")
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

    #[test]
    fn json_is_found_in_text_and_in_binary_frames_and_audio_is_not_json() {
        let found = |message: Message| text_of(&message).map(str::to_owned);
        for (message, expected) in [
            (Message::text("{}"), Some("{}")),
            (Message::text("Hello"), Some("Hello")),
            (Message::binary(" {\"type\":\"done\"}\n"), Some(" {\"type\":\"done\"}\n")),
            (Message::text(" \n"), None),
            (Message::binary(""), None),
            (Message::binary(vec![b'{', 0xff, b'}']), None),
            (Message::binary(vec![0x7f, 0x7f]), None),
            (Message::Ping(Vec::new().into()), None),
        ] {
            assert_eq!(found(message).as_deref(), expected);
        }
    }
}
