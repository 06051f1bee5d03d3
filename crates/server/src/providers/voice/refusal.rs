//! Refusals that come inside a websocket: no status says whose doing they are, so their words must.

use serde_json::Value;
use switchhook_core::private::Private;

use crate::outbound::ws::CloseFrame;
use crate::providers::ProviderError;
use crate::providers::refusal::{Trouble, without_key};

/// As much of a provider's words as is kept, in characters.
const LONGEST_WORDS: usize = 300;
/// Parts of error codes that say that somebody has to change the connection, the agent or the account.
const FOR_THE_CUSTOMER: [&str; 13] = [
    "api_key",
    "unauthorized",
    "authentication",
    "permission",
    "quota_exceeded",
    "insufficient_quota",
    "billing",
    "payment",
    "voice_not_found",
    "voice_id_does_not_exist",
    "invalid_uid",
    "model_not_found",
    "output_format",
];

/// The provider sent something that cannot be used; it would do so again.
pub(crate) fn nonsense(provider: &'static str, words: impl Into<String>) -> Trouble {
    Trouble { again: None, ..Trouble::failed(provider, words.into()) }
}

/// An error message.
pub(crate) fn said(provider: &'static str, message: &Value, key: Option<&Private<String>>) -> Trouble {
    let words = words_in(message).unwrap_or_else(|| "it failed without saying why".to_owned());
    judged(provider, without_key(words, key))
}

/// The provider closed the websocket (RFC 6455 section 7.4).
pub(crate) fn closed(provider: &'static str, frame: Option<&CloseFrame>, key: Option<&Private<String>>) -> Trouble {
    let Some(frame) = frame else { return Trouble::failed(provider, "it closed the connection".to_owned()) };
    let code = u16::from(frame.code);
    if frame.reason.is_empty() {
        return Trouble::failed(provider, format!("it closed the connection with code {code}"));
    }
    let reason = without_key(shortened(frame.reason.as_str()), key);
    let trouble = judged(provider, format!("{reason} (code {code})"));
    // 1007 and 1008: what was sent is at fault, and would be again.
    if matches!(code, 1007 | 1008) { Trouble { again: None, ..trouble } } else { trouble }
}

fn judged(provider: &'static str, words: String) -> Trouble {
    if FOR_THE_CUSTOMER.iter().any(|part| words.contains(part)) {
        return Trouble { error: ProviderError::Config { provider, words }, again: None };
    }
    Trouble::failed(provider, words)
}

/// Its sentence and its code.
fn words_in(message: &Value) -> Option<String> {
    let inner = message.get("error").filter(|inner| inner.is_object()).unwrap_or(message);
    let text = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| inner.get(*name)?.as_str());
        found.find(|text| !text.is_empty())
    };
    let sentence = text(&["message", "description", "err_msg", "title", "error"])?;
    let code = text(&["code", "err_code", "error_code", "error"]).filter(|code| *code != sentence);
    Some(shortened(&code.map_or_else(|| sentence.to_owned(), |code| format!("{sentence} ({code})"))))
}

fn shortened(words: &str) -> String {
    words.chars().take(LONGEST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_say_whose_doing_it_is() {
        let key = Private::new("s3cret".to_owned());
        for (message, code, words) in [
            (
                json!({ "error": { "message": "No voice.", "code": "voice_not_found" } }),
                "config_error",
                "No voice. (voice_not_found)",
            ),
            (json!({ "error": "busy", "message": "Too many", "code": 1008 }), "pipeline_error", "Too many (busy)"),
            (
                json!({ "type": "Error", "description": "Hm s3cret", "code": "NET-0000" }),
                "pipeline_error",
                "Hm … (NET-0000)",
            ),
            (json!({ "error": "invalid_api_key" }), "config_error", "invalid_api_key"),
            (json!({ "type": "Error" }), "pipeline_error", "it failed without saying why"),
        ] {
            let trouble = said("double", &message, Some(&key));
            assert_eq!(trouble.error.to_string(), format!("double: {words}"), "{message}");
            assert_eq!(trouble.error.code().as_str(), code, "{message}");
            assert_eq!(trouble.again.is_some(), code == "pipeline_error", "{message}");
        }
    }
}
