//! Whole numbers beyond 64 bits, which the parser would round.

use serde::de::IgnoredAny;

use super::copy::copy;

/// The shortest number that may not fit, in digits.
const DIGITS: usize = 19;

/// Returns the path of the first whole number that has no place in 64 bits. Invalid JSON has none: the parser refuses it.
pub(super) fn first(json: &[u8]) -> Option<String> {
    let is_long = |digits: &[u8]| digits.len() >= DIGITS;
    if !json.split(|byte| !byte.is_ascii_digit()).any(is_long) || serde_json::from_slice::<IgnoredAny>(json).is_err() {
        return None;
    }
    let mut first = None;
    copy(json, |path, value| {
        if first.is_none() && is_large_integer(value) {
            first = Some(path.join("."));
        }
        true
    });
    first
}

/// Returns whether a text begins with such a number.
fn is_large_integer(text: &[u8]) -> bool {
    let part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let number = &text[..text.iter().position(|byte| !part(byte)).unwrap_or(text.len())];
    let whole = number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') && number.len() >= DIGITS;
    let fits = |number: &str| number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    whole && !std::str::from_utf8(number).is_ok_and(fits)
}

/// The copy that looks for them drops nothing.
#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[
            r#"{"a":{"b":[1,18446744073709551616]} , "c \"d\"":-9223372036854775809,"e":null,"f":1844674407370955161600e-2}"#,
            r#"[ {}, [], "18446744073709551616", 18446744073709551615, true ]"#,
        ])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |json| {
            let value: serde_json::Value = serde_json::from_slice(json)?;
            let copied = copy(json, |_, _| true).expect("it is JSON");
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&copied)?, value);
            Ok::<_, serde_json::Error>(first(json).map_or(1, |path| path.len()))
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_would_be_rounded_is_named() {
        for (json, path) in [
            (r#"{"a":18446744073709551615,"b":-9223372036854775808}"#, None),
            (r#"{"a":{"b":[1,18446744073709551616]}}"#, Some("a.b.1")),
            (r#"{"a":-9223372036854775809}"#, Some("a")),
            (r#"{"a":123456789012345678901234567890 , "b":123456789012345678901234567890}"#, Some("a")),
            (r#"{"a":"18446744073709551616","b\"18446744073709551616":1}"#, None),
            (r#"{"a":18446744073709551616.5,"b":1844674407370955161600e-2}"#, None),
            (r#"{"a":18446744073709551616"#, None),
        ] {
            assert_eq!(first(json.as_bytes()).as_deref(), path, "{json}");
        }
    }
}
