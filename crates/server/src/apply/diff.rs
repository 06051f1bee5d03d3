//! Differences, field by field.

use std::fmt;

use serde_json::{Map, Value};

use super::problem::printable;

/// Longest text that is shown whole, in characters.
const WHOLE: usize = 60;
/// How much of a long text is shown before its first difference.
const BEFORE: usize = 20;

/// A field that changes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) path: String,
    kind: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Value {
        before: Value,
        after: Value,
    },
    /// Never shown.
    Secret(&'static str),
}

impl Change {
    /// A secret that is `added`, `changed` or `removed`.
    pub(super) fn secret(path: String, what: &'static str) -> Self {
        Self { path, kind: What::Secret(what) }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", printable(&self.path))?;
        match &self.kind {
            What::Secret(what) => write!(f, "{what}"),
            What::Value { before, after } => {
                let (before, after) = shortened(&shown(before), &shown(after));
                write!(f, "{before} -> {after}")
            }
        }
    }
}

fn shown(value: &Value) -> String {
    if value.is_null() { "none".to_owned() } else { printable(&value.to_string()) }
}

/// Returns the fields that differ, by their paths.
pub(super) fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", before, after, &mut found);
    found
}

fn compare(path: &str, before: &Value, after: &Value, found: &mut Vec<Change>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let of = |fields: &Map<String, Value>, name: &str| fields.get(name).cloned().unwrap_or_default();
            let gone = old.keys().filter(|name| !new.contains_key(*name));
            for name in new.keys().chain(gone) {
                compare(&below(name), &of(old, name), &of(new, name), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if are_objects(old) && are_objects(new) => {
            for at in 0..old.len().max(new.len()) {
                let of = |items: &[Value]| items.get(at).cloned().unwrap_or_default();
                compare(&below(&at.to_string()), &of(old), &of(new), found);
            }
        }
        _ if before != after => {
            let kind = What::Value { before: before.clone(), after: after.clone() };
            found.push(Change { path: path.to_owned(), kind });
        }
        _ => {}
    }
}

fn are_objects(items: &[Value]) -> bool {
    items.iter().all(Value::is_object)
}

/// Two texts, cut to what differs.
fn shortened(before: &str, after: &str) -> (String, String) {
    let same = before.chars().zip(after.chars()).take_while(|(one, other)| one == other).count();
    let start = if same > WHOLE - BEFORE { same - BEFORE } else { 0 };
    (cut(before, start), cut(after, start))
}

fn cut(text: &str, start: usize) -> String {
    let length = text.chars().count();
    if length <= WHOLE {
        return text.to_owned();
    }
    let part: String = text.chars().skip(start).take(WHOLE).collect();
    let front = if start > 0 { "…" } else { "" };
    let back = if start + WHOLE < length { "…" } else { "" };
    format!("{front}{part}{back} ({length} characters)")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        changes(before, after).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_field_is_shown_before_and_after() {
        let before = json!({ "a": 1, "b": { "c": "x", "d": true }, "words": ["a"], "tools": [{ "type": "end_call" }], "gone": 1.5 });
        let after = json!({ "a": 1, "b": { "c": "y\u{1b}[2J", "d": true }, "words": ["a", "b"], "tools": [{ "type": "http" }, { "type": "mcp" }] });
        let expected = [
            "b.c: \"x\" -> \"y\\u001b[2J\"",
            "tools.0.type: \"end_call\" -> \"http\"",
            "tools.1: none -> {\"type\":\"mcp\"}",
            "words: [\"a\"] -> [\"a\",\"b\"]",
            "gone: 1.5 -> none",
        ];
        assert_eq!(lines(&before, &after), expected);
        assert_eq!(lines(&before, &before), Vec::<String>::new());
        assert_eq!(
            Change::secret("credentials.api_key".to_owned(), "changed").to_string(),
            "credentials.api_key: changed"
        );
    }

    #[test]
    fn long_texts_are_cut_to_what_differs() {
        let text = |word: &str| json!({ "t": format!("{} {word} {}", "a".repeat(100), "b".repeat(100)) });
        let [line] = lines(&text("Monday"), &text("Tuesday")).try_into().expect("one");
        assert!(line.len() < 250 && line.contains("Monday") && line.contains("Tuesday"), "{line}");
        assert!(line.contains("(210 characters)") && line.contains('…'), "{line}");
    }
}
