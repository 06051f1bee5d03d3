//! Removes U+0000 from texts of providers: PostgreSQL cannot store it, and one must not prevent a call from being stored.

use serde_json::Value;

/// Returns the text without U+0000.
pub(crate) fn strip_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

/// Returns the value without U+0000 in any of its texts and names.
pub(crate) fn strip_nul_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(strip_nul(text)),
        Value::Array(items) => items.into_iter().map(strip_nul_value).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (strip_nul(name), strip_nul_value(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_nul_gets_through_wherever_it_stands() {
        let sent = json!({ "a\u{0}b": ["x\u{0}", { "c": "\u{0}" }], "n": 1 });
        assert_eq!(strip_nul_value(sent), json!({ "ab": ["x", { "c": "" }], "n": 1 }));
    }
}
