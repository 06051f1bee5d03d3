//! A field that is `null` is absent: clients write what they do not set in either way.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::copy::copy;

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
    let keeps = |path: &[Cow<'_, str>], value: &[u8]| !value.starts_with(b"null") || keeps_null(path);
    copy(json, keeps).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// Returns whether a field of the value `null` at this path is kept.
fn keeps_null(path: &[Cow<'_, str>]) -> bool {
    let is = |pattern: &str, path: &[Cow<'_, str>]| {
        pattern.split('.').count() == path.len()
            && pattern.split('.').zip(path).all(|(part, name)| part == "*" || part == name)
    };
    let inside = (1..path.len()).map(|length| &path[..length]);
    NULL_IS_A_VALUE.iter().any(|pattern| is(pattern, path))
        || inside.into_iter().any(|path| OF_THE_CLIENT.iter().any(|pattern| is(pattern, path)))
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
