//! JSON in one spelling: no white space, keys in byte order, each string and each number written in one way.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Deeper than any request; each level costs a frame of the stack.
const MAX_DEPTH: usize = 128;

/// The text is not JSON, or too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The body is not valid JSON, or is nested too deeply.")]
pub struct NotJson;

/// `text` in its one spelling. Of a key that is given twice the last value counts, as it does for those who read it.
pub(super) fn json(text: &str) -> Result<String, NotJson> {
    let mut reader = Reader { rest: text };
    let value = reader.value(0)?;
    if !reader.rest.trim_ascii_start().is_empty() {
        return Err(NotJson);
    }
    let mut out = String::with_capacity(text.len());
    value.write(&mut out);
    Ok(out)
}

enum Value {
    /// A string, number or word, spelt canonically.
    Leaf(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

impl Value {
    fn write(&self, out: &mut String) {
        match self {
            Self::Leaf(text) => out.push_str(text),
            Self::Array(items) => {
                out.push('[');
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(entries) => {
                out.push('{');
                for (position, (key, value)) in entries.iter().enumerate() {
                    if position > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(key));
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// The next character that is not white space, not yet taken.
    fn peek(&mut self) -> Option<u8> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.rest.bytes().next()
    }

    fn takes(&mut self, character: u8) -> bool {
        let there = self.peek() == Some(character);
        if there {
            self.rest = &self.rest[1..];
        }
        there
    }

    fn value(&mut self, depth: usize) -> Result<Value, NotJson> {
        if depth == MAX_DEPTH {
            return Err(NotJson);
        }
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(|text| Value::Leaf(quoted(&text))),
            _ => self.word().map(Value::Leaf),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, NotJson> {
        let mut entries = BTreeMap::new();
        self.takes(b'{');
        if self.takes(b'}') {
            return Ok(Value::Object(entries));
        }
        loop {
            let key = if self.peek() == Some(b'"') { self.string()? } else { return Err(NotJson) };
            if !self.takes(b':') {
                return Err(NotJson);
            }
            entries.insert(key, self.value(depth)?);
            if self.takes(b'}') {
                return Ok(Value::Object(entries));
            }
            if !self.takes(b',') {
                return Err(NotJson);
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, NotJson> {
        let mut items = Vec::new();
        self.takes(b'[');
        if self.takes(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.takes(b']') {
                return Ok(Value::Array(items));
            }
            if !self.takes(b',') {
                return Err(NotJson);
            }
        }
    }

    /// A string, of which the opening quote is next; with its escapes resolved.
    fn string(&mut self) -> Result<String, NotJson> {
        let mut escaped = false;
        let closing = self.rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        let text = self.split(closing.ok_or(NotJson)? + 2);
        serde_json::from_str(text).map_err(|_| NotJson)
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<String, NotJson> {
        let end = self.rest.find(|c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace());
        let word = self.split(end.unwrap_or(self.rest.len()));
        // Whether it is one is the parser's to say, which does not keep every digit.
        match serde_json::from_str::<serde::de::IgnoredAny>(word) {
            Ok(_) if matches!(word, "true" | "false" | "null") => Ok(word.to_owned()),
            Ok(_) => Ok(number(word)),
            Err(_) => Err(NotJson),
        }
    }

    fn split(&mut self, at: usize) -> &'a str {
        let (word, rest) = self.rest.split_at(at);
        self.rest = rest;
        word
    }
}

/// A JSON number by its exact value: its significant digits as a whole number, and the power of ten that they count. Whole
/// numbers without trailing zeros are written as usual.
fn number(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    // An exponent beyond 64 bits is that of no number that anybody means.
    let exponent = exponent.trim_start_matches('+').parse::<i64>().unwrap_or(if exponent.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    });
    let moved = i64::try_from(zeros).unwrap_or(i64::MAX) - i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let power = exponent.saturating_add(moved);
    let mut out = format!("{sign}{significant}");
    if power != 0 {
        let _ = write!(out, "e{power}"); // A String takes everything.
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_canonical_form_is_sorted_and_dense() {
        for (text, canonical) in [
            (r#" {"b": [1, {"é\"": true}], "a": 1.5} "#, r#"{"a":15e-1,"b":[1,{"é\"":true}]}"#),
            (r#"{"a":1,"\u0061":2}"#, r#"{"a":2}"#),
            ("[ ]", "[]"),
            ("{ }", "{}"),
            (r#"["\\","\"]"]"#, r#"["\\","\"]"]"#),
            ("[0,-0,0.0,100,1e2,1.0E+2,10.50,-7]", "[0,0,0,1e2,1e2,1e2,105e-1,-7]"),
            ("18446744073709551617", "18446744073709551617"),
            ("1e-99999999999999999999", "1e-9223372036854775808"),
        ] {
            assert_eq!(json(text).as_deref(), Ok(canonical), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(100_000);
        let closed = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for bad in [
            "",
            "{",
            "[1",
            "[1,]",
            "{,}",
            r#"{"a"}"#,
            "{1:2}",
            "nul",
            "01",
            "1.",
            "+1",
            r#""\ud800""#,
            "1 2",
            &deep,
            &closed,
        ] {
            assert_eq!(json(bad), Err(NotJson), "{bad:.20}");
        }
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            ".*".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                prop::collection::btree_map(".*", inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_means_the_same_and_is_stable(value in any_json()) {
            let pretty = serde_json::to_string_pretty(&value).expect("JSON");
            let canonical = json(&pretty).expect("JSON");
            prop_assert_eq!(json(&canonical), Ok(canonical.clone()));
            prop_assert_eq!(json(&value.to_string()), Ok(canonical));
        }

        #[test]
        fn nothing_makes_it_panic(text in ".*") {
            let accepted = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            prop_assert!(!accepted || json(&text).is_ok());
        }
    }
}
