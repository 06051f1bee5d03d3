//! Parses JSON of servers that cut text within a character, or begin it with a byte order mark.
//!
//! JavaScript cuts text between UTF-16 code units: half of an emoji becomes the escape of an unpaired surrogate, for which the whole
//! message would be refused.

use serde::de::DeserializeOwned;

/// The byte order mark, in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// The escape of U+FFFD.
const REPLACEMENT: &[u8] = br"\ufffd";
/// The length of an escaped code unit, in bytes.
const ESCAPE: usize = REPLACEMENT.len();

/// Parses JSON, in which unpaired surrogates become U+FFFD.
///
/// # Errors
/// When it is not JSON, or is not a `T`.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let json = json.strip_prefix(MARK).unwrap_or(json);
    serde_json::from_slice(json).or_else(|error| parse_repaired(json, error))
}

/// Parses JSON, in which unpaired surrogates become U+FFFD.
///
/// # Errors
/// When it is not JSON, or is not a `T`.
pub fn from_str<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    let json = json.strip_prefix('\u{feff}').unwrap_or(json);
    serde_json::from_str(json).or_else(|error| parse_repaired(json.as_bytes(), error))
}

fn parse_repaired<T: DeserializeOwned>(json: &[u8], error: serde_json::Error) -> serde_json::Result<T> {
    match without_unpaired(json) {
        Some(repaired) => serde_json::from_slice(&repaired),
        None => Err(error),
    }
}

/// Returns JSON with another escape for each unpaired surrogate; `None` if it has no such escape.
fn without_unpaired(json: &[u8]) -> Option<Vec<u8>> {
    let (mut repaired, mut has_unpaired, mut rest) = (Vec::new(), false, json);
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let (before, escape) = rest.split_at(at);
        let (length, is_unpaired) = measure(escape);
        let (escape, behind) = escape.split_at(length);
        repaired.extend_from_slice(before);
        repaired.extend_from_slice(if is_unpaired { REPLACEMENT } else { escape });
        has_unpaired |= is_unpaired;
        rest = behind;
    }
    repaired.extend_from_slice(rest);
    has_unpaired.then_some(repaired)
}

/// Returns the length of the escape that the bytes begin with, and whether it is an unpaired surrogate.
fn measure(bytes: &[u8]) -> (usize, bool) {
    let is_low = |unit: u16| matches!(unit, 0xdc00..=0xdfff);
    match code_unit(bytes) {
        Some(0xd800..=0xdbff) if code_unit(&bytes[ESCAPE..]).is_some_and(is_low) => (2 * ESCAPE, false),
        Some(unit) => (ESCAPE, matches!(unit, 0xd800..=0xdfff)),
        // The escaped character may be a backslash.
        None => (bytes.len().min(2), false),
    }
}

/// Returns the code unit whose escape the bytes begin with.
fn code_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..ESCAPE)?.strip_prefix(br"\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_becomes_a_replacement_character() {
        for (json, expected) in [
            (r#""Booked \ud83d""#, "Booked \u{fffd}"),
            (r#""\uD83D Booked""#, "\u{fffd} Booked"),
            (r#""\udE00 Booked""#, "\u{fffd} Booked"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\uDE00 \ud83d""#, "\u{1f600} \u{fffd}"),
            (r#""\ud83d\n\u00e9""#, "\u{fffd}\n\u{e9}"),
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
            (r#""\\\\ud83d""#, "\\\\ud83d"),
            (r#""\ud83d\\ude00""#, "\u{fffd}\\ude00"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""é \ud83d é""#, "é \u{fffd} é"),
        ] {
            assert_eq!(from_str::<String>(json).ok().as_deref(), Some(expected), "{json}");
            assert_eq!(from_slice::<String>(json.as_bytes()).ok().as_deref(), Some(expected), "{json}");
        }
        let tools: Vec<Vec<String>> = from_str(r#"[["book \ud83d"], ["free \ude00"]]"#).expect("JSON");
        assert_eq!(tools, [["book \u{fffd}"], ["free \u{fffd}"]]);
    }

    #[test]
    fn a_byte_order_mark_goes_before_json_only() {
        let marked = "\u{feff}[\"\u{feff}\"]";
        assert_eq!(from_str::<Vec<String>>(marked).ok(), Some(vec!["\u{feff}".to_owned()]));
        assert_eq!(from_slice::<Vec<String>>(marked.as_bytes()).ok(), Some(vec!["\u{feff}".to_owned()]));
        assert!(from_str::<Vec<String>>("[\u{feff}]").is_err());
    }

    #[test]
    fn what_is_wrong_otherwise_is_refused() {
        for json in
            ["", "\\", r#""\"#, r#""\ud83d"#, r#""\ud83""#, r#""\ud8zz""#, r#""\u+83d""#, r#"["\ud83d",]"#, r"\ud83d"]
        {
            assert!(from_str::<serde_json::Value>(json).is_err(), "{json}");
            assert!(from_slice::<serde_json::Value>(json.as_bytes()).is_err(), "{json}");
        }
        assert!(from_slice::<String>(b"\"\\ud83d \xff\"").is_err(), "not UTF-8");
        assert!(from_str::<u8>(r#""\ud83d""#).is_err(), "another type");
    }
}
