//! A field that is `null` is absent: clients write what they do not set in either way.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// Fields where `null` is a value and does not restore the default.
pub const NULL_IS_A_VALUE: &[&str] = &["silence.hangup_after_seconds", "dtmf.finish_on_key"];

/// Objects whose fields are the client's, `null` or not. `*` stands for any name or place in a list.
const OF_THE_CLIENT: [&str; 4] = ["metadata", "settings", "analysis.schema", "tools.*.parameters"];

/// Removes the fields of a JSON text that are `null`. Invalid JSON is returned unchanged, for the parser to reject.
pub(super) fn without_nulls(json: &[u8]) -> Cow<'_, [u8]> {
    let has_null = json.windows(4).any(|window| window == b"null");
    if !has_null || serde_json::from_slice::<IgnoredAny>(json).is_err() {
        return Cow::Borrowed(json);
    }
    let mut copy = Copy { rest: json, out: Vec::with_capacity(json.len()), path: Vec::new() };
    match copy.value() {
        Some(()) => {
            copy.out.extend_from_slice(copy.rest);
            Cow::Owned(copy.out)
        }
        None => Cow::Borrowed(json),
    }
}

/// The maximum depth of a value; the parser rejects deeper ones.
const MAX_DEPTH: usize = 128;

/// Copies valid JSON, one token at a time. `None` if it is nested too deeply.
struct Copy<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    path: Vec<Cow<'a, str>>,
}

impl<'a> Copy<'a> {
    fn value(&mut self) -> Option<()> {
        self.space();
        if self.path.len() > MAX_DEPTH {
            return None;
        }
        match self.rest.first()? {
            b'{' => self.members(b'}', Self::field),
            b'[' => self.members(b']', Self::item),
            b'"' => self.string().map(drop),
            _ => self.word(),
        }
    }

    /// Copies the members of an object or list, with the commas between those that are left.
    fn members(&mut self, end: u8, member: fn(&mut Self, usize) -> Option<bool>) -> Option<()> {
        self.take(1);
        let mut is_first = true;
        for index in 0.. {
            self.space();
            if self.rest.first() == Some(&end) && index == 0 {
                break;
            }
            let before = self.out.len();
            if !is_first {
                self.out.push(b',');
            }
            if member(self, index)? {
                is_first = false;
            } else {
                self.out.truncate(before);
            }
            self.space();
            match self.rest.first()? {
                b',' => self.rest = &self.rest[1..],
                byte if *byte == end => break,
                _ => return None,
            }
        }
        self.take(1);
        Some(())
    }

    fn item(&mut self, index: usize) -> Option<bool> {
        self.path.push(Cow::Owned(index.to_string()));
        self.value()?;
        self.path.pop();
        Some(true)
    }

    /// Returns whether the field stays.
    fn field(&mut self, _: usize) -> Option<bool> {
        let name = self.string()?;
        self.space();
        (self.rest.first() == Some(&b':')).then(|| self.take(1))?;
        self.path.push(serde_json::from_slice::<String>(name).map(Cow::Owned).ok()?);
        self.space();
        let is_null = self.rest.starts_with(b"null") && !self.keeps_null();
        self.value()?;
        self.path.pop();
        Some(!is_null)
    }

    fn keeps_null(&self) -> bool {
        let is = |pattern: &str, path: &[Cow<'_, str>]| {
            pattern.split('.').count() == path.len()
                && pattern.split('.').zip(path).all(|(part, name)| part == "*" || part == name)
        };
        let inside = (1..self.path.len()).map(|length| &self.path[..length]);
        NULL_IS_A_VALUE.iter().any(|pattern| is(pattern, &self.path))
            || inside.into_iter().any(|path| OF_THE_CLIENT.iter().any(|pattern| is(pattern, path)))
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        if self.rest.first() != Some(&b'"') {
            return None;
        }
        let mut end = 1;
        while *self.rest.get(end)? != b'"' {
            end += if self.rest[end] == b'\\' { 2 } else { 1 };
        }
        let text = self.rest;
        self.take(end + 1);
        Some(&text[..=end])
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b",:[]{}\"".contains(byte);
        let length = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        (length > 0).then(|| self.take(length))
    }

    fn space(&mut self) {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.take(length);
    }

    fn take(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at(length);
        self.out.extend_from_slice(taken);
        self.rest = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(json: &str) -> String {
        String::from_utf8(without_nulls(json.as_bytes()).into_owned()).expect("text")
    }

    #[test]
    fn null_is_absent_but_where_it_is_a_value_or_the_clients() {
        for (json, left) in [
            (r#"{"a":null}"#, r#"{}"#),
            (r#"{"a":1,"b":null,"c":2}"#, r#"{"a":1,"c":2}"#),
            (r#"{"a":null,"b":{"c":null,"d":1},"e":null}"#, r#"{"b":{"d":1}}"#),
            (r#"{"a":[null,{"b":null}]}"#, r#"{"a":[null,{}]}"#),
            (r#"{"metadata":null,"settings":null}"#, r#"{}"#),
            (r#"{"metadata":{"a":null,"b":{"c":null}}}"#, r#"{"metadata":{"a":null,"b":{"c":null}}}"#),
            (r#"{"variables":{"metadata":null}}"#, r#"{"variables":{}}"#),
            (r#"{"silence":{"hangup_after_seconds":null}}"#, r#"{"silence":{"hangup_after_seconds":null}}"#),
            (
                r#"{"tools":[{"url":null,"parameters":{"default":null}}]}"#,
                r#"{"tools":[{"parameters":{"default":null}}]}"#,
            ),
            (
                r#"{"analysis":{"schema":{"enum":[null],"default":null}}}"#,
                r#"{"analysis":{"schema":{"enum":[null],"default":null}}}"#,
            ),
        ] {
            assert_eq!(without(json), left);
        }
    }

    #[test]
    fn all_else_stays_as_it_was_written() {
        for json in [
            r#"{"a":"null","b":18446744073709551617.50,"a":1}"#,
            r#"{"x\"null":[null,1]}"#,
            r#"{"a":null"#,
            r#"{"a":null,}"#,
            r#"{"a":null} x"#,
            "nullify",
            "",
        ] {
            assert_eq!(without(json), json);
        }
        assert_eq!(without("{ \"a\" : null , \"b\" : 1.0 } "), "{   \"b\" : 1.0 } ");
        let deep = format!(r#"{}{{"a":null}}{}"#, "[".repeat(200), "]".repeat(200));
        assert_eq!(without(&deep), deep, "the parser refuses it");
    }
}
