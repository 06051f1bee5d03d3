//! Text of providers, fit for the database: PostgreSQL stores no U+0000, and one must not cost a call its end.

use serde_json::Value;

/// The same without U+0000.
pub(super) fn plain(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "") } else { text }
}

/// The same in all texts and names of a value.
pub(super) fn plain_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(text)),
        Value::Array(items) => items.into_iter().map(plain_value).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, value)| (plain(name), plain_value(value))).collect())
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
        assert_eq!(plain_value(sent), json!({ "ab": ["x", { "c": "" }], "n": 1 }));
    }
}
