//! The remains of events and deliveries whose words have been deleted.

use serde_json::Value;
use switchhook_core::event::WORDS_DELETED;

/// Erases the words in the data of `call.completed` or `call.failed`; absent fields and `null` stay.
pub(super) fn take_words_out(data: &mut Value) {
    for (name, left) in [("summary", WORDS_DELETED.into()), ("error", WORDS_DELETED.into()), ("outcome", Value::Null)] {
        if let Some(words) = data.get_mut(name).filter(|words| !words.is_null()) {
            *words = left;
        }
    }
}

/// Erases the words in the body of a delivery.
pub(super) fn body_without_words(body: &[u8]) -> Vec<u8> {
    // We wrote it, so it is JSON; anything else is deleted completely.
    let mut body: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(data) = body.get_mut("data") {
        take_words_out(data);
    }
    body.to_string().into_bytes()
}
